// `torchlet bundle`: inputs that a model carries with it.
#include <torchlet/bundle.h>
#include <torchlet/bundled_inputs.h>
#include <torchlet/preprocess.h>
#include <torchlet/torchlet.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <map>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/files.h"
#include "cli/inputs.h"
#include "cli/json_values.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/text.h"
#include "tensor/containers.h"
#include "tensor/npy.h"

namespace torchlet::cli {
namespace {

struct BundleCommand {
  std::string model, extract, labels, method = "forward";
  OutputOptions output;
  InputOptions inputs;
  LimitOptions limits;
  std::vector<std::string> info;
  bool list = false, remove = false, no_run = false, json = false;
};

Module load_to_bundle(const BundleCommand& command) {
  Options options;
  command.limits.apply(options);
  options.allow_unsupported = true;
  options.print = [](std::string_view) {};
  return load(command.model, options);
}

// ---- adding ----

// Records that the model is given besides its inputs, by name.
std::map<std::string, std::string> records_of(const BundleCommand& command) {
  std::map<std::string, std::string> records;
  if (const auto& steps = command.inputs.pictures().given()) {
    records[kPreprocessFile] = to_json(*steps);
  }
  if (!command.labels.empty()) records[kLabelsFile] = read_file(command.labels);
  return records;
}

// One list of arguments for each call of the command line.
std::vector<BundledCall> calls_named(const Module& module, const BundleCommand& command) {
  std::vector<BundledCall> calls(1);
  int64_t seed = 0;
  for (const InputOptions::Named& named : command.inputs.named()) {
    if (named.kind == InputOptions::Kind::kNext) {
      calls.emplace_back();
    } else if (named.kind == InputOptions::Kind::kShape) {
      calls.back().arguments.emplace_back(
          RandomTensor{InputOptions::shape_of(named), command.inputs.dtype(), ++seed});
    } else {
      for (Value& value : command.inputs.values_of(named, module, command.method)) {
        calls.back().arguments.emplace_back(std::move(value));
      }
    }
  }
  if (calls.size() == 1 && calls.front().arguments.empty()) {
    throw CLI::ValidationError("bundle", "name the inputs of " +
                                             module.get_method(command.method).schema() +
                                             " with --image, --shape, --zeros, --input or --value");
  }
  if (command.info.size() > calls.size()) {
    throw CLI::ValidationError("--info", "there are more texts than calls");
  }
  for (size_t i = 0; i < command.info.size(); ++i) calls[i].info = command.info[i];
  return calls;
}

// Each call has to run. On copies, since a method may change its module.
void try_calls(const Module& module, const std::string& method) {
  const auto calls = bundled_inputs(module, method);
  Progress progress("running the inputs");
  for (size_t i = 0; i < calls.size(); ++i) {
    try {
      module.deepcopy().get_method(method)(calls[i]);
    } catch (Error& error) {
      error.add_context(format("in a run of bundled call %zu (--no-run does without)", i));
      throw;
    }
    progress.update(static_cast<double>(i + 1) / static_cast<double>(calls.size()));
  }
}

void add_bundle(const BundleCommand& command) {
  const Module module = load_to_bundle(command);
  const std::map<std::string, std::string> records = records_of(command);
  if (!records.empty() && !command.remove && command.inputs.named().empty()) {
    return command.output.save(module, command.model, records);
  }
  Module bundled = command.remove ? unbundle(module)
                                  : bundle(module, command.method, calls_named(module, command));
  if (!command.remove && !command.no_run) try_calls(bundled, command.method);
  command.output.save(bundled, command.model, records);
}

// ---- showing ----

struct CarriedCall {
  std::string method, info;
  size_t number;
  std::vector<std::pair<std::string, Value>> arguments;  // by name
};

std::vector<CarriedCall> carried_calls(const Module& module) {
  std::vector<CarriedCall> all;
  for (const auto& [name, info] : bundled_methods(module)) {
    std::vector<MethodArgument> declared;
    if (const auto method = module.find_method(name)) declared = method->arguments();
    const auto calls = bundled_inputs(module, name);
    for (size_t i = 0; i < calls.size(); ++i) {
      CarriedCall& call = all.emplace_back();
      call.method = name;
      if (i < info.size()) call.info = info[i];
      call.number = i;
      for (size_t k = 0; k < calls[i].size(); ++k) {
        call.arguments.emplace_back(k < declared.size() ? declared[k].name : std::to_string(k),
                                    calls[i][k]);
      }
    }
  }
  return all;
}

Json carried_json(const std::vector<CarriedCall>& calls) {
  Json all = Json::array();
  for (const CarriedCall& call : calls) {
    Json arguments = Json::array();
    for (const auto& [name, value] : call.arguments) {
      const std::string what = value.is_tensor() ? value.to_tensor().describe() : to_text(value);
      arguments.push_back({{"name", name}, {"value", what}});
    }
    all.push_back({{"method", call.method},
                   {"number", call.number},
                   {"info", call.info},
                   {"arguments", std::move(arguments)}});
  }
  return all;
}

void list_bundle(const BundleCommand& command) {
  const std::vector<CarriedCall> calls = carried_calls(load_to_bundle(command));
  if (command.json) {
    std::printf("%s\n", json_text(carried_json(calls), 1).c_str());
    return;
  }
  if (calls.empty()) std::printf("the model carries no inputs\n");
  for (const CarriedCall& call : calls) {
    std::printf("%s() call %zu%s%s\n", call.method.c_str(), call.number,
                call.info.empty() ? "" : ": ", call.info.c_str());
    for (const auto& [name, value] : call.arguments) {
      std::printf("  %s", describe(value, name).c_str());
    }
  }
}

// A name that a model gives may be of any characters.
std::string as_file_name(std::string name) {
  std::ranges::replace_if(
      name, [](char c) { return !std::isalnum(static_cast<unsigned char>(c)) && c != '_'; }, '_');
  return name.substr(0, 100);
}

// FOLDER/calls.json with data.npy, which `torchlet run --calls` takes; and each tensor as an .npy
// of its own, "forward.0.x.npy".
void extract_bundle(const BundleCommand& command) {
  const std::vector<CarriedCall> calls = carried_calls(load_to_bundle(command));
  if (calls.empty()) fail(ErrorCode::kNotFound, "the model carries no inputs");
  make_folder(command.extract);
  ValueWriter writer(command.extract);
  Json written = Json::array();
  for (const CarriedCall& call : calls) {
    Json inputs = Json::array();
    for (const auto& [name, value] : call.arguments) {
      inputs.push_back(writer.write(value));
      if (!value.is_tensor() || inputs.back()["t"] != "tensor") continue;
      std::string npy;
      append_npy(value.to_tensor(), npy);
      write_file(command.extract + "/" + as_file_name(call.method) + "." +
                     std::to_string(call.number) + "." + as_file_name(name) + ".npy",
                 npy);
    }
    written.push_back({{"method", call.method}, {"inputs", std::move(inputs)}});
  }
  writer.finish();
  write_file(command.extract + "/calls.json", json_text({{"calls", std::move(written)}}, 1) + "\n");
}

void run_bundle(const BundleCommand& command) {
  const bool writes = !command.output.path().empty();
  if (writes + command.list + !command.extract.empty() != 1) {
    throw CLI::ValidationError("bundle", "expected one of -o, --list and --extract");
  }
  if (command.remove && !writes) throw CLI::ValidationError("--remove", "it goes with -o");
  if (writes) return add_bundle(command);
  command.list ? list_bundle(command) : extract_bundle(command);
}

}  // namespace

void add_bundle_command(CLI::App& app) {
  auto options = std::make_shared<BundleCommand>();
  CLI::App* command = app.add_subcommand(
      "bundle",
      "Give a model inputs, preprocessing and labels that it carries; list and extract inputs");
  add_model(*command, options->model);
  options->inputs.add_to(*command);
  options->inputs.add_next_to(*command);
  options->output.add_to(*command, /*required=*/false);
  command
      ->add_option("--labels", options->labels,
                   "With -o: names of the classes, one a line, that the model carries")
      ->type_name("FILE");
  command->add_option("--method", options->method, "Whose inputs they are")->capture_default_str();
  command->add_option("--info", options->info, "What is told about the first call, the second, ...")
      ->type_name("TEXT")
      ->allow_extra_args(false);
  command->add_flag("--no-run", options->no_run, "Do not try whether the method takes the inputs");
  command->add_flag("--remove", options->remove, "With -o: write the model without any inputs");
  command->add_flag("--list", options->list, "Show what the model carries");
  command
      ->add_option("--extract", options->extract,
                   "Write what it carries as calls.json, for run --calls, and .npy files")
      ->type_name("FOLDER");
  command->add_flag("--json", options->json, "With --list: as JSON");
  options->limits.add_to(*command);
  command->footer(
      "A method's inputs replace those that it had; --shape keeps a seed in the file, not "
      "numbers.\n"
      "Examples: torchlet bundle model.pt -o out.pt --image cat.png --info 'a cat'\n"
      "          torchlet bundle model.pt -o out.pt --shape 1,3,224,224 --next --zeros 1,3,96,96\n"
      "          torchlet bundle model.pt -o out.pt --preprocess imagenet --labels labels.txt\n"
      "          torchlet bundle out.pt --list\n"
      "          torchlet run out.pt --bundled 0");
  command->callback([options] { run_bundle(*options); });
}

}  // namespace torchlet::cli
