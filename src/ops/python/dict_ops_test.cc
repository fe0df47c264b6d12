#include "ops/core/testing.h"

// Expected values are PyTorch 1.13's.
namespace torchlet::ops {
namespace {

Value dict(std::vector<std::pair<Value, Value>> items) { return Value::dict(std::move(items)); }

TEST(Dict, KeepsTheOrderOfInsertion) {
  const Value d = dict({{"a", 1}, {"b", 2}});
  expect_op("aten::pop", "Dict_str", {d, "a"}, 1);
  call_op("aten::_set_item", "str", {d, "c", 3});
  call_op("aten::_set_item", "str", {d, "b", 5});
  expect_op("aten::get", "str", {d, "z"}, Value());
  expect_op("aten::get", "default_str", {d, "z", 7}, 7);
  expect_op("aten::setdefault", "str", {d, "q", 9}, 9);
  expect_op("aten::setdefault", "str", {d, "q", 10}, 9);
  expect_op("aten::keys", "str", {d}, Value::list({"b", "c", "q"}));
  expect_op("aten::values", "str", {d}, Value::list({5, 3, 9}));
  // TorchScript's popitem takes the first pair.
  expect_op("aten::popitem", "str", {d}, Value::tuple({"b", 5}));
  expect_value(d, dict({{"c", 3}, {"q", 9}}));
}

TEST(Dict, MissingKeysRaise) {
  const Value d = dict({{"a", 1}});
  EXPECT_THROW(call_op("aten::__getitem__", "Dict_str", {d, "z"}), Error);
  EXPECT_THROW(call_op("aten::pop", "Dict_str", {d, "z"}), Error);
  EXPECT_THROW(call_op("aten::Delete", "Dict_str", {d, "z"}), Error);
  expect_op("aten::pop", "Dict_default_str", {d, "z", 4}, 4);
  expect_op("aten::pop", "Dict_default_str", {d, "a", 4}, 1);
  EXPECT_THROW(call_op("aten::popitem", "str", {d}), Error);
}

TEST(Dict, OtherKeys) {
  const Value d = dict({{1.5, 1}});
  call_op("aten::update", "float", {d, dict({{2.5, 2}})});
  expect_op("aten::items", "float", {d},
            Value::list({Value::tuple({1.5, 1}), Value::tuple({2.5, 2})}));
  expect_op("aten::__contains__", "float", {d, 1.5}, true);
  expect_op("aten::len", "Dict_float", {d}, 2);
  const Tensor x = make({1}), y = make({1});  // tensors are keys by identity
  const Value by_tensor = dict({{x, 1}});
  expect_op("aten::__contains__", "Tensor", {by_tensor, x}, true);
  expect_op("aten::__contains__", "Tensor", {by_tensor, y}, false);
  expect_op("aten::__getitem__", "Dict_bool", {dict({{true, 3}}), true}, 3);
}

TEST(Dict, CopiesAreTheirOwn) {
  const Value d = dict({{1, "x"}});
  const Value copy = call_op("aten::copy", "Dict_int", {d});
  call_op("aten::clear", "int", {d});
  expect_op("aten::len", "Dict_int", {d}, 0);
  expect_op("aten::len", "Dict_int", {copy}, 1);
}

TEST(Dict, FromPairsTheLastOneWins) {
  const Value pairs =
      Value::list({Value::tuple({"a", 1}), Value::tuple({"b", 2}), Value::tuple({"a", 3})});
  expect_op("aten::dict", "str", {pairs}, dict({{"a", 3}, {"b", 2}}));
  expect_op("aten::len", "Dict_str", {call_op("aten::dict", "", {})}, 0);
}

// Holes that erased pairs leave do not show.
TEST(Dict, ManyErasedPairs) {
  const Value d = dict({{-1, 0}});
  for (int i = 0; i < 200; ++i) call_op("aten::_set_item", "int", {d, i, i * i});
  for (int i = -1; i < 198; ++i) call_op("aten::Delete", "Dict_int", {d, i});
  expect_value(d, dict({{198, 198 * 198}, {199, 199 * 199}}));
}

}  // namespace
}  // namespace torchlet::ops
