#include "kernels/conv_nchw/conv2d.h"
#include "kernels/conv_nchw/conv_internal.h"
#include "kernels/gemm/gemm_driver.h"
#include "kernels/simd/scratch.h"

namespace torchlet::kernels {

// Every convolution but the depthwise one is a matrix product per image and group,
//   output [out_channels, pixels] = weight [out_channels, taps] x im2col [taps, pixels],
// and the im2col matrix exists only as the panels that the product asks for.
void conv2d_f32(const Conv2dShape& shape, const float* input, const float* weight,
                const float* bias, float* output, float min, float max) {
  if (is_depthwise(shape)) {
    return depthwise_conv2d_f32(shape, input, weight, bias, output, min, max);
  }
  const Window2dShape& w = shape.window;
  const int64_t in_pixels = w.in_h * w.in_w;
  const int64_t pixels = w.out_h * w.out_w;
  const int64_t group_channels = shape.in_channels / shape.groups;
  const int64_t taps = group_channels * w.kernel_h * w.kernel_w;
  const int64_t rows = shape.out_channels / shape.groups;
  const GemmBatch<float> batch{.count = shape.batch * shape.groups,
                               .m = rows,
                               .n = pixels,
                               .k = taps,
                               .a = {weight, taps, 1},
                               .a_count = shape.groups,
                               .a_batch_stride = rows * taps,
                               .c = output,
                               .c_stride = pixels,
                               .c_batch_stride = rows * pixels,
                               .epilogue = {.row_bias = bias, .min = min, .max = max}};

  const bool is_pointwise = w.kernel_h == 1 && w.kernel_w == 1 && w.stride_h == 1 &&
                            w.stride_w == 1 && w.pad_h == 0 && w.pad_w == 0 && in_pixels == pixels;
  if (is_pointwise) {
    run_gemm<float>(batch, MatrixPanels<float>({input, pixels, 1}, rows, group_channels * pixels));
    return;
  }
  const int64_t window_taps = w.kernel_h * w.kernel_w;
  run_gemm<float>(batch,
                  [&](int64_t index, int64_t k0, int64_t k, int64_t n0, int64_t n,
                      float* scratch) -> Panel<float> {
                    const int64_t first_plane = k0 / window_taps;
                    const int64_t plane_count = (k0 + k - 1) / window_taps - first_plane + 1;
                    const Scratch<const float*> planes(plane_count);
                    for (int64_t i = 0; i < plane_count; ++i) {
                      planes[i] = input + (index * group_channels + first_plane + i) * in_pixels;
                    }
                    pack_im2col_f32(w, planes.data(), k0 % window_taps, k, n0, n, scratch);
                    return {scratch, panel_shape(scratch).width};
                  });
}

}  // namespace torchlet::kernels
