// What the handles of a loaded model share.
#pragma once

#include <torchlet/module.h>

#include <memory>

#include "api/optimized_methods.h"
#include "api/survey.h"
#include "interp/interpreter.h"
#include "script/compilation_unit.h"

namespace torchlet {

// Of one file: also shared by deep copies.
struct LoadedProgram {
  LoadedProgram(script::Program program, const Options& options)
      : unit(std::move(program)),
        interpreter(options.print),
        device(options.device),
        precision(options.precision) {}

  ModelInfo info;
  script::CompilationUnit unit;
  interp::Interpreter interpreter;  // its code points into the unit's graphs
  Device device;
  Precision precision;
  api::Survey survey;
};

// Of one tree of modules.
struct LoadedModel {
  explicit LoadedModel(std::shared_ptr<LoadedProgram> p)
      : program(std::move(p)), methods(program->precision) {}

  std::shared_ptr<LoadedProgram> program;
  api::OptimizedMethods methods;

  static Module root(std::shared_ptr<LoadedModel> model, Value object) {
    return Module(std::move(model), std::move(object));
  }
};

}  // namespace torchlet
