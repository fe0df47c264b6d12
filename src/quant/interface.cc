#include "quant/interface.h"

#include <charconv>

#include "graph/operator.h"
#include "ops/engines/quantize.h"
#include "passes/analysis/constants.h"
#include "tensor/tensor_impl.h"

namespace torchlet::quant {
namespace {

const Symbol kQuantize("aten::quantize_per_tensor"), kDequantize("aten::dequantize");

// What quantizes the argument, if nobody but those who ask for its sizes reads it otherwise.
Node* quantization_of(const SsaValue& argument, std::string& objection) {
  Node* quantization = nullptr;
  for (Node* user : argument.users()) {
    if (user->kind() == kQuantize && !quantization) {
      quantization = user;
    } else if (!user->op() || user->op()->facts->looks_at != LooksAt::kSizes) {
      objection = "the argument '" + argument.name() + "' goes into " + user->kind().str() +
                  ", which computes with real numbers";
      return nullptr;
    }
  }
  if (!quantization) objection = "the argument '" + argument.name() + "' is not quantized";
  return quantization;
}

// As Python reads it, exactly.
std::string number(double value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value, std::chars_format::scientific);
  return {text, end.ptr};
}

}  // namespace

Interface take_quantized(Graph& graph) {
  Interface interface;
  std::vector<Node*> quantizations;
  for (size_t i = 1; i < graph.inputs().size(); ++i) {
    Node* node = quantization_of(*graph.inputs()[i], interface.objection);
    if (!node) return interface;
    quantizations.push_back(node);
    interface.inputs.push_back({passes::constant_argument(*node, "scale")->to_double(),
                                passes::constant_argument(*node, "zero_point")->to_int()});
  }
  Node* last = graph.outputs()[0]->node();
  if (graph.outputs().size() != 1 || last->kind() != kDequantize) {
    interface.objection = "the result is computed in real numbers, by " + last->kind().str();
    return interface;
  }
  graph.block()->replace_output(0, last->input(0));
  if (last->output()->users().empty()) last->destroy();
  for (Node* node : quantizations) {
    node->output()->replace_all_uses_with(node->input(0));
    node->destroy();
  }
  return interface;
}

std::vector<Value> quantized_arguments(std::span<const Value> arguments,
                                       std::span<const InputQuantization> inputs) {
  std::vector<Value> quantized;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const auto quantizer = per_tensor_quantizer(inputs[i].scale, inputs[i].zero_point);
    quantized.emplace_back(ops::quantize(arguments[i].to_tensor(), DType::kQUInt8, quantizer));
  }
  return quantized;
}

std::string wrapper_of(const Graph& core_graph, const std::string& name, const std::string& core,
                       const Interface& interface) {
  std::string arguments, quantized;
  for (size_t i = 0; i < interface.inputs.size(); ++i) {
    const std::string& hint = core_graph.inputs()[i + 1]->name();
    const std::string argument = hint.empty() ? "argument_" + std::to_string(i + 1) : hint;
    arguments += ", " + argument + ": Tensor";
    quantized += (i == 0 ? "" : ", ") + ("torch.quantize_per_tensor(" + argument) + ", " +
                 number(interface.inputs[i].scale) + ", " +
                 std::to_string(interface.inputs[i].zero_point) + ", 13)";
  }
  return "def " + name + "(self" + arguments + ") -> Tensor:\n  return torch.dequantize(self." +
         core + "(" + quantized + "))\n";
}

}  // namespace torchlet::quant
