#include "lite/infer_schema.h"

#include <gtest/gtest.h>

#include "script/testing.h"

namespace torchlet::lite {
namespace {

// What is inferred for f: "argument types -> result type", of a function whose types are forgotten.
std::string inferred(const std::string& text) {
  const auto unit = script::unit_of(text);
  Function& function = *unit->find_function("__torch__.f");
  Schema schema = function.schema();
  for (Argument& argument : schema.arguments) argument.type = types::unknown();
  schema.returns[0].type = types::unknown();
  EXPECT_EQ(infer_schema(schema, function.graph()), !schema.arguments.empty());
  std::string found;
  for (const Argument& argument : schema.arguments) found += argument.type->str() + " ";
  EXPECT_FALSE(infer_schema(schema, function.graph()));
  return found + "-> " + schema.returns[0].type->str();
}

TEST(InferSchema, ArgumentsHaveTheTypesOfTheirUses) {
  EXPECT_EQ(inferred("def f(x: Tensor, sizes: List[int], n: float) -> Tensor:\n"
                     "  y = torch.view(x, sizes)\n"
                     "  return torch.mul(y, n)\n"),
            "Tensor List[int] number -> Tensor");
  EXPECT_EQ(inferred("def g(s: str, n: int) -> str:\n  return torch.mul(s, n)\n"
                     "def f(s: str, n: int) -> str:\n  return __torch__.g(s, n)\n"),
            "str int -> str");
}

TEST(InferSchema, TheStrictestUseTells) {
  const std::string bias = "  y = torch.linear(x, w, b)\n", size = "  n = torch.dim(b)\n";
  for (const std::string& body : {bias + size, size + bias}) {
    EXPECT_EQ(inferred("def f(x: Tensor, w: Tensor, b: Tensor) -> Tensor:\n" + body +
                       "  return torch.add(y, n)\n"),
              "Tensor Tensor Tensor -> Tensor");
  }
}

TEST(InferSchema, WhatIsNotUsedIsATensor) {
  EXPECT_EQ(inferred("def f(x: int) -> int:\n  return 3\n"), "Tensor -> int");
  EXPECT_EQ(inferred("def f() -> str:\n  return \"a\"\n"), "-> str");
}

}  // namespace
}  // namespace torchlet::lite
