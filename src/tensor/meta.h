// Meta tensors: dtype, sizes, strides and quantizer without memory, as on PyTorch's device "meta".
// Operators that touch elements by nothing but the engines that ask is_meta() tell so what they
// would give, for nothing (Facts::runs_on_meta).
#pragma once

#include "tensor/tensor_impl.h"

namespace torchlet {

// Until its end, tensors that this thread makes are meta tensors, or are not. Scopes nest.
class MetaScope {
 public:
  explicit MetaScope(bool meta = true) : before_(std::exchange(internal::making_meta, meta)) {}
  ~MetaScope() { internal::making_meta = before_; }
  MetaScope(const MetaScope&) = delete;
  MetaScope& operator=(const MetaScope&) = delete;

 private:
  bool before_;
};

// Has the tensor no memory although it should? Who writes elements asks, and is done.
inline bool is_meta(const Tensor& tensor) { return tensor.impl()->storage->is_meta(); }

// Without memory: what `tensor` is. Plain and quantized tensors have one, sparse and nested ones do
// not.
Tensor meta_like(const Tensor& tensor);
Tensor make_meta(DType dtype, IntSpan sizes, IntSpan strides, int64_t storage_offset,
                 std::shared_ptr<const Quantizer> quantizer);

}  // namespace torchlet
