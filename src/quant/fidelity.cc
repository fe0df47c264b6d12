#include "quant/fidelity.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "ops/engines/quantize.h"
#include "tensor/containers.h"

namespace torchlet::quant {
namespace {

Tensor doubles_of(const Tensor& tensor) {
  const Tensor real = tensor.is_quantized() ? ops::dequantize(tensor) : tensor;
  return real.to(DType::kFloat64).contiguous();
}

}  // namespace

void Fidelity::add_tensor(const Tensor& exact, const Tensor& result) {
  const auto is_real = [](const Tensor& t) {
    return is_floating_point(t.dtype()) || t.is_quantized();
  };
  if (!is_real(exact) || !is_real(result) || exact.numel() != result.numel()) return;
  const Tensor a = doubles_of(exact), b = doubles_of(result);
  const std::span x(a.data_ptr<double>(), static_cast<size_t>(a.numel()));
  const std::span y(b.data_ptr<double>(), x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    signal_ += x[i] * x[i];
    error_ += (x[i] - y[i]) * (x[i] - y[i]);
  }
  if (exact.dim() < 1 || exact.dim() > 2 || exact.size(-1) < 2) return;
  const auto classes = static_cast<size_t>(exact.size(-1));
  for (size_t at = 0; at < x.size(); at += classes) {
    const auto best = [&](const auto& scores) {
      const auto row = scores.subspan(at, classes);
      return std::ranges::max_element(row) - row.begin();
    };
    ++rows_;
    same_ += best(x) == best(y);
  }
}

void Fidelity::add(const Value& exact, const Value& result, std::span<const int64_t> labels) {
  compare(exact, result);
  if (labels.empty()) return;
  exact_accuracy_.add(exact, labels);
  accuracy_.add(result, labels);
}

void Fidelity::compare(const Value& exact, const Value& result) {
  const DepthGuard guard;
  if (exact.is_tensor() && result.is_tensor()) {
    return add_tensor(exact.to_tensor(), result.to_tensor());
  }
  if ((exact.is_list() && result.is_list()) || (exact.is_tuple() && result.is_tuple())) {
    const auto x = exact.to_list(), y = result.to_list();
    for (size_t i = 0; i < std::min(x.size(), y.size()); ++i) compare(x[i], y[i]);
  } else if (exact.is_dict() && result.is_dict()) {
    const auto x = exact.to_dict(), y = result.to_dict();
    for (size_t i = 0; i < std::min(x.size(), y.size()); ++i) compare(x[i].second, y[i].second);
  }
}

double Fidelity::sqnr_db() const {
  constexpr double kMost = 200;
  if (error_ == 0) return kMost;
  return std::clamp(10 * std::log10(signal_ / error_), -kMost, kMost);
}

double Fidelity::agreement() const {
  return rows_ == 0 ? -1 : static_cast<double>(same_) / static_cast<double>(rows_);
}

}  // namespace torchlet::quant
