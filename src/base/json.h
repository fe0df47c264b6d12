// JSON (RFC 8259) as values, for the small files that the library reads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace torchlet {

struct Json {
  enum class Kind : uint8_t { kNull, kBool, kInteger, kNumber, kText, kList, kObject };

  Kind kind = Kind::kNull;
  bool is_true = false;            // of a bool
  int64_t integer = 0;             // of an integer: a number without '.' and 'e' that fits
  double number = 0;               // of that too
  std::string text;                // UTF-8 if the file is
  std::vector<Json> items;         // of a list, and the values of an object
  std::vector<std::string> names;  // of an object, in the file's order

  bool is(Kind wanted) const { return kind == wanted; }
  bool is_number() const { return kind == Kind::kInteger || kind == Kind::kNumber; }
  // Null if it is no object, or has no such member; the last one, if it has several.
  const Json* find(std::string_view name) const;
};

// Error kFileFormat, saying what is wrong and at which byte, for what is no JSON or nests deeper
// than that.
Json parse_json(std::string_view text, int most_depth = 32);

}  // namespace torchlet
