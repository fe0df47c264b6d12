// Pictures as the inputs of models: what torchvision.transforms does to a PIL image, with the same
// numbers.
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

// The steps between a picture and a classifier's input; the defaults are those of the ImageNet
// models of torchvision.
struct ImageOptions {
  int64_t resize = 256;  // the shorter side; 0 keeps the size
  int64_t crop = 224;    // the central square; 0 keeps everything
  std::array<float, 3> mean = {0.485f, 0.456f, 0.406f};
  std::array<float, 3> std = {0.229f, 0.224f, 0.225f};
};

// Decodes PNG or JPEG; grey becomes RGB, alpha is dropped (PIL's convert("RGB")). Error kFileFormat
// if the bytes are neither or damaged, or the picture has more than 2^27 pixels.
TORCHLET_API Image decode_image(std::span<const std::byte> bytes);
TORCHLET_API Image read_image(const std::string& path);

// Bilinear with antialiasing: the bits of PIL's Image.resize(.., BILINEAR).
TORCHLET_API Image resize(const Image& image, int64_t height, int64_t width);
// The shorter side becomes `size` and the longer one keeps the ratio (torchvision's Resize).
TORCHLET_API Image resize_shorter_side(const Image& image, int64_t size);
// The middle of the picture; black where it is smaller (torchvision's CenterCrop).
TORCHLET_API Image center_crop(const Image& image, int64_t height, int64_t width);

// float32 [1, 3, height, width] with (pixel / 255 - mean) / std.
TORCHLET_API Tensor to_tensor(const Image& image, const std::array<float, 3>& mean,
                              const std::array<float, 3>& std);

// All the steps from a file to a classifier's input, float32 [1, 3, crop, crop].
TORCHLET_API Tensor load_image(const std::string& path, const ImageOptions& options = {});

// One label a line. Error kIo if the file cannot be read.
TORCHLET_API std::vector<std::string> read_labels(const std::string& path);

// The `count` largest of the scores of a classifier ([classes] or [1, classes]) as (class,
// probability), largest first; probabilities are their softmax.
TORCHLET_API std::vector<std::pair<int64_t, float>> top_classes(const Tensor& scores,
                                                                int64_t count);

}  // namespace torchlet
