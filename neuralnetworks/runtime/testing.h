// Small models for tests, built and run without the C functions.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "neuralnetworks/runtime/compiled_model.h"

namespace torchlet::nn {

struct TestOutput {
  std::vector<uint32_t> dims;
  std::vector<std::byte> bytes;

  template <typename T>
  std::vector<T> as() const {
    std::vector<T> values(bytes.size() / sizeof(T));
    if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
};

class TestModel {
 public:
  uint32_t input(int32_t type, std::vector<uint32_t> dims, float scale = 0, int zero_point = 0) {
    model_.inputs.push_back(add(type, std::move(dims), scale, zero_point, Lifetime::kInput));
    return model_.inputs.back();
  }
  uint32_t output(int32_t type, std::vector<uint32_t> dims, float scale = 0, int zero_point = 0) {
    model_.outputs.push_back(add(type, std::move(dims), scale, zero_point, Lifetime::kOutput));
    return model_.outputs.back();
  }
  template <typename T>
  uint32_t constant(int32_t type, std::vector<uint32_t> dims, std::vector<T> values,
                    float scale = 0, int zero_point = 0) {
    const uint32_t index = add(type, std::move(dims), scale, zero_point, Lifetime::kConstant);
    auto kept = std::make_shared<std::vector<T>>(std::move(values));
    model_.operands[index].value = std::as_bytes(std::span(*kept));
    model_.operands[index].keep_alive = std::move(kept);
    return index;
  }
  uint32_t temporary(int32_t type, std::vector<uint32_t> dims, float scale = 0,
                     int zero_point = 0) {
    return add(type, std::move(dims), scale, zero_point, Lifetime::kTemporary);
  }
  uint32_t omitted(int32_t type) { return add(type, {}, 0, 0, Lifetime::kOmitted); }
  // A branch, or a part of a loop.
  uint32_t referred(const TestModel& other) {
    const uint32_t index = add(ANEURALNETWORKS_MODEL, {}, 0, 0, Lifetime::kModel);
    model_.operands[index].model = std::make_shared<Model>(other.model_);
    return index;
  }
  uint32_t boolean(bool value) {
    return constant<uint8_t>(ANEURALNETWORKS_BOOL, {}, {static_cast<uint8_t>(value)});
  }
  uint32_t integers(std::vector<int32_t> values) {
    return constant<int32_t>(ANEURALNETWORKS_TENSOR_INT32, {static_cast<uint32_t>(values.size())},
                             values);
  }
  uint32_t integer(int32_t value) { return constant<int32_t>(ANEURALNETWORKS_INT32, {}, {value}); }
  Operand& operand(uint32_t index) { return model_.operands[index]; }
  void operation(int32_t code, std::vector<uint32_t> inputs, std::vector<uint32_t> outputs) {
    model_.operations.push_back({code, std::move(inputs), std::move(outputs)});
  }

  std::shared_ptr<const CompiledModel> compiled(std::vector<std::string> devices) const {
    return compile(std::make_shared<Model>(model_), {.devices = std::move(devices)});
  }

 private:
  uint32_t add(int32_t type, std::vector<uint32_t> dims, float scale, int zero_point,
               Lifetime lifetime) {
    Operand made;
    made.type = type;
    made.dims = std::move(dims);
    made.scale = scale;
    made.zero_point = zero_point;
    made.lifetime = lifetime;
    model_.operands.push_back(std::move(made));
    return static_cast<uint32_t>(model_.operands.size() - 1);
  }

  Model model_;
};

// Inputs as vectors of the operands' own types.
template <typename... T>
std::vector<TestOutput> run(const CompiledModel& model,
                            const std::vector<std::vector<uint32_t>>& dims,
                            const std::vector<T>&... values) {
  struct Sink : OutputSink {
    std::vector<TestOutput> outputs;
    std::byte* receive(size_t, const std::vector<uint32_t>& sizes, size_t nbytes) override {
      outputs.push_back({sizes, std::vector<std::byte>(nbytes)});
      return outputs.back().bytes.data();
    }
  } sink;
  std::vector<Input> inputs;
  [[maybe_unused]] const auto add = [&](const auto& vector) {
    const auto bytes = std::as_bytes(std::span(vector));
    inputs.push_back({dims[inputs.size()], bytes.data(), bytes.size()});
  };
  (add(values), ...);
  model.run(inputs, sink, {});
  return std::move(sink.outputs);
}

}  // namespace torchlet::nn
