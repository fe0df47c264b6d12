// `torchlet bench`: how long a model takes.
#include <torchlet/torchlet.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <utility>

#include "base/error.h"
#include "cli/accuracy.h"
#include "cli/commands.h"
#include "cli/files.h"
#include "cli/inputs.h"
#include "cli/json_values.h"
#include "cli/memory.h"
#include "cli/placement.h"
#include "cli/progress.h"
#include "cli/text.h"
#include "graph/event_sink.h"
#include "kernels/peak/peak_flops.h"
#include "kernels/simd/isa.h"
#include "profile/profiler.h"

namespace torchlet::cli {
namespace {

struct BenchOptions {
  std::string model, method = "forward";
  InputOptions inputs;
  DeviceOptions device;
  LimitOptions limits;
  int threads = 0, warmup = 3, iterations = 0;
  double seconds = 2;
  bool json = false, serve = false, profile = false, memory = false;
  std::string trace;
};

// Adds up what preparing methods and segments takes.
class CompileTime : public EventSink {
 public:
  double seconds() const { return seconds_; }
  void record(const Event& event) override {
    if (event.kernel == std::string_view(kCompileEvent)) seconds_ += event.end - event.begin;
  }

 private:
  double seconds_ = 0;
  EventScope scope_{this};
};

struct Timings {
  double load = 0, compile = 0, first = 0;  // seconds
  std::vector<double> steady;               // sorted
  uint64_t peak = 0;                        // bytes
  std::optional<MemoryReport> memory;
  double percentile(double p) const {
    const double at = p * static_cast<double>(steady.size() - 1);
    return steady[static_cast<size_t>(at + 0.5)];
  }
};

// What the command line names, else a picture for a method that takes one tensor.
std::vector<Value> inputs_for(const Module& module, const BenchOptions& options) {
  std::vector<Value> inputs = options.inputs.values(module, options.method);
  if (!inputs.empty()) return inputs;
  const Method method = module.get_method(options.method);
  std::vector<std::string> needed;
  for (const MethodArgument& argument : method.arguments()) {
    if (!argument.default_value) needed.push_back(argument.type);
  }
  if (needed.empty()) return {};
  if (needed != std::vector<std::string>{"Tensor"}) {
    throw CLI::ValidationError(
        "bench", "name the inputs of " + method.schema() + " with --shape, --input or --value");
  }
  const Tensor picture = zeros(std::array<int64_t, 4>{1, 3, 224, 224}, DType::kFloat32);
  std::fill_n(picture.data_ptr<float>(), picture.numel(), 0.5f);
  return {Value(picture)};
}

Module load_model(const BenchOptions& options, bool exact = false) {
  Options load_options = options.device.options();
  options.limits.apply(load_options);
  if (exact) load_options.precision = Precision::kFloat32;
  load_options.print = [](std::string_view) {};
  return load(options.model, load_options);
}

// The instruction set that kernels run with.
const char* best_isa_name() { return kernels::isa_name(kernels::best_isa()); }

Timings measure(const BenchOptions& options, std::string& what) {
  Timings timings;
  MemoryPhases peaks;
  // The peak of what has just run.
  const auto next_phase = [&](uint64_t& peak) {
    if (!options.memory) return;
    peak = peak_memory();
    forget_peak();
  };
  double start = now();
  const Module module = load_model(options);
  const Method method = module.get_method(options.method);
  timings.load = now() - start;
  next_phase(peaks.load);

  const std::vector<Value> inputs = inputs_for(module, options);
  for (const Value& input : inputs)
    what += (what.empty() ? "" : ", ") +
            (input.is_tensor() ? input.to_tensor().describe() : std::string(input.kind_name()));
  {
    const CompileTime compile;
    start = now();
    method(inputs);
    timings.compile = compile.seconds();
    timings.first = now() - start - timings.compile;
  }
  next_phase(peaks.first_run);
  Progress progress("bench");
  for (int i = 0; i < options.warmup; ++i) method(inputs);

  const double begin = now();
  const auto done = [&](size_t count) {
    const double by_time = (now() - begin) / options.seconds;
    return options.iterations > 0
               ? static_cast<double>(count) / static_cast<double>(options.iterations)
               : by_time;
  };
  while (timings.steady.empty() || done(timings.steady.size()) < 1) {
    start = now();
    method(inputs);
    timings.steady.push_back(now() - start);
    progress.update(done(timings.steady.size()));
  }
  next_phase(peaks.steady);
  timings.peak = std::max({peaks.load, peaks.first_run, peaks.steady, peak_memory()});
  if (options.memory) timings.memory = report_memory(options.model, peaks);
  std::ranges::sort(timings.steady);
  return timings;
}

// Answers each line of stdin, a number, with the milliseconds of so many runs, so that a program
// can time several engines in turns.
void serve(const BenchOptions& options) {
  const Module module = load_model(options);
  const Method method = module.get_method(options.method);
  const std::vector<Value> inputs = inputs_for(module, options);
  for (char line[32]; std::fgets(line, sizeof line, stdin);) {
    const int count = std::atoi(line);
    for (int i = 0; i < count; ++i) {
      const double start = now();
      method(inputs);
      std::printf("%.4f ", (now() - start) * 1e3);
    }
    std::printf("\n");
    std::fflush(stdout);
  }
}

// What ran how long, run by run.
void profile_model(const BenchOptions& options) {
  constexpr size_t kLeastRuns = 5;
  const Module module = load_model(options);
  const Method method = module.get_method(options.method);
  const std::vector<Value> inputs = inputs_for(module, options);
  const profile::Peaks peaks{kernels::measure_peak_flops() * num_threads(),
                             kernels::measure_peak_int8() * num_threads()};
  const auto call = [&](profile::Profiler& profiler) {
    const double begin = event_clock();
    method(inputs);
    profiler.record_call(begin, event_clock());
  };
  // Of the first calls the timeline tells, too: they compile.
  profile::Profiler first;
  for (int i = 0; i <= options.warmup; ++i) call(first);
  profile::Profiler profiler;
  size_t runs = 0;
  const double start = now();
  while (runs < kLeastRuns || now() - start < options.seconds) {
    call(profiler);
    if (++runs == static_cast<size_t>(options.iterations)) break;
  }
  if (!options.trace.empty()) {
    write_file(options.trace,
               profile::chrome_trace(std::array{&std::as_const(first), &std::as_const(profiler)}));
  }
  if (!options.profile) return;
  std::printf("%zu runs, %d threads, %s, peak %.0f GFLOP/s in float32, %.0f GOP/s in int8\n\n",
              runs, num_threads(), best_isa_name(), peaks.float32 * 1e-9, peaks.int8 * 1e-9);
  std::printf("%s", profile::table(profiler.lines(), runs, peaks).c_str());
  print_reference(module);
}

// Of the precision that was asked for, against float32; nothing if it is float32.
std::optional<Accuracy> measure_accuracy(const BenchOptions& options) {
  if (!options.device.is_rounded()) return std::nullopt;
  const Module exact = load_model(options, true);
  const std::vector<Value> inputs = inputs_for(exact, options);
  return compare(exact.get_method(options.method)(inputs),
                 load_model(options).get_method(options.method)(inputs));
}

void bench(const BenchOptions& options) {
  set_num_threads(options.threads);
  if (options.serve) return serve(options);
  if (options.profile || !options.trace.empty()) return profile_model(options);
  std::string inputs;
  const Timings t = measure(options, inputs);
  double sum = 0;
  for (const double seconds : t.steady) sum += seconds;
  const double mean = sum / static_cast<double>(t.steady.size());
  const std::optional<Accuracy> accuracy = measure_accuracy(options);
  if (options.json) {
    Json node = {{"model", options.model},
                 {"method", options.method},
                 {"inputs", inputs},
                 {"threads", num_threads()},
                 {"isa", best_isa_name()},
                 {"load_ms", t.load * 1e3},
                 {"compile_ms", t.compile * 1e3},
                 {"first_ms", t.first * 1e3},
                 {"warmup", options.warmup},
                 {"iterations", t.steady.size()},
                 {"min_ms", t.steady.front() * 1e3},
                 {"median_ms", t.percentile(0.5) * 1e3},
                 {"mean_ms", mean * 1e3},
                 {"p90_ms", t.percentile(0.9) * 1e3},
                 {"p99_ms", t.percentile(0.99) * 1e3},
                 {"peak_memory_bytes", t.peak}};
    if (t.memory) node["memory"] = json_of(*t.memory);
    if (accuracy) {
      node["error"] = accuracy->error;
      if (accuracy->same_largest) node["same_largest"] = *accuracy->same_largest;
    }
    std::printf("%s\n", json_text(node, 1).c_str());
    return;
  }
  std::printf("model       %s\n", options.model.c_str());
  std::printf("inputs      %s\n", inputs.c_str());
  std::printf("threads     %d\n", num_threads());
  std::printf("isa         %s\n", best_isa_name());
  std::printf("load        %.2f ms\n", t.load * 1e3);
  std::printf("compile     %.2f ms\n", t.compile * 1e3);
  std::printf("first run   %.2f ms\n", t.first * 1e3);
  std::printf("then        min %.2f  median %.2f  mean %.2f  p90 %.2f  p99 %.2f ms  (%zu runs)\n",
              t.steady.front() * 1e3, t.percentile(0.5) * 1e3, mean * 1e3, t.percentile(0.9) * 1e3,
              t.percentile(0.99) * 1e3, t.steady.size());
  std::printf("peak memory %s\n", human_bytes(t.peak).c_str());
  if (t.memory) std::printf("%s", text_of(*t.memory).c_str());
  if (accuracy) {
    std::printf("error       %.1e of the largest value, against fp32%s\n", accuracy->error,
                !accuracy->same_largest   ? ""
                : *accuracy->same_largest ? "; the largest score is the same"
                                          : "; the largest score is another");
  }
}

}  // namespace

void add_bench_command(CLI::App& app) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App* command = app.add_subcommand("bench", "Time a model: load, first run, steady state");
  add_model(*command, options->model);
  options->inputs.add_to(*command);
  command->add_option("--method", options->method, "What to call")->capture_default_str();
  add_threads_option(*command, options->threads);
  options->device.add_to(*command);
  CLI::Option* memory = options->device.add_footprint_to(*command)->expected(0, 1)->description(
      "Show what the memory is for; lean: take fewer copies of weights, and a "
      "little more time");
  options->device.add_cache_to(*command);
  options->limits.add_to(*command);
  command->add_option("--warmup", options->warmup, "Runs that are not counted, after the first")
      ->check(not_negative())
      ->capture_default_str();
  command->add_option("--iterations", options->iterations, "Counted runs, instead of --seconds")
      ->check(not_negative());
  command->add_option("--seconds", options->seconds, "How long to measure")
      ->check(above_zero())
      ->capture_default_str();
  command->add_flag("--json", options->json, "Write the figures as JSON");
  command->add_flag("--profile", options->profile,
                    "Show each kernel's time, speed and share of the processor's peak");
  command
      ->add_option("--trace", options->trace,
                   "Write all runs as a trace for ui.perfetto.dev or chrome://tracing")
      ->type_name("FILE");
  command->add_flag(
      "--serve", options->serve,
      "For each line on stdin, a number, write the milliseconds of so many runs on one line");
  command->footer(
      "Without inputs, a method that takes one Tensor gets float32 [1, 3, 224, 224].\n"
      "Examples: torchlet bench mobilenet.pt --shape 1,3,224,224 --threads 1\n"
      "          torchlet bench model.ptl --bundled 0 --profile --trace run.json");
  command->callback([options, memory] {
    options->memory = memory->count() > 0;
    bench(*options);
  });
}

}  // namespace torchlet::cli
