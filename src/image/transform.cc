#include <algorithm>

#include "base/error.h"
#include "image/resample.h"
#include "kernels/spatial/resize_nhwc.h"

namespace torchlet {
namespace {

using image::Part;
using image::Run;

Image empty_image(int64_t height, int64_t width) {
  if (height < 1 || width < 1 || height > image::kMaxPixels / width) {
    fail(ErrorCode::kInvalidArgument, "a picture of %lld x %lld pixels is empty or too large",
         static_cast<long long>(width), static_cast<long long>(height));
  }
  return {height, width, std::vector<uint8_t>(static_cast<size_t>(height * width * 3))};
}

// Writes a run of pixels of 3 bytes.
void store(Image& image, const Run& run) {
  uint8_t* to = image.rgb.data() + (run.row * image.width + run.column) * 3;
  const int64_t step = (run.row_step * image.width + run.column_step) * 3;
  for (int64_t i = 0; i < run.count; ++i, to += step) {
    const uint8_t* pixel = run.rgbx + image::kPixelBytes * i;
    to[0] = pixel[0];
    to[1] = pixel[1];
    to[2] = pixel[2];
  }
}

Image resampled(image::Rows& rows, image::Turn turn, const Part& part) {
  Image result = empty_image(part.height, part.width);
  image::resample(rows, turn, part, [&](const Run& run) { store(result, run); });
  return result;
}

}  // namespace

namespace image {

Image turned(Rows& rows, Turn turn) {
  const int64_t height = turn.exchanged ? rows.width() : rows.height();
  const int64_t width = turn.exchanged ? rows.height() : rows.width();
  Part part;
  part.size = {height, width};
  part.height = height;
  part.width = width;
  return resampled(rows, turn, part);
}

}  // namespace image

Image to_image(const PixelView& pixels, Rotation rotation) {
  image::PixelRows rows(pixels);
  return image::turned(rows, image::turn_of(rotation));
}

Image to_image(const YuvView& picture, Rotation rotation) {
  image::YuvRows rows(picture);
  return image::turned(rows, image::turn_of(rotation));
}

Image rotate(const Image& image, Rotation rotation) {
  image::ImageRows rows(image);
  return image::turned(rows, image::turn_of(rotation));
}

Image resize(const Image& image, int64_t height, int64_t width, Interpolation interpolation,
             bool antialias) {
  image::ImageRows rows(image);
  return resampled(rows, {}, {{height, width}, interpolation, antialias, 0, 0, height, width});
}

std::array<int64_t, 2> size_of_shorter_side(int64_t height, int64_t width, int64_t size) {
  const int64_t shorter = std::min(height, width), longer = std::max(height, width);
  if (shorter < 1) fail(ErrorCode::kInvalidArgument, "the picture is empty");
  // int(size * longer / shorter) in Python, which divides as floats.
  const double exact =
      static_cast<double>(size) * static_cast<double>(longer) / static_cast<double>(shorter);
  constexpr double kMost = 1e15;  // far above any picture, and exact as a double
  const auto other = static_cast<int64_t>(std::min(exact, kMost));
  return height <= width ? std::array{size, other} : std::array{other, size};
}

Image resize_shorter_side(const Image& image, int64_t size) {
  const auto [height, width] = size_of_shorter_side(image.height, image.width, size);
  return resize(image, height, width);
}

Image crop(const Image& image, int64_t top, int64_t left, int64_t height, int64_t width) {
  image::ImageRows rows(image);  // checks it
  Image result = empty_image(height, width);
  const image::Overlap down = image::overlap(top, height, image.height);
  const image::Overlap across = image::overlap(left, width, image.width);
  for (int64_t y = 0; y < down.count; ++y) {
    const uint8_t* from = image.rgb.data() + ((down.from + y) * image.width + across.from) * 3;
    std::copy_n(from, across.count * 3,
                result.rgb.data() + ((down.to + y) * width + across.to) * 3);
  }
  return result;
}

Image center_crop(const Image& image, int64_t height, int64_t width) {
  return crop(image, image::center_offset(image.height, height),
              image::center_offset(image.width, width), height, width);
}

Tensor interpolate_bilinear(const Tensor& pictures, int64_t height, int64_t width) {
  if (pictures.dim() != 4 || pictures.dtype() != DType::kFloat32 || height < 1 || width < 1 ||
      (pictures.numel() > 0 && (pictures.size(2) < 1 || pictures.size(3) < 1))) {
    fail(ErrorCode::kInvalidArgument,
         "expected a float32 tensor [batch, channels, height, width] and sizes above 0, got " +
             pictures.describe());
  }
  const Tensor from = pictures.contiguous(MemoryFormat::kChannelsLast);
  const Tensor to = empty(std::array{pictures.size(0), pictures.size(1), height, width},
                          DType::kFloat32, MemoryFormat::kChannelsLast);
  if (to.numel() == 0) return to;
  const kernels::ResizeShape shape{pictures.size(0), pictures.size(1), pictures.size(2),
                                   pictures.size(3), height,           width};
  std::vector<kernels::LinearTap> rows(static_cast<size_t>(height)),
      columns(static_cast<size_t>(width));
  kernels::linear_taps(shape.in_h, height, false, 0, rows.data());
  kernels::linear_taps(shape.in_w, width, false, 0, columns.data());
  kernels::resize_linear_nhwc_f32(shape, rows.data(), columns.data(), from.data_ptr<float>(),
                                  shape.channels, to.data_ptr<float>(), shape.channels);
  return to.contiguous(pictures.suggest_memory_format());
}

}  // namespace torchlet
