#include "cli/guessed_inputs.h"

#include <torchlet/error.h>
#include <torchlet/tensor.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <random>

namespace torchlet::cli {
namespace {

// Of images as networks have been made for them: ImageNet's, then smaller and larger ones.
constexpr int64_t kLengths[] = {224, 64, 96, 128, 256, 32, 28, 299, 384, 512};

std::vector<std::vector<int64_t>> likely_sizes(const Module& module) {
  std::vector<std::vector<int64_t>> all = {{1, 3, kLengths[0], kLengths[0]}};
  const auto add = [&](size_t dims, int64_t channels) {
    for (const int64_t length : kLengths) {
      std::vector<int64_t> sizes = {1, channels};
      sizes.resize(dims, length);
      if (std::ranges::find(all, sizes) == all.end()) all.push_back(std::move(sizes));
    }
  };
  for (const auto& [name, weight] : module.named_parameters()) {
    if (weight.dim() < 2) continue;
    add(static_cast<size_t>(weight.dim()), weight.size(1));
    break;
  }
  add(4, 3);
  return all;
}

Tensor random_tensor(const std::vector<int64_t>& sizes) {
  const Tensor tensor = zeros(sizes, DType::kFloat32);
  std::mt19937 generator(1);
  std::uniform_real_distribution<float> numbers(0, 1);
  std::generate_n(tensor.data_ptr<float>(), tensor.numel(), [&] { return numbers(generator); });
  return tensor;
}

}  // namespace

std::optional<std::vector<Value>> guessed_inputs(const Module& module, const std::string& name) {
  const std::optional<Method> method = module.find_method(name);
  if (!method) return std::nullopt;
  std::vector<MethodArgument> needed = method->arguments();
  std::erase_if(needed, [](const MethodArgument& argument) { return argument.default_value; });
  if (needed.size() != 1) return std::nullopt;
  const bool is_list = needed[0].type == "List[Tensor]";  // of images without a batch
  if (!is_list && needed[0].type != "Tensor") return std::nullopt;
  for (std::vector<int64_t> sizes : likely_sizes(module)) {
    if (is_list) sizes.erase(sizes.begin());
    const Tensor image = random_tensor(sizes);
    const Value input = is_list ? Value::list({image}) : Value(image);
    try {
      module.deepcopy().get_method(name)({input});
      return std::vector<Value>{input};
    } catch (const Error&) {
      continue;
    }
  }
  return std::nullopt;
}

std::vector<Value> inputs_or_guess(const InputOptions& options, const Module& module,
                                   const std::string& name) {
  std::vector<Value> inputs = options.values(module, name);
  if (!inputs.empty()) return inputs;
  const Method method = module.get_method(name);
  if (std::ranges::all_of(method.arguments(), [](const MethodArgument& argument) {
        return argument.default_value.has_value();
      })) {
    return {};
  }
  if (auto guessed = guessed_inputs(module, name)) return *guessed;
  throw CLI::ValidationError(
      "inputs", "name those of " + method.schema() + " with --shape, --input or --value");
}

}  // namespace torchlet::cli
