#include "quant/layer_times.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <unordered_map>

#include "graph/clone.h"
#include "graph/event_sink.h"
#include "quant/stubs.h"
#include "quant/timed_graph.h"

namespace torchlet::quant {
namespace {

const Symbol kConversionToSteps("aten::quantize_per_tensor"), kConversionToReal("aten::dequantize");

// Calls round() until half a second is over, and a few times in any case.
void repeat(const std::function<void()>& round, const std::function<void(double)>& progress) {
  constexpr double kSeconds = 0.5;
  constexpr size_t kLeast = 5, kMost = 2000;
  const double begin = event_clock();
  for (size_t i = 0; i < kMost && (i < kLeast || event_clock() - begin < kSeconds); ++i) {
    progress(std::min((event_clock() - begin) / kSeconds, 1.0));
    round();
  }
}

RunTime run_time(std::vector<double> seconds) {
  if (seconds.empty()) return {};
  std::ranges::sort(seconds);
  return {seconds.front() * 1e3, seconds[seconds.size() / 2] * 1e3};
}

void collect(const Block& block, std::vector<const Node*>& nodes) {
  for (const Node* node : block) {
    nodes.push_back(node);
    for (const Block* inner : node->blocks()) collect(*inner, nodes);
  }
}

// A node, and those behind it that may be computed in one step with it, since nobody else reads
// what lies between.
using Chain = std::vector<const Node*>;

Chain chain_of(const Node* node) {
  constexpr size_t kLongest = 16;
  Chain chain;
  for (; node && chain.size() < kLongest;) {
    chain.push_back(node);
    const Node* user = nullptr;
    for (const SsaValue* output : node->outputs()) {
      for (const Node* reader : output->users()) {
        if (user && user != reader) return chain;
        user = reader;
      }
    }
    node = user;
  }
  return chain;
}

// One of the two forms of the program: what stands for its layers, and the steps that these turn
// out to be part of. The chains are those of the graph before it is given to devices.
class Form {
 public:
  explicit Form(size_t layers) : chains_(layers), steps_(layers) {}

  size_t size() const { return chains_.size(); }
  void add(size_t layer, const Node* node) { chains_[layer].push_back(chain_of(node)); }
  // A step computes the last node of a chain's beginning.
  void find_steps(const std::unordered_map<const Node*, double>& seconds) {
    for (size_t i = 0; i < chains_.size(); ++i) {
      for (const Chain& chain : chains_[i]) {
        const auto ran = [&](const Node* node) { return seconds.contains(node); };
        const auto step = std::ranges::find_if(chain, ran);
        if (step != chain.end()) steps_[i].insert(*step);
      }
    }
  }
  const std::set<const Node*>& steps(size_t layer) const { return steps_[layer]; }
  void add_step(size_t layer, const Node* node) { steps_[layer].insert(node); }

 private:
  std::vector<std::vector<Chain>> chains_;
  std::vector<std::set<const Node*>> steps_;
};

// Which layer a conversion is there for: the first that takes what is quantized, the one that made
// what becomes real; none if that is an argument's or a result's.
std::optional<size_t> layer_of_conversion(const Node& conversion,
                                          const std::unordered_map<const Node*, size_t>& layer_at) {
  if (conversion.kind() == kConversionToReal) {
    for (const Node* node = conversion.input(0)->node(); node;) {
      if (const auto found = layer_at.find(node); found != layer_at.end()) return found->second;
      node = node->inputs().empty() ? nullptr : node->input(0)->node();
    }
    return std::nullopt;
  }
  std::optional<size_t> first;
  const std::vector<Node*>& readers = conversion.output()->users();
  std::vector<const Node*> open(readers.begin(), readers.end());
  std::set<const Node*> seen;
  while (!open.empty()) {
    const Node* node = open.back();
    open.pop_back();
    if (!seen.insert(node).second) continue;
    if (const auto found = layer_at.find(node); found != layer_at.end()) {
      first = std::min(first.value_or(found->second), found->second);
      continue;
    }
    for (const SsaValue* output : node->outputs()) {
      open.insert(open.end(), output->users().begin(), output->users().end());
    }
  }
  return first;
}

// Layers that share a step in either form belong together: the first of each layer's.
std::vector<size_t> groups_of(const Form& real, const Form& quantized, size_t layers) {
  std::vector<size_t> parent(layers);
  std::iota(parent.begin(), parent.end(), size_t{0});
  const auto first = [&](size_t layer) {
    while (parent[layer] != layer) layer = parent[layer];
    return layer;
  };
  std::unordered_map<const Node*, size_t> owner;
  for (const Form* form : {&real, &quantized}) {
    for (size_t i = 0; i < layers; ++i) {
      for (const Node* step : form->steps(i)) {
        const size_t a = first(owner.emplace(step, i).first->second), b = first(i);
        parent[std::max(a, b)] = std::min(a, b);
      }
    }
  }
  for (size_t i = 0; i < layers; ++i) parent[i] = first(i);
  return parent;
}

// The program in both forms.
class Comparison {
 public:
  Comparison(const Program& program, BothForms forms)
      : real_(forms.real_nodes.size()),
        quantized_(forms.real_nodes.size()),
        real_nodes_(std::move(forms.real_before)),
        nodes_(std::move(forms.before)) {
    std::unordered_map<const Node*, size_t> layer_at;
    for (size_t i = 0; i < count(); ++i) {
      real_.add(i, forms.real_nodes[i]);
      quantized_.add(i, forms.quantized_nodes[i]);
      layer_at.emplace(forms.quantized_nodes[i], i);
    }
    const std::set<const Node*> old(nodes_.begin(), nodes_.end());
    for (const Node* node : nodes_of(*forms.quantized)) {
      if (old.contains(node)) {
        survivors_.insert(node);
      } else if ((node->kind() == kConversionToSteps || node->kind() == kConversionToReal) &&
                 !layer_at.contains(node)) {
        if (const auto layer = layer_of_conversion(*node, layer_at)) quantized_.add(*layer, node);
      }
    }
    real_graph_ = std::make_unique<TimedGraph>(std::move(forms.real), program);
    graph_ = std::make_unique<TimedGraph>(std::move(forms.quantized), program);
  }

  std::vector<LayerTime> measure(std::span<const Value> call,
                                 const std::function<void(double)>& progress) {
    real_graph_->run(call);  // compiles
    graph_->run(call);
    find_steps(call);
    const std::vector<size_t> groups = groups_of(real_, quantized_, count());
    std::vector<std::vector<double>> real(count()), quantized(count());
    repeat(
        [&] {
          add_run(real_graph_->run_by_step(call), real_, groups, real);
          add_run(graph_->run_by_step(call), quantized_, groups, quantized);
        },
        progress);
    std::vector<LayerTime> times;
    for (const size_t group : groups) {
      times.push_back({group, run_time(real[group]), run_time(quantized[group])});
    }
    return times;
  }

 private:
  size_t count() const { return real_.size(); }

  void find_steps(std::span<const Value> call) {
    const auto seconds = graph_->run_by_step(call);
    real_.find_steps(real_graph_->run_by_step(call));
    quantized_.find_steps(seconds);
    // A step of the program as it is may end with a node that is no layer, and that runs on its own
    // in the rewritten one.
    for (size_t k = 0; k < nodes_.size(); ++k) {
      if (!survivors_.contains(nodes_[k]) || !seconds.contains(nodes_[k])) continue;
      for (size_t i = 0; i < count(); ++i) {
        if (real_.steps(i).contains(real_nodes_[k])) quantized_.add_step(i, nodes_[k]);
      }
    }
  }

  static void add_run(const std::unordered_map<const Node*, double>& seconds, const Form& form,
                      const std::vector<size_t>& groups, std::vector<std::vector<double>>& sums) {
    std::vector<double> sum(groups.size(), 0);
    std::set<const Node*> counted;
    for (size_t i = 0; i < groups.size(); ++i) {
      for (const Node* step : form.steps(i)) {
        const auto found = seconds.find(step);
        if (found != seconds.end() && counted.insert(step).second) {
          sum[groups[i]] += found->second;
        }
      }
    }
    for (size_t i = 0; i < groups.size(); ++i) sums[i].push_back(sum[i]);
  }

  Form real_, quantized_;
  std::vector<const Node*> real_nodes_, nodes_;  // the same ones, before rewriting
  std::set<const Node*> survivors_;              // of nodes_
  std::unique_ptr<TimedGraph> real_graph_, graph_;
};

}  // namespace

std::vector<const Node*> nodes_of(const Graph& graph) {
  std::vector<const Node*> nodes;
  collect(*graph.block(), nodes);
  return nodes;
}

BothForms both_forms(const Program& program, const std::vector<LayerChoice>& choices) {
  BothForms forms{clone_graph(*program.graph), clone_graph(*program.graph), {}, {}, {}, {}};
  forms.real_before = nodes_of(*forms.real);
  forms.before = nodes_of(*forms.quantized);
  for (const Layer& layer : find_layers(*forms.real)) forms.real_nodes.push_back(layer.last());
  remove_stubs(*forms.real);
  const std::vector<Layer> layers = find_layers(*forms.quantized);
  const std::vector<SsaValue*> made = rewrite(*forms.quantized, layers, choices);
  for (size_t i = 0; i < layers.size(); ++i) {
    forms.quantized_nodes.push_back(made[i] ? made[i]->node() : layers[i].last());
  }
  return forms;
}

std::vector<LayerTime> measure_layers(const Program& program, BothForms forms,
                                      std::span<const Value> call,
                                      const std::function<void(double)>& progress) {
  return Comparison(program, std::move(forms)).measure(call, progress);
}

std::pair<RunTime, RunTime> measure_wholes(const Program& program, std::unique_ptr<Graph> one,
                                           std::unique_ptr<Graph> other,
                                           std::span<const Value> call) {
  const TimedGraph a(std::move(one), program), b(std::move(other), program);
  a.run(call);  // compiles
  b.run(call);
  std::vector<double> seconds_a, seconds_b;
  repeat(
      [&] {
        seconds_a.push_back(a.run(call));
        seconds_b.push_back(b.run(call));
      },
      [](double) {});
  return {run_time(std::move(seconds_a)), run_time(std::move(seconds_b))};
}

}  // namespace torchlet::quant
