#include "lite/debug_info.h"

#include <gtest/gtest.h>

#include "tensor/containers.h"

namespace torchlet::lite {
namespace {

Value tuple(std::vector<Value> items) { return Value::tuple(std::move(items)); }
Value ints(std::vector<Value> items) {
  return Value(make_ref<List>(types::integer(), std::move(items)));
}

// (version, (name, (("function_debug_handles", (handles,)),)))
Value handles_record(const std::string& name, Value handles) {
  const Value field = tuple({"function_debug_handles", tuple({std::move(handles)})});
  return tuple({8, tuple({Value(name), tuple({field})})});
}

std::vector<int64_t> handles_of(const Value& record) {
  Bytecode bytecode;
  bytecode.functions.resize(2);
  bytecode.functions[0].name = "__torch__.Net.forward";
  bytecode.functions[1].name = "__torch__.Net.other";
  read_debug_handles(record, bytecode);
  EXPECT_TRUE(bytecode.functions[1].debug_handles.empty());
  return bytecode.functions[0].debug_handles;
}

TEST(DebugHandles, AreThoseOfTheFunctionOfTheirName) {
  const std::string forward = "__torch__.Net.forward";
  EXPECT_EQ(handles_of(handles_record(forward, ints({4, 4, 7}))), (std::vector<int64_t>{4, 4, 7}));
  EXPECT_EQ(handles_of(handles_record("__torch__.Foe.forward", ints({4}))),
            (std::vector<int64_t>{}));
}

TEST(DebugHandles, AreUnknownWhereTheRecordIsNonsense) {
  const std::string forward = "__torch__.Net.forward";
  EXPECT_EQ(handles_of(handles_record(forward, ints({1, "x", Value(), 2}))),
            (std::vector<int64_t>{1, -1, -1, 2}));
  const Value nonsense[] = {
      Value(),
      Value(3),
      tuple({}),
      tuple({8, 8}),
      tuple({8, tuple({Value(forward)})}),
      tuple({8, tuple({Value(forward), 1})}),
      tuple({8, tuple({Value(forward), tuple({tuple({"function_debug_handles"})})})}),
      tuple({8, tuple({Value(forward), tuple({tuple({"function_debug_handles", 3})})})}),
      handles_record(forward, 3),
      handles_record(forward, tuple({1, 2})),
  };
  for (const Value& record : nonsense) EXPECT_TRUE(handles_of(record).empty());
  // Instructions beyond those that have one.
  BytecodeFunction function;
  function.debug_handles = {5};
  EXPECT_EQ(function.debug_handle(0), 5);
  EXPECT_EQ(function.debug_handle(1), kNoDebugHandle);
}

TEST(DebugTable, TellsPlacesAndCalls) {
  const auto net = std::make_shared<const Source>(Source{"src/net.py", "a\nb\nc\n", 5, nullptr});
  const Value inner = tuple({Value(), 3, Value(), "helper"});
  const Value calls = tuple({tuple({"__torch__.Block", "conv"}), 2, inner, "forward"});
  const DebugTable table(tuple({tuple({7, 1, "aten::add", calls}), tuple({8, 9, "aten::mul", {}})}),
                         {{1, {net, 0, 1}}, {2, {net, 2, 3}}});

  const DebugTable::Entry* entry = table.find(7);
  ASSERT_TRUE(entry);
  EXPECT_EQ(table.original(entry->place).line(), 5);
  DebugCall call;
  Value next;
  ASSERT_TRUE(table.read_call(entry->calls, call, next));
  EXPECT_EQ(call.range.where(), "net.py:6");
  EXPECT_TRUE(call.is_method);
  EXPECT_EQ(call.type, "__torch__.Block");
  EXPECT_EQ(call.instance, "conv");
  EXPECT_EQ(call.function, "forward");
  ASSERT_TRUE(table.read_call(Value(next), call, next));
  EXPECT_TRUE(call.range.empty());  // there is no place 3
  EXPECT_FALSE(call.is_method);
  EXPECT_EQ(call.function, "helper");
  EXPECT_FALSE(table.read_call(Value(next), call, next));

  ASSERT_TRUE(table.find(8));
  EXPECT_TRUE(table.original(table.find(8)->place).empty());
  EXPECT_FALSE(table.find(9));
}

TEST(DebugTable, LeavesOutNonsense) {
  const Value good = tuple({1, 0, "aten::add", Value()});
  for (const Value& bad : {Value(), Value(3), tuple({}), tuple({2, 0, "aten::add"}),
                           tuple({"2", 0, "aten::add", Value()}), tuple({2, "0", "a", Value()})}) {
    const DebugTable table(tuple({bad, good}), {});
    EXPECT_TRUE(table.find(1));
    EXPECT_FALSE(table.find(2));
  }
  EXPECT_FALSE(DebugTable(Value("text"), {}).find(0));

  const DebugTable table(tuple({}), {});
  DebugCall call;
  Value next;
  for (const Value& bad : {Value(), Value(1), tuple({}), tuple({Value(), 1, Value()}),
                           tuple({Value(), "1", Value(), "f"}), tuple({Value(), 1, Value(), 2})}) {
    EXPECT_FALSE(table.read_call(bad, call, next));
  }
  ASSERT_TRUE(table.read_call(tuple({tuple({"T", 1}), 1, 5, "a\nb"}), call, next));
  EXPECT_FALSE(call.is_method);
  EXPECT_EQ(call.function, "a?b");
}

}  // namespace
}  // namespace torchlet::lite
