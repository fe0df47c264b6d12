// The calls that bytecode was inlined from, as its debug information tells them.
#pragma once

#include "graph/graph.h"
#include "lite/bytecode.h"

namespace torchlet::lite {

class BytecodeProgram;

// Gives the nodes, whose places are lines of `code` (disassemble), the calls that they were inlined
// for. The file tells only the last attribute on the way to the object of a call ("0"); the way
// itself ("blocks.0") is that of the object that the code then uses.
void add_inlined_calls(Graph& graph, const BytecodeFunction& function, const Source& code,
                       BytecodeProgram& program);

}  // namespace torchlet::lite
