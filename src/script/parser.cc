#include "script/parser.h"

#include <charconv>
#include <cstdlib>
#include <limits>
#include <optional>
#include <utility>

#include "script/lexer.h"

namespace torchlet::script {
namespace {

using K = TokenKind;

struct BinaryOperator {
  TokenKind token;
  ExprOp op;
  int precedence;
};

// Comparisons bind loosest (1), power is handled apart.
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
constexpr int kTightestBinary = 7;

struct AugmentedOperator {
  TokenKind token;
  ExprOp op;
};

constexpr AugmentedOperator kAugmentedOperators[] = {
    {K::kPlusAssign, ExprOp::kAdd},
    {K::kMinusAssign, ExprOp::kSub},
    {K::kStarAssign, ExprOp::kMul},
    {K::kStarStarAssign, ExprOp::kPow},
    {K::kSlashAssign, ExprOp::kDiv},
    {K::kSlashSlashAssign, ExprOp::kFloorDiv},
    {K::kPercentAssign, ExprOp::kMod},
    {K::kAtAssign, ExprOp::kMatMul},
    {K::kAmpersandAssign, ExprOp::kBitAnd},
    {K::kPipeAssign, ExprOp::kBitOr},
    {K::kCaretAssign, ExprOp::kBitXor},
    {K::kShiftLeftAssign, ExprOp::kShiftLeft},
    {K::kShiftRightAssign, ExprOp::kShiftRight},
};

class Parser {
 public:
  explicit Parser(const Source& source) : source_(source), tokens_(tokenize(source)) {}

  SourceUnit unit() {
    SourceUnit unit;
    skip_old_header();
    while (!at(K::kEnd)) {
      if (at(K::kImport)) {
        skip_line();
      } else if (at(K::kClass)) {
        unit.classes.push_back(class_def());
      } else if (at(K::kDef)) {
        unit.functions.push_back(function_def());
      } else {
        unexpected("a class or a function");
      }
    }
    return unit;
  }

  ExprPtr lone_expression() {
    ExprPtr e = expression();
    accept(K::kNewline);
    if (!at(K::kEnd)) unexpected("the end of the expression");
    return e;
  }

 private:
  // Tokens.

  const Token& current() const { return tokens_[next_]; }
  const Token& lookahead() const { return tokens_[std::min(next_ + 1, tokens_.size() - 1)]; }
  bool at(TokenKind kind) const { return current().kind == kind; }
  Token take() {
    const Token token = current();
    if (next_ + 1 < tokens_.size()) ++next_;
    return token;
  }
  bool accept(TokenKind kind) {
    if (!at(kind)) return false;
    take();
    return true;
  }
  Token expect(TokenKind kind) {
    if (!at(kind)) unexpected(describe(kind));
    return take();
  }
  [[noreturn]] void unexpected(const std::string& wanted) const {
    fail_at(source_, current().span,
            "expected " + wanted + " but found " + describe(current().kind));
  }
  std::string expect_name() { return std::string(text_of(source_, expect(K::kName).span)); }

  // Nesting.

  struct Nested {
    Nested(int& counter, int limit, const Parser& parser, const char* what) : depth(counter) {
      if (++depth > limit) {
        fail_at(parser.source_, parser.current().span,
                std::string(what) + " are nested over " + std::to_string(limit) + " deep");
      }
    }
    ~Nested() { --depth; }
    int& depth;
  };

  // Nodes.

  ExprPtr node(ExprKind kind, Span span) const {
    auto e = std::make_unique<Expr>();
    e->kind = kind;
    e->span = span;
    return e;
  }

  // Long chains such as a.b.c.d nest without recursion in the parser, so each step is checked.
  void adopt(Expr& parent, ExprPtr child) const {
    if (child) {
      if (child->depth >= kMaxExprDepth) {
        fail_at(source_, child->span,
                "expressions are nested over " + std::to_string(kMaxExprDepth) + " deep");
      }
      parent.depth = std::max(parent.depth, static_cast<uint16_t>(child->depth + 1));
      parent.span.end = std::max(parent.span.end, child->span.end);
    }
    parent.children.push_back(std::move(child));
  }

  template <typename... Children>
  ExprPtr node(ExprKind kind, Span span, Children... children) const {
    ExprPtr e = node(kind, span);
    (adopt(*e, std::move(children)), ...);
    return e;
  }

  // Expressions.

  ExprPtr expression() {
    const Nested nested(expr_depth_, kMaxExprDepth, *this, "expressions");
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

  ExprPtr disjunction() {
    ExprPtr left = conjunction();
    while (accept(K::kOr)) {
      const Span span = left->span;
      left = node(ExprKind::kOr, span, std::move(left), conjunction());
    }
    return left;
  }

  ExprPtr conjunction() {
    ExprPtr left = negation();
    while (accept(K::kAnd)) {
      const Span span = left->span;
      left = node(ExprKind::kAnd, span, std::move(left), negation());
    }
    return left;
  }

  ExprPtr negation() {
    if (!at(K::kNot)) return binary(1);
    const Nested nested(expr_depth_, kMaxExprDepth, *this, "expressions");
    const Span span = take().span;
    return node(ExprKind::kNot, span, negation());
  }

  const BinaryOperator* current_binary(int precedence) const {
    for (const BinaryOperator& candidate : kBinaryOperators) {
      if (candidate.token != current().kind || candidate.precedence != precedence) continue;
      if (candidate.token == K::kNot && lookahead().kind != K::kIn) return nullptr;
      return &candidate;
    }
    return nullptr;
  }

  // Left-associative operators of `precedence` and tighter.
  ExprPtr binary(int precedence) {
    if (precedence > kTightestBinary) return unary();
    ExprPtr left = binary(precedence + 1);
    while (const BinaryOperator* found = current_binary(precedence)) {
      ExprOp op = found->op;
      take();
      if (op == ExprOp::kNotIn) take();
      if (op == ExprOp::kIs && accept(K::kNot)) op = ExprOp::kIsNot;
      const Span span = left->span;
      left = node(ExprKind::kBinary, span, std::move(left), binary(precedence + 1));
      left->op = op;
    }
    return left;
  }

  ExprPtr unary() {
    if (at(K::kMinus) || at(K::kTilde) || at(K::kPlus)) {
      const Nested nested(expr_depth_, kMaxExprDepth, *this, "expressions");
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
    const Nested nested(expr_depth_, kMaxExprDepth, *this, "expressions");
    take();
    const Span span = base->span;
    ExprPtr e = node(ExprKind::kBinary, span, std::move(base), unary());
    e->op = ExprOp::kPow;
    return e;
  }

  ExprPtr postfix() {
    ExprPtr e = atom();
    while (true) {
      if (accept(K::kDot)) {
        const Span span = e->span;
        const Token name = expect(K::kName);
        e = node(ExprKind::kAttribute, span, std::move(e));
        e->text = text_of(source_, name.span);
        e->span.end = name.span.end;
      } else if (at(K::kLeftParen)) {
        e = call(std::move(e));
      } else if (at(K::kLeftBracket)) {
        e = subscript(std::move(e));
      } else {
        return e;
      }
    }
  }

  ExprPtr call(ExprPtr callee) {
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
      } else {
        adopt(*e, expression());
      }
      if (!accept(K::kComma)) break;
    }
    e->span.end = expect(K::kRightParen).span.end;
    return e;
  }

  ExprPtr subscript(ExprPtr container) {
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

  ExprPtr subscript_item() {
    const Span span = current().span;
    ExprPtr start = at(K::kColon) ? nullptr : expression();
    if (!accept(K::kColon)) return start;
    const auto absent = [&] { return at(K::kColon) || at(K::kComma) || at(K::kRightBracket); };
    ExprPtr stop = absent() ? nullptr : expression();
    ExprPtr step;
    if (accept(K::kColon) && !absent()) step = expression();
    return node(ExprKind::kSlice, span, std::move(start), std::move(stop), std::move(step));
  }

  ExprPtr atom() {
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
      case K::kNone:
        return node(ExprKind::kNone, take().span);
      case K::kEllipsis:
        return node(ExprKind::kEllipsis, take().span);
      case K::kName: {
        ExprPtr e = node(ExprKind::kName, take().span);
        e->text = text_of(source_, token.span);
        return e;
      }
      case K::kLeftParen:
        return parenthesized();
      case K::kLeftBracket:
        return list();
      case K::kLeftBrace:
        return dict();
      default:
        unexpected("an expression");
    }
  }

  // `sign` starts the literal, `digits` are its digits.
  ExprPtr integer(Span sign, Span digits, bool negative) const {
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
      fail_at(source_, e->span, "an integer does not fit in 64 bits");
    }
    if (error != std::errc() || end != text.data() + text.size()) {
      fail_at(source_, e->span, "an integer is malformed");
    }
    e->int_value = static_cast<int64_t>(negative ? ~magnitude + 1 : magnitude);
    return e;
  }

  ExprPtr floating(const Token& token) const {
    const bool imaginary = token.kind == K::kImaginary;
    ExprPtr e = node(imaginary ? ExprKind::kImaginary : ExprKind::kFloat, token.span);
    std::string text;
    for (const char c : text_of(source_, token.span)) {
      if (c != '_' && c != 'j') text += c;
    }
    // A value beyond the range is infinite (1e400) or zero (1e-400), as in Python.
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), e->float_value);
    if (error == std::errc::result_out_of_range) {
      e->float_value = std::strtod(text.c_str(), nullptr);
    } else if (error != std::errc() || end != text.data() + text.size()) {
      fail_at(source_, e->span, "a number is malformed");
    }
    return e;
  }

  ExprPtr string() {
    ExprPtr e = node(ExprKind::kString, current().span);
    while (at(K::kString)) {
      const Span span = take().span;
      e->text += decode_string(source_, span);
      e->span.end = span.end;
    }
    return e;
  }

  ExprPtr parenthesized() {
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
  ExprPtr tuple_from(ExprPtr first, TokenKind closing) {
    const Span span = first->span;
    ExprPtr tuple = node(ExprKind::kTuple, span, std::move(first));
    while (accept(K::kComma)) {
      if (at(closing) || at(K::kAssign) || at(K::kNewline) || at(K::kIn)) break;
      adopt(*tuple, expression());
    }
    return tuple;
  }

  ExprPtr expression_or_tuple() {
    ExprPtr first = expression();
    return at(K::kComma) ? tuple_from(std::move(first), K::kNewline) : std::move(first);
  }

  // What may stand left of `in`: for a, (b, *c) in ..
  ExprPtr loop_target() {
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
  void comprehension(Expr& e) {
    expect(K::kFor);
    adopt(e, loop_target());
    expect(K::kIn);
    adopt(e, disjunction());
    if (at(K::kFor) || at(K::kIf)) {
      fail_at(source_, current().span, "TorchScript has comprehensions with one plain `for` only");
    }
  }

  ExprPtr list() {
    const Span open = expect(K::kLeftBracket).span;
    ExprPtr e = node(ExprKind::kList, open);
    while (!at(K::kRightBracket)) {
      adopt(*e, expression());
      if (at(K::kFor) && e->children.size() == 1) {
        e->kind = ExprKind::kListComp;
        comprehension(*e);
        break;
      }
      if (!accept(K::kComma)) break;
    }
    e->span.end = expect(K::kRightBracket).span.end;
    return e;
  }

  ExprPtr dict() {
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

  // Statements.

  Body block() {
    expect(K::kColon);
    Body body;
    if (!accept(K::kNewline)) {
      body.push_back(simple_statement());
      return body;
    }
    const Nested nested(block_depth_, kMaxBlockDepth, *this, "blocks");
    expect(K::kIndent);
    while (!accept(K::kDedent)) body.push_back(statement());
    return body;
  }

  StmtPtr node(StmtKind kind) const {
    auto s = std::make_unique<Stmt>();
    s->kind = kind;
    s->span = current().span;
    return s;
  }

  StmtPtr statement() {
    switch (current().kind) {
      case K::kIf:
        return if_statement();
      case K::kWhile: {
        StmtPtr s = node(StmtKind::kWhile);
        take();
        s->value = expression();
        s->body = block();
        return s;
      }
      case K::kFor: {
        StmtPtr s = node(StmtKind::kFor);
        take();
        s->targets.push_back(loop_target());
        expect(K::kIn);
        s->value = expression_or_tuple();
        s->body = block();
        return s;
      }
      case K::kWith:
        return with_statement();
      case K::kDef: {
        StmtPtr s = node(StmtKind::kDef);
        s->function = std::make_unique<FunctionDef>(function_def());
        return s;
      }
      default:
        return simple_statement();
    }
  }

  StmtPtr if_statement() {
    StmtPtr s = node(StmtKind::kIf);
    take();
    s->value = expression();
    s->body = block();
    if (at(K::kElif)) {
      const Nested nested(block_depth_, kMaxBlockDepth, *this, "blocks");
      s->orelse.push_back(if_statement());
    } else if (accept(K::kElse)) {
      s->orelse = block();
    }
    return s;
  }

  StmtPtr with_statement() {
    StmtPtr s = node(StmtKind::kWith);
    take();
    do {
      WithItem item;
      item.context = expression();
      if (accept(K::kAs)) item.target = postfix();
      s->items.push_back(std::move(item));
    } while (accept(K::kComma));
    s->body = block();
    return s;
  }

  StmtPtr simple_statement() {
    StmtPtr s = small_statement();
    if (!at(K::kEnd)) expect(K::kNewline);
    return s;
  }

  StmtPtr small_statement() {
    StmtPtr s = node(StmtKind::kPass);
    switch (current().kind) {
      case K::kPass:
        take();
        return s;
      case K::kBreak:
        take();
        s->kind = StmtKind::kBreak;
        return s;
      case K::kContinue:
        take();
        s->kind = StmtKind::kContinue;
        return s;
      case K::kReturn:
        take();
        s->kind = StmtKind::kReturn;
        if (!at(K::kNewline)) s->value = expression_or_tuple();
        return s;
      case K::kRaise:
        take();
        s->kind = StmtKind::kRaise;
        s->value = expression();
        return s;
      case K::kAssert:
        take();
        s->kind = StmtKind::kAssert;
        s->value = expression();
        if (accept(K::kComma)) s->message = expression();
        return s;
      case K::kDel:
        take();
        s->kind = StmtKind::kDelete;
        do {
          s->targets.push_back(postfix());
        } while (accept(K::kComma));
        return s;
      default:
        return assignment_or_expression(std::move(s));
    }
  }

  StmtPtr assignment_or_expression(StmtPtr s) {
    ExprPtr first = expression_or_tuple();
    for (const AugmentedOperator& candidate : kAugmentedOperators) {
      if (!accept(candidate.token)) continue;
      s->kind = StmtKind::kAugAssign;
      s->op = candidate.op;
      s->targets.push_back(std::move(first));
      s->value = expression_or_tuple();
      return s;
    }
    if (accept(K::kColon)) {
      s->kind = StmtKind::kAssign;
      s->targets.push_back(std::move(first));
      s->type = expression();
      if (accept(K::kAssign)) s->value = expression_or_tuple();
      return s;
    }
    if (!at(K::kAssign)) {
      s->kind = StmtKind::kExpr;
      s->value = std::move(first);
      return s;
    }
    s->kind = StmtKind::kAssign;
    while (accept(K::kAssign)) {
      s->targets.push_back(std::move(first));
      first = expression_or_tuple();
    }
    s->value = std::move(first);
    return s;
  }

  // Definitions.

  FunctionDef function_def() {
    const Nested nested(block_depth_, kMaxBlockDepth, *this, "blocks");
    expect(K::kDef);
    FunctionDef def;
    def.span = current().span;
    def.name = expect_name();
    expect(K::kLeftParen);
    bool keyword_only = false;
    while (!at(K::kRightParen)) {
      if (accept(K::kStar)) {
        keyword_only = true;
      } else {
        def.parameters.push_back(parameter(keyword_only));
      }
      if (!accept(K::kComma)) break;
    }
    expect(K::kRightParen);
    if (accept(K::kArrow)) def.return_type = expression();
    def.body = block();
    return def;
  }

  Parameter parameter(bool keyword_only) {
    Parameter p;
    p.span = current().span;
    p.keyword_only = keyword_only;
    p.name = expect_name();
    if (accept(K::kColon)) p.type = expression();
    if (accept(K::kAssign)) p.default_value = expression();
    return p;
  }

  ClassDef class_def() {
    expect(K::kClass);
    ClassDef def;
    def.span = current().span;
    def.name = expect_name();
    if (accept(K::kLeftParen)) {
      if (!at(K::kRightParen)) def.base = expect_name();
      expect(K::kRightParen);
    }
    expect(K::kColon);
    expect(K::kNewline);
    // A class without a single attribute or method is printed without a body.
    if (!accept(K::kIndent)) return def;
    while (!accept(K::kDedent)) {
      if (at(K::kDef)) {
        def.methods.push_back(function_def());
        continue;
      }
      const Span span = current().span;
      StmtPtr s = simple_statement();
      if (s->kind == StmtKind::kAssign) {
        def.fields.push_back(std::move(s));
      } else if (s->kind != StmtKind::kPass && s->kind != StmtKind::kExpr) {
        fail_at(source_, span, "a class body has a statement that is no attribute and no method");
      }
    }
    return def;
  }

  void skip_line() {
    while (!at(K::kNewline) && !at(K::kEnd)) take();
    accept(K::kNewline);
  }

  void skip_old_header() {
    if (at(K::kName) && text_of(source_, current().span) == "op_version_set") skip_line();
  }

  const Source& source_;
  const std::vector<Token> tokens_;
  size_t next_ = 0;
  int expr_depth_ = 0;
  int block_depth_ = 0;
};

}  // namespace

SourceUnit parse_unit(const Source& source) { return Parser(source).unit(); }

ExprPtr parse_expression(const Source& source) { return Parser(source).lone_expression(); }

}  // namespace torchlet::script
