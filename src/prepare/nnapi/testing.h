// For tests: NNAPI models and programs written by hand.
#pragma once

#include <gtest/gtest.h>
#include <torchlet/torchlet.h>

#include <cstring>
#include <numeric>
#include <utility>

#include "archive/test_util.h"
#include "nnapi/library.h"
#include "nnapi/model.h"
#include "tensor/tensor_impl.h"

namespace torchlet::prepare {

class HandMade {
 public:
  nnapi::OperandId tensor(int32_t code, std::vector<uint32_t> sizes, float scale = 0,
                          int32_t zero_point = 0) {
    nnapi::Operand operand;
    operand.code = code;
    operand.sizes = std::move(sizes);
    operand.scale = scale;
    operand.zero_point = zero_point;
    model_.operands.push_back(std::move(operand));
    return static_cast<nnapi::OperandId>(model_.operands.size() - 1);
  }
  nnapi::OperandId image(std::vector<uint32_t> sizes) {
    return tensor(ANEURALNETWORKS_TENSOR_FLOAT32, std::move(sizes));
  }
  // A constant of a few bytes; a scalar has no sizes.
  template <typename T>
  nnapi::OperandId bytes(int32_t code, const std::vector<T>& values,
                         std::vector<uint32_t> sizes = {}) {
    const nnapi::OperandId id = tensor(code, std::move(sizes));
    model_.operands[id].bytes.resize(values.size() * sizeof(T));
    std::memcpy(model_.operands[id].bytes.data(), values.data(), values.size() * sizeof(T));
    return id;
  }
  nnapi::OperandId scalar(int32_t value) { return bytes<int32_t>(ANEURALNETWORKS_INT32, {value}); }
  nnapi::OperandId scalar(bool value) { return bytes<uint8_t>(ANEURALNETWORKS_BOOL, {value}); }
  // Gives a constant operand its elements.
  nnapi::OperandId weight(nnapi::OperandId id, const Tensor& tensor) {
    model_.operands[id].tensor = tensor;
    return id;
  }
  nnapi::OperandId weight(const Tensor& tensor) {
    return weight(image({tensor.sizes().begin(), tensor.sizes().end()}), tensor);
  }
  void add(int32_t code, std::vector<nnapi::OperandId> inputs,
           std::vector<nnapi::OperandId> outputs) {
    model_.operations.push_back({code, std::move(inputs), std::move(outputs)});
  }
  nnapi::Model finish(std::vector<nnapi::OperandId> inputs, std::vector<nnapi::OperandId> outputs) {
    model_.inputs = std::move(inputs);
    model_.outputs = std::move(outputs);
    return std::move(model_);
  }
  nnapi::Operand& operator[](nnapi::OperandId id) { return model_.operands[id]; }

 private:
  nnapi::Model model_;
};

template <typename T>
Tensor tensor_of(DType dtype, IntSpan sizes, const std::vector<T>& values) {
  const Tensor tensor = empty(sizes, dtype);
  std::memcpy(tensor.raw_data(), values.data(), values.size() * sizeof(T));
  return tensor;
}

// 0, 1, 2, ... times `step`.
inline Tensor ramp(IntSpan sizes, float step = 1) {
  const Tensor tensor = empty(sizes, DType::kFloat32);
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    tensor.data_ptr<float>()[i] = step * static_cast<float>(i);
  }
  return tensor;
}

// Tests that need a library of NNAPI.
class NnapiTest : public testing::Test {
 protected:
  void SetUp() override {
    try {
      nnapi::library();
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }
};

// A program of one class with this method.
inline Module program_of(const std::string& method) {
  const std::string code = "class M(Module):\n  __parameters__ = []\n  __buffers__ = []\n" + method;
  const std::string zip = archive::ZipBuilder()
                              .add("m/data.pkl", archive::op::pickle("c__torch__\nM\n)\x81}b"))
                              .add("m/code/__torch__.py", code)
                              .add("m/constants.pkl", archive::op::pickle(")"))
                              .add("m/version", "3\n")
                              .finish();
  return load(std::as_bytes(std::span(zip)));
}

}  // namespace torchlet::prepare
