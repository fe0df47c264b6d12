// `speed_benchmark_torch`: PyTorch's benchmark of that name (binaries/speed_benchmark_torch.cc),
// its flags and the lines that it prints, so that scripts made for it go on working.
//
// Exit status: 0 success, 1 the model fails, 2 wrong use.
#include <torchlet/bundled_inputs.h>
#include <torchlet/torchlet.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <iostream>
#include <string>
#include <vector>

#include "cli/text.h"

namespace torchlet::cli {
namespace {

struct Flags {
  std::string model, input_dims, input_type, input_memory_format = "contiguous_format";
  bool no_inputs = false, print_output = false, report_pep = false;
  bool use_caching_allocator = false, vulkan = false;
  int use_bundled_input = -1, warmup = 0, iter = 10, pthreadpool_size = 0;
};

[[noreturn]] void refuse(const std::string& flag, const std::string& why) {
  throw CLI::ValidationError("--" + flag, why);
}

// "a;b" -> "a", "b", without empty ones.
std::vector<std::string> parts(const std::string& text, char separator) {
  std::vector<std::string> found;
  for (std::string& part : CLI::detail::split(text, separator)) {
    if (!part.empty()) found.push_back(std::move(part));
  }
  return found;
}

DType dtype_of(const std::string& name) {
  if (name == "float") return DType::kFloat32;
  if (name == "uint8_t") return DType::kUInt8;
  if (name == "int64") return DType::kInt64;
  refuse("input_type", "there is no type '" + name + "'; there are: float, uint8_t, int64");
}

MemoryFormat memory_format_of(const std::string& name) {
  if (name == "contiguous_format") return MemoryFormat::kContiguous;
  if (name == "channels_last") return MemoryFormat::kChannelsLast;
  refuse("input_memory_format",
         "there is no format '" + name + "'; there are: contiguous_format, channels_last");
}

Tensor ones(const std::string& dims, DType dtype, MemoryFormat format) {
  std::vector<int64_t> sizes;
  for (const std::string& text : parts(dims, ',')) {
    int64_t size = -1;
    if (!CLI::detail::lexical_cast(text, size) || size < 0) {
      refuse("input_dims", "'" + dims + "' is no shape such as 1,3,224,224");
    }
    sizes.push_back(size);
  }
  if (format == MemoryFormat::kChannelsLast && sizes.size() != 4) {
    refuse("input_memory_format", "channels_last is for tensors of four dimensions");
  }
  const Tensor tensor = empty(sizes, DType::kFloat32);
  std::fill_n(tensor.data_ptr<float>(), tensor.numel(), 1.0f);
  return tensor.to(dtype).contiguous(format);
}

std::vector<Value> inputs_of(const Module& module, const Flags& flags) {
  if (flags.no_inputs) return {};
  if (flags.use_bundled_input >= 0) {
    const auto calls = bundled_inputs(module);
    const auto index = static_cast<size_t>(flags.use_bundled_input);
    if (index < calls.size()) return calls[index];
    refuse("use_bundled_input",
           "the model has only " + std::to_string(calls.size()) + " bundled inputs");
  }
  const std::vector<std::string> dims = parts(flags.input_dims, ';'),
                                 types = parts(flags.input_type, ';'),
                                 formats = parts(flags.input_memory_format, ';');
  if (dims.empty()) {
    refuse("input_dims", "it must be given, unless --no_inputs or --use_bundled_input is");
  }
  if (dims.size() != types.size()) refuse("input_type", "it must name as many as --input_dims");
  if (dims.size() != formats.size()) {
    refuse("input_memory_format", "it must name as many as --input_dims");
  }
  std::vector<Value> inputs;
  for (size_t i = 0; i < dims.size(); ++i) {
    inputs.emplace_back(ones(dims[i], dtype_of(types[i]), memory_format_of(formats[i])));
  }
  return inputs;
}

double microseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
      .count();
}

void benchmark(const Flags& flags) {
  if (flags.vulkan) refuse("vulkan", "Torchlet has no Vulkan device yet");
  set_num_threads(flags.pthreadpool_size);
  const Module module = load(flags.model);
  const std::vector<Value> inputs = inputs_of(module, flags);
  if (flags.print_output) std::cout << describe(module.forward(inputs), "output");

  std::cout << "Starting benchmark." << std::endl;
  std::cout << "Running warmup runs." << std::endl;
  for (int i = 0; i < flags.warmup; ++i) module.forward(inputs);

  std::cout << "Main runs." << std::endl;
  std::vector<double> times;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < flags.iter; ++i) {
    const auto start = std::chrono::steady_clock::now();
    module.forward(inputs);
    times.push_back(microseconds_since(start));
  }
  const double all = microseconds_since(begin);
  if (flags.report_pep) {
    for (const double time : times) {
      std::cout
          << R"(PyTorchObserver {"type": "NET", "unit": "us", "metric": "latency", "value": ")"
          << static_cast<int64_t>(time) << "\"}" << std::endl;
    }
  }
  std::cout << "Main run finished. Microseconds per iter: " << all / flags.iter
            << ". Iters per second: " << 1e6 * flags.iter / all << std::endl;
}

void add_flags(CLI::App& app, Flags& flags) {
  app.add_option("--model", flags.model, "The file of the model: .pt or .ptl")->required();
  app.add_option(
      "--input_dims", flags.input_dims,
      "Sizes of the input, 1,3,224,224; those of several inputs are parted by semicolons");
  app.add_option("--input_type", flags.input_type, "float, uint8_t or int64, of each input");
  app.add_option("--input_memory_format", flags.input_memory_format,
                 "contiguous_format or channels_last, of each input")
      ->capture_default_str();
  app.add_flag("--no_inputs", flags.no_inputs, "The model takes no inputs");
  app.add_option("--use_bundled_input", flags.use_bundled_input,
                 "Take the inputs of this number that the model carries")
      ->capture_default_str();
  app.add_flag("--print_output", flags.print_output, "Print what the model gives");
  app.add_option("--warmup", flags.warmup, "Runs before those that are timed")
      ->check(CLI::Range(0, 1 << 30, "0.."))
      ->capture_default_str();
  app.add_option("--iter", flags.iter, "Runs that are timed")
      ->check(CLI::Range(1, 1 << 30, "1.."))
      ->capture_default_str();
  app.add_flag("--report_pep", flags.report_pep, "Print the time of each run for AI-PEP");
  app.add_option("--pthreadpool_size", flags.pthreadpool_size, "Threads; 0 for all processors")
      ->check(CLI::Range(0, 256, "0..256"))
      ->capture_default_str();
  app.add_flag("--use_caching_allocator", flags.use_caching_allocator,
               "Without effect: a run allocates nothing once it is warm");
  app.add_flag("--vulkan", flags.vulkan, "Run on the GPU; there is no such device yet");
}

// gflags takes -model for --model, too.
std::vector<std::string> arguments(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  for (std::string& word : words) {
    if (word.size() > 2 && word[0] == '-' && word[1] >= 'a' && word[1] <= 'z') word = "-" + word;
  }
  std::ranges::reverse(words);  // as CLI11 takes them
  return words;
}

}  // namespace
}  // namespace torchlet::cli

int main(int argc, char** argv) {
  using namespace torchlet;  // NOLINT(google-build-using-namespace): the whole program is ours
  CLI::App app(
      "Run speed benchmark for PyTorch models.\nExample:\n  speed_benchmark_torch "
      "--model=model.ptl --use_bundled_input=0 --warmup=5 --iter=20",
      "speed_benchmark_torch");
  const auto fail_with = [](const std::string& text, int status) {
    std::cerr << "speed_benchmark_torch: error: " << text << std::endl;
    return status;
  };
  try {
    cli::Flags flags;
    cli::add_flags(app, flags);
    app.parse(cli::arguments(argc, argv));
    cli::benchmark(flags);
    return 0;
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    return fail_with(error.what() + std::string(" (see --help)"), 2);
  } catch (const std::exception& error) {
    return fail_with(error.what(), 1);
  }
}
