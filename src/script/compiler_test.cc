#include <gtest/gtest.h>

#include "script/testing.h"

namespace torchlet::script {
namespace {

// Statements.

TEST(Compiler, OperatorsGetTheirDefaults) {
  EXPECT_EQ(compiled("def f(x: Tensor) -> Tensor:\n"
                     "  y = torch.add(x, x, alpha=2)\n"
                     "  return torch.add(y, 1)\n"),
            R"(graph(%x.0 : Tensor):
  %1 : int = prim::Constant[value=2]()
  %3 : int = prim::Constant[value=1]()
  %y.2 : Tensor = aten::add(%x.0, %x.0, %1)
  %4 : Tensor = aten::add(%y.2, %3, %3)
  return (%4)
)");
}

TEST(Compiler, BranchesGiveWhatTheyAssign) {
  EXPECT_EQ(compiled("def f(c: bool, a: int, b: int) -> int:\n"
                     "  if c:\n    r = a\n    t = a\n  else:\n    r = b\n"
                     "  return r\n"),
            R"(graph(%c.0 : bool, %a.1 : int, %b.2 : int):
  %r.3 : int = prim::If(%c.0)
    block0():
      -> (%a.1)
    block1():
      -> (%b.2)
  return (%r.3)
)");
}

TEST(Compiler, BranchesUnifyTypes) {
  EXPECT_EQ(compiled("def f(c: bool, a: int) -> Optional[int]:\n"
                     "  if c:\n    r = None\n  else:\n    r = a\n"
                     "  return r\n"),
            R"(graph(%c.0 : bool, %a.1 : int):
  %2 : NoneType = prim::Constant[value=None]()
  %r.3 : Optional[int] = prim::If(%c.0)
    block0():
      -> (%2)
    block1():
      -> (%a.1)
  return (%r.3)
)");
}

TEST(Compiler, KnownConditionsChooseTheirBranch) {
  EXPECT_EQ(compiled("def f(a: int, b: str) -> int:\n"
                     "  if False:\n    r = b\n  else:\n    r = a\n"
                     "  return r\n"),
            R"(graph(%a.0 : int, %b.1 : str):
  return (%a.0)
)");
}

TEST(Compiler, RaisingBranchesHaveNoValues) {
  EXPECT_EQ(compiled("def f(c: bool, a: int) -> int:\n"
                     "  if c:\n    r = a\n  else:\n    raise ValueError(\"no\")\n"
                     "  return r\n"),
            R"(graph(%c.0 : bool, %a.1 : int):
  %2 : str = prim::Constant[value='no']()
  %3 : str = prim::Constant[value='builtins.ValueError']()
  %r.5 : int, %$result.7 : int = prim::If(%c.0)
    block0():
      -> (%a.1, %a.1)
    block1():
      prim::RaiseException(%2, %3)
      %4 : int = prim::Uninitialized()
      %6 : int = prim::Uninitialized()
      -> (%4, %6)
  return (%$result.7)
)");
}

TEST(Compiler, EarlyReturnsTakeTheRestIntoTheBranch) {
  EXPECT_EQ(compiled("def f(c: bool, a: int, b: int) -> int:\n"
                     "  if c:\n    return a\n"
                     "  return b\n"),
            R"(graph(%c.0 : bool, %a.1 : int, %b.2 : int):
  %4 : int = prim::Uninitialized()
  %$result.6 : int = prim::If(%c.0)
    block0():
      -> (%a.1)
    block1():
      -> (%b.2)
  return (%$result.6)
)");
}

TEST(Compiler, LoopsCarryWhatTheyAssign) {
  EXPECT_EQ(compiled("def f(n: int, a: str, b: str) -> str:\n"
                     "  for i in range(n):\n    t = a\n    a, b = b, t\n"
                     "  return a\n"),
            R"(graph(%n.0 : int, %a.1 : str, %b.2 : str):
  %3 : bool = prim::Constant[value=True]()
  %a.7 : str, %b.8 : str = prim::Loop(%n.0, %3, %a.1, %b.2)
    block0(%i.4 : int, %a.5 : str, %b.6 : str):
      -> (%3, %b.6, %a.5)
  return (%a.7)
)");
}

TEST(Compiler, WhileLoopsCarryTheirCondition) {
  EXPECT_EQ(compiled("def f(c: bool, d: bool) -> bool:\n"
                     "  while c:\n    c, d = d, False\n"
                     "  return d\n"),
            R"(graph(%c.0 : bool, %d.1 : bool):
  %2 : int = prim::Constant[value=9223372036854775807]()
  %6 : bool = prim::Constant[value=False]()
  %c.7 : bool, %d.8 : bool = prim::Loop(%2, %c.0, %c.0, %d.1)
    block0(%3 : int, %c.4 : bool, %d.5 : bool):
      -> (%d.5, %d.5, %6)
  return (%d.8)
)");
}

TEST(Compiler, BreakBecomesAFlag) {
  EXPECT_EQ(compiled("def f(c: bool, d: bool) -> bool:\n"
                     "  while c:\n    if d:\n      break\n    c = d\n"
                     "  return c\n"),
            R"(graph(%c.0 : bool, %d.1 : bool):
  %2 : int = prim::Constant[value=9223372036854775807]()
  %5 : bool = prim::Constant[value=False]()
  %6 : bool = prim::Constant[value=True]()
  %c.11 : bool = prim::Loop(%2, %c.0, %c.0)
    block0(%3 : int, %c.4 : bool):
      %$left.7 : bool, %$broke.8 : bool, %c.9 : bool = prim::If(%d.1)
        block0():
          -> (%6, %6, %c.4)
        block1():
          -> (%5, %5, %d.1)
      %10 : bool = prim::If(%$broke.8)
        block0():
          -> (%5)
        block1():
          -> (%c.9)
      -> (%10, %c.9)
  return (%c.11)
)");
}

TEST(Compiler, WithEntersAndExits) {
  const auto unit = unit_of(
      "class Guard:\n"
      "  def __enter__(self: __torch__.Guard) -> NoneType:\n    return None\n"
      "  def __exit__(self: __torch__.Guard, a: Any, b: Any, c: Any) -> NoneType:\n"
      "    return None\n"
      "  def __init__(self: __torch__.Guard) -> NoneType:\n    return None\n"
      "def f(x: int) -> int:\n"
      "  _0 = __torch__.Guard.__new__(__torch__.Guard)\n"
      "  _1 = (_0).__init__()\n"
      "  with _0:\n    y = x\n"
      "  return y\n");
  EXPECT_EQ(graph_text(*unit->find_function("__torch__.f")), R"(graph(%x.0 : int):
  %1 : __torch__.Guard = prim::CreateObject()
  %2 : NoneType = prim::CallMethod[name='__init__', function=@__torch__.Guard.__init__](%1)
  %3 : NoneType = prim::Enter(%1)
  prim::Exit(%1)
  return (%x.0)
)");
}

TEST(Compiler, UnpackingAndSwapping) {
  EXPECT_EQ(compiled("def f(x: Tuple[int, List[str]]) -> str:\n"
                     "  n, l, = x\n"
                     "  a, b, = l\n"
                     "  return b\n"),
            R"(graph(%x.0 : Tuple[int, List[str]]):
  %n.1 : int, %l.2 : List[str] = prim::TupleUnpack(%x.0)
  %a.3 : str, %b.4 : str = prim::ListUnpack(%l.2)
  return (%b.4)
)");
}

// Expressions.

TEST(Compiler, AnnotatedEmptyContainersAndNone) {
  EXPECT_EQ(compiled("def f() -> Tuple[List[int], Dict[str, Tensor], Optional[int]]:\n"
                     "  a = annotate(List[int], [])\n"
                     "  b = annotate(Dict[str, Tensor], {})\n"
                     "  return (a, b, annotate(Optional[int], None))\n"),
            R"(graph():
  %3 : Optional[int] = prim::Constant[value=None]()
  %a.0 : List[int] = prim::ListConstruct()
  %b.1 : Dict[str, Tensor] = prim::DictConstruct()
  %4 : Tuple[List[int], Dict[str, Tensor], Optional[int]] = prim::TupleConstruct(%a.0, %b.1, %3)
  return (%4)
)");
}

TEST(Compiler, ConstantsOfEveryKind) {
  const auto unit = unit_of(
      "def f() -> Tuple[float, complex, complex, int, str]:\n"
      "  return (-inf, 1.5-2.j, 0.+3.j, -9223372036854775808, CONSTANTS.c0)\n",
      {Value("caf\xc3\xa9")});
  EXPECT_EQ(graph_text(*unit->find_function("__torch__.f")),
            "graph():\n"
            "  %1 : float = prim::Constant[value=-inf]()\n"
            "  %4 : complex = prim::Constant[value=(1.5-2j)]()\n"
            "  %7 : complex = prim::Constant[value=3j]()\n"
            "  %8 : int = prim::Constant[value=-9223372036854775808]()\n"
            "  %9 : str = prim::Constant[value='caf\xc3\xa9']()\n"
            "  %10 : Tuple[float, complex, complex, int, str] = "
            "prim::TupleConstruct(%1, %4, %7, %8, %9)\n"
            "  return (%10)\n");
}

TEST(Compiler, ItemsOfTuplesAreKnown) {
  EXPECT_EQ(compiled("def f(x: Tuple[int, str]) -> Tuple[str, int]:\n"
                     "  return ((x)[1], ((x)[-2], 3)[0])\n"),
            R"(graph(%x.0 : Tuple[int, str]):
  %1 : int = prim::Constant[value=1]()
  %4 : int = prim::Constant[value=0]()
  %6 : int = prim::Constant[value=3]()
  %2 : str = prim::TupleIndex(%x.0, %1)
  %5 : int = prim::TupleIndex(%x.0, %4)
  %7 : Tuple[int, int] = prim::TupleConstruct(%5, %6)
  %8 : Tuple[str, int] = prim::TupleConstruct(%2, %5)
  return (%8)
)");
}

TEST(Compiler, IsInstanceRefines) {
  EXPECT_EQ(compiled("def f(x: Any) -> int:\n"
                     "  if isinstance(x, int):\n    return x\n"
                     "  return 0\n"),
            R"(graph(%x.0 : Any):
  %6 : int = prim::Constant[value=0]()
  %2 : int = prim::Uninitialized()
  %3 : bool = prim::isinstance[types=Tuple[int]](%x.0)
  %$result.7 : int = prim::If(%3)
    block0():
      %4 : int = prim::unchecked_cast(%x.0)
      -> (%4)
    block1():
      -> (%6)
  return (%$result.7)
)");
}

TEST(Compiler, ToListNeedsItsAnnotation) {
  EXPECT_EQ(compiled("def f(x: Tensor) -> List[List[int]]:\n"
                     "  return annotate(List[List[int]], x.tolist())\n"),
            R"(graph(%x.0 : Tensor):
  %1 : List[List[int]] = prim::tolist(%x.0)
  return (%1)
)");
  EXPECT_EQ(error_of("def f(x: Tensor) -> List[int]:\n  y = x.tolist()\n  return y\n"),
            "code/__torch__.py:2: tolist() needs an annotation that says how deep the list is");
}

// Calls.

TEST(Compiler, FunctionsAreCalledWithTheirDefaults) {
  EXPECT_EQ(compiled("def g(x: Tensor, n: int=3, *, s: Optional[str]=None) -> Tensor:\n"
                     "  return x\n"
                     "def f(x: Tensor) -> Tensor:\n"
                     "  _0 = __torch__.g\n"
                     "  return _0(x, s=\"a\", )\n"),
            R"(graph(%x.0 : Tensor):
  %1 : str = prim::Constant[value='a']()
  %2 : int = prim::Constant[value=3]()
  %3 : Tensor = prim::CallFunction[function=@__torch__.g](%x.0, %2, %1)
  return (%3)
)");
}

TEST(Compiler, ForkTakesAFunctionWithoutParameters) {
  EXPECT_EQ(compiled("def f(x: Tensor) -> Future[Tensor]:\n"
                     "  def __forked_function():\n    return torch.add(x, x)\n"
                     "  _0 = fork(__forked_function)\n"
                     "  return _0\n"),
            R"(graph(%x.0 : Tensor):
  %1 : int = prim::Constant[value=1]()
  %3 : Future[Tensor] = prim::fork()
    block0():
      %2 : Tensor = aten::add(%x.0, %x.0, %1)
      -> (%2)
  return (%3)
)");
}

TEST(Compiler, UnknownOperatorsStayInTheGraph) {
  EXPECT_EQ(compiled("def f(x: Tensor) -> Tuple[Tensor, int]:\n"
                     "  a, b, = ops.my.unknown(x, 1, scale=2.)\n"
                     "  c = torch.add(a, b)\n"
                     "  return (c, b)\n"),
            R"(graph(%x.0 : Tensor):
  %1 : int = prim::Constant[value=1]()
  %2 : float = prim::Constant[value=2.0]()
  %3 : Unknown = prim::Unsupported[name='my::unknown', reason='Torchlet does not have it', keywords='scale'](%x.0, %1, %2)
  %a.4 : Unknown, %b.5 : Unknown = prim::TupleUnpack(%3)
  %c.6 : Unknown = aten::add(%a.4, %b.5, %1)
  %7 : Tuple[Unknown, Unknown] = prim::TupleConstruct(%c.6, %b.5)
  return (%7)
)");
  EXPECT_NE(compiled("def f(x: Tensor) -> Tensor:\n  return torch.add(x, \"a\")\n")
                .find("[name='aten::add', reason='no overload takes (Tensor, str)']"),
            std::string::npos);
}

TEST(Compiler, OldFilesCallWhatAnOperatorWas) {
  const auto calls_in = [](const std::string& call, int version) {
    const auto unit =
        unit_of("def f(x: Tensor, y: Tensor) -> Tensor:\n  return " + call + "\n", {}, version);
    const std::string text = graph_text(*unit->find_function("__torch__.f"));
    const size_t at = text.find("@__torch__.upgraders.");
    return at == std::string::npos ? "" : text.substr(at + 21, text.find(']', at) - at - 21);
  };
  EXPECT_EQ(calls_in("torch.div(x, y)", 3), "div_Tensor");
  EXPECT_EQ(calls_in("torch.div(x, y)", 4), "");
  EXPECT_EQ(calls_in("torch.div(x, 2)", 1), "div_Scalar");
  EXPECT_EQ(calls_in("torch.div_(x, y)", 3), "div__Tensor");
  EXPECT_EQ(calls_in("torch.div(x, y, out=x)", 3), "div_out");
  EXPECT_EQ(calls_in("torch.full([2], 3)", 4), "full");
  EXPECT_EQ(calls_in("torch.full([2], 3)", 5), "");
  EXPECT_EQ(calls_in("torch.linspace(0, 1, None)", 7), "linspace");
  EXPECT_EQ(calls_in("torch.linspace(0, 1, 10)", 8), "");
  EXPECT_EQ(calls_in("torch.gelu(x)", 9), "gelu");
  EXPECT_EQ(calls_in("torch.gelu(x)", 10), "");
}

TEST(Compiler, NumbersCombineWithTensorsByBuiltins) {
  EXPECT_EQ(compiled("def f(x: Tensor) -> List[int]:\n"
                     "  y = torch.mul(2, x)\n"
                     "  return ops.prim.shape(y)\n"),
            R"(graph(%x.0 : Tensor):
  %1 : int = prim::Constant[value=2]()
  %y.2 : Tensor = prim::CallFunction[function=@__torch__.builtins.mul](%1, %x.0)
  %3 : List[int] = prim::CallFunction[function=@__torch__.builtins.shape](%y.2)
  return (%3)
)");
}

// Classes.

constexpr const char* kModules = R"(class Net(Module):
  __parameters__ = ["weight", ]
  __buffers__ = ["mean", ]
  weight : Tensor
  mean : Tensor
  training : bool
  __annotations__["0"] = __torch__.Inner
  iface : __torch__.Iface
  scale : Final[Tuple[float, int]] = (0.5, 2)
  def forward(self: __torch__.Net,
    x: Tensor) -> Tensor:
    _0 = getattr(self, "0")
    y = (_0).forward(x, )
    iface = self.iface
    z = (iface).forward(y, )
    self.mean = z
    return torch.add(z, self.weight)
  def constant(self: __torch__.Net) -> Tuple[float, int]:
    return self.scale
class Inner(Module):
  __parameters__ = []
  __buffers__ = []
  def forward(self: __torch__.Inner,
    input: Tensor,
    n: int=7) -> Tensor:
    return input
class Iface(ModuleInterface):
  def forward(self, x: Tensor) -> Tensor:
    pass
class Point(NamedTuple):
  x : int
  label : Optional[str]
class Color(Enum):
  RED = 1
  BLUE = 2
def point(n: int) -> Tuple[int, Optional[str]]:
  p = __torch__.Point(n, None)
  return (p.x, p.label)
def color(c: __torch__.Color) -> Tuple[__torch__.Color, str, int]:
  return (__torch__.Color.BLUE, (c).name, (c).value)
)";

TEST(Compiler, Modules) {
  const auto unit = unit_of(kModules);
  const TypePtr type = unit->find_type("__torch__.Net");
  const ClassType& net = *type->as_class();
  EXPECT_TRUE(net.is_module());
  std::string attributes;
  for (const ClassType::Attribute& a : net.attributes()) {
    attributes +=
        a.name + ":" + a.type->str() + ":" + std::to_string(static_cast<int>(a.kind)) + " ";
  }
  EXPECT_EQ(attributes,
            "weight:Tensor:1 mean:Tensor:2 training:bool:0 0:__torch__.Inner:0 "
            "iface:__torch__.Iface:0 ");
  EXPECT_EQ(graph_text(*net.find_method("forward")),
            R"(graph(%self.0 : __torch__.Net, %x.1 : Tensor):
  %3 : int = prim::Constant[value=7]()
  %8 : int = prim::Constant[value=1]()
  %2 : __torch__.Inner = prim::GetAttr[name='0'](%self.0)
  %y.4 : Tensor = prim::CallMethod[name='forward', function=@__torch__.Inner.forward](%2, %x.1, %3)
  %iface.5 : __torch__.Iface = prim::GetAttr[name='iface'](%self.0)
  %z.6 : Tensor = prim::CallMethod[name='forward'](%iface.5, %y.4)
  prim::SetAttr[name='mean'](%self.0, %z.6)
  %7 : Tensor = prim::GetAttr[name='weight'](%self.0)
  %9 : Tensor = aten::add(%z.6, %7, %8)
  return (%9)
)");
  EXPECT_EQ(graph_text(*net.find_method("constant")), R"(graph(%self.0 : __torch__.Net):
  %1 : Tuple[float, int] = prim::Constant[value=(0.5, 2)]()
  return (%1)
)");
  EXPECT_EQ(net.find_method("forward")->schema().str(),
            "forward(__torch__.Net self, Tensor x) -> Tensor");
  EXPECT_EQ(unit->find_type("__torch__.Inner")->as_class()->find_method("forward")->schema().str(),
            "forward(__torch__.Inner self, Tensor input, int n=7) -> Tensor");
  EXPECT_EQ(unit->find_type("__torch__.Nothing"), nullptr);
  EXPECT_EQ(unit->find_type("__torch__.other.Nothing"), nullptr);
}

TEST(Compiler, NamedTuplesAndEnums) {
  const auto unit = unit_of(kModules);
  EXPECT_EQ(graph_text(*unit->find_function("__torch__.point")), R"(graph(%n.0 : int):
  %1 : NoneType = prim::Constant[value=None]()
  %p.2 : __torch__.Point = prim::TupleConstruct(%n.0, %1)
  %5 : Tuple[int, NoneType] = prim::TupleConstruct(%n.0, %1)
  return (%5)
)");
  EXPECT_EQ(graph_text(*unit->find_function("__torch__.color")),
            R"(graph(%c.0 : __torch__.Color):
  %1 : __torch__.Color = prim::Constant[value=__torch__.Color.BLUE]()
  %2 : str = prim::EnumName(%c.0)
  %3 : int = prim::EnumValue(%c.0)
  %4 : Tuple[__torch__.Color, str, int] = prim::TupleConstruct(%1, %2, %3)
  return (%4)
)");
}

TEST(Compiler, ForeignClassesAreTakenByName) {
  const auto unit = unit_of(
      "def f(c: __torch__.torch.classes.no.Such) -> int:\n"
      "  return (c).run(1)\n");
  EXPECT_EQ(graph_text(*unit->find_function("__torch__.f")),
            R"(graph(%c.0 : __torch__.torch.classes.no.Such):
  %1 : int = prim::Constant[value=1]()
  %2 : Unknown = prim::CallMethod[name='run'](%c.0, %1)
  return (%2)
)");
}

TEST(Compiler, HooksAreListed) {
  const auto unit = unit_of(
      "class M(Module):\n"
      "  __parameters__ = []\n"
      "  __buffers__ = []\n"
      "  __forward_pre_hooks__ = [\"before\", ]\n"
      "  __forward_hooks__ = [\"after\", ]\n"
      "  def forward(self: __torch__.M, x: Tensor) -> Tensor:\n    return x\n"
      "  def after(self: __torch__.M, i: Tuple[Tensor], o: Tensor) -> Tensor:\n    return o\n"
      "  def before(self: __torch__.M, i: Tuple[Tensor]) -> Tuple[Tensor]:\n    return i\n");
  const TypePtr type = unit->find_type("__torch__.M");
  EXPECT_EQ(type->as_class()->forward_pre_hooks, std::vector<std::string>{"before"});
  EXPECT_EQ(type->as_class()->forward_hooks, std::vector<std::string>{"after"});
}

// Errors.

TEST(Compiler, ErrorsNameThePlace) {
  const std::string head = "def f(x: Tensor, n: int) -> Tensor:\n";
  const std::string at = "code/__torch__.py:2: ";
  EXPECT_EQ(error_of(head + "  y = x\n"),
            "code/__torch__.py:1: 'f' does not return a value along all paths");
  EXPECT_EQ(error_of(head + "  return y\n"), at + "'y' is not defined");
  EXPECT_EQ(error_of(head + "  return n\n"), at + "a int is returned by a function of type Tensor");
  EXPECT_EQ(error_of(head + "  return CONSTANTS.c99\n"),
            at + "there is no CONSTANTS.c99; the file has 0 constants");
  EXPECT_EQ(error_of(head + "  break\n"), at + "break or continue outside a loop");
  EXPECT_EQ(error_of(head + "  return __torch__.g(x)\n"),
            at + "a function, class or namespace is used as a value");
  EXPECT_EQ(error_of("def f(c: bool, x: int) -> int:\n  if c:\n    y = x\n  return y\n"),
            "code/__torch__.py:4: 'y' is not defined in the false branch");
  EXPECT_EQ(error_of("def f(x: __torch__.Nope) -> int:\n  return 1\n"),
            "code/__torch__.py:1: there is no type '__torch__.Nope'");
}

TEST(Compiler, BodiesAreCompiledAgain) {
  const auto unit = unit_of(
      "def g(x: Tensor):\n"
      "  return torch.add(x, x)\n"
      "class M(Module):\n"
      "  __parameters__ = []\n"
      "  def first(self: __torch__.M, x: Tensor) -> Tensor:\n"
      "    if bool(x):\n"
      "      y = __torch__.g(x)\n"
      "    else:\n"
      "      y = torch.neg(\n"
      "        x)\n"
      "    return y\n"
      "\n"
      "  def second(self: __torch__.M) -> int: return 1\n");
  const TypePtr type = unit->find_type("__torch__.M");
  std::vector<Function*> functions = {unit->find_function("__torch__.g")};
  for (const char* name : {"first", "second"}) {
    functions.push_back(type->as_class()->find_method(name));
  }
  for (Function* function : functions) {
    std::weak_ptr<const Graph> first;
    std::string text;
    {
      const std::shared_ptr<const Graph> body = function->body();
      EXPECT_EQ(function->body(), body);
      first = body;
      text = body->str();
    }
    EXPECT_TRUE(first.expired());
    EXPECT_EQ(function->body()->str(), text);
    EXPECT_EQ(&function->graph(), function->body().get());
    EXPECT_EQ(function->graph().str(), text);  // with the same places
  }
}

TEST(Compiler, ErrorsInClasses) {
  const auto error_of_method = [](const std::string& text) -> std::string {
    const auto unit = unit_of(text);
    try {
      const TypePtr type = unit->find_type("__torch__.M");
      type->as_class()->find_method("forward")->graph();
    } catch (const Error& error) {
      return error.message();
    }
    return "no error";
  };
  const std::string head =
      "class M(Module):\n"
      "  __parameters__ = []\n";
  const std::string forward = "  def forward(self: __torch__.M, x: Tensor) -> Tensor:\n";
  EXPECT_EQ(error_of_method(head + forward + "    return self.nope\n"),
            "code/__torch__.py:4: '__torch__.M' has no attribute or method 'nope'");
  EXPECT_EQ(error_of_method(head + forward + "    self.nope = x\n    return x\n"),
            "code/__torch__.py:4: __torch__.M has no attribute 'nope'");
  EXPECT_EQ(error_of_method(head + "  l : __torch__.M\n" + forward + "    return x\n"),
            "code/__torch__.py:3: there is no type '__torch__.M'");
  EXPECT_EQ(error_of_method("class M(Other):\n" + forward + "    return x\n"),
            "code/__torch__.py:1: TorchScript classes cannot derive from 'Other'");
}

}  // namespace
}  // namespace torchlet::script
