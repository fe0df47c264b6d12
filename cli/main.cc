// The `torchlet` command.
//
// Exit status: 0 success, 1 the model or a file is wrong or fails, 2 wrong use. An error is one
// line on standard error that starts with "torchlet: error: ".
#include <torchlet/torchlet.h>

#include <cstdio>
#include <string_view>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/text.h"

namespace torchlet::cli {
namespace {

struct Command {
  const char *name, *description;
  void (*run)(int argc, char** argv);
};

constexpr Command kCommands[] = {
    {"run", "Run a model on tensors or a picture", run_command},
    {"inspect", "Show a model's methods, parameters and operators, and what is not supported",
     inspect_command},
    {"bench", "Time a model: load, first run, steady state", bench_command},
};

void print_help() {
  std::printf(
      "Runs PyTorch models (TorchScript files) without PyTorch.\n"
      "Usage: torchlet [OPTIONS] SUBCOMMAND\n\n"
      "Options:\n"
      "  -h,--help                 Print this help message and exit\n"
      "  --version                 Print the version and exit\n\n"
      "Subcommands:\n");
  for (const Command& command : kCommands) {
    std::printf("  %-26s%s\n", command.name, command.description);
  }
}

void dispatch(int argc, char** argv) {
  const std::string_view first = argc > 1 ? argv[1] : "";
  if (first == "-h" || first == "--help") return print_help();
  if (first == "--version") {
    std::printf("torchlet %s\n", version());
    return;
  }
  for (const Command& command : kCommands) {
    if (first == command.name) return command.run(argc - 1, argv + 1);
  }
  throw UsageError(first.empty() ? "a subcommand is required"
                                 : "there is no subcommand " + std::string(first));
}

int fail_with(const std::string& text, int status) {
  std::fflush(stdout);
  std::fprintf(stderr, "torchlet: error: %s\n", text.c_str());
  return status;
}

}  // namespace
}  // namespace torchlet::cli

int main(int argc, char** argv) {
  using namespace torchlet;  // NOLINT(google-build-using-namespace): the whole program is ours
  try {
    cli::dispatch(argc, argv);
    return 0;
  } catch (const cli::UsageError& error) {
    return cli::fail_with(error.what() + std::string(" (see --help)"), 2);
  } catch (const Error& error) {
    return cli::fail_with(cli::one_line(error), 1);
  } catch (const std::exception& error) {
    return cli::fail_with(error.what(), 1);
  }
}
