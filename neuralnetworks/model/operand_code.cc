#include "neuralnetworks/model/model.h"

namespace torchlet::nn {

bool is_scalar(int32_t type) {
  switch (type) {
    case ANEURALNETWORKS_FLOAT32:
    case ANEURALNETWORKS_INT32:
    case ANEURALNETWORKS_UINT32:
    case ANEURALNETWORKS_BOOL:
    case ANEURALNETWORKS_FLOAT16:
      return true;
    default:
      return false;
  }
}

bool is_tensor(int32_t type) {
  return type >= ANEURALNETWORKS_FLOAT32 && type < ANEURALNETWORKS_MODEL && !is_scalar(type);
}

size_t element_size(int32_t type) {
  switch (type) {
    case ANEURALNETWORKS_FLOAT32:
    case ANEURALNETWORKS_INT32:
    case ANEURALNETWORKS_UINT32:
    case ANEURALNETWORKS_TENSOR_FLOAT32:
    case ANEURALNETWORKS_TENSOR_INT32:
      return 4;
    case ANEURALNETWORKS_FLOAT16:
    case ANEURALNETWORKS_TENSOR_FLOAT16:
    case ANEURALNETWORKS_TENSOR_QUANT16_SYMM:
    case ANEURALNETWORKS_TENSOR_QUANT16_ASYMM:
      return 2;
    case ANEURALNETWORKS_BOOL:
    case ANEURALNETWORKS_TENSOR_BOOL8:
    case ANEURALNETWORKS_TENSOR_QUANT8_ASYMM:
    case ANEURALNETWORKS_TENSOR_QUANT8_SYMM:
    case ANEURALNETWORKS_TENSOR_QUANT8_SYMM_PER_CHANNEL:
    case ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED:
      return 1;
    default:
      return 0;
  }
}

}  // namespace torchlet::nn
