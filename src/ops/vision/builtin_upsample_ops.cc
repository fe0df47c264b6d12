// torch.nn.functional.interpolate and upsample as builtins of old TorchScript programs.
#include <algorithm>

#include "ops/core/op.h"
#include "ops/nn/pooling.h"
#include "ops/vision/interpolate.h"

namespace torchlet::ops {
namespace {

// "int? or int[]?", "float? or float[]?": one number stands for all dimensions.
template <typename T>
std::optional<std::vector<T>> numbers(const Value& value, size_t count) {
  if (value.is_none()) return std::nullopt;
  if (!value.is_list()) return std::vector<T>(count, FromValue<T>::get(value));
  std::vector<T> all;
  for (const Value& item : value.to_list()) all.push_back(FromValue<T>::get(item));
  TORCHLET_CHECK(all.size() == count, "interpolate: expected one number or %zu of them, got %zu",
                 count, all.size());
  return all;
}

ResizeMode resize_mode(const std::string& mode, size_t spatial, bool antialias) {
  if (mode == "nearest") return ResizeMode::kNearest;
  if (mode == "nearest-exact") return ResizeMode::kNearestExact;
  if ((mode == "linear" && spatial == 1) || (mode == "bilinear" && spatial == 2) ||
      (mode == "trilinear" && spatial == 3)) {
    return antialias ? ResizeMode::kLinearAntialias : ResizeMode::kLinear;
  }
  TORCHLET_CHECK(
      mode == "bicubic" && spatial == 2,
      "Input Error: Only 3D, 4D and 5D input Tensors supported (got %zuD) for the modes: "
      "nearest | linear | bilinear | trilinear | bicubic | area (got %s)",
      spatial + 2, mode.c_str());
  return antialias ? ResizeMode::kCubicAntialias : ResizeMode::kCubic;
}

// torch/csrc/jit/runtime/register_special_ops.cpp, interpolate(): the factors count in the
// coordinates only if recompute_scale_factor is False.
Tensor builtin_interpolate(const Tensor& input, const Value& size, const Value& scale_factor,
                           const std::string& mode, std::optional<bool> align_corners,
                           std::optional<bool> recompute, bool antialias) {
  TORCHLET_CHECK(input.dim() >= 3 && input.dim() <= 5,
                 "interpolate: only 3D, 4D and 5D input Tensors supported, got %s",
                 input.describe().c_str());
  const size_t spatial = static_cast<size_t>(input.dim()) - 2;
  TORCHLET_CHECK((mode != "nearest" && mode != "area") || !align_corners,
                 "align_corners option can only be set with the interpolating modes: linear | "
                 "bilinear | bicubic | trilinear");
  const auto factors = numbers<double>(scale_factor, spatial);
  std::optional<IntArray> sizes;
  if (const auto given = numbers<int64_t>(size, spatial)) {
    sizes = IntArray(IntSpan(*given));
  }
  const IntArray output = interpolated_size(input, spatial, sizes, sizes ? std::nullopt : factors);
  if (mode == "area") return adaptive_avg_pool(static_cast<int64_t>(spatial), input, output);
  std::vector<std::optional<double>> scales;
  if (factors && recompute && !*recompute) scales.assign(factors->begin(), factors->end());
  return interpolate(input, output, resize_mode(mode, spatial, antialias),
                     align_corners.value_or(false), scales);
}

Tensor builtin_upsample(const Tensor& input, const Value& size, const Value& scale_factor,
                        const std::string& mode, std::optional<bool> align_corners) {
  return builtin_interpolate(input, size, scale_factor, mode, align_corners, std::nullopt, false);
}
Tensor builtin_nearest(const Tensor& input, const Value& size, const Value& scale_factor) {
  return builtin_upsample(input, size, scale_factor, "nearest", std::nullopt);
}
Tensor builtin_bilinear(const Tensor& input, const Value& size, const Value& scale_factor) {
  return builtin_upsample(input, size, scale_factor, "bilinear", true);
}

}  // namespace

TORCHLET_OP_WITH(
    __interpolate, keeps_rank() | keeps_dtype(),
    "aten::__interpolate(Tensor input, int? size=None, float? scale_factor=None, str "
    "mode=\"nearest\", bool? align_corners=None, bool? recompute_scale_factor=None, bool "
    "antialias=False) -> Tensor",
    builtin_interpolate);
TORCHLET_OP_WITH(__interpolate_scale_list, keeps_rank() | keeps_dtype(),
                 "aten::__interpolate.scale_list(Tensor input, int? size=None, float[]? "
                 "scale_factor=None, str mode=\"nearest\", bool? align_corners=None, bool? "
                 "recompute_scale_factor=None, bool antialias=False) -> Tensor",
                 builtin_interpolate);
TORCHLET_OP_WITH(__interpolate_size_list, keeps_rank() | keeps_dtype(),
                 "aten::__interpolate.size_list(Tensor input, int[]? size=None, float? "
                 "scale_factor=None, str mode=\"nearest\", bool? align_corners=None, bool? "
                 "recompute_scale_factor=None, bool antialias=False) -> Tensor",
                 builtin_interpolate);
TORCHLET_OP_WITH(
    __interpolate_size_list_scale_list, keeps_rank() | keeps_dtype(),
    "aten::__interpolate.size_list_scale_list(Tensor input, int[]? size=None, float[]? "
    "scale_factor=None, str mode=\"nearest\", bool? align_corners=None, bool? "
    "recompute_scale_factor=None, bool antialias=False) -> Tensor",
    builtin_interpolate);
TORCHLET_OP(__upsample,
            "aten::__upsample(Tensor input, int? size=None, int? scale_factor=None, str "
            "mode=\"nearest\", bool? align_corners=None) -> Tensor",
            builtin_upsample);
TORCHLET_OP(__upsample_size_list,
            "aten::__upsample.size_list(Tensor input, int[]? size=None, int? scale_factor=None, "
            "str mode=\"nearest\", bool? align_corners=None) -> Tensor",
            builtin_upsample);
TORCHLET_OP(
    __upsample_nearest,
    "aten::__upsample_nearest(Tensor input, int? size=None, int? scale_factor=None) -> Tensor",
    builtin_nearest);
TORCHLET_OP(__upsample_nearest_size_list,
            "aten::__upsample_nearest.size_list(Tensor input, int[]? size=None, int? "
            "scale_factor=None) -> Tensor",
            builtin_nearest);
TORCHLET_OP(
    __upsample_bilinear,
    "aten::__upsample_bilinear(Tensor input, int? size=None, int? scale_factor=None) -> Tensor",
    builtin_bilinear);
TORCHLET_OP(__upsample_bilinear_scale_list,
            "aten::__upsample_bilinear.scale_list(Tensor input, int? size=None, int[]? "
            "scale_factor=None) -> Tensor",
            builtin_bilinear);
TORCHLET_OP(__upsample_bilinear_size_list,
            "aten::__upsample_bilinear.size_list(Tensor input, int[]? size=None, int? "
            "scale_factor=None) -> Tensor",
            builtin_bilinear);
TORCHLET_OP(__upsample_bilinear_size_list_scale_list,
            "aten::__upsample_bilinear.size_list_scale_list(Tensor input, int[]? size=None, int[]? "
            "scale_factor=None) -> Tensor",
            builtin_bilinear);

}  // namespace torchlet::ops
