#include "neuralnetworks/translate/representation.h"

#include <algorithm>
#include <cstring>

#include "neuralnetworks/operations/call.h"
#include "ops/core/common.h"

namespace torchlet::nn {
namespace {

DType held_dtype(const Operand& operand) {
  switch (operand.type) {
    case ANEURALNETWORKS_TENSOR_FLOAT32:
      return DType::kFloat32;
    case ANEURALNETWORKS_TENSOR_FLOAT16:
      return DType::kFloat16;
    case ANEURALNETWORKS_TENSOR_INT32:
    case ANEURALNETWORKS_TENSOR_QUANT16_ASYMM:
      return DType::kInt32;
    case ANEURALNETWORKS_TENSOR_BOOL8:
      return DType::kBool;
    case ANEURALNETWORKS_TENSOR_QUANT8_ASYMM:
    case ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED:
      return DType::kQUInt8;
    case ANEURALNETWORKS_TENSOR_QUANT8_SYMM:
    case ANEURALNETWORKS_TENSOR_QUANT8_SYMM_PER_CHANNEL:
      return DType::kQInt8;
    case ANEURALNETWORKS_TENSOR_QUANT16_SYMM:
      return DType::kInt16;
    default:
      fail(ErrorCode::kInternal, "an operand of type %d is no tensor", operand.type);
  }
}

std::shared_ptr<const Quantizer> quantizer_of(const Operand& operand) {
  if (!operand.channel_scales) {
    return per_tensor_quantizer(operand.scale, held_zero_point(operand));
  }
  const std::vector<float>& scales = operand.channel_scales->scales;
  const auto count = static_cast<int64_t>(scales.size());
  auto made = std::make_shared<Quantizer>();
  made->qscheme = QScheme::kPerChannelAffine;
  made->scales = empty({&count, 1}, DType::kFloat64);
  made->zero_points = zeros({&count, 1}, DType::kInt64);
  made->axis = operand.channel_scales->dim;
  std::ranges::copy(scales, made->scales.data_ptr<double>());
  return made;
}

IntArray sizes_of(std::span<const uint32_t> dims) { return IntArray(dims.begin(), dims.end()); }

// Bytes that are not held as they come: each element is changed on the way in and out.
template <typename From, typename To, typename F>
void convert(const std::byte* from, std::byte* to, int64_t count, const F& f) {
  for (int64_t i = 0; i < count; ++i) {
    From element;
    std::memcpy(&element, from + static_cast<size_t>(i) * sizeof(From), sizeof(From));
    const To made = static_cast<To>(f(element));
    std::memcpy(to + static_cast<size_t>(i) * sizeof(To), &made, sizeof(To));
  }
}

uint8_t flip_sign(uint8_t value) { return value ^ 0x80; }

bool is_held_as_it_comes(int32_t type) {
  return type != ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED &&
         type != ANEURALNETWORKS_TENSOR_QUANT16_ASYMM && type != ANEURALNETWORKS_TENSOR_BOOL8;
}

void hold_elements(int32_t type, const std::byte* bytes, std::byte* held, int64_t count) {
  switch (type) {
    case ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED:
      return convert<uint8_t, uint8_t>(bytes, held, count, flip_sign);
    case ANEURALNETWORKS_TENSOR_QUANT16_ASYMM:
      return convert<uint16_t, int32_t>(bytes, held, count, [](uint16_t value) { return value; });
    default:
      return convert<uint8_t, uint8_t>(bytes, held, count,
                                       [](uint8_t value) { return value != 0; });
  }
}

void unhold_elements(int32_t type, const std::byte* held, std::byte* bytes, int64_t count) {
  switch (type) {
    case ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED:
      return convert<uint8_t, uint8_t>(held, bytes, count, flip_sign);
    case ANEURALNETWORKS_TENSOR_QUANT16_ASYMM:
      return convert<int32_t, uint16_t>(held, bytes, count, [](int32_t value) { return value; });
    default:
      if (count) std::memcpy(bytes, held, static_cast<size_t>(count) * element_size(type));
  }
}

Value hold_scalar(const Operand& operand, std::span<const std::byte> bytes) {
  Operand given = operand;
  given.value = bytes;
  const double value = scalar_value(given);
  if (operand.type == ANEURALNETWORKS_BOOL) return Value(value != 0);
  if (operand.type == ANEURALNETWORKS_FLOAT32 || operand.type == ANEURALNETWORKS_FLOAT16) {
    return Value(value);
  }
  return Value(static_cast<int64_t>(value));
}

}  // namespace

int64_t held_zero_point(const Operand& operand) {
  return operand.zero_point +
         (operand.type == ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED ? 128 : 0);
}

Value hold(const Operand& operand, std::span<const uint32_t> dims, std::span<const std::byte> bytes,
           std::shared_ptr<const void> keep_alive) {
  if (is_scalar(operand.type)) return hold_scalar(operand, bytes);
  const IntArray sizes = sizes_of(dims);
  const int64_t count = checked_numel(sizes);
  if (static_cast<size_t>(count) * element_size(operand.type) != bytes.size()) {
    fail(ErrorCode::kInvalidArgument, "a tensor of sizes %s takes %zu bytes, not %zu",
         shape_text(sizes).c_str(), static_cast<size_t>(count) * element_size(operand.type),
         bytes.size());
  }
  const DType dtype = held_dtype(operand);
  Tensor tensor;
  if (is_held_as_it_comes(operand.type)) {
    // Constants and inputs are only read.
    auto* data = const_cast<std::byte*>(bytes.data());
    tensor = make_tensor(
        make_ref<Storage>(data, bytes.size(), std::const_pointer_cast<void>(std::move(keep_alive))),
        dtype, sizes, contiguous_strides(sizes), 0);
  } else {
    tensor = empty_strided(sizes, contiguous_strides(sizes), dtype);
    hold_elements(operand.type, bytes.data(), tensor.impl()->data(), count);
  }
  if (is_quantized(operand.type)) tensor.impl()->quantizer = quantizer_of(operand);
  return Value(std::move(tensor));
}

std::vector<uint32_t> dims_of(const Value& held) {
  if (!held.is_tensor()) return {};
  const IntArray& sizes = held.tensor_impl()->sizes;
  return {sizes.begin(), sizes.end()};
}

size_t bytes_of(const Operand& operand, const Value& held) {
  const size_t count = held.is_tensor() ? static_cast<size_t>(held.tensor_impl()->numel) : 1;
  return count * element_size(operand.type);
}

void unhold(const Operand& operand, const Value& held, std::byte* bytes) {
  if (!held.is_tensor()) {
    // The one scalar that operations give is RANK's INT32.
    const auto value = static_cast<int32_t>(held.to_int());
    std::memcpy(bytes, &value, sizeof(value));
    return;
  }
  const Tensor tensor = held.to_tensor().contiguous();
  const DType dtype = held_dtype(operand);
  if (tensor.dtype() != dtype) {
    fail(ErrorCode::kInternal, "an operand of type %d is held as %s", operand.type,
         std::string(dtype_name(tensor.dtype())).c_str());
  }
  unhold_elements(operand.type, tensor.impl()->data(), bytes, tensor.numel());
}

}  // namespace torchlet::nn
