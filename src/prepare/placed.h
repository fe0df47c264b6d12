// Copies of a loaded model on other devices, for those who measure.
#pragma once

#include <torchlet/module.h>

#include <string>
#include <vector>

#include "device/partition.h"
#include "device/placement_choice.h"

namespace torchlet::prepare {

inline constexpr char kCpu[] = "cpu";

// A copy of the module on devices of its own. The first `num_off` of them are switched off: they
// take the same and compile nothing, so that what comes after them runs it, cut as it is with them.
Module placed(const Module& module, const std::vector<std::string>& devices,
              const device::SegmentKeys& left, size_t num_off = 0);

// A call as kept placements know it (device/placement_choice.h).
struct KnownCall {
  std::string method;  // its qualified name
  device::CallSignature signature;
};
// Error if the method does not take these inputs.
KnownCall known_call(const Module& module, const std::string& method,
                     const std::vector<Value>& inputs);

device::RunTimes times_of(std::vector<double> seconds);

// How far the answers of a placement are from the processor's.
struct AnswerDifference {
  double max_abs = 0, sqnr = 0;
  std::string problem;  // why they are wrong; empty if they are not
};
inline constexpr char kWrongAnswers[] = "its answers differ";  // begins such a problem
// Wrong is what has another structure, or less than `min_sqnr` decibels.
AnswerDifference difference(const Value& exact, const Value& result, double min_sqnr);

}  // namespace torchlet::prepare
