// `torchlet compare`: what two models, or two ways to run one, make of the same inputs.
#include <torchlet/bundled_inputs.h>
#include <torchlet/compare.h>
#include <torchlet/torchlet.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/files.h"
#include "cli/inputs.h"
#include "cli/json_values.h"
#include "cli/progress.h"
#include "cli/report/html.h"
#include "cli/report/plot.h"
#include "cli/text.h"

namespace torchlet::cli {
namespace {

struct CompareCommand {
  std::vector<std::string> models;
  InputOptions inputs;
  DeviceOptions device_a, device_b;
  LimitOptions limits;
  CompareOptions compare;
  double min_sqnr = 0;
  size_t memory = CompareOptions().memory;
  int threads = 0;
  bool json = false, all = false;
  std::string report;

  const std::string& model_a() const { return models.front(); }
  const std::string& model_b() const { return models.back(); }
};

// One side, as it is told: "model.pt on reference".
struct Side {
  std::string file, devices, precision;
  std::string title() const {
    return file + " on " + devices + (precision == "fp32" ? "" : " in " + precision);
  }
};

struct Compared {
  Side a, b;
  std::string method;
  const CompareOptions& options;
  Comparison result;
};

std::string tolerance(const CompareOptions& options) {
  if (options.min_sqnr) return format("SQNR of at least %g dB", *options.min_sqnr);
  return format("|a - b| of at most %g + %g x the largest |a| of the tensor", options.atol,
                options.rtol);
}

std::string decibels(double sqnr) {
  if (std::isinf(sqnr)) return sqnr > 0 ? "equal" : "lost";
  return format("%.1f", sqnr);
}

std::string verdict(const Comparison& c) {
  const auto within = [](bool is) {
    return is ? "within the tolerance" : "NOT within the tolerance";
  };
  const auto outside = std::ranges::count_if(c.nodes, [](const auto& n) { return !n.within; });
  return format("outputs %s; %zu nodes compared, %zu of them outside of it", within(c.within),
                c.nodes.size(), static_cast<size_t>(outside));
}

// ---- what a node is called ----

std::string operators_of(const ComparedNode& node) {
  return node.operator_a + (node.operator_b == node.operator_a ? "" : " | " + node.operator_b);
}

std::string place_of(const ComparedNode& node) {
  return node.place_a + (node.place_b == node.place_a ? "" : " | " + node.place_b);
}

std::string tensors_of(const ComparedNode& node) {
  return node.tensor_a + (node.tensor_b == node.tensor_a ? "" : " | " + node.tensor_b);
}

std::string where(const std::string& module_path, const std::string& place) {
  return module_path + (module_path.empty() || place.empty() ? "" : "  ") + place;
}

// How much worse a node is than the worst of its inputs, in decibels. What differs by roundings
// only counts as so exact.
double loss(const Comparison& c, const ComparedNode& node) {
  constexpr double kExact = 110;
  double before = kExact;
  for (const size_t input : node.inputs) before = std::min(before, c.nodes[input].difference.sqnr);
  return std::max(before, -kExact) - std::clamp(node.difference.sqnr, -kExact, kExact);
}

std::vector<size_t> greatest_losses(const Comparison& c, size_t count) {
  constexpr double kWorthTelling = 3;  // decibels
  std::vector<size_t> order;
  for (size_t i = 0; i < c.nodes.size(); ++i) {
    if (loss(c, c.nodes[i]) >= kWorthTelling) order.push_back(i);
  }
  std::ranges::stable_sort(order, std::ranges::greater(),
                           [&](size_t i) { return loss(c, c.nodes[i]); });
  if (order.size() > count) order.resize(count);
  return order;
}

// ---- text ----

void print_node(const ComparedNode& node) {
  std::printf("%8s %11.3g  %-40s %s\n", decibels(node.difference.sqnr).c_str(),
              node.difference.max_abs, operators_of(node).c_str(),
              where(node.module_path, place_of(node)).c_str());
}

void print_heading(const char* what) {
  std::printf("\n%8s %11s  %s\n", "SQNR dB", "max |a-b|", what);
}

void print_divergence(const Comparison& c) {
  if (!c.first_divergence) {
    std::printf("\nno node diverges\n");
    return;
  }
  const ComparedNode& first = c.nodes[*c.first_divergence];
  print_heading("first divergence");
  print_node(first);
  std::printf("%21s %s, largest |a| %.4g\n", "", tensors_of(first).c_str(),
              first.difference.largest);
  if (!first.calls.empty()) std::printf("%21s called from %s\n", "", first.calls.c_str());
  if (first.inputs.empty()) return;
  std::printf("%21s computed from\n", "");
  for (const size_t input : first.inputs) print_node(c.nodes[input]);
}

void print_unmatched(const char* side, const std::vector<UnmatchedNode>& nodes) {
  if (nodes.empty()) return;
  std::printf("\nonly in %s\n", side);
  for (const UnmatchedNode& node : nodes) {
    std::printf("  %-40s %-28s %s\n", node.op.c_str(), node.tensor.c_str(),
                where(node.module_path, node.place).c_str());
  }
}

void print_text(const Compared& compared, bool all) {
  const Comparison& c = compared.result;
  std::printf("a         %s\nb         %s\ntolerance %s\n%s\n", compared.a.title().c_str(),
              compared.b.title().c_str(), tolerance(compared.options).c_str(), verdict(c).c_str());
  print_heading("outputs");
  for (const ComparedOutput& output : c.outputs) {
    std::printf("%8s %11.3g  %s: %s%s%s\n", decibels(output.difference.sqnr).c_str(),
                output.difference.max_abs, output.name.c_str(), output.a.c_str(),
                output.a == output.b ? "" : (" | " + output.b).c_str(),
                output.within ? "" : "  NOT within the tolerance");
  }
  print_divergence(c);
  constexpr size_t kShown = 5;
  if (const auto losses = greatest_losses(c, kShown); !losses.empty()) {
    print_heading("where the SQNR falls most");
    for (const size_t i : losses) print_node(c.nodes[i]);
  }
  if (all) {
    print_heading("all nodes");
    for (const ComparedNode& node : c.nodes) print_node(node);
    print_unmatched("a", c.only_a);
    print_unmatched("b", c.only_b);
  } else if (!c.only_a.empty() || !c.only_b.empty()) {
    std::printf("\nnot compared: %zu nodes of a, %zu of b have no counterpart (--all lists them)\n",
                c.only_a.size(), c.only_b.size());
  }
}

// ---- JSON ----

// JSON has no infinity.
Json number_json(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

Json difference_json(const Difference& difference, bool within) {
  return {{"sqnr_db", number_json(difference.sqnr)},
          {"max_abs", number_json(difference.max_abs)},
          {"largest", number_json(difference.largest)},
          {"within", within}};
}

Json unmatched_nodes_json(const std::vector<UnmatchedNode>& nodes) {
  Json all = Json::array();
  for (const UnmatchedNode& node : nodes) {
    all.push_back({{"operator", node.op},
                   {"module_path", node.module_path},
                   {"place", node.place},
                   {"tensor", node.tensor}});
  }
  return all;
}

Json side_json(const Side& side) {
  return {{"file", side.file}, {"devices", side.devices}, {"precision", side.precision}};
}

void print_comparison_json(const Compared& compared) {
  const Comparison& c = compared.result;
  Json outputs = Json::array(), nodes = Json::array();
  for (const ComparedOutput& output : c.outputs) {
    Json node = difference_json(output.difference, output.within);
    node.update({{"name", output.name}, {"a", output.a}, {"b", output.b}});
    outputs.push_back(std::move(node));
  }
  for (const ComparedNode& n : c.nodes) {
    Json node = difference_json(n.difference, n.within);
    node.update({{"operator_a", n.operator_a},
                 {"operator_b", n.operator_b},
                 {"module_path", n.module_path},
                 {"place_a", n.place_a},
                 {"place_b", n.place_b},
                 {"calls", n.calls},
                 {"tensor_a", n.tensor_a},
                 {"tensor_b", n.tensor_b},
                 {"times", n.times},
                 {"inputs", n.inputs}});
    nodes.push_back(std::move(node));
  }
  Json json = {{"a", side_json(compared.a)},
               {"b", side_json(compared.b)},
               {"method", compared.method},
               {"tolerance", tolerance(compared.options)},
               {"within", c.within},
               {"outputs", std::move(outputs)},
               {"nodes", std::move(nodes)},
               {"only_a", unmatched_nodes_json(c.only_a)},
               {"only_b", unmatched_nodes_json(c.only_b)}};
  json["first_divergence"] = c.first_divergence ? Json(*c.first_divergence) : Json();
  std::printf("%s\n", json_text(json, 1).c_str());
}

// ---- the page ----

report::Cell number_cell(double value, std::string text) { return {std::move(text), value}; }

report::Table outputs_table(const Comparison& c) {
  report::Table table({{"output"}, {"a"}, {"b"}, {"SQNR dB", true}, {"max |a-b|", true}});
  for (const ComparedOutput& o : c.outputs) {
    table.add({{o.name},
               {o.a},
               {o.b},
               number_cell(o.difference.sqnr, decibels(o.difference.sqnr)),
               number_cell(o.difference.max_abs, format("%.3g", o.difference.max_abs))},
              !o.within);
  }
  return table;
}

report::Table nodes_table(const Comparison& c) {
  report::Table table({{"#", true},
                       {"operator"},
                       {"module"},
                       {"line"},
                       {"tensor"},
                       {"SQNR dB", true},
                       {"less than inputs", true},
                       {"max |a-b|", true},
                       {"largest |a|", true}});
  for (size_t i = 0; i < c.nodes.size(); ++i) {
    const ComparedNode& node = c.nodes[i];
    const Difference& d = node.difference;
    table.add({number_cell(static_cast<double>(i), std::to_string(i)),
               {operators_of(node)},
               {node.module_path},
               {place_of(node)},
               {tensors_of(node)},
               number_cell(d.sqnr, decibels(d.sqnr)),
               number_cell(loss(c, node), format("%.1f", loss(c, node))),
               number_cell(d.max_abs, format("%.3g", d.max_abs)),
               number_cell(d.largest, format("%.3g", d.largest))},
              !node.within);
  }
  return table;
}

report::Table unmatched_table(const std::vector<UnmatchedNode>& nodes) {
  report::Table table({{"operator"}, {"module"}, {"line"}, {"tensor"}});
  for (const UnmatchedNode& node : nodes) {
    table.add({{node.op}, {node.module_path}, {node.place}, {node.tensor}});
  }
  return table;
}

std::string sqnr_plot(const Comparison& c, const CompareOptions& options) {
  std::vector<report::Point> points;
  for (size_t i = 0; i < c.nodes.size(); ++i) {
    const ComparedNode& node = c.nodes[i];
    points.push_back({node.difference.sqnr,
                      format("#%zu  %s dB  ", i, decibels(node.difference.sqnr).c_str()) +
                          operators_of(node) + "  " + where(node.module_path, place_of(node)),
                      !node.within});
  }
  return report::line_plot({"node", "SQNR dB", options.min_sqnr}, points);
}

std::string divergence_text(const Comparison& c) {
  if (!c.first_divergence) return "none";
  const ComparedNode& node = c.nodes[*c.first_divergence];
  return format("#%zu, ", *c.first_divergence) + operators_of(node) + ", " +
         where(node.module_path, place_of(node));
}

std::string comparison_page(const Compared& compared) {
  const Comparison& c = compared.result;
  report::Page page("torchlet compare");
  page.facts({{"a", compared.a.title()},
              {"b", compared.b.title()},
              {"method", compared.method},
              {"tolerance", tolerance(compared.options)},
              {"result", verdict(c)},
              {"first divergence", divergence_text(c)}});
  page.heading("Outputs");
  page.table(outputs_table(c));
  if (!c.nodes.empty()) {
    page.heading("Nodes");
    page.figure(sqnr_plot(c, compared.options),
                "SQNR of each node of b against a, in the order in which a computes them; what is "
                "equal lies at the top, what is not within the tolerance is red");
    page.table(nodes_table(c));
  }
  for (const auto& [side, nodes] : {std::pair("a", &c.only_a), std::pair("b", &c.only_b)}) {
    if (nodes->empty()) continue;
    page.folded_table(format("%zu nodes are only in %s", nodes->size(), side),
                      unmatched_table(*nodes));
  }
  return page.html();
}

// ---- the command ----

// What the command line names, else the first bundled inputs, else nothing if nothing is needed.
std::vector<Value> compare_inputs(const Module& module, const CompareCommand& command) {
  const std::string& name = command.compare.method;
  std::vector<Value> inputs = command.inputs.values(module, name);
  if (!inputs.empty()) return inputs;
  const Method method = module.get_method(name);
  const auto is_needed = [](const MethodArgument& a) { return !a.default_value; };
  if (std::ranges::none_of(method.arguments(), is_needed)) return {};
  try {
    const auto calls = bundled_inputs(module, name);
    if (!calls.empty()) return calls.front();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kNotFound) throw;
  }
  throw CLI::ValidationError(
      "compare", "name the inputs of " + method.schema() + " with --shape, --input or --value");
}

std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ",") + word;
  return text;
}

Side side_of(const std::string& file, const Options& options) {
  return {file, join(options.devices), precision_name(options.precision)};
}

void compare_models(CompareCommand& command) {
  // Two files are compared as they were written, one with its plans.
  const bool is_one_file = command.models.size() == 1;
  command.device_a.set_default({"reference"});
  command.device_b.set_default({is_one_file ? "cpu" : "reference"});
  Options options_a = command.device_a.options(), options_b = command.device_b.options();
  for (Options* options : {&options_a, &options_b}) {
    command.limits.apply(*options);
    options->print = [](std::string_view) {};
  }
  set_num_threads(command.threads);
  const Module a = load(command.model_a(), options_a), b = load(command.model_b(), options_b);
  const std::vector<Value> inputs = compare_inputs(a, command);
  command.compare.memory = command.memory;
  Progress progress("compare");
  command.compare.progress = [&](double done) { progress.update(done); };
  const Compared compared{side_of(command.model_a(), options_a),
                          side_of(command.model_b(), options_b), command.compare.method,
                          command.compare, torchlet::compare(a, b, inputs, command.compare)};
  if (!command.report.empty()) write_file(command.report, comparison_page(compared));
  command.json ? print_comparison_json(compared) : print_text(compared, command.all);
  if (!compared.result.within) throw Negative();
}

CLI::Validator number_from_zero() { return CLI::Range(0.0, 1e30, "0.."); }

}  // namespace

void add_compare_command(CLI::App& app) {
  auto options = std::make_shared<CompareCommand>();
  CLI::App* command = app.add_subcommand(
      "compare", "Compare what two models, or two ways to run one, compute from the same inputs");
  command->add_option("models", options->models, "The model that is right, and the other one")
      ->type_name("A.pt [B.pt]")
      ->expected(1, 2)
      ->required();
  options->inputs.add_to(*command, false);
  command->add_option("--method", options->compare.method, "What to call")->capture_default_str();
  options->device_a.add_to(*command, "-a", "reference");
  options->device_b.add_to(*command, "-b", "reference; cpu if there is one file");
  command
      ->add_option("--rtol", options->compare.rtol,
                   "Within the tolerance is |a - b| <= atol + rtol x the tensor's largest |a|")
      ->check(number_from_zero())
      ->capture_default_str();
  command->add_option("--atol", options->compare.atol, "See --rtol")
      ->check(number_from_zero())
      ->capture_default_str();
  command
      ->add_option_function<double>(
          "--min-sqnr", [options](double least) { options->compare.min_sqnr = least; },
          "Within the tolerance is an SQNR of at least so many decibels, instead")
      ->check(CLI::Range(-1000.0, 1000.0, "DB"));
  command->add_flag("--every-operator", options->compare.every_operator,
                    "Also what plans compute within a step, and then compute by itself");
  command
      ->add_option("--hold", options->memory,
                   "Intermediate results that are held at once; the models run as often as needed")
      ->transform(CLI::AsSizeValue(false).description(""))
      ->type_name("SIZE")
      ->default_str("512M");
  command->add_option("--report", options->report, "Write a page with a plot and all nodes")
      ->type_name("FILE.html");
  command->add_flag("--all", options->all, "List every node, and those without a counterpart");
  command->add_flag("--json", options->json, "Write everything as JSON");
  add_threads_option(*command, options->threads);
  options->limits.add_to(*command);
  command->footer(
      "Exit status: 0 if all outputs are within the tolerance, 3 if not.\n"
      "Without inputs the first bundled ones of A are taken.\n"
      "Examples: torchlet compare float.pt int8.pt --image cat.png --min-sqnr 20 --report "
      "diff.html\n"
      "          torchlet compare model.pt --bundled 0              (the cpu's plans, and the "
      "program)\n"
      "          torchlet compare model.pt --device-a cpu --precision-b fp16 --rtol 0.02");
  command->callback([options] { compare_models(*options); });
}

}  // namespace torchlet::cli
