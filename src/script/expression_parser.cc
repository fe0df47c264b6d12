#include "script/expression_parser.h"

#include <charconv>
#include <limits>

#include "base/read_float.h"
#include "base/selection.h"

namespace torchlet::script {

using K = TokenKind;

struct BinaryOperator {
  TokenKind token;
  ExprOp op;
  int precedence;
};

// Comparisons bind loosest (1), power is handled apart.
namespace {

constexpr BinaryOperator kBinaryOperators[] = {
    {K::kLess, ExprOp::kLess, 1},
    {K::kGreater, ExprOp::kGreater, 1},
    {K::kLessEqual, ExprOp::kLessEqual, 1},
    {K::kGreaterEqual, ExprOp::kGreaterEqual, 1},
    {K::kEqual, ExprOp::kEqual, 1},
    {K::kNotEqual, ExprOp::kNotEqual, 1},
    {K::kIn, ExprOp::kIn, 1},
    {K::kNot, ExprOp::kNotIn, 1},
    {K::kIs, ExprOp::kIs, 1},
    {K::kPipe, ExprOp::kBitOr, 2},
    {K::kCaret, ExprOp::kBitXor, 3},
    {K::kAmpersand, ExprOp::kBitAnd, 4},
    {K::kShiftLeft, ExprOp::kShiftLeft, 5},
    {K::kShiftRight, ExprOp::kShiftRight, 5},
    {K::kPlus, ExprOp::kAdd, 6},
    {K::kMinus, ExprOp::kSub, 6},
    {K::kStar, ExprOp::kMul, 7},
    {K::kSlash, ExprOp::kDiv, 7},
    {K::kSlashSlash, ExprOp::kFloorDiv, 7},
    {K::kPercent, ExprOp::kMod, 7},
    {K::kAt, ExprOp::kMatMul, 7},
};

}  // namespace

// Tokens.

Token ExpressionParser::take() {
  const Token token = current();
  if (next_ + 1 < tokens_.size()) ++next_;
  return token;
}

bool ExpressionParser::accept(TokenKind kind) {
  if (!at(kind)) return false;
  take();
  return true;
}

Token ExpressionParser::expect(TokenKind kind) {
  if (!at(kind)) unexpected(describe(kind));
  return take();
}

void ExpressionParser::unexpected(const std::string& wanted) const {
  fail(current().span, "expected " + wanted + " but found " + describe(current().kind));
}

std::string ExpressionParser::expect_name() {
  return std::string(text_of(source_, expect(K::kName).span));
}

void ExpressionParser::check_members(size_t count) const {
  if (count > kMaxMembers) {
    fail(current().span, "there are over " + std::to_string(kMaxMembers) + " of these");
  }
}

ExpressionParser::Nested::Nested(int& depth, int limit, const ExpressionParser& parser,
                                 const char* what)
    : depth_(depth) {
  if (++depth_ > limit) {
    parser.fail(parser.current().span,
                std::string(what) + " are nested over " + std::to_string(limit) + " deep");
  }
}

// Nodes.

ExprPtr ExpressionParser::node(ExprKind kind, Span span) const {
  auto e = std::make_unique<Expr>();
  e->kind = kind;
  e->span = span;
  return e;
}

void ExpressionParser::adopt(Expr& parent, ExprPtr child) const {
  if (child) {
    if (child->depth >= kMaxExprDepth) {
      fail(child->span, "expressions are nested over " + std::to_string(kMaxExprDepth) + " deep");
    }
    parent.depth = std::max(parent.depth, static_cast<uint16_t>(child->depth + 1));
    parent.span.end = std::max(parent.span.end, child->span.end);
  }
  parent.children.push_back(std::move(child));
}

// Expressions.

ExprPtr ExpressionParser::expression() {
  const Nested nested(depth_, kMaxExprDepth, *this, "expressions");
  if constexpr (!selection::kHasCompiler) return postfix();  // of types
  if (at(K::kStar)) {
    const Span span = take().span;
    return node(ExprKind::kStarred, span, binary(2));
  }
  ExprPtr value = disjunction();
  if (!at(K::kIf)) return value;
  take();
  ExprPtr condition = disjunction();
  expect(K::kElse);
  const Span span = value->span;
  return node(ExprKind::kTernary, span, std::move(value), std::move(condition), expression());
}

ExprPtr ExpressionParser::disjunction() {
  ExprPtr left = conjunction();
  while (accept(K::kOr)) {
    const Span span = left->span;
    left = node(ExprKind::kOr, span, std::move(left), conjunction());
  }
  return left;
}

ExprPtr ExpressionParser::conjunction() {
  ExprPtr left = negation();
  while (accept(K::kAnd)) {
    const Span span = left->span;
    left = node(ExprKind::kAnd, span, std::move(left), negation());
  }
  return left;
}

ExprPtr ExpressionParser::negation() {
  if (!at(K::kNot)) return binary(1);
  const Nested nested(depth_, kMaxExprDepth, *this, "expressions");
  const Span span = take().span;
  return node(ExprKind::kNot, span, negation());
}

const BinaryOperator* ExpressionParser::current_binary() const {
  const BinaryOperator* found =
      std::ranges::find(kBinaryOperators, current().kind, &BinaryOperator::token);
  if (found == std::end(kBinaryOperators)) return nullptr;
  if (found->token == K::kNot && lookahead().kind != K::kIn) return nullptr;
  return found;
}

// Left-associative operators of `least` precedence and tighter.
ExprPtr ExpressionParser::binary(int least) {
  ExprPtr left = unary();
  for (const BinaryOperator* found = current_binary(); found && found->precedence >= least;
       found = current_binary()) {
    ExprOp op = found->op;
    take();
    if (op == ExprOp::kNotIn) take();
    if (op == ExprOp::kIs && accept(K::kNot)) op = ExprOp::kIsNot;
    const Span span = left->span;
    left = node(ExprKind::kBinary, span, std::move(left), binary(found->precedence + 1));
    left->op = op;
  }
  return left;
}

ExprPtr ExpressionParser::unary() {
  if (at(K::kMinus) || at(K::kTilde) || at(K::kPlus)) {
    const Nested nested(depth_, kMaxExprDepth, *this, "expressions");
    const Token sign = take();
    if (sign.kind == K::kMinus && at(K::kInt) && lookahead().kind != K::kStarStar) {
      return integer(sign.span, take().span, true);
    }
    ExprPtr operand = unary();
    if (sign.kind == K::kPlus) return operand;
    if (sign.kind == K::kMinus &&
        (operand->kind == ExprKind::kFloat || operand->kind == ExprKind::kImaginary)) {
      operand->float_value = -operand->float_value;
      operand->span.begin = sign.span.begin;
      return operand;
    }
    ExprPtr e = node(ExprKind::kUnary, sign.span, std::move(operand));
    e->op = sign.kind == K::kMinus ? ExprOp::kNegate : ExprOp::kInvert;
    return e;
  }
  ExprPtr base = postfix();
  if (!at(K::kStarStar)) return base;
  const Nested nested(depth_, kMaxExprDepth, *this, "expressions");
  take();
  const Span span = base->span;
  ExprPtr e = node(ExprKind::kBinary, span, std::move(base), unary());
  e->op = ExprOp::kPow;
  return e;
}

ExprPtr ExpressionParser::postfix() {
  ExprPtr e = atom();
  while (true) {
    if (accept(K::kDot)) {
      const Span span = e->span;
      const Token name = expect(K::kName);
      e = node(ExprKind::kAttribute, span, std::move(e));
      e->text = text_of(source_, name.span);
      e->span.end = name.span.end;
    } else if (selection::kHasCompiler && at(K::kLeftParen)) {
      e = call(std::move(e));
    } else if (at(K::kLeftBracket)) {
      e = subscript(std::move(e));
    } else {
      return e;
    }
  }
}

ExprPtr ExpressionParser::call(ExprPtr callee) {
  const Span span = callee->span;
  ExprPtr e = node(ExprKind::kCall, span, std::move(callee));
  expect(K::kLeftParen);
  while (!at(K::kRightParen)) {
    if (at(K::kName) && lookahead().kind == K::kAssign) {
      std::string name = expect_name();
      take();
      ExprPtr value = expression();
      e->depth = std::max(e->depth, static_cast<uint16_t>(value->depth + 1));
      e->keywords.push_back({std::move(name), std::move(value)});
      check_members(e->keywords.size());
    } else {
      adopt(*e, expression());
    }
    if (!accept(K::kComma)) break;
  }
  e->span.end = expect(K::kRightParen).span.end;
  return e;
}

ExprPtr ExpressionParser::subscript(ExprPtr container) {
  const Span span = container->span;
  ExprPtr e = node(ExprKind::kSubscript, span, std::move(container));
  expect(K::kLeftBracket);
  do {
    if (at(K::kRightBracket) && e->children.size() > 1) break;
    adopt(*e, subscript_item());
  } while (accept(K::kComma));
  e->span.end = expect(K::kRightBracket).span.end;
  return e;
}

ExprPtr ExpressionParser::subscript_item() {
  const Span span = current().span;
  ExprPtr start = at(K::kColon) ? nullptr : expression();
  if (!accept(K::kColon)) return start;
  const auto absent = [&] { return at(K::kColon) || at(K::kComma) || at(K::kRightBracket); };
  ExprPtr stop = absent() ? nullptr : expression();
  ExprPtr step;
  if (accept(K::kColon) && !absent()) step = expression();
  return node(ExprKind::kSlice, span, std::move(start), std::move(stop), std::move(step));
}

ExprPtr ExpressionParser::atom() {
  const Token token = current();
  switch (token.kind) {
    case K::kNone:
      return node(ExprKind::kNone, take().span);
    case K::kName: {
      ExprPtr e = node(ExprKind::kName, take().span);
      e->text = text_of(source_, token.span);
      return e;
    }
    case K::kLeftParen:
      return parenthesized();
    case K::kLeftBracket:
      return list();
    default:
      if constexpr (!selection::kHasCompiler) unexpected("a type");
      return literal();
  }
}

// An atom that no type is made of.
ExprPtr ExpressionParser::literal() {
  const Token token = current();
  switch (token.kind) {
    case K::kInt:
      return integer(token.span, take().span, false);
    case K::kFloat:
    case K::kImaginary:
      return floating(take());
    case K::kString:
      return string();
    case K::kTrue:
      return node(ExprKind::kTrue, take().span);
    case K::kFalse:
      return node(ExprKind::kFalse, take().span);
    case K::kEllipsis:
      return node(ExprKind::kEllipsis, take().span);
    case K::kLeftBrace:
      return dict();
    default:
      unexpected("an expression");
  }
}

// `sign` starts the literal, `digits` are its digits.
ExprPtr ExpressionParser::integer(Span sign, Span digits, bool negative) const {
  ExprPtr e = node(ExprKind::kInt, {sign.begin, digits.end});
  std::string text;
  for (const char c : text_of(source_, digits)) {
    if (c != '_') text += c;
  }
  const bool hex = text.size() > 2 && (text[1] == 'x' || text[1] == 'X');
  const char* first = text.data() + (hex ? 2 : 0);
  uint64_t magnitude = 0;
  const auto [end, error] =
      std::from_chars(first, text.data() + text.size(), magnitude, hex ? 16 : 10);
  constexpr uint64_t kLargest = std::numeric_limits<int64_t>::max();
  if (error == std::errc::result_out_of_range || magnitude > kLargest + (negative ? 1 : 0)) {
    fail(e->span, "an integer does not fit in 64 bits");
  }
  if (error != std::errc() || end != text.data() + text.size()) {
    fail(e->span, "an integer is malformed");
  }
  e->int_value = static_cast<int64_t>(negative ? ~magnitude + 1 : magnitude);
  return e;
}

ExprPtr ExpressionParser::floating(const Token& token) const {
  const bool imaginary = token.kind == K::kImaginary;
  ExprPtr e = node(imaginary ? ExprKind::kImaginary : ExprKind::kFloat, token.span);
  std::string text;
  for (const char c : text_of(source_, token.span)) {
    if (c != '_' && c != 'j') text += c;
  }
  // A value beyond the range is infinite (1e400) or zero (1e-400), as in Python.
  const std::optional<double> value = read_float(text);
  if (!value) fail(e->span, "a number is malformed");
  e->float_value = *value;
  return e;
}

ExprPtr ExpressionParser::string() {
  ExprPtr e = node(ExprKind::kString, current().span);
  while (at(K::kString)) {
    const Span span = take().span;
    e->text += decode_string(source_, span);
    e->span.end = span.end;
  }
  return e;
}

ExprPtr ExpressionParser::parenthesized() {
  const Span open = expect(K::kLeftParen).span;
  if (at(K::kRightParen)) {
    return node(ExprKind::kTuple, {open.begin, take().span.end});
  }
  ExprPtr first = expression();
  if (at(K::kComma)) first = tuple_from(std::move(first), K::kRightParen);
  const Span close = expect(K::kRightParen).span;
  first->span = {open.begin, close.end};
  return first;
}

// `first` is followed by a comma: the rest of an unparenthesized tuple.
ExprPtr ExpressionParser::tuple_from(ExprPtr first, TokenKind closing) {
  const Span span = first->span;
  ExprPtr tuple = node(ExprKind::kTuple, span, std::move(first));
  while (accept(K::kComma)) {
    if (at(closing) || at(K::kAssign) || at(K::kNewline) || at(K::kIn)) break;
    adopt(*tuple, expression());
  }
  return tuple;
}

ExprPtr ExpressionParser::expression_or_tuple() {
  ExprPtr first = expression();
  return at(K::kComma) ? tuple_from(std::move(first), K::kNewline) : std::move(first);
}

ExprPtr ExpressionParser::loop_target() {
  ExprPtr first = at(K::kStar) ? expression() : postfix();
  if (!at(K::kComma)) return first;
  const Span span = first->span;
  ExprPtr tuple = node(ExprKind::kTuple, span, std::move(first));
  while (accept(K::kComma)) {
    if (at(K::kIn)) break;
    adopt(*tuple, at(K::kStar) ? expression() : postfix());
  }
  return tuple;
}

// Behind `for`: target in iterable.
void ExpressionParser::comprehension(Expr& e) {
  expect(K::kFor);
  adopt(e, loop_target());
  expect(K::kIn);
  adopt(e, disjunction());
  if (at(K::kFor) || at(K::kIf)) {
    fail(current().span, "TorchScript has comprehensions with one plain `for` only");
  }
}

ExprPtr ExpressionParser::list() {
  const Span open = expect(K::kLeftBracket).span;
  ExprPtr e = node(ExprKind::kList, open);
  while (!at(K::kRightBracket)) {
    adopt(*e, expression());
    if (selection::kHasCompiler && at(K::kFor) && e->children.size() == 1) {
      e->kind = ExprKind::kListComp;
      comprehension(*e);
      break;
    }
    if (!accept(K::kComma)) break;
  }
  e->span.end = expect(K::kRightBracket).span.end;
  return e;
}

ExprPtr ExpressionParser::dict() {
  const Span open = expect(K::kLeftBrace).span;
  ExprPtr e = node(ExprKind::kDict, open);
  while (!at(K::kRightBrace)) {
    adopt(*e, expression());
    expect(K::kColon);
    adopt(*e, expression());
    if (at(K::kFor) && e->children.size() == 2) {
      e->kind = ExprKind::kDictComp;
      comprehension(*e);
      break;
    }
    if (!accept(K::kComma)) break;
  }
  e->span.end = expect(K::kRightBrace).span.end;
  return e;
}

}  // namespace torchlet::script
