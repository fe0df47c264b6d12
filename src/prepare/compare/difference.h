// How far one value is from another.
#pragma once

#include <torchlet/compare.h>
#include <torchlet/value.h>

#include <vector>

namespace torchlet::prepare {

// Tensors with elements of any dtype. Memory of the size of a few thousand elements is used.
Difference measure(const Tensor& a, const Tensor& b);

bool is_within(const Difference& difference, const CompareOptions& options);

// The parts of what a method gives, with `name` in front of theirs. What is neither tensor nor
// number has to be equal; where the structures differ there is one part, which is not within.
std::vector<ComparedOutput> compare_outputs(const Value& a, const Value& b,
                                            const CompareOptions& options,
                                            const std::string& name = "output");

}  // namespace torchlet::prepare
