#include "lite/write/pickled_bytecode.h"

#include <gtest/gtest.h>

#include "script/testing.h"

namespace torchlet::lite {
namespace {

BytecodeFunction function() {
  BytecodeFunction result;
  result.name = "__torch__.Net.forward";
  result.instructions = {{Opcode::kStoreN, 1, 2}, {Opcode::kLoadC, 0, 0}, {Opcode::kRet, 0, 0}};
  result.operators = {{"aten::add", "Tensor", 2}, {"aten::format", "", std::nullopt}};
  result.constants = {Value("text"), Value(2.5)};
  result.types = {types::list(types::integer()),
                  types::named_tuple("__torch__.Point", {"x"}, {types::tensor()})};
  result.register_size = 4;
  Schema& schema = result.schema.emplace();
  schema.arguments.resize(2);
  schema.arguments[0].name = "self";
  schema.arguments[0].type = types::tensor();
  schema.arguments[1].name = "k";
  schema.arguments[1].type = types::integer();
  schema.arguments[1].default_value.emplace(3);
  schema.returns.resize(1);
  schema.returns[0].type = types::string();
  return result;
}

TEST(PickledBytecode, ComesBack) {
  const auto unit = script::unit_of("");
  for (const int version : {4, 6, 8}) {
    const Value pickled = pickled_bytecode({version, {function()}});
    const Bytecode read = parse_bytecode(
        pickled, [&](const std::string& text) { return unit->parse_type("the test", text); });
    EXPECT_EQ(read.version, version);
    ASSERT_EQ(read.functions.size(), 1u);
    const BytecodeFunction &before = function(), &after = read.functions[0];
    EXPECT_EQ(after.name, before.name);
    ASSERT_EQ(after.instructions.size(), 3u);
    EXPECT_EQ(after.instructions[0].opcode, Opcode::kStoreN);
    EXPECT_EQ(after.instructions[0].n, 2);
    EXPECT_EQ(after.operators[0].overload, "Tensor");
    // What is pushed is counted from 6 on.
    EXPECT_EQ(after.operators[0].num_args, version >= 6 ? std::optional<int64_t>(2) : std::nullopt);
    EXPECT_EQ(after.operators[1].num_args, std::nullopt);
    EXPECT_EQ(to_text(Value::tuple(after.constants)), "('text', 2.5)");
    EXPECT_TRUE(equal(after.types[0], before.types[0]));
    EXPECT_EQ(after.types[1]->field_names(), before.types[1]->field_names());
    EXPECT_EQ(after.register_size, 4);
    EXPECT_EQ(after.schema->arguments[1].name, "k");
    EXPECT_EQ(after.schema->arguments[1].default_value->to_int(), 3);
    EXPECT_FALSE(after.schema->arguments[0].default_value);
    EXPECT_TRUE(after.schema->returns[0].type->is(TypeKind::kString));
  }
}

}  // namespace
}  // namespace torchlet::lite
