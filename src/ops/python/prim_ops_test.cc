#include "ops/core/testing.h"

// Expected values are PyTorch 1.13's.
namespace torchlet::ops {
namespace {

Value code(DType dtype) { return Value(static_cast<int64_t>(dtype)); }

// Operators with "..." take as many values as there are.
Value call_varargs(const char* name, std::vector<Value> args) {
  const Operator* op = find_operator(name, "");
  if (!op) fail(ErrorCode::kNotFound, name);
  Value result;
  op->call(args, {&result, 1});
  return result;
}

TEST(Prim, FormatsText) {
  auto format = [](std::vector<Value> args) { return call_varargs("aten::format", args); };
  expect_value(format({"{} and {}", "x", 2}), "x and 2");
  expect_value(format({"{}", 2.0}), "2.");
  expect_value(format({"a{}b", int_list({1, 2})}), "a[1, 2]b");
  expect_value(format({"x", 1}), "x");
  EXPECT_THROW(format({"{}{}", 1}), Error);
}

TEST(Prim, FormatsWithPercent) {
  auto format = [](std::vector<Value> args) { return call_varargs("aten::percentFormat", args); };
  expect_value(format({"%d %s", Value::tuple({1, "a"})}), "1 a");
  expect_value(format({"%d%%", Value::tuple({5})}), "5%");
  expect_value(format({"%f %e", Value::tuple({1.5, 12345.678})}), "1.500000 1.234568e+04");
  expect_value(format({"%d", 2.9}), "2");
  expect_value(format({"%c%c", Value::tuple({65, "a"})}), "Aa");
  expect_value(format({"%s", 1.0}), "1.");
  EXPECT_THROW(format({"%d", "a"}), Error);
  EXPECT_THROW(format({"%s", Value::tuple({"a", "b"})}), Error);
  EXPECT_THROW(format({"%s %s", "a"}), Error);
  EXPECT_THROW(format({"%x", 1}), Error);
  EXPECT_THROW(format({"%", 1}), Error);
}

TEST(Prim, TextOfValues) {
  expect_op("aten::str", "", {0.1}, "0.10000000000000001");
  expect_op("aten::str", "", {1e20}, "1e+20");
  expect_op("aten::str", "", {true}, "True");
  expect_op("aten::str", "", {Value::list({1.5, 2.0})}, "[1.5, 2.]");
  expect_op("aten::str", "", {Value::tuple({1, "x"})}, "(1, x)");
  expect_op("aten::str", "", {Value()}, "None");
}

TEST(Prim, Identity) {
  const Value a = int_list({1}), b = int_list({1});
  expect_op("aten::__is__", "", {a, a}, true);
  expect_op("aten::__is__", "", {a, b}, false);
  expect_op("aten::__isnot__", "", {Value(), a}, true);
  expect_op("aten::__is__", "", {Value(), Value()}, true);
  expect_op("aten::__not__", "", {false}, true);
  expect_op("aten::_unwrap_optional", "", {3}, 3);
  EXPECT_THROW(call_op("aten::_unwrap_optional", "", {Value()}), Error);
}

TEST(Prim, DevicesAndProperties) {
  expect_op("prim::index", "", {Value::device("cuda:1")}, 1);
  expect_op("prim::index", "", {Value::device("cpu")}, Value());
  expect_op("prim::type", "", {Value::device("cuda:1")}, "cuda");
  expect_op("aten::eq", "device", {Value::device("cpu"), Value::device("cpu")}, true);
  const Tensor x = make({1}, DType::kFloat16);
  expect_op("prim::dtype", "", {x}, code(DType::kFloat16));
  expect_op("prim::is_cuda", "", {x}, false);
  expect_op("prim::is_quantized", "", {x}, false);
  expect_op("prim::layout", "", {x}, 0);
}

TEST(Prim, Types) {
  auto result_type = [](const char* overload, Value a, Value b) {
    return call_op("aten::result_type", overload, {std::move(a), std::move(b)});
  };
  expect_op("aten::promote_types", "", {code(DType::kUInt8), code(DType::kInt8)},
            code(DType::kInt16));
  expect_op("aten::can_cast", "", {code(DType::kFloat32), code(DType::kInt64)}, false);
  expect_value(result_type("Scalar", ints({1}), 2.5), code(DType::kFloat32));
  expect_value(result_type("Scalar_Scalar", 1, 2.5), code(DType::kFloat32));
  expect_value(result_type("Tensor", make({1}, DType::kFloat64, {}), make({1})),
               code(DType::kFloat32));
  expect_op("aten::_infer_size", "", {int_list({3, 1}), int_list({4})}, int_list({3, 4}));
  EXPECT_THROW(call_op("aten::_infer_size", "", {int_list({3}), int_list({4})}), Error);
  expect_op("aten::_size_if_not_equal", "", {int_list({1}), int_list({1})}, Value());
}

}  // namespace
}  // namespace torchlet::ops
