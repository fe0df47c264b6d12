// `torchlet run`: calls a method and shows what it gives.
#include <torchlet/preprocess.h>
#include <torchlet/torchlet.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "base/error.h"
#include "cli/calls.h"
#include "cli/commands.h"
#include "cli/files.h"
#include "cli/inputs.h"
#include "cli/json_values.h"
#include "cli/text.h"
#include "tensor/containers.h"

namespace torchlet::cli {
namespace {

struct RunOptions {
  std::string model, method = "forward", labels, calls, save;
  InputOptions inputs;
  DeviceOptions device;
  LimitOptions limits;
  int top = 5, threads = 0;
  bool json = false, allow_unsupported = false;
};

bool looks_like_scores(const Value& output) {
  if (!output.is_tensor()) return false;
  const Tensor tensor = output.to_tensor();
  return tensor.dim() >= 1 && tensor.numel() > 1 && tensor.numel() == tensor.size(-1) &&
         is_floating_point(tensor.dtype());
}

// One line for each of the best classes.
void show_classes(const Value& output, int top, const std::vector<std::string>& labels) {
  for (const auto& [index, probability] : top_classes(output.to_tensor(), top)) {
    const auto at = static_cast<size_t>(index);
    const std::string label = at < labels.size() ? labels[at] : "class " + std::to_string(index);
    std::printf("%6.2f %%  %s\n", static_cast<double>(probability) * 100, label.c_str());
  }
}

// Plain JSON: tensors as {"dtype", "shape", "data": [..]} with their values in row-major order,
// complex ones as [real, imaginary], quantized ones as the real numbers that they stand for.
Json plain_json(const Value& value) {
  const DepthGuard guard;
  if (value.is_tensor()) {
    const Tensor tensor = value.to_tensor();
    const Tensor numbers = plain_numbers(tensor);
    Json node = {{"dtype", std::string(dtype_name(tensor.dtype()))},
                 {"shape", std::vector<int64_t>(tensor.sizes().begin(), tensor.sizes().end())}};
    const auto count = static_cast<size_t>(numbers.numel());
    if (numbers.dtype() == DType::kInt64) {
      node["data"] =
          std::vector<int64_t>(numbers.data_ptr<int64_t>(), numbers.data_ptr<int64_t>() + count);
    } else if (numbers.dtype() == DType::kComplex128) {
      Json pairs = Json::array();
      for (size_t i = 0; i < count; ++i) {
        const std::complex<double> z = numbers.data_ptr<std::complex<double>>()[i];
        pairs.push_back(Json::array({z.real(), z.imag()}));
      }
      node["data"] = std::move(pairs);
    } else {
      node["data"] =
          std::vector<double>(numbers.data_ptr<double>(), numbers.data_ptr<double>() + count);
    }
    return node;
  }
  if (value.is_list() || value.is_tuple()) {
    Json items = Json::array();
    for (const Value& item : value.to_list()) items.push_back(plain_json(item));
    return items;
  }
  if (value.is_dict()) {
    Json node = Json::object();
    for (const auto& [key, item] : value.to_dict()) {
      node[key.is_string() ? key.to_string() : describe(key, "key")] = plain_json(item);
    }
    return node;
  }
  if (value.is_bool()) return value.to_bool();
  if (value.is_int()) return value.to_int();
  if (value.is_float()) return value.to_double();
  if (value.is_string() || value.is_device()) return value.to_string();
  if (value.is_none()) return nullptr;
  return describe(value, "value");
}

void save_output(const Value& output, const std::string& folder) {
  make_folder(folder);
  ValueWriter writer(folder);
  const Json node = writer.write(output);
  writer.finish();
  write_file(folder + "/output.json", json_text(node, 1) + "\n");
}

void refuse_unsupported(const Module& module) {
  std::string names;
  for (const UnsupportedOperator& op : module.unsupported_operators()) {
    names += (names.empty() ? "" : ", ") + op.name;
  }
  fail(ErrorCode::kUnsupported,
       "the model uses operators that Torchlet does not have (`torchlet inspect` shows where, "
       "--allow-unsupported runs the model until it reaches one): " +
           names);
}

void run_once(const RunOptions& options) {
  Options load_options = options.device.options();
  options.limits.apply(load_options);
  load_options.allow_unsupported = true;  // to say more than load() would
  if (options.json) {
    load_options.print = [](std::string_view line) {
      std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
    };
  }
  std::vector<std::string> labels;
  if (!options.labels.empty()) labels = read_labels(options.labels);
  const Module module = load(options.model, load_options);
  if (options.labels.empty()) labels = torchlet::labels_of(module);
  if (!options.allow_unsupported && !module.unsupported_operators().empty()) {
    refuse_unsupported(module);
  }
  const Method method = module.get_method(options.method);
  std::vector<Value> inputs = options.inputs.values(module, options.method);
  const double start = now();
  const Value output = method(std::move(inputs));
  const double seconds = now() - start;

  if (!options.save.empty()) save_output(output, options.save);
  if (options.json) {
    Json node = {{"model", options.model},
                 {"method", options.method},
                 {"seconds", seconds},
                 {"output", plain_json(output)}};
    std::printf("%s\n", json_text(node).c_str());
    return;
  }
  const bool classes = options.inputs.has_image() || !labels.empty();
  if (classes && looks_like_scores(output)) {
    show_classes(output, options.top, labels);
  } else {
    std::fputs(describe(output, "output").c_str(), stdout);
  }
  std::printf("%s took %.1f ms\n", options.method.c_str(), seconds * 1000);
}

void run(const RunOptions& options) {
  set_num_threads(options.threads);
  if (options.calls.empty()) return run_once(options);
  Options load_options = options.device.options();
  options.limits.apply(load_options);
  run_calls(options.model, options.calls, options.save, load_options);
}

}  // namespace

void add_run_command(CLI::App& app) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command = app.add_subcommand("run", "Run a model on tensors or a picture");
  add_model(*command, options->model);
  options->inputs.add_to(*command);
  command->add_option("--method", options->method, "What to call")->capture_default_str();
  command
      ->add_option("--labels", options->labels,
                   "Names of the classes, one a line (default: those that the model carries)")
      ->type_name("FILE");
  command->add_option("--top", options->top, "How many classes to show")
      ->check(not_negative())
      ->capture_default_str();
  CLI::Option* save =
      command->add_option("--save", options->save, "For the result: output.json, data.npy")
          ->type_name("FOLDER");
  command
      ->add_option("--calls", options->calls,
                   "Make the calls of this JSON file and save results.json; see cli/calls.h for "
                   "the notation")
      ->type_name("FILE")
      ->needs(save);
  add_threads_option(*command, options->threads);
  options->device.add_to(*command);
  options->device.add_footprint_to(*command);
  options->device.add_cache_to(*command);
  options->limits.add_to(*command);
  command->add_flag("--allow-unsupported", options->allow_unsupported,
                    "Run although operators are missing, until one of them is reached");
  command->add_flag("--json", options->json, "Write the result as JSON");
  command->footer(
      "Examples: torchlet run mobilenet.pt --image cat.jpg --labels imagenet.txt\n"
      "          torchlet run model.pt x.npy --save out\n"
      "          torchlet run model.ptl --bundled 0 --json");
  command->callback([options] { run(*options); });
}

}  // namespace torchlet::cli
