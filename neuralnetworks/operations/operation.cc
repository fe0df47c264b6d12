#include "neuralnetworks/operations/operation.h"

#include <algorithm>
#include <deque>
#include <map>
#include <string>

namespace torchlet::nn {

#define NNAPI_OPERATION_ENTRY(name) extern const OperationDef operation_##name;
#include "neuralnetworks/operations/operation_list.inc"
#undef NNAPI_OPERATION_ENTRY

namespace {

constexpr const OperationDef* kOperations[] = {
#define NNAPI_OPERATION_ENTRY(name) &operation_##name,
#include "neuralnetworks/operations/operation_list.inc"
#undef NNAPI_OPERATION_ENTRY
};

using Signatures = std::map<const OperationDef*, std::deque<Signature>>;

const Signatures& all_signatures() {
  static const Signatures all = [] {
    Signatures made;
    for (const OperationDef* def : kOperations) {
      for (const char* text : def->signatures) made[def].push_back(parse_signature(text));
    }
    return made;
  }();
  return all;
}

}  // namespace

std::span<const OperationDef* const> all_operations() { return kOperations; }

const OperationDef* find_operation(int32_t code) {
  const auto* found = std::ranges::find(kOperations, code, &OperationDef::code);
  return found == std::end(kOperations) ? nullptr : *found;
}

const Signature* find_signature(const OperationDef& def, const Model& model,
                                const Operation& operation) {
  for (const Signature& signature : all_signatures().at(&def)) {
    if (fits(signature, model, operation)) return &signature;
  }
  return nullptr;
}

}  // namespace torchlet::nn
