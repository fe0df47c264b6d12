#include "kernels/spatial/pooled_pixel.h"

#if TORCHLET_FLOAT16

#include <limits>

#include "kernels/half/float16-inl.h"

TORCHLET_FLOAT16_BEGIN
namespace torchlet::kernels {

namespace {

using float16::Floats;
using float16::kFloatLanes;
using float16::kLanes;
using float16::Vec;

// Channels [c, c + count) of one output pixel, kVectors vectors of them.
template <int kVectors>
HWY_INLINE void max_vectors(const PooledPixel<Float16>& pixel, int64_t c, int64_t count) {
  Vec value[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    value[v] = float16::set(-std::numeric_limits<float>::infinity());
  }
  for (int64_t i = 0; i < pixel.rows; ++i) {
    const Float16* in = pixel.input + i * pixel.row_step + c;
    for (int64_t j = 0; j < pixel.columns; ++j, in += pixel.column_step) {
      HWY_UNROLL(2)
      for (int v = 0; v < kVectors; ++v) {
        const Vec x = float16::load_first(in + v * kLanes, count - v * kLanes);
        value[v] = float16::larger(value[v], x);
      }
    }
  }
  for (int v = 0; v < kVectors; ++v) {
    float16::store_first(value[v], pixel.output + c + v * kLanes, count - v * kLanes);
  }
}

}  // namespace

void pool_max(const PooledPixel<Float16>& pixel, int64_t channels) {
  int64_t c = 0;
  for (; c + 2 * kLanes <= channels; c += 2 * kLanes) max_vectors<2>(pixel, c, 2 * kLanes);
  for (; c < channels; c += kLanes) max_vectors<1>(pixel, c, channels - c);
}

void pool_mean(const PooledPixel<Float16>& pixel, int64_t channels) {
  const Floats scale = float16::set_floats(1 / pixel.divisor);
  for (int64_t c = 0; c < channels; c += kLanes) {
    Floats low = float16::zero_floats(), high = low;
    for (int64_t i = 0; i < pixel.rows; ++i) {
      const Float16* in = pixel.input + i * pixel.row_step + c;
      for (int64_t j = 0; j < pixel.columns; ++j, in += pixel.column_step) {
        const Vec x = float16::load_first(in, channels - c);
        low = float16::add(low, float16::widen_low(x));
        high = float16::add(high, float16::widen_high(x));
      }
    }
    const Vec mean = float16::narrow(float16::mul(low, scale), float16::mul(high, scale));
    float16::store_first(mean, pixel.output + c, channels - c);
  }
}

}  // namespace torchlet::kernels
TORCHLET_FLOAT16_END

#endif  // TORCHLET_FLOAT16
