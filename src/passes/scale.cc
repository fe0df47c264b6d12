#include "passes/scale.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "passes/analysis/constants.h"
#include "passes/analysis/effects.h"
#include "passes/analysis/scalable_layer.h"
#include "passes/properties.h"
#include "tensor/tensor_impl.h"

namespace torchlet::passes {
namespace {

const Symbol kMul("aten::mul"), kDiv("aten::div"), kAdd("aten::add"), kSub("aten::sub");

// x * c, x / c, x + alpha * c or x - alpha * c.
struct Arithmetic {
  bool scales, inverts, is_in_place;
};
std::optional<Arithmetic> arithmetic_of(const Node& node) {
  if (!node.op() || node.inputs().size() < 2) return std::nullopt;
  const Operator& op = *node.op();
  const bool is_in_place = op.schema.arguments[0].is_written;
  const Symbol kind = is_in_place && op.base ? op.base->name : op.name;
  // A quotient with a third argument is rounded, a product with one is written to it.
  if (kind == kMul || kind == kDiv) {
    if (node.inputs().size() > 2) return std::nullopt;
    return Arithmetic{true, kind == kDiv, is_in_place};
  }
  if (kind != kAdd && kind != kSub) return std::nullopt;
  if (node.inputs().size() > 3 || op.schema.find_argument("out")) return std::nullopt;
  return Arithmetic{false, kind == kSub, is_in_place};
}

// Products of weights and these neither overflow nor vanish.
bool is_moderate(double factor) {
  const double size = std::abs(factor);
  return factor == 0 || (size >= 0x1p-20 && size <= 0x1p20);
}

// A real number that changes no dtype of what it meets: a Python number, or a tensor of one with
// no more than `dims` dimensions.
std::optional<double> number_of(const Value& value, const ScalableLayer& layer, int64_t dims) {
  if (value.is_int() || value.is_float()) return value.to_double();
  if (!value.is_tensor()) return std::nullopt;
  const Tensor tensor = value.to_tensor();
  if (tensor.numel() != 1 || tensor.dim() > dims || is_complex(tensor.dtype()) ||
      tensor.is_quantized() || (tensor.dim() > 0 && tensor.dtype() != layer.weight.dtype())) {
    return std::nullopt;
  }
  return tensor.to(DType::kFloat64).contiguous().data_ptr<double>()[0];
}

// One number for each channel of the layer's output.
std::optional<std::vector<double>> numbers_of(const Value& value, const ScalableLayer& layer) {
  // A convolution's output has a dimension fewer if it is of one picture.
  const int64_t spatial = layer.is_linear ? 0 : layer.weight.dim() - 2;
  if (const auto number = number_of(value, layer, spatial + 1)) {
    return std::vector<double>(layer.bias.size(), *number);
  }
  if (!value.is_tensor()) return std::nullopt;
  const Tensor tensor = value.to_tensor();
  if (tensor.dim() != spatial + 1 || tensor.size(0) != tensor.numel()) return std::nullopt;
  const Value row(make_view(tensor.contiguous(), IntArray{tensor.numel()}, IntArray{1}, 0));
  return channel_values(&row, layer.channels, 0, layer.weight.dtype());
}

bool fold_into_maker(Node& node, const Arithmetic& arithmetic, const Value& constant,
                     ScaledWeights& weights, ChangeLog* log) {
  const auto layer = sole_scalable_layer(node.input(0), node);
  if (!layer) return false;
  auto numbers = numbers_of(constant, *layer);
  if (!numbers) return false;
  std::vector<double> scale(numbers->size(), 1), bias = layer->bias;
  if (arithmetic.scales) {
    for (size_t c = 0; c < scale.size(); ++c) {
      scale[c] = arithmetic.inverts ? 1 / (*numbers)[c] : (*numbers)[c];
      bias[c] *= scale[c];
    }
    if (!std::ranges::all_of(scale, is_moderate)) return false;
    rescale(*layer, scale, bias, weights);
  } else {
    const Value* alpha = constant_argument(node, "alpha");
    if (!alpha || !(alpha->is_int() || alpha->is_float())) return false;
    const double factor = arithmetic.inverts ? -alpha->to_double() : alpha->to_double();
    for (size_t c = 0; c < bias.size(); ++c) bias[c] += factor * (*numbers)[c];
    replace_weights(*layer, layer->weight, bias);
  }
  if (log) log->note(place_of(node) + " folded into " + place_of(*layer->node));
  node.output()->replace_all_uses_with(layer->node->output());
  node.destroy();
  return true;
}

bool fold_into_reader(Node& product, const Value& constant, ScaledWeights& weights,
                      ChangeLog* log) {
  if (product.output()->users().size() != 1) return false;
  Node& reader = *product.output()->users()[0];
  if (reader.owner() != product.owner() || reader.inputs().empty() ||
      reader.input(0) != product.output() ||
      may_change_between(product.input(0), product, reader)) {
    return false;
  }
  const auto layer = scalable_layer(reader);
  if (!layer) return false;
  // A product with a number may be the first thing that is no integer.
  const auto dtypes = known_dtypes(*product.graph());
  const auto dtype = dtypes.find(product.input(0));
  if (dtype == dtypes.end() || dtype->second != layer->weight.dtype()) return false;
  const auto number = number_of(constant, *layer, 0);
  if (!number || !is_moderate(*number)) return false;
  rescale(*layer, std::vector<double>(layer->bias.size(), *number), layer->bias, weights);
  if (log) log->note(place_of(product) + " folded into " + place_of(reader));
  product.output()->replace_all_uses_with(product.input(0));
  product.destroy();
  return true;
}

bool fold(Node& node, ScaledWeights& weights, ChangeLog* log) {
  const auto arithmetic = arithmetic_of(node);
  const Value* constant = arithmetic ? constant_of(node.input(1)) : nullptr;
  if (!constant) return false;
  if (fold_into_maker(node, *arithmetic, *constant, weights, log)) return true;
  return arithmetic->scales && !arithmetic->inverts && !arithmetic->is_in_place &&
         fold_into_reader(node, *constant, weights, log);
}

}  // namespace

bool fold_scales(Graph& graph, ChangeLog* log) {
  bool changed = false;
  ScaledWeights weights;
  for_each_node(*graph.block(), [&](Node& node) { changed = fold(node, weights, log) || changed; });
  return changed;
}

}  // namespace torchlet::passes
