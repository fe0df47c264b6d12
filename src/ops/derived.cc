#include "ops/derived.h"

#include <algorithm>

#include "base/error.h"
#include "ops/common.h"
#include "tensor/containers.h"

namespace torchlet::ops {
namespace {

void run_inplace(const Operator& op, std::span<Value> args, std::span<Value> results) {
  const Tensor self = args[0].to_tensor();
  Value result;
  op.base->call(args, {&result, 1});
  results[0] = Value(assign(self, result.to_tensor()));
}

void run_inplace_view(const Operator& op, std::span<Value> args, std::span<Value> results) {
  const Tensor self = args[0].to_tensor();
  Value result;
  op.base->call(args, {&result, 1});
  become_view(self, result.to_tensor());
  results[0] = Value(self);
}

void run_copied(const Operator& op, std::span<Value> args, std::span<Value> results) {
  op.base->call(args, results);
  for (Value& result : results) {
    if (result.is_tensor()) {
      result = Value(result.to_tensor().clone());
    } else {
      std::vector<Tensor> views = result.to_tensor_list();
      for (Tensor& view : views) view = view.clone();
      result = make_tensor_list(std::move(views));
    }
  }
}

void run_functional(const Operator& op, std::span<Value> args, std::span<Value> results) {
  args[0] = Value(args[0].to_tensor().clone());
  op.base->call(args, results);
}

void run_out(const Operator& op, std::span<Value> args, std::span<Value> results) {
  const size_t arity = op.base->schema.arguments.size();
  const std::vector<Value> outs(args.begin() + static_cast<std::ptrdiff_t>(arity), args.end());
  op.base->call(args.first(arity), results);
  for (size_t i = 0; i < outs.size(); ++i) {
    const Tensor target = outs[i].to_tensor();
    const Tensor computed = results[i].to_tensor();
    check_castable(computed.dtype(), target.dtype());
    resize_output(target, computed.sizes());
    target.copy_(computed);
    results[i] = Value(target);
  }
}

}  // namespace

Operator inplace_variant(const Operator& base) {
  Operator op = base;
  op.name = Symbol(base.name.str() + "_");
  op.schema.name += "_";
  op.schema.arguments[0].is_aliased = op.schema.arguments[0].is_written = true;
  op.schema.returns[0].is_aliased = op.schema.returns[0].is_written = true;
  op.fn = run_inplace;
  op.base = &base;
  return op;
}

Operator inplace_view_variant(const Operator& base) {
  Operator op = inplace_variant(base);
  op.fn = run_inplace_view;
  return op;
}

Operator copied_variant(const Operator& base) {
  Operator op = base;
  op.name = Symbol(base.name.str() + "_copy");
  op.schema.name += "_copy";
  op.schema.arguments[0].is_aliased = op.schema.returns[0].is_aliased = false;
  op.fn = run_copied;
  op.base = &base;
  return op;
}

Operator functional_variant(const Operator& base) {
  Operator op = base;
  op.schema.name.pop_back();  // the underscore
  op.name = Symbol(op.schema.name);
  op.schema.arguments[0].is_aliased = op.schema.arguments[0].is_written = false;
  op.schema.returns[0].is_aliased = op.schema.returns[0].is_written = false;
  op.fn = run_functional;
  op.base = &base;
  return op;
}

Operator out_variant(const Operator& base, std::string_view overload) {
  Operator op = base;
  const size_t open = overload.find('(');
  op.schema.overload = overload.substr(0, open);
  std::string_view names = open == std::string_view::npos
                               ? "out"
                               : overload.substr(open + 1, overload.size() - open - 2);
  while (!names.empty()) {
    const size_t comma = std::min(names.find(','), names.size());
    Argument argument;
    argument.name = names.substr(0, comma);
    argument.type = types::tensor();
    argument.keyword_only = argument.is_aliased = argument.is_written = true;
    op.schema.arguments.push_back(std::move(argument));
    names.remove_prefix(std::min(comma + 1, names.size()));
    while (names.starts_with(' ')) names.remove_prefix(1);
  }
  op.fn = run_out;
  op.base = &base;
  return op;
}

}  // namespace torchlet::ops
