#pragma once

#include <torchlet/options.h>
#include <torchlet/value.h>

#include <string>
#include <vector>

namespace torchlet::cli {

// `torchlet run MODEL --calls REQUEST --save FOLDER`: runs the calls of a JSON file and writes
// FOLDER/results.json, both in the notation of json_values.h:
//
//   {"calls": [{"method", "inputs": [VALUE...], "kwargs": {NAME: VALUE}}...], "stateful": BOOL}
//   {"results": [{"status": "ok", "output": VALUE, "inputs_after": [VALUE...]} or
//                {"status": "error", "message": TEXT}...]}
//
// One result for each call. With "stateful" the calls share one module; otherwise each begins with
// the module as it was loaded. A model with operators that Torchlet does not have is loaded, and
// the calls that reach one fail. Throws if the model cannot be loaded or the request is malformed.
void run_calls(const std::string& model, const std::string& request, const std::string& folder,
               Options options);

// What the first call of such a file names; its arguments all stand in "inputs". Error
// kInvalidArgument if there is none.
struct RequestedCall {
  std::string method;
  std::vector<Value> inputs;
};
RequestedCall first_call(const std::string& request);

}  // namespace torchlet::cli
