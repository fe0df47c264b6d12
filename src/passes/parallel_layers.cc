#include "passes/parallel_layers.h"

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "base/content_hash.h"
#include "passes/analysis/constants.h"
#include "passes/analysis/effects.h"
#include "passes/analysis/rewrite.h"
#include "passes/analysis/scalable_layer.h"
#include "passes/batch_norm.h"
#include "tensor/containers.h"
#include "tensor/derived_storage.h"
#include "tensor/tensor_impl.h"

namespace torchlet::passes {
namespace {

const Symbol kAdd("aten::add"), kSub("aten::sub"), kBatchNorm("aten::batch_norm");

// How often the second operand is added: 1 or -1; 0 if the node is no such sum.
double sign_of(const Node& node) {
  if (!node.op() || node.op()->schema.overload != "Tensor" || node.inputs().size() != 3) return 0;
  const Operator& op = *node.op();
  const Symbol kind = op.schema.arguments[0].is_written && op.base ? op.base->name : op.name;
  const Value* alpha = constant_argument(node, "alpha");
  if (!alpha || !(alpha->is_int() || alpha->is_float()) || alpha->to_double() != 1) return 0;
  return kind == kAdd ? 1 : kind == kSub ? -1 : 0;
}

// What a layer reads for one pixel, a number for each dimension; a linear layer has none.
struct Window {
  std::vector<int64_t> size, stride, padding, dilation;
  int64_t groups = 1;
};

std::optional<Window> window_of(const ScalableLayer& layer) {
  Window window;
  if (layer.is_linear) return window;
  const IntSpan sizes = layer.weight.sizes();
  window.size.assign(sizes.begin() + 2, sizes.end());
  const Value* groups = constant_argument(*layer.node, "groups");
  if (layer.channel_dim != 0 || !groups || !groups->is_int()) return std::nullopt;
  window.groups = groups->to_int();
  if (window.groups < 1 || window.groups > layer.channels) return std::nullopt;
  const auto read = [&](const char* argument, std::vector<int64_t>& numbers) {
    const Value* list = constant_argument(*layer.node, argument);
    if (!list || !list->is_list()) return false;  // padding="same"
    for (const Value& item : list->list_ref().items) {
      if (!item.is_int() || item.to_int() < 0 || item.to_int() > (1 << 20)) return false;
      numbers.push_back(item.to_int());
    }
    if (numbers.size() == 1) numbers.resize(window.size.size(), numbers[0]);
    return numbers.size() == window.size.size();
  };
  const bool is_known = read("stride", window.stride) && read("padding", window.padding) &&
                        read("dilation", window.dilation);
  return is_known ? std::optional(window) : std::nullopt;
}

// The value itself as a layer of these channels sees it.
Window pixel_of(const Window& window) {
  const std::vector<int64_t> ones(window.size.size(), 1), zeros(window.size.size(), 0);
  return {ones, ones, zeros, ones, window.groups};
}

// Is each pixel of the inner window one of the outer, in its middle?
bool holds(const Window& outer, const Window& inner) {
  if (outer.groups != inner.groups || outer.stride != inner.stride ||
      outer.size.size() != inner.size.size()) {
    return false;
  }
  for (size_t d = 0; d < outer.size.size(); ++d) {
    const int64_t more = outer.size[d] - inner.size[d], dilation = outer.dilation[d];
    if (more < 0 || more % 2 != 0 || (inner.size[d] > 1 && inner.dilation[d] != dilation) ||
        outer.padding[d] - inner.padding[d] != dilation * (more / 2)) {
      return false;
    }
  }
  return true;
}

// Where the inner window's pixels lie in the outer, both row by row.
std::vector<int64_t> places_in(const Window& outer, const Window& inner) {
  std::vector<int64_t> places = {0};
  for (size_t d = 0; d < outer.size.size(); ++d) {
    const int64_t begin = (outer.size[d] - inner.size[d]) / 2;
    std::vector<int64_t> next;
    for (const int64_t place : places) {
      for (int64_t i = 0; i < inner.size[d]; ++i) {
        next.push_back(place * outer.size[d] + begin + i);
      }
    }
    places = std::move(next);
  }
  return places;
}

// What is added to a layer: another one, or each channel of what the layer reads times a number.
struct Addend {
  Node* reader = nullptr;  // reads that value: the other layer, the batch norm or the sum
  Window window;
  Tensor weight;  // undefined, or of the layer's dtype, with as many channels
  std::vector<double> scale, bias;
};

// The input of the layer itself as a layer of so many channels.
std::optional<Addend> residual_of(const ScalableLayer& layer, const Window& window, Node& sum,
                                  SsaValue* value) {
  // A sum in place that writes what the layer reads stays.
  if (value != layer.node->input(0) || layer.weight.size(1) * window.groups != layer.channels ||
      (value == sum.input(0) && sum.op()->schema.arguments[0].is_written)) {
    return std::nullopt;
  }
  const auto count = static_cast<size_t>(layer.channels);
  return Addend{&sum, pixel_of(window), {}, std::vector(count, 1.0), std::vector(count, 0.0)};
}

std::optional<Addend> parallel_of(const ScalableLayer& layer, const Window& window, Node& sum,
                                  SsaValue* value) {
  SsaValue* const read = layer.node->input(0);
  if (const auto other = sole_scalable_layer(value, sum)) {
    const auto inner = window_of(*other);
    if (!inner || other->node->input(0) != read || other->is_linear != layer.is_linear ||
        other->weight.dtype() != layer.weight.dtype() ||
        other->weight.size(0) != layer.weight.size(0) ||
        other->weight.size(1) != layer.weight.size(1)) {
      return std::nullopt;
    }
    return Addend{other->node, *inner, other->weight, {}, other->bias};
  }
  Node* norm = sole_maker(value, sum);
  if (!norm || norm->kind() != kBatchNorm || norm->input(0) != read || layer.is_linear ||
      layer.weight.size(1) * window.groups != layer.channels) {
    return std::nullopt;
  }
  const auto scaling = constant_batch_norm(*norm, layer.channels, layer.weight.dtype());
  if (!scaling) return std::nullopt;
  return Addend{norm, pixel_of(window), {}, scaling->scale, scaling->shift};
}

// Of the rows of a weight from `first` on.
template <typename T>
void add_weights(const Tensor& rows, int64_t first, double factor, const Tensor& other,
                 const std::vector<double>& scale, double other_factor,
                 const std::vector<int64_t>& places, std::byte* to) {
  const Tensor dense = rows.contiguous();
  const int64_t channels = dense.size(0), inputs = dense.size(1), count = dense.numel();
  const int64_t pixels = count / (channels * inputs);
  const T* from = dense.data_ptr<T>();
  T* sums = reinterpret_cast<T*>(to);
  if (factor == 1) {
    std::copy_n(from, count, sums);
  } else {
    for (int64_t i = 0; i < count; ++i) sums[i] = static_cast<T>(from[i] * factor);
  }
  const auto add = [](T& sum, double more) { sum = static_cast<T>(sum + more); };
  if (!other.defined()) {
    for (int64_t c = 0; c < channels; ++c) {
      const int64_t channel = first + c;
      add(sums[(c * inputs + channel % inputs) * pixels + places[0]],
          other_factor * scale[static_cast<size_t>(channel)]);
    }
    return;
  }
  RowReader reader(other);
  const Tensor passing = reader.rows(first, first + channels).contiguous();
  const T* more = passing.data_ptr<T>();
  for (int64_t o = 0; o < channels * inputs; ++o) {
    for (const int64_t place : places) add(sums[o * pixels + place], other_factor * *more++);
  }
}

Tensor merged_weight(const ScalableLayer& layer, double factor, const Addend& addend,
                     double addend_factor, std::vector<int64_t> places) {
  ContentHash id;
  id.add(std::as_bytes(std::span(&factor, 1)));
  id.add(std::as_bytes(std::span(&addend_factor, 1)));
  id.add(std::as_bytes(std::span(places)));
  id.add(std::as_bytes(std::span(addend.scale)));
  if (addend.weight.defined()) id.add(content_hash(addend.weight));
  const auto add =
      layer.weight.dtype() == DType::kFloat32 ? add_weights<float> : add_weights<double>;
  return derived_tensor(
      layer.weight,
      [=, other = addend.weight, scale = addend.scale](const Tensor& rows, int64_t first,
                                                       std::byte* to) {
        add(rows, first, factor, other, scale, addend_factor, places, to);
      },
      id.value());
}

using AddendOf = decltype(&parallel_of);

// The operand at `place` is the layer that stays.
bool merge_into(Node& sum, size_t place, double sign, AddendOf addend_of, ChangeLog* log) {
  const auto layer = sole_scalable_layer(sum.input(place), sum);
  const auto window = layer ? window_of(*layer) : std::nullopt;
  if (!window) return false;
  const auto addend = addend_of(*layer, *window, sum, sum.input(1 - place));
  if (!addend || !holds(*window, addend->window)) return false;
  const SsaValue* read = layer->node->input(0);
  if (may_change_between(read, *layer->node, sum) ||
      (addend->reader != &sum && may_change_between(read, *addend->reader, sum))) {
    return false;
  }
  const double factor = place == 0 ? 1 : sign, addend_factor = place == 0 ? sign : 1;
  std::vector<double> bias(layer->bias.size());
  for (size_t c = 0; c < bias.size(); ++c) {
    bias[c] = factor * layer->bias[c] + addend_factor * addend->bias[c];
  }
  replace_weights(
      *layer,
      merged_weight(*layer, factor, *addend, addend_factor, places_in(*window, addend->window)),
      bias);
  if (log) log->note(place_of(*addend->reader) + " merged into " + place_of(*layer->node));
  sum.output()->replace_all_uses_with(layer->node->output());
  sum.destroy();
  if (addend->reader != &sum) addend->reader->destroy();
  return true;
}

bool merge(Graph& graph, AddendOf addend_of, ChangeLog* log) {
  bool changed = false;
  for_each_node(*graph.block(), [&](Node& node) {
    const double sign = sign_of(node);
    if (sign == 0) return;
    changed = merge_into(node, 0, sign, addend_of, log) ||
              merge_into(node, 1, sign, addend_of, log) || changed;
  });
  return changed;
}

}  // namespace

bool merge_parallel_layers(Graph& graph, ChangeLog* log) { return merge(graph, parallel_of, log); }

bool merge_residuals(Graph& graph, ChangeLog* log) { return merge(graph, residual_of, log); }

}  // namespace torchlet::passes
