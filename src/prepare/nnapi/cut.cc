#include "prepare/nnapi/cut.h"

#include <algorithm>

#include "api/deep_copy.h"
#include "base/limits.h"
#include "device/nnapi/lower/lowering.h"
#include "device/partition.h"
#include "device/specialise/signature.h"
#include "graph/prim_kinds.h"
#include "graph/segment.h"
#include "interp/interpreter.h"
#include "passes/analysis/constants.h"
#include "passes/analysis/effects.h"
#include "tensor/containers.h"

namespace torchlet::prepare {
namespace {

using device::SpecialisedSegment;
using Reasons = std::unordered_map<const Node*, std::string>;

// For the partition: nothing is compiled here.
class NnapiWords final : public device::Device {
 public:
  NnapiWords(const Reasons& refused, size_t least_operators)
      : refused_(refused), least_operators_(least_operators) {}

  const char* name() const override { return "nnapi"; }
  std::string refusal(const Node& node) const override {
    if (const auto found = refused_.find(&node); found != refused_.end()) return found->second;
    if (node.op()->schema.is_vararg) return "it takes any number of arguments";
    return nnapi::find_lowering(node.kind()) ? "" : "NNAPI has no operation for it";
  }
  device::EntryCost entry_cost() const override { return {least_operators_}; }
  device::Compilation compile(SpecialisedSegment&) override { return {nullptr, "it is written"}; }

 private:
  const Reasons& refused_;
  size_t least_operators_;
};

// Keeps what the segment is first called with, and has its block run.
class Listener final : public Segment {
 public:
  bool run(std::span<const Value> inputs, std::span<Value>) override {
    if (!inputs_) inputs_.emplace(inputs.begin(), inputs.end());
    return false;
  }
  const std::optional<std::vector<Value>>& inputs() const { return inputs_; }

 private:
  std::optional<std::vector<Value>> inputs_;
};

class GraphFunction final : public Function {
 public:
  GraphFunction(Function& method, const Graph& graph) : method_(method), graph_(graph) {}
  const std::string& qualified_name() const override { return method_.qualified_name(); }
  const Schema& schema() override { return method_.schema(); }
  const Graph& graph() override { return graph_; }

 private:
  Function& method_;
  const Graph& graph_;
};

// With a copy of the arguments.
void run_as_written(Function& method, const Graph& graph, const std::vector<Value>& arguments) {
  GraphFunction function(method, graph);
  interp::Interpreter().run(function, api::deep_copy(Value::list(arguments)).list_ref().items);
}

bool is_tensor_like(const Type& type) {
  if (type.is(TypeKind::kTensor)) return true;
  return (type.is(TypeKind::kOptional) || type.is(TypeKind::kList)) &&
         is_tensor_like(*type.element(0));
}

// What torch.classes._nnapi.Compilation.run() takes and gives.
bool can_enter(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kInt32 || dtype == DType::kQUInt8;
}

// Can a program ask whether it is the same number?
bool is_number(const Value& value, const Type& type) {
  if (value.is_none()) return true;
  switch (type.kind()) {
    case TypeKind::kInt:
    case TypeKind::kBool:
    case TypeKind::kFloat:
    case TypeKind::kString:
      return true;
    case TypeKind::kList:
      return type.element(0)->is(TypeKind::kInt);
    default:
      return false;
  }
}

// To be kept in the file.
bool is_large(const Value& value) {
  constexpr int64_t kMost = int64_t{1} << 18;
  return value.is_tensor() && value.tensor_impl()->numel > kMost;
}

bool is_view(const Node& node) {
  return std::ranges::any_of(node.op()->schema.returns, &Argument::is_aliased) &&
         !passes::writes_inputs(node);
}

class Cutter {
 public:
  Cutter(Graph& graph, Function& method, const std::vector<Value>& arguments,
         const CutOptions& options)
      : graph_(graph), method_(method), arguments_(arguments), options_(options) {}

  Cut run() {
    while (!is_cut()) {
      poll();
      for (Node* segment : segments()) dissolve(*segment);
    }
    // Those of which nothing could be refused, since all is numbers.
    for (Node* segment : segments()) {
      if (std::ranges::find(cut_.segments, segment, &CutSegment::node) == cut_.segments.end()) {
        dissolve(*segment);
      }
    }
    explain();
    return std::move(cut_);
  }

 private:
  // False, with more in `refused_`, if NNAPI does not take all of the segments.
  bool is_cut() {
    const std::shared_ptr<device::Device> words =
        std::make_shared<NnapiWords>(refused_, options_.least_operators);
    device::partition(graph_, {&words, 1}, std::make_shared<device::PlacementLog>());
    std::vector<std::shared_ptr<Listener>> listeners;
    const std::vector<Node*> nodes = segments();
    for (Node* node : nodes) {
      node->set_segment(listeners.emplace_back(std::make_shared<Listener>()));
    }
    run_as_written(method_, graph_, arguments_);
    cut_.segments.clear();
    const size_t known = refused_.size();
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (!listeners[i]->inputs()) {
        refuse_all(*nodes[i], "the example inputs do not lead here");
      } else {
        lower({nodes[i], *listeners[i]->inputs(), {}});
      }
    }
    return refused_.size() == known;
  }

  std::vector<Node*> segments() const {
    std::vector<Node*> all;
    passes::for_each_node(*graph_.block(), [&](Node& node) {
      if (node.kind() == prim::kSegment) all.push_back(&node);
    });
    return all;
  }

  void lower(CutSegment segment) {
    const Node& node = *segment.node;
    try {
      if (!device::Signature::can_have(segment.inputs)) device::decline("a sparse input");
      SpecialisedSegment specialised = device::specialise(node, segment.inputs);
      segment.lowered = nnapi::ModelBuilder(specialised, options_.limits).build();
      for (const device::RefusedCall& refused : segment.lowered.refused) {
        refuse(*specialised.calls[refused.call].node, refused.why);
      }
      if (segment.lowered.refused.empty() && can_be_written(segment, specialised)) {
        cut_.segments.push_back(std::move(segment));
      }
    } catch (const device::Declined& declined) {
      refuse_all(node, declined.why);
    } catch (const Error& error) {
      if (is_limit(error.code())) throw;
      refuse_all(node, error.what());
    }
  }

  // False, with more in `refused_`, if PyTorch cannot hand over what goes in or comes out.
  bool can_be_written(const CutSegment& segment, SpecialisedSegment& specialised) {
    const size_t known = refused_.size();
    if (segment.lowered.model.outputs.empty()) {
      refuse_all(*segment.node, "nothing that it computes depends on the elements of its inputs");
    }
    for (const auto& output : segment.lowered.outputs) {
      if (is_large(output.known))
        refuse_all(*segment.node, "a large tensor that is always the same");
    }
    for (const auto& input : segment.lowered.inputs) {
      if (can_enter(input.binding.dtype)) continue;
      const auto id = static_cast<size_t>(specialised.inputs[input.index].id());
      for (const int user : specialised.tensors[id].users) {
        const auto place = static_cast<size_t>(user);
        if (place >= specialised.calls.size()) continue;
        refuse(*specialised.calls[place].node, "it takes a tensor of " +
                                                   std::string(dtype_name(input.binding.dtype)) +
                                                   ", which PyTorch cannot give to NNAPI");
      }
    }
    for (size_t i = 0; i < segment.inputs.size(); ++i) {
      const Value& input = segment.inputs[i];
      const Type& type = *segment.node->input(i)->type();
      if (input.is_tensor() ? type.is(TypeKind::kTensor) : is_number(input, type)) continue;
      refuse_all(*segment.node, "it takes something else than tensors and numbers");
    }
    for (size_t i = 0; i < segment.lowered.outputs.size(); ++i) {
      const auto& output = segment.lowered.outputs[i];
      if (output.from != nnapi::LoweredSegment::Output::From::kOutput ||
          can_enter(output.binding.dtype)) {
        continue;
      }
      const auto id = static_cast<size_t>(specialised.outputs[i].value.id());
      const auto place = static_cast<size_t>(specialised.tensors[id].producer);
      refuse(*specialised.calls[place].node, "it gives a tensor of " +
                                                 std::string(dtype_name(output.binding.dtype)) +
                                                 ", which PyTorch cannot take from NNAPI");
    }
    return refused_.size() == known;
  }

  void refuse(const Node& node, const std::string& why) { refused_.try_emplace(&node, why); }

  void refuse_all(const Node& segment, const std::string& why) {
    passes::for_each_node(*segment.block(0), [&](Node& node) {
      if (node.op()) refuse(node, why);
    });
  }

  // ---- reasons ----

  void explain() {
    cut_.reasons = refused_;
    const Reasons none;
    const NnapiWords words(none, 1);
    visit_outside(*graph_.block(), [&](const Node& node) {
      if (!node.op() || cut_.reasons.contains(&node)) return;
      cut_.reasons.emplace(&node, reason(node, words));
    });
  }

  static std::string reason(const Node& node, const NnapiWords& words) {
    if (!passes::is_pure(node)) return "it has effects, or its results vary";
    const std::string why = words.refusal(node);
    if (!why.empty()) return why;
    const auto gives_tensors = [](const SsaValue* value) { return is_tensor_like(*value->type()); };
    if (std::ranges::none_of(node.outputs(), gives_tensors)) {
      return "it gives something else than tensors";
    }
    if (is_view(node)) return kViewBetween;
    return "too few operators together to pay for entering NNAPI, or what it gives shares memory "
           "with what stays";
  }

  template <typename Visit>
  static void visit_outside(const Block& block, const Visit& visit) {
    for (const Node* node : block) {
      if (node->kind() == prim::kSegment) continue;
      visit(*node);
      for (const Block* inner : node->blocks()) visit_outside(*inner, visit);
    }
  }

  Graph& graph_;
  Function& method_;
  const std::vector<Value>& arguments_;
  const CutOptions& options_;
  Reasons refused_;
  Cut cut_;
};

}  // namespace

void dissolve(Node& segment) {
  Block& block = *segment.block(0);
  while (Node* node = block.first()) node->move_before(&segment);
  for (size_t i = 0; i < segment.outputs().size(); ++i) {
    segment.output(i)->replace_all_uses_with(block.outputs()[i]);
  }
  segment.destroy();
}

Cut cut_for_nnapi(Graph& graph, Function& method, const std::vector<Value>& arguments,
                  const CutOptions& options) {
  return Cutter(graph, method, arguments, options).run();
}

std::vector<std::optional<CutSegment>> lower_again(Graph& graph, Function& method,
                                                   const std::vector<Value>& arguments,
                                                   const Cut& cut,
                                                   const nnapi::ModelLimits& limits) {
  std::vector<std::shared_ptr<Listener>> listeners;
  for (const CutSegment& segment : cut.segments) {
    segment.node->set_segment(listeners.emplace_back(std::make_shared<Listener>()));
  }
  run_as_written(method, graph, arguments);
  std::vector<std::optional<CutSegment>> again(cut.segments.size());
  for (size_t i = 0; i < listeners.size(); ++i) {
    if (!listeners[i]->inputs()) continue;
    CutSegment segment{cut.segments[i].node, *listeners[i]->inputs(), {}};
    try {
      SpecialisedSegment specialised = device::specialise(*segment.node, segment.inputs);
      segment.lowered = nnapi::ModelBuilder(specialised, limits).build();
    } catch (const device::Declined&) {
      continue;
    }
    if (segment.lowered.refused.empty()) again[i] = std::move(segment);
  }
  return again;
}

}  // namespace torchlet::prepare
