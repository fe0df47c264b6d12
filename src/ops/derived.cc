#include "ops/derived.h"

#include <algorithm>

#include "base/error.h"
#include "ops/common.h"

namespace torchlet::ops {
namespace {

void run_inplace(const Operator& op, std::span<Value> args, std::span<Value> results) {
  const Tensor self = args[0].to_tensor();
  Value result;
  op.base->call(args, {&result, 1});
  results[0] = Value(assign(self, result.to_tensor()));
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
