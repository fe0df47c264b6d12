// `torchlet ops`: which operators there are, and which of them models need.
#include <torchlet/torchlet.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <map>
#include <set>

#include "api/load_bytecode.h"
#include "base/error.h"
#include "cli/commands.h"
#include "cli/inputs.h"
#include "cli/json_values.h"
#include "cli/progress.h"
#include "graph/operator.h"
#include "prepare/needed_operators.h"

namespace torchlet::cli {
namespace {

struct OpsOptions {
  std::vector<std::string> models;
  LimitOptions limits;
  std::string format = "text";
  bool json = false;
};

// An operator that models call, or that there is.
struct OperatorNeed {
  std::map<std::string, size_t> calls;  // by model: how often it stands in its code
  const Operator* op = nullptr;         // null if Torchlet does not have it
  std::string reason;                   // why not
};
using OperatorNeeds = std::map<std::string, OperatorNeed>;  // by full name

void add_needs(const std::string& model, const OpsOptions& options, OperatorNeeds& needs) {
  Options load_options;
  load_options.allow_unsupported = true;
  options.limits.apply(load_options);
  const Module module = load(model, load_options);
  for (const auto& [name, count] : module.operators()) needs[name].calls[model] += count;
  for (const UnsupportedOperator& op : module.unsupported_operators()) {
    OperatorNeed& need = needs[op.name];
    need.calls[model] += op.places.size();
    need.reason = op.reason;
  }
}

// What `cmake -C` reads: the variables of a build for the models alone.
struct SmallBuild {
  std::set<std::string> operators, containers, features, passes;
};

// Of bytecode alone if the file has it, since the compiler of TorchScript takes a third of a small
// build.
void add_to_build(const std::string& model, const OpsOptions& options, SmallBuild& build) {
  Options load_options;
  options.limits.apply(load_options);
  Module module = load(model, load_options);
  const std::string container = module.info().container;
  build.containers.insert(container == "TorchScript"        ? "pt"
                          : container == "Lite Interpreter" ? "ptl"
                                                            : "ff");
  if (container != "TorchScript") module = api::load_bytecode(model, load_options);
  // Bytecode names overloads, so it needs no others of the same name.
  const bool is_exact = container != "TorchScript";
  const auto add = [&](const auto& operators) {
    for (const auto& [name, count] : operators) {
      const bool is_default = is_exact && name.find('.') == std::string::npos;
      build.operators.insert(is_default ? name + ".default" : name);
    }
  };
  add(module.operators());
  add(prepare::optimized_operators(module));
  build.features.merge(prepare::needed_features(module));
  build.passes.merge(prepare::needed_passes(module));
}

std::string joined(const std::set<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ";") + name;
  return list;
}

void print_small_build(const OpsOptions& options) {
  SmallBuild build;
  std::string command;
  for (const std::string& model : options.models) {
    add_to_build(model, options, build);
    command += " " + model;
  }
  std::printf("# torchlet ops%s --format cmake\n", command.c_str());
  std::printf("set(TORCHLET_OPERATORS \"%s\" CACHE STRING \"\")\n",
              joined(build.operators).c_str());
  std::printf("set(TORCHLET_CONTAINERS \"%s\" CACHE STRING \"\")\n",
              joined(build.containers).c_str());
  std::printf("set(TORCHLET_PASSES \"%s\" CACHE STRING \"\")\n", joined(build.passes).c_str());
  std::printf("set(TORCHLET_FEATURES \"%s\" CACHE STRING \"\")\n", joined(build.features).c_str());
  std::printf("set(TORCHLET_DEVICES \"cpu\" CACHE STRING \"\")\n");
  std::printf("set(TORCHLET_CODECS OFF CACHE BOOL \"\")\n");
  std::printf("set(TORCHLET_CXX_API OFF CACHE BOOL \"\")\n");
  std::printf("set(TORCHLET_SELF_CONTAINED ON CACHE BOOL \"\")\n");
  std::printf("set(TORCHLET_TESTS OFF CACHE BOOL \"\")\n");
  std::printf("set(CMAKE_BUILD_TYPE MinSizeRel CACHE STRING \"\")\n");
}

// Without a model: every operator.
OperatorNeeds all_needs(const OpsOptions& options) {
  OperatorNeeds needs;
  Progress progress("reading models");
  for (size_t i = 0; i < options.models.size(); ++i) {
    add_needs(options.models[i], options, needs);
    progress.update(static_cast<double>(i + 1) / static_cast<double>(options.models.size()));
  }
  for (const Operator* op : all_operators()) {
    const std::string name = op->schema.full_name();
    if (options.models.empty()) needs[name];
    if (const auto found = needs.find(name); found != needs.end()) found->second.op = op;
  }
  return needs;
}

Json needs_json(const OperatorNeeds& needs) {
  Json all = Json::array();
  for (const auto& [name, need] : needs) {
    Json row = {{"name", name}, {"supported", need.op != nullptr}};
    if (need.op) {
      row["schema"] = need.op->schema.str();
    } else {
      row["reason"] = need.reason;
    }
    size_t calls = 0;
    for (const auto& [model, count] : need.calls) calls += count;
    if (calls > 0) row["calls"] = calls;
    if (!need.calls.empty()) row["models"] = need.calls;
    all.push_back(std::move(row));
  }
  return all;
}

bool is_plain_name(std::string_view name) {
  return std::ranges::all_of(name, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == ':' || c == '_' || c == '.';
  });
}

void print_need(const std::string& op, const OperatorNeed& need, const std::string& format) {
  // Bytecode can name anything; in quotes it is one line, and one item of YAML.
  const std::string name = is_plain_name(op) ? op : json_text(op);
  if (format == "list") {
    std::printf("%s\n", name.c_str());
  } else if (format == "yaml") {
    std::printf("- %s\n", name.c_str());
  } else if (need.op) {
    std::printf("%s\n", need.op->schema.str().c_str());
  } else {
    std::printf("%s  NOT SUPPORTED: %s\n", name.c_str(), need.reason.c_str());
  }
}

void list_operators(const OpsOptions& options) {
  if (options.format == "cmake") {
    TORCHLET_CHECK(!options.models.empty(), "a build for models needs to know which models");
    return print_small_build(options);
  }
  const OperatorNeeds needs = all_needs(options);
  if (options.json || options.format == "json") {
    std::printf("%s\n", json_text(needs_json(needs), 1).c_str());
    return;
  }
  for (const auto& [name, need] : needs) print_need(name, need, options.format);
}

}  // namespace

void add_ops_command(CLI::App& app) {
  auto options = std::make_shared<OpsOptions>();
  CLI::App* command = app.add_subcommand(
      "ops", "List the operators that there are, or those that models need, by their schemas");
  command->add_option("models", options->models, "TorchScript files; none: every operator")
      ->type_name("FILE.pt")
      ->expected(0, -1);
  command
      ->add_option("--format", options->format,
                   "text (schemas), json, list (names), yaml (names, as PyTorch's custom build "
                   "takes them), cmake (all that a build for the models needs)")
      ->check(CLI::IsMember({"text", "json", "list", "yaml", "cmake"}))
      ->capture_default_str();
  command->add_flag("--json", options->json, "As --format json, with the number of calls");
  options->limits.add_to(*command);
  command->footer(
      "Examples: torchlet ops model.pt\n"
      "          torchlet ops a.pt b.ptl --format list > operators.txt   (what an app needs)\n"
      "          torchlet ops a.ptl --format cmake > a.cmake             (cmake -C a.cmake)\n"
      "          torchlet ops a.pt --format yaml > a.yaml                (SELECTED_OP_LIST)");
  command->callback([options] { list_operators(*options); });
}

}  // namespace torchlet::cli
