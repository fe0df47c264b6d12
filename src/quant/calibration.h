// What the values of a program's layers look like when it runs on given inputs.
#pragma once

#include <torchlet/value.h>

#include <functional>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "graph/function.h"
#include "quant/layers.h"
#include "quant/observer.h"

namespace torchlet::quant {

// What a run of the program saw of one layer.
struct LayerValues {
  bool ran = false;
  bool is_float32 = true;           // all tensors
  bool same_sizes = true;           // the inputs, in every call
  bool is_image = true;             // all tensors have four dimensions
  std::vector<double> input_means;  // of a layer with weights: by channel of its input
};

class Calibration {
 public:
  // Runs the graph, whose layers are `layers`, with each of the calls' arguments. `method` says
  // what these are. Errors as of the run, with the number of the input.
  Calibration(const Graph& graph, std::span<const Layer> layers, Function& method,
              const Value& self, std::span<const std::vector<Value>> calls,
              const std::function<void(double)>& progress);

  const LayerValues& values(size_t layer) const { return values_[layer]; }
  // Of an input or the output of a layer.
  const Observer& observer(const SsaValue* value) const { return *observers_.at(value); }

 private:
  // The observers of what a layer's probe shows; null where that of another layer shows it, too.
  using Shown = std::vector<Observer*>;
  void see(size_t number, const Layer& layer, std::span<const Value> values);

  std::vector<LayerValues> values_;
  std::vector<double> channel_counts_;
  std::unordered_map<const SsaValue*, std::unique_ptr<Observer>> observers_;
  std::vector<Shown> shown_;
};

// The error with the number of the call that failed.
Value run_call(const std::function<Value()>& run, size_t call);

}  // namespace torchlet::quant
