// What the parts of a program that is printed as source share: which classes, functions and
// constants its text speaks of.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "graph/function.h"
#include "tensor/type.h"

namespace torchlet::script {

// A class, NamedTuple, enum or interface; or a function that is no method.
using Definition = std::variant<TypePtr, Function*>;

class PrintContext {
 public:
  // "List[__torch__.m.Point]"; whoever is named in it has to be printed. Error kUnsupported for a
  // type that is not known.
  std::string type(const TypePtr& type);
  // "__torch__.m.helper", or "__torch__.m.Net.hook" for a method that is called as a function.
  std::string function(Function* function);
  // The value as an expression; CONSTANTS.c3 for what has no short one. With a type, None is
  // annotated with it.
  std::string literal(const Value& value, const TypePtr& type = nullptr);

  // An operator is called, and files below this version would read it otherwise.
  void needs_version(int version) { version_ = std::max(version_, version); }
  int version() const { return version_; }

  // What was spoken of since the last call, in the order in which it first was.
  std::vector<Definition> take_needed() { return std::exchange(needed_, {}); }
  // CONSTANTS.c0, CONSTANTS.c1, ...
  const std::vector<Value>& constants() const { return constants_; }

  // Counts text that was printed. Error when a program that repeats long names or constants has
  // grown out of all proportion.
  void count(size_t bytes);

 private:
  void need_types_in(const TypePtr& type);
  std::string short_literal(const Value& value, int depth);
  std::string constant(const Value& value);

  std::vector<Definition> needed_;
  std::vector<Value> constants_;
  std::map<std::pair<ValueKind, int64_t>, size_t> constant_index_;
  int version_ = 3;  // the oldest that writes the types of containers
  size_t bytes_ = 0;
};

// A Python name that is no keyword?
bool is_identifier(std::string_view name);
// In double quotes, with the escapes that TorchScript has.
std::string string_literal(std::string_view text);

// "a, b, c"
std::string joined(const std::vector<std::string>& parts);

// Expressions nest no deeper than this in one line.
inline constexpr int kMaxInlineDepth = 4;

}  // namespace torchlet::script
