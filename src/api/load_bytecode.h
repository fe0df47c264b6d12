// Loads as a build without the compiler of TorchScript does (docs/small.md).
#pragma once

#include <torchlet/module.h>

#include <string>

namespace torchlet::api {

// From the bytecode of a Lite Interpreter file, even if it holds source, too. Error kUnsupported if
// there is source alone.
Module load_bytecode(const std::string& path, const Options& options);

}  // namespace torchlet::api
