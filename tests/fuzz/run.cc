#include <torchlet/torchlet.h>

#include <cstring>
#include <vector>

#include "script/compilation_unit.h"
#include "tensor/type.h"
#include "tests/fuzz/targets.h"

namespace torchlet::fuzz {
namespace {

// The tensors that a method is tried with, in turn, until it runs.
Tensor small_tensor(int round) {
  static const struct {
    std::vector<int64_t> shape;
    DType dtype;
  } kinds[] = {
      {{1, 3}, DType::kFloat32}, {{1, 3, 13, 11}, DType::kFloat32}, {{2, 2}, DType::kInt64}};
  const Tensor tensor = zeros(kinds[round].shape, kinds[round].dtype);
  std::memset(tensor.raw_data(), 1, static_cast<size_t>(tensor.numel()));
  return tensor;
}
constexpr int kRounds = 3;

// A value of the type, or None where the caller could hardly make one.
Value small_value(const Type& type, int round) {
  switch (type.kind()) {
    case TypeKind::kTensor:
    case TypeKind::kAny:
      return small_tensor(round);
    case TypeKind::kInt:
    case TypeKind::kNumber:
      return round + 1;
    case TypeKind::kFloat:
      return 0.5 * round;
    case TypeKind::kBool:
      return round % 2 == 0;
    case TypeKind::kString:
      return "text";
    case TypeKind::kDevice:
      return Value::device("cpu");
    case TypeKind::kOptional:
      return round == 1 ? Value() : small_value(*type.element(0), round);
    case TypeKind::kList:
      return Value::list({small_value(*type.element(0), round), small_value(*type.element(0), 0)});
    case TypeKind::kDict:
      return Value::dict(
          {{small_value(*type.element(0), round), small_value(*type.element(1), round)}});
    case TypeKind::kTuple: {
      std::vector<Value> items;
      for (const TypePtr& element : type.elements()) items.push_back(small_value(*element, round));
      return Value::tuple(std::move(items));
    }
    default:
      return {};
  }
}

// Of the parameters without a default.
std::vector<Value> small_inputs(const Method& method, int round) {
  script::CompilationUnit no_classes(
      {.find_source = [](const std::string&) { return nullptr; }, .constants = {}});
  std::vector<Value> inputs;
  for (const MethodArgument& argument : method.arguments()) {
    if (argument.default_value) continue;
    const TypePtr type = no_classes.parse_type("input", argument.type);
    inputs.push_back(small_value(*type, round));
  }
  return inputs;
}

void run(std::span<const std::byte> input, const char* device) {
  const Module module = load(input, {.devices = {device},
                                     .allow_unsupported = true,
                                     .print = [](auto) {},
                                     .memory_limit = kMemoryLimit,
                                     .time_limit = kTimeLimit});
  for (const Method& method : module.methods()) {
    bool ran = false;
    for (int round = 0; round < kRounds && !ran; ++round) {
      expect_good_end([&] {
        method(small_inputs(method, round));
        ran = true;
      });
    }
    // What the first run left behind: a plan, packed weights, changed attributes.
    if (ran) expect_good_end([&] { method(small_inputs(method, kRounds - 1)); });
  }
}

}  // namespace

int fuzz_run(std::span<const std::byte> input) {
  set_num_threads(1);
  expect_good_end([&] { run(input, "cpu"); });
  return expect_good_end([&] { run(input, "reference"); });
}

}  // namespace torchlet::fuzz
