// Pictures: read from files, cameras and bitmaps, resized, cropped and turned, with the numbers of
// PIL and torchvision (docs/pictures.md). preprocess.h makes inputs of models of them.
//
// All of it is thread safe.
#pragma once

#include <torchlet/export.h>
#include <torchlet/tensor.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace torchlet {

// 8-bit RGB, rows from the top, red first: [height, width, 3].
struct Image {
  int64_t height = 0;
  int64_t width = 0;
  std::vector<uint8_t> rgb;
};

// Clockwise.
enum class Rotation : int16_t { k0 = 0, k90 = 90, k180 = 180, k270 = 270 };

// Decodes PNG or JPEG as PIL's ImageOps.exif_transpose() and convert("RGB") do: grey becomes RGB,
// alpha is dropped, and the picture is turned upright by its EXIF orientation. Error kFileFormat if
// the bytes are neither or damaged, or the picture has more than 2^27 pixels.
TORCHLET_API Image decode_image(std::span<const std::byte> bytes);
TORCHLET_API Image read_image(const std::string& path);

// ---- pictures in the caller's memory ----

enum class PixelFormat : uint8_t {
  kGrey,  // 1 byte a pixel
  kRgb,   // 3 bytes
  kRgba,  // 4 bytes; alpha is dropped
  kBgra,  // 4 bytes; Android's int colours on little-endian processors
};

struct PixelView {
  PixelFormat format = PixelFormat::kRgb;
  const uint8_t* data = nullptr;  // the first pixel of the top row
  int64_t width = 0;
  int64_t height = 0;
  int64_t row_stride = 0;  // bytes from row to row; negative if rows lie from the bottom
};

// How luma and chroma stand for colours (ITU-R BT.601 and BT.709). Cameras of Android and JPEG are
// kBt601; `limited` ranges are 16 to 235 and 16 to 240, as video has them.
enum class YuvMatrix : uint8_t { kBt601, kBt601Limited, kBt709, kBt709Limited };

// YUV 4:2:0 of 8 bits: one u and one v for 2 x 2 pixels, sizes halved upwards. Strides are bytes.
struct YuvView {
  const uint8_t* y = nullptr;
  const uint8_t* u = nullptr;
  const uint8_t* v = nullptr;
  int64_t width = 0;
  int64_t height = 0;
  int64_t y_row_stride = 0;
  int64_t uv_row_stride = 0;
  int64_t uv_pixel_stride = 1;  // I420: 1; NV12 and NV21: 2
  int64_t y_pixel_stride = 1;
  YuvMatrix matrix = YuvMatrix::kBt601;
};

// Copies. Each pixel takes the chroma of its square. Error kInvalidArgument for sizes below 1 or of
// more than 2^27 pixels, for null, and for strides of pixels below 1.
TORCHLET_API Image to_image(const PixelView& pixels, Rotation rotation = Rotation::k0);
TORCHLET_API Image to_image(const YuvView& picture, Rotation rotation = Rotation::k0);

// ---- changes ----

enum class Interpolation : uint8_t { kNearest, kBilinear, kBicubic };

// With `antialias` the bits of PIL's Image.resize(), which torchvision's Resize gives for PIL
// images; without what it gives for contiguous uint8 tensors (torch.nn.functional.interpolate,
// rounded).
TORCHLET_API Image resize(const Image& image, int64_t height, int64_t width,
                          Interpolation interpolation = Interpolation::kBilinear,
                          bool antialias = true);
// The size of which the shorter side is `size` and the longer one keeps the ratio: torchvision's
// Resize(size). {height, width}
TORCHLET_API std::array<int64_t, 2> size_of_shorter_side(int64_t height, int64_t width,
                                                         int64_t size);
TORCHLET_API Image resize_shorter_side(const Image& image, int64_t size);
// The rectangle; black where it leaves the picture.
TORCHLET_API Image crop(const Image& image, int64_t top, int64_t left, int64_t height,
                        int64_t width);
// The middle of the picture; black where it is smaller (torchvision's CenterCrop).
TORCHLET_API Image center_crop(const Image& image, int64_t height, int64_t width);
TORCHLET_API Image rotate(const Image& image, Rotation rotation);

// float32 [1, 3, height, width] with (pixel / 255 - mean) / std.
TORCHLET_API Tensor to_tensor(const Image& image, const std::array<float, 3>& mean,
                              const std::array<float, 3>& std,
                              MemoryFormat format = MemoryFormat::kContiguous);

// torch.nn.functional.interpolate(.., mode="bilinear", align_corners=False) of a float32 tensor
// [batch, channels, height, width].
TORCHLET_API Tensor interpolate_bilinear(const Tensor& pictures, int64_t height, int64_t width);

// ---- classes ----

// One label a line. Error kIo if the file cannot be read.
TORCHLET_API std::vector<std::string> read_labels(const std::string& path);

// The `count` largest of the scores of a classifier ([classes] or [1, classes]) as (class,
// probability), largest first; probabilities are their softmax.
TORCHLET_API std::vector<std::pair<int64_t, float>> top_classes(const Tensor& scores,
                                                                int64_t count);

}  // namespace torchlet
