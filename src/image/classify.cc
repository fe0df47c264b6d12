#include <torchlet/image.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/mapped_file.h"
#include "image/lines.h"

namespace torchlet {

std::vector<std::string> image::lines_of(std::string_view left) {
  std::vector<std::string> labels;
  while (!left.empty()) {
    std::string_view line = left.substr(0, left.find('\n'));
    left.remove_prefix(std::min(line.size() + 1, left.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    labels.emplace_back(line);
  }
  return labels;
}

std::vector<std::string> read_labels(const std::string& path) {
  const MappedFile file(path);
  return image::lines_of({reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()});
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
