// Nested tensors, as the fast path of torch.nn.TransformerEncoder uses them.
#include "ops/sequence/nested.h"

#include <algorithm>

#include "ops/core/op.h"

namespace torchlet::ops {
namespace {

// The number of leading True in every row of mask [batch, length]; nothing if a True follows a
// False.
std::optional<std::vector<int64_t>> left_aligned_lengths(const Tensor& t, const Tensor& mask) {
  TORCHLET_CHECK(mask.dtype() == DType::kBool,
                 "Expected mask to be of ScalarType Bool, but got %s instead.",
                 dtype_name(mask.dtype()).data());
  TORCHLET_CHECK(mask.dim() == 2, "Padding mask should be 2D");
  TORCHLET_CHECK(t.dim() == 3, "Input should be a 3D tensor, N * L * D");
  TORCHLET_CHECK(t.size(0) == mask.size(0) && t.size(1) == mask.size(1),
                 "Padding mask size should match input size, got %s and %s",
                 mask.describe().c_str(), t.describe().c_str());
  const Tensor dense = mask.contiguous();
  const bool* keep = dense.data_ptr<bool>();
  const int64_t length = mask.size(1);
  std::vector<int64_t> lengths;
  for (int64_t row = 0; row < mask.size(0); ++row) {
    const bool *begin = keep + row * length, *end = begin + length;
    const bool* stop = std::find(begin, end, false);
    if (std::find(stop, end, true) != end) return std::nullopt;
    lengths.push_back(stop - begin);
  }
  return lengths;
}

Tensor nested_from_mask(const Tensor& t, const Tensor& mask, bool mask_check) {
  auto lengths = left_aligned_lengths(t, mask);
  TORCHLET_CHECK(lengths || !mask_check, "Mask must be left-aligned without gaps");
  TORCHLET_CHECK(lengths, "nested tensor: a mask with gaps is not supported");
  std::vector<Tensor> parts;
  for (size_t i = 0; i < lengths->size(); ++i) {
    const Tensor row = select(t, 0, static_cast<int64_t>(i));
    parts.push_back(narrow(row, 0, 0, (*lengths)[i]).clone());
  }
  return make_nested(std::move(parts));
}

Tensor to_padded_tensor(const Tensor& self, double padding,
                        const std::optional<IntArray>& output_size) {
  const std::vector<Tensor>& parts = nested_parts(self);
  const size_t rank = parts.empty() ? 0 : parts[0].sizes().size();
  IntArray shape(rank + 1, 0);
  shape[0] = static_cast<int64_t>(parts.size());
  for (const Tensor& part : parts) {
    for (size_t d = 0; d < rank; ++d) shape[d + 1] = std::max(shape[d + 1], part.sizes()[d]);
  }
  if (output_size) {
    TORCHLET_CHECK(output_size->size() == shape.size(),
                   "to_padded_tensor: expected an output size of %zu values, got %zu", shape.size(),
                   output_size->size());
    for (size_t d = 0; d < shape.size(); ++d) {
      TORCHLET_CHECK(
          (*output_size)[d] >= shape[d],
          "Value in output_size is less than NestedTensor padded size. Truncation is not "
          "supported.");
    }
    shape = *output_size;
  }
  const Tensor out = full(shape, Scalar(padding), self.dtype());
  for (size_t i = 0; i < parts.size(); ++i) {
    Tensor place = select(out, 0, static_cast<int64_t>(i));
    for (int64_t d = 0; d < parts[i].dim(); ++d) place = narrow(place, d, 0, parts[i].size(d));
    place.copy_(parts[i]);
  }
  return out;
}

}  // namespace

bool is_nested(const Tensor& tensor) { return tensor.impl()->nested != nullptr; }

const std::vector<Tensor>& nested_parts(const Tensor& tensor) {
  TORCHLET_CHECK(is_nested(tensor), "expected a nested tensor, got %s", tensor.describe().c_str());
  return *tensor.impl()->nested;
}

Tensor make_nested(std::vector<Tensor> parts) {
  auto impl = make_ref<TensorImpl>();
  if (!parts.empty()) impl->dtype = parts[0].dtype();
  impl->sizes = {static_cast<int64_t>(parts.size())};
  if (!parts.empty()) impl->sizes.resize(parts[0].sizes().size() + 1, 0);
  for (const Tensor& part : parts) {
    TORCHLET_CHECK(part.dtype() == impl->dtype && part.dim() + 1 == impl->dim(),
                   "nested tensor: all parts must have one dtype and rank, got %s and %s",
                   parts[0].describe().c_str(), part.describe().c_str());
  }
  impl->strides = contiguous_strides(impl->sizes);
  impl->nested = std::make_shared<const std::vector<Tensor>>(std::move(parts));
  return Tensor(std::move(impl));
}

TORCHLET_OP_WITH(
    _nested_tensor_from_mask, out("out"),
    "aten::_nested_tensor_from_mask(Tensor t, Tensor mask, bool mask_check=True) -> Tensor",
    nested_from_mask);
TORCHLET_OP(_nested_tensor_from_mask_left_aligned,
            "aten::_nested_tensor_from_mask_left_aligned(Tensor t, Tensor mask) -> bool",
            [](const Tensor& t, const Tensor& mask) {
              return left_aligned_lengths(t, mask).has_value();
            });
TORCHLET_OP_WITH(
    to_padded_tensor, out("out"),
    "aten::to_padded_tensor(Tensor self, float padding, int[]? output_size=None) -> Tensor",
    to_padded_tensor);
TORCHLET_OP(
    nested_to_padded_tensor,
    "aten::nested_to_padded_tensor(Tensor self, float padding, int[]? output_size=None) -> Tensor",
    to_padded_tensor);
TORCHLET_OP(_nested_tensor_size, "aten::_nested_tensor_size(Tensor self) -> Tensor",
            [](const Tensor& self) {
              const auto& parts = nested_parts(self);
              const int64_t rank = parts.empty() ? 0 : parts[0].dim();
              const Tensor sizes = empty({{self.size(0), rank}}, DType::kInt64);
              int64_t* to = sizes.data_ptr<int64_t>();
              for (const Tensor& part : parts) to = std::ranges::copy(part.sizes(), to).out;
              return sizes;
            });

}  // namespace torchlet::ops
