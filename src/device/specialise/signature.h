// What a segment is specialised for.
#pragma once

#include <torchlet/value.h>

#include <memory>
#include <span>
#include <vector>

#include "tensor/tensor_impl.h"

namespace torchlet::device {

// Of concrete inputs: of tensors their dtype, sizes, strides and quantization, of everything else
// the value.
class Signature {
 public:
  explicit Signature(std::span<const Value> inputs);
  bool matches(std::span<const Value> inputs) const;
  // Sparse or nested tensors and objects have none.
  static bool can_have(std::span<const Value> inputs);

 private:
  struct Input {
    DType dtype{};
    IntArray sizes, strides;
    std::shared_ptr<const Quantizer> quantizer;
    Value value;
    bool is_tensor = false;
  };
  std::vector<Input> inputs_;
};

}  // namespace torchlet::device
