// That one module gives the answers of another.
#pragma once

#include <torchlet/optimize.h>

#include <string>
#include <vector>

namespace torchlet::prepare {

// Makes each call on copies of both modules: as they are written ("reference"), and on the devices
// that they were loaded for. Arguments that calls change are compared, too; random numbers are the
// same for both. Error kRuntime if a call of `after` gives something else than one of `before`, or
// differs by more than the tolerance (OptimizeOptions), which tells `advice`, too; and what a call
// of `before` throws.
std::vector<OptimizeReport::Proof> prove(const Module& before, const Module& after,
                                         const std::vector<ProofCall>& calls, double tolerance,
                                         const std::string& advice);

}  // namespace torchlet::prepare
