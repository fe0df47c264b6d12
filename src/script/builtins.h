// Operators and overloads that are written in TorchScript: those that PyTorch itself defines so
// (torch/csrc/jit/frontend/builtin_functions.cpp: a number combined with a tensor, properties of
// tensors, which old files call by name), and those that have nothing to do here.
#pragma once

#include <span>

#include "graph/function.h"
#include "graph/symbol.h"

namespace torchlet::script {

// The functions that are overloads of `op`; they come behind its operators. Thread-safe; they live
// for the whole process.
std::span<Function* const> find_builtin_functions(Symbol op);
// The operator that such a function stands for; empty for any other function.
std::string_view builtin_operator(const Function* function);

// A function of TorchScript that is part of Torchlet: `source` is compiled once for the whole
// process, as the package `package`.
class OwnFunctions {
 public:
  OwnFunctions(const char* package, std::string_view source);
  // Error kInternal if there is none of that name.
  Function* find(std::string_view name) const;

 private:
  const std::string package_;
  class CompilationUnit* unit_;  // never destroyed, as functions may run until the process ends
};

}  // namespace torchlet::script
