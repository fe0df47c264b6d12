// What in a program can be quantized.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace torchlet::quant {

enum class LayerKind {
  kConv,  // with constant weights
  kLinear,
  kAdd,  // of two tensors
  kMul,
  kCat,
  kActivation,  // a function of an element with a range of its own
  kUnit,  // one whose result PyTorch always quantizes in the same way: sigmoid in steps of 1/256
  kQuantStub,  // where the model says that real numbers become quantized (quant/stubs.h)
};

// A node, and the activation that becomes part of it.
struct Layer {
  LayerKind kind;
  Node* node = nullptr;
  Node* activation = nullptr;  // a ReLU or what clamps; may be null
  bool relu = false;           // the activation cuts below zero
  bool outside = false;        // of what the model's stubs say is quantized
  std::vector<SsaValue*>
      inputs;  // real numbers that it computes with, as they stand in the program
  SsaValue* output() const { return (activation ? activation : node)->output(); }
  Node* last() const { return activation ? activation : node; }
  std::string path, op;  // as in LayerReport
};

// Of kConv: what aten::conv2d and its like have in common. Of kLinear only the tensors count.
struct WeightedLayer {
  Tensor weight, bias;  // float32; [out, in...]; bias may be undefined
  std::vector<int64_t> stride, padding, dilation;
  int64_t groups = 1;
};

// In the order of the program, with inner blocks, without what reads memory that the program
// writes. The same graph, or a copy of it, gives the same layers.
std::vector<Layer> find_layers(Graph& graph);

// Of kConv and kLinear.
WeightedLayer weights_of(const Layer& layer);

// What a node cuts its input to, with 0 in between (low <= 0 <= high): ReLU, ReLU6, Hardtanh,
// clamp. Nothing if it is none of these.
struct Clamp {
  double low, high;  // may be infinite
};
std::optional<Clamp> clamp_of(const Node& node);

// Does the operator run on a quantized tensor in place of its first argument and give one that is
// quantized in the same way: views, pooling, resizing, ReLU? In PyTorch 1.13, too.
bool follows_quantization(const Node& node);

// The part of its values that matter to the only user of `value`: hardswish(x) is 0 below -3. The
// whole line if there are other users.
struct Useful {
  float low, high;
};
Useful useful_part(const SsaValue& value);

}  // namespace torchlet::quant
