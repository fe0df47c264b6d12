// What `torchlet explain` has found, and the page that shows it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "device/placement_choice.h"
#include "prepare/explain/advice.h"
#include "prepare/explain/explain.h"

namespace torchlet::cli {

struct Explained {
  std::string model, method;
  std::optional<device::PlacementChoice> tuned;  // what was kept for such a call
  bool follows_tuned = false;                    // what was explained is that
  std::vector<device::DroppedDevice> dropped;
  prepare::Explanation explanation;
  std::vector<prepare::Advice> advice;
};

// Texts that all forms share.
std::string call_text(const Explained& explained);  // "forward(float32 [1, 3, 64, 64]), 2 threads"
std::string devices_text(const Explained& explained);  // "nnapi (torchlet-cpu 0.1.0), cpu"
std::string tuned_text(const Explained& explained);
std::string compile_text(const prepare::Explanation& explanation);
// What drivers tell of their hardware; empty if they do not.
std::string hardware_text(const prepare::Explanation& explanation);
std::string time_text(const Explained& explained);
std::string segment_text(const prepare::Explanation& explanation,
                         const prepare::ExplainedSegment& segment);
// "functional.py:1990, in a; functional.py:1990, in b; 6 more"
std::string places_text(const std::vector<std::string>& places, size_t most);

// The file of --report.
std::string explanation_page(const Explained& explained);

}  // namespace torchlet::cli
