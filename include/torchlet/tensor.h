// A Tensor is a handle to a strided view of shared, typed memory, with PyTorch's semantics: copying
// the handle shares the tensor, views share the storage.
//
// Thread safety: handles may be copied and read from any thread; writing to the data or the shape
// of a tensor needs the caller's own synchronisation.
#pragma once

#include <torchlet/dtype.h>
#include <torchlet/error.h>
#include <torchlet/export.h>
#include <torchlet/ref.h>

#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace torchlet {

class TensorImpl;
using IntSpan = std::span<const int64_t>;

class TORCHLET_API Tensor {
 public:
  // An undefined tensor: what PyTorch's C++ calls `Tensor()`, and None in a list of optional
  // tensors.
  Tensor();
  Tensor(const Tensor&);
  Tensor(Tensor&&) noexcept;
  Tensor& operator=(const Tensor&);
  Tensor& operator=(Tensor&&) noexcept;
  ~Tensor();
  explicit Tensor(Ref<TensorImpl> impl);

  bool defined() const { return static_cast<bool>(impl_); }

  DType dtype() const;
  int64_t dim() const;
  IntSpan sizes() const;            // one per dimension
  IntSpan strides() const;          // in elements
  int64_t size(int64_t dim) const;  // negative dims count from the end
  int64_t stride(int64_t dim) const;
  int64_t numel() const;
  int64_t storage_offset() const;  // in elements
  bool is_contiguous(MemoryFormat format = MemoryFormat::kContiguous) const;
  // The format that operators give their results: the one whose order the strides have, even if
  // there are gaps, or both formats fit.
  MemoryFormat suggest_memory_format() const;

  // First element of this view. For T = void any dtype is taken; otherwise T must be the element
  // type (quantized types are read as their integers: uint8_t, int8_t, int32_t), else an Error.
  // The pointer lives as long as any tensor shares the storage.
  template <typename T>
  T* data_ptr() const {
    if constexpr (std::is_void_v<T>) {
      return raw_data();
    } else {
      return static_cast<T*>(checked_data(DTypeOf<T>::value));
    }
  }
  void* raw_data() const;

  // The value of a tensor with one element, converted to T (double, int64_t, bool, float, int).
  template <typename T>
  T item() const;

  // Conversions; each returns this tensor itself when nothing has to change.
  Tensor to(DType dtype) const;
  Tensor contiguous(MemoryFormat format = MemoryFormat::kContiguous) const;
  Tensor clone() const;  // always a copy; keeps dense strides as torch.preserve_format does
  // Writes `source` (broadcast to this shape, converted to this dtype) into this tensor.
  void copy_(const Tensor& source) const;

  // Quantization; Error unless dtype() is a quantized type of the asked scheme.
  bool is_quantized() const;
  QScheme qscheme() const;
  double q_scale() const;
  int64_t q_zero_point() const;
  Tensor q_per_channel_scales() const;       // float64 [channels]
  Tensor q_per_channel_zero_points() const;  // int64 [channels]
  int64_t q_per_channel_axis() const;

  // "[2, 3] float32" for messages.
  std::string describe() const;

  TensorImpl* impl() const { return impl_.get(); }
  bool is_same(const Tensor& other) const { return impl_ == other.impl_; }

 private:
  void* checked_data(DType dtype) const;
  Ref<TensorImpl> impl_;
};

// Memory for `sizes`, uninitialised. Error if a size is negative or the bytes overflow.
TORCHLET_API Tensor empty(IntSpan sizes, DType dtype,
                          MemoryFormat format = MemoryFormat::kContiguous);
TORCHLET_API Tensor zeros(IntSpan sizes, DType dtype);

// A tensor over the caller's memory, without a copy: `data` must hold the elements that sizes and
// strides (contiguous if empty) reach, and live until `deleter` is called (never, if none), which
// happens when the last tensor that shares it goes.
TORCHLET_API Tensor from_blob(void* data, IntSpan sizes, DType dtype, IntSpan strides = {},
                              std::function<void(void*)> deleter = {});
// The same, contiguous, with the sizes written out: from_blob(data, {1, 3, 224, 224}).
inline Tensor from_blob(void* data, std::initializer_list<int64_t> sizes,
                        DType dtype = DType::kFloat32) {
  return from_blob(data, IntSpan(sizes.begin(), sizes.size()), dtype);
}

}  // namespace torchlet
