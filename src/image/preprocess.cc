#include <torchlet/preprocess.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "image/resample.h"

namespace torchlet {
namespace {

using image::Run;

// How the bytes of a pixel become numbers of a tensor.
template <typename Element>
struct Conversion {
  size_t channels;
  std::array<size_t, 3> byte;                           // of the pixel, for each channel
  std::array<std::array<Element, 256>, 3> number = {};  // for each of its values
};

size_t channel_count(Channels channels) { return channels == Channels::kGrey ? 1 : 3; }

std::array<size_t, 3> bytes_of(Channels channels) {
  return channels == Channels::kBgr ? std::array<size_t, 3>{2, 1, 0}
                                    : std::array<size_t, 3>{0, 1, 2};
}

// As torchvision's ToTensor and Normalize compute it, for the 256 values that there are.
Conversion<float> float_conversion(const Preprocess& steps) {
  Conversion<float> result{channel_count(steps.channels), bytes_of(steps.channels)};
  const auto of_channel = [](const std::vector<double>& numbers, size_t c, float otherwise) {
    return numbers.empty() ? otherwise : static_cast<float>(numbers[numbers.size() == 1 ? 0 : c]);
  };
  const bool normalizes = !steps.mean.empty() || !steps.std.empty();
  for (size_t c = 0; c < result.channels; ++c) {
    const float mean = of_channel(steps.mean, c, 0), std = of_channel(steps.std, c, 1);
    for (size_t i = 0; i < 256; ++i) {
      const float value = static_cast<float>(i) / 255.0f;
      result.number[c][i] = normalizes ? (value - mean) / std : value;
    }
  }
  return result;
}

Conversion<uint8_t> byte_conversion(const Preprocess& steps) {
  Conversion<uint8_t> result{channel_count(steps.channels), bytes_of(steps.channels)};
  for (auto& numbers : result.number) {
    for (size_t i = 0; i < 256; ++i) numbers[i] = static_cast<uint8_t>(i);
  }
  return result;
}

template <typename Element>
class TensorWriter {
 public:
  TensorWriter(const Tensor& tensor, Conversion<Element> conversion)
      : data_(tensor.data_ptr<Element>()),
        channel_stride_(tensor.stride(1)),
        row_stride_(tensor.stride(2)),
        column_stride_(tensor.stride(3)),
        conversion_(conversion) {}

  void write(const Run& run) const {
    const int64_t step = run.row_step * row_stride_ + run.column_step * column_stride_;
    Element* to = data_ + run.row * row_stride_ + run.column * column_stride_;
    for (size_t c = 0; c < conversion_.channels; ++c) {
      const std::array<Element, 256>& number = conversion_.number[c];
      const uint8_t* from = run.rgbx + conversion_.byte[c];
      Element* channel = to + static_cast<int64_t>(c) * channel_stride_;
      for (int64_t i = 0; i < run.count; ++i) {
        channel[i * step] = number[from[image::kPixelBytes * i]];
      }
    }
  }

  // The value of black.
  void fill(int64_t height, int64_t width) const {
    for (size_t c = 0; c < conversion_.channels; ++c) {
      for (int64_t y = 0; y < height; ++y) {
        Element* to = data_ + static_cast<int64_t>(c) * channel_stride_ + y * row_stride_;
        for (int64_t x = 0; x < width; ++x) to[x * column_stride_] = conversion_.number[c][0];
      }
    }
  }

 private:
  Element* data_;
  int64_t channel_stride_, row_stride_, column_stride_;
  Conversion<Element> conversion_;
};

// Where the picture goes after it has been resized: `part` of it to (top, left) of the result.
struct Layout {
  image::Part part;
  int64_t height, width, top, left;
};

Layout layout_of(const Preprocess& steps, int64_t height, int64_t width) {
  Layout layout{};
  layout.part.size = {height, width};
  if (steps.resize.size() == 1) {
    layout.part.size = size_of_shorter_side(height, width, steps.resize[0]);
  } else if (steps.resize.size() == 2) {
    layout.part.size = {steps.resize[0], steps.resize[1]};
  }
  layout.part.interpolation = steps.interpolation;
  layout.part.antialias = steps.antialias;
  const auto [full_height, full_width] = layout.part.size;
  layout.height = steps.crop.empty() ? full_height : steps.crop.front();
  layout.width = steps.crop.empty() ? full_width : steps.crop.back();
  const auto down =
      image::overlap(image::center_offset(full_height, layout.height), layout.height, full_height);
  const auto across =
      image::overlap(image::center_offset(full_width, layout.width), layout.width, full_width);
  layout.part.top = down.from;
  layout.part.left = across.from;
  layout.part.height = down.count;
  layout.part.width = across.count;
  layout.top = down.to;
  layout.left = across.to;
  if (layout.height > image::kMaxPixels / layout.width) {
    fail(ErrorCode::kInvalidArgument, "preprocessing would make %lld x %lld pixels: too many",
         static_cast<long long>(layout.width), static_cast<long long>(layout.height));
  }
  return layout;
}

template <typename Element>
Tensor prepared(image::Rows& rows, image::Turn turn, const Preprocess& steps, const Layout& layout,
                const Conversion<Element>& conversion) {
  const auto channels = static_cast<int64_t>(conversion.channels);
  const Tensor tensor = empty(std::array<int64_t, 4>{1, channels, layout.height, layout.width},
                              steps.dtype, steps.memory_format);
  const TensorWriter<Element> writer(tensor, conversion);
  if (layout.part.height < layout.height || layout.part.width < layout.width) {
    writer.fill(layout.height, layout.width);
  }
  image::resample(rows, turn, layout.part, [&](Run run) {
    run.row += layout.top;
    run.column += layout.left;
    writer.write(run);
  });
  return tensor;
}

Tensor prepared(image::Rows& rows, Rotation rotation, const Preprocess& steps) {
  steps.check();
  const image::Turn turn = image::turn_of(rotation);
  const Layout layout = turn.exchanged ? layout_of(steps, rows.width(), rows.height())
                                       : layout_of(steps, rows.height(), rows.width());
  image::GreyRows grey(rows);
  image::Rows& source = steps.channels == Channels::kGrey ? grey : rows;
  return steps.dtype == DType::kFloat32
             ? prepared(source, turn, steps, layout, float_conversion(steps))
             : prepared(source, turn, steps, layout, byte_conversion(steps));
}

void check_size(const std::vector<int64_t>& size, const char* key) {
  const auto is_side = [](int64_t side) { return side >= 1 && side <= 1 << 16; };
  if (size.size() <= 2 && std::ranges::all_of(size, is_side)) return;
  fail(ErrorCode::kInvalidArgument,
       "'%s' of preprocessing must be a side or [height, width], each 1 to 65536", key);
}

void check_numbers(const Preprocess& steps, const std::vector<double>& numbers, const char* key) {
  if (numbers.empty()) return;
  const size_t channels = channel_count(steps.channels);
  if (numbers.size() != 1 && numbers.size() != channels) {
    fail(
        ErrorCode::kInvalidArgument,
        "'%s' of preprocessing has %zu numbers for %zu channels; give one for each, or one for all",
        key, numbers.size(), channels);
  }
  const auto is_number = [](double x) { return std::isfinite(static_cast<float>(x)); };
  if (!std::ranges::all_of(numbers, is_number)) {
    fail(ErrorCode::kInvalidArgument, "'%s' of preprocessing has a number beyond float32", key);
  }
}

}  // namespace

Preprocess Preprocess::imagenet() {
  Preprocess steps;
  steps.resize = {256};
  steps.crop = {224};
  steps.mean = {0.485, 0.456, 0.406};
  steps.std = {0.229, 0.224, 0.225};
  return steps;
}

void Preprocess::check() const {
  check_size(resize, "resize");
  check_size(crop, "crop");
  check_numbers(*this, mean, "mean");
  check_numbers(*this, std, "std");
  if (std::ranges::any_of(std, [](double x) { return static_cast<float>(x) == 0; })) {
    fail(ErrorCode::kInvalidArgument, "'std' of preprocessing has a zero");
  }
  if (dtype != DType::kFloat32 && dtype != DType::kUInt8) {
    fail(ErrorCode::kInvalidArgument, "'dtype' of preprocessing must be float32 or uint8");
  }
  if (dtype == DType::kUInt8 && (!mean.empty() || !std.empty())) {
    fail(ErrorCode::kInvalidArgument, "preprocessing to uint8 takes no 'mean' and no 'std'");
  }
  if (memory_format != MemoryFormat::kContiguous && memory_format != MemoryFormat::kChannelsLast) {
    fail(ErrorCode::kInvalidArgument,
         "'memory_format' of preprocessing must be contiguous or channels_last");
  }
}

Tensor Preprocess::operator()(const Image& image) const {
  image::ImageRows rows(image);
  return prepared(rows, Rotation::k0, *this);
}

Tensor Preprocess::operator()(const PixelView& pixels, Rotation rotation) const {
  image::PixelRows rows(pixels);
  return prepared(rows, rotation, *this);
}

Tensor Preprocess::operator()(const YuvView& picture, Rotation rotation) const {
  image::YuvRows rows(picture);
  return prepared(rows, rotation, *this);
}

Tensor to_tensor(const Image& image, const std::array<float, 3>& mean,
                 const std::array<float, 3>& std, MemoryFormat format) {
  Preprocess steps;
  steps.mean.assign(mean.begin(), mean.end());
  steps.std.assign(std.begin(), std.end());
  steps.memory_format = format;
  return steps(image);
}

Tensor load_image(const std::string& path, const Preprocess& steps) {
  return steps(read_image(path));
}

}  // namespace torchlet
