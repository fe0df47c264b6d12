// The expressions of TorchScript; statements are parser.cc's.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "script/ast.h"
#include "script/lexer.h"
#include "script/parser.h"

namespace torchlet::script {

// Reads from the tokens of a source, and throws kFileFormat at what does not fit.
class ExpressionParser {
 public:
  explicit ExpressionParser(const Source& source, size_t most_tokens = kAnyNumber)
      : source_(source), tokens_(tokenize(source, most_tokens)) {}
  ExpressionParser(const Source& source, Span part)
      : source_(source), tokens_(tokenize(source, part)) {}

  ExprPtr expression();
  // a, b, c without parentheses is a tuple.
  ExprPtr expression_or_tuple();
  // What may stand left of `in`: for a, (b, *c) in ..
  ExprPtr loop_target();
  // A name with what is called, indexed or selected from it.
  ExprPtr postfix();

  const Token& current() const { return tokens_[next_]; }
  const Token& previous() const { return tokens_[next_ - 1]; }  // what was taken last
  const Token& lookahead() const { return tokens_[std::min(next_ + 1, tokens_.size() - 1)]; }
  bool at(TokenKind kind) const { return current().kind == kind; }
  Token take();
  bool accept(TokenKind kind);
  Token expect(TokenKind kind);
  std::string expect_name();
  [[noreturn]] void unexpected(const std::string& wanted) const;
  [[noreturn]] void fail(Span span, const std::string& message) const {
    fail_at(source_, span, message);
  }
  void check_members(size_t count) const;
  const Source& source() const { return source_; }
  size_t num_tokens() const { return tokens_.size(); }

  // Counts a nesting while it lives; deeper than `limit` is an error.
  class Nested {
   public:
    Nested(int& depth, int limit, const ExpressionParser& parser, const char* what);
    ~Nested() { --depth_; }
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;

   private:
    int& depth_;
  };

 private:
  ExprPtr node(ExprKind kind, Span span) const;
  template <typename... Children>
  ExprPtr node(ExprKind kind, Span span, Children... children) const {
    ExprPtr e = node(kind, span);
    (adopt(*e, std::move(children)), ...);
    return e;
  }
  // Long chains such as a.b.c.d nest without recursion in the parser, so each step is checked.
  void adopt(Expr& parent, ExprPtr child) const;

  ExprPtr disjunction();
  ExprPtr conjunction();
  ExprPtr negation();
  const struct BinaryOperator* current_binary() const;
  ExprPtr binary(int least);
  ExprPtr unary();
  ExprPtr call(ExprPtr callee);
  ExprPtr subscript(ExprPtr container);
  ExprPtr subscript_item();
  ExprPtr atom();
  ExprPtr literal();
  ExprPtr integer(Span sign, Span digits, bool negative) const;
  ExprPtr floating(const Token& token) const;
  ExprPtr string();
  ExprPtr parenthesized();
  ExprPtr tuple_from(ExprPtr first, TokenKind closing);
  void comprehension(Expr& e);
  ExprPtr list();
  ExprPtr dict();

  const Source& source_;
  const std::vector<Token> tokens_;
  size_t next_ = 0;
  int depth_ = 0;
};

}  // namespace torchlet::script
