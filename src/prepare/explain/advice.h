// What to change so that a model gains on its devices, by what was measured.
#pragma once

#include <string>
#include <vector>

#include "prepare/explain/explain.h"

namespace torchlet::prepare {

struct Advice {
  // "leave out", "tune", "join", "layout", "sizes", "calls", "quantize"
  std::string kind, device;
  std::string text;
  double gain = 0;               // seconds of a run that this may save; 0 if nobody can tell
  std::vector<size_t> segments;  // that it is about, of Explanation::segments
};

// Those with the greatest gain first. `module` and `inputs` are what was explained: a change of
// layout is tried.
std::vector<Advice> advise(const Explanation& explanation, const Module& module,
                           const std::vector<Value>& inputs, const ExplainOptions& options);

// A model in its quantized form, on the same devices and on the processor alone.
Advice advise_quantized(const Explanation& real, const Explanation& quantized);

}  // namespace torchlet::prepare
