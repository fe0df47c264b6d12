#include "kernels/half/float16.h"

#include <algorithm>

#include "base/thread_pool.h"
#include "kernels/conv_nhwc/conv_few_channels.h"
#include "kernels/simd/isa.h"

#if TORCHLET_FLOAT16
#include "kernels/half/float16-inl.h"

TORCHLET_FLOAT16_BEGIN
namespace torchlet::kernels {

using float16::kFloatLanes;
using float16::kLanes;

void to_float16(const float* from, Float16* to, int64_t count) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) float16::store(float16::load_narrow(from + i), to + i);
  if (i < count) {
    float16::store_first(float16::load_narrow_first(from + i, count - i), to + i, count - i);
  }
}

void to_float32(const Float16* from, float* to, int64_t count) {
  for (int64_t i = 0; i < count; i += kLanes) {
    const float16::Vec values = float16::load_first(from + i, count - i);
    float16::store_first(float16::widen_low(values), to + i, count - i);
    if (count - i <= kFloatLanes) break;
    float16::store_first(float16::widen_high(values), to + i + kFloatLanes,
                         count - i - kFloatLanes);
  }
}

namespace {

HWY_INLINE float16::Floats load_plane(const float* planes, int64_t plane_stride, int64_t channels,
                                      int64_t c, int64_t count) {
  if (c >= channels) return float16::zero_floats();
  return float16::load_first(planes + c * plane_stride, count);
}

}  // namespace

void interleave_planes(const float* planes, int64_t plane_stride, int64_t channels, int64_t count,
                       Float16* to, int64_t to_channels) {
  Float16 pixels[2 * kLanes];
  for (int64_t i = 0; i < count; i += kFloatLanes, to += kFloatLanes * to_channels) {
    const int64_t some = std::min<int64_t>(kFloatLanes, count - i);
    float16::Floats plane[4];
    for (int64_t c = 0; c < 4; ++c) {
      plane[c] = load_plane(planes + i, plane_stride, channels, c, some);
    }
    const float16::Vec first = float16::zip(plane[0], plane[1]);
    if (to_channels == 2) {
      float16::store_first(first, to, 2 * some);
      continue;
    }
    Float16* target = some == kFloatLanes ? to : pixels;
    float16::store_zipped_pairs(first, float16::zip(plane[2], plane[3]), target);
    if (target != to) std::copy_n(pixels, some * to_channels, to);
  }
}

}  // namespace torchlet::kernels
TORCHLET_FLOAT16_END
#endif  // TORCHLET_FLOAT16

namespace torchlet::kernels {
namespace {

// Calls convert(row, first column, count) for pieces of the matrix; rows without gaps are one.
template <typename Convert>
void for_each_piece(int64_t rows, int64_t columns, bool dense, const Convert& convert) {
  constexpr int64_t kPiece = int64_t{1} << 14;
  if (dense) columns *= rows, rows = 1;
  const int64_t pieces = (columns + kPiece - 1) / kPiece;
  const int64_t grain = std::max<int64_t>(1, kPiece / std::max<int64_t>(1, columns));
  parallel_for(rows * pieces, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % pieces * kPiece;
      convert(i / pieces, first, std::min(kPiece, columns - first));
    }
  });
}

}  // namespace

bool has_float16() {
  return TORCHLET_FLOAT16 != 0 && (has(Isa::kAvx512Fp16) || has(Isa::kFp16));
}

void to_float16_rows(int64_t rows, int64_t columns, const float* from, int64_t from_stride,
                     Float16* to, int64_t to_stride) {
  const bool dense = from_stride == columns && to_stride == columns;
  for_each_piece(rows, columns, dense, [&](int64_t row, int64_t first, int64_t count) {
    to_float16(from + row * from_stride + first, to + row * to_stride + first, count);
  });
}

void to_float32_rows(int64_t rows, int64_t columns, const Float16* from, int64_t from_stride,
                     float* to, int64_t to_stride) {
  const bool dense = from_stride == columns && to_stride == columns;
  for_each_piece(rows, columns, dense, [&](int64_t row, int64_t first, int64_t count) {
    to_float32(from + row * from_stride + first, to + row * to_stride + first, count);
  });
}

}  // namespace torchlet::kernels
