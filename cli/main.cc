// The `torchlet` command.
//
// Exit status: 0 success, 1 the model or a file is wrong or fails, 2 wrong use, 3 a comparison says
// no. An error is one line on standard error that starts with "torchlet: error: ".
#include <torchlet/torchlet.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "cli/commands.h"
#include "cli/text.h"

namespace {

int fail_with(const std::string& text, int status) {
  std::fflush(stdout);
  std::fprintf(stderr, "torchlet: error: %s\n", text.c_str());
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace torchlet;  // NOLINT(google-build-using-namespace): the whole program is ours
  try {
    CLI::App app("Runs PyTorch models (TorchScript files) without PyTorch.", "torchlet");
    app.set_version_flag("--version", std::string("torchlet ") + version(),
                         "Print the version and exit");
    app.require_subcommand(1);
    cli::add_run_command(app);
    cli::add_inspect_command(app);
    cli::add_bench_command(app);
    cli::add_ops_command(app);
    cli::add_convert_command(app);
    cli::add_compare_command(app);
    cli::add_bundle_command(app);
    cli::add_optimize_command(app);
    cli::add_quantize_command(app);
    cli::add_devices_command(app);
    cli::add_tune_command(app);
    cli::add_explain_command(app);
    try {
      app.parse(argc, argv);
      return 0;
    } catch (const CLI::Success& help_or_version) {
      return app.exit(help_or_version);
    }
  } catch (const cli::Negative&) {
    return cli::Negative::kExitStatus;
  } catch (const CLI::ParseError& error) {
    return fail_with(error.what() + std::string(" (see --help)"), 2);
  } catch (const Error& error) {
    return fail_with(cli::one_line(error), 1);
  } catch (const std::exception& error) {
    return fail_with(error.what(), 1);
  }
}
