// C++ forms of the view, join, index and creation operators that other families build on. Each does
// what the operator of its name does, errors included.
#pragma once

#include <optional>
#include <vector>

#include "ops/core/common.h"

namespace torchlet::ops {

// ---- views (view_ops.cc, split_ops.cc) ----

Tensor flatten(const Tensor& self, int64_t start_dim, int64_t end_dim);
Tensor movedim(const Tensor& self, const IntArray& source, const IntArray& destination);
Tensor diagonal(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2);
Tensor squeeze_all(const Tensor& self);
// The last two dimensions swapped.
inline Tensor matrix_transpose(const Tensor& self) { return transpose(self, -2, -1); }
// complex [...] <-> real [..., 2]
Tensor view_as_real(const Tensor& self);
Tensor view_as_complex(const Tensor& self);
std::vector<Tensor> split(const Tensor& self, int64_t split_size, int64_t dim);
std::vector<Tensor> split_with_sizes(const Tensor& self, const IntArray& sizes, int64_t dim);
std::vector<Tensor> chunk(const Tensor& self, int64_t chunks, int64_t dim);
std::vector<Tensor> unbind(const Tensor& self, int64_t dim);

// ---- copies (creation/convert_ops.cc) ----

// What copy_ does: broadcast, converted, quantized with the target's quantizer if `source` is real;
// between quantized tensors the integers and the quantizer are taken over. Returns the target.
Tensor copy_into(const Tensor& target, const Tensor& source);
// The scalar as an element of `self`, 0-d: quantized if self is. Error if self's dtype cannot hold
// it (complex, or out of range).
Tensor element_of(const Tensor& self, const Scalar& value);
// As torch.clone and torch.empty_like: kPreserve (the default) keeps dense strides.
Tensor clone(const Tensor& self, std::optional<MemoryFormat> format);
Tensor empty_like(const Tensor& self, DType dtype, std::optional<MemoryFormat> format);

// ---- sequences (creation/range_ops.cc) ----

Tensor arange(const Scalar& start, const Scalar& end, const Scalar& step, DType dtype);

// ---- joins (join_ops.cc) ----

Tensor cat(const std::vector<Tensor>& tensors, int64_t dim);
Tensor stack(const std::vector<Tensor>& tensors, int64_t dim);
// All tensors expanded to their common shape.
std::vector<Tensor> broadcast_tensors(const std::vector<Tensor>& tensors);

// ---- orders (rearrange_ops.cc) ----

Tensor repeat(const Tensor& self, const IntArray& repeats);
Tensor tril(const Tensor& self, int64_t diagonal);
Tensor triu(const Tensor& self, int64_t diagonal);
// The last dimension becomes the diagonal of a matrix in dimensions dim1 and dim2 of the result.
Tensor diag_embed(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2);

// ---- indexing (index/index_ops.cc, index/gather_ops.cc, index/mask_ops.cc) ----

Tensor index_select(const Tensor& self, int64_t dim, const Tensor& index);
// self[i, j, None, mask]: undefined tensors stand for whole dimensions (:).
Tensor index(const Tensor& self, const std::vector<Tensor>& indices);
void index_put_(const Tensor& self, const std::vector<Tensor>& indices, const Tensor& values,
                bool accumulate);
Tensor gather(const Tensor& self, int64_t dim, const Tensor& index);
// int64 [count of elements that are not 0, dim], in row-major order.
Tensor nonzero(const Tensor& self);
void masked_fill_(const Tensor& self, const Tensor& mask, const Scalar& value);
Tensor masked_fill(const Tensor& self, const Tensor& mask, const Scalar& value);
Tensor masked_select(const Tensor& self, const Tensor& mask);

// ---- differences (math/difference_ops.cc) ----

Tensor linalg_cross(const Tensor& self, const Tensor& other, int64_t dim);

}  // namespace torchlet::ops
