#include "device/cpu/lowering.h"

#include <unordered_map>

namespace torchlet::cpu {

const Lowering* find_lowering(Symbol op) {
  static const std::unordered_map<const std::string*, const Lowering*> table = [] {
    std::unordered_map<const std::string*, const Lowering*> all;
    for (const auto lowerings :
         {convolution_lowerings(), elementwise_lowerings(), join_lowerings(), matmul_lowerings(),
          norm_lowerings(), pooling_lowerings(), resize_lowerings(), view_lowerings()}) {
      for (const Lowering& lowering : lowerings) all.emplace(&Symbol(lowering.op).str(), &lowering);
    }
    return all;
  }();
  const auto found = table.find(&op.str());  // symbols are interned
  return found == table.end() ? nullptr : found->second;
}

}  // namespace torchlet::cpu
