#include "passes/evaluate.h"

#include <algorithm>
#include <chrono>

#include "base/limits.h"
#include "graph/prim_kinds.h"
#include "passes/analysis/constants.h"
#include "tensor/containers.h"
#include "tensor/tensor_impl.h"

namespace torchlet::passes {
namespace {

// A constant may be larger than what it is computed from, up to this: zeros([1000, 1000]) is
// cheaper to make than to keep, the positional biases of 12 heads of 197 pixels are not.
constexpr size_t kMaxGrowth = size_t{2} << 20;
// What computing one may hold, and what its inputs allow: 16 bytes for each of theirs, and the time
// to read them from a slow disk.
constexpr size_t kMaxBytes = size_t{32} << 20, kBytesPerByte = 16;
constexpr double kSecondsPerByte = 20e-9;

size_t bytes_of(const std::vector<Value>& values) {
  size_t sum = 0;
  for (const Value& value : values) {
    for_each_part(value, [&](const Value& part) {
      if (part.is_tensor()) {
        const TensorImpl& tensor = *part.tensor_impl();
        sum += static_cast<size_t>(tensor.numel) * element_size(tensor.dtype);
      } else if (part.is_list()) {
        sum += part.list_ref().items.size() * sizeof(Value);
      }
      return true;
    });
  }
  return sum;
}

bool call(const Node& node, std::vector<Value> inputs, std::vector<Value>& results) {
  const TypePtr& type = node.output()->type();
  if (node.kind() == prim::kTupleConstruct) {
    results[0] = Value(make_ref<Tuple>(std::move(inputs), type->name().empty() ? nullptr : type));
    return true;
  }
  if (node.kind() == prim::kListConstruct) {
    if (!type->is(TypeKind::kList)) return false;
    results[0] = make_list(type->element(0), std::move(inputs));
    return true;
  }
  if (node.kind() == prim::kTupleUnpack || node.kind() == prim::kListUnpack) {
    if (!inputs[0].is_tuple() && !inputs[0].is_list()) return false;
    const auto& items =
        inputs[0].is_tuple() ? inputs[0].tuple_ref().items : inputs[0].list_ref().items;
    if (items.size() != results.size()) return false;
    results = items;
    return true;
  }
  if (node.kind() == prim::kTupleIndex) {
    if (!inputs[0].is_tuple() || !inputs[1].is_int()) return false;
    const auto& items = inputs[0].tuple_ref().items;
    const auto size = static_cast<int64_t>(items.size());
    const int64_t given = inputs[1].to_int(), at = given < 0 ? given + size : given;
    if (at < 0 || at >= size) return false;
    results[0] = items[static_cast<size_t>(at)];
    return true;
  }
  if (!node.op()) return false;
  const auto& arguments = node.op()->schema.arguments;
  for (size_t i = inputs.size(); i < arguments.size() && !node.op()->schema.is_vararg; ++i) {
    inputs.push_back(arguments[i].default_value ? *arguments[i].default_value : Value());
  }
  try {
    node.op()->call(inputs, results);
    return true;
  } catch (const std::exception&) {
    return false;  // it is an error of the run, if one gets there
  }
}

}  // namespace

bool evaluate(const Node& node, const std::vector<Value>& inputs, FoldBudget& budget,
              std::vector<Value>& results) {
  if (budget.seconds <= 0) return false;
  const size_t given = bytes_of(inputs);
  const MemoryBudget memory(kMaxBytes + kBytesPerByte * given);
  const double more = kSecondsPerByte * static_cast<double>(given);
  const auto begin = std::chrono::steady_clock::now();
  bool evaluated;
  {
    const LimitScope scope(&memory, budget.seconds + more);
    evaluated = call(node, inputs, results);
  }
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  budget.seconds -= std::max(taken.count() - more, 0.0);
  poll();  // what is over may be the time of the call
  return evaluated;
}

bool may_grow(const std::vector<Value>& given, const std::vector<Value>& made, FoldBudget& budget) {
  const size_t before = bytes_of(given), after = bytes_of(made);
  const size_t growth = after > before ? after - before : 0;
  if (growth > std::min(kMaxGrowth, budget.growth)) return false;
  budget.growth -= growth;
  return true;
}

void replace_by_constant(SsaValue& output, const Value& value) {
  TypePtr type = output.type();
  if (value.is_none()) {
    type = types::none();
  } else if (type->is(TypeKind::kOptional)) {
    type = type->element(0);
  }
  SsaValue* constant = insert_constant(output.node(), value, std::move(type));
  constant->set_name(output.name());
  output.replace_all_uses_with(constant);
}

}  // namespace torchlet::passes
