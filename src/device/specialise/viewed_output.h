// Which tensors that leave a segment have to lie in memory as in the program.
#pragma once

#include "graph/graph.h"

namespace torchlet::device {

// May an operator behind `output`, outside of the segment that gives it, tell how it lies?
bool is_viewed(const SsaValue& output);

}  // namespace torchlet::device
