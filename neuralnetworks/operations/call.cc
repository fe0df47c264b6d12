#include "neuralnetworks/operations/call.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "tensor/tensor_impl.h"

namespace torchlet::nn {

Call::Call(const Model& model, const Operation& operation)
    : model_(model), operation_(operation), def_(find_operation(operation.code)) {
  if (!def_) fail(ErrorCode::kUnsupported, "there is no operation of number %d", operation.code);
  signature_ = find_signature(*def_, model, operation);
  if (!signature_) {
    fail(ErrorCode::kInvalidArgument, "the operands of %s are not of the types that it takes",
         def_->name);
  }
}

const Argument* Call::find(std::string_view name) const {
  const auto found = std::ranges::find(signature_->inputs, name, &Argument::name);
  return found == signature_->inputs.end() ? nullptr : &*found;
}

std::span<const uint32_t> Call::given(const Argument& argument) const {
  const auto which = static_cast<size_t>(&argument - signature_->inputs.data());
  return operands_of(signature_->inputs, which, operation_.inputs);
}

bool Call::has(std::string_view name) const {
  const Argument* argument = find(name);
  if (!argument) return false;
  const std::span<const uint32_t> operands = given(*argument);
  return !operands.empty() && model_.operands[operands[0]].lifetime != Lifetime::kOmitted;
}

uint32_t Call::index(std::string_view name) const {
  if (!has(name)) {
    fail(ErrorCode::kInternal, "%s has no argument '%s'", def_->name, std::string(name).c_str());
  }
  return given(*find(name))[0];
}

std::span<const uint32_t> Call::indices(std::string_view name) const {
  const Argument* argument = find(name);
  return argument ? given(*argument) : std::span<const uint32_t>();
}

double Call::real(std::string_view name) const {
  if (!has(name)) {
    const Argument* argument = find(name);
    TORCHLET_ASSERT(argument && argument->default_value);
    return *argument->default_value;
  }
  const Operand& operand = this->operand(name);
  if (operand.lifetime != Lifetime::kConstant) {
    fail(ErrorCode::kUnsupported, "the argument '%s' of %s has to be a constant or an input",
         std::string(name).c_str(), def_->name);
  }
  return scalar_value(operand);
}

int64_t Call::integer(std::string_view name) const { return static_cast<int64_t>(real(name)); }

double scalar_value(const Operand& operand) {
  TORCHLET_CHECK(operand.value.size() == element_size(operand.type),
                 "a scalar operand has %zu bytes of value", operand.value.size());
  const auto read = [&](auto value) {
    std::memcpy(&value, operand.value.data(), sizeof(value));
    return static_cast<double>(value);
  };
  switch (operand.type) {
    case ANEURALNETWORKS_FLOAT32:
      return read(float());
    case ANEURALNETWORKS_INT32:
      return read(int32_t());
    case ANEURALNETWORKS_UINT32:
      return read(uint32_t());
    case ANEURALNETWORKS_BOOL:
      return read(uint8_t());
    case ANEURALNETWORKS_FLOAT16: {
      float value = 0;
      convert_elements(operand.value.data(), DType::kFloat16, 1, &value, DType::kFloat32, 1, 1);
      return value;
    }
    default:
      fail(ErrorCode::kInternal, "an operand of type %d is no scalar", operand.type);
  }
}

bool is_quantized(int32_t type) {
  return type == ANEURALNETWORKS_TENSOR_QUANT8_ASYMM ||
         type == ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED ||
         type == ANEURALNETWORKS_TENSOR_QUANT8_SYMM ||
         type == ANEURALNETWORKS_TENSOR_QUANT8_SYMM_PER_CHANNEL;
}

}  // namespace torchlet::nn
