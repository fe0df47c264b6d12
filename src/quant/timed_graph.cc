#include "quant/timed_graph.h"

#include "api/arguments.h"
#include "api/loaded_model.h"
#include "device/partition.h"
#include "graph/event_sink.h"
#include "passes/analysis/constants.h"
#include "passes/pipeline.h"

namespace torchlet::quant {
namespace {

using NodeOfCall = std::unordered_map<const InlinedCall*, const Node*>;

class StepClock : public EventSink {
 public:
  explicit StepClock(const NodeOfCall& node_of_call) : node_of_call_(node_of_call) {}
  void record(const Event& event) override {
    if (!event.node || event.kernel == kCompileEvent || event.kernel == kSegmentEvent ||
        event.kernel == kPartEvent) {
      return;
    }
    const auto found = node_of_call_.find(event.node->inlined_call().get());
    if (found != node_of_call_.end()) seconds_[found->second] += event.end - event.begin;
  }
  std::unordered_map<const Node*, double> take() { return std::move(seconds_); }

 private:
  const NodeOfCall& node_of_call_;
  std::unordered_map<const Node*, double> seconds_;
};

}  // namespace

// The program's method with another body.
class TimedGraph::Method final : public Function {
 public:
  Method(Function& original, const Graph& graph) : original_(original), graph_(graph) {}
  const std::string& qualified_name() const override { return original_.qualified_name(); }
  const Schema& schema() override { return original_.schema(); }
  const Graph& graph() override { return graph_; }

 private:
  Function& original_;
  const Graph& graph_;
};

TimedGraph::TimedGraph(std::unique_ptr<Graph> graph, const Program& program)
    : program_(program),
      given_(std::move(graph)),
      method_(std::make_unique<Method>(*program.method, *given_)) {
  passes::for_each_node(*given_->block(), [&](Node& node) {
    auto call = std::make_shared<InlinedCall>();
    call->caller = node.inlined_call();
    node_of_call_.emplace(call.get(), &node);
    node.set_inlined_call(std::move(call));
  });
  const LoadedProgram& loaded = *LoadedModel::of(program.model).program;
  if (!loaded.runs_as_written()) {
    devices_ = device::make_devices(loaded.options.devices, device_config(loaded.options));
  }
  graph_ = passes::optimize(*method_, program.self, {}).graph;
  device::partition(*graph_, devices_, std::make_shared<device::PlacementLog>());
  code_ = std::make_unique<interp::Code>(interp::flatten(*graph_));
}

TimedGraph::~TimedGraph() = default;

void TimedGraph::call(std::span<const Value> arguments) const {
  const LoadedProgram& loaded = *LoadedModel::of(program_.model).program;
  const LimitScope unlimited{limits::Current()};  // other calls have used up the time of this scope
  const LimitScope scope = loaded.limits->scope();
  std::vector<Value> bound;
  api::bind_arguments(method_->schema(), program_.self, arguments, {}, bound);
  loaded.interpreter.call(*method_, *code_, bound);
}

double TimedGraph::run(std::span<const Value> arguments) const {
  const double begin = event_clock();
  call(arguments);
  return event_clock() - begin;
}

std::unordered_map<const Node*, double> TimedGraph::run_by_step(
    std::span<const Value> arguments) const {
  StepClock clock(node_of_call_);
  const EventScope scope(&clock);
  call(arguments);
  return clock.take();
}

}  // namespace torchlet::quant
