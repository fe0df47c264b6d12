// Runs a program on the cpu device and compares with the reference.
#pragma once

#include <optional>

#include "evaluator.h"

namespace torchlet::random_graphs {

// How much of what ran did so the fast way.
struct Coverage {
  int64_t segments = 0, planned = 0;  // runs of segments, and those that a plan ran
  int64_t steps = 0, kernels = 0;     // operators and steps of plans, and those that have a kernel

  Coverage& operator+=(const Coverage& other);
};

// What is wrong; nothing if all is right.
std::optional<std::string> find_difference(const Program& program, Expressions& expressions,
                                           Coverage& coverage);

}  // namespace torchlet::random_graphs
