#include "quant/timed_graph.h"

#include "api/arguments.h"
#include "api/loaded_model.h"
#include "device/partition.h"
#include "graph/event_sink.h"

namespace torchlet::quant {
namespace {

class StepClock : public EventSink {
 public:
  void record(const Event& event) override {
    if (event.node && event.kernel != kCompileEvent) {
      seconds_[event.node] += event.end - event.begin;
    }
  }
  std::unordered_map<const Node*, double> take() { return std::move(seconds_); }

 private:
  std::unordered_map<const Node*, double> seconds_;
};

}  // namespace

TimedGraph::TimedGraph(std::unique_ptr<Graph> graph, const Program& program)
    : program_(program), graph_(std::move(graph)) {
  const LoadedProgram& loaded = *LoadedModel::of(program.model).program;
  if (!loaded.runs_as_written()) {
    devices_ = device::make_devices(loaded.options.devices, {loaded.options.precision});
  }
  device::partition(*graph_, devices_, std::make_shared<device::PlacementLog>());
  code_ = std::make_unique<interp::Code>(interp::flatten(*graph_));
}

TimedGraph::~TimedGraph() = default;

void TimedGraph::call(std::span<const Value> arguments) const {
  std::vector<Value> bound;
  api::bind_arguments(program_.method->schema(), program_.self, arguments, {}, bound);
  const LoadedProgram& loaded = *LoadedModel::of(program_.model).program;
  loaded.interpreter.call(*program_.method, *code_, bound);
}

double TimedGraph::run(std::span<const Value> arguments) const {
  const double begin = event_clock();
  call(arguments);
  return event_clock() - begin;
}

std::unordered_map<const Node*, double> TimedGraph::run_by_step(
    std::span<const Value> arguments) const {
  StepClock clock;
  const EventScope scope(&clock);
  call(arguments);
  return clock.take();
}

}  // namespace torchlet::quant
