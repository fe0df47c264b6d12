// Runs tests/cases/ops: what PyTorch answers to calls of every operator (README.md there), next to
// what the reference operators give and what plans give.
//
//   op_cases --list    the operators that need cases, for scripts/make_op_cases.py
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <set>

#include "device/cpu/cpu_device.h"
#include "device/partition.h"
#include "graph/function.h"
#include "graph/prim_kinds.h"
#include "graph/segment.h"
#include "interp/interpreter.h"
#include "ops/core/derived.h"
#include "ops/core/meta_call.h"
#include "ops/core/op.h"
#include "ops/core/testing.h"
#include "ops/random/random.h"
#include "values.h"

namespace torchlet::op_cases {
namespace {

constexpr const char* kFolder = "tests/cases/ops";

// --- the operators

// Declared, and not derived from another one.
bool is_declared(const Operator& op) {
  if (op.base && (op.base->name != op.name || op.base->schema.overload != op.schema.overload)) {
    return false;
  }
  static const std::set<std::string> aliases = {
#define TORCHLET_OP_ALIAS(name, target) "aten::" #name, "aten::" #name "_",
#include "ops/alias_list.inc"
#undef TORCHLET_OP_ALIAS
  };
  return !aliases.contains(op.schema.name);
}

// In place, out= and the like.
std::span<const Operator* const> derived_from(const Operator& op) {
  static const auto* const all = [] {
    auto* map = new std::map<const Operator*, std::vector<const Operator*>>;
    for (const Operator* each : all_operators()) {
      const Operator* base = each;
      while (base && !is_declared(*base)) base = base->base;
      if (base && base != each) (*map)[base].push_back(each);
    }
    return map;
  }();
  const auto found = all->find(&op);
  if (found == all->end()) return {};
  return found->second;
}

// --- a case

struct Case {
  std::string place;  // file:line
  Json text;
  const Operator* op = nullptr;

  std::vector<Value> arguments() const {
    auto values = arguments_of(*op, text["in"]);
    ops::seed_random(kSeed);
    return values;
  }
  bool raises() const { return text.contains("raises"); }
  bool is_known() const { return text.contains("known"); }
  // Its answer depends on how its tensors lie.
  bool is_fixed() const { return text.contains("fixed"); }
  Comparison comparison() const {
    Comparison result;
    const std::string looks = text.value("compare", "");
    if (looks == "shape") result.looks = Looks::kAtShape;
    if (looks == "magnitude") result.looks = Looks::kAtMagnitudes;
    return result;
  }
  std::vector<Value> answers() const {
    std::vector<Value> values;
    for (const Json& answer : text["out"]) values.push_back(value_of(answer, *types::any()));
    return values;
  }
  // What is wrong with these results, and what the call left in its arguments.
  std::string difference_of(const std::vector<Value>& results, const std::vector<Value>& arguments,
                            const Comparison& how) const {
    const std::vector<Value> want = answers();
    if (results.size() != want.size()) return "another number of results";
    for (size_t i = 0; i < want.size(); ++i) {
      auto text_of = difference(results[i], want[i], how);
      if (!text_of.empty()) return "result " + std::to_string(i) + ": " + text_of;
    }
    if (!text.contains("after")) return "";
    for (const auto& [index, value] : text["after"].items()) {
      auto text_of = difference(arguments[std::stoul(index)], value_of(value, *types::any()), how);
      if (!text_of.empty()) return "argument " + index + " afterwards: " + text_of;
    }
    return "";
  }

  static constexpr uint64_t kSeed = 1;
};

std::vector<std::filesystem::path> files() {
  std::vector<std::filesystem::path> all;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    if (entry.path().extension() == ".jsonl") all.push_back(entry.path());
  }
  std::ranges::sort(all);
  return all;
}

std::vector<std::pair<std::string, Json>> lines_of(const std::filesystem::path& file) {
  std::vector<std::pair<std::string, Json>> lines;
  std::ifstream stream(file);
  size_t number = 0;
  for (std::string line; std::getline(stream, line);) {
    lines.emplace_back(file.generic_string() + ":" + std::to_string(++number), Json::parse(line));
  }
  return lines;
}

// --- ways to run it

using Run = std::function<std::vector<Value>(std::vector<Value>& arguments)>;

// What is wrong with what one way of running the case gives.
std::string problem_of(const Case& one, const Comparison& how, std::vector<Value> arguments,
                       const Run& run) {
  std::vector<Value> results;
  try {
    results = run(arguments);
  } catch (const Error& error) {
    return one.raises() ? "" : std::string("raises: ") + error.what();
  }
  if (one.raises()) return "does not raise as PyTorch does";
  return one.difference_of(results, arguments, how);
}

// A graph of the call alone: its tensors are the inputs, all else is constant.
class OneCall : public Function {
 public:
  OneCall(const Operator& op, const std::vector<Value>& arguments) {
    schema_.name = name_;
    Node* node = graph_.create(op.name);
    node->set_op(&op);
    for (size_t i = 0; i < arguments.size(); ++i) node->add_input(given(arguments[i]));
    graph_.block()->append(node);
    for (const Argument& result : op.schema.returns) node->add_output(result.type);
    if (node->outputs().size() != 1) {
      std::vector<TypePtr> types;
      for (const SsaValue* output : node->outputs()) types.push_back(output->type());
      node = graph_.create(prim::kTupleConstruct, node->outputs());
      node->add_output(types::tuple(std::move(types)));
      graph_.block()->append(node);
    }
    graph_.block()->add_output(node->output());
    Argument result;
    result.type = node->output()->type();
    schema_.returns.push_back(std::move(result));
    graph_.verify();
  }
  const std::string& qualified_name() const override { return name_; }
  const Schema& schema() override { return schema_; }
  const Graph& graph() override { return graph_; }
  Graph& own_graph() { return graph_; }

  // Those of the arguments that are the graph's inputs.
  static std::vector<Value> inputs(const std::vector<Value>& arguments) {
    std::vector<Value> tensors;
    for (const Value& argument : arguments) {
      if (argument.is_tensor()) tensors.push_back(argument);
      if (!is_tensor_list(argument)) continue;
      for (const Value& item : argument.to_list()) tensors.push_back(item);
    }
    return tensors;
  }

 private:
  static bool is_tensor_list(const Value& value) {
    return value.is_list() && !value.list_ref().items.empty() &&
           std::ranges::all_of(value.list_ref().items, &Value::is_tensor);
  }

  SsaValue* input() {
    Argument tensor;
    tensor.type = types::tensor();
    schema_.arguments.push_back(std::move(tensor));
    return graph_.block()->add_input(types::tensor());
  }
  SsaValue* given(const Value& value) {
    if (value.is_tensor()) return input();
    Node* node = nullptr;
    if (is_tensor_list(value)) {
      node = graph_.create(prim::kListConstruct);
      for (size_t i = 0; i < value.list_ref().items.size(); ++i) node->add_input(input());
    } else {
      node = graph_.create(prim::kConstant);
      node->set_attribute("value", value);
    }
    SsaValue* made = node->add_output(type_of(value));
    graph_.block()->append(node);
    return made;
  }

  std::string name_ = "__torch__.call";
  Schema schema_;
  Graph graph_;
};

// Counts whether segments run as plans: what they decline would only be the reference once more.
class CountedSegment : public Segment {
 public:
  CountedSegment(std::shared_ptr<Segment> inner, int& runs, int& plans)
      : inner_(std::move(inner)), runs_(runs), plans_(plans) {}
  bool run(std::span<const Value> inputs, std::span<Value> outputs) override {
    const bool done = inner_->run(inputs, outputs);
    ++runs_;
    plans_ += done;
    return done;
  }

 private:
  std::shared_ptr<Segment> inner_;
  int &runs_, &plans_;
};

struct Counter {
  int runs = 0, plans = 0;
  int told = 0;  // what they give, by meta tensors
};
Counter& counters() {
  static Counter counter;
  return counter;
}

// The call as a segment; null if the device does not take it.
std::unique_ptr<OneCall> planned(const Operator& op, const std::vector<Value>& arguments) {
  static const std::shared_ptr<device::Device> cpu = cpu::make_cpu_device();
  auto function = std::make_unique<OneCall>(op, arguments);
  device::partition(function->own_graph(), {&cpu, 1}, std::make_shared<device::PlacementLog>());
  for (Node* node : *function->graph().block()) {
    if (!node->segment()) continue;
    Counter& counter = counters();
    node->set_segment(
        std::make_shared<CountedSegment>(node->shared_segment(), counter.runs, counter.plans));
    return function;
  }
  return nullptr;
}

// What the operator tells of meta tensors is what it gives for real ones.
std::string problem_of_meta(const Case& one) {
  if (std::ranges::any_of(one.op->schema.arguments, &Argument::is_written)) return "";
  std::vector<Value> real = one.arguments(), meta;
  for (const Value& argument : real) meta.push_back(ops::meta_value(argument));
  const auto told = ops::call_on_meta(*one.op, std::move(meta));
  const std::vector<Value> given = call(*one.op, real);
  counters().told += told.has_value();
  for (size_t i = 0; told && i < told->size(); ++i) {
    const std::string a = ops::description_of((*told)[i]), b = ops::description_of(given[i]);
    if (a != b) return "told " + a + ", gave " + b;
  }
  return "";
}

// The derived variant gives the same, in self or in out if it is made for that.
std::string problem_of_derived(const Case& one, const Operator& derived) {
  const Operator& op = *one.op;
  const std::vector<Value> want = one.answers();
  const auto is_plain = [](const Value& value) {
    return value.is_tensor() && !value.to_tensor().is_quantized() &&
           !value.to_tensor().impl()->sparse && !value.to_tensor().impl()->nested;
  };
  std::vector<Value> arguments = one.arguments();
  const size_t outs = derived.schema.arguments.size() - op.schema.arguments.size();
  const bool is_functional = op.schema.name == derived.schema.name + "_";
  if (outs > 0) {
    if (!std::ranges::all_of(want, is_plain)) return "";
    for (const Value& value : want) {
      arguments.emplace_back(empty(IntArray{0}, value.to_tensor().dtype()));
    }
  } else if (derived.schema.arguments[0].is_written && !ops::is_inplace_view_variant(derived)) {
    // The variant raises where the result does not fit into self.
    if (!arguments[0].is_tensor() || !is_plain(want[0])) return "";
    const Tensor self = arguments[0].to_tensor(), result = want[0].to_tensor();
    if (self.dtype() != result.dtype() || IntArray(self.sizes()) != IntArray(result.sizes())) {
      return "";
    }
  }
  const Value first = arguments.empty() ? Value() : arguments[0];
  const auto run = [&](std::vector<Value>& given) {
    std::vector<Value> results = call(derived, given);
    const bool gives_self = derived.schema.arguments[0].is_written;
    if (gives_self && !results[0].is_same(first)) fail(ErrorCode::kInternal, "does not give self");
    if (outs > 0 && !results[0].is_same(given[op.schema.arguments.size()])) {
      fail(ErrorCode::kInternal, "does not give out");
    }
    return results;
  };
  if (is_functional) {
    Case without_after = one;
    without_after.text.erase("after");
    return problem_of(without_after, one.comparison(), std::move(arguments), run);
  }
  return problem_of(one, one.comparison(), std::move(arguments), run);
}

// All that is wrong with a case, however it is run.
std::vector<std::string> problems_of(const Case& one) {
  const Operator& op = *one.op;
  const Comparison how = one.comparison();
  Comparison with_strides = how;
  with_strides.strides = !one.text.contains("own layout");
  const Run reference = [&](std::vector<Value>& given) { return call(op, given); };
  std::string problem = problem_of(one, with_strides, one.arguments(), reference);
  if (!problem.empty()) return {std::move(problem)};

  std::vector<std::string> problems;
  const auto note = [&](const std::string& what, const std::string& way) {
    if (!what.empty()) problems.push_back(way + ": " + what);
  };
  if (!one.raises()) {
    for (const Operator* derived : derived_from(op)) {
      note(problem_of_derived(one, *derived), derived->schema.full_name());
    }
  }
  if (!one.raises()) note(problem_of_meta(one), "on meta tensors");
  const auto plan = planned(op, one.arguments());
  const interp::Interpreter interpreter;
  const Run run_plan = [&](std::vector<Value>& given) {
    Value result = interpreter.run(*plan, OneCall::inputs(given));
    if (op.schema.returns.size() == 1) return std::vector<Value>{std::move(result)};
    return result.to_tuple();
  };
  // Twice, since the first run also compiles.
  for (int round = 0; plan && round < 2; ++round) {
    note(problem_of(one, how, one.arguments(), run_plan), "as a plan");
  }
  if (one.is_fixed() || op.facts->looks_at == LooksAt::kStrides) return problems;
  const bool writes =
      op.facts->writes || std::ranges::any_of(op.schema.arguments, &Argument::is_written);
  for (const auto& [layout, name] : kLayouts) {
    if (layout == Layout::kExpanded && writes) continue;
    for (const Run* run : {&reference, plan ? &run_plan : nullptr}) {
      std::vector<Value> arguments = one.arguments();
      if (!run || !lay_out(arguments, layout)) continue;
      note(problem_of(one, how, std::move(arguments), *run),
           std::string(name) + (run == &run_plan ? ", as a plan" : ""));
    }
  }
  return problems;
}

class OpCases : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(OpCases, AreAnsweredAsByPyTorch) {
  std::map<std::string, bool> known;  // the operators with known differences: is there still one?
  for (auto& [place, text] : lines_of(GetParam())) {
    if (text.contains("no case")) continue;
    const std::string name = text["op"];
    Case one{place, std::move(text), nullptr};
    std::vector<std::string> problems;
    try {
      one.op = &operator_of(name);
      problems = problems_of(one);
    } catch (const std::exception& error) {
      problems.push_back(error.what());
    }
    if (one.is_known()) {
      known[name] |= !problems.empty();
      continue;
    }
    for (const std::string& problem : problems) {
      ADD_FAILURE() << place << ": " << name << ": " << problem;
    }
  }
  for (const auto& [name, differs] : known) {
    EXPECT_TRUE(differs) << name << " is no longer known to differ: take it from the table KNOWN "
                         << "of scripts/op_answers.py";
  }
}

INSTANTIATE_TEST_SUITE_P(Families, OpCases, testing::ValuesIn(files()),
                         [](const auto& file) { return file.param.stem().string(); });

// The operators that calls name, those that stand for arguments too.
void find_called(const Json& text, std::set<std::string>& names) {
  if (text.contains("op")) names.insert(text["op"]);
  for (const Json& part : text) {
    if (part.is_structured()) find_called(part, names);
  }
}

TEST(OpCasesList, EveryOperatorHasACase) {
  std::set<std::string> called, excused;
  for (const auto& file : files()) {
    for (const auto& [place, text] : lines_of(file)) {
      if (text.contains("no case")) {
        excused.insert(text["op"]);
      } else {
        find_called(text, called);
      }
    }
  }
  for (const Operator* op : all_operators()) {
    const std::string name = op->schema.full_name();
    if (!is_declared(*op)) continue;
    EXPECT_TRUE(called.contains(name) || excused.contains(name))
        << name << " has no case: run scripts/make_op_cases.py, and if that finds no arguments for "
        << "it, add some to scripts/op_calls.txt";
    EXPECT_FALSE(called.contains(name) && excused.contains(name))
        << name << " has a case and a reason for having none";
    excused.erase(name);
  }
  for (const std::string& name : excused) ADD_FAILURE() << name << " is no operator";
}

TEST(OpCasesList, FastPathsAreTaken) {
  for (const auto& file : files()) {
    for (auto& [place, text] : lines_of(file)) {
      if (!text.contains("out") || text.contains("known")) continue;
      Case one{place, std::move(text), nullptr};
      one.op = &operator_of(one.text["op"]);
      if (const auto plan = planned(*one.op, one.arguments())) {
        interp::Interpreter().run(*plan, OneCall::inputs(one.arguments()));
      }
      problem_of_meta(one);
    }
  }
  std::cout << counters().told << " calls told by meta tensors\n";
  EXPECT_GT(counters().told, 2000);
  std::cout << counters().plans << " of " << counters().runs << " calls ran as plans\n";
  EXPECT_GT(counters().plans, counters().runs * 9 / 10);
}

void list() {
  for (const Operator* op : all_operators()) {
    if (is_declared(*op)) std::cout << op->schema.full_name() << "\n";
  }
}

}  // namespace
}  // namespace torchlet::op_cases

int main(int count, char** words) {
  testing::InitGoogleTest(&count, words);
  if (count > 1 && std::string_view(words[1]) == "--list") {
    torchlet::op_cases::list();
    return 0;
  }
  return RUN_ALL_TESTS();
}
