#include "device/nnapi/lower/lowering.h"

#include <initializer_list>
#include <unordered_map>

namespace torchlet::nnapi {

const Lowering* find_lowering(Symbol op) {
  static const auto table = [] {
    std::unordered_map<const std::string*, const Lowering*> all;  // symbols are interned
    for (const auto& part :
         {activation_lowerings(), convolution_lowerings(), elementwise_lowerings(),
          join_lowerings(), matrix_lowerings(), norm_lowerings(), pooling_lowerings(),
          quantized_lowerings(), reduction_lowerings(), resize_lowerings(), view_lowerings()}) {
      for (const Lowering& lowering : part) {
        if (lowering.op) all.emplace(&Symbol(lowering.op).str(), &lowering);
      }
    }
    return all;
  }();
  const auto found = table.find(&op.str());
  return found == table.end() ? nullptr : found->second;
}

void require_float(const TensorDescription& description) {
  if (description.dtype != DType::kFloat32) {
    decline("a tensor of " + std::string(dtype_name(description.dtype)));
  }
}

}  // namespace torchlet::nnapi
