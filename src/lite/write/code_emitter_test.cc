#include "lite/write/code_emitter.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "lite/program.h"
#include "lite/write/code_tables.h"
#include "script/testing.h"

namespace torchlet::lite {
namespace {

const std::string kHead =
    "class Net(Module):\n  w : Tensor\n  n : int\n  def forward(self: __torch__.Net, ";

// The forward of a class with two attributes, as bytecode.
BytecodeFunction emitted(const std::string& text, int version = 8) {
  const auto unit = script::unit_of(kHead + text);
  Function* method = unit->find_type("__torch__.Net")->as_class()->find_method("forward");
  BytecodeFunction function;
  function.name = "__torch__.Net.forward";
  function.schema = method->schema();
  emit_code(method->graph(), CodeForm(version), function);
  return function;
}

// "LOADC 0; OP aten::add.Tensor/2; ...": constants, operators and types as they are, counts apart.
std::string code(const BytecodeFunction& function) {
  std::string text;
  for (const Instruction& in : function.instructions) {
    text += (text.empty() ? "" : "; ") + std::string(name_of(in.opcode));
    const auto x = static_cast<size_t>(in.x);
    if (in.opcode == Opcode::kLoadC || in.opcode == Opcode::kInterfaceCall) {
      text += " " + to_text(function.constants.at(x));
    } else if (in.opcode == Opcode::kOp || in.opcode == Opcode::kOpN) {
      const OperatorName& op = function.operators.at(x);
      text += " " + op.name + (op.overload.empty() ? "" : "." + op.overload);
      if (op.num_args) text += "/" + std::to_string(*op.num_args);
    } else if (in.opcode == Opcode::kListConstruct || in.opcode == Opcode::kDictConstruct ||
               in.opcode == Opcode::kNamedTupleConstruct || in.opcode == Opcode::kIsInstance) {
      text += " " + type_text(*function.types.at(x));
    } else if (in.x) {
      text += " " + std::to_string(in.x);
    }
    if (in.n) text += " " + std::to_string(in.n);
  }
  return text;
}

std::string code(const std::string& text, int version = 8) { return code(emitted(text, version)); }

std::string error_of(const std::string& text) {
  try {
    code(text);
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

// All as PyTorch 1.13 writes them, but for the numbers of constants.

TEST(CodeEmitter, WhatIsReadOnceStaysOnTheStack) {
  EXPECT_EQ(
      code("x: Tensor, y: Tensor) -> Tensor:\n    return torch.mul(torch.neg(x), torch.abs(y))"),
      "STOREN 1 3; DROPR 1; MOVE 2; OP aten::neg/1; MOVE 3; OP aten::abs/1; "
      "OP aten::mul.Tensor/2; RET");
}

TEST(CodeEmitter, OthersLieInRegistersUntilTheirLastRead) {
  EXPECT_EQ(code("x: Tensor) -> Tensor:\n    y = torch.neg(x)\n    return torch.mul(y, y)"),
            "STOREN 1 2; DROPR 1; MOVE 2; OP aten::neg/1; STORE 3; LOAD 3; MOVE 3; "
            "OP aten::mul.Tensor/2; RET");
  EXPECT_EQ(code("x: Tensor) -> Tensor:\n    _0 = torch.relu_(x)\n    return x"),
            "STOREN 1 2; DROPR 1; LOAD 2; OP aten::relu_/1; DROP; MOVE 2; RET");
}

TEST(CodeEmitter, BranchesAndLoopsJump) {
  EXPECT_EQ(code("x: Tensor, b: bool) -> Tensor:\n    if b:\n      y = torch.neg(x)\n    else:\n"
                 "      y = x\n    return y"),
            "STOREN 1 3; DROPR 1; MOVE 3; JF 4; LOAD 2; OP aten::neg/1; JMP 2; LOAD 2; STORE 4; "
            "DROPR 2; MOVE 4; RET");
  EXPECT_EQ(code("x: Tensor, k: int) -> Tensor:\n    y = x\n    for i in range(k):\n"
                 "      y = torch.add(y, i)\n    return y"),
            "STOREN 1 3; DROPR 1; LOADC 0; MOVE 3; LOADC True; MOVE 2; LOOP 7 3; STOREN 4 2; "
            "LOADC True; MOVE 5; MOVE 4; OP aten::add.Scalar/2; JMP -6; STORE 6; MOVE 6; RET");
}

TEST(CodeEmitter, AttributesHaveNumbers) {
  EXPECT_EQ(code("x: Tensor) -> Tensor:\n    self.n = 3\n    return self.w"),
            "STOREN 1 2; DROPR 2; LOAD 1; LOADC 3; SET_ATTR 1; MOVE 1; GET_ATTR; RET");
}

TEST(CodeEmitter, VersionsDifferInDefaultsAndInstructions) {
  const std::string text =
      "x: Tensor, y: Tensor) -> int:\n    _0 = torch.add(x, x, out=y)\n"
      "    return torch.dim(torch.sum(x))";
  const std::string start = "STOREN 1 3; DROPR 1; LOAD 2; LOAD 2; ";
  EXPECT_EQ(code(text, 8),
            start + "MOVE 3; OP aten::add.out/3; DROP; MOVE 2; OP aten::sum/1; DIM; RET");
  EXPECT_EQ(
      code(text, 7),
      start + "MOVE 3; OP aten::add.out/3; DROP; MOVE 2; OP aten::sum/1; OP aten::dim/1; RET");
  EXPECT_EQ(code(text, 6), start +
                               "LOADC 1; MOVE 3; OP aten::add.out/4; DROP; MOVE 2; OP aten::sum/1; "
                               "OP aten::dim/1; RET");
  EXPECT_EQ(code(text, 5),
            start +
                "LOADC 1; MOVE 3; OP aten::add.out; DROP; MOVE 2; LOADC None; OP aten::sum; "
                "OP aten::dim; RET");
  EXPECT_EQ(code(text, 4), code(text, 5));
}

TEST(CodeEmitter, OneCountStandsForAllCallsOfAnOperator) {
  EXPECT_EQ(code("x: Tensor) -> Tensor:\n    return torch.add(torch.add(x, x), x, alpha=2)"),
            "STOREN 1 2; DROPR 1; LOAD 2; LOAD 2; LOADC 1; OP aten::add.Tensor/3; MOVE 2; "
            "LOADC 2; OP aten::add.Tensor/3; RET");
}

TEST(CodeEmitter, SomeInstructionsWereOperatorsBefore) {
  const std::string text =
      "x: Tensor, d: Dict[str, int]) -> str:\n    if torch.__is__(x, x):\n      "
      "ops.prim.RaiseException(\"a\", "
      "\"builtins.ValueError\")\n    return torch.format(\"{}\", d[\"k\"])";
  EXPECT_EQ(code(text, 8),
            "STOREN 1 3; DROPR 1; LOAD 2; MOVE 2; __IS__; JF 5; LOADC 'a'; "
            "LOADC 'builtins.ValueError'; RAISE_EXCEPTION; JMP 1; LOADC '{}'; MOVE 3; LOADC 'k'; "
            "DICT_INDEX; FORMAT 2; RET");
  EXPECT_EQ(code(text, 7),
            "STOREN 1 3; DROPR 1; LOAD 2; MOVE 2; OP aten::__is__/2; JF 5; LOADC 'a'; "
            "LOADC 'builtins.ValueError'; OP prim::RaiseException/2; JMP 1; LOADC '{}'; MOVE 3; "
            "LOADC 'k'; OP aten::__getitem__.Dict_str/2; OPN aten::format 2; RET");
}

TEST(CodeEmitter, WhatIsForkedRunsAtOnce) {
  EXPECT_EQ(code("x: Tensor) -> Tensor:\n    def __forked_function():\n      return torch.neg(x)\n"
                 "    f = fork(__forked_function)\n    return torch.wait(f)"),
            "STOREN 1 2; DROPR 1; LOAD 2; OP aten::neg/1; STORE 3; DROPR 2; MOVE 3; RET");
}

TEST(CodeEmitter, RefusesWhatTheMobileRuntimeCannotDo) {
  EXPECT_EQ(
      error_of("x: Tensor) -> Tensor:\n    p = __torch__.P(x)\n    return p.x\n"
               "class P:\n  x : Tensor\n  def __init__(self: __torch__.P, x: Tensor) -> None:\n"
               "    self.x = x\n"),
      "Lite Interpreter bytecode has no form for an object of __torch__.P that a method "
      "makes; write the model as .pt");
}

// Bytecode that is read becomes a graph that gives the same bytecode.
TEST(CodeEmitter, ComesBackThroughTheReader) {
  const std::string bodies[] = {
      "x: Tensor, y: Tensor) -> Tensor:\n    return torch.mul(torch.neg(x), torch.abs(y))",
      "x: Tensor, k: int) -> Tensor:\n    y = x\n    for i in range(k):\n      if i > 3:\n"
      "        y = torch.add(y, i)\n      else:\n        y = torch.mul(y, self.w)\n    return y",
      "x: Tensor, d: Dict[str, int]) -> List[int]:\n    a, b = d[\"a\"], d[\"b\"]\n"
      "    return [a, b, torch.dim(x)]",
      "x: Any) -> Tuple[int, bool]:\n    return (self.n, isinstance(x, int))",
  };
  for (const std::string& body : bodies) {
    for (int version = kMinWrittenVersion; version <= kMaxWrittenVersion; ++version) {
      const BytecodeFunction before = emitted(body, version);
      script::CompilationUnit unit(script::Program{[](const std::string&) { return nullptr; }, {}});
      BytecodeProgram program(unit);
      unit.set_class_finder([&](const std::string& name) { return program.find_class(name); });
      const auto state = make_ref<Dict>(types::string(), types::any());
      state->set("w", zeros(std::vector<int64_t>{1}, DType::kFloat32));
      state->set("n", 1);
      const TypePtr net = unit.find_type("__torch__.Net");
      program.learn_attributes(*net->as_class(), Value(state));
      program.add_functions({version, {before}});
      Function* method = net->as_class()->find_method("forward");
      BytecodeFunction after;
      emit_code(method->graph(), CodeForm(version), after);
      EXPECT_EQ(code(after), code(before)) << "version " << version;
      EXPECT_EQ(after.register_size, before.register_size);
    }
  }
}

TEST(CodeTables, TypesAreSpelledForTheMobileRuntime) {
  const TypePtr point = types::named_tuple("__torch__.Point", {"x", "n"},
                                           {types::tensor(), types::optional(types::integer())});
  EXPECT_EQ(type_text(*types::dict(types::string(), point)),
            "Dict[str, __torch__.Point[NamedTuple, [[x, Tensor],[n, Optional[int]]]]]");
  EXPECT_EQ(schema_type_text(*point), "__torch__.Point");
  EXPECT_EQ(type_text(*types::list(types::union_of({types::integer(), types::string()}))),
            "List[Any]");
  EXPECT_EQ(schema_type_text(*types::unknown()), "Any");
  EXPECT_EQ(type_text(*types::list(types::future(types::tensor()))), "List[Tensor]");
  EXPECT_EQ(type_text(*types::tuple({types::floating(), types::device()})), "Tuple[float, Device]");
}

}  // namespace
}  // namespace torchlet::lite
