// The subcommands of `torchlet`, one file each. argv[0] is the subcommand's name. They throw
// torchlet::Error for what goes wrong with a model, and UsageError for a wrong use of the options.
#pragma once

namespace torchlet::cli {

void run_command(int argc, char** argv);
void inspect_command(int argc, char** argv);
void bench_command(int argc, char** argv);

}  // namespace torchlet::cli
