// Bytecode -> graph.
//
// PyTorch emits code from a graph (torch/csrc/jit/runtime/interpreter/code_impl.h): a branch is JF,
// its blocks and a JMP between them, a loop is LOOP, its body and a JMP back, and what blocks give
// lies on the stack. So code that PyTorch wrote has a structured form, which is found again; other
// code runs as a state machine.
#pragma once

#include <memory>

#include "graph/graph.h"
#include "lite/bytecode.h"

namespace torchlet::lite {

class BytecodeProgram;

// The schema of a function; its arguments have no types and names of our own before version 4.
Schema schema_of(const BytecodeFunction& function, const TypePtr& self_type);

// Error kFileFormat, at the instruction, for code that goes astray. The graph is verified.
std::unique_ptr<Graph> translate(const BytecodeFunction& function, const Schema& schema,
                                 BytecodeProgram& program);

}  // namespace torchlet::lite
