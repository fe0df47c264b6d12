#include "kernels/dwconv_task.h"

#if TORCHLET_FLOAT16

#include <algorithm>

#include "kernels/elementwise_nhwc.h"
#include "kernels/float16-inl.h"

TORCHLET_FLOAT16_BEGIN
namespace torchlet::kernels {
namespace float16 {
namespace {

using T = Float16;
using V = Vec;

HWY_INLINE V load_bias(const float* from) { return load_narrow(from); }
HWY_INLINE V load_bias_first(const float* from, int64_t count) {
  return count <= 0 ? zero() : load_narrow_first(from, count);
}

#include "kernels/dwconv_nhwc-inl.h"

}  // namespace
}  // namespace float16

void dwconv_task(const DwConvTask<Float16>& task) { float16::convolve(task); }

}  // namespace torchlet::kernels
TORCHLET_FLOAT16_END

#endif  // TORCHLET_FLOAT16
