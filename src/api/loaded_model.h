// What all handles of one loaded model share.
#pragma once

#include <torchlet/module.h>

#include <memory>

#include "api/survey.h"
#include "interp/interpreter.h"
#include "script/compilation_unit.h"

namespace torchlet {

struct LoadedModel {
  LoadedModel(script::Program program, const Options& options)
      : unit(std::move(program)), interpreter(options.print) {}

  ModelInfo info;
  script::CompilationUnit unit;
  interp::Interpreter interpreter;  // its code points into the unit's graphs
  api::Survey survey;

  static Module root(std::shared_ptr<LoadedModel> model, Value object) {
    return Module(std::move(model), std::move(object));
  }
};

}  // namespace torchlet
