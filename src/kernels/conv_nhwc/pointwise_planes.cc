#include "kernels/conv_nhwc/pointwise_planes.h"

#include <algorithm>

#include "kernels/elementwise/elementwise_nhwc.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/gemm_nhwc.h"

namespace torchlet::kernels {
namespace {

// A product reads its planes once for each panel of weights; both stay in the second-level cache.
constexpr int64_t kMostWeights = int64_t{1} << 16;

}  // namespace

bool suits_pointwise_planes(const PointwisePlanesShape& shape) {
  return shape.in_channels * shape.out_channels <= kMostWeights;
}

void pointwise_planes_f32(const PointwisePlanesShape& shape, const float* input, const void* packed,
                          const EpilogueF32& epilogue, float* output) {
  const TileShape tile = tile_shape<float>();
  const Bounds bounds = bounds_of(epilogue.activation);
  for (int64_t image = 0; image < shape.batch; ++image) {
    const float* planes = input + image * shape.in_channels * shape.pixels;
    for (int64_t first = 0; first < shape.out_channels; first += tile.width) {
      const int64_t count = std::min<int64_t>(tile.width, shape.out_channels - first);
      const float* panel = static_cast<const float*>(packed) + first * shape.in_channels;
      GemmEpilogue<float> end;
      end.row_bias = epilogue.bias ? epilogue.bias + first : nullptr;
      end.min = bounds.low;
      end.max = bounds.high;
      float* const result = output + (image * shape.out_channels + first) * shape.pixels;
      gemm_f32(count, shape.pixels, shape.in_channels, {panel, 1, tile.panel_width(count)},
               {planes, shape.pixels, 1}, result, shape.pixels, end);
      if (is_clamp(epilogue.activation)) continue;
      activation_rows_f32(epilogue.activation, count, shape.pixels, result, shape.pixels, result,
                          shape.pixels);
    }
  }
}

}  // namespace torchlet::kernels
