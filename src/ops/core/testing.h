// What the operator tests share: calling an operator by name, tensors from lists, comparing.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "base/error.h"
#include "graph/operator.h"
#include "ops/core/common.h"
#include "tensor/containers.h"

namespace torchlet::ops {

// Of a tensor its dtype, sizes, strides and quantizer, also in a list; "" of everything else.
inline std::string description_of(const Value& value) {
  if (value.is_list()) {
    std::string all;
    for (const Value& item : value.list_ref().items) all += description_of(item) + "; ";
    return all;
  }
  if (!value.is_tensor()) return "";
  const TensorImpl& impl = *value.tensor_impl();
  std::string text = std::string(dtype_name(impl.dtype)) + " " + shape_text(impl.sizes) +
                     " strides " + shape_text(impl.strides);
  if (impl.quantizer) text += " scale " + std::to_string(impl.quantizer->scale);
  return text;
}

// Calls "aten::add", "Tensor" with positional arguments; defaults stand for those left out. Gives
// the only return, or a tuple of several.
inline Value call_op(const std::string& name, const std::string& overload,
                     std::vector<Value> args) {
  const Operator* op = find_operator(name, overload);
  if (!op) fail(ErrorCode::kNotFound, "no operator " + name + "." + overload);
  for (size_t i = args.size(); i < op->schema.arguments.size(); ++i) {
    const auto& value = op->schema.arguments[i].default_value;
    if (!value) fail(ErrorCode::kInvalidArgument, name + ": too few arguments");
    args.push_back(*value);
  }
  std::vector<Value> results(op->schema.returns.size());
  op->call(args, results);
  return results.size() == 1 ? results[0] : Value::tuple(std::move(results));
}

// The i-th tensor that the operator returns.
inline Tensor result_of(const std::string& name, const std::string& overload,
                        std::vector<Value> args, size_t i = 0) {
  const Value result = call_op(name, overload, std::move(args));
  return result.is_tuple() ? result.to_tuple()[i].to_tensor() : result.to_tensor();
}

// A contiguous tensor with these elements; one dimension unless `sizes` says otherwise.
inline Tensor make(std::vector<double> elements, DType dtype = DType::kFloat32,
                   IntArray sizes = {-1}) {
  const Tensor flat = empty(IntArray{static_cast<int64_t>(elements.size())}, DType::kFloat64);
  std::copy(elements.begin(), elements.end(), flat.data_ptr<double>());
  return view(flat.to(dtype), sizes);
}
inline Tensor ints(std::vector<double> elements, IntArray sizes = {-1}) {
  return make(std::move(elements), DType::kInt64, sizes);
}

// Multiples of a quarter that repeat after eleven elements: sums and products of a few of them are
// exact in any floating-point type.
inline Tensor ramp(IntArray sizes, int64_t seed = 0, DType dtype = DType::kFloat32) {
  const Tensor tensor = empty(sizes, DType::kFloat64);
  double* data = tensor.data_ptr<double>();
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    data[i] = static_cast<double>((i * 7 + seed * 3) % 11 - 5) * 0.25;
  }
  return tensor.to(dtype);
}
inline Value int_list(IntArray items) { return make_int_list(items); }

inline std::vector<double> elements_of(const Tensor& tensor) {
  const Tensor flat = tensor.to(DType::kFloat64).contiguous();
  const double* data = flat.data_ptr<double>();
  return {data, data + flat.numel()};
}

// Same dtype, sizes and elements; NaN equals NaN; floats within a relative 1e-6.
inline void expect_tensor(const Tensor& actual, std::vector<double> expected,
                          DType dtype = DType::kFloat32, IntArray sizes = {-1}) {
  EXPECT_EQ(dtype_name(actual.dtype()), dtype_name(dtype));
  if (sizes == IntArray{-1}) sizes = {static_cast<int64_t>(expected.size())};
  EXPECT_EQ(std::vector<int64_t>(actual.sizes().begin(), actual.sizes().end()),
            std::vector<int64_t>(sizes.begin(), sizes.end()));
  const std::vector<double> elements = elements_of(actual);
  ASSERT_EQ(elements.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    if (std::isnan(expected[i])) {
      EXPECT_TRUE(std::isnan(elements[i])) << "element " << i << " is " << elements[i];
    } else if (std::isinf(expected[i]) || is_integral(dtype, true)) {
      EXPECT_EQ(elements[i], expected[i]) << "element " << i;
    } else {
      EXPECT_NEAR(elements[i], expected[i], 1e-6 * std::max(1.0, std::abs(expected[i])))
          << "element " << i;
    }
  }
}

// The same kind of value, and equal by content; floats within a relative 1e-14, with the same sign
// of zero.
inline void expect_value(const Value& actual, const Value& expected) {
  if (actual.is_float() && expected.is_float()) {
    const double a = actual.to_double(), e = expected.to_double();
    if (std::isnan(e) || std::isnan(a)) {
      EXPECT_EQ(std::isnan(a), std::isnan(e));
    } else if (std::isinf(e) || e == 0) {
      EXPECT_EQ(a, e);
      EXPECT_EQ(std::signbit(a), std::signbit(e));
    } else {
      EXPECT_NEAR(a, e, 1e-14 * std::abs(e));
    }
    return;
  }
  EXPECT_TRUE(actual.kind() == expected.kind() && values_equal(actual, expected))
      << to_text(actual) << " instead of " << to_text(expected);
}
// What an operator on values other than tensors gives.
inline void expect_op(const std::string& name, const std::string& overload, std::vector<Value> args,
                      const Value& expected) {
  SCOPED_TRACE(name + "." + overload + to_text(Value::tuple(args)));
  expect_value(call_op(name, overload, std::move(args)), expected);
}

}  // namespace torchlet::ops
