#include "base/json.h"

#include <charconv>

#include "base/error.h"
#include "base/read_float.h"

namespace torchlet {
namespace {

// Of a code point, which is no half of a pair.
void append_utf8(std::string& text, uint32_t code) {
  const auto put = [&](uint32_t byte) { text += static_cast<char>(byte); };
  const auto put_rest = [&](int shift) { put(0x80 | (code >> shift & 0x3f)); };
  if (code < 0x80) return put(code);
  if (code < 0x800) {
    put(0xc0 | code >> 6);
  } else if (code < 0x10000) {
    put(0xe0 | code >> 12);
    put_rest(6);
  } else {
    put(0xf0 | code >> 18);
    put_rest(12);
    put_rest(6);
  }
  put_rest(0);
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Json whole(int most_depth) {
    Json value = this->value(most_depth);
    skip_space();
    if (at_ != text_.size()) wrong("something behind the end");
    return value;
  }

 private:
  [[noreturn]] void wrong(const char* what) const {
    fail(ErrorCode::kFileFormat, "no JSON: %s at byte %zu", what, at_);
  }

  void skip_space() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(char wanted) {
    if (peek() != wanted || at_ == text_.size()) return false;
    ++at_;
    return true;
  }
  bool take_word(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  Json value(int depth) {
    skip_space();
    if (depth < 0) wrong("too deep a value");
    Json made;
    if (take('{')) return object(depth);
    if (take('[')) return list(depth);
    if (take('"')) {
      made.kind = Json::Kind::kText;
      made.text = text();
    } else if (take_word("true") || take_word("false")) {
      made.kind = Json::Kind::kBool;
      made.is_true = text_[at_ - 2] == 'u';
    } else if (!take_word("null")) {
      return number();
    }
    return made;
  }

  Json list(int depth) {
    Json made;
    made.kind = Json::Kind::kList;
    skip_space();
    if (take(']')) return made;
    do {
      made.items.push_back(value(depth - 1));
      skip_space();
    } while (take(','));
    if (!take(']')) wrong("a list without end");
    return made;
  }

  Json object(int depth) {
    Json made;
    made.kind = Json::Kind::kObject;
    skip_space();
    if (take('}')) return made;
    do {
      skip_space();
      if (!take('"')) wrong("a member without a name");
      made.names.push_back(text());
      skip_space();
      if (!take(':')) wrong("a member without a value");
      made.items.push_back(value(depth - 1));
      skip_space();
    } while (take(','));
    if (!take('}')) wrong("an object without end");
    return made;
  }

  size_t digits() {
    const size_t begin = at_;
    while (peek() >= '0' && peek() <= '9') ++at_;
    return at_ - begin;
  }

  Json number() {
    const size_t begin = at_;
    take('-');
    const bool is_zero = peek() == '0';
    const size_t count = digits();
    if (count == 0 || (is_zero && count > 1)) wrong("no value");
    bool is_integer = true;
    if (take('.')) {
      is_integer = false;
      if (digits() == 0) wrong("a number without digits");
    }
    if (take('e') || take('E')) {
      is_integer = false;
      if (!take('-')) take('+');
      if (digits() == 0) wrong("a number without digits");
    }
    const std::string_view all = text_.substr(begin, at_ - begin);
    Json made;
    made.kind = Json::Kind::kNumber;
    made.number = read_float(std::string(all)).value_or(0);
    if (is_integer &&
        std::from_chars(all.data(), all.data() + all.size(), made.integer).ec == std::errc()) {
      made.kind = Json::Kind::kInteger;
    }
    return made;
  }

  uint32_t hex4() {
    uint32_t code = 0;
    const std::string_view digits = text_.substr(at_, 4);
    const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
    if (result.ec != std::errc() || result.ptr != digits.data() + 4) wrong("no \\u of four digits");
    at_ += 4;
    return code;
  }

  void escape(std::string& made) {
    constexpr std::string_view kNames = "\"\\/bfnrt", kMeant = "\"\\/\b\f\n\r\t";
    if (take('u')) {
      uint32_t code = hex4();
      if (code >= 0xd800 && code < 0xdc00 && take_word("\\u")) {
        const uint32_t second = hex4();
        if (second < 0xdc00 || second >= 0xe000) wrong("half a pair");
        code = 0x10000 + ((code - 0xd800) << 10) + (second - 0xdc00);
      }
      if (code >= 0xd800 && code < 0xe000) wrong("half a pair");
      return append_utf8(made, code);
    }
    const size_t which = kNames.find(peek());
    if (at_ == text_.size() || which == std::string_view::npos) wrong("an unknown escape");
    made += kMeant[which];
    ++at_;
  }

  // Behind the quotation mark.
  std::string text() {
    std::string made;
    while (!take('"')) {
      if (at_ == text_.size()) wrong("a text without end");
      const char c = text_[at_];
      if (static_cast<unsigned char>(c) < ' ') wrong("a control character");
      ++at_;
      if (c == '\\') {
        escape(made);
      } else {
        made += c;
      }
    }
    return made;
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

const Json* Json::find(std::string_view name) const {
  for (size_t i = names.size(); i-- > 0;) {
    if (names[i] == name) return &items[i];
  }
  return nullptr;
}

Json parse_json(std::string_view text, int most_depth) { return Parser(text).whole(most_depth); }

}  // namespace torchlet
