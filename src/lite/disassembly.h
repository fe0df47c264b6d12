// Bytecode as text, which stands for the source in messages and in nodes' places.
#pragma once

#include <memory>

#include "graph/source_range.h"
#include "lite/bytecode.h"
#include "lite/debug_info.h"

namespace torchlet::lite {

// "bytecode of __torch__.Net.forward", a line for each instruction: "OP aten::conv2d". Its origin
// are the places in Python that `debug` (may be null) tells.
std::shared_ptr<const Source> disassemble(const BytecodeFunction& function,
                                          const DebugTable* debug);

}  // namespace torchlet::lite
