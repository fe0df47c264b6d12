#include "script/lexer.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace torchlet::script {
namespace {

using K = TokenKind;

struct Spelling {
  std::string_view text;
  TokenKind kind;
};

constexpr Spelling kKeywords[] = {
    {"and", K::kAnd},       {"as", K::kAs},         {"assert", K::kAssert},
    {"break", K::kBreak},   {"class", K::kClass},   {"continue", K::kContinue},
    {"def", K::kDef},       {"del", K::kDel},       {"elif", K::kElif},
    {"else", K::kElse},     {"False", K::kFalse},   {"for", K::kFor},
    {"if", K::kIf},         {"import", K::kImport}, {"in", K::kIn},
    {"is", K::kIs},         {"None", K::kNone},     {"not", K::kNot},
    {"or", K::kOr},         {"pass", K::kPass},     {"raise", K::kRaise},
    {"return", K::kReturn}, {"True", K::kTrue},     {"while", K::kWhile},
    {"with", K::kWith},
};

// Longest first, so that the first match is the right one.
constexpr Spelling kPunctuation[] = {
    {"**=", K::kStarStarAssign},
    {"//=", K::kSlashSlashAssign},
    {"<<=", K::kShiftLeftAssign},
    {">>=", K::kShiftRightAssign},
    {"...", K::kEllipsis},
    {"->", K::kArrow},
    {"**", K::kStarStar},
    {"//", K::kSlashSlash},
    {"<<", K::kShiftLeft},
    {">>", K::kShiftRight},
    {"<=", K::kLessEqual},
    {">=", K::kGreaterEqual},
    {"==", K::kEqual},
    {"!=", K::kNotEqual},
    {"+=", K::kPlusAssign},
    {"-=", K::kMinusAssign},
    {"*=", K::kStarAssign},
    {"/=", K::kSlashAssign},
    {"%=", K::kPercentAssign},
    {"@=", K::kAtAssign},
    {"&=", K::kAmpersandAssign},
    {"|=", K::kPipeAssign},
    {"^=", K::kCaretAssign},
    {"(", K::kLeftParen},
    {")", K::kRightParen},
    {"[", K::kLeftBracket},
    {"]", K::kRightBracket},
    {"{", K::kLeftBrace},
    {"}", K::kRightBrace},
    {",", K::kComma},
    {":", K::kColon},
    {".", K::kDot},
    {"=", K::kAssign},
    {"+", K::kPlus},
    {"-", K::kMinus},
    {"*", K::kStar},
    {"/", K::kSlash},
    {"%", K::kPercent},
    {"@", K::kAt},
    {"&", K::kAmpersand},
    {"|", K::kPipe},
    {"^", K::kCaret},
    {"~", K::kTilde},
    {"<", K::kLess},
    {">", K::kGreater},
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool is_name_char(char c) { return is_name_start(c) || is_digit(c); }

class Lexer {
 public:
  Lexer(const Source& source, size_t most) : source_(source), text_(source.text), most_(most) {}
  Lexer(const Source& source, Span part)
      : source_(source),
        text_(std::string_view(source.text).substr(0, part.end)),
        most_(kAnyNumber),
        at_(part.begin) {}

  std::vector<Token> run() {
    if (text_.size() >= std::numeric_limits<uint32_t>::max()) {
      fail(0, 0, "the source is longer than 4 GiB");
    }
    tokens_.reserve(std::min((text_.size() - at_) / 4 + 8, most_));
    while (at_ < text_.size()) {
      if (line_start_ && open_brackets_ == 0) {
        if (!read_indentation()) continue;
      }
      read_token();
    }
    if (open_brackets_ > 0) fail(at_, at_, "a bracket is opened but never closed");
    if (!tokens_.empty() && tokens_.back().kind != K::kNewline) push(K::kNewline, at_, at_);
    while (indents_.size() > 1) {
      indents_.pop_back();
      push(K::kDedent, at_, at_);
    }
    push(K::kEnd, at_, at_);
    return std::move(tokens_);
  }

 private:
  [[noreturn]] void fail(size_t begin, size_t end, const std::string& message) const {
    fail_at(source_, {static_cast<uint32_t>(begin), static_cast<uint32_t>(end)}, message);
  }

  void push(TokenKind kind, size_t begin, size_t end) {
    if (tokens_.size() == most_) fail(begin, end, "the program has too many tokens");
    tokens_.push_back({kind, {static_cast<uint32_t>(begin), static_cast<uint32_t>(end)}});
  }

  char peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  // At the start of a line: emits kIndent or kDedent. False for a line with nothing on it.
  bool read_indentation() {
    const size_t begin = at_;
    size_t width = 0;
    for (; peek() == ' ' || peek() == '\t' || peek() == '\r'; ++at_) {
      width = peek() == '\t' ? (width / 8 + 1) * 8 : width + 1;
    }
    if (at_ == text_.size()) return false;
    if (peek() == '#') skip_comment();
    if (peek() == '\n' || at_ == text_.size()) {
      if (at_ < text_.size()) ++at_;
      return false;
    }
    line_start_ = false;
    if (width > indents_.back()) {
      indents_.push_back(width);
      push(K::kIndent, begin, at_);
    }
    while (width < indents_.back()) {
      indents_.pop_back();
      push(K::kDedent, at_, at_);
    }
    if (width != indents_.back()) {
      fail(begin, at_, "the indentation matches no enclosing block");
    }
    return true;
  }

  void skip_comment() {
    while (at_ < text_.size() && text_[at_] != '\n') ++at_;
  }

  void read_token() {
    const char c = peek();
    if (c == ' ' || c == '\t' || c == '\r' || c == '\f') {
      ++at_;
    } else if (c == '\n') {
      if (open_brackets_ == 0) {
        push(K::kNewline, at_, at_);
        line_start_ = true;
      }
      ++at_;
    } else if (c == '#') {
      skip_comment();
    } else if (c == '\\' && peek(1) == '\n') {
      at_ += 2;
    } else if (is_name_start(c)) {
      read_name();
    } else if (is_digit(c) || (c == '.' && is_digit(peek(1)))) {
      read_number();
    } else if (c == '"' || c == '\'') {
      read_string();
    } else {
      read_punctuation();
    }
  }

  void read_name() {
    const size_t begin = at_;
    while (at_ < text_.size() && is_name_char(text_[at_])) ++at_;
    const std::string_view name = text_.substr(begin, at_ - begin);
    TokenKind kind = K::kName;
    for (const Spelling& keyword : kKeywords) {
      if (keyword.text[0] == name[0] && keyword.text == name) kind = keyword.kind;
    }
    push(kind, begin, at_);
  }

  void read_digits() {
    while (is_digit(peek()) || (peek() == '_' && is_digit(peek(1)))) ++at_;
  }

  void read_number() {
    const size_t begin = at_;
    TokenKind kind = K::kInt;
    if (peek() == '0' && (peek(1) == 'x' || peek(1) == 'X')) {
      at_ += 2;
      while (is_name_char(peek())) ++at_;
      push(kind, begin, at_);
      return;
    }
    read_digits();
    if (peek() == '.') {
      kind = K::kFloat;
      ++at_;
      read_digits();
    }
    if (peek() == 'e' || peek() == 'E') {
      const size_t sign = peek(1) == '+' || peek(1) == '-' ? 1 : 0;
      if (is_digit(peek(1 + sign))) {
        kind = K::kFloat;
        at_ += 1 + sign;
        read_digits();
      }
    }
    if (peek() == 'j') {
      kind = K::kImaginary;
      ++at_;
    }
    if (is_name_start(peek())) fail(begin, at_ + 1, "a number runs into a name");
    push(kind, begin, at_);
  }

  void read_string() {
    const size_t begin = at_;
    const char quote = peek();
    const bool triple = peek(1) == quote && peek(2) == quote;
    at_ += triple ? 3 : 1;
    while (at_ < text_.size()) {
      if (peek() == '\\') {
        at_ += 2;
      } else if (peek() == quote && (!triple || (peek(1) == quote && peek(2) == quote))) {
        at_ += triple ? 3 : 1;
        push(K::kString, begin, at_);
        return;
      } else if (peek() == '\n' && !triple) {
        break;
      } else {
        ++at_;
      }
    }
    fail(begin, begin + 1, "a string is not closed");
  }

  void read_punctuation() {
    const std::string_view rest = text_.substr(at_);
    for (const Spelling& p : kPunctuation) {
      if (p.text[0] != rest[0] || !rest.starts_with(p.text)) continue;
      if (p.kind == K::kLeftParen || p.kind == K::kLeftBracket || p.kind == K::kLeftBrace) {
        ++open_brackets_;
      } else if (p.kind == K::kRightParen || p.kind == K::kRightBracket ||
                 p.kind == K::kRightBrace) {
        if (open_brackets_-- == 0) fail(at_, at_ + 1, "a bracket is closed but was never opened");
      }
      push(p.kind, at_, at_ + p.text.size());
      at_ += p.text.size();
      return;
    }
    fail(at_, at_ + 1, "a character that TorchScript does not have");
  }

  const Source& source_;
  const std::string_view text_;
  const size_t most_;
  std::vector<Token> tokens_;
  std::vector<size_t> indents_{0};
  size_t at_ = 0;
  size_t open_brackets_ = 0;
  bool line_start_ = true;
};

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

void append_utf8(std::string& out, uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | (code >> 6));
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | (code >> 12));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    out += static_cast<char>(0xf0 | (code >> 18));
    out += static_cast<char>(0x80 | ((code >> 12) & 0x3f));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  }
}

// Decodes the escape behind the backslash at text[at] and returns the offset behind it, or 0.
size_t decode_escape(std::string_view text, size_t at, std::string& out) {
  const char c = at + 1 < text.size() ? text[at + 1] : '\0';
  constexpr std::array<std::pair<char, char>, 10> kSimple = {{{'\\', '\\'},
                                                              {'\'', '\''},
                                                              {'"', '"'},
                                                              {'a', '\a'},
                                                              {'b', '\b'},
                                                              {'f', '\f'},
                                                              {'n', '\n'},
                                                              {'r', '\r'},
                                                              {'t', '\t'},
                                                              {'v', '\v'}}};
  for (const auto& [letter, byte] : kSimple) {
    if (c == letter) {
      out += byte;
      return at + 2;
    }
  }
  if (c == '\n') return at + 2;
  const size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
  if (digits > 0) {
    uint32_t code = 0;
    for (size_t i = 0; i < digits; ++i) {
      const size_t position = at + 2 + i;
      const int digit = position < text.size() ? hex_digit(text[position]) : -1;
      if (digit < 0) return 0;
      code = code * 16 + static_cast<uint32_t>(digit);
    }
    if (code > 0x10ffff) return 0;
    append_utf8(out, code);
    return at + 2 + digits;
  }
  if (at + 3 >= text.size()) return 0;
  int value = 0;
  for (size_t i = 1; i <= 3; ++i) {
    const int digit = text[at + i] - '0';
    if (digit < -7 || digit > 7) return 0;
    value = value * 8 + digit;
  }
  if (value < -128 || value > 255) return 0;
  out += static_cast<char>(value);
  return at + 4;
}

}  // namespace

std::string describe(TokenKind kind) {
  switch (kind) {
    case K::kEnd:
      return "the end of the file";
    case K::kNewline:
      return "the end of the line";
    case K::kIndent:
      return "an indented block";
    case K::kDedent:
      return "the end of the block";
    case K::kName:
      return "a name";
    case K::kInt:
    case K::kFloat:
    case K::kImaginary:
      return "a number";
    case K::kString:
      return "a string";
    default:
      break;
  }
  for (const Spelling& s : kKeywords) {
    if (s.kind == kind) return "'" + std::string(s.text) + "'";
  }
  for (const Spelling& s : kPunctuation) {
    if (s.kind == kind) return "'" + std::string(s.text) + "'";
  }
  return "a token";
}

std::vector<Token> tokenize(const Source& source, size_t most) { return Lexer(source, most).run(); }
std::vector<Token> tokenize(const Source& source, Span part) { return Lexer(source, part).run(); }

std::string decode_string(const Source& source, Span literal) {
  std::string_view text = text_of(source, literal);
  const size_t quotes = text.size() >= 6 && text[1] == text[0] && text[2] == text[0] ? 3 : 1;
  text = text.substr(quotes, text.size() - 2 * quotes);
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    if (text[at] != '\\') {
      out += text[at++];
      continue;
    }
    at = decode_escape(text, at, out);
    if (at == 0) fail_at(source, literal, "a string has an escape that TorchScript does not have");
  }
  return out;
}

}  // namespace torchlet::script
