// The random program of a seed.
#pragma once

#include "evaluator.h"

namespace torchlet::random_graphs {

Program generate(uint64_t seed, Expressions& expressions);

}  // namespace torchlet::random_graphs
