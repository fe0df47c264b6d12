// Which overload a call means, and the conversions that make its arguments fit
// (torch/csrc/jit/frontend/schema_matching.cpp).
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/schema.h"
#include "script/builder.h"

namespace torchlet::script {

struct CallArguments {
  SsaValue* self = nullptr;  // x in x.f(..): goes to the argument called "self"
  std::vector<SsaValue*> positional;
  std::vector<std::pair<std::string, SsaValue*>> keywords;

  // "(Tensor, int, alpha=float)"
  std::string str() const;
};

struct Match {
  std::vector<SsaValue*> inputs;  // for every argument of the schema (and the rest of a vararg one)
  std::vector<TypePtr> return_types;
};

// Makes the nodes that bring `call` to the arguments of `schema`. Without a match there is none of
// them, and `why_not` (if given) is told the reason. Only `allow_conversions` turns a Tensor into a
// number, a string into a device, loose arguments into a list.
std::optional<Match> match_schema(Builder& builder, const Schema& schema, const CallArguments& call,
                                  bool allow_conversions, std::string* why_not);

// What a call with arguments of these types gives; kUnknown where that does not tell.
std::vector<TypePtr> return_types(const Schema& schema, const std::vector<TypePtr>& arguments);

// Tracing writes the numbers of a program as 0-d tensors. As second operand of the four operations
// such a constant is taken as a number again, which decides type promotion
// (torch/csrc/jit/passes/canonicalize_ops.cpp). The operator that is meant then; null if the call
// is what it says.
const Operator* operator_with_number(const Operator& op, const std::vector<SsaValue*>& inputs);

// `value` as a `type`, by a conversion if there is one; otherwise `value` itself: the caller
// checks.
SsaValue* convert(Builder& builder, SsaValue* value, const TypePtr& type, bool allow_conversions);

}  // namespace torchlet::script
