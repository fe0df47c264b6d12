#include "ops/core/testing.h"

// Expected values are PyTorch 1.13's.
namespace torchlet::ops {
namespace {

constexpr double kNan = NAN;

Value list(IntArray items) { return make_int_list(items); }
Value floats(std::vector<Value> items) { return make_list(types::floating(), std::move(items)); }
Value strings(std::vector<Value> items) { return make_list(types::string(), std::move(items)); }
Value bools(std::vector<Value> items) { return make_list(types::boolean(), std::move(items)); }
Value none() { return Value(); }

TEST(List, ChangesAreSeenByEveryHolder) {
  const Value a = list({3, 1, 2}), b = a;
  call_op("aten::append", "t", {a, 4});
  expect_value(b, list({3, 1, 2, 4}));
  call_op("aten::sort", "int", {b});
  expect_value(a, list({1, 2, 3, 4}));
  call_op("aten::extend", "t", {a, a});
  expect_value(b, list({1, 2, 3, 4, 1, 2, 3, 4}));
  call_op("aten::remove", "int", {a, 2});
  call_op("aten::reverse", "t", {a});
  expect_value(b, list({4, 3, 2, 1, 4, 3, 1}));
  expect_op("aten::pop", "t", {a}, 1);
  expect_op("aten::pop", "t", {a, -6}, 4);
  call_op("aten::Delete", "t", {a, 0});
  call_op("aten::_set_item", "t", {a, -1, 7});
  call_op("aten::mul_", "t", {a, 2});
  expect_value(b, list({2, 1, 4, 7, 2, 1, 4, 7}));
  const Value copy = call_op("aten::copy", "t", {a});
  call_op("aten::clear", "t", {a});
  expect_op("aten::len", "t", {b}, 0);
  expect_op("aten::len", "t", {copy}, 8);
}

TEST(List, InsertsAnywhere) {
  const Value a = list({1, 2});
  call_op("aten::insert", "t", {a, -5, 9});
  call_op("aten::insert", "t", {a, 9, 8});
  call_op("aten::insert", "t", {a, -1, 7});
  expect_value(a, list({9, 1, 2, 7, 8}));
}

TEST(List, SlicesAndRepeats) {
  const Value a = list({0, 1, 2, 3, 4});
  expect_op("aten::slice", "t", {a, none(), none(), -1}, list({4, 3, 2, 1, 0}));
  expect_op("aten::slice", "t", {a, 3, 0, -2}, list({3, 1}));
  expect_op("aten::slice", "t", {a, -2}, list({3, 4}));
  expect_op("aten::slice", "t", {a, 1, 9, 3}, list({1, 4}));
  expect_op("aten::slice", "t", {a, 4, 1}, list({}));
  EXPECT_THROW(call_op("aten::slice", "t", {a, none(), none(), 0}), Error);
  expect_op("aten::mul", "left_t", {list({1, 2}), 2}, list({1, 2, 1, 2}));
  expect_op("aten::mul", "right_", {0, list({1, 2})}, list({}));
  expect_op("aten::mul", "left_t", {list({}), -1}, list({}));
  EXPECT_THROW(call_op("aten::mul", "left_t", {list({1, 2}), -1}), Error);
  EXPECT_THROW(call_op("aten::mul", "left_t", {list({1, 2}), int64_t{1} << 62}), Error);
  expect_op("aten::add", "t", {list({1}), list({2})}, list({1, 2}));
}

TEST(List, IndicesOutOfRangeRaise) {
  const Value a = list({1, 2});
  expect_op("aten::__getitem__", "t", {a, -2}, 1);
  for (const int index : {2, -3}) {
    EXPECT_THROW(call_op("aten::__getitem__", "t", {a, index}), Error);
    EXPECT_THROW(call_op("aten::_set_item", "t", {a, index, 0}), Error);
    EXPECT_THROW(call_op("aten::pop", "t", {a, index}), Error);
    EXPECT_THROW(call_op("aten::Delete", "t", {a, index}), Error);
  }
  EXPECT_THROW(call_op("aten::pop", "t", {list({})}), Error);
}

TEST(List, FindsAndCounts) {
  expect_op("aten::index", "list_int", {list({1, 2, 2}), 2}, 1);
  expect_op("aten::count", "int", {list({1, 2, 2}), 2}, 2);
  expect_op("aten::__contains__", "str_list", {strings({"a"}), "a"}, true);
  expect_op("aten::__contains__", "int_list", {list({1}), 2}, false);
  EXPECT_THROW(call_op("aten::index", "list_int", {list({1}), 3}), Error);
  EXPECT_THROW(call_op("aten::remove", "str", {strings({"a"}), "b"}), Error);
  expect_op("aten::eq", "float_list", {floats({1.0}), floats({1.0})}, true);
  expect_op("aten::ne", "str_list", {strings({"a"}), strings({"a", "b"})}, true);
  // Tensors are compared by their elements.
  const Value x = make_tensor_list({make({1, 2})}), y = make_tensor_list({make({1, 2})});
  expect_op("aten::eq", "Tensor_list", {x, y}, true);
  expect_op("aten::count", "Tensor", {x, make({1, 3})}, 0);
}

TEST(List, SortsStably) {
  expect_op("aten::sorted", "str", {strings({"b", "a"})}, strings({"a", "b"}));
  const Value numbers = floats({2.5, -1.0, 3.0});
  call_op("aten::sort", "float", {numbers, true});
  expect_value(numbers, floats({3.0, 2.5, -1.0}));
  const Value pairs =
      Value::list({Value::tuple({2, "a"}), Value::tuple({1, "z"}), Value::tuple({1, "b"})});
  call_op("aten::sort", "any", {pairs});
  expect_value(
      pairs, Value::list({Value::tuple({1, "b"}), Value::tuple({1, "z"}), Value::tuple({2, "a"})}));
}

TEST(List, OrdersOnlyWhatIsAlike) {
  EXPECT_THROW(call_op("aten::sort", "any", {Value::list({1, "a"})}), Error);
  EXPECT_THROW(call_op("aten::sort", "any", {Value::list({"a", 1})}), Error);
  const Value pairs = Value::list({Value::tuple({1, list({1})}), Value::tuple({1, 2})});
  EXPECT_THROW(call_op("aten::sort", "any", {pairs}), Error);
}

TEST(List, SumsAndExtremes) {
  expect_op("prim::max", "self_int", {list({1, 5, 2})}, 5);
  expect_op("prim::min", "self_float", {floats({2.5, kNan, 1.0})}, 1.0);
  expect_op("prim::max", "self_bool", {bools({true, false})}, true);
  EXPECT_THROW(call_op("prim::max", "self_int", {list({})}), Error);
  expect_op("prim::max", "int_list", {list({1, 2}), list({1, 3})}, list({1, 3}));
  expect_op("prim::min", "int_list", {list({1, 2}), list({1, 2, 0})}, list({1, 2}));
  expect_op("aten::sum", "int", {list({1, 2})}, 3);
  expect_op("aten::sum", "bool", {bools({true, true})}, 2);
  expect_op("aten::sum", "float", {floats({})}, 0.0);
  expect_op("aten::all", "float", {floats({1.0, 0.0})}, false);
  expect_op("aten::all", "int", {list({})}, true);
  expect_op("aten::any", "str", {strings({"", ""})}, false);
  expect_op("prim::rangelist", "", {3}, list({0, 1, 2}));
  EXPECT_THROW(call_op("prim::rangelist", "", {-1}), Error);
}

}  // namespace
}  // namespace torchlet::ops
