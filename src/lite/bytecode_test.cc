#include "lite/bytecode.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "lite/testing.h"
#include "tensor/containers.h"

namespace torchlet::lite {
namespace {

Value tuple(std::vector<Value> items) { return Value::tuple(std::move(items)); }
Value op(const char* name, int64_t x = 0, int64_t n = 0) { return tuple({name, x, n}); }

Value argument(const char* name, const char* type, Value default_value = Value()) {
  return tuple({tuple({"name", name}), tuple({"type", type}),
                tuple({"default_value", std::move(default_value)})});
}

// forward(self, x=2) of a class with one attribute.
Value program(std::vector<Value> instructions, int64_t registers = 3, Value version = 8,
              Value types = Value::tuple({"int"})) {
  return tuple(
      {std::move(version),
       tuple(
           {"__torch__.Net.forward",
            tuple({tuple({"instructions", tuple(std::move(instructions))}),
                   tuple({"operators",
                          tuple({tuple({"aten::view", "", 2}), tuple({"aten::view", "", 5}),
                                 tuple({"aten::no_such", "", 1})})}),
                   tuple({"constants", tuple({1, "name"})}), tuple({"types", std::move(types)}),
                   tuple({"register_size", registers})}),
            tuple({tuple({"arguments", tuple({argument("self", "int"), argument("x", "int", 2)})}),
                   tuple({"returns", tuple({argument("", "int")})})})})});
}

TypePtr parse_type(const std::string& text) {
  if (text == "int") return types::integer();
  fail(ErrorCode::kFileFormat, "no type " + text);
}

// The Error's message, or "" if the bytecode is good.
std::string check(const Value& pickled) {
  ClassType net(TypeKind::kClass, "__torch__.Net", true);
  net.add_attribute({"weight", types::tensor()});
  try {
    const Bytecode bytecode = parse_bytecode(pickled, parse_type);
    verify(bytecode,
           {[&](const std::string& name) { return name == "__torch__.Net" ? &net : nullptr; },
            [](const std::string&) { return false; }});
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

const Value kStart = op("STOREN", 1, 2);

TEST(Bytecode, GoodCodePasses) {
  EXPECT_EQ(check(program({kStart, op("LOAD", 2), op("RET")})), "");
  EXPECT_EQ(check(program({kStart, op("MOVE", 1), op("GET_ATTR", 0), op("LOADC", 0), op("OP", 0),
                           op("RET")})),
            "");
  // if: both ways push one value
  EXPECT_EQ(check(program({kStart, op("LOAD", 2), op("JF", 3), op("LOAD", 1), op("JMP", 2),
                           op("LOAD", 2), op("RET")})),
            "");
  // for: trip, most, condition and one carried value
  EXPECT_EQ(check(program({kStart, op("LOADC", 0), op("LOADC", 0), op("LOADC", 0), op("LOAD", 2),
                           op("LOOP", 5, 3), op("STOREN", 2, 2), op("LOADC", 0), op("LOAD", 3),
                           op("JMP", -4), op("RET")})),
            "");
}

TEST(Bytecode, SchemasHaveNamesTypesAndDefaults) {
  const Bytecode bytecode = parse_bytecode(program({kStart, op("RET")}), parse_type);
  const Schema& schema = bytecode.functions.at(0).schema.value();
  EXPECT_EQ(schema.str(), "__torch__.Net.forward(int self, int x=2) -> int");
}

TEST(Bytecode, NoneIsADefaultWhereItFits) {
  EXPECT_FALSE(make_argument("n", types::integer(), Value()).default_value);
  EXPECT_TRUE(make_argument("n", types::optional(types::integer()), Value()).default_value);
}

TEST(Bytecode, OpcodesHaveTheNumbersOfFlatbuffers) {
  EXPECT_EQ(opcode_of_number(14), Opcode::kCall);
  EXPECT_EQ(opcode_of_number(15), std::nullopt);
  EXPECT_EQ(opcode_of_number(20), Opcode::kInterfaceCall);
  EXPECT_EQ(opcode_of_number(37), Opcode::kIsNot);
  EXPECT_EQ(opcode_of_number(49), Opcode::kExit);
  EXPECT_EQ(opcode_of_number(50), std::nullopt);
  EXPECT_EQ(opcode_of_number(-1), std::nullopt);
}

TEST(Bytecode, VersionThreeHasNoNumber) {
  const Value eight = program({kStart, op("LOAD", 2), op("RET")});
  EXPECT_EQ(check(tuple({eight.to_tuple()[1]})), "");
}

TEST(Bytecode, CodeThatLeavesItsFunctionIsRefused) {
  const std::string at = "the bytecode of __torch__.Net.forward is malformed: at instruction ";
  EXPECT_EQ(check(program({})), at + "0 it has no instructions");
  EXPECT_EQ(check(program({kStart, op("LOAD", 2)})), at + "2 the code ends without RET");
  EXPECT_EQ(check(program({kStart, op("RET")})), at + "1 nothing is returned");
  EXPECT_EQ(check(program({kStart, op("DROP"), op("RET")})),
            at + "1 the stack holds too few values");
  EXPECT_EQ(check(program({kStart, op("LOAD", 4), op("RET")})), at + "1 there is no register 4");
  EXPECT_EQ(check(program({kStart, op("LOAD", 0), op("RET")})), at + "1 there is no register 0");
  EXPECT_EQ(check(program({kStart, op("JMP", 100), op("RET")})), at + "1 the jump leaves the code");
  EXPECT_EQ(check(program({kStart, op("JMP", INT64_MIN), op("RET")})),
            at + "1 the jump leaves the code");
  EXPECT_EQ(check(program({kStart, op("LOADC", 2), op("RET")})), at + "1 there is no constant 2");
  EXPECT_EQ(check(program({kStart, op("OP", -1), op("RET")})), at + "1 there is no operator -1");
  EXPECT_EQ(check(program({kStart, op("LIST_CONSTRUCT", 1, 0), op("RET")})),
            at + "1 there is no type 1");
  EXPECT_EQ(check(program({kStart, op("LOAD", 1), op("GET_ATTR", 1), op("RET")})),
            at + "2 __torch__.Net has no attribute 1");
  EXPECT_EQ(check(program({kStart, op("LOAD", 2), op("TUPLE_CONSTRUCT", int64_t{1} << 40)})),
            at + "2 a count is out of range");
  EXPECT_EQ(check(program({kStart, op("INTERFACE_CALL", 0, 0), op("RET")})),
            at + "1 the method's name is no str");
  EXPECT_EQ(check(program({kStart, op("LOAD", 2), op("RET")}, int64_t{1} << 40)),
            at + "0 its register_size is out of range");
}

TEST(Bytecode, WaysThatMeetMustAgreeOnTheStack) {
  EXPECT_NE(
      check(program({kStart, op("LOAD", 2), op("JF", 2), op("LOAD", 1), op("LOAD", 2), op("RET")}))
          .find("the stack differs"),
      std::string::npos);
}

// Nothing is known of the attribute, so of what the first branch gives, when the second one is
// made, which then tells that it is an int.
TEST(Bytecode, WhatABranchGoesByIsTakenForABool) {
  BareObjects objects;
  objects.program().add_functions(parse_bytecode(
      program({kStart, op("LOAD", 1), op("GET_ATTR", 0), op("STORE", 3), op("LOAD", 3), op("JF", 3),
               op("LOAD", 3), op("JMP", 3), op("LOAD", 1), op("GET_ATTR", 0), op("STORE", 4),
               op("LOAD", 4), op("JF", 3), op("LOAD", 4), op("JMP", 2), op("LOAD", 2), op("RET")},
              4),
      parse_type));
  objects.program().finish();
  const TypePtr net = objects.resolve_class("__torch__.Net");
  const std::string graph = net->as_class()->find_method("forward")->graph().str();
  EXPECT_NE(graph.find("bool = prim::unchecked_cast"), std::string::npos) << graph;
}

TEST(Bytecode, OperatorsMustExistAndTakeTheirArguments) {
  EXPECT_NE(check(program({kStart, op("LOAD", 1), op("OP", 2), op("RET")}))
                .find("there is no operator aten::no_such."),
            std::string::npos);
  EXPECT_NE(check(program({kStart, op("LOAD", 1), op("OP", 1), op("RET")}))
                .find("aten::view does not take 5 arguments"),
            std::string::npos);
}

TEST(Bytecode, MalformedPicklesAreRefused) {
  const std::string start = "bytecode.pkl is malformed: ";
  EXPECT_EQ(check(Value(3)), start + "it is an int, no tuple");
  EXPECT_EQ(check(tuple({})), start + "it is empty");
  EXPECT_EQ(check(tuple({8, "x"})), start + "a function is a str, no tuple");
  EXPECT_EQ(check(program({"RET"})), start + "an instruction is a str, no tuple");
  EXPECT_EQ(check(program({op("FLY")})), start + "there is no instruction 'FLY'");
  EXPECT_EQ(check(program({op("RET")}, 3, 0)),
            "the bytecode is of version 0; Torchlet reads 3 to 9");
  EXPECT_EQ(check(program({op("RET")}, 3, 10)),
            "the bytecode is of version 10; Torchlet reads 3 to 9");
  EXPECT_EQ(check(program({op("RET")}, 3, 8, tuple({"List[[["}))), "no type List[[[");
}

}  // namespace
}  // namespace torchlet::lite
