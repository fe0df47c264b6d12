// Resizing of images NCHW as TensorFlow does it, of plain tensors (quantized ones come as their
// integers).
#include <algorithm>
#include <cmath>

#include "base/limits.h"
#include "kernels/spatial/resize_nhwc.h"
#include "ops/core/common.h"
#include "ops/core/op.h"

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

// An image and its result as the kernels read and write them.
struct Resizing {
  Tensor input, output;  // [N, H, W, C], contiguous
  kernels::ResizeShape shape;

  Resizing(const Tensor& image, int64_t height, int64_t width)
      : input(permute(image, IntArray{0, 2, 3, 1}).contiguous()),
        output(empty(IntArray{image.size(0), height, width, image.size(1)}, image.dtype())),
        shape{image.size(0), image.size(1), image.size(2), image.size(3), height, width} {}
  Tensor result() const { return permute(output, IntArray{0, 3, 1, 2}); }
};

template <typename Tap>
std::vector<Tap> room_for(int64_t taps) {
  require_memory(taps, sizeof(Tap), "positions");
  std::vector<Tap> room;
  room.reserve(static_cast<size_t>(taps));
  return room;
}

// ---- nearest ----

std::vector<int64_t> nearest_taps(int64_t size, int64_t resized, bool align_corners,
                                  bool half_pixel_centers) {
  const Scale scale = scale_of(size, resized, align_corners, half_pixel_centers);
  std::vector<int64_t> taps = room_for<int64_t>(resized);
  for (int64_t i = 0; i < resized; ++i) {
    const float at = align_corners ? std::round(scale(i)) : std::floor(scale(i));
    taps.push_back(std::min(static_cast<int64_t>(at), size - 1));
  }
  return taps;
}

Tensor resize_nearest(const Tensor& image, int64_t height, int64_t width, bool align_corners,
                      bool half_pixel_centers) {
  check_resizing(image, height, width);
  const Resizing resizing(image, height, width);
  const auto rows = nearest_taps(image.size(2), height, align_corners, half_pixel_centers);
  const auto columns = nearest_taps(image.size(3), width, align_corners, half_pixel_centers);
  kernels::resize_nearest_nhwc(static_cast<int64_t>(element_size(image.dtype())), resizing.shape,
                               rows.data(), columns.data(), resizing.input.raw_data(),
                               image.size(1), resizing.output.raw_data(), image.size(1));
  return resizing.result();
}

// ---- bilinear ----

std::vector<kernels::LinearTap> linear_taps(int64_t size, int64_t resized, bool align_corners,
                                            bool half_pixel_centers) {
  const Scale scale = scale_of(size, resized, align_corners, half_pixel_centers);
  std::vector<kernels::LinearTap> taps = room_for<kernels::LinearTap>(resized);
  for (int64_t i = 0; i < resized; ++i) {
    const float at = std::max(scale(i) - scale.offset, 0.0f);
    const int64_t before = std::min(static_cast<int64_t>(at), size - 1);
    taps.push_back({before, at - static_cast<float>(before)});
  }
  return taps;
}

Tensor resize_reals(const Tensor& image, int64_t height, int64_t width, bool align_corners,
                    bool half_pixel_centers) {
  const Resizing resizing(image, height, width);
  const auto rows = linear_taps(image.size(2), height, align_corners, half_pixel_centers);
  const auto columns = linear_taps(image.size(3), width, align_corners, half_pixel_centers);
  kernels::resize_linear_nhwc_f32(resizing.shape, rows.data(), columns.data(),
                                  resizing.input.data_ptr<float>(), image.size(1),
                                  resizing.output.data_ptr<float>(), image.size(1));
  return resizing.result();
}

// Of float32, or of integers that stand for reals: those in between are rounded.
Tensor resize_bilinear(const Tensor& image, int64_t height, int64_t width, bool align_corners,
                       bool half_pixel_centers) {
  check_resizing(image, height, width);
  if (image.dtype() == DType::kFloat32) {
    return resize_reals(image, height, width, align_corners, half_pixel_centers);
  }
  TORCHLET_CHECK(image.dtype() == DType::kUInt8, "got %s", image.describe().c_str());
  const Tensor resized =
      resize_reals(image.to(DType::kFloat32), height, width, align_corners, half_pixel_centers);
  const Tensor result = empty_like(resized, DType::kUInt8);  // with the same strides
  const float* reals = resized.data_ptr<float>();
  auto* rounded = result.data_ptr<uint8_t>();
  std::transform(reals, reals + resized.numel(), rounded, [](float real) {
    return static_cast<uint8_t>(static_cast<int32_t>(real + 0.5f));
  });
  return result;
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
