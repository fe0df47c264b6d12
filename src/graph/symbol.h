// An interned name such as "aten::add" or "prim::If": cheap to copy and to compare.
#pragma once

#include <string>
#include <string_view>

namespace torchlet {

class Symbol {
 public:
  Symbol() : Symbol(std::string_view()) {}
  // Thread-safe.
  explicit Symbol(std::string_view text);

  const std::string& str() const { return *text_; }
  const char* c_str() const { return text_->c_str(); }
  // "aten" of "aten::add"; empty if there is none.
  std::string_view name_space() const;
  // "add" of "aten::add".
  std::string_view name() const;
  bool operator==(Symbol other) const { return text_ == other.text_; }

 private:
  const std::string* text_;
};

}  // namespace torchlet
