// Resizing under PyTorch's names: one operator per mode and number of dimensions.
#include "ops/vision/interpolate.h"

#include "ops/core/op.h"

namespace torchlet::ops {
namespace {

using Sizes = std::optional<IntArray>;
using Factors = std::optional<std::vector<double>>;
using Scale = std::optional<double>;

// The ".vec" overloads: exactly one of a size and factors is given.
template <ResizeMode Mode, size_t Spatial>
Tensor resize_vec(const Tensor& input, const Sizes& size, bool align_corners,
                  const Factors& factors) {
  const IntArray output_size = interpolated_size(input, Spatial, size, factors);
  std::vector<Scale> scales;
  if (factors) scales.assign(factors->begin(), factors->end());
  return interpolate(input, output_size, Mode, align_corners, scales);
}

template <ResizeMode Mode, size_t Spatial>
Tensor nearest_vec(const Tensor& input, const Sizes& size, const Factors& factors) {
  return resize_vec<Mode, Spatial>(input, size, false, factors);
}

template <ResizeMode Mode, typename... S>
Tensor resize_to(const Tensor& self, const IntArray& output_size, bool align_corners, S... scales) {
  return interpolate(self, expand_param(output_size, sizeof...(S), "output_size"), Mode,
                     align_corners, {scales...});
}

template <ResizeMode Mode>
Tensor nearest_1d(const Tensor& self, const IntArray& size, Scale w) {
  return resize_to<Mode>(self, size, false, w);
}
template <ResizeMode Mode>
Tensor nearest_2d(const Tensor& self, const IntArray& size, Scale h, Scale w) {
  return resize_to<Mode>(self, size, false, h, w);
}
template <ResizeMode Mode>
Tensor nearest_3d(const Tensor& self, const IntArray& size, Scale d, Scale h, Scale w) {
  return resize_to<Mode>(self, size, false, d, h, w);
}
template <ResizeMode Mode>
Tensor resize_2d(const Tensor& self, const IntArray& size, bool align_corners, Scale h, Scale w) {
  return resize_to<Mode>(self, size, align_corners, h, w);
}

}  // namespace

TORCHLET_OP_WITH(
    upsample_nearest1d,
    on_meta() | out("out") | keeps_rank() | keeps_dtype() | quantized_as_input(),
    "aten::upsample_nearest1d(Tensor self, SymInt[1] output_size, float? scales=None) -> Tensor",
    nearest_1d<ResizeMode::kNearest>);
TORCHLET_OP_WITH(upsample_nearest1d_vec,
                 on_meta() | out("vec_out") | keeps_rank() | keeps_dtype() | quantized_as_input(),
                 "aten::upsample_nearest1d.vec(Tensor input, SymInt[]? output_size, float[]? "
                 "scale_factors) -> Tensor",
                 (nearest_vec<ResizeMode::kNearest, 1>));
TORCHLET_OP_WITH(upsample_nearest2d,
                 on_meta() | out("out") | keeps_rank() | keeps_dtype() | quantized_as_input(),
                 "aten::upsample_nearest2d(Tensor self, SymInt[2] output_size, float? "
                 "scales_h=None, float? scales_w=None) -> Tensor",
                 nearest_2d<ResizeMode::kNearest>);
TORCHLET_OP_WITH(upsample_nearest2d_vec,
                 on_meta() | out("vec_out") | keeps_rank() | keeps_dtype() | quantized_as_input(),
                 "aten::upsample_nearest2d.vec(Tensor input, SymInt[]? output_size, float[]? "
                 "scale_factors) -> Tensor",
                 (nearest_vec<ResizeMode::kNearest, 2>));
TORCHLET_OP_WITH(upsample_nearest3d,
                 out("out") | on_meta() | keeps_rank() | keeps_dtype() | quantized_as_input(),
                 "aten::upsample_nearest3d(Tensor self, SymInt[3] output_size, float? "
                 "scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor",
                 nearest_3d<ResizeMode::kNearest>);
TORCHLET_OP_WITH(upsample_nearest3d_vec,
                 out("vec_out") | on_meta() | keeps_rank() | keeps_dtype() | quantized_as_input(),
                 "aten::upsample_nearest3d.vec(Tensor input, SymInt[]? output_size, float[]? "
                 "scale_factors) -> Tensor",
                 (nearest_vec<ResizeMode::kNearest, 3>));
TORCHLET_OP_WITH(_upsample_nearest_exact1d, out("out") | quantized_as_input(),
                 "aten::_upsample_nearest_exact1d(Tensor self, SymInt[1] output_size, float? "
                 "scales=None) -> Tensor",
                 nearest_1d<ResizeMode::kNearestExact>);
TORCHLET_OP_WITH(_upsample_nearest_exact1d_vec, out("vec_out") | quantized_as_input(),
                 "aten::_upsample_nearest_exact1d.vec(Tensor input, SymInt[]? output_size, "
                 "float[]? scale_factors) -> Tensor",
                 (nearest_vec<ResizeMode::kNearestExact, 1>));
TORCHLET_OP_WITH(_upsample_nearest_exact2d, on_meta() | out("out") | quantized_as_input(),
                 "aten::_upsample_nearest_exact2d(Tensor self, SymInt[2] output_size, float? "
                 "scales_h=None, float? scales_w=None) -> Tensor",
                 nearest_2d<ResizeMode::kNearestExact>);
TORCHLET_OP_WITH(_upsample_nearest_exact2d_vec, on_meta() | out("vec_out") | quantized_as_input(),
                 "aten::_upsample_nearest_exact2d.vec(Tensor input, SymInt[]? output_size, "
                 "float[]? scale_factors) -> Tensor",
                 (nearest_vec<ResizeMode::kNearestExact, 2>));
TORCHLET_OP_WITH(_upsample_nearest_exact3d, out("out") | on_meta() | quantized_as_input(),
                 "aten::_upsample_nearest_exact3d(Tensor self, SymInt[3] output_size, float? "
                 "scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor",
                 nearest_3d<ResizeMode::kNearestExact>);
TORCHLET_OP_WITH(_upsample_nearest_exact3d_vec, out("vec_out") | on_meta() | quantized_as_input(),
                 "aten::_upsample_nearest_exact3d.vec(Tensor input, SymInt[]? output_size, "
                 "float[]? scale_factors) -> Tensor",
                 (nearest_vec<ResizeMode::kNearestExact, 3>));
TORCHLET_OP_WITH(upsample_linear1d, on_meta() | out("out") | keeps_rank() | keeps_dtype(),
                 "aten::upsample_linear1d(Tensor self, SymInt[1] output_size, bool "
                 "align_corners, float? scales=None) -> Tensor",
                 [](const Tensor& self, const IntArray& size, bool align_corners, Scale w) {
                   return resize_to<ResizeMode::kLinear>(self, size, align_corners, w);
                 });
TORCHLET_OP_WITH(upsample_linear1d_vec, out("vec_out") | keeps_rank() | keeps_dtype(),
                 "aten::upsample_linear1d.vec(Tensor input, SymInt[]? output_size, bool "
                 "align_corners, float[]? scale_factors) -> Tensor",
                 (resize_vec<ResizeMode::kLinear, 1>));
TORCHLET_OP_WITH(upsample_bilinear2d,
                 on_meta() | out("out") | keeps_rank() | keeps_dtype() | quantized_as_input(),
                 "aten::upsample_bilinear2d(Tensor self, SymInt[2] output_size, bool "
                 "align_corners, float? scales_h=None, float? scales_w=None) -> Tensor",
                 resize_2d<ResizeMode::kLinear>);
TORCHLET_OP_WITH(upsample_bilinear2d_vec,
                 on_meta() | out("vec_out") | keeps_rank() | keeps_dtype() | quantized_as_input(),
                 "aten::upsample_bilinear2d.vec(Tensor input, SymInt[]? output_size, bool "
                 "align_corners, float[]? scale_factors) -> Tensor",
                 (resize_vec<ResizeMode::kLinear, 2>));
TORCHLET_OP_WITH(
    upsample_trilinear3d, out("out") | on_meta() | keeps_rank() | keeps_dtype(),
    "aten::upsample_trilinear3d(Tensor self, SymInt[3] output_size, bool align_corners, float? "
    "scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor",
    [](const Tensor& self, const IntArray& size, bool align_corners, Scale d, Scale h, Scale w) {
      return resize_to<ResizeMode::kLinear>(self, size, align_corners, d, h, w);
    });
TORCHLET_OP_WITH(upsample_trilinear3d_vec,
                 out("vec_out") | on_meta() | keeps_rank() | keeps_dtype(),
                 "aten::upsample_trilinear3d.vec(Tensor input, SymInt[]? output_size, bool "
                 "align_corners, float[]? scale_factors) -> Tensor",
                 (resize_vec<ResizeMode::kLinear, 3>));
TORCHLET_OP_WITH(upsample_bicubic2d, on_meta() | out("out") | keeps_rank() | keeps_dtype(),
                 "aten::upsample_bicubic2d(Tensor self, SymInt[2] output_size, bool "
                 "align_corners, float? scales_h=None, float? scales_w=None) -> Tensor",
                 resize_2d<ResizeMode::kCubic>);
TORCHLET_OP_WITH(upsample_bicubic2d_vec, on_meta() | out("vec_out") | keeps_rank() | keeps_dtype(),
                 "aten::upsample_bicubic2d.vec(Tensor input, SymInt[]? output_size, bool "
                 "align_corners, float[]? scale_factors) -> Tensor",
                 (resize_vec<ResizeMode::kCubic, 2>));
TORCHLET_OP_WITH(_upsample_bilinear2d_aa, out("out"),
                 "aten::_upsample_bilinear2d_aa(Tensor self, SymInt[2] output_size, bool "
                 "align_corners, float? scales_h=None, float? scales_w=None) -> Tensor",
                 resize_2d<ResizeMode::kLinearAntialias>);
TORCHLET_OP_WITH(_upsample_bilinear2d_aa_vec, out("vec_out"),
                 "aten::_upsample_bilinear2d_aa.vec(Tensor input, SymInt[]? output_size, bool "
                 "align_corners, float[]? scale_factors) -> Tensor",
                 (resize_vec<ResizeMode::kLinearAntialias, 2>));
TORCHLET_OP_WITH(_upsample_bicubic2d_aa, out("out"),
                 "aten::_upsample_bicubic2d_aa(Tensor self, SymInt[2] output_size, bool "
                 "align_corners, float? scales_h=None, float? scales_w=None) -> Tensor",
                 resize_2d<ResizeMode::kCubicAntialias>);
TORCHLET_OP_WITH(_upsample_bicubic2d_aa_vec, out("vec_out"),
                 "aten::_upsample_bicubic2d_aa.vec(Tensor input, SymInt[]? output_size, bool "
                 "align_corners, float[]? scale_factors) -> Tensor",
                 (resize_vec<ResizeMode::kCubicAntialias, 2>));

}  // namespace torchlet::ops
