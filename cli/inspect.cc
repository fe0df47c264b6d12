// `torchlet inspect`: what a model is and what it needs.
#include <torchlet/preprocess.h>
#include <torchlet/torchlet.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "archive/reader.h"
#include "cli/commands.h"
#include "cli/inputs.h"
#include "cli/json_values.h"
#include "cli/placement.h"
#include "cli/text.h"
#include "tensor/tensor_impl.h"

namespace torchlet::cli {
namespace {

struct InspectOptions {
  std::string model, method;
  InputOptions inputs;
  DeviceOptions device;
  LimitOptions limits;
  bool graph = false, optimized = false, code = false, json = false, all = false;
  bool placement = false;
};

uint64_t bytes_of(const Tensor& tensor) {
  return static_cast<uint64_t>(tensor.numel()) * element_size(tensor.dtype());
}

struct TensorTotals {
  size_t count = 0;
  uint64_t values = 0, bytes = 0;
};

TensorTotals total(const std::vector<std::pair<std::string, Tensor>>& tensors) {
  TensorTotals totals;
  for (const auto& [name, tensor] : tensors) {
    ++totals.count;
    totals.values += static_cast<uint64_t>(tensor.numel());
    totals.bytes += bytes_of(tensor);
  }
  return totals;
}

Json tensors_json(const std::vector<std::pair<std::string, Tensor>>& tensors) {
  Json all = Json::array();
  for (const auto& [name, tensor] : tensors) {
    all.push_back({{"name", name},
                   {"dtype", std::string(dtype_name(tensor.dtype()))},
                   {"shape", std::vector<int64_t>(tensor.sizes().begin(), tensor.sizes().end())},
                   {"bytes", bytes_of(tensor)}});
  }
  return all;
}

std::string graph_of(const Method& method, const InspectOptions& options) {
  return options.optimized ? method.optimized_graph() : method.graph();
}

Json methods_json(const Module& module, const InspectOptions& options) {
  Json all = Json::array();
  for (const Method& method : module.methods()) {
    Json arguments = Json::array();
    for (const MethodArgument& argument : method.arguments()) {
      arguments.push_back({{"name", argument.name},
                           {"type", argument.type},
                           {"has_default", argument.default_value.has_value()}});
    }
    Json node = {{"name", method.name()},
                 {"schema", method.schema()},
                 {"arguments", std::move(arguments)},
                 {"returns", method.return_type()}};
    if (options.graph) node["graph"] = graph_of(method, options);
    all.push_back(std::move(node));
  }
  return all;
}

Json unsupported_json(const Module& module) {
  Json all = Json::array();
  for (const UnsupportedOperator& op : module.unsupported_operators()) {
    all.push_back({{"name", op.name}, {"reason", op.reason}, {"places", op.places}});
  }
  return all;
}

void print_json(const Module& module, const InspectOptions& options) {
  const ModelInfo& info = module.info();
  Json operators = Json::object();
  for (const auto& [name, count] : module.operators()) operators[name] = count;
  Json node = {{"file", info.file},
               {"container", info.container},
               {"file_version", info.file_version},
               {"bytes", info.num_bytes},
               {"class", info.root_class},
               {"methods", methods_json(module, options)},
               {"parameters", tensors_json(module.named_parameters())},
               {"buffers", tensors_json(module.named_buffers())},
               {"operators", std::move(operators)},
               {"unsupported_operators", unsupported_json(module)}};
  if (const auto steps = preprocess_of(module)) {
    node["preprocess"] = Json::parse(to_json(*steps));
  }
  const std::vector<std::string> labels = torchlet::labels_of(module);
  if (!labels.empty()) node["labels"] = labels;
  std::printf("%s\n", json_text(node, 1).c_str());
}

void print_tensors(const char* title, const std::vector<std::pair<std::string, Tensor>>& tensors,
                   bool each) {
  const TensorTotals totals = total(tensors);
  if (!totals.count) return;
  std::printf("%-12s%llu values, %s (tensors: %zu)\n", title,
              static_cast<unsigned long long>(totals.values), human_bytes(totals.bytes).c_str(),
              totals.count);
  if (!each) return;
  for (const auto& [name, tensor] : tensors) {
    std::printf("  %-50s %s\n", name.c_str(), tensor.describe().c_str());
  }
}

void print_operators(const Module& module) {
  std::printf("operators\n");
  for (const auto& [name, count] : module.operators()) {
    std::printf("  %-50s %zu\n", name.c_str(), count);
  }
  for (const UnsupportedOperator& op : module.unsupported_operators()) {
    std::printf("  %-50s %zu  NOT SUPPORTED: %s\n", op.name.c_str(), op.places.size(),
                op.reason.c_str());
    for (const std::string& place : op.places) std::printf("      %s\n", place.c_str());
  }
}

void print_graphs(const Module& module, const InspectOptions& options) {
  if (!options.method.empty()) {
    std::fputs(graph_of(module.get_method(options.method), options).c_str(), stdout);
    return;
  }
  for (const Method& method : module.methods()) {
    std::printf("# %s\n%s\n", method.schema().c_str(), graph_of(method, options).c_str());
  }
}

void print_code(const InspectOptions& options) {
  auto reader = archive::ArchiveReader::open(options.model);
  for (const archive::Record& record : reader.records()) {
    if (!record.name.starts_with("code/") || !record.name.ends_with(".py")) continue;
    std::printf("# %s\n%s\n", record.name.c_str(), reader.read_text(record.name).c_str());
  }
}

void print_summary(const Module& module, const InspectOptions& options) {
  const ModelInfo& info = module.info();
  std::printf("%-12s%s\n", "file", info.file.c_str());
  std::printf("%-12s%s, format version %lld, %s\n", "container", info.container.c_str(),
              static_cast<long long>(info.file_version), human_bytes(info.num_bytes).c_str());
  std::printf("%-12s%s\n", "class", info.root_class.c_str());
  print_tensors("parameters", module.named_parameters(), options.all);
  print_tensors("buffers", module.named_buffers(), options.all);
  if (const auto steps = preprocess_of(module)) {
    std::printf("%-12s%s\n", "preprocess", to_json(*steps).c_str());
  }
  const std::vector<std::string> labels = torchlet::labels_of(module);
  if (!labels.empty())
    std::printf("%-12s%zu: %s, ...\n", "labels", labels.size(), labels[0].c_str());
  std::printf("methods\n");
  for (const Method& method : module.methods()) std::printf("  %s\n", method.schema().c_str());
  print_operators(module);
}

// Which takes one call: devices decide when they see the inputs.
void show_placement(const Module& module, const InspectOptions& options) {
  const std::string method = options.method.empty() ? "forward" : options.method;
  module.get_method(method)(options.inputs.values(module, method));
  if (options.json) {
    std::printf("%s\n", json_text(placement_json(module), 1).c_str());
  } else {
    print_placement(module);
  }
}

void inspect(const InspectOptions& options) {
  if (options.code) return print_code(options);
  Options load_options = options.device.options();
  options.limits.apply(load_options);
  load_options.allow_unsupported = true;
  const Module module = load(options.model, load_options);
  if (options.placement) {
    show_placement(module, options);
  } else if (options.json) {
    print_json(module, options);
  } else if (options.graph) {
    print_graphs(module, options);
  } else {
    print_summary(module, options);
  }
}

}  // namespace

void add_inspect_command(CLI::App& app) {
  auto options = std::make_shared<InspectOptions>();
  CLI::App* command = app.add_subcommand(
      "inspect", "Show a model's methods, parameters and operators, and what is not supported");
  add_model(*command, options->model);
  command->add_flag("--all", options->all, "List every parameter and buffer");
  command->add_flag("--graph", options->graph, "Show the methods as graphs");
  command->add_flag("--optimized", options->optimized, "With --graph: as they run");
  command->add_option("--method", options->method, "Only this one for --graph and --placement");
  command->add_flag("--code", options->code, "Show the TorchScript source in the file");
  command->add_flag("--placement", options->placement,
                    "Call the method with the inputs and show what ran where, and why");
  options->inputs.add_to(*command);
  options->device.add_to(*command);
  options->limits.add_to(*command);
  command->add_flag("--json", options->json, "Write everything as JSON");
  command->footer(
      "Examples: torchlet inspect model.pt\n"
      "          torchlet inspect model.pt --graph --method forward --optimized\n"
      "          torchlet inspect model.pt --placement --shape 1,3,224,224");
  command->callback([options] { inspect(*options); });
}

}  // namespace torchlet::cli
