#include "script/program_printer.h"

#include <gtest/gtest.h>

#include <map>

#include "script/testing.h"

namespace torchlet::script {
namespace {

// An object of the class M, without its attributes' values.
Value object_of(CompilationUnit& unit) {
  const TypePtr type = unit.find_type("__torch__.M");
  return Value(make_ref<Object>(std::static_pointer_cast<const ClassType>(type)));
}

// The program's one file, printed; what is printed of that is the same.
std::string printed(const std::string& text, std::vector<Value> constants = {}) {
  const auto unit = unit_of(text, std::move(constants));
  const PrintedProgram first = print_program(object_of(*unit));
  EXPECT_EQ(first.files.size(), 1u);
  const auto again = unit_of(first.files.at(0).source.text, first.constants);
  const PrintedProgram second = print_program(object_of(*again));
  EXPECT_EQ(first.files.at(0).source.text, second.files.at(0).source.text);
  EXPECT_EQ(first.operator_version, second.operator_version);
  EXPECT_EQ(first.constants.size(), second.constants.size());
  return first.files.at(0).source.text;
}

constexpr const char* kModule = "class M(Module):\n  __parameters__ = []\n  __buffers__ = []\n";

// The body of the method f(self, x: Tensor, n: int).
std::string body(const std::string& lines, const std::string& result = "Tensor") {
  const std::string head =
      "  def f(self: __torch__.M,\n    x: Tensor,\n    n: int) -> " + result + ":\n";
  const std::string text = printed(kModule + head + lines);
  return text.substr(text.find(head) + head.size());
}

TEST(ProgramPrinter, OneStatementANode) {
  EXPECT_EQ(body("    return torch.relu(torch.add(x, torch.mul(x, 2.5), alpha=2))\n"),
            "    _0 = torch.mul(x, 2.5)\n"
            "    _1 = torch.add(x, _0, alpha=2)\n"
            "    _2 = torch.relu(_1)\n"
            "    return _2\n");
}

TEST(ProgramPrinter, ListsForOnePlaceStandThere) {
  EXPECT_EQ(body("    y = torch.reshape(x, [n, -1])\n    return torch.sum(y, [0, 1], True)\n"),
            "    y = torch.reshape(x, [n, -1])\n"
            "    _0 = torch.sum(y, [0, 1], True)\n"
            "    return _0\n");
  EXPECT_EQ(body("    a = annotate(List[int], [])\n    _0 = torch.append(a, n)\n"
                 "    return torch.reshape(x, a)\n"),
            "    a = annotate(List[int], [])\n"
            "    _0 = torch.append(a, n)\n"
            "    _1 = torch.reshape(x, a)\n"
            "    return _1\n");
}

TEST(ProgramPrinter, BranchesAndLoopsKeepTheirVariables) {
  EXPECT_EQ(body("    y = x\n"
                 "    for i in range(n):\n"
                 "      if torch.gt(i, 1):\n"
                 "        y = torch.neg(y)\n"
                 "      else:\n"
                 "        pass\n"
                 "    return y\n"),
            "    y = x\n"
            "    for i in range(n):\n"
            "      _0 = torch.gt(i, 1)\n"
            "      if _0:\n"
            "        y0 = torch.neg(y)\n"
            "        y1 = y0\n"
            "      else:\n"
            "        y1 = y\n"
            "      y = y1\n"
            "    return y\n");
  EXPECT_EQ(body("    a, b = x, n\n"
                 "    while torch.lt(b, 3):\n"
                 "      a, b = torch.neg(a), torch.add(b, 1)\n"
                 "    return a\n"),
            "    _0 = torch.lt(n, 3)\n"
            "    _1, a, b = _0, x, n\n"
            "    while _1:\n"
            "      a0 = torch.neg(a)\n"
            "      b0 = torch.add(b, 1)\n"
            "      _2 = torch.lt(b0, 3)\n"
            "      _1, a, b = _2, a0, b0\n"
            "    return a\n");
}

TEST(ProgramPrinter, LoopsThatAreLeftCountByThemselves) {
  const std::string text = body(
      "    y = x\n"
      "    for i in range(n):\n"
      "      if torch.gt(i, 1):\n"
      "        break\n"
      "      y = torch.mul(y, i)\n"
      "    return y\n");
  EXPECT_NE(text.find("    while "), std::string::npos) << text;
  EXPECT_EQ(text.find("for "), std::string::npos) << text;
}

TEST(ProgramPrinter, ConstantsReadBackExactly) {
  const std::string text = body(
      "    return (0.1, 1e+20, -3, 9223372036854775807, inf, -inf, nan, \"a\\\"\\\\\\n\\001\", "
      "None, "
      "True)\n",
      "Tuple[float, float, int, int, float, float, float, str, NoneType, bool]");
  EXPECT_EQ(text,
            "    return (0.1, 1e+20, -3, 9223372036854775807, inf, -inf, nan, "
            "\"a\\\"\\\\\\n\\001\", None, True)\n");
  EXPECT_EQ(body("    return -9223372036854775808\n", "int"), "    return CONSTANTS.c0\n");
  EXPECT_EQ(body("    a = annotate(Optional[int], None)\n    return (a, x)\n",
                 "Tuple[Optional[int], Tensor]"),
            "    return (annotate(Optional[int], None), x)\n");
}

TEST(ProgramPrinter, OtherConstantsGoIntoTheTable) {
  const Tensor weight = zeros(std::vector<int64_t>{2}, DType::kFloat32);
  const std::string text = printed(std::string(kModule) +
                                       "  def f(self: __torch__.M,\n    x: Tensor) -> Tensor:\n"
                                       "    return torch.add(x, CONSTANTS.c1)\n",
                                   {Value(1), Value(weight)});
  EXPECT_NE(text.find("torch.add(x, CONSTANTS.c0)"), std::string::npos) << text;
}

TEST(ProgramPrinter, SpecialFormsKeepTheirSpelling) {
  for (const std::string line : {
           "    y = annotate(int, x)\n",
           "    y = int(x)\n",
           "    y = annotate(List[float], x.tolist())\n",
           "    y, z = torch.max(x, 0)\n",
           "    ops.prim.RaiseException(\"no\", \"builtins.ValueError\")\n",
           "    print(x, n)\n",
           "    y = ops.prim.dtype(x)\n",
           "    y = uninitialized(Dict[str, int])\n",
           "    y = torch.format(\"{}\", n)\n",
           "    y = torch._weird_op(x, scale=n)\n",
       }) {
    EXPECT_EQ(body(line + "    return x\n"), line + "    return x\n");
  }
}

TEST(ProgramPrinter, ForksAreFunctions) {
  const std::string lines =
      "    def __forked_function():\n"
      "      _0 = torch.neg(x)\n"
      "      return _0\n"
      "    _1 = fork(__forked_function)\n"
      "    _2 = torch.wait(_1)\n"
      "    return _2\n";
  EXPECT_EQ(body(lines), lines);
}

TEST(ProgramPrinter, ClassesComeBeforeTheirUsers) {
  const std::string text =
      "class Color(Enum):\n  RED = 1\n  GREEN = 2\n"
      "class Point(NamedTuple):\n  x : Tensor\n  n : int\n"
      "class Lock:\n"
      "  count : int\n"
      "  def __init__(self: __torch__.Lock,\n    n: int=3) -> NoneType:\n"
      "    self.count = n\n"
      "    return None\n"
      "  def __enter__(self: __torch__.Lock) -> NoneType:\n    return None\n"
      "  def __exit__(self: __torch__.Lock,\n    t: Any,\n    v: Any,\n    b: Any) -> NoneType:\n"
      "    return None\n"
      "class Inner(ModuleInterface):\n"
      "  def g(self,\n    x: Tensor) -> Tensor:\n    pass\n"
      "def helper(p: __torch__.Point,\n  c: __torch__.Color) -> bool:\n"
      "  _0 = torch.eq(c, __torch__.Color.RED)\n"
      "  return _0\n"
      "class M(Module):\n"
      "  __parameters__ = [\"w\", ]\n"
      "  __buffers__ = []\n"
      "  w : Tensor\n"
      "  __annotations__ = []\n"
      "  __annotations__[\"0\"] = __torch__.Inner\n"
      "  size : Final[int] = 7\n"
      "  def f(self: __torch__.M,\n    x: Tensor) -> Tensor:\n"
      "    _0 = __torch__.helper(__torch__.Point(x, 1), __torch__.Color.GREEN)\n"
      "    lock = __torch__.Lock.__new__(__torch__.Lock)\n"
      "    _1 = lock.__init__()\n"
      "    with lock as _2:\n"
      "      _3 = getattr(self, \"0\")\n"
      "      _4 = _3.g(x)\n"
      "    self.w = _4\n"
      "    return _4\n";
  const std::string got = printed(text);
  std::map<std::string, size_t> at;
  for (const char* name :
       {"class Color", "class Point", "class Lock", "class Inner", "def helper"}) {
    at[name] = got.find(name);
    EXPECT_LT(at[name], got.find("class M")) << name;
  }
  EXPECT_LT(at["class Point"], at["def helper"]);
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin);
    const std::string line = text.substr(begin, end - begin);
    EXPECT_NE(got.find(line + "\n"), std::string::npos) << line;
    begin = end + 1;
  }
}

TEST(ProgramPrinter, TellsTheVersionThatItsOperatorsNeed) {
  const auto version = [](const std::string& line) {
    const auto unit = unit_of(std::string(kModule) +
                              "  def f(self: __torch__.M,\n    x: Tensor) -> Tensor:\n" + line);
    return print_program(object_of(*unit)).operator_version;
  };
  EXPECT_EQ(version("    return torch.neg(x)\n"), 3);
  EXPECT_EQ(version("    return torch.div(x, x)\n"), 4);
  EXPECT_EQ(version("    return torch.gelu(torch.div(x, x))\n"), 10);
}

TEST(ProgramPrinter, LongChainsOfClassesTakeNoStack) {
  std::string text = "class C0(Module):\n  __parameters__ = []\n  __buffers__ = []\n";
  for (int i = 1; i < 90; ++i) {
    const std::string before = std::to_string(i - 1), n = std::to_string(i);
    text += "class C" + n +
            "(Module):\n  __parameters__ = []\n  __buffers__ = []\n  c : __torch__.C" + before +
            "\n";
  }
  text += std::string(kModule) + "  c : __torch__.C89\n";
  EXPECT_NE(printed(text).find("class C0(Module)"), std::string::npos);
}

}  // namespace
}  // namespace torchlet::script
