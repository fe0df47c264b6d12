// The method that is quantized, and the model with another one in its place.
#pragma once

#include <torchlet/module.h>

#include <memory>
#include <string>
#include <vector>

#include "graph/function.h"
#include "passes/analysis/read_write_sets.h"

namespace torchlet::quant {

// Error kNotFound for an unknown method, kInvalidArgument if a module is in training mode.
struct Program {
  Program(const Module& model, const std::string& method);
  Module model;
  std::string name;
  Value self;
  Function* method;
  // Inlined, with attributes as constants and batch norms folded. Stubs are nodes (quant/stubs.h).
  std::unique_ptr<Graph> graph;
  passes::WriteSet writes;  // what running it may change
};

// The model whose method runs this graph, or, if `wrapper` is TorchScript for a method of that
// name, whose method `core` runs it. Objects of C++ classes among its constants become attributes,
// as PyTorch has them. What only the old method needed is gone: methods that it calls, but for
// those in `preserve`, and submodules and tensors that no method reads.
Module with_method(const Program& program, std::unique_ptr<Graph> graph,
                   const std::vector<std::string>& preserve, const std::string& wrapper = {});
inline constexpr char kCoreMethod[] = "core";
// May the model get a method of that name?
bool can_have_core(const Program& program);

}  // namespace torchlet::quant
