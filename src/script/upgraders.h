// Operators that meant something else in older files
// (torch/csrc/jit/operator_upgraders/{version_map,upgraders_entry}.cpp).
//
// What such an operator did then is written as a function in today's TorchScript; a call of it in
// an old file becomes a call of that function.
#pragma once

#include <string_view>

#include "graph/function.h"
#include "graph/schema.h"

namespace torchlet::script {

struct Upgrader {
  std::string_view op;         // "aten::div.Tensor"
  int until;                   // files with an operator version below this have the old meaning
  std::string_view old_text;   // the schema then
  std::string_view body_name;  // its function in the source of the upgraders

  const Schema& old_schema() const;
  Function* function() const;
};

// How a file of `version` understands the operator; null if as today. Thread-safe; upgraders live
// for the whole process.
const Upgrader* find_upgrader(const Schema& op, int version);
// The least version whose files understand the operator as today; 0 if all do.
int version_of_meaning(const Schema& op);

}  // namespace torchlet::script
