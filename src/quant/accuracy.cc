#include "quant/accuracy.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "ops/engines/quantize.h"
#include "tensor/containers.h"

namespace torchlet::quant {
namespace {

// How many scores are larger than that of `label`, or as large and before it.
size_t rank(std::span<const double> scores, size_t label) {
  const double score = scores[label];
  if (std::isnan(score)) return std::numeric_limits<size_t>::max();
  size_t rank = 0;
  for (size_t i = 0; i < scores.size(); ++i) {
    rank += scores[i] > score || (scores[i] == score && i < label);
  }
  return rank;
}

}  // namespace

Tensor scores_of(const Value& output) {
  const DepthGuard guard;
  const auto first = [](const auto& items, const auto& value_of) {
    for (const auto& item : items) {
      if (Tensor scores = scores_of(value_of(item)); scores.defined()) return scores;
    }
    return Tensor();
  };
  if (output.is_tensor()) {
    const Tensor tensor = output.to_tensor();
    const bool is_real = is_floating_point(tensor.dtype()) || tensor.is_quantized();
    const bool has_rows = tensor.dim() == 1 || tensor.dim() == 2;
    return is_real && has_rows && tensor.size(-1) >= 2 ? tensor : Tensor();
  }
  if (output.is_list() || output.is_tuple()) {
    return first(output.to_list(), [](const Value& item) { return item; });
  }
  if (output.is_dict()) {
    return first(output.to_dict(), [](const auto& item) { return item.second; });
  }
  return {};
}

void Accuracy::add(const Value& output, std::span<const int64_t> labels) {
  const Tensor tensor = scores_of(output);
  if (!tensor.defined()) {
    fail(ErrorCode::kInvalidArgument, "labels need a model that gives scores, [N, classes]");
  }
  const Tensor scores =
      (tensor.is_quantized() ? ops::dequantize(tensor) : tensor).to(DType::kFloat64).contiguous();
  classes_ = static_cast<size_t>(scores.size(-1));
  const std::span all(scores.data_ptr<double>(), static_cast<size_t>(scores.numel()));
  if (labels.size() != all.size() / classes_) {
    fail(ErrorCode::kInvalidArgument, format("there are %zu labels for %zu rows of scores",
                                             labels.size(), all.size() / classes_));
  }
  for (size_t row = 0; row < labels.size(); ++row) {
    if (labels[row] < 0 || labels[row] >= scores.size(-1)) {
      fail(ErrorCode::kInvalidArgument,
           format("the label %lld is not one of the model's classes, 0 to %zu",
                  static_cast<long long>(labels[row]), classes_ - 1));
    }
    const size_t place =
        rank(all.subspan(row * classes_, classes_), static_cast<size_t>(labels[row]));
    top1_ += place < 1;
    top5_ += place < 5;
  }
  rows_ += labels.size();
}

}  // namespace torchlet::quant
