// The content of bytecode.pkl: what parse_bytecode() reads.
#pragma once

#include "lite/bytecode.h"

namespace torchlet::lite {

Value pickled_bytecode(const Bytecode& bytecode);

}  // namespace torchlet::lite
