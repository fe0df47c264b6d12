#include "check.h"

#include <torchlet/threads.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <thread>

#include "device/cpu/cpu_device.h"
#include "device/partition.h"
#include "graph/event_sink.h"
#include "graph/segment.h"
#include "passes/testing.h"
#include "tensor/tensor_impl.h"

namespace torchlet::random_graphs {
namespace {

// A device may be so many times as wrong as other roundings are.
constexpr double kMargin = 16;
// Other roundings that are tried before a difference counts.
constexpr int kTrials = 8;

class CountedSegment : public torchlet::Segment {
 public:
  CountedSegment(std::shared_ptr<torchlet::Segment> inner, std::atomic<int64_t>& runs,
                 std::atomic<int64_t>& planned)
      : inner_(std::move(inner)), runs_(runs), planned_(planned) {}
  bool run(std::span<const Value> inputs, std::span<Value> outputs) override {
    const bool done = inner_->run(inputs, outputs);
    ++runs_;
    planned_ += done;
    return done;
  }

 private:
  std::shared_ptr<torchlet::Segment> inner_;
  std::atomic<int64_t>&runs_, &planned_;
};

// How often segments run, and how often as plans.
struct SegmentCounter {
  std::atomic<int64_t> runs = 0, planned = 0;

  void count(const torchlet::Block& block) {
    for (Node* node : block) {
      if (node->segment()) {
        node->set_segment(std::make_shared<CountedSegment>(node->shared_segment(), runs, planned));
      } else {
        for (const torchlet::Block* inner : node->blocks()) count(*inner);
      }
    }
  }
};

// Counts the steps that a kernel ran: what the reference runs is named after its operator.
class KernelCounter : public EventSink {
 public:
  void record(const Event& event) override {
    if (event.kernel == kCompileEvent || event.kernel == kCopyEvent ||
        event.kernel == kConvertEvent || event.sizes.empty()) {
      return;
    }
    ++steps_;
    kernels_ += std::strstr(event.kernel, "::") == nullptr;
  }
  int64_t steps() const { return steps_; }
  int64_t kernels() const { return kernels_; }

 private:
  int64_t steps_ = 0, kernels_ = 0;
  EventScope scope_{this};
};

class OptimizedFunction : public Function {
 public:
  OptimizedFunction(Function& original, std::unique_ptr<Graph> graph)
      : original_(original), graph_(std::move(graph)) {}
  const std::string& qualified_name() const override { return original_.qualified_name(); }
  const Schema& schema() override { return original_.schema(); }
  const Graph& graph() override { return *graph_; }

 private:
  Function& original_;
  std::unique_ptr<Graph> graph_;
};

// What a call gives back, and what it left in its inputs. Nothing: an error.
using Outcome = std::optional<std::vector<Tensor>>;

// What should come of one set of inputs.
struct Expected {
  bool is_error = false;
  std::vector<State> states;  // of the outputs, then of the inputs
};

bool is_quantized_alike(const Quantizer& a, const Quantizer& b) {
  if (a.per_tensor() != b.per_tensor()) return false;
  if (a.per_tensor()) return a.scale == b.scale && a.zero_point == b.zero_point;
  return a.axis == b.axis && largest_difference(a.scales, b.scales) == 0 &&
         largest_difference(a.zero_points, b.zero_points) == 0;
}

class Checker {
 public:
  Checker(const Program& program, Expressions& expressions)
      : program_(program),
        expressions_(expressions),
        text_(program.source()),
        device_(cpu::make_cpu_device(program.precision)) {
    std::vector<std::pair<std::string, Value>> weights;
    for (const ValueId id : program.ids(Variable::Kind::kWeight)) {
      weights.emplace_back(program.name(id).substr(5),
                           Value(program.variables[static_cast<size_t>(id)].initial.clone()));
    }
    self_ = text_.object("M", std::move(weights));
  }

  std::optional<std::string> run() {
    set_num_threads(program_.operator_threads);
    for (size_t set = 0; set < program_.input_sets.size(); ++set) expect(set);
    if (auto problem = check_reference()) return problem;
    auto optimized = passes::Program::optimized(self_);
    device::partition(*optimized.graph, {&device_, 1}, std::make_shared<device::PlacementLog>());
    segments_.count(*optimized.graph->block());
    optimized.graph->verify();
    optimized_.emplace(passes::Program::method(self_), std::move(optimized.graph));
    // Each twice, since the first run also compiles, and the first once more when all plans are
    // there.
    for (size_t i = 0; i <= program_.input_sets.size(); ++i) {
      const size_t set = i % program_.input_sets.size();
      for (int round = 0; round < 2; ++round) {
        if (auto problem = check_planned(set)) return problem;
      }
    }
    if (program_.callers > 1) return check_callers();
    return std::nullopt;
  }

  void add_to(Coverage& coverage) {
    if (std::ranges::any_of(expected_, &Expected::is_error)) return;  // these have no plans
    coverage.segments += segments_.runs;
    coverage.planned += segments_.planned;
    coverage.steps += steps_;
    coverage.kernels += kernels_;
  }

 private:
  // With the roundings of one seed: what comes out. False if the program raises.
  bool evaluate(size_t set, uint64_t noise, std::vector<State>& states) {
    Evaluator evaluator(program_, expressions_, noise);
    try {
      evaluator.start(program_.input_sets[set]);
      evaluator.run(program_.steps);
    } catch (const Error&) {
      return false;
    }
    for (const ValueId id : program_.outputs) states.push_back(evaluator.state(id));
    for (const ValueId id : program_.ids(Variable::Kind::kInput)) {
      states.push_back(evaluator.state(id));
    }
    return true;
  }

  void expect(size_t set) {
    Expected& expected = expected_.emplace_back();
    expected.is_error = !evaluate(set, set + 1, expected.states);
  }

  Outcome call(Function& function, size_t set, std::string& error) {
    std::vector<Value> arguments = {self_};
    std::vector<Tensor> tensors;
    for (const Tensor& input : program_.input_sets[set]) {
      const Tensor copy = copy_with_strides(input);
      arguments.push_back(Value(copy));
      tensors.push_back(copy);
    }
    try {
      const Value results = interpreter_.run(function, std::move(arguments));
      std::vector<Tensor> outcome;
      for (const Value& item : results.to_tuple()) outcome.push_back(item.to_tensor());
      outcome.insert(outcome.end(), tensors.begin(), tensors.end());
      return outcome;
    } catch (const Error& e) {
      error = e.what();
      return std::nullopt;
    }
  }

  std::string name_of(size_t index) const {
    if (index < program_.outputs.size()) return program_.name(program_.outputs[index]);
    const auto inputs = program_.ids(Variable::Kind::kInput);
    return program_.name(inputs[index - program_.outputs.size()]);
  }

  // The interpreter and single operators must agree to the bit.
  std::optional<std::string> check_reference() {
    std::string error;
    const Expected& expected = expected_[0];
    const Outcome outcome = call(passes::Program::method(self_), 0, error);
    if (!outcome != expected.is_error) return "the reference raises or does not: " + error;
    for (size_t i = 0; outcome && i < outcome->size(); ++i) {
      const std::string problem = difference((*outcome)[i], expected.states[i], 0);
      if (!problem.empty()) return "reference: " + name_of(i) + " " + problem;
    }
    return std::nullopt;
  }

  std::optional<std::string> check_planned(size_t set) {
    std::string error;
    Outcome outcome;
    {
      KernelCounter counter;
      outcome = call(*optimized_, set, error);
      steps_ += counter.steps();
      kernels_ += counter.kernels();
    }
    return compare(outcome, set, error);
  }

  std::optional<std::string> compare(const Outcome& outcome, size_t set, const std::string& error) {
    const Expected& expected = expected_[set];
    // What nobody reads is not computed, so an error may be missing.
    if (expected.is_error) return std::nullopt;
    const std::string where = format("call %zu: ", set + 1);
    if (!outcome) return where + "unexpected error: " + error;
    for (size_t i = 0; i < outcome->size(); ++i) {
      std::string problem =
          difference((*outcome)[i], expected.states[i], tolerance(expected.states[i]));
      if (!problem.empty() && may_be_rounding(set, i, (*outcome)[i])) problem.clear();
      if (!problem.empty()) return where + name_of(i) + " " + problem;
    }
    return std::nullopt;
  }

  // May be: then other roundings decide.
  bool may_be_rounding(size_t set, size_t index, const Tensor& got) {
    const State& expected = expected_[set].states[index];
    if (expected.is_exact) return false;
    double allowed = tolerance(expected);
    for (int trial = 0; trial < kTrials; ++trial) {
      std::vector<State> states;
      if (!evaluate(set, static_cast<uint64_t>(1000 + trial), states)) return true;
      allowed = std::max(allowed, tolerance(states[index]));
    }
    return difference(got, expected, allowed).empty();
  }

  double tolerance(const State& state) const {
    if (state.is_exact || !state.value.is_tensor()) return 0;
    const Tensor value = state.value.to_tensor();
    // Rounded numbers decided; the generator avoids that, but another branch may run.
    if (!is_floating_point(value.dtype())) return std::numeric_limits<double>::infinity();
    return kMargin * std::max(largest_difference(value, state.rounded.to_tensor()),
                              program_.epsilon() * largest(value));
  }

  static std::string difference(const Tensor& got, const State& expected, double tolerance) {
    const Tensor want = expected.value.to_tensor();
    if (IntArray(got.sizes()) != IntArray(want.sizes()) || got.dtype() != want.dtype()) {
      return "is " + got.describe() + " instead of " + want.describe();
    }
    if (got.is_quantized()) {
      if (!is_quantized_alike(*got.impl()->quantizer, *want.impl()->quantizer)) {
        return "is quantized otherwise";
      }
      Tensor a = got.clone(), b = want.clone();
      a.impl()->dtype = b.impl()->dtype = DType::kUInt8;
      const double worst = largest_difference(a, b);
      return worst == 0 ? "" : format("differs by %g integers, %s", worst, want.describe().c_str());
    }
    const double worst = largest_difference(got, want);
    if (worst <= tolerance) return "";
    return format("differs by %.3g of %.3g (%.3g may be rounding), %s", worst, largest(want),
                  tolerance, want.describe().c_str());
  }

  // Several threads, each with its own order of the sets.
  std::optional<std::string> check_callers() {
    struct Call {
      size_t set;
      Outcome outcome;
      std::string error;
    };
    std::vector<std::vector<Call>> calls(static_cast<size_t>(program_.callers));
    std::vector<std::thread> threads;
    for (size_t t = 0; t < calls.size(); ++t) {
      threads.emplace_back([this, t, &mine = calls[t]] {
        for (size_t i = 0; i < 2 * program_.input_sets.size(); ++i) {
          Call& call = mine.emplace_back();
          call.set = (t + i) % program_.input_sets.size();
          call.outcome = this->call(*optimized_, call.set, call.error);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const auto& of_thread : calls) {
      for (const Call& call : of_thread) {
        if (auto problem = compare(call.outcome, call.set, call.error)) {
          return "in a thread of several: " + *problem;
        }
      }
    }
    return std::nullopt;
  }

  const Program& program_;
  Expressions& expressions_;
  passes::Program text_;
  std::shared_ptr<device::Device> device_;
  SegmentCounter segments_;
  Value self_;
  std::optional<OptimizedFunction> optimized_;
  interp::Interpreter interpreter_;
  std::vector<Expected> expected_;
  int64_t steps_ = 0, kernels_ = 0;
};

}  // namespace

Coverage& Coverage::operator+=(const Coverage& other) {
  segments += other.segments;
  planned += other.planned;
  steps += other.steps;
  kernels += other.kernels;
  return *this;
}

std::optional<std::string> find_difference(const Program& program, Expressions& expressions,
                                           Coverage& coverage) {
  try {
    Checker checker(program, expressions);
    auto problem = checker.run();
    if (!problem) checker.add_to(coverage);
    return problem;
  } catch (const Error& error) {
    return std::string("error while it is compiled: ") + error.what();
  }
}

}  // namespace torchlet::random_graphs
