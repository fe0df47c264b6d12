// `torchlet convert`: a model read and written again, as a TorchScript file.
#include <torchlet/torchlet.h>

#include <CLI/CLI.hpp>

#include "cli/commands.h"
#include "cli/files.h"
#include "cli/inputs.h"

namespace torchlet::cli {
namespace {

struct ConvertOptions {
  std::string model, output;
  std::vector<std::string> extra_files;
  LimitOptions limits;
};

void convert(const ConvertOptions& options) {
  Options load_options;
  load_options.allow_unsupported = true;
  options.limits.apply(load_options);
  SaveOptions save_options;
  save_options.extra_files = read_extra_files(options.model);
  for (const std::string& extra : options.extra_files) {
    const size_t equals = extra.find('=');
    if (equals == 0 || equals == std::string::npos) {
      throw CLI::ValidationError("--extra-file", "expected NAME=PATH, got '" + extra + "'");
    }
    save_options.extra_files[extra.substr(0, equals)] = read_file(extra.substr(equals + 1));
  }
  save(load(options.model, load_options), options.output, save_options);
}

}  // namespace

void add_convert_command(CLI::App& app) {
  auto options = std::make_shared<ConvertOptions>();
  CLI::App* command =
      app.add_subcommand("convert", "Read a model and write it as a TorchScript file");
  add_model(*command, options->model);
  command->add_option("-o,--output", options->output, "Where to write")
      ->required()
      ->type_name("FILE.pt");
  command->add_option("--extra-file", options->extra_files, "Add the file at PATH as extra/NAME")
      ->type_name("NAME=PATH");
  options->limits.add_to(*command);
  command->callback([options] { convert(*options); });
}

}  // namespace torchlet::cli
