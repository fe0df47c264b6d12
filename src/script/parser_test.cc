#include "script/parser.h"

#include <gtest/gtest.h>
#include <torchlet/error.h>

#include <cmath>

namespace torchlet::script {
namespace {

constexpr const char* kOperatorNames[] = {
    "+", "-", "*",  "**", "/",  "//", "%",  "@",      "&",  "|",      "^", "<<", ">>",
    "<", ">", "<=", ">=", "==", "!=", "in", "not in", "is", "is not", "-", "~"};

// An unambiguous rendering: every operation in parentheses.
std::string show(const ExprPtr& e);

std::string join(const std::vector<ExprPtr>& items, size_t from = 0) {
  std::string out;
  for (size_t i = from; i < items.size(); ++i) out += (i > from ? ", " : "") + show(items[i]);
  return out;
}

std::string show(const ExprPtr& e) {
  if (!e) return "_";
  const auto child = [&](size_t i) { return show(e->children[i]); };
  const std::string op = kOperatorNames[static_cast<int>(e->op)];
  switch (e->kind) {
    case ExprKind::kInt:
      return std::to_string(e->int_value);
    case ExprKind::kFloat:
    case ExprKind::kImaginary: {
      char text[40];
      std::snprintf(text, sizeof(text), "%.17g", e->float_value);
      return std::string(text) + (e->kind == ExprKind::kImaginary ? "j" : "f");
    }
    case ExprKind::kString:
      return "'" + e->text + "'";
    case ExprKind::kTrue:
      return "True";
    case ExprKind::kFalse:
      return "False";
    case ExprKind::kNone:
      return "None";
    case ExprKind::kEllipsis:
      return "...";
    case ExprKind::kName:
      return e->text;
    case ExprKind::kAttribute:
      return child(0) + "." + e->text;
    case ExprKind::kCall: {
      std::string out = child(0) + "(" + join(e->children, 1);
      for (const Keyword& k : e->keywords) out += "; " + k.name + "=" + show(k.value);
      return out + ")";
    }
    case ExprKind::kSubscript:
      return child(0) + "[" + join(e->children, 1) + "]";
    case ExprKind::kSlice:
      return child(0) + ":" + child(1) + ":" + child(2);
    case ExprKind::kTuple:
      return "tuple(" + join(e->children) + ")";
    case ExprKind::kList:
      return "[" + join(e->children) + "]";
    case ExprKind::kDict:
      return "{" + join(e->children) + "}";
    case ExprKind::kListComp:
      return "[" + child(0) + " for " + child(1) + " in " + child(2) + "]";
    case ExprKind::kDictComp:
      return "{" + child(0) + ": " + child(1) + " for " + child(2) + " in " + child(3) + "}";
    case ExprKind::kTernary:
      return "(" + child(0) + " if " + child(1) + " else " + child(2) + ")";
    case ExprKind::kUnary:
      return "(" + op + child(0) + ")";
    case ExprKind::kBinary:
      return "(" + child(0) + " " + op + " " + child(1) + ")";
    case ExprKind::kAnd:
      return "(" + child(0) + " and " + child(1) + ")";
    case ExprKind::kOr:
      return "(" + child(0) + " or " + child(1) + ")";
    case ExprKind::kNot:
      return "(not " + child(0) + ")";
    case ExprKind::kStarred:
      return "*" + child(0);
  }
  return "?";
}

std::string parsed(const std::string& text) {
  const Source source{"t.py", text, 1, nullptr};
  return show(parse_expression(source));
}

std::string error_of(const std::string& text) {
  try {
    const Source source{"t.py", text, 1, nullptr};
    parse_unit(source);
  } catch (const Error& error) {
    return error.message();
  }
  return "no error";
}

SourceUnit unit(const std::string& text) {
  const Source source{"t.py", text, 1, nullptr};
  return parse_unit(source);
}

Body body_of(const std::string& statements) {
  SourceUnit u = unit("def f():\n" + statements);
  return std::move(u.functions.at(0).body);
}

TEST(Parser, Precedence) {
  EXPECT_EQ(parsed("a + b * c ** -d"), "(a + (b * (c ** (-d))))");
  EXPECT_EQ(parsed("-a ** b"), "(-(a ** b))");
  EXPECT_EQ(parsed("a - b - c"), "((a - b) - c)");
  EXPECT_EQ(parsed("not a in b and c or d"), "(((not (a in b)) and c) or d)");
  EXPECT_EQ(parsed("a not in b"), "(a not in b)");
  EXPECT_EQ(parsed("a is not None"), "(a is not None)");
  EXPECT_EQ(parsed("a | b ^ c & d << e"), "(a | (b ^ (c & (d << e))))");
  EXPECT_EQ(parsed("a if b else c if d else e"), "(a if b else (c if d else e))");
  EXPECT_EQ(parsed("a // b % c @ d"), "(((a // b) % c) @ d)");
}

TEST(Parser, Literals) {
  EXPECT_EQ(parsed("9223372036854775807"), "9223372036854775807");
  EXPECT_EQ(parsed("-9223372036854775808"), "-9223372036854775808");
  EXPECT_EQ(parsed("0x10"), "16");
  EXPECT_EQ(parsed("0.10000000000000001"), "0.10000000000000001f");
  EXPECT_EQ(parsed("6."), "6f");
  EXPECT_EQ(parsed("-9.9999999999999995e-07"), "-9.9999999999999995e-07f");
  EXPECT_EQ(parsed("1e400"), "inff");
  EXPECT_EQ(parsed("1.5-2.j"), "(1.5f - 2j)");
  EXPECT_EQ(parsed("'a' \"b\""), "'ab'");
  EXPECT_EQ(parsed("-1"), "-1");
  EXPECT_TRUE(std::signbit(parse_expression(Source{"t.py", "-0.", 1, nullptr})->float_value));
}

TEST(Parser, DisplaysAndComprehensions) {
  EXPECT_EQ(parsed("()"), "tuple()");
  EXPECT_EQ(parsed("(a,)"), "tuple(a)");
  EXPECT_EQ(parsed("(a)"), "a");
  EXPECT_EQ(parsed("[a, *b, ]"), "[a, *b]");
  EXPECT_EQ(parsed("{\"a\": 1, b: c}"), "{'a', 1, b, c}");
  EXPECT_EQ(parsed("[f(x) for x in y]"), "[f(x) for x in y]");
  EXPECT_EQ(parsed("{k: v for k, v in d}"), "{k: v for tuple(k, v) in d}");
}

TEST(Parser, CallsAttributesSubscripts) {
  EXPECT_EQ(parsed("(self).work(x, i, )"), "self.work(x, i)");
  EXPECT_EQ(parsed("torch.add(a, b, alpha=1, *c)"), "torch.add(a, b, *c; alpha=1)");
  EXPECT_EQ(parsed("((t)[1])[0]"), "t[1][0]");
  EXPECT_EQ(parsed("x[0, 1:, None, ..., ::2, :n:-1]"), "x[0, 1:_:_, None, ..., _:_:2, _:n:-1]");
  EXPECT_EQ(parsed("Dict[str, List[Optional[Tensor]]]"), "Dict[str, List[Optional[Tensor]]]");
  EXPECT_EQ(parsed("Tuple[()]"), "Tuple[tuple()]");
}

TEST(Parser, SpansCoverTheText) {
  const std::string text = "foo(a)[ 1 ] . b";
  const Source source{"t.py", text, 1, nullptr};
  const ExprPtr e = parse_expression(source);
  EXPECT_EQ(text_of(source, e->span), text);
  EXPECT_EQ(text_of(source, e->children[0]->span), "foo(a)[ 1 ]");
  EXPECT_EQ(text_of(source, e->children[0]->children[0]->span), "foo(a)");
}

TEST(Parser, Assignments) {
  const Body body = body_of(
      "  a, b, = c\n"
      "  x : List[int] = []\n"
      "  self.v = a = 1, 2\n"
      "  x[0] += 3\n"
      "  a, *b = c\n");
  ASSERT_EQ(body.size(), 5u);
  EXPECT_EQ(show(body[0]->targets[0]), "tuple(a, b)");
  EXPECT_EQ(show(body[1]->type), "List[int]");
  ASSERT_EQ(body[2]->targets.size(), 2u);
  EXPECT_EQ(show(body[2]->targets[0]), "self.v");
  EXPECT_EQ(show(body[2]->value), "tuple(1, 2)");
  EXPECT_EQ(body[3]->kind, StmtKind::kAugAssign);
  EXPECT_EQ(body[3]->op, ExprOp::kAdd);
  EXPECT_EQ(show(body[4]->targets[0]), "tuple(a, *b)");
}

TEST(Parser, Statements) {
  const Body body = body_of(
      "  if a:\n    pass\n  elif b:\n    return\n  else:\n    raise E(\"m\")\n"
      "  while c:\n    break\n"
      "  for i, (j, k) in zip(a, b):\n    continue\n"
      "  with p as q, r:\n    del d[0], e\n"
      "  assert a, \"no\"\n"
      "  def g():\n    return h(a)\n");
  ASSERT_EQ(body.size(), 6u);
  EXPECT_EQ(body[0]->orelse.at(0)->kind, StmtKind::kIf);
  EXPECT_EQ(body[0]->orelse[0]->orelse.at(0)->kind, StmtKind::kRaise);
  EXPECT_EQ(body[1]->kind, StmtKind::kWhile);
  EXPECT_EQ(show(body[2]->targets[0]), "tuple(i, tuple(j, k))");
  ASSERT_EQ(body[3]->items.size(), 2u);
  EXPECT_EQ(show(body[3]->items[0].target), "q");
  EXPECT_EQ(body[3]->body.at(0)->targets.size(), 2u);
  EXPECT_EQ(show(body[4]->message), "'no'");
  EXPECT_EQ(body[5]->function->name, "g");
}

TEST(Parser, Classes) {
  const SourceUnit u = unit(
      "op_version_set = 1\n"
      "import __torch__.torch.nn\n"
      "class M(Module):\n"
      "  __parameters__ = [\"weight\", ]\n"
      "  __annotations__ = []\n"
      "  __annotations__[\"0\"] = __torch__.A\n"
      "  weight : Tensor\n"
      "  k : Final[int] = 3\n"
      "  def forward(self: __torch__.M,\n"
      "    x: Tensor,\n"
      "    *, n: int=3) -> Tensor:\n"
      "    return x\n"
      "class Empty(Interface):\n"
      "class Plain:\n"
      "  pass\n"
      "def f(x: Tensor) -> Tensor:\n"
      "  return x\n");
  ASSERT_EQ(u.classes.size(), 3u);
  const ClassDef& m = u.classes[0];
  EXPECT_EQ(m.base, "Module");
  ASSERT_EQ(m.fields.size(), 5u);
  EXPECT_EQ(show(m.fields[2]->targets[0]), "__annotations__['0']");
  EXPECT_EQ(show(m.fields[3]->type), "Tensor");
  EXPECT_FALSE(m.fields[3]->value);
  EXPECT_EQ(show(m.fields[4]->value), "3");
  const FunctionDef& forward = m.methods.at(0);
  ASSERT_EQ(forward.parameters.size(), 3u);
  EXPECT_FALSE(forward.parameters[1].keyword_only);
  EXPECT_TRUE(forward.parameters[2].keyword_only);
  EXPECT_EQ(show(forward.parameters[2].default_value), "3");
  EXPECT_EQ(show(forward.return_type), "Tensor");
  EXPECT_EQ(u.classes[1].base, "Interface");
  EXPECT_EQ(u.functions.at(0).name, "f");
}

TEST(Parser, ErrorsNameTheLine) {
  EXPECT_EQ(error_of("x = 1\n"), "t.py:1: expected a class or a function but found a name");
  EXPECT_EQ(error_of("def f():\n  a = 99999999999999999999\n"),
            "t.py:2: an integer does not fit in 64 bits");
  EXPECT_EQ(error_of("def f():\n  a = 9223372036854775808\n"),
            "t.py:2: an integer does not fit in 64 bits");
  EXPECT_EQ(error_of("def f():\n  return (a\n  b)\n"), "t.py:3: expected ')' but found a name");
  EXPECT_EQ(error_of("def f()\n  pass\n"), "t.py:1: expected ':' but found the end of the line");
}

TEST(Parser, DeepNestingIsAnErrorAndNoCrash) {
  const auto repeated = [](const std::string& s, int n) {
    std::string out;
    for (int i = 0; i < n; ++i) out += s;
    return out;
  };
  const std::string too_deep = "t.py:2: expressions are nested over 200 deep";
  const std::string head = "def f():\n  return ";
  EXPECT_EQ(error_of(head + repeated("(", 50000) + "a" + repeated(")", 50000)), too_deep);
  EXPECT_EQ(error_of(head + repeated("not ", 100000) + "a\n"), too_deep);
  EXPECT_EQ(error_of(head + repeated("-", 100000) + "a\n"), too_deep);
  EXPECT_EQ(error_of(head + repeated("a**", 100000) + "a\n"), too_deep);
  EXPECT_EQ(error_of(head + repeated("List[", 20000) + "int" + repeated("]", 20000)), too_deep);
  EXPECT_EQ(error_of(head + "a" + repeated(".b", 100000) + "\n"), too_deep);
  EXPECT_EQ(error_of(head + "a" + repeated(" + b", 100000) + "\n"), too_deep);
  EXPECT_EQ(error_of(head + repeated("f(k=", 50000) + "a" + repeated(")", 50000)), too_deep);

  std::string ifs = "def f():\n";
  std::string elifs = "def f():\n  if a:\n    pass\n";
  for (int depth = 1; depth <= 900; ++depth) {
    ifs += std::string(static_cast<size_t>(2 * depth), ' ') + "if a:\n";
    elifs += "  elif a:\n    pass\n";
  }
  EXPECT_EQ(error_of(ifs + std::string(1802, ' ') + "pass\n"),
            "t.py:401: blocks are nested over 400 deep");
  EXPECT_NE(error_of(elifs), "no error");
}

}  // namespace
}  // namespace torchlet::script
