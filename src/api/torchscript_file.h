// The bytes of a TorchScript file (docs/convert.md).
#pragma once

#include <map>
#include <string>

#include "api/loaded_model.h"
#include "base/byte_sink.h"

namespace torchlet::api {

// The model of `root` and the program that it needs. `methods` are added to those of its class:
// TorchScript, with its classes by their qualified names, not indented. Errors as of save().
void write_torchscript(const LoadedProgram& program, const Value& root, ByteSink& sink,
                       const std::map<std::string, std::string>& extra_files = {},
                       const std::string& methods = {});

}  // namespace torchlet::api
