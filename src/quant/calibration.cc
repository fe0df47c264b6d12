#include "quant/calibration.h"

#include <algorithm>

#include "base/error.h"
#include "graph/clone.h"
#include "quant/probe.h"

namespace torchlet::quant {
namespace {

// Adds the sums over all but the channels: dimension 1 of images and lines, else the last one.
void add_channel_sums(const Tensor& tensor, LayerKind kind, std::vector<double>& sums,
                      double& count) {
  const int64_t axis =
      kind == LayerKind::kConv ? tensor.dim() - (tensor.dim() >= 4 ? 3 : 2) : tensor.dim() - 1;
  if (axis < 0 || tensor.numel() == 0) return;
  const Tensor dense = tensor.contiguous();
  const int64_t channels = dense.size(axis);
  int64_t inner = 1;
  for (int64_t d = axis + 1; d < dense.dim(); ++d) inner *= dense.size(d);
  const int64_t outer = dense.numel() / (channels * inner);
  sums.resize(static_cast<size_t>(channels));
  const float* data = dense.data_ptr<float>();
  for (int64_t o = 0; o < outer; ++o) {
    for (double& sum : sums) {
      double part = 0;
      for (int64_t i = 0; i < inner; ++i) part += static_cast<double>(*data++);
      sum += part;
    }
  }
  count += static_cast<double>(outer * inner);
}

}  // namespace

Value run_call(const std::function<Value()>& run, size_t call) {
  try {
    return run();
  } catch (Error& error) {
    error.add_context("calibration input " + std::to_string(call));
    throw;
  }
}

Calibration::Calibration(const Graph& graph, std::span<const Layer> layers, Function& method,
                         const Value& self, std::span<const std::vector<Value>> calls,
                         const std::function<void(double)>& progress)
    : values_(layers.size()), channel_counts_(layers.size()), shown_(layers.size()) {
  ProbedGraph probed(clone_graph(graph), method, self);
  const std::vector<Layer> copies = find_layers(probed.graph());
  for (size_t i = 0; i < layers.size(); ++i) {
    std::vector<SsaValue*> shown = copies[i].inputs;
    shown.push_back(copies[i].output());
    probed.add_probe(i, copies[i].last(), std::move(shown));
    std::vector<const SsaValue*> values(layers[i].inputs.begin(), layers[i].inputs.end());
    values.push_back(layers[i].output());
    for (const SsaValue* value : values) {
      auto& observer = observers_[value];
      shown_[i].push_back(observer ? nullptr : (observer = std::make_unique<Observer>()).get());
    }
  }
  for (size_t call = 0; call < calls.size(); ++call) {
    if (progress) progress(static_cast<double>(call) / static_cast<double>(calls.size()));
    run_call(
        [&] {
          return probed.run(calls[call], [&](size_t number, std::span<const Value> values) {
            see(number, layers[number], values);
          });
        },
        call);
  }
  for (size_t i = 0; i < layers.size(); ++i) {
    for (double& mean : values_[i].input_means) mean /= std::max(channel_counts_[i], 1.0);
  }
}

void Calibration::see(size_t number, const Layer& layer, std::span<const Value> values) {
  LayerValues& seen = values_[number];
  seen.ran = true;
  const auto is_float = [](const Value& value) {
    return value.is_tensor() && value.to_tensor().dtype() == DType::kFloat32;
  };
  if (!std::ranges::all_of(values, is_float)) {
    seen.is_float32 = false;
    return;
  }
  std::vector<Tensor> tensors;
  for (const Value& value : values) tensors.push_back(value.to_tensor());
  for (size_t i = 0; i < tensors.size(); ++i) {
    seen.is_image = seen.is_image && tensors[i].dim() == 4;
    if (Observer* observer = shown_[number][i]) observer->add(tensors[i]);
  }
  for (size_t i = 1; i < layer.inputs.size(); ++i) {
    seen.same_sizes = seen.same_sizes && std::ranges::equal(tensors[i].sizes(), tensors[0].sizes());
  }
  if (layer.kind == LayerKind::kConv || layer.kind == LayerKind::kLinear) {
    add_channel_sums(tensors[0], layer.kind, seen.input_means, channel_counts_[number]);
  }
}

}  // namespace torchlet::quant
