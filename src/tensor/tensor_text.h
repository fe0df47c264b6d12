// Tensors as PyTorch's C++ prints them, which is what TorchScript's str(), format() and print()
// give.
#pragma once

#include <torchlet/tensor.h>

#include <string>

namespace torchlet {

// " 1.5000\n-2.0000\n[ CPUFloatType{2} ]": all elements (a complex tensor's real parts, a quantized
// one's real numbers), then the type and the sizes.
std::string tensor_text(const Tensor& tensor);

// The dtype as PyTorch's C++ calls it: "Float", "Long", "QUInt8".
const char* scalar_type_name(DType dtype);

}  // namespace torchlet
