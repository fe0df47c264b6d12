// Where the compiler cannot make the kernels of Float16, they are never called: has_float16() is
// false.
#include "kernels/half/float16.h"

#if !TORCHLET_FLOAT16

#include <cstdlib>

#include "kernels/conv_nhwc/conv_few_channels.h"
#include "kernels/conv_nhwc/dwconv_task.h"
#include "kernels/gemm/gemm_nhwc.h"
#include "kernels/spatial/pooled_pixel.h"

namespace torchlet::kernels {

void to_float16(const float*, Float16*, int64_t) { std::abort(); }
void to_float32(const Float16*, float*, int64_t) { std::abort(); }
template <>
TileShape tile_shape<Float16>() {
  std::abort();
}
void multiply_strip(const StripJob<Float16>&) { std::abort(); }
void interleave_planes(const float*, int64_t, int64_t, int64_t, Float16*, int64_t) { std::abort(); }
void dwconv_task(const DwConvTask<Float16>&) { std::abort(); }
void pool_max(const PooledPixel<Float16>&, int64_t) { std::abort(); }
void pool_mean(const PooledPixel<Float16>&, int64_t) { std::abort(); }

}  // namespace torchlet::kernels

#endif  // !TORCHLET_FLOAT16
