// `torchlet ops`: which operators there are, and which of them a model needs.
#include <torchlet/torchlet.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <map>

#include "cli/commands.h"
#include "cli/inputs.h"
#include "cli/json_values.h"
#include "graph/operator.h"

namespace torchlet::cli {
namespace {

struct OpsOptions {
  std::string model;
  LimitOptions limits;
  bool json = false;
};

// By full name: how often the model calls it, 0 without a model.
std::map<std::string, size_t> wanted(const OpsOptions& options) {
  std::map<std::string, size_t> names;
  if (options.model.empty()) {
    for (const Operator* op : all_operators()) names[op->schema.full_name()] = 0;
    return names;
  }
  Options load_options;
  options.limits.apply(load_options);
  const Module module = load(options.model, load_options);
  for (const auto& [name, count] : module.operators()) names[name] = count;
  return names;
}

void list_operators(const OpsOptions& options) {
  const std::map<std::string, size_t> names = wanted(options);
  Json all = Json::array();
  for (const Operator* op : all_operators()) {
    const auto found = names.find(op->schema.full_name());
    if (found == names.end()) continue;
    if (!options.json) {
      std::printf("%s\n", op->schema.str().c_str());
      continue;
    }
    Json row = {{"name", found->first}, {"schema", op->schema.str()}};
    if (found->second > 0) row["calls"] = found->second;
    all.push_back(std::move(row));
  }
  if (options.json) std::printf("%s\n", json_text(all, 1).c_str());
}

}  // namespace

void add_ops_command(CLI::App& app) {
  auto options = std::make_shared<OpsOptions>();
  CLI::App* command = app.add_subcommand(
      "ops", "List the operators that there are, or those that a model needs, by their schemas");
  command->add_option("model", options->model, "A TorchScript file; none: every operator")
      ->type_name("FILE.pt");
  options->limits.add_to(*command);
  command->add_flag("--json", options->json, "Write the list as JSON, with the number of calls");
  command->callback([options] { list_operators(*options); });
}

}  // namespace torchlet::cli
