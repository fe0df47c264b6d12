// What every operator family needs: type promotion, broadcasting, argument checks.
#pragma once

#include <optional>
#include <vector>

#include "base/error.h"
#include "tensor/scalar.h"
#include "tensor/tensor_impl.h"

namespace torchlet::ops {

// ---- type promotion (c10/core/ScalarType.cpp promoteTypes; at::native::result_type) ----

DType promote_types(DType a, DType b);
// Can a result of type `from` be written into a tensor of type `to`? Not complex -> real, floating
// -> integral, anything but bool -> bool.
bool can_cast(DType from, DType to);
void check_castable(DType from, DType to);  // Error in PyTorch's words if not
inline DType default_dtype() { return DType::kFloat32; }
// float16 and bfloat16: worth a copy in float32 where there is more to compute.
inline bool is_half(DType dtype) { return is_floating_point(dtype) && element_size(dtype) == 2; }
// Integral and bool become the default float type, others stay: what sin() or mean-like maths
// return.
inline DType to_float_type(DType dtype) {
  return is_integral(dtype, true) ? default_dtype() : dtype;
}

// Collects operands and gives the common dtype: tensors with dimensions decide first, then 0-d
// tensors, then Python numbers, each only if it is of a higher category (bool < int < float <
// complex).
class ResultType {
 public:
  ResultType& add(const Tensor& tensor);
  ResultType& add(const Scalar& scalar);
  DType get() const;

 private:
  std::optional<DType> dimensioned_, zero_dim_, scalar_;
};
DType result_type(const Tensor& a, const Tensor& b);
DType result_type(const Tensor& a, const Scalar& b);

// ---- shapes ----

// PyTorch's broadcasting rule; its error text when the sizes do not fit.
IntArray broadcast_shapes(IntSpan a, IntSpan b);
// A view with stride 0 in the dimensions that are repeated; -1 keeps a size. Error if it does not
// fit.
Tensor expand(const Tensor& tensor, IntSpan sizes);
// Sorted, wrapped, without doubles; all dimensions if `dims` is empty. Error on a double.
IntArray normalize_dims(IntSpan dims, int64_t rank);
// "int[2] padding": one number stands for all. Error naming `what` on another count.
IntArray expand_param(IntSpan values, size_t count, const char* what);
// View of the same elements in another shape (one size may be -1). Error if it is no view.
Tensor view(const Tensor& tensor, IntSpan sizes);
// A view if possible, else a copy.
Tensor reshape(const Tensor& tensor, IntSpan sizes);
Tensor permute(const Tensor& tensor, IntSpan dims);
Tensor transpose(const Tensor& tensor, int64_t dim0, int64_t dim1);
Tensor select(const Tensor& tensor, int64_t dim, int64_t index);
// Elements [start, end) of a dimension, clamped as Python's slices; step > 0.
Tensor slice(const Tensor& tensor, int64_t dim, std::optional<int64_t> start,
             std::optional<int64_t> end, int64_t step);
Tensor narrow(const Tensor& tensor, int64_t dim, int64_t start, int64_t length);
Tensor squeeze(const Tensor& tensor, int64_t dim);
Tensor unsqueeze(const Tensor& tensor, int64_t dim);
// Gives `tensor` the sizes, strides and offset of `view`, a view of it: what squeeze_ does to self.
void become_view(const Tensor& tensor, const Tensor& view);

// Gives an out= tensor its shape, growing its storage if need be; strides are kept if the shape is.
void resize_output(const Tensor& out, IntSpan sizes);

// Error if elements of a tensor to be written share memory: its expanded dimensions are looked at,
// as PyTorch's assert_no_internal_overlap does.
void check_no_internal_overlap(const Tensor& target);
// Writes `computed` into self as in-place operators do, and returns self. Error if the shapes
// differ, can_cast() forbids the conversion or elements of self share memory.
Tensor assign(const Tensor& self, const Tensor& computed);

// A 0-d tensor for a Python number: int64, default float, complex or bool.
Tensor wrapped_number(const Scalar& scalar);
Tensor full(IntSpan sizes, const Scalar& value, DType dtype);

}  // namespace torchlet::ops
