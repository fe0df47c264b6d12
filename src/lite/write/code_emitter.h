// Graph -> bytecode: the way back of lite/translate.h.
//
// The code has the form that PyTorch gives it (torch/csrc/jit/runtime/interpreter/code_impl.h). The
// values of a block follow each other in registers of their own, a branch is JF and JMP, a loop
// LOOP and JMP, and what their blocks give lies on the stack.
#pragma once

#include "graph/graph.h"
#include "lite/bytecode.h"
#include "lite/write/code_form.h"
#include "lite/write/debug_tables.h"

namespace torchlet::lite {

// The code of `function`, which has a name and a schema: its tables, instructions and
// register_size. All calls are inlined in `graph`, but for those of methods that are looked up in
// an object. Error kUnsupported, with its place, for what the mobile runtime has no instruction
// for. With `debug`, instructions have handles of it.
void emit_code(const Graph& graph, const CodeForm& form, BytecodeFunction& function,
               DebugTables* debug = nullptr);

// The least version whose files understand the operators in the code as today.
int version_of_operators(const Bytecode& bytecode);

}  // namespace torchlet::lite
