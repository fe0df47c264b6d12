#include <torchlet/image.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace torchlet {
namespace {

// PIL's arithmetic (src/libImaging/Resample.c): each output pixel of a pass is a weighted sum of
// input pixels with weights of 22 fractional bits, rounded to 8 bits after each pass.
constexpr int kFractionBits = 22;

struct Window {
  int64_t first;
  std::vector<int32_t> weights;
};

// The inputs of each output pixel: a triangle whose half-width is one input pixel, or one output
// pixel when shrinking.
std::vector<Window> triangle_windows(int64_t in_size, int64_t out_size) {
  const double scale = static_cast<double>(in_size) / static_cast<double>(out_size);
  const double support = std::max(scale, 1.0);
  std::vector<Window> windows;
  for (int64_t i = 0; i < out_size; ++i) {
    const double center = (static_cast<double>(i) + 0.5) * scale;
    const auto first = std::max<int64_t>(0, static_cast<int64_t>(center - support + 0.5));
    const auto last = std::min<int64_t>(in_size, static_cast<int64_t>(center + support + 0.5));
    std::vector<double> weights;
    double sum = 0;
    for (int64_t x = first; x < last; ++x) {
      const double distance = std::abs((static_cast<double>(x) - center + 0.5) * (1 / support));
      weights.push_back(distance < 1 ? 1 - distance : 0);
      sum += weights.back();
    }
    Window window{first, {}};
    for (const double weight : weights) {
      const double normal = sum != 0 ? weight / sum : weight;
      window.weights.push_back(static_cast<int32_t>(0.5 + normal * (1 << kFractionBits)));
    }
    windows.push_back(std::move(window));
  }
  return windows;
}

uint8_t rounded(int32_t sum) {
  return static_cast<uint8_t>(std::clamp(sum >> kFractionBits, 0, 255));
}

constexpr int32_t kHalf = 1 << (kFractionBits - 1);

Image resize_width(const Image& image, int64_t width) {
  Image result{image.height, width, {}};
  result.rgb.reserve(static_cast<size_t>(image.height * width * 3));
  const std::vector<Window> windows = triangle_windows(image.width, width);
  for (int64_t y = 0; y < image.height; ++y) {
    const uint8_t* row = image.rgb.data() + y * image.width * 3;
    for (const Window& window : windows) {
      int32_t sums[3] = {kHalf, kHalf, kHalf};
      const uint8_t* pixel = row + window.first * 3;
      for (const int32_t weight : window.weights) {
        for (int c = 0; c < 3; ++c) sums[c] += weight * *pixel++;
      }
      for (const int32_t sum : sums) result.rgb.push_back(rounded(sum));
    }
  }
  return result;
}

Image resize_height(const Image& image, int64_t height) {
  const int64_t stride = image.width * 3;
  Image result{height, image.width, {}};
  result.rgb.reserve(static_cast<size_t>(height * stride));
  for (const Window& window : triangle_windows(image.height, height)) {
    for (int64_t x = 0; x < stride; ++x) {
      int32_t sum = kHalf;
      const uint8_t* pixel = image.rgb.data() + window.first * stride + x;
      for (const int32_t weight : window.weights) {
        sum += weight * *pixel;
        pixel += stride;
      }
      result.rgb.push_back(rounded(sum));
    }
  }
  return result;
}

}  // namespace

Image resize(const Image& image, int64_t height, int64_t width) {
  if (height < 1 || width < 1 || image.rgb.empty()) {
    fail(ErrorCode::kInvalidArgument, "a picture needs at least one pixel in each direction");
  }
  Image result = width == image.width ? image : resize_width(image, width);
  return height == image.height ? result : resize_height(result, height);
}

Image resize_shorter_side(const Image& image, int64_t size) {
  const int64_t shorter = std::min(image.height, image.width);
  const int64_t longer = std::max(image.height, image.width);
  if (shorter == 0) fail(ErrorCode::kInvalidArgument, "the picture is empty");
  // int(size * longer / shorter) in Python, which divides as floats.
  const auto other =
      static_cast<int64_t>(static_cast<double>(size * longer) / static_cast<double>(shorter));
  return image.height <= image.width ? resize(image, size, other) : resize(image, other, size);
}

Image center_crop(const Image& image, int64_t height, int64_t width) {
  // Python's round: halves go to the even neighbour. Padding is split towards the top and left.
  const auto offset = [](int64_t have, int64_t want) {
    return have >= want ? static_cast<int64_t>(std::nearbyint(static_cast<double>(have - want) / 2))
                        : -((want - have) / 2);
  };
  const int64_t top = offset(image.height, height), left = offset(image.width, width);
  Image result{height, width, std::vector<uint8_t>(static_cast<size_t>(height * width * 3))};
  for (int64_t y = std::max<int64_t>(0, -top); y < height && y + top < image.height; ++y) {
    const int64_t x = std::max<int64_t>(0, -left);
    const int64_t count = std::min(width, image.width - left) - x;
    const uint8_t* from = image.rgb.data() + ((y + top) * image.width + x + left) * 3;
    std::copy(from, from + count * 3, result.rgb.data() + (y * width + x) * 3);
  }
  return result;
}

}  // namespace torchlet
