// Resizing of images NCHW as TensorFlow does it, of plain tensors (quantized ones come as their
// integers).
#include <algorithm>
#include <cmath>

#include "base/limits.h"
#include "ops/core/common.h"
#include "ops/core/op.h"
#include "ops/shape/shape.h"

namespace torchlet::ops {
namespace {

long long ll(int64_t value) { return value; }

void check_resizing(const Tensor& image, int64_t height, int64_t width) {
  TORCHLET_CHECK(image.dim() == 4 && image.size(1) > 0 && image.size(2) > 0 && image.size(3) > 0,
                 "no image has sizes %s", shape_text(image.sizes()).c_str());
  TORCHLET_CHECK(height > 0 && width > 0 && height <= INT32_MAX && width <= INT32_MAX,
                 "an image is to be resized to %lld rows and %lld columns", ll(height), ll(width));
}

// The size times the factor, rounded down.
int64_t scaled_size(int64_t size, double factor) {
  const float scaled = std::floor(static_cast<float>(size) * static_cast<float>(factor));
  TORCHLET_CHECK(scaled >= 1 && scaled < 0x1p31f, "%lld elements are to be scaled by %g", ll(size),
                 factor);
  return static_cast<int64_t>(scaled);
}

// Where position `at` of the result is in the input, but for half a pixel.
struct Scale {
  float factor, offset;
  float operator()(int64_t at) const { return (static_cast<float>(at) + offset) * factor; }
};

Scale scale_of(int64_t size, int64_t resized, bool align_corners, bool half_pixel_centers) {
  const bool between_corners = align_corners && resized > 1;
  const float factor = between_corners
                           ? static_cast<float>(size - 1) / static_cast<float>(resized - 1)
                           : static_cast<float>(size) / static_cast<float>(resized);
  return {factor, half_pixel_centers ? 0.5f : 0.0f};
}

// ---- nearest ----

Tensor nearest_positions(int64_t size, int64_t resized, bool align_corners,
                         bool half_pixel_centers) {
  const Scale scale = scale_of(size, resized, align_corners, half_pixel_centers);
  Tensor positions = empty({&resized, 1}, DType::kInt64);
  for (int64_t i = 0; i < resized; ++i) {
    const float at = align_corners ? std::round(scale(i)) : std::floor(scale(i));
    positions.data_ptr<int64_t>()[i] = std::min(static_cast<int64_t>(at), size - 1);
  }
  return positions;
}

Tensor resize_nearest(const Tensor& image, int64_t height, int64_t width, bool align_corners,
                      bool half_pixel_centers) {
  check_resizing(image, height, width);
  const Tensor rows = index_select(
      image, 2, nearest_positions(image.size(2), height, align_corners, half_pixel_centers));
  return index_select(rows, 3,
                      nearest_positions(image.size(3), width, align_corners, half_pixel_centers));
}

// ---- bilinear ----

// An element of the result is between two of the input: before * (1 - weight) + after * weight.
struct Between {
  int64_t before, after;
  float weight;
};

std::vector<Between> positions_between(int64_t size, int64_t resized, bool align_corners,
                                       bool half_pixel_centers) {
  const Scale scale = scale_of(size, resized, align_corners, half_pixel_centers);
  require_memory(resized, sizeof(Between), "positions");
  std::vector<Between> positions;
  positions.reserve(static_cast<size_t>(resized));
  for (int64_t i = 0; i < resized; ++i) {
    const float at = scale(i) - scale.offset;
    const int64_t before = std::clamp<int64_t>(static_cast<int64_t>(std::floor(at)), 0, size - 1);
    positions.push_back(
        {before, std::min(before + 1, size - 1), std::max(at - static_cast<float>(before), 0.0f)});
  }
  return positions;
}

template <typename T>
T rounded(float value) {
  return static_cast<T>(std::is_integral_v<T> ? value + 0.5f : value);
}

// A row of the result, [width, channels], from two of the input.
template <typename T>
void resize_row(const T* above, const T* below, float weight, std::span<const Between> columns,
                int64_t channels, T* out) {
  for (const Between& x : columns) {
    const T *a = above + x.before * channels, *b = above + x.after * channels,
            *c = below + x.before * channels, *d = below + x.after * channels;
    for (int64_t i = 0; i < channels; ++i) {
      const float upper =
          static_cast<float>(a[i]) * (1 - x.weight) + static_cast<float>(b[i]) * x.weight;
      const float lower =
          static_cast<float>(c[i]) * (1 - x.weight) + static_cast<float>(d[i]) * x.weight;
      out[i] = rounded<T>(upper * (1 - weight) + lower * weight);
    }
    out += channels;
  }
}

// [N, H, W, C] -> [N, height, width, C]
template <typename T>
void resize_images(const Tensor& nhwc, std::span<const Between> rows,
                   std::span<const Between> columns, const Tensor& out) {
  const int64_t height = nhwc.size(1), row = nhwc.size(2) * nhwc.size(3), channels = nhwc.size(3);
  const int64_t out_row = static_cast<int64_t>(columns.size()) * channels;
  T* target = out.data_ptr<T>();
  for (int64_t n = 0; n < nhwc.size(0); ++n) {
    const T* image = nhwc.data_ptr<T>() + n * height * row;
    for (const Between& y : rows) {
      poll();
      resize_row(image + y.before * row, image + y.after * row, y.weight, columns, channels,
                 target);
      target += out_row;
    }
  }
}

Tensor resize_bilinear(const Tensor& image, int64_t height, int64_t width, bool align_corners,
                       bool half_pixel_centers) {
  check_resizing(image, height, width);
  const Tensor nhwc = permute(image, IntArray{0, 2, 3, 1}).contiguous();
  const auto rows = positions_between(image.size(2), height, align_corners, half_pixel_centers);
  const auto columns = positions_between(image.size(3), width, align_corners, half_pixel_centers);
  const Tensor out = empty(IntArray{image.size(0), height, width, image.size(1)}, image.dtype());
  if (image.dtype() == DType::kUInt8) {
    resize_images<uint8_t>(nhwc, rows, columns, out);
  } else {
    TORCHLET_CHECK(image.dtype() == DType::kFloat32, "got %s", image.describe().c_str());
    resize_images<float>(nhwc, rows, columns, out);
  }
  return permute(out, IntArray{0, 3, 1, 2});
}

}  // namespace

TORCHLET_OP(nnapi_scaled_size, "nnapi::scaled_size(int size, float factor) -> int", scaled_size);
TORCHLET_OP(nnapi_resize_nearest,
            "nnapi::resize_nearest(Tensor image, int height, int width, bool align_corners, bool "
            "half_pixel_centers) -> Tensor",
            resize_nearest);
TORCHLET_OP(nnapi_resize_bilinear,
            "nnapi::resize_bilinear(Tensor image, int height, int width, bool align_corners, bool "
            "half_pixel_centers) -> Tensor",
            resize_bilinear);

}  // namespace torchlet::ops
