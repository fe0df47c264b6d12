#include "prepare/agreement.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/engines/quantize.h"
#include "tensor/containers.h"
#include "tensor/tensor_impl.h"

namespace torchlet::prepare {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr size_t kMostText = 80;

std::string shown(const Value& value) {
  if (value.is_tensor()) return value.to_tensor().describe();
  return (value.kind_name() + (" " + to_text(value))).substr(0, kMostText);
}

// As doubles; complex numbers as pairs.
Tensor wide(const Tensor& tensor) {
  const TensorImpl& impl = *tensor.impl();
  if (impl.sparse) return wide(impl.sparse->values);
  if (is_quantized(impl.dtype)) return wide(ops::dequantize(tensor));
  if (!is_complex(impl.dtype)) return tensor.to(DType::kFloat64).contiguous();
  const Tensor pairs = tensor.to(DType::kComplex128).contiguous();
  const Tensor numbers = empty(IntArray{2 * pairs.numel()}, DType::kFloat64);
  const auto* from = pairs.data_ptr<std::complex<double>>();
  for (int64_t i = 0; i < pairs.numel(); ++i) {
    numbers.data_ptr<double>()[2 * i] = from[i].real();
    numbers.data_ptr<double>()[2 * i + 1] = from[i].imag();
  }
  return numbers;
}

bool is_exact(DType dtype) {
  return !is_floating_point(dtype) && !is_complex(dtype) && !is_quantized(dtype);
}

}  // namespace

double Agreement::sqnr() const {
  return noise_ == 0 ? kInfinity : 10 * std::log10(signal_ / noise_);
}

void Agreement::differ(const Value& exact, const Value& result) {
  if (mismatch_.empty()) mismatch_ = shown(exact) + " became " + shown(result);
}

void Agreement::numbers(const double* exact, const double* result, size_t count) {
  double largest = 0, worst = 0;
  for (size_t i = 0; i < count; ++i) {
    const bool both_lost = exact[i] == result[i] || (std::isnan(exact[i]) && std::isnan(result[i]));
    const double difference = both_lost ? 0 : std::abs(exact[i] - result[i]);
    worst = std::isnan(difference) ? kInfinity : std::max(worst, difference);
    if (!std::isfinite(exact[i])) continue;
    largest = std::max(largest, std::abs(exact[i]));
    signal_ += exact[i] * exact[i];
    noise_ += difference * difference;
  }
  max_abs_ = std::max(max_abs_, worst);
  if (worst > 0) error_ = std::max(error_, worst / largest);
}

void Agreement::tensors(const Tensor& exact, const Tensor& result) {
  const TensorImpl &a = *exact.impl(), &b = *result.impl();
  if (a.nested || b.nested) {
    if (!a.nested || !b.nested || a.nested->size() != b.nested->size()) {
      return differ(exact, result);
    }
    for (size_t i = 0; i < a.nested->size(); ++i) tensors((*a.nested)[i], (*b.nested)[i]);
    return;
  }
  const bool alike =
      a.dtype == b.dtype && std::ranges::equal(a.sizes, b.sizes) && !a.sparse == !b.sparse;
  if (!alike) return differ(exact, result);
  const Tensor x = wide(exact), y = wide(result);
  if (x.numel() != y.numel()) return differ(exact, result);
  const auto count = static_cast<size_t>(x.numel());
  const double *from = x.data_ptr<double>(), *to = y.data_ptr<double>();
  if (!is_exact(a.dtype)) return numbers(from, to, count);
  size_t others = 0;
  for (size_t i = 0; i < count; ++i) others += from[i] != to[i];
  if (others && mismatch_.empty()) {
    mismatch_ = std::to_string(others) + " of the " + std::to_string(count) +
                " integers of a tensor are others";
  }
}

void Agreement::add(const Value& exact, const Value& result) {
  const DepthGuard guard;
  if (exact.kind() != result.kind()) return differ(exact, result);
  if (exact.is_tensor()) return tensors(exact.to_tensor(), result.to_tensor());
  if (exact.is_float()) {
    const double x = exact.to_double(), y = result.to_double();
    return numbers(&x, &y, 1);
  }
  std::vector<Value> parts, others;
  if (exact.is_list() || exact.is_tuple()) {
    parts = exact.to_list();
    others = result.to_list();
  } else if (exact.is_dict()) {
    for (const auto& [key, item] : exact.to_dict()) parts.insert(parts.end(), {key, item});
    for (const auto& [key, item] : result.to_dict()) others.insert(others.end(), {key, item});
  } else if (exact.is_object()) {
    parts = exact.object_ref().slots;
    others = result.object_ref().slots;
  } else if (!exact.is_custom() && !exact.is_future() && !values_equal(exact, result)) {
    return differ(exact, result);
  }
  if (parts.size() != others.size()) return differ(exact, result);
  for (size_t i = 0; i < parts.size(); ++i) add(parts[i], others[i]);
}

}  // namespace torchlet::prepare
