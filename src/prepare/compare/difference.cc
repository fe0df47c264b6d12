#include "prepare/compare/difference.h"

#include <cmath>
#include <complex>
#include <limits>

#include "ops/engines/quantize.h"
#include "ops/sparse/sparse.h"
#include "tensor/containers.h"

namespace torchlet::prepare {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr Difference kLost{-kInfinity, kInfinity, 0};

// Sums over pairs of numbers.
class Sums {
 public:
  void add(double a, double b) {
    if (std::isfinite(a)) {
      largest_ = std::max(largest_, std::abs(a));
      signal_ += a * a;
    }
    if (a == b || (std::isnan(a) && std::isnan(b))) return;
    const double error = std::abs(a - b);
    if (!std::isfinite(error)) {
      lost_ = true;
      return;
    }
    max_abs_ = std::max(max_abs_, error);
    noise_ += error * error;
  }

  Difference result() const {
    if (lost_) return {-kInfinity, kInfinity, largest_};
    const double sqnr = max_abs_ == 0 ? kInfinity : 10 * std::log10(signal_ / noise_);
    return {sqnr, max_abs_, largest_};
  }

 private:
  double signal_ = 0, noise_ = 0, max_abs_ = 0, largest_ = 0;
  bool lost_ = false;
};

Tensor dense(const Tensor& tensor) {
  return tensor.is_quantized() ? ops::dequantize(tensor) : ops::to_dense(tensor);
}

template <typename T>
void add_all(const Tensor& a, const Tensor& b, Sums& sums) {
  const Tensor x = a.contiguous(), y = b.contiguous();
  const T *p = x.data_ptr<T>(), *q = y.data_ptr<T>();
  for (int64_t i = 0; i < x.numel(); ++i) {
    if constexpr (std::is_same_v<T, std::complex<double>>) {
      sums.add(p[i].real(), q[i].real());
      sums.add(p[i].imag(), q[i].imag());
    } else {
      sums.add(static_cast<double>(p[i]), static_cast<double>(q[i]));
    }
  }
}

}  // namespace

Difference measure(const Tensor& quantized_a, const Tensor& quantized_b) {
  const Tensor a = dense(quantized_a), b = dense(quantized_b);
  if (!std::ranges::equal(a.sizes(), b.sizes())) return kLost;
  Sums sums;
  if (is_complex(a.dtype()) || is_complex(b.dtype())) {
    add_all<std::complex<double>>(a.to(DType::kComplex128), b.to(DType::kComplex128), sums);
  } else if (a.dtype() == DType::kFloat32 && b.dtype() == DType::kFloat32) {
    add_all<float>(a, b, sums);
  } else {
    add_all<double>(a.to(DType::kFloat64), b.to(DType::kFloat64), sums);
  }
  return sums.result();
}

bool is_within(const Difference& difference, const CompareOptions& options) {
  if (options.min_sqnr) return difference.sqnr >= *options.min_sqnr;
  return difference.max_abs <= options.atol + options.rtol * difference.largest;
}

namespace {

class OutputComparer {
 public:
  explicit OutputComparer(const CompareOptions& options) : options_(options) {}

  void compare(const Value& a, const Value& b, const std::string& name) {
    const DepthGuard guard;
    if (a.is_tensor() && b.is_tensor()) {
      const Tensor x = a.to_tensor(), y = b.to_tensor();
      return add(name, x.describe(), y.describe(), measure(x, y));
    }
    if (is_number(a) && is_number(b)) {
      Sums sums;
      sums.add(a.to_double(), b.to_double());
      return add(name, to_text(a), to_text(b), sums.result());
    }
    if ((a.is_list() && b.is_list()) || (a.is_tuple() && b.is_tuple())) {
      return compare_items(a, b, name);
    }
    if (a.is_dict() && b.is_dict()) return compare_dicts(a, b, name);
    const bool equal = a.kind() == b.kind() && (is_opaque(a) || values_equal(a, b));
    add(name, to_text(a), to_text(b), equal ? Difference{kInfinity, 0, 0} : kLost);
  }

  std::vector<ComparedOutput> take() { return std::move(outputs_); }

 private:
  static bool is_number(const Value& value) {
    return value.is_int() || value.is_float() || value.is_bool();
  }
  static bool is_opaque(const Value& value) {
    return value.is_object() || value.is_custom() || value.is_future();
  }

  void compare_items(const Value& a, const Value& b, const std::string& name) {
    const std::vector<Value> x = a.to_list(), y = b.to_list();
    if (x.size() != y.size()) {
      const auto count = [](const auto& items) { return std::to_string(items.size()) + " items"; };
      return add(name, count(x), count(y), kLost);
    }
    for (size_t i = 0; i < x.size(); ++i) {
      compare(x[i], y[i], name + "[" + std::to_string(i) + "]");
    }
  }

  void compare_dicts(const Value& a, const Value& b, const std::string& name) {
    const Dict &x = a.dict_ref(), &y = b.dict_ref();
    for (const auto& [key, item] : x.items()) {
      const std::string item_name = name + "[" + to_text(key) + "]";
      if (const Value* other = y.find(key)) {
        compare(item, *other, item_name);
      } else {
        add(item_name, "there", "missing", kLost);
      }
    }
    for (const auto& [key, item] : y.items()) {
      if (!x.find(key)) add(name + "[" + to_text(key) + "]", "missing", "there", kLost);
    }
  }

  void add(std::string name, std::string a, std::string b, const Difference& difference) {
    outputs_.push_back(
        {std::move(name), std::move(a), std::move(b), difference, is_within(difference, options_)});
  }

  const CompareOptions& options_;
  std::vector<ComparedOutput> outputs_;
};

}  // namespace

std::vector<ComparedOutput> compare_outputs(const Value& a, const Value& b,
                                            const CompareOptions& options,
                                            const std::string& name) {
  OutputComparer comparer(options);
  comparer.compare(a, b, name);
  return comparer.take();
}

}  // namespace torchlet::prepare
