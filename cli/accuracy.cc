#include "cli/accuracy.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tensor/containers.h"

namespace torchlet::cli {
namespace {

void add_errors(const Tensor& exact, const Tensor& result, Accuracy& accuracy) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (!is_floating_point(exact.dtype()) || exact.numel() == 0) return;
  if (exact.numel() != result.numel()) {  // another count of detections, say
    accuracy.error = kInfinity;
    return;
  }
  const Tensor a = exact.to(DType::kFloat64).contiguous();
  const Tensor b = result.to(DType::kFloat64).contiguous();
  const std::span x(a.data_ptr<double>(), static_cast<size_t>(a.numel()));
  const std::span y(b.data_ptr<double>(), x.size());
  double largest = 0, worst = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const bool both_lost = x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]));
    const double difference = both_lost ? 0 : std::abs(x[i] - y[i]);
    worst = std::isnan(difference) ? kInfinity : std::max(worst, difference);
    if (std::isfinite(x[i])) largest = std::max(largest, std::abs(x[i]));
  }
  if (worst > 0) accuracy.error = std::max(accuracy.error, worst / largest);

  const auto classes = static_cast<size_t>(exact.dim() > 0 ? exact.size(-1) : 1);
  if (exact.dim() > 2 || classes < 2) return;
  bool same = accuracy.same_largest.value_or(true);
  for (size_t i = 0; i < x.size(); i += classes) {
    const auto row = [&](const auto& values) { return values.subspan(i, classes); };
    const auto place = [](const auto& scores) {
      return std::ranges::max_element(scores) - scores.begin();
    };
    same &= place(row(x)) == place(row(y));
  }
  accuracy.same_largest = same;
}

void add_errors(const Value& exact, const Value& result, Accuracy& accuracy) {
  const DepthGuard guard;
  if (exact.is_tensor() && result.is_tensor()) {
    return add_errors(exact.to_tensor(), result.to_tensor(), accuracy);
  }
  if ((exact.is_list() && result.is_list()) || (exact.is_tuple() && result.is_tuple())) {
    const auto x = exact.to_list(), y = result.to_list();
    for (size_t i = 0; i < std::min(x.size(), y.size()); ++i) add_errors(x[i], y[i], accuracy);
  } else if (exact.is_dict() && result.is_dict()) {
    const auto x = exact.to_dict(), y = result.to_dict();
    for (size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
      add_errors(x[i].second, y[i].second, accuracy);
    }
  }
}

}  // namespace

Accuracy compare(const Value& exact, const Value& result) {
  Accuracy accuracy;
  add_errors(exact, result, accuracy);
  return accuracy;
}

}  // namespace torchlet::cli
