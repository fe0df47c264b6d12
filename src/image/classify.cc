#include <torchlet/image.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/mapped_file.h"

namespace torchlet {

Tensor to_tensor(const Image& image, const std::array<float, 3>& mean,
                 const std::array<float, 3>& std) {
  const Tensor tensor =
      empty(std::array<int64_t, 4>{1, 3, image.height, image.width}, DType::kFloat32);
  const int64_t pixels = image.height * image.width;
  auto* out = tensor.data_ptr<float>();
  for (size_t c = 0; c < 3; ++c) {
    for (int64_t i = 0; i < pixels; ++i) {
      const float value = static_cast<float>(image.rgb[static_cast<size_t>(i) * 3 + c]) / 255.0f;
      *out++ = (value - mean[c]) / std[c];
    }
  }
  return tensor;
}

Tensor load_image(const std::string& path, const ImageOptions& options) {
  Image image = read_image(path);
  if (options.resize > 0) image = resize_shorter_side(image, options.resize);
  if (options.crop > 0) image = center_crop(image, options.crop, options.crop);
  return to_tensor(image, options.mean, options.std);
}

std::vector<std::string> read_labels(const std::string& path) {
  const MappedFile file(path);
  std::string_view left(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  std::vector<std::string> labels;
  while (!left.empty()) {
    std::string_view line = left.substr(0, left.find('\n'));
    left.remove_prefix(std::min(line.size() + 1, left.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    labels.emplace_back(line);
  }
  return labels;
}

std::vector<std::pair<int64_t, float>> top_classes(const Tensor& scores, int64_t count) {
  if (scores.numel() == 0 || scores.dim() == 0 || scores.numel() != scores.size(-1)) {
    fail(ErrorCode::kInvalidArgument,
         "the scores of a classifier must be [classes] or [1, classes], not " + scores.describe());
  }
  const Tensor plain = scores.to(DType::kFloat32).contiguous();
  const std::span<const float> values(plain.data_ptr<float>(), static_cast<size_t>(plain.numel()));
  const double largest = *std::ranges::max_element(values);
  double sum = 0;
  for (const float value : values) sum += std::exp(value - largest);

  std::vector<int64_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  const auto kept = std::clamp<int64_t>(count, 0, static_cast<int64_t>(order.size()));
  std::partial_sort(order.begin(), order.begin() + kept, order.end(), [&](int64_t a, int64_t b) {
    const float x = values[static_cast<size_t>(a)], y = values[static_cast<size_t>(b)];
    return x != y ? x > y : a < b;
  });
  std::vector<std::pair<int64_t, float>> result;
  for (int64_t i = 0; i < kept; ++i) {
    const int64_t index = order[static_cast<size_t>(i)];
    const double probability = std::exp(values[static_cast<size_t>(index)] - largest) / sum;
    result.emplace_back(index, static_cast<float>(probability));
  }
  return result;
}

}  // namespace torchlet
