// `torchlet bench --memory`: where the process's memory is.
#pragma once

#include <cstdint>
#include <string>

#include "cli/json_values.h"

namespace torchlet::cli {

// The most that the process held, in bytes, since it began or since forget_peak() was called, which
// is Linux's alone: elsewhere, and where /proc is not there, it is always since it began.
uint64_t peak_memory();
void forget_peak();

// Peaks of what a benchmark does one after the other, bytes.
struct MemoryPhases {
  uint64_t load = 0, first_run = 0, steady = 0;  // the first run compiles
};

// What is resident now, by what it is for. `model` is the file that was loaded.
struct MemoryReport {
  MemoryPhases peaks;
  uint64_t code = 0;                          // this program and its libraries
  uint64_t model_mapped = 0, model_file = 0;  // of which resident
  uint64_t packed_weights = 0, activations = 0, tensors = 0, idle = 0, rest = 0;
  uint64_t largest_plan = 0, largest_plan_alive = 0;
};
// Error kUnsupported where /proc/self/smaps is not there.
MemoryReport report_memory(const std::string& model, const MemoryPhases& peaks);

std::string text_of(const MemoryReport& report);
Json json_of(const MemoryReport& report);

}  // namespace torchlet::cli
