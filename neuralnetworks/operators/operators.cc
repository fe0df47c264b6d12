#include "neuralnetworks/operators/operators.h"

#include <map>
#include <string>

#include "ops/core/op.h"

namespace torchlet::ops {
#define NNAPI_OPERATOR_ENTRY(id) extern const OpDef op_##id;
#include "neuralnetworks/operators/operator_list.inc"
#undef NNAPI_OPERATOR_ENTRY
}  // namespace torchlet::ops

namespace torchlet::nn {
namespace {

constexpr const ops::OpDef* kOwn[] = {
#define NNAPI_OPERATOR_ENTRY(id) &ops::op_##id,
#include "neuralnetworks/operators/operator_list.inc"
#undef NNAPI_OPERATOR_ENTRY
};

std::map<std::string, Operator, std::less<>> make_operators() {
  std::map<std::string, Operator, std::less<>> all;
  for (const ops::OpDef* def : kOwn) {
    const std::string schema = ops::unpack_schema(def->schema);
    const std::string name = ops::unpack_schema_name(def->schema);
    const OperatorFn fn = def->function->signature
                              ? ops::call_typed
                              : static_cast<const ops::BoxedFunction*>(def->function)->fn;
    all.emplace(name, Operator{Symbol(name), parse_schema(schema), fn, nullptr, def->function,
                               &def->traits->facts});
  }
  return all;
}

}  // namespace

const Operator* find_own_operator(std::string_view name) {
  static const auto* all = new auto(make_operators());
  const auto found = all->find(name);
  return found == all->end() ? nullptr : &found->second;
}

}  // namespace torchlet::nn
