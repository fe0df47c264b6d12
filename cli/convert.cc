// `torchlet convert`: a model read and written again, in the container that the ending asks for, or
// with parts for NNAPI.
#include <torchlet/torchlet.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "cli/commands.h"
#include "cli/convert_nnapi.h"
#include "cli/inputs.h"
#include "cli/json_values.h"
#include "cli/output.h"

namespace torchlet::cli {
namespace {

struct ConvertOptions {
  std::string model;
  OutputOptions output;
  LimitOptions limits;
  NnapiConversion nnapi;
  bool json = false;
};

Json described(const std::string& path, const ModelInfo& info) {
  return {{"file", path},
          {"container", info.container},
          {"format_version", info.file_version},
          {"bytes", info.num_bytes}};
}

void convert(ConvertOptions& options) {
  Options load_options;
  load_options.allow_unsupported = true;
  options.limits.apply(load_options);
  const Module module = load(options.model, load_options);
  if (options.nnapi.is_asked_for()) {
    return options.nnapi.run(options.model, module, options.output, options.json);
  }
  options.nnapi.refuse_options();
  options.output.save(module, options.model);
  if (!options.json) return;
  const std::string& path = options.output.path();
  const Json report = {{"input", described(options.model, module.info())},
                       {"output", described(path, load(path, load_options).info())}};
  std::printf("%s\n", json_text(report, 1).c_str());
}

}  // namespace

void add_convert_command(CLI::App& app) {
  auto options = std::make_shared<ConvertOptions>();
  CLI::App* command =
      app.add_subcommand("convert", "Read a model and write it as another file of PyTorch");
  add_model(*command, options->model);
  options->output.add_to(*command);
  options->limits.add_to(*command);
  options->nnapi.add_to(*command);
  command->add_flag("--json", options->json,
                    "Read the new file, too, and write what both are; of --to nnapi the report");
  command->footer(
      "Examples: torchlet convert model.pt -o model.ptl\n"
      "          torchlet convert model.ptl -o model.pt          (with or without source)\n"
      "          torchlet convert model.ptl -o old.ptl --bytecode-version 5\n"
      "          torchlet convert model.pt -o model.ff --extra-file labels=labels.txt\n"
      "          torchlet convert model.pt --to nnapi --input 1,3,224,224 -o model-nnapi.pt");
  command->callback([options] { convert(*options); });
}

}  // namespace torchlet::cli
