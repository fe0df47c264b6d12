#include "nnapi/model.h"

namespace torchlet::nnapi {

size_t byte_size(const Operand& operand) {
  size_t count = 1;
  for (const uint32_t size : operand.sizes) count *= size;
  switch (operand.code) {
    case ANEURALNETWORKS_TENSOR_FLOAT32:
    case ANEURALNETWORKS_TENSOR_INT32:
    case ANEURALNETWORKS_FLOAT32:
    case ANEURALNETWORKS_INT32:
    case ANEURALNETWORKS_UINT32:
      return count * 4;
    case ANEURALNETWORKS_TENSOR_FLOAT16:
    case ANEURALNETWORKS_FLOAT16:
    case ANEURALNETWORKS_TENSOR_QUANT16_SYMM:
    case ANEURALNETWORKS_TENSOR_QUANT16_ASYMM:
      return count * 2;
    default:
      return count;
  }
}

// The codes are numbered in the order in which they came.
int64_t level_of_operation(int32_t code) {
  if (code <= ANEURALNETWORKS_TANH) return ANEURALNETWORKS_FEATURE_LEVEL_1;
  if (code <= ANEURALNETWORKS_TRANSPOSE) return ANEURALNETWORKS_FEATURE_LEVEL_2;
  if (code <= ANEURALNETWORKS_RESIZE_NEAREST_NEIGHBOR) return ANEURALNETWORKS_FEATURE_LEVEL_3;
  if (code <= ANEURALNETWORKS_RANK) return ANEURALNETWORKS_FEATURE_LEVEL_4;
  if (code <= ANEURALNETWORKS_BATCH_MATMUL) return ANEURALNETWORKS_FEATURE_LEVEL_6;
  return ANEURALNETWORKS_FEATURE_LEVEL_7;
}

int64_t level_of_operand(int32_t code) {
  if (code <= ANEURALNETWORKS_TENSOR_QUANT8_ASYMM) return ANEURALNETWORKS_FEATURE_LEVEL_1;
  if (code <= ANEURALNETWORKS_TENSOR_QUANT8_SYMM) return ANEURALNETWORKS_FEATURE_LEVEL_3;
  return ANEURALNETWORKS_FEATURE_LEVEL_4;
}

}  // namespace torchlet::nnapi
