#include "kernels/conv_nhwc/dwconv_task.h"

#if TORCHLET_FLOAT16

#include <algorithm>
#include <numeric>

#include "kernels/elementwise/elementwise_nhwc.h"
#include "kernels/half/float16-inl.h"
#include "kernels/simd/scratch.h"

TORCHLET_FLOAT16_BEGIN
namespace torchlet::kernels {
namespace float16 {
namespace {

using T = Float16;
using V = Vec;

using float16::load;
using float16::store;
constexpr int kWideTile = 7;  // there is none: code for 8 would only cost memory
#if HWY_ARCH_X86
using Part = __mmask32;
constexpr int64_t kLeastChannels = 1;
HWY_INLINE Part part_of(int64_t count) { return first_lanes(count); }
HWY_INLINE V load(const Float16* from, Part part) {
  return _mm512_castsi512_ph(_mm512_maskz_loadu_epi16(part, from));
}
HWY_INLINE V load_bias(const float* from, Part part) {
  return narrow(_mm512_maskz_loadu_ps(static_cast<__mmask16>(part), from),
                _mm512_maskz_loadu_ps(static_cast<__mmask16>(part >> 16), from + kFloatLanes));
}
HWY_INLINE void store(V v, Float16* to, Part part) {
  _mm512_mask_storeu_epi16(to, part, _mm512_castph_si512(v));
}
#else
struct Part {};
constexpr int64_t kLeastChannels = kDwConvBlock<Float16>;
HWY_INLINE Part part_of(int64_t) { return {}; }
HWY_INLINE V load(const Float16* from, Part) { return float16::load(from); }
HWY_INLINE V load_bias(const float* from, Part) { return load_narrow(from); }
HWY_INLINE void store(V v, Float16* to, Part) { float16::store(v, to); }
#endif
HWY_INLINE V load_bias_first(const float* from, int64_t count) {
  return count <= 0 ? zero() : load_narrow_first(from, count);
}

#include "kernels/conv_nhwc/dwconv_nhwc-inl.h"

}  // namespace
}  // namespace float16

void dwconv_task(const DwConvTask<Float16>& task) { float16::convolve(task); }

}  // namespace torchlet::kernels
TORCHLET_FLOAT16_END

#endif  // TORCHLET_FLOAT16
