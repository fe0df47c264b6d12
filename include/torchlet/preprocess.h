// The steps between a picture and a model's input, as torchvision.transforms takes them: resize,
// crop, to a tensor, normalise. A model can carry them, and its labels (docs/pictures.md):
//
//   const auto model = torchlet::load("model.pt");
//   const auto steps = torchlet::preprocess_of(model).value_or(torchlet::Preprocess::imagenet());
//   model.forward({steps(torchlet::read_image("cat.jpg"))});
#pragma once

#include <torchlet/dtype.h>
#include <torchlet/export.h>
#include <torchlet/image.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace torchlet {

class Module;

enum class Channels : uint8_t {
  kRgb,
  kBgr,
  kGrey,  // one; PIL's convert("L"), before anything else
};

// What is not set keeps the picture as it is.
struct TORCHLET_API Preprocess {
  std::vector<int64_t> resize;  // {shorter side} or {height, width}
  Interpolation interpolation = Interpolation::kBilinear;
  bool antialias = true;      // as resize() of image.h
  std::vector<int64_t> crop;  // the middle, {side} or {height, width}; black where there is none
  Channels channels = Channels::kRgb;
  // In the order of the channels, or one number for all: (pixel / 255 - mean) / std. Empty: 0, 1.
  std::vector<double> mean, std;
  DType dtype = DType::kFloat32;  // or kUInt8: the pixels, without mean and std
  MemoryFormat memory_format = MemoryFormat::kContiguous;  // or kChannelsLast

  // Resize(256), CenterCrop(224) and the mean and std of torchvision's ImageNet models.
  static Preprocess imagenet();

  // Error kInvalidArgument if a field is none of what it can be; the others check it.
  void check() const;

  // [1, channels, height, width]. Pictures in the caller's memory are read once, in one pass,
  // and give the bits that to_image() and then the steps give.
  Tensor operator()(const Image& image) const;
  Tensor operator()(const PixelView& pixels, Rotation rotation = Rotation::k0) const;
  Tensor operator()(const YuvView& picture, Rotation rotation = Rotation::k0) const;

  bool operator==(const Preprocess&) const = default;
};

// The record as JSON; keys that are missing are not set. Error kInvalidArgument, naming the key, if
// the text is no JSON, has other keys, or a value that is none of what it can be.
TORCHLET_API Preprocess parse_preprocess(std::string_view json);
// On one line.
TORCHLET_API std::string to_json(const Preprocess& steps);

// What the model carries as its extra files "preprocess.json" and "labels.txt" (PyTorch's
// _extra_files). Error kFileFormat if they are damaged, or no record.
inline constexpr char kPreprocessFile[] = "preprocess.json";
inline constexpr char kLabelsFile[] = "labels.txt";
TORCHLET_API std::optional<Preprocess> preprocess_of(const Module& module);
// One a line; none if it carries none.
TORCHLET_API std::vector<std::string> labels_of(const Module& module);

// Reads a picture and takes the steps.
TORCHLET_API Tensor load_image(const std::string& path,
                               const Preprocess& steps = Preprocess::imagenet());

}  // namespace torchlet
