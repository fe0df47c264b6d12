// Programs by somebody who means harm: what the compiler refuses, and that it ends.
#include <gtest/gtest.h>

#include <functional>

#include "script/testing.h"

namespace torchlet::script {
namespace {

TEST(Hostile, ProgramsThatGrowEndInErrors) {
  // Fifty early returns nest fifty deep; fifty thousand must not.
  std::string returns = "def f(c: bool) -> int:\n";
  for (int i = 0; i < 50; ++i) returns += "  if c:\n    return 1\n";
  EXPECT_EQ(error_of(returns + "  return 2\n"), "no error");
  for (int i = 0; i < 50000; ++i) returns += "  if c:\n    return 1\n";
  EXPECT_NE(error_of(returns + "  return 2\n"), "no error");

  // Tuples unroll: 10 loops over 10 items would be 10^10 statements.
  std::string loops = "def f() -> int:\n  t = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)\n";
  for (int depth = 1; depth <= 10; ++depth) {
    loops += std::string(static_cast<size_t>(2 * depth), ' ') + "for i" + std::to_string(depth) +
             " in t:\n";
  }
  EXPECT_NE(error_of(loops + std::string(22, ' ') + "pass\n  return 1\n"), "no error");

  // Inner functions are emitted where they are called.
  EXPECT_NE(error_of("def f() -> int:\n  def g():\n    return g()\n  return g()\n"), "no error");

  // A class for every attribute of the one before.
  std::string classes = "def f(x: __torch__.C0) -> int:\n  return 1\n";
  for (int i = 0; i < 5000; ++i) {
    classes +=
        "class C" + std::to_string(i) + ":\n  a : __torch__.C" + std::to_string(i + 1) + "\n";
  }
  EXPECT_NE(error_of(classes + "class C5000:\n"), "no error");
}

TEST(Hostile, WhatIsNoOperatorCannotBeCalledByName) {
  for (const std::string name : {"If",         "Loop",
                                 "Exit",       "Enter",
                                 "SetAttr",    "GetAttr",
                                 "CallMethod", "CallFunction",
                                 "fork",       "Segment",
                                 "ListUnpack", "TupleIndex",
                                 "Constant",   "ModuleContainerIndex",
                                 "isinstance", "unchecked_cast",
                                 "tolist",     "EnumName",
                                 "Print",      "Unsupported"}) {
    for (const std::string arguments : {"", "x", "x, x", "x, 1, True"}) {
      EXPECT_EQ(error_of("def f(x: Tensor):\n  y = ops.prim." + name + "(" + arguments + ")\n"),
                "code/__torch__.py:2: prim::" + name + " is no operator that a program can call");
    }
  }
}

TEST(Hostile, ACallThatFitsNoOverloadIsOfAKindOfItsOwn) {
  EXPECT_EQ(compiled("def f(x: Tensor):\n  y = torch.__isnot__(x)\n"),
            R"(graph(%x.0 : Tensor):
  %2 : NoneType = prim::Constant[value=None]()
  %y.1 : Unknown = prim::Unsupported[name='aten::__isnot__', reason='no overload takes (Tensor)'](%x.0)
  return (%2)
)");
}

std::string repeated(
    int count,
    const std::function<std::string(const std::string& i, const std::string& next)>& line) {
  std::string text;
  for (int i = 0; i < count; ++i) text += line(std::to_string(i), std::to_string(i + 1));
  return text;
}

TEST(Hostile, FunctionsThatAskForEachOtherNestOnlySoDeep) {
  // What a function without an annotation returns is known when it is compiled.
  const auto chain = [](int length) {
    return "def f(x):\n  return __torch__.f0(x)\n" +
           repeated(length,
                    [](const std::string& i, const std::string& next) {
                      return "def f" + i + "(x):\n  return __torch__.f" + next + "(x)\n";
                    }) +
           "def f" + std::to_string(length) + "(x):\n  return x\n";
  };
  EXPECT_NE(compiled(chain(20)), "");
  const std::string problem = error_of(chain(10'000));
  EXPECT_NE(problem.find("the program is nested over 600 levels deep"), std::string::npos)
      << problem;
}

TEST(Hostile, ClassesThatHoldEachOtherNestOnlySoDeep) {
  const auto chain = [](int length) {
    return "def f(x: __torch__.C0) -> int:\n  return 1\n" +
           repeated(length,
                    [](const std::string& i, const std::string& next) {
                      return "class C" + i + "(Module):\n  a : __torch__.C" + next + "\n";
                    }) +
           "class C" + std::to_string(length) + "(Module):\n  a : int\n";
  };
  EXPECT_NE(compiled(chain(50)), "");
  EXPECT_NE(error_of(chain(1000)), "no error");
}

TEST(Hostile, TypesAreSmall) {
  const auto body = [](const std::string& first, const std::string& next) {
    return "def f(x: Tensor) -> int:\n  _0 = " + first + "\n" +
           repeated(200,
                    [&](const std::string& i, const std::string& n) {
                      std::string item = next;
                      while (item.find('$') != std::string::npos)
                        item.replace(item.find('$'), 1, i);
                      return "  _" + n + " = " + item + "\n";
                    }) +
           "  return 1\n";
  };
  EXPECT_EQ(error_of(body("[x]", "[_$]")), "a type is nested over 64 deep or has over 4096 parts");
  EXPECT_EQ(error_of(body("(x, x)", "(_$, _$)")),
            "a type is nested over 64 deep or has over 4096 parts");
  std::string deep = "int";
  for (int i = 0; i < 150; ++i) deep = "List[" + deep + "]";
  EXPECT_NE(error_of("def f(x: " + deep + ") -> int:\n  return 1\n"), "no error");
}

TEST(Hostile, AProgramHasSoManyTokensAndNodes) {
  std::string tokens = "def f(x: Tensor) -> int:\n  a = (";
  for (int i = 0; i < 1'100'000; ++i) tokens += "x,";
  EXPECT_EQ(error_of(tokens + ")\n  return 1\n"),
            "code/__torch__.py:2: the program has too many tokens");
  // Loops over tuples are unrolled, also one in the other.
  std::string loops = "def f(x: Tensor) -> int:\n  t = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)\n  a = 0\n";
  std::string indent = "  ";
  for (int i = 0; i < 6; ++i, indent += "  ") {
    loops += indent + "for v" + std::to_string(i) + " in t:\n";
  }
  loops += indent + "a = a + v0\n  return a\n";
  EXPECT_NE(error_of(loops), "no error");
}

TEST(Hostile, OddPrograms) {
  EXPECT_EQ(error_of("def f(x: Tensor) -> int:\n"
                     "  for i in range(*()):\n"
                     "    pass\n"
                     "  return 1\n"),
            "code/__torch__.py:2: range() takes one to three bounds");
  EXPECT_EQ(error_of("def f(x: Tensor) -> int:\n"
                     "  a = 1\n"
                     "  for i in range(3):\n"
                     "    a = 2\n"
                     "    del a\n"
                     "  return 1\n"),
            "code/__torch__.py:3: 'a' is deleted in the loop");
  EXPECT_NE(compiled("def f(x: Tensor) -> Tuple[int]:\n"
                     "  t = (1, 2, 3)\n"
                     "  return t[1::9223372036854775807]\n")
                .find(": Tuple[int] = prim::TupleConstruct(%2)"),
            std::string::npos);
  EXPECT_EQ(
      error_of("def f(x: Tensor):\n  ops.prim.RaiseException(\"no\", 7)\n"),
      "code/__torch__.py:2: the class of prim::RaiseException is to be a Optional[str], got a "
      "int");
  EXPECT_EQ(error_of("def f(x: float) -> int:\n  t = (1, 2)\n  return t[x]\n"),
            "code/__torch__.py:3: the index of prim::TupleIndex is to be a int, got a float");
  std::string many = "def f(x: Tensor";
  for (int i = 0; i < 5000; ++i) many += ", a" + std::to_string(i) + ": int";
  EXPECT_EQ(error_of(many + ") -> int:\n  return 1\n"),
            "code/__torch__.py:1: there are over 4096 of these");
  const std::string name(100'000, 'a');
  EXPECT_LT(error_of("def f(x: Tensor) -> int:\n  return " + name + "\n").size(), 500u);
}

}  // namespace
}  // namespace torchlet::script
