// Operators that join tensors or bring several to one shape.
#include <algorithm>

#include "base/checked.h"
#include "base/counted_vector.h"
#include "base/limits.h"
#include "ops/core/op.h"
#include "ops/shape/shape.h"

namespace torchlet::ops {
namespace {

// A 1-d tensor without elements fits everywhere in a cat (PyTorch's rule from when empty tensors
// had only this shape).
bool is_legacy_empty(const Tensor& tensor) { return tensor.dim() == 1 && tensor.numel() == 0; }

DType common_dtype(const std::vector<Tensor>& tensors) {
  ResultType type;
  for (const Tensor& tensor : tensors) type.add(tensor);
  return type.get();
}

// Everything is channels_last -> so is the result; else it is contiguous.
MemoryFormat common_format(const std::vector<Tensor>& tensors) {
  const MemoryFormat format = tensors[0].suggest_memory_format();
  for (const Tensor& tensor : tensors) {
    if (tensor.suggest_memory_format() != format) return MemoryFormat::kContiguous;
  }
  return format;
}

void check_cat_shape(const Tensor& first, const Tensor& tensor, size_t dim, size_t number) {
  TORCHLET_CHECK(tensor.dim() == first.dim(),
                 "Tensors must have same number of dimensions: got %lld and %lld",
                 static_cast<long long>(first.dim()), static_cast<long long>(tensor.dim()));
  for (size_t d = 0; d < first.sizes().size(); ++d) {
    TORCHLET_CHECK(
        d == dim || tensor.sizes()[d] == first.sizes()[d],
        "Sizes of tensors must match except in dimension %zu. Expected size %lld but got "
        "size %lld for tensor number %zu in the list.",
        dim, static_cast<long long>(first.sizes()[d]), static_cast<long long>(tensor.sizes()[d]),
        number);
  }
}

}  // namespace

Tensor cat(const std::vector<Tensor>& tensors, int64_t dim) {
  TORCHLET_CHECK(!tensors.empty(), "torch.cat(): expected a non-empty list of Tensors");
  const Tensor* first = nullptr;
  for (size_t i = 0; i < tensors.size(); ++i) {
    TORCHLET_CHECK(tensors[i].dim() > 0,
                   "zero-dimensional tensor (at position %zu) cannot be concatenated", i);
    if (!first && !is_legacy_empty(tensors[i])) first = &tensors[i];
  }
  const bool quantized = tensors[0].is_quantized();
  const DType dtype = quantized ? tensors[0].dtype() : common_dtype(tensors);
  if (!first) return empty_like(tensors[0], dtype);
  const size_t axis = static_cast<size_t>(wrap_dim(dim, first->dim()));
  int64_t length = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (is_legacy_empty(tensors[i])) continue;
    check_cat_shape(*first, tensors[i], axis, i);
    length += tensors[i].sizes()[axis];
  }
  IntArray shape(first->sizes());
  shape[axis] = length;
  const Tensor result = empty(shape, dtype, common_format(tensors));
  result.impl()->quantizer = first->impl()->quantizer;
  int64_t start = 0;
  for (const Tensor& tensor : tensors) {
    if (is_legacy_empty(tensor)) continue;
    const int64_t size = tensor.sizes()[axis];
    copy_into(narrow(result, static_cast<int64_t>(axis), start, size), tensor);
    start += size;
  }
  return result;
}

Tensor stack(const std::vector<Tensor>& tensors, int64_t dim) {
  TORCHLET_CHECK(!tensors.empty(), "stack expects a non-empty TensorList");
  const Tensor& first = tensors[0];
  const int64_t axis = wrap_dim(dim, first.dim() + 1);
  for (size_t i = 1; i < tensors.size(); ++i) {
    TORCHLET_CHECK(std::ranges::equal(tensors[i].sizes(), first.sizes()),
                   "stack expects each tensor to be equal size, but got %s at entry 0 and %s at "
                   "entry %zu",
                   first.describe().c_str(), tensors[i].describe().c_str(), i);
  }
  if (axis == first.dim()) {
    std::vector<Tensor> columns;
    for (const Tensor& tensor : tensors) columns.push_back(unsqueeze(tensor, axis));
    return cat(columns, axis);
  }
  IntArray shape(first.sizes());
  shape.insert(shape.begin() + axis, static_cast<int64_t>(tensors.size()));
  if (is_legacy_empty(first)) return empty(shape, common_dtype(tensors));
  return view(cat(tensors, axis), shape);
}

std::vector<Tensor> broadcast_tensors(const std::vector<Tensor>& tensors) {
  IntArray shape;
  for (const Tensor& tensor : tensors) shape = broadcast_shapes(shape, tensor.sizes());
  std::vector<Tensor> result;
  for (const Tensor& tensor : tensors) result.push_back(expand(tensor, shape));
  return result;
}

namespace {

Tensor atleast_1d(const Tensor& self) { return self.dim() ? self : reshape(self, IntArray{1}); }
Tensor atleast_2d(const Tensor& self) {
  if (self.dim() == 0) return reshape(self, IntArray{1, 1});
  return self.dim() == 1 ? unsqueeze(self, 0) : self;
}
Tensor atleast_3d(const Tensor& self) {
  if (self.dim() == 0) return reshape(self, IntArray{1, 1, 1});
  if (self.dim() == 1) return unsqueeze(unsqueeze(self, 0), -1);
  return self.dim() == 2 ? unsqueeze(self, -1) : self;
}
template <Tensor (*kOne)(const Tensor&)>
std::vector<Tensor> each(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> result;
  for (const Tensor& tensor : tensors) result.push_back(kOne(tensor));
  return result;
}

Tensor hstack(const std::vector<Tensor>& tensors) {
  TORCHLET_CHECK(!tensors.empty(), "hstack expects a non-empty TensorList");
  const std::vector<Tensor> rows = each<atleast_1d>(tensors);
  return cat(rows, rows[0].dim() == 1 ? 0 : 1);
}
Tensor vstack(const std::vector<Tensor>& tensors) {
  TORCHLET_CHECK(!tensors.empty(), "vstack expects a non-empty TensorList");
  return cat(each<atleast_2d>(tensors), 0);
}
Tensor dstack(const std::vector<Tensor>& tensors) {
  TORCHLET_CHECK(!tensors.empty(), "dstack expects a non-empty TensorList");
  return cat(each<atleast_3d>(tensors), 2);
}
Tensor column(const Tensor& self) {
  return self.dim() <= 1 ? reshape(self, IntArray{self.numel(), 1}) : self;
}
Tensor column_stack(const std::vector<Tensor>& tensors) {
  TORCHLET_CHECK(!tensors.empty(), "column_stack expects a non-empty TensorList");
  return hstack(each<column>(tensors));
}

Tensor block_diag(const std::vector<Tensor>& tensors) {
  if (tensors.empty()) return empty(IntArray{1, 0}, default_dtype());
  int64_t rows = 0, columns = 0;
  std::vector<Tensor> blocks;
  for (size_t i = 0; i < tensors.size(); ++i) {
    TORCHLET_CHECK(tensors[i].dim() <= 2,
                   "torch.block_diag: Input tensors must have 2 or fewer dimensions. Input %zu has "
                   "%lld dimensions",
                   i, static_cast<long long>(tensors[i].dim()));
    blocks.push_back(atleast_2d(tensors[i]));
    rows = checked_add(rows, blocks.back().sizes()[0]);
    columns = checked_add(columns, blocks.back().sizes()[1]);
  }
  const Tensor result = zeros(IntArray{rows, columns}, common_dtype(tensors));
  int64_t row = 0, col = 0;
  for (const Tensor& block : blocks) {
    const int64_t height = block.sizes()[0], width = block.sizes()[1];
    narrow(narrow(result, 0, row, height), 1, col, width).copy_(block);
    row += height;
    col += width;
  }
  return result;
}

std::vector<Tensor> meshgrid(const std::vector<Tensor>& tensors, const std::string& indexing) {
  TORCHLET_CHECK(!tensors.empty(), "meshgrid expects a non-empty TensorList");
  TORCHLET_CHECK(indexing == "ij" || indexing == "xy",
                 "torch.meshgrid: indexing must be one of \"xy\" or \"ij\", but received: %s",
                 indexing.c_str());
  std::vector<Tensor> axes = tensors;
  const bool swapped = indexing == "xy" && axes.size() >= 2;
  if (swapped) std::swap(axes[0], axes[1]);
  IntArray shape;
  for (const Tensor& axis : axes) {
    TORCHLET_CHECK(axis.dtype() == axes[0].dtype(),
                   "meshgrid expects all tensors to have the same dtype");
    TORCHLET_CHECK(axis.dim() <= 1,
                   "torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: %s",
                   axis.describe().c_str());
    shape.push_back(axis.numel());
  }
  std::vector<Tensor> grids;
  for (size_t i = 0; i < axes.size(); ++i) {
    IntArray along(axes.size(), 1);
    along[i] = -1;
    if (axes[i].numel() == 0) along[i] = 0;
    grids.push_back(expand(view(axes[i], along), shape));
  }
  if (swapped) std::swap(grids[0], grids[1]);
  return grids;
}

Tensor cartesian_prod(const std::vector<Tensor>& tensors) {
  for (const Tensor& tensor : tensors) {
    TORCHLET_CHECK(tensor.dim() == 1, "Expect a 1D vector, but got shape %s",
                   tensor.describe().c_str());
  }
  if (tensors.size() == 1) return tensors[0];
  std::vector<Tensor> columns;
  for (const Tensor& grid : meshgrid(tensors, "ij")) columns.push_back(reshape(grid, IntArray{-1}));
  return stack(columns, 1);
}

// n over k.
int64_t binomial(int64_t n, int64_t k) {
  if (k < 0 || k > n) return 0;
  int64_t count = 1;
  for (int64_t i = 1; i <= std::min(k, n - k); ++i) count = checked_mul(count, n - i + 1) / i;
  return count;
}

// Index combinations in lexicographic order, as rows.
Tensor combinations(const Tensor& self, int64_t r, bool with_replacement) {
  TORCHLET_CHECK(self.dim() == 1, "Expect a 1D vector, but got shape %s", self.describe().c_str());
  TORCHLET_CHECK(r >= 0, "Expect a non-negative number, but got %lld", static_cast<long long>(r));
  if (r == 0) return empty(IntArray{0}, self.dtype());
  const int64_t n = self.numel();
  const int64_t count =
      with_replacement && n > 0 ? binomial(checked_add(n - 1, r), r) : binomial(n, r);
  if (count == 0) return empty(IntArray{0, r}, self.dtype());
  require_memory(checked_mul(count, r), sizeof(int64_t), "places in combinations");
  CountedVector<int64_t> rows;
  CountedVector<int64_t> pick(static_cast<size_t>(r));
  for (int64_t i = 0; i < r; ++i) pick[static_cast<size_t>(i)] = with_replacement ? 0 : i;
  for (bool more = true; more;) {
    poll();
    rows.insert(rows.end(), pick.begin(), pick.end());
    int64_t at = r - 1;
    auto limit = [&](int64_t i) { return with_replacement ? n - 1 : n - r + i; };
    while (at >= 0 && pick[static_cast<size_t>(at)] == limit(at)) --at;
    more = at >= 0;
    if (!more) break;
    const int64_t next = ++pick[static_cast<size_t>(at)];
    for (int64_t i = at + 1; i < r; ++i) {
      pick[static_cast<size_t>(i)] = with_replacement ? next : next + (i - at);
    }
  }
  const IntArray shape{static_cast<int64_t>(rows.size()) / r, r};
  const Tensor index =
      from_blob(rows.data(), IntArray{static_cast<int64_t>(rows.size())}, DType::kInt64);
  return view(index_select(self, 0, index), shape);
}

}  // namespace

TORCHLET_OP_WITH(cat,
                 on_meta() | out("out") | rank(RankRule::kJoined) | dtype(DTypeRule::kPromoted) |
                     quantized_as_input(),
                 "aten::cat(Tensor[] tensors, int dim=0) -> Tensor", cat);
TORCHLET_OP_WITH(stack, on_meta() | out("out") | quantized_as_input(),
                 "aten::stack(Tensor[] tensors, int dim=0) -> Tensor", stack);
TORCHLET_OP_WITH(_stack, out("out"), "aten::_stack(Tensor[] tensors, int dim=0) -> Tensor", stack);
TORCHLET_OP_WITH(hstack, out("out"), "aten::hstack(Tensor[] tensors) -> Tensor", hstack);
TORCHLET_OP_WITH(vstack, out("out"), "aten::vstack(Tensor[] tensors) -> Tensor", vstack);
TORCHLET_OP_WITH(dstack, out("out"), "aten::dstack(Tensor[] tensors) -> Tensor", dstack);
TORCHLET_OP_WITH(column_stack, out("out"), "aten::column_stack(Tensor[] tensors) -> Tensor",
                 column_stack);
TORCHLET_OP_WITH(block_diag, out("out") | may_alias(),
                 "aten::block_diag(Tensor[] tensors) -> Tensor", block_diag);
TORCHLET_OP_WITH(atleast_1d, may_alias(), "aten::atleast_1d(Tensor self) -> Tensor", atleast_1d);
TORCHLET_OP_WITH(atleast_1d_Sequence, may_alias(),
                 "aten::atleast_1d.Sequence(Tensor[] tensors) -> Tensor[]", each<atleast_1d>);
TORCHLET_OP_WITH(atleast_2d, may_alias(), "aten::atleast_2d(Tensor self) -> Tensor", atleast_2d);
TORCHLET_OP_WITH(atleast_2d_Sequence, may_alias(),
                 "aten::atleast_2d.Sequence(Tensor[] tensors) -> Tensor[]", each<atleast_2d>);
TORCHLET_OP_WITH(atleast_3d, may_alias(), "aten::atleast_3d(Tensor self) -> Tensor", atleast_3d);
TORCHLET_OP_WITH(atleast_3d_Sequence, may_alias(),
                 "aten::atleast_3d.Sequence(Tensor[] tensors) -> Tensor[]", each<atleast_3d>);
TORCHLET_OP_WITH(broadcast_tensors, may_alias(),
                 "aten::broadcast_tensors(Tensor[] tensors) -> Tensor[]", broadcast_tensors);
TORCHLET_OP_WITH(meshgrid, may_alias(), "aten::meshgrid(Tensor[] tensors) -> Tensor[]",
                 [](const std::vector<Tensor>& tensors) { return meshgrid(tensors, "ij"); });
TORCHLET_OP_WITH(meshgrid_indexing, may_alias(),
                 "aten::meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]",
                 meshgrid);
TORCHLET_OP_WITH(cartesian_prod, may_alias(), "aten::cartesian_prod(Tensor[] tensors) -> Tensor",
                 cartesian_prod);
TORCHLET_OP_WITH(combinations, may_alias(),
                 "aten::combinations(Tensor self, int r=2, bool with_replacement=False) -> Tensor",
                 combinations);

}  // namespace torchlet::ops
