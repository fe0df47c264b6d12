#include "quant/probe.h"

#include "api/arguments.h"

namespace torchlet::quant {
namespace {

const Symbol kProbe("quant::probe");

// Whom the thread's run shows its values.
thread_local const ProbedGraph::Listener* listener_of_run = nullptr;

class ListenerScope {
 public:
  explicit ListenerScope(const ProbedGraph::Listener& listener)
      : before_(std::exchange(listener_of_run, &listener)) {}
  ~ListenerScope() { listener_of_run = before_; }
  ListenerScope(const ListenerScope&) = delete;
  ListenerScope& operator=(const ListenerScope&) = delete;

 private:
  const ProbedGraph::Listener* before_;
};

}  // namespace

struct ProbedGraph::Probe : Operator {
  explicit Probe(size_t probe_number)
      : Operator{kProbe, parse_schema("quant::probe(...) -> ()"), show}, number(probe_number) {}
  size_t number;

  static void show(const Operator& op, std::span<Value> values, std::span<Value> /*results*/) {
    (*listener_of_run)(static_cast<const Probe&>(op).number, values);
  }
};

class ProbedGraph::Method final : public Function {
 public:
  Method(Function& original, const Graph& graph) : original_(original), graph_(graph) {}
  const std::string& qualified_name() const override { return original_.qualified_name(); }
  const Schema& schema() override { return original_.schema(); }
  const Graph& graph() override { return graph_; }

 private:
  Function& original_;
  const Graph& graph_;
};

ProbedGraph::ProbedGraph(std::unique_ptr<Graph> graph, Function& method, Value self)
    : graph_(std::move(graph)),
      method_(std::make_unique<Method>(method, *graph_)),
      self_(std::move(self)) {}

ProbedGraph::~ProbedGraph() = default;

void ProbedGraph::add_probe(size_t number, Node* after, std::vector<SsaValue*> values) {
  probes_.push_back(std::make_unique<Probe>(number));
  Node* node = graph_->create(kProbe, std::move(values));
  node->set_op(probes_.back().get());
  node->insert_after(after);
}

Value ProbedGraph::run(std::span<const Value> arguments, const Listener& listener) {
  if (!code_) code_ = std::make_unique<interp::Code>(interp::flatten(*graph_));
  std::vector<Value> bound;
  api::bind_arguments(method_->schema(), self_, arguments, {}, bound);
  const ListenerScope scope(listener);
  return interpreter_.run(*method_, *code_, std::move(bound));
}

}  // namespace torchlet::quant
