#include "kernels/conv_nchw/conv2d.h"
#include "kernels/conv_nchw/conv_internal.h"
#include "kernels/gemm/gemm_driver.h"
#include "kernels/simd/scratch.h"

namespace torchlet::kernels {

// As conv2d_f32, one output depth after the other: a row of the im2col matrix is tap (d, h, w) of
// one channel, so the planes that a slice of rows reads are those under each tap d, or nothing
// where the tap is on padding.
void conv3d_f32(const Conv3dShape& shape, const float* input, const float* weight,
                const float* bias, float* output) {
  const Conv2dShape& s = shape.planes;
  const Window2dShape& w = s.window;
  const int64_t in_plane = w.in_h * w.in_w;
  const int64_t out_plane = w.out_h * w.out_w;
  const int64_t window_taps = w.kernel_h * w.kernel_w;
  const int64_t group_channels = s.in_channels / s.groups;
  const int64_t taps = group_channels * shape.kernel_d * window_taps;
  const int64_t rows = s.out_channels / s.groups;

  for (int64_t depth = 0; depth < shape.out_d; ++depth) {
    const GemmBatch<float> batch{.count = s.batch * s.groups,
                                 .m = rows,
                                 .n = out_plane,
                                 .k = taps,
                                 .a = {weight, taps, 1},
                                 .a_count = s.groups,
                                 .a_batch_stride = rows * taps,
                                 .c = output + depth * out_plane,
                                 .c_stride = shape.out_d * out_plane,
                                 .c_batch_stride = rows * shape.out_d * out_plane,
                                 .epilogue = {.row_bias = bias}};
    run_gemm<float>(
        batch,
        [&](int64_t index, int64_t k0, int64_t k, int64_t n0, int64_t n,
            float* scratch) -> Panel<float> {
          const int64_t first_plane = k0 / window_taps;
          const int64_t plane_count = (k0 + k - 1) / window_taps - first_plane + 1;
          const Scratch<const float*> planes(plane_count);
          for (int64_t i = 0; i < plane_count; ++i) {
            const int64_t channel = index * group_channels + (first_plane + i) / shape.kernel_d;
            const int64_t tap = (first_plane + i) % shape.kernel_d;
            const int64_t d = depth * shape.stride_d - shape.pad_d + tap * shape.dilation_d;
            const bool is_padding = d < 0 || d >= shape.in_d;
            planes[i] = is_padding ? nullptr : input + (channel * shape.in_d + d) * in_plane;
          }
          pack_im2col_f32(w, planes.data(), k0 % window_taps, k, n0, n, scratch);
          return {scratch, panel_shape(scratch).width};
        });
  }
}

}  // namespace torchlet::kernels
