#include "script/parser.h"

#include <utility>

#include "script/expression_parser.h"

namespace torchlet::script {
namespace {

using K = TokenKind;

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

class Parser : private ExpressionParser {
 public:
  using ExpressionParser::ExpressionParser;
  using ExpressionParser::num_tokens;

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

  FunctionDef lone_function() { return function_def(); }

  ExprPtr lone_expression() {
    ExprPtr e = expression();
    accept(K::kNewline);
    if (!at(K::kEnd)) unexpected("the end of the expression");
    return e;
  }

 private:
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
    FunctionDef def;
    def.text.begin = expect(K::kDef).span.begin;
    def.span = current().span;
    def.name = expect_name();
    expect(K::kLeftParen);
    bool keyword_only = false;
    while (!at(K::kRightParen)) {
      if (accept(K::kStar)) {
        keyword_only = true;
      } else {
        def.parameters.push_back(parameter(keyword_only));
        check_members(def.parameters.size());
      }
      if (!accept(K::kComma)) break;
    }
    expect(K::kRightParen);
    if (accept(K::kArrow)) def.return_type = expression();
    def.body = block();
    def.text.end = previous().span.end;
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
        check_members(def.methods.size());
        continue;
      }
      const Span span = current().span;
      StmtPtr s = simple_statement();
      if (s->kind == StmtKind::kAssign) {
        def.fields.push_back(std::move(s));
        check_members(def.fields.size());
      } else if (s->kind != StmtKind::kPass && s->kind != StmtKind::kExpr) {
        fail(span, "a class body has a statement that is no attribute and no method");
      }
    }
    return def;
  }

  void skip_line() {
    while (!at(K::kNewline) && !at(K::kEnd)) take();
    accept(K::kNewline);
  }

  void skip_old_header() {
    if (at(K::kName) && text_of(source(), current().span) == "op_version_set") skip_line();
  }

  int block_depth_ = 0;
};

}  // namespace

SourceUnit parse_unit(const Source& source, size_t& tokens_left) {
  Parser parser(source, tokens_left);
  tokens_left -= parser.num_tokens();
  return parser.unit();
}

SourceUnit parse_unit(const Source& source) {
  size_t tokens_left = kAnyNumber;
  return parse_unit(source, tokens_left);
}

FunctionDef parse_function(const Source& source, Span text) {
  return Parser(source, text).lone_function();
}

ExprPtr parse_expression(const Source& source) { return Parser(source).lone_expression(); }

}  // namespace torchlet::script
