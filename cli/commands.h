// The subcommands of `torchlet`, one file each. A callback throws torchlet::Error for what goes
// wrong with a model, and CLI::ValidationError for a wrong use of the options.
#pragma once

namespace CLI {
class App;
}

namespace torchlet::cli {

// Thrown by a command that has done its work and found that the answer is no.
struct Negative {
  static constexpr int kExitStatus = 3;
};

void add_run_command(CLI::App& app);
void add_inspect_command(CLI::App& app);
void add_bench_command(CLI::App& app);
void add_ops_command(CLI::App& app);
void add_convert_command(CLI::App& app);
void add_compare_command(CLI::App& app);
void add_bundle_command(CLI::App& app);
void add_optimize_command(CLI::App& app);
void add_quantize_command(CLI::App& app);
void add_devices_command(CLI::App& app);
void add_tune_command(CLI::App& app);
void add_explain_command(CLI::App& app);

}  // namespace torchlet::cli
