#include "prepare/compare/observe.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "api/arguments.h"
#include "api/deep_copy.h"
#include "api/loaded_model.h"
#include "device/partition.h"
#include "graph/clone.h"
#include "graph/event_sink.h"
#include "graph/module_path.h"
#include "graph/operator.h"
#include "graph/prim_kinds.h"
#include "ops/random/random.h"
#include "passes/analysis/alias.h"
#include "passes/analysis/constants.h"
#include "passes/analysis/effects.h"
#include "passes/inline.h"
#include "passes/pipeline.h"
#include "tensor/tensor_impl.h"

namespace torchlet::prepare {

// Hears which nodes the steps of a run end with.
class StepSink : public EventSink {
 public:
  void record(const Event& event) override {
    if (!event.node || event.kernel == kCompileEvent || event.kernel == kSegmentEvent ||
        event.kernel == kPartEvent) {
      return;
    }
    nodes_.insert(event.node);
  }
  bool heard(const Node* node) const { return nodes_.contains(node); }
  void add(const Node* node) { nodes_.insert(node); }
  // The graph that ran, node by node in the order of a walk.
  std::vector<Node*> walk;
  std::unique_ptr<Graph> graph;

 private:
  std::unordered_set<const Node*> nodes_;
};

namespace {

// Whom the observing nodes of this thread's run tell what they see; null if nobody runs one.
thread_local const ObservedMethod::See* hearer = nullptr;

void observe(const Operator&, std::span<Value> arguments, std::span<Value>) {
  if (hearer && arguments[0].is_tensor()) {
    (*hearer)(static_cast<size_t>(arguments[1].to_int()), arguments[0].to_tensor());
  }
}

// No program can name it: it is not in the list of operators. Its effect keeps it out of segments.
const Operator& observing_operator() {
  static constexpr Facts kFacts{.varies_unless = ""};
  static const Operator op{Symbol("torchlet::observe"),
                           parse_schema("torchlet::observe(Tensor x, int number) -> ()"),
                           observe,
                           nullptr,
                           nullptr,
                           &kFacts};
  return op;
}

void walk_into(const Block& block, std::vector<Node*>& nodes) {
  for (Node* node : block) {
    nodes.push_back(node);
    for (const Block* inner : node->blocks()) walk_into(*inner, nodes);
  }
}

// All nodes; in the same order for a copy of the graph.
std::vector<Node*> walk(const Graph& graph) {
  std::vector<Node*> nodes;
  walk_into(*graph.block(), nodes);
  return nodes;
}

void insert_observer(Node& node, size_t output, size_t number, bool at_end) {
  Graph& graph = *node.graph();
  Node* constant = graph.create(prim::kConstant);
  constant->set_attribute("value", Value(static_cast<int64_t>(number)));
  constant->add_output(types::integer());
  Node* observer =
      graph.create(observing_operator().name, {node.output(output), constant->output()});
  observer->set_op(&observing_operator());
  observer->set_range(node.range());
  observer->set_inlined_call(node.inlined_call());
  if (at_end) {
    node.owner()->append(constant);
    node.owner()->append(observer);
  } else {
    constant->insert_after(&node);
    observer->insert_after(constant);
  }
}

bool gives_view(const Node& node) {
  return passes::returns_alias(node) && !passes::writes_inputs(node);
}

// The method as it was written, with its calls inlined.
std::unique_ptr<Graph> inlined(Function& function) {
  constexpr int kMostLevels = 200;
  std::unique_ptr<Graph> graph = clone_graph(function.graph());
  for (int level = 0; level < kMostLevels && passes::inline_calls(*graph, function); ++level) {
  }
  return clone_graph(*graph);
}

// A device may tell nothing of what it does inside of a segment; what it gives is then known by the
// nodes that leave the segment.
void add_ends_of_silent_segments(StepSink& steps) {
  for (const Node* segment : walk(*steps.graph)) {
    if (segment->kind() != prim::kSegment) continue;
    std::vector<Node*> inside;
    walk_into(*segment->block(0), inside);
    const auto is_heard = [&](const Node* node) { return steps.heard(node); };
    if (std::ranges::any_of(inside, is_heard)) continue;
    for (const SsaValue* output : segment->block(0)->outputs()) {
      const Node* node = output->node();
      while (gives_view(*node) && !node->inputs().empty()) node = node->input(0)->node();
      steps.add(node);
    }
  }
}

std::string name_of(const Node& node, size_t output) {
  const std::string name = node.op()->schema.full_name();
  return output == 0 ? name : name + ", result " + std::to_string(output);
}

std::string calls_of(const Node& node) {
  std::string text;
  for (const InlinedCall* at = node.inlined_call().get(); at; at = at->caller.get()) {
    if (!at->range.empty()) text += (text.empty() ? "" : " < ") + at->range.where();
  }
  return text;
}

bool is_plain(const Type& type) {
  switch (type.kind()) {
    case TypeKind::kInt:
    case TypeKind::kFloat:
    case TypeKind::kBool:
    case TypeKind::kString:
    case TypeKind::kNone:
    case TypeKind::kNumber:
    case TypeKind::kDevice:
      return true;
    default:
      return false;
  }
}

// What the value is made of, one step back: what its node reads, or what a block gives or takes.
std::vector<const SsaValue*> one_step_back(const SsaValue& value) {
  static const Symbol kParam("prim::Param");
  const Node& node = *value.node();
  std::vector<const SsaValue*> from;
  if (node.kind() == kParam) {
    const Node* loop = node.owner()->owner();
    if (!loop || loop->kind() != prim::kLoop || value.index() == 0) return {};
    return {loop->input(value.index() + 1), loop->block(0)->outputs()[value.index()]};
  }
  if (node.kind() == prim::kIf) {
    for (const Block* block : node.blocks()) from.push_back(block->outputs()[value.index()]);
  } else if (node.kind() == prim::kLoop) {
    from = {node.input(value.index() + 2), node.block(0)->outputs()[value.index() + 1]};
  } else {
    from.assign(node.inputs().begin(), node.inputs().end());
    for (const Block* block : node.blocks()) {
      from.insert(from.end(), block->outputs().begin(), block->outputs().end());
    }
  }
  return from;
}

}  // namespace

ObservedMethod::ObservedMethod(const Module& module, const std::string& method, bool every_operator)
    : model_(LoadedModel::handle_of(module)),
      self_(LoadedModel::object_of(module)),
      every_operator_(every_operator) {
  module.get_method(method);  // says which there are if there is none
  function_ = self_.object_ref().type->find_method(method);
  const LoadedProgram& program = *model_->program;
  const LimitScope scope = program.limits->scope();
  passes::Optimized optimized = passes::optimize(*function_, self_, {});
  const passes::WriteSet& writes = optimized.writes;
  changes_model_ = writes.all || writes.unknown || !writes.slots.empty() || !writes.names.empty() ||
                   !writes.memory.empty();
  if (program.runs_as_written()) {
    graph_ = inlined(*function_);
    every_operator_ = true;
  } else {
    graph_ = std::move(optimized.graph);
    devices_ = device::make_devices(program.options.devices, device_config(program.options));
  }
  find_candidates();
}

ObservedMethod::~ObservedMethod() = default;

void ObservedMethod::find_candidates() {
  const passes::AliasAnalysis aliases(*graph_);
  const std::vector<Node*> nodes = walk(*graph_);
  for (size_t i = 0; i < nodes.size(); ++i) {
    const Node& node = *nodes[i];
    const Node* last = node.owner()->last();
    if (!node.op() || gives_view(node) || last->kind() == prim::kRaiseException) continue;
    for (size_t output = 0; output < node.outputs().size(); ++output) {
      const SsaValue* value = node.output(output);
      if (!value->type()->is(TypeKind::kTensor)) continue;
      const bool is_written = aliases.is_written(value);
      // Memory as it was found, which somebody fills later.
      if (is_written && node.op()->facts->varies_unless && !passes::writes_inputs(node)) continue;
      candidates_.push_back({i, output, !devices_.empty() && !is_written});
    }
  }
}

Value ObservedMethod::run_candidates(const std::vector<Value>& inputs,
                                     std::span<const size_t> candidates, See see,
                                     StepSink* steps) const {
  const LoadedProgram& program = *model_->program;
  const LimitScope scope = program.limits->scope();
  std::unique_ptr<Graph> graph = clone_graph(*graph_);
  const std::vector<Node*> nodes = walk(*graph);
  for (const size_t c : candidates) {
    const Candidate& candidate = candidates_[c];
    insert_observer(*nodes[candidate.node], candidate.output, c, candidate.at_end);
  }
  device::partition(*graph, devices_, std::make_shared<device::PlacementLog>());
  const interp::Code code = interp::flatten(*graph);

  const std::vector<Value> given = api::deep_copy(Value::tuple(inputs)).to_tuple();
  std::vector<Value> arguments;
  api::bind_arguments(function_->schema(), changes_model_ ? api::deep_copy(self_) : self_, given,
                      {}, arguments);
  ops::seed_random(0);
  struct Hearing {
    explicit Hearing(const See& see) : before(std::exchange(hearer, &see)) {}
    ~Hearing() { hearer = before; }
    const See* before;
  } const hearing(see);
  const EventScope events(steps);
  Value output = program.interpreter.call(*function_, code, arguments);
  if (steps) {
    steps->walk = nodes;
    steps->graph = std::move(graph);
  }
  return output;
}

Value ObservedMethod::survey(const std::vector<Value>& inputs) {
  std::vector<size_t> all;
  Value output;
  if (!devices_.empty()) {
    StepSink steps;
    output = run_candidates(
        inputs, {}, [](size_t, const Tensor&) {}, &steps);
    add_ends_of_silent_segments(steps);
    for (Candidate& candidate : candidates_) {
      candidate.is_step = every_operator_ || steps.heard(steps.walk[candidate.node]);
    }
  }
  for (size_t c = 0; c < candidates_.size(); ++c) {
    if (candidates_[c].is_step) all.push_back(c);
  }
  std::map<size_t, ObservedNode> found;
  const Value observed_output = run_candidates(inputs, all, [&](size_t c, const Tensor& tensor) {
    ObservedNode& node = found[c];
    if (node.times++ == 0) {
      node.tensor = tensor.describe();
      node.sizes.assign(tensor.sizes().begin(), tensor.sizes().end());
    }
    node.bytes += static_cast<size_t>(tensor.numel()) * element_size(tensor.dtype());
  });
  const std::vector<Node*> nodes = walk(*graph_);
  for (auto& [c, observed] : found) {
    const Node& node = *nodes[candidates_[c].node];
    observed.op = name_of(node, candidates_[c].output);
    observed.module_path = inlined_module_path(node);
    if (!node.range().empty()) observed.place = node.range().where();
    observed.calls = calls_of(node);
    observed_.push_back(std::move(observed));
    candidate_of_.push_back(c);
  }
  find_inputs();
  return devices_.empty() ? observed_output : output;
}

void ObservedMethod::find_inputs() {
  const std::vector<Node*> nodes = walk(*graph_);
  // What could be observed and did not run, in a branch that was not taken, leads nowhere.
  constexpr size_t kDidNotRun = static_cast<size_t>(-1);
  std::unordered_map<const SsaValue*, size_t> index;
  const auto value_of = [&](const Candidate& candidate) {
    return nodes[candidate.node]->output(candidate.output);
  };
  for (const Candidate& candidate : candidates_) {
    if (candidate.is_step) index[value_of(candidate)] = kDidNotRun;
  }
  for (size_t i = 0; i < observed_.size(); ++i) {
    index[value_of(candidates_[candidate_of_[i]])] = i;
  }
  for (const auto& [value, i] : index) {
    if (i == kDidNotRun) continue;
    std::vector<const SsaValue*> open = one_step_back(*value);
    std::unordered_set<const SsaValue*> seen;
    std::vector<size_t>& inputs = observed_[i].inputs;
    while (!open.empty()) {
      const SsaValue* from = open.back();
      open.pop_back();
      if (is_plain(*from->type()) || !seen.insert(from).second) continue;
      if (const auto found = index.find(from); found != index.end()) {
        if (found->second != kDidNotRun) inputs.push_back(found->second);
        continue;
      }
      const auto before = one_step_back(*from);
      open.insert(open.end(), before.begin(), before.end());
    }
    std::ranges::sort(inputs);
  }
}

void ObservedMethod::run(const std::vector<Value>& inputs, std::span<const size_t> nodes,
                         See see) const {
  std::vector<size_t> candidates;
  std::unordered_map<size_t, size_t> node_of;
  for (const size_t node : nodes) {
    candidates.push_back(candidate_of_[node]);
    node_of[candidate_of_[node]] = node;
  }
  run_candidates(inputs, candidates,
                 [&](size_t c, const Tensor& tensor) { see(node_of.at(c), tensor); });
}

}  // namespace torchlet::prepare
