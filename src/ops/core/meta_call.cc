#include "ops/core/meta_call.h"

#include <algorithm>

#include "tensor/containers.h"

namespace torchlet::ops {
namespace {

// Does it hold for a tensor that the value is or, in a list, holds?
template <typename Test>
bool any_tensor(const Value& value, const Test& test) {
  if (value.is_tensor()) return test(value.to_tensor());
  return value.is_list() && std::ranges::any_of(value.list_ref().items, [&](const Value& item) {
           return any_tensor(item, test);
         });
}

bool gives_views(const Operator& op) {
  return std::ranges::any_of(op.schema.returns, [](const Argument& result) {
    return result.is_aliased && !result.is_written;
  });
}

bool tells(const Operator& op, const std::vector<Value>& arguments) {
  const auto has_meta = [](const Value& value) { return any_tensor(value, is_meta); };
  const auto has_no_storage = [](const Value& value) {
    return any_tensor(value, [](const Tensor& tensor) { return !tensor.impl()->storage; });
  };
  if (std::ranges::any_of(arguments, has_no_storage)) return false;  // sparse, nested
  if (gives_views(op)) {
    // A view may still read another tensor than the first, as where to begin.
    return op.facts->runs_on_meta || std::none_of(arguments.begin() + 1, arguments.end(), has_meta);
  }
  return op.facts->runs_on_meta;
}

}  // namespace

Value meta_value(const Value& value) {
  if (value.is_tensor()) {
    return value.tensor_impl()->storage ? Value(meta_like(value.to_tensor())) : value;
  }
  if (!any_tensor(value, [](const Tensor&) { return true; })) return value;
  std::vector<Value> items;
  for (const Value& item : value.list_ref().items) items.push_back(meta_value(item));
  return make_list(value.list_ref().element_type, std::move(items));
}

std::optional<std::vector<Value>> call_on_meta(const Operator& op, std::vector<Value> arguments) {
  if (!tells(op, arguments)) return std::nullopt;
  std::vector<Value> results(op.schema.returns.size());
  const MetaScope scope;
  op.call(arguments, results);
  return results;
}

}  // namespace torchlet::ops
