// `torchlet optimize`: a model made smaller and faster, and written when its answers are proved.
#include <torchlet/bundled_inputs.h>
#include <torchlet/optimize.h>
#include <torchlet/torchlet.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/guessed_inputs.h"
#include "cli/inputs.h"
#include "cli/json_values.h"
#include "cli/output.h"
#include "cli/text.h"

namespace torchlet::cli {
namespace {

struct OptimizeCommand {
  std::string model, method = "forward", passes, skip, preserve;
  OutputOptions output;
  InputOptions inputs;
  LimitOptions limits;
  OptimizeOptions options;
  int threads = 0;
  bool explain = false, json = false, no_proof = false;
};

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> names;
  for (const std::string& name : CLI::detail::split(list, ',')) {
    if (!name.empty()) names.push_back(name);
  }
  return names;
}

std::string decibels(double sqnr) {
  return std::isinf(sqnr) ? "equal" : format("SQNR %.1f dB", sqnr);
}

void show_passes(const OptimizeReport& report) {
  std::printf("%-16s %8s %8s\n", "pass", "added", "removed");
  for (const OptimizeReport::Pass& pass : report.passes) {
    std::printf("%-16s %8zu %8zu\n", pass.name.c_str(), pass.nodes_added, pass.nodes_removed);
    for (const std::string& note : pass.notes) std::printf("    %s\n", note.c_str());
  }
}

void show(const OptimizeCommand& command, const OptimizeReport& report, uint64_t bytes_before,
          uint64_t bytes_after) {
  if (command.explain) show_passes(report);
  std::string methods;
  for (const std::string& name : report.methods) methods += (methods.empty() ? "" : ", ") + name;
  std::printf("methods     %s\n", methods.c_str());
  std::printf("nodes       %zu -> %zu\n", report.nodes_before, report.nodes_after);
  for (const OptimizeReport::Proof& proof : report.proofs) {
    std::printf("proof       %s on %s, %zu %s: max abs %.2e, %s\n", proof.method.c_str(),
                proof.device.c_str(), proof.calls, proof.calls == 1 ? "call" : "calls",
                proof.max_abs, decibels(proof.sqnr).c_str());
  }
  if (report.proofs.empty()) std::printf("proof       none: nothing was compared\n");
  std::printf("size        %s -> %s\n", human_bytes(bytes_before).c_str(),
              human_bytes(bytes_after).c_str());
}

Json json_report(const OptimizeCommand& command, const OptimizeReport& report,
                 uint64_t bytes_before, uint64_t bytes_after) {
  Json passes = Json::array(), proofs = Json::array();
  for (const OptimizeReport::Pass& pass : report.passes) {
    passes.push_back({{"pass", pass.name},
                      {"nodes_added", pass.nodes_added},
                      {"nodes_removed", pass.nodes_removed},
                      {"changes", pass.notes}});
  }
  for (const OptimizeReport::Proof& proof : report.proofs) {
    Json node = {{"method", proof.method}, {"device", proof.device},   {"calls", proof.calls},
                 {"error", proof.error},   {"max_abs", proof.max_abs}, {"sqnr_db", nullptr}};
    if (std::isfinite(proof.sqnr)) node["sqnr_db"] = proof.sqnr;
    proofs.push_back(std::move(node));
  }
  return {{"model", command.model},
          {"output", command.output.path()},
          {"methods", report.methods},
          {"nodes_before", report.nodes_before},
          {"nodes_after", report.nodes_after},
          {"bytes_before", bytes_before},
          {"bytes_after", bytes_after},
          {"passes", std::move(passes)},
          {"proofs", std::move(proofs)}};
}

bool is_in_training_mode(const Module& module) {
  const Value training = module.hasattr("training") ? module.attr("training") : Value(false);
  return training.is_bool() && training.to_bool();
}

// Given inputs, bundled ones (which optimize() finds), or such as the model takes.
void choose_calls(OptimizeCommand& command, const Module& module) {
  OptimizeOptions& options = command.options;
  options.prove = !command.no_proof;
  std::vector<Value> inputs = command.inputs.values(module, command.method);
  if (!inputs.empty()) options.calls.push_back({command.method, std::move(inputs)});
  if (!options.prove || !options.calls.empty() || !bundled_methods(module).empty()) return;
  if (auto guessed = guessed_inputs(module, command.method)) {
    options.calls.push_back({command.method, std::move(*guessed)});
    return;
  }
  options.prove = false;
}

// Of what was written.
void warn(const OptimizeCommand& command, const Module& module) {
  if (!command.options.prove && !command.no_proof) {
    std::fprintf(stderr,
                 "torchlet: not proved: the model bundles no inputs, and it is not known which %s "
                 "takes; give them (--shape 1,3,224,224, --input FILE.npy)\n",
                 command.method.c_str());
  }
  if (!command.options.eval && is_in_training_mode(module)) {
    std::fprintf(stderr,
                 "torchlet: the model is in training mode, so its batch norms and dropouts stay; "
                 "--eval puts it into evaluation mode\n");
  }
}

void optimize_file(OptimizeCommand& command) {
  set_num_threads(command.threads);
  OptimizeOptions& options = command.options;
  options.passes = split(command.passes);
  options.skip = split(command.skip);
  options.preserve = split(command.preserve);
  Options load_options;
  load_options.allow_unsupported = true;
  load_options.print = [](std::string_view) {};
  command.limits.apply(load_options);
  const Module module = load(command.model, load_options);
  choose_calls(command, module);
  const OptimizedModule result = optimize(module, options);

  command.output.save(result.module, command.model);
  warn(command, module);
  const uint64_t before = std::filesystem::file_size(command.model);
  const uint64_t after = std::filesystem::file_size(command.output.path());
  if (command.json) {
    std::printf("%s\n", json_text(json_report(command, result.report, before, after), 1).c_str());
  } else {
    show(command, result.report, before, after);
  }
}

std::string list_of_passes() {
  std::string text = "Passes, in order (* runs only with --for-mobile, or when it is named):\n";
  for (const PassInfo& pass : optimize_passes()) {
    text += format("  %-15.*s %c %.*s\n", static_cast<int>(pass.name.size()), pass.name.data(),
                   pass.is_default ? ' ' : '*', static_cast<int>(pass.summary.size()),
                   pass.summary.data());
  }
  return text;
}

}  // namespace

void add_optimize_command(CLI::App& app) {
  auto options = std::make_shared<OptimizeCommand>();
  CLI::App* command = app.add_subcommand(
      "optimize", "Freeze, fold and fuse a model, prove that its answers stay, and write it");
  add_model(*command, options->model);
  options->inputs.add_to(*command);
  options->output.add_to(*command);
  command->add_option("--method", options->method, "What the inputs are for")
      ->capture_default_str();
  options->passes = "default";
  command->add_option("--passes", options->passes, "default, none, or names of passes")
      ->type_name("NAME[,NAME...]")
      ->capture_default_str();
  command->add_option("--skip", options->skip, "Passes that do not run")
      ->type_name("NAME[,NAME...]");
  command->add_flag("--for-mobile", options->options.for_mobile,
                    "Write PyTorch Mobile's packed layers and fused operators");
  command
      ->add_option("--preserve", options->preserve,
                   "Methods and attributes that stay, beside forward and bundled inputs; 'all' "
                   "keeps all. By default methods stay that no other one calls")
      ->type_name("NAME[,NAME...]");
  command->add_flag("--eval", options->options.eval,
                    "Put a model in training mode into evaluation mode");
  command
      ->add_option("--tolerance", options->options.tolerance,
                   "What results may differ by, as a part of the largest number of the tensor")
      ->check(CLI::NonNegativeNumber.description(""))
      ->capture_default_str();
  command->add_flag("--no-proof", options->no_proof, "Write the result without comparing answers");
  command->add_flag("--explain", options->explain, "Show what each pass changed, and where");
  command->add_flag("--json", options->json, "Write the report as JSON");
  add_threads_option(*command, options->threads);
  options->limits.add_to(*command);
  command->footer(list_of_passes() +
                  "Examples: torchlet optimize model.pt --shape 1,3,224,224 -o small.pt --explain\n"
                  "          torchlet optimize bundled.pt -o mobile.pt --for-mobile");
  command->callback([options] { optimize_file(*options); });
}

}  // namespace torchlet::cli
