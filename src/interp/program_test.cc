// Whole programs: TorchScript source through the compiler and the interpreter, against what Python
// gives for the same text.
#include <gtest/gtest.h>
#include <torchlet/error.h>

#include <memory>

#include "interp/interpreter.h"
#include "script/compilation_unit.h"
#include "tensor/containers.h"

namespace torchlet::interp {
namespace {

class Program {
 public:
  explicit Program(const std::string& text)
      : unit_(script::Program{
            [text](const std::string& package) -> std::shared_ptr<const Source> {
              if (package != "__torch__") return nullptr;
              return std::make_shared<Source>(Source{"code/__torch__.py", text, 1, nullptr});
            },
            {},
            script::kCurrentOperatorVersion}) {}

  Value object(const std::string& name) {
    const TypePtr type = unit_.find_type("__torch__." + name);
    return Value(make_ref<Object>(std::static_pointer_cast<const ClassType>(type)));
  }

  Value run(const std::string& name, std::vector<Value> arguments) {
    Function* function = unit_.find_function("__torch__." + name);
    function->graph().verify();
    return interpreter_.run(*function, std::move(arguments));
  }

 private:
  script::CompilationUnit unit_;
  Interpreter interpreter_;
};

// The result of f as Python's repr() writes it, or what it raised.
std::string result(Program& program, std::vector<Value> arguments) {
  try {
    return to_text(program.run("f", std::move(arguments)));
  } catch (const Error& error) {
    return error.python_class() + ": " + error.message();
  }
}

TEST(Program, BreakAndContinue) {
  Program p(R"(
def f(l: List[int]) -> Tuple[int, int]:
  t = 0
  n = 0
  for i in l:
    n += 1
    if i == 3:
      continue
    if i == 5:
      break
    t += i
  return (t, n)
)");
  EXPECT_EQ(result(p, {Value::list({1, 2, 3, 4, 5, 6})}), "(7, 5)");
  EXPECT_EQ(result(p, {Value::list({3, 3})}), "(0, 2)");
  EXPECT_EQ(result(p, {make_int_list({})}), "(0, 0)");
}

TEST(Program, ReturnInsideNestedLoops) {
  Program p(R"(
def f(n: int, wanted: int) -> str:
  seen = 0
  for i in range(n):
    j = 0
    while j < n:
      if i * j == wanted:
        return str(i) + "*" + str(j)
      if j > i:
        break
      seen += 1
      j += 1
    if seen > 20:
      return "many"
  return "none " + str(seen)
)");
  EXPECT_EQ(result(p, {4, 6}), "'2*3'");
  EXPECT_EQ(result(p, {3, 100}), "'none 6'");
  EXPECT_EQ(result(p, {10, 1000}), "'many'");
  EXPECT_EQ(result(p, {0, 0}), "'none 0'");
}

TEST(Program, EarlyReturnsInBranches) {
  Program p(R"(
def f(a: int, b: int) -> int:
  r = 0
  if a > 0:
    if b > 0:
      return 1
    r = 10
    if b < -5:
      return 2
    r += 1
  elif a < -5:
    r = 100
  else:
    return 3
  r += 1
  if r == 12:
    return r
  return -r
)");
  EXPECT_EQ(result(p, {1, 1}), "1");
  EXPECT_EQ(result(p, {1, -6}), "2");
  EXPECT_EQ(result(p, {1, 0}), "12");
  EXPECT_EQ(result(p, {-6, 0}), "-101");
  EXPECT_EQ(result(p, {0, 0}), "3");
}

TEST(Program, BreakKeepsWhatWasAssigned) {
  Program p(R"(
def f(n: int) -> List[int]:
  a = 0
  b = 0
  c = 0
  while True:
    a += 1
    if a > n:
      b = a * 10
      break
    if a % 2 == 0:
      c += 1
      continue
    b += 1
  return [a, b, c]
)");
  EXPECT_EQ(result(p, {5}), "[6, 60, 2]");
  EXPECT_EQ(result(p, {0}), "[1, 10, 0]");
}

TEST(Program, RaiseAndAssert) {
  Program p(R"(
def f(x: int) -> int:
  if x < 0:
    raise ValueError("negative " + str(x))
  assert x < 10, "too large"
  return x
)");
  EXPECT_EQ(result(p, {3}), "3");
  EXPECT_EQ(result(p, {-3}), "builtins.ValueError: negative -3");
  EXPECT_NE(result(p, {30}).find("AssertionError: too large"), std::string::npos);
}

TEST(Program, RefinementOfOptionals) {
  Program p(R"(
def f(x: Optional[int], y: Optional[int]) -> int:
  if x is not None and y is not None:
    return x + y
  if x is None or x > 100:
    return -1
  return x
)");
  EXPECT_EQ(result(p, {3, 4}), "7");
  EXPECT_EQ(result(p, {3, Value()}), "3");
  EXPECT_EQ(result(p, {Value(), 4}), "-1");
  EXPECT_EQ(result(p, {200, Value()}), "-1");
}

TEST(Program, ComprehensionsZipAndEnumerate) {
  Program p(R"(
def f(l: List[int], s: List[str]) -> Tuple[List[int], Dict[str, int], List[str]]:
  squares = [i * i for i in l]
  index = {w: i for i, w in enumerate(s)}
  pairs = annotate(List[str], [])
  for i, (a, b) in enumerate(zip(l, s), 1):
    pairs.append(str(i) + str(a) + b)
  return (squares, index, pairs)
)");
  EXPECT_EQ(result(p, {Value::list({1, 2, 3}), Value::list({"a", "b"})}),
            "([1, 4, 9], {'a': 0, 'b': 1}, ['11a', '22b'])");
}

TEST(Program, TuplesUnrollWithTheirOwnTypes) {
  Program p(R"(
def f(x: Tuple[int, str, float]) -> Tuple[str, Tuple[str, float], int]:
  out = ""
  for item in x:
    out += str(item) + ";"
  a, *b = x
  return (out, (x[1], x[-1]), len((a, b)))
)");
  EXPECT_EQ(result(p, {Value::tuple({1, "q", 2.5})}), "('1;q;2.5;', ('q', 2.5), 2)");
}

TEST(Program, SlicesOfStringsListsAndTuples) {
  Program p(R"(
def f(s: str, a: Optional[int], b: Optional[int], step: int) -> Tuple[str, List[int], Tuple[int, int]]:
  t = (1, 2, 3)
  return (s[a:b:step], [0, 1, 2, 3, 4][a:b:step], t[::-2])
)");
  EXPECT_EQ(result(p, {"abcde", Value(), Value(), -1}), "('edcba', [4, 3, 2, 1, 0], (3, 1))");
  EXPECT_EQ(result(p, {"abcde", 3, Value(), -2}), "('db', [3, 1], (3, 1))");
  EXPECT_EQ(result(p, {"abcde", -2, 100, 1}), "('de', [3, 4], (3, 1))");
  EXPECT_EQ(result(p, {"abcde", 3, 1, 1}), "('', [], (3, 1))");
}

TEST(Program, RecordFunctionDoesNothing) {
  Program p(R"(
def f(future: Future[int]) -> int:
  handle = ops.profiler._record_function_enter("mark", None)
  ops.profiler._record_function_exit(handle)
  return torch.wait(future)
def g() -> int:
  return 3
def main() -> int:
  _0 = fork(__torch__.g)
  return __torch__.f(_0)
)");
  EXPECT_EQ(to_text(p.run("main", {})), "3");
}

TEST(Program, ShortCircuits) {
  Program p(R"(
def f(l: List[int]) -> Tuple[bool, bool]:
  return (len(l) > 0 and l[0] == 1, len(l) == 0 or not l[0] == 1)
)");
  EXPECT_EQ(result(p, {make_int_list({})}), "(False, True)");
  EXPECT_EQ(result(p, {Value::list({1})}), "(True, False)");
}

TEST(Program, ClassesWithOperators) {
  Program p(R"(
class Counter:
  n : int
  def __init__(self: __torch__.Counter, n: int=1) -> NoneType:
    self.n = n
    return None
  def __add__(self: __torch__.Counter, o: int) -> int:
    return self.n + o
  def __len__(self: __torch__.Counter) -> int:
    return self.n
  def __getitem__(self: __torch__.Counter, i: int) -> int:
    return self.n * i
  def __contains__(self: __torch__.Counter, i: int) -> bool:
    return self.n == i
  def __enter__(self: __torch__.Counter) -> int:
    self.n += 100
    return self.n
  def __exit__(self: __torch__.Counter, a: Any, b: Any, c: Any) -> NoneType:
    self.n -= 1
    return None
def f() -> List[int]:
  c = __torch__.Counter(4)
  out = [c + 3, len(c), c[5], int(4 in c), int(5 in c)]
  with c as inside:
    out.append(inside)
  out.append(c.n)
  d = c
  d.n = 7
  out.append(c.n)
  return out
)");
  EXPECT_EQ(result(p, {}), "[7, 4, 20, 1, 0, 104, 103, 7]");
}

TEST(Program, ForksSeeTheLoopTheyStandIn) {
  Program p(R"(
def work(x: int, k: int) -> int:
  return x * 10 + k
def f(n: int) -> List[int]:
  futures = annotate(List[Future[int]], [])
  for i in range(n):
    def __forked_function():
      return __torch__.work(n, i, )
    _0 = fork(__forked_function)
    futures.append(_0)
  out = annotate(List[int], [])
  for w in futures:
    out.append(torch.wait(w))
  return out
)");
  EXPECT_EQ(result(p, {3}), "[30, 31, 32]");
}

TEST(Program, VariablesOfOuterBlocksAreChangedInside) {
  Program p(R"(
def f(n: int) -> Tuple[int, int]:
  a, b = 0, 1
  i = 0
  while i < n:
    a, b = b, a + b
    if a > 50:
      a = -a
    else:
      if a == 8:
        b += 100
    i += 1
  return (a, b)
)");
  // Python, for n in 0, 6, 7, 8.
  EXPECT_EQ(result(p, {0}), "(0, 1)");
  EXPECT_EQ(result(p, {6}), "(8, 113)");
  EXPECT_EQ(result(p, {7}), "(-113, 121)");
  EXPECT_EQ(result(p, {8}), "(-121, 8)");
}

TEST(Program, RecursionNeedsAnAnnotationOnly) {
  Program p(R"(
def f(n: int) -> int:
  if n < 2:
    return n
  return __torch__.f(n - 1) + __torch__.f(n - 2)
)");
  EXPECT_EQ(result(p, {15}), "610");
}

// Nothing tells whether a cast is right: what reads the value finds out.
TEST(Program, ACastToAnotherTypeIsAnErrorWhereItIsRead) {
  const auto read = [](const std::string& body) {
    Program program("def f(x: Any) -> Any:\n" + body);
    return result(program, {Value(int64_t{0x4141414141414141})});
  };
  EXPECT_EQ(read("  t = unchecked_cast(Tensor, x)\n  return torch.cat([t, t])\n"),
            ": expected a Tensor, got an int");
  EXPECT_EQ(read("  t = unchecked_cast(Tensor, None)\n  return torch.detach(t)\n"),
            ": expected a Tensor as argument 'self', got None");
  EXPECT_EQ(read("  t = unchecked_cast(Tensor, None)\n  return torch.stack([t, t])\n"),
            ": expected a Tensor as argument 'tensors', got None");
  EXPECT_EQ(read("  t = unchecked_cast(Tuple[int, int], x)\n  a, b = t\n  return a\n"),
            ": expected a tuple, got an int");
  EXPECT_EQ(read("  l = unchecked_cast(List[Tuple[str, int]], x)\n  return dict(l)\n"),
            ": expected a list, got an int");
  EXPECT_EQ(read("  t = unchecked_cast(Tuple[str, int], x)\n  return dict([t, t])\n"),
            ": expected a tuple, got an int");
  EXPECT_EQ(read("  t = unchecked_cast(Tuple[str, int], (\"a\",))\n  return dict([t, t])\n"),
            ": a pair has 1 items");
  EXPECT_EQ(read("  t = unchecked_cast(Tuple[str, int], x)\n  return sorted([t, t])\n"),
            "[4702111234474983745, 4702111234474983745]");
}

// An __exit__ that leaves its own `with` by an error runs within itself.
TEST(Program, RunsWithinRunsAreLimited) {
  Program program(
      "class C:\n"
      "  def __enter__(self: __torch__.C) -> int:\n"
      "    return 1\n"
      "  def __exit__(self: __torch__.C, type: Any, value: Any, traceback: Any) -> NoneType:\n"
      "    with self:\n"
      "      ops.prim.RaiseException(\"again\")\n"
      "    return None\n"
      "def f(x: __torch__.C) -> int:\n"
      "  with x:\n"
      "    ops.prim.RaiseException(\"first\")\n"
      "  return 1\n");
  EXPECT_EQ(result(program, {program.object("C")}), ": first");
}

}  // namespace
}  // namespace torchlet::interp
