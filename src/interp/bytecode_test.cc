// Bytecode without source: translated and run. What PyTorch's own files give is tested where models
// are loaded (api/bytecode_module_test.cc); here is the code that PyTorch would not write.
#include <gtest/gtest.h>
#include <torchlet/error.h>

#include "graph/prim_kinds.h"
#include "interp/interpreter.h"
#include "lite/program.h"
#include "tensor/containers.h"

namespace torchlet::interp {
namespace {

using lite::BytecodeFunction;
using lite::Instruction;
using O = lite::Opcode;

// `f` of a class "__torch__.Net".
class Code {
 public:
  explicit Code(std::vector<Instruction> instructions, std::vector<Value> constants = {},
                int operator_version = script::kCurrentOperatorVersion)
      : unit_(script::Program{[](const std::string&) { return nullptr; }, {}, operator_version}),
        program_(unit_) {
    unit_.set_class_finder([this](const std::string& name) { return program_.find_class(name); });
    function_.name = "__torch__.Net.f";
    function_.instructions = std::move(instructions);
    function_.constants = std::move(constants);
    function_.register_size = 8;
    function_.types = {types::list(types::integer()), types::string(), types::integer(),
                       unit_.find_type("__torch__.Point")};
    function_.operators = {{"aten::add", "int", 2},  {"aten::lt", "int", 2},
                           {"aten::mul", "int", 2},  {"aten::append", "t", 2},
                           {"aten::no_such", "", 1}, {"aten::div", "Scalar", 2}};
  }

  // f(self, arguments...) as Python writes what it gives, or the Error's message.
  std::string operator()(std::vector<Value> arguments = {}) {
    try {
      const TypePtr net = unit_.find_type("__torch__.Net");
      if (!net->as_class()->find_method("f")) program_.add_functions({8, {function_}});
      arguments.insert(arguments.begin(),
                       Value(make_ref<Object>(std::static_pointer_cast<const ClassType>(net))));
      Function& f = *net->as_class()->find_method("f");
      program_.finish();
      return to_text(interpreter_.run(f, std::move(arguments)));
    } catch (const Error& error) {
      return error.message();
    }
  }

  Value run(std::vector<Value> arguments) {
    const TypePtr net = unit_.find_type("__torch__.Net");
    if (!net->as_class()->find_method("f")) program_.add_functions({8, {function_}});
    arguments.insert(arguments.begin(),
                     Value(make_ref<Object>(std::static_pointer_cast<const ClassType>(net))));
    Function& f = *net->as_class()->find_method("f");
    program_.finish();
    return interpreter_.run(f, std::move(arguments));
  }

  bool has_loop() {
    const Graph& graph = unit_.find_type("__torch__.Net")->as_class()->find_method("f")->graph();
    for (const Node* node : *graph.block()) {
      if (node->kind() == prim::kLoop) return true;
    }
    return false;
  }

 private:
  script::CompilationUnit unit_;
  lite::BytecodeProgram program_;
  BytecodeFunction function_;
  Interpreter interpreter_;
};

enum : int64_t { kAdd, kLess, kMul, kAppend, kNoSuch, kDivide };

TEST(Bytecode, BranchesGiveWhatLiesOnTheStackAndInRegisters) {
  // r3 = x < 10 ? 1 : 2; return (x < 10 ? x + x : x * x) + r3
  Code f({{O::kStoreN, 1, 2},
          {O::kLoad, 2, 0},
          {O::kLoadC, 0, 0},
          {O::kOp, kLess, 0},
          {O::kJF, 7, 0},
          {O::kLoadC, 1, 0},
          {O::kStore, 3, 0},
          {O::kLoad, 2, 0},
          {O::kLoad, 2, 0},
          {O::kOp, kAdd, 0},
          {O::kJmp, 6, 0},
          {O::kLoadC, 2, 0},
          {O::kStore, 3, 0},
          {O::kLoad, 2, 0},
          {O::kLoad, 2, 0},
          {O::kOp, kMul, 0},
          {O::kLoad, 3, 0},
          {O::kOp, kAdd, 0},
          {O::kRet, 0, 0}},
         {10, 1, 2});
  // The jump of the branch leads to the second block.
  EXPECT_EQ(f({Value(20)}), "402");
  EXPECT_EQ(f({Value(3)}), "7");
  EXPECT_FALSE(f.has_loop());
}

TEST(Bytecode, ABranchMayLackItsElse) {
  Code f({{O::kStoreN, 1, 2},
          {O::kLoadC, 0, 0},
          {O::kStore, 3, 0},
          {O::kLoad, 2, 0},
          {O::kJF, 3, 0},
          {O::kLoadC, 1, 0},
          {O::kStore, 3, 0},
          {O::kLoad, 3, 0},
          {O::kRet, 0, 0}},
         {"no", "yes"});
  EXPECT_EQ(f({Value(true)}), "'yes'");
  EXPECT_EQ(f({Value(false)}), "'no'");
  EXPECT_FALSE(f.has_loop());
}

TEST(Bytecode, Loops) {
  // sum = 0; for i in range(n): sum = sum + i
  const std::vector<Instruction> loop = {{O::kStoreN, 1, 2}, {O::kLoadC, 0, 0}, {O::kLoad, 2, 0},
                                         {O::kLoadC, 1, 0},  {O::kLoadC, 0, 0}, {O::kLoop, 7, 3},
                                         {O::kStoreN, 3, 2}, {O::kLoadC, 1, 0}, {O::kLoad, 3, 0},
                                         {O::kMove, 4, 0},   {O::kOp, kAdd, 0}, {O::kJmp, -6, 0},
                                         {O::kRet, 0, 0}};
  Code f(loop, {0, true});
  EXPECT_EQ(f({Value(5)}), "10");
  EXPECT_EQ(f({Value(0)}), "0");
  EXPECT_TRUE(f.has_loop());
  // A counter that begins elsewhere has no loop of its own in a graph: trips from 2 to 4.
  Code late(loop, {2, true});
  EXPECT_EQ(late({Value(5)}), "11");
}

// The jumps form no blocks: a loop that is left in its middle, by a jump into a branch.
TEST(Bytecode, JumpsWithoutStructureRunAsAStateMachine) {
  Code f({{O::kStoreN, 1, 2},
          {O::kLoadC, 0, 0},
          {O::kStore, 3, 0},
          {O::kLoad, 3, 0},  // 3: r3 = r3 + 1
          {O::kLoadC, 1, 0},
          {O::kOp, kAdd, 0},
          {O::kStore, 3, 0},
          {O::kLoad, 3, 0},  // if not r3 < x: goto 14
          {O::kLoad, 2, 0},
          {O::kOp, kLess, 0},
          {O::kJF, 4, 0},
          {O::kLoadC, 2, 0},  // if true: goto 3
          {O::kJF, 2, 0},
          {O::kJmp, -10, 0},
          {O::kLoad, 3, 0},
          {O::kRet, 0, 0}},
         {0, 1, true});
  EXPECT_EQ(f({Value(7)}), "7");
  EXPECT_EQ(f({Value(-7)}), "1");
  EXPECT_TRUE(f.has_loop());
}

TEST(Bytecode, TwoReturns) {
  Code f({{O::kStoreN, 1, 2},
          {O::kLoad, 2, 0},
          {O::kJF, 3, 0},
          {O::kLoadC, 0, 0},
          {O::kRet, 0, 0},
          {O::kLoadC, 1, 0},
          {O::kRet, 0, 0}},
         {"then", "else"});
  EXPECT_EQ(f({Value(true)}), "'then'");
  EXPECT_EQ(f({Value(false)}), "'else'");
}

TEST(Bytecode, AttributesThatOnlyCodeSetsAreNumbered) {
  Code f({{O::kStoreN, 1, 2},
          {O::kCreateObject, 3, 0},
          {O::kStore, 3, 0},
          {O::kLoad, 3, 0},
          {O::kLoad, 2, 0},
          {O::kSetAttr, 4, 0},
          {O::kMove, 3, 0},
          {O::kGetAttr, 4, 0},
          {O::kRet, 0, 0}});
  EXPECT_EQ(f({Value(7)}), "7");
}

// The class would own itself through the type of its attribute: the sanitizers tell of leaks.
TEST(Bytecode, AnObjectThatHoldsItsOwnKind) {
  Code f({{O::kStore, 1, 0},
          {O::kCreateObject, 3, 0},
          {O::kStore, 2, 0},
          {O::kLoad, 2, 0},
          {O::kCreateObject, 3, 0},
          {O::kSetAttr, 0, 0},
          {O::kLoad, 2, 0},
          {O::kGetAttr, 0, 0},
          {O::kLoadC, 0, 0},
          {O::kSetAttr, 1, 0},
          {O::kMove, 2, 0},
          {O::kGetAttr, 0, 0},
          {O::kGetAttr, 1, 0},
          {O::kRet, 0, 0}},
         {"inner"});
  EXPECT_EQ(f(), "'inner'");
}

TEST(Bytecode, ASliceOfATuple) {
  Code f({{O::kStore, 1, 0},
          {O::kLoadC, 0, 0},
          {O::kLoadC, 1, 0},
          {O::kLoadC, 2, 0},
          {O::kTupleConstruct, 3, 0},
          {O::kTupleSlice, 1, 2},
          {O::kRet, 0, 0}},
         {1, "b", 2.5});
  EXPECT_EQ(f(), "('b', 2.5)");
}

// Each is told with its instruction, and none crashes.
TEST(Bytecode, CodeThatGoesAstrayIsRefused) {
  const Instruction start = {O::kStore, 1, 0}, ret = {O::kRet, 0, 0};
  const auto refusal = [&](std::vector<Instruction> code) { return Code(std::move(code), {1})(); };
  const std::string place = "bytecode of __torch__.Net.f:1: the bytecode is malformed: ";
  EXPECT_EQ(refusal({start, {O::kLoad, 9, 0}, ret}), place + "there is no register 9");
  EXPECT_EQ(refusal({start, {O::kLoad, 0, 0}, ret}), place + "there is no register 0");
  EXPECT_EQ(refusal({start, {O::kLoad, 2, 0}, ret}),
            "None");  // as in PyTorch, where registers begin with None
  EXPECT_EQ(refusal({start, {O::kLoadC, 1, 0}, ret}), place + "there is no constant 1");
  EXPECT_EQ(refusal({start, {O::kDrop, 0, 0}, ret}), place + "the stack holds too few values");
  EXPECT_EQ(refusal({start, {O::kJmp, 9, 0}, ret}), place + "the jump leaves the code");
  EXPECT_EQ(refusal({start, {O::kJmp, -9, 0}, ret}), place + "the jump leaves the code");
  EXPECT_EQ(refusal({start, {O::kLoadC, 0, 0}}), place + "the code ends without RET");
  EXPECT_EQ(refusal({start, {O::kLoadC, 0, 0}, {O::kJF, 2, 0}, {O::kLoadC, 0, 0}, ret}),
            "bytecode of __torch__.Net.f:2: the bytecode is malformed: the stack differs between "
            "two ways that lead here");
  EXPECT_EQ(refusal({start, {O::kListConstruct, 2, 0}, ret}),
            place + "the type 2 is of another kind");
  EXPECT_EQ(refusal({start, {O::kTupleConstruct, -1, 0}, ret}),
            place + "the stack holds too few values");
  EXPECT_EQ(refusal({start, {O::kListUnpack, 1, 0}, ret}),
            place + "the stack holds too few values");
  EXPECT_EQ(refusal({start, {O::kEnter, 0, 0}, ret}),
            place + "this instruction does not occur in files of the Lite Interpreter");
  EXPECT_EQ(refusal({start, {O::kOpN, kAdd, 5}, ret}),
            place + "aten::add.int does not take 5 arguments");
  EXPECT_EQ(refusal({start, {O::kLoadC, 0, 0}, {O::kGetAttr, 0, 0}, ret}),
            "bytecode of __torch__.Net.f:2: the bytecode is malformed: the class of the object is "
            "not known");
}

// What division was before version 4, called as an operator and as PyTorch's upgrader.
TEST(Bytecode, OldOperatorsMeanWhatTheyMeant) {
  const Tensor seven = zeros(std::vector<int64_t>{1}, DType::kInt64);
  seven.data_ptr<int64_t>()[0] = 7;
  for (const Instruction division : {Instruction{O::kOp, kDivide, 0}, {O::kCall, 2, 0}}) {
    for (const auto& [version, dtype] : {std::pair(3, DType::kInt64), {4, DType::kFloat32}}) {
      if (division.opcode == O::kCall && version == 4) continue;
      Code f({{O::kStoreN, 1, 2}, {O::kLoad, 2, 0}, {O::kLoadC, 0, 0}, division, {O::kRet, 0, 0}},
             {2}, version);
      const Value quotient = f.run({Value(seven)});
      EXPECT_EQ(quotient.to_tensor().dtype(), dtype);
    }
  }
  Code none({{O::kStore, 1, 0}, {O::kCall, 0, 0}, {O::kRet, 0, 0}});
  EXPECT_NE(none().find("a function is called that the file lacks"), std::string::npos) << none();
}

TEST(Bytecode, AnOperatorThatIsNotThereIsToldWhenItRuns) {
  Code f({{O::kStoreN, 1, 2}, {O::kLoad, 2, 0}, {O::kOp, kNoSuch, 0}, {O::kRet, 0, 0}});
  EXPECT_NE(f({Value(1)}).find("aten::no_such"), std::string::npos) << f({Value(1)});
}

}  // namespace
}  // namespace torchlet::interp
