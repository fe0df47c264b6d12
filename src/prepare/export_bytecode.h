// The methods of a model as Lite Interpreter bytecode.
#pragma once

#include <torchlet/value.h>

#include "lite/bytecode.h"
#include "lite/write/debug_tables.h"
#include "script/compilation_unit.h"

namespace torchlet::prepare {

// All methods of the module `root`, __getstate__ and __setstate__ of the objects that are reachable
// from it, and the methods that are looked up while they run, each with its calls inlined. With a
// `unit` they are those of its classes, which have the same names and attributes. Error
// kUnsupported for what bytecode cannot say, kInvalidArgument unless the version is 4 to 8. Where
// the instructions come from is added to `debug`, which may be null.
lite::Bytecode export_bytecode(const Value& root, script::CompilationUnit* unit, int version,
                               lite::DebugTables* debug);

}  // namespace torchlet::prepare
