// What a Tensor handle points to, and how the inside of the house makes tensors and views.
#pragma once

#include <torchlet/tensor.h>

#include <memory>

#include "base/error.h"
#include "base/small_vector.h"
#include "tensor/storage.h"

namespace torchlet {

using IntArray = SmallVector<int64_t, 6>;

// PyTorch's limit for most operators (at::kMaxDims, TensorIterator).
inline constexpr int64_t kMaxDims = 64;

// How integers of a quantized tensor become real numbers: (q - zero_point) * scale.
struct Quantizer {
  QScheme qscheme = QScheme::kPerTensorAffine;
  double scale = 1;
  int64_t zero_point = 0;
  // Per channel: float64 [C] and int64 [C] (float32 for kPerChannelAffineFloatQParams), and the
  // axis.
  Tensor scales;
  Tensor zero_points;
  int64_t axis = 0;

  bool per_tensor() const {
    return qscheme == QScheme::kPerTensorAffine || qscheme == QScheme::kPerTensorSymmetric;
  }
};

// The parts of a sparse tensor: torch.sparse_coo_tensor or torch.sparse_csr_tensor. Matrices in
// CSR hold the same parts, coalesced; what PyTorch compresses, row pointers, is made when asked
// for.
struct SparseParts {
  Tensor indices;          // int64 [sparse_dim, nnz]
  Tensor values;           // [nnz, dense sizes...]
  bool coalesced = false;  // indices ascend and are distinct
  Layout layout = Layout::kSparse;
};

class TensorImpl : public RefCounted {
 public:
  Ref<Storage> storage;
  DType dtype = DType::kFloat32;
  bool requires_grad = false;  // only carried: nothing here computes gradients
  int64_t storage_offset = 0;  // elements
  int64_t numel = 0;
  IntArray sizes;
  IntArray strides;                            // elements
  std::shared_ptr<const Quantizer> quantizer;  // set if dtype is quantized
  std::shared_ptr<const SparseParts> sparse;   // set for sparse COO; storage is null then
  std::shared_ptr<const std::vector<Tensor>>
      nested;  // set for nested tensors; storage is null then

  // Where the first element is; of a tensor without elements, somewhere.
  std::byte* data() const {
    if (numel == 0) return storage->data();
    return storage->data() + static_cast<size_t>(storage_offset) * element_size(dtype);
  }
  int64_t dim() const { return static_cast<int64_t>(sizes.size()); }
  // Recomputes numel; call after changing sizes.
  void update_numel();
};

// "[2, 3]", as PyTorch's messages write a shape.
std::string shape_text(IntSpan sizes);
// Product of sizes; Error on a negative size, and if the product without the zeros overflows: so no
// product of some of a tensor's sizes does.
int64_t checked_numel(IntSpan sizes);
// Elements from the first to the last that a view reaches, both included; 0 if it is empty. Error
// on negative strides, on another number of strides than of sizes, and on overflow, of an empty
// view too: so no sum of a tensor's sizes times its strides overflows.
int64_t checked_extent(IntSpan sizes, IntSpan strides);
IntArray contiguous_strides(IntSpan sizes);
IntArray strides_for(IntSpan sizes, MemoryFormat format);
bool is_contiguous_as(IntSpan sizes, IntSpan strides, MemoryFormat format);
// The dimensions lie in memory in the order of `format` (channels last, 2d or 3d), perhaps with
// gaps.
bool has_channels_last_strides(IntSpan sizes, IntSpan strides, MemoryFormat format);
// No two index tuples share an element and there are no gaps (in some order of dimensions).
bool is_non_overlapping_and_dense(IntSpan sizes, IntSpan strides);

// A view of the same storage; the quantizer is kept. Error if it reaches outside the storage.
Tensor make_view(const Tensor& base, IntSpan sizes, IntSpan strides, int64_t storage_offset);
// A tensor over a storage with everything given; Error if it reaches outside the storage.
Tensor make_tensor(Ref<Storage> storage, DType dtype, IntSpan sizes, IntSpan strides,
                   int64_t storage_offset);
// Memory with these strides (which must be able to hold the elements from offset 0).
Tensor empty_strided(IntSpan sizes, IntSpan strides, DType dtype);
// As torch.empty_like with preserve_format: dense strides are kept, others become contiguous.
// Quantized tensors keep their quantizer if the dtype is kept.
Tensor empty_like(const Tensor& like);
Tensor empty_like(const Tensor& like, DType dtype);
Tensor empty_quantized(IntSpan sizes, DType dtype, std::shared_ptr<const Quantizer> quantizer,
                       MemoryFormat format = MemoryFormat::kContiguous);
std::shared_ptr<const Quantizer> per_tensor_quantizer(double scale, int64_t zero_point);

// Converts `count` elements between strided runs (strides in elements); dtypes may differ.
// Quantized types are treated as their integers. float -> integer truncates, anything -> bool is !=
// 0, complex -> real (bool too) drops the imaginary part.
void convert_elements(const void* source, DType source_dtype, int64_t source_stride, void* target,
                      DType target_dtype, int64_t target_stride, int64_t count);

// Dimension index in [0, dim) from PyTorch's convention (negative counts from the end; a 0-d tensor
// takes 0 and -1). Error text as PyTorch's IndexError.
int64_t wrap_dim(int64_t dim, int64_t rank);

}  // namespace torchlet
