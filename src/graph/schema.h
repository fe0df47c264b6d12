// An operator's or function's signature in PyTorch's own words:
//   aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
// Grammar: torch/csrc/jit/frontend/function_schema_parser.cpp.
#pragma once

#include <torchlet/value.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/type.h"

namespace torchlet {

struct Argument {
  std::string name;
  TypePtr type;
  // int[2]: a lone int is accepted and repeated so often.
  std::optional<int64_t> list_size;
  // ScalarType, Layout, ...: `type` is int, this is the word of the schema, else empty.
  std::string alias_of_int;
  std::optional<Value> default_value;
  bool keyword_only = false;
  bool is_written = false;  // (a!): the operator changes it in place
  bool is_aliased = false;  // (a) or (a!): shares memory with another argument or return
};

struct Schema {
  std::string name;      // "aten::add"
  std::string overload;  // "Tensor", may be empty
  std::vector<Argument> arguments;
  std::vector<Argument> returns;
  bool is_vararg = false;  // "..." among the arguments
  bool is_varret = false;

  // "aten::add.Tensor"
  std::string full_name() const;
  // The whole schema as text.
  std::string str() const;
  std::optional<size_t> find_argument(std::string_view argument_name) const;
};

// Error kInvalidArgument with the place if the text is not a schema.
Schema parse_schema(std::string_view text);

}  // namespace torchlet
