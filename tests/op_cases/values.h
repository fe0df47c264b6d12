// The values of tests/cases/ops (README.md there says how they are written), and comparing with
// them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "graph/operator.h"
#include "tensor/containers.h"
#include "tensor/tensor_impl.h"

namespace torchlet::op_cases {

using Json = nlohmann::json;

// The value, made anew; `type` is what the schema says of it, and gives lists their element type.
// A call in the place of a value is made.
Value value_of(const Json& text, const Type& type);
// The arguments of a call in the order of the schema, defaults filled in.
std::vector<Value> arguments_of(const Operator& op, const Json& texts);
std::vector<Value> call(const Operator& op, std::vector<Value> arguments);
// "aten::add.Tensor"; Error if there is no such operator.
const Operator& operator_of(const std::string& full_name);

// What is compared of a result.
enum class Looks {
  kAtAll,
  kAtMagnitudes,  // signs of eigenvectors are free
  kAtShape,       // the elements are uninitialised, or random in a way of our own
};

struct Comparison {
  Looks looks = Looks::kAtAll;
  bool strides = false;
};
// What differs; empty if nothing does.
std::string difference(const Value& got, const Value& want, const Comparison& comparison);

// Other ways to give the same tensor.
enum class Layout { kTransposed, kChannelsLast, kOffset, kExpanded };
inline constexpr std::pair<Layout, const char*> kLayouts[] = {
    {Layout::kTransposed, "transposed"},
    {Layout::kChannelsLast, "channels last"},
    {Layout::kOffset, "with gaps and an offset"},
    {Layout::kExpanded, "expanded"}};
// The tensors among the values, or in lists there, in another layout; false if it changes none.
bool lay_out(std::vector<Value>& values, Layout layout);

}  // namespace torchlet::op_cases
