// What a file holds, before it has a container.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/loaded_model.h"
#include "archive/pickle_writer.h"
#include "base/byte_sink.h"
#include "lite/bytecode.h"
#include "lite/write/debug_tables.h"
#include "script/compilation_unit.h"
#include "script/program_printer.h"

namespace torchlet::prepare {

struct SavedModel {
  Value root;
  archive::StateOf state_of;
  // The source and its constants; none if the model was read from bytecode alone and the file will
  // hold bytecode.
  script::PrintedProgram program;
  std::optional<lite::Bytecode> bytecode;
  lite::DebugTables debug;                        // of the bytecode
  std::unique_ptr<script::CompilationUnit> unit;  // of the bytecode's types; may be null
  // The least version whose readers understand the operators as they are meant.
  int operator_version = 0;
  std::map<std::string, std::string> extra_files;
};

// Of the object `root`, which may be another than the program's own. `methods` are added to those
// of its class: TorchScript, with classes by their qualified names, not indented. The program must
// outlive the result. Errors as of save().
SavedModel model_with_source(const LoadedProgram& program, const Value& root,
                             const std::string& methods = {});
// With bytecode, too, and without source if the program was read from bytecode alone.
SavedModel model_with_bytecode(const LoadedProgram& program, const Value& root, int version);

// The file will not tell places in the original Python.
void drop_debug_info(SavedModel& model);

// A zip archive of pickles: TorchScript, or with bytecode a file of the Lite Interpreter.
void write_archive(const SavedModel& model, ByteSink& sink);
// A flatbuffer of the Lite Interpreter; the model has bytecode.
void write_flatbuffer(const SavedModel& model, ByteSink& sink);

}  // namespace torchlet::prepare
