// Operators that return a view of their input: same storage, other sizes and strides.
#include <algorithm>

#include "ops/core/op.h"
#include "ops/engines/integer_math.h"
#include "ops/shape/shape.h"

namespace torchlet::ops {

Tensor flatten(const Tensor& self, int64_t start_dim, int64_t end_dim) {
  const int64_t rank = self.dim();
  const size_t first = static_cast<size_t>(wrap_dim(start_dim, rank));
  const size_t last = static_cast<size_t>(wrap_dim(end_dim, rank));
  TORCHLET_CHECK(first <= last, "flatten() has invalid args: start_dim cannot come after end_dim");
  if (rank == 0) return reshape(self, IntArray{1});
  if (first == last) return self;
  IntArray shape;
  int64_t merged = 1;
  for (size_t d = 0; d < self.sizes().size(); ++d) {
    if (d >= first && d <= last) merged *= self.sizes()[d];
    if (d < first || d > last) shape.push_back(self.sizes()[d]);
    if (d == last) shape.push_back(merged);
  }
  return reshape(self, shape);
}

Tensor movedim(const Tensor& self, const IntArray& source, const IntArray& destination) {
  TORCHLET_CHECK(source.size() == destination.size(),
                 "movedim: Invalid source or destination dims: source (%zu dims) should contain "
                 "the same number of dims as destination (%zu dims)",
                 source.size(), destination.size());
  const size_t rank = self.sizes().size();
  if (rank == 0) {
    for (size_t i = 0; i < source.size(); ++i) {
      wrap_dim(source[i], 0);
      wrap_dim(destination[i], 0);
    }
    return self;
  }
  IntArray order(rank, -1);
  std::vector<bool> moved(rank);
  for (size_t i = 0; i < source.size(); ++i) {
    const int64_t from = wrap_dim(source[i], self.dim());
    int64_t& slot = order[static_cast<size_t>(wrap_dim(destination[i], self.dim()))];
    TORCHLET_CHECK(!moved[static_cast<size_t>(from)], "movedim: repeated dim in `source`");
    TORCHLET_CHECK(slot == -1, "movedim: repeated dim in `destination`");
    moved[static_cast<size_t>(from)] = true;
    slot = from;
  }
  size_t next = 0;
  for (int64_t& slot : order) {
    if (slot != -1) continue;
    while (moved[next]) ++next;
    slot = static_cast<int64_t>(next++);
  }
  return permute(self, order);
}

Tensor diagonal(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) {
  const size_t a = static_cast<size_t>(wrap_dim(dim1, self.dim()));
  const size_t b = static_cast<size_t>(wrap_dim(dim2, self.dim()));
  TORCHLET_CHECK(a != b, "diagonal dimensions cannot be identical %lld, %lld",
                 static_cast<long long>(dim1), static_cast<long long>(dim2));
  TORCHLET_CHECK(self.dim() >= 2, "diagonal needs at least 2 dimensions, got %lld",
                 static_cast<long long>(self.dim()));
  const int64_t rows = self.sizes()[a], columns = self.sizes()[b];
  const int64_t length = std::max<int64_t>(
      offset >= 0 ? std::min(rows, columns - offset) : std::min(rows + offset, columns), 0);
  int64_t start = self.storage_offset();
  if (length > 0) start += offset >= 0 ? offset * self.strides()[b] : -offset * self.strides()[a];
  IntArray sizes, strides;
  for (size_t d = 0; d < self.sizes().size(); ++d) {
    if (d == a || d == b) continue;
    sizes.push_back(self.sizes()[d]);
    strides.push_back(self.strides()[d]);
  }
  sizes.push_back(length);
  strides.push_back(wrap_add(self.strides()[a], self.strides()[b]));  // huge if it is empty
  return make_view(self, sizes, strides, start);
}

Tensor squeeze_all(const Tensor& self) {
  IntArray sizes, strides;
  for (size_t d = 0; d < self.sizes().size(); ++d) {
    if (self.sizes()[d] == 1) continue;
    sizes.push_back(self.sizes()[d]);
    strides.push_back(self.strides()[d]);
  }
  return make_view(self, sizes, strides, self.storage_offset());
}

namespace {

Tensor alias(const Tensor& self) {
  return make_view(self, self.sizes(), self.strides(), self.storage_offset());
}

// Nested and sparse tensors have no strided storage to view; they are shared as they are.
Tensor detach(const Tensor& self) {
  if (!self.impl()->storage) return self;
  Tensor result = alias(self);
  result.impl()->requires_grad = false;
  return result;
}

Tensor t(const Tensor& self) {
  TORCHLET_CHECK(self.dim() <= 2, "t() expects a tensor with <= 2 dimensions, but self is %lldD",
                 static_cast<long long>(self.dim()));
  return self.dim() < 2 ? alias(self) : transpose(self, 0, 1);
}

Tensor numpy_t(const Tensor& self) {
  IntArray order;
  for (int64_t d = self.dim(); d-- > 0;) order.push_back(d);
  return permute(self, order);
}

Tensor batched_transpose(const Tensor& self, const char* name) {
  TORCHLET_CHECK(self.dim() != 1,
                 "tensor.%s is only supported on matrices or batches of matrices. Got 1-D tensor.",
                 name);
  return self.dim() == 0 ? alias(self) : matrix_transpose(self);
}
Tensor m_t(const Tensor& self) { return batched_transpose(self, "mT"); }

Tensor unflatten(const Tensor& self, int64_t dim, const IntArray& sizes) {
  TORCHLET_CHECK(self.dim() > 0, "Dimension specified as %lld but tensor has no dimensions",
                 static_cast<long long>(dim));
  TORCHLET_CHECK(!sizes.empty(), "unflatten: sizes must be non-empty");
  const size_t d = static_cast<size_t>(wrap_dim(dim, self.dim()));
  int64_t product = 1;
  for (int64_t size : sizes) {
    TORCHLET_CHECK(!__builtin_mul_overflow(product, size, &product), "unflatten: sizes overflow");
  }
  const bool inferred = std::ranges::find(sizes, -1) != sizes.end();
  TORCHLET_CHECK(inferred || product == self.sizes()[d],
                 "unflatten: Provided sizes don't multiply up to the size of dim %zu (%lld) in the "
                 "input tensor",
                 d, static_cast<long long>(self.sizes()[d]));
  IntArray shape(self.sizes().first(d));
  for (int64_t size : sizes) shape.push_back(size);
  for (int64_t size : self.sizes().subspan(d + 1)) shape.push_back(size);
  if (inferred) {  // what -1 stands for follows from this dimension, even if others are empty
    const int64_t known = -product;
    TORCHLET_CHECK(known > 0 && self.sizes()[d] % known == 0,
                   "unflatten: sizes do not divide dimension %zu of size %lld", d,
                   static_cast<long long>(self.sizes()[d]));
    *std::ranges::find(shape, -1) = self.sizes()[d] / known;
  }
  return view(self, shape);
}

Tensor as_strided(const Tensor& self, const IntArray& size, const IntArray& stride,
                  std::optional<int64_t> storage_offset) {
  return make_view(self, size, stride, storage_offset.value_or(self.storage_offset()));
}

Tensor unfold(const Tensor& self, int64_t dimension, int64_t size, int64_t step) {
  const size_t d = static_cast<size_t>(wrap_dim(dimension, self.dim()));
  const int64_t length = self.dim() == 0 ? 1 : self.sizes()[d];
  TORCHLET_CHECK(size >= 0 && size <= length,
                 "maximum size for tensor at dimension %zu is %lld but size is %lld", d,
                 static_cast<long long>(length), static_cast<long long>(size));
  TORCHLET_CHECK(step > 0, "step is %lld but must be > 0", static_cast<long long>(step));
  IntArray sizes(self.sizes()), strides(self.strides());
  sizes.push_back(size);
  strides.push_back(self.dim() == 0 ? 1 : self.strides()[d]);
  if (self.dim() > 0) {
    sizes[d] = (length - size) / step + 1;
    if (sizes[d] > 1) {
      TORCHLET_CHECK(!__builtin_mul_overflow(strides[d], step, &strides[d]),
                     "unfold: step overflows");
    }
  }
  return make_view(self, sizes, strides, self.storage_offset());
}

}  // namespace

TORCHLET_OP_WITH(view, copied() | rank(RankRule::kLength) | keeps_dtype(),
                 "aten::view(Tensor(a) self, int[] size) -> Tensor(a)",
                 [](const Tensor& self, const IntArray& size) { return view(self, size); });
TORCHLET_OP_WITH(reshape, rank(RankRule::kLength) | keeps_dtype(),
                 "aten::reshape(Tensor(a) self, int[] shape) -> Tensor(a)",
                 [](const Tensor& self, const IntArray& shape) { return reshape(self, shape); });
TORCHLET_OP_WITH(_unsafe_view, on_meta() | rank(RankRule::kLength) | keeps_dtype() | may_alias(),
                 "aten::_unsafe_view(Tensor self, int[] size) -> Tensor",
                 [](const Tensor& self, const IntArray& size) { return view(self, size); });
TORCHLET_OP_WITH(_reshape_alias, copied(),
                 "aten::_reshape_alias(Tensor(a) self, int[] size, int[] stride) -> Tensor(a)",
                 [](const Tensor& self, const IntArray& size, const IntArray& stride) {
                   return as_strided(self, size, stride, std::nullopt);
                 });
TORCHLET_OP(view_as, "aten::view_as(Tensor(a) self, Tensor other) -> Tensor(a)",
            [](const Tensor& self, const Tensor& other) { return view(self, other.sizes()); });
TORCHLET_OP(reshape_as, "aten::reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)",
            [](const Tensor& self, const Tensor& other) { return reshape(self, other.sizes()); });
TORCHLET_OP_WITH(_reshape_from_tensor, may_alias(),
                 "aten::_reshape_from_tensor(Tensor self, Tensor shape) -> Tensor",
                 [](const Tensor& self, const Tensor& shape) {
                   TORCHLET_CHECK(shape.dim() == 1, "shape of a reshape must be a 1-d tensor");
                   const Tensor numbers = shape.to(DType::kInt64).contiguous();
                   const int64_t* data = numbers.data_ptr<int64_t>();
                   return reshape(self, IntArray(data, data + numbers.numel()));
                 });
TORCHLET_OP_WITH(
    flatten_using_ints, keeps_dtype(),
    "aten::flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)",
    flatten);
TORCHLET_OP(unflatten_int, "aten::unflatten.int(Tensor(a) self, int dim, int[] sizes) -> Tensor(a)",
            unflatten);
TORCHLET_OP(ravel, "aten::ravel(Tensor(a) self) -> Tensor(a)",
            [](const Tensor& self) { return reshape(self.contiguous(), IntArray{-1}); });

TORCHLET_OP_WITH(permute, copied() | keeps_rank() | keeps_dtype(),
                 "aten::permute(Tensor(a) self, int[] dims) -> Tensor(a)",
                 [](const Tensor& self, const IntArray& dims) { return permute(self, dims); });
constexpr Traits kTransposeInplace = {.inplace_overload = "", .has_inplace_view = true};
TORCHLET_OP_WITH(transpose_int, kTransposeInplace | copied() | keeps_rank() | keeps_dtype(),
                 "aten::transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)", transpose);
TORCHLET_OP_WITH(swapaxes, inplace_view() | keeps_rank() | keeps_dtype(),
                 "aten::swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)", transpose);
TORCHLET_OP_WITH(swapdims, inplace_view() | keeps_rank() | keeps_dtype(),
                 "aten::swapdims(Tensor(a) self, int dim0, int dim1) -> Tensor(a)", transpose);
TORCHLET_OP_WITH(t, inplace_view() | copied() | keeps_dtype(),
                 "aten::t(Tensor(a) self) -> Tensor(a)", t);
TORCHLET_OP(numpy_T, "aten::numpy_T(Tensor(a) self) -> Tensor(a)", numpy_t);
TORCHLET_OP(numpy_T_a, "aten::numpy_T.a(Tensor(a) self) -> Tensor(a)", numpy_t);
TORCHLET_OP(mT, "aten::mT(Tensor(a) self) -> Tensor(a)", m_t);
TORCHLET_OP(mT_a, "aten::mT.a(Tensor(a) self) -> Tensor(a)", m_t);
TORCHLET_OP(movedim_intlist,
            "aten::movedim.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)",
            movedim);
TORCHLET_OP(movedim_int,
            "aten::movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)",
            [](const Tensor& self, int64_t source, int64_t destination) {
              return movedim(self, {source}, {destination});
            });

TORCHLET_OP_WITH(squeeze, inplace_view() | copied() | keeps_dtype(),
                 "aten::squeeze(Tensor(a) self) -> Tensor(a)", squeeze_all);
TORCHLET_OP_WITH(squeeze_dim, inplace_view() | copied() | keeps_dtype(),
                 "aten::squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)", squeeze);
TORCHLET_OP_WITH(unsqueeze, inplace_view() | copied() | rank(RankRule::kOneMore) | keeps_dtype(),
                 "aten::unsqueeze(Tensor(a) self, int dim) -> Tensor(a)", unsqueeze);
TORCHLET_OP_WITH(expand, copied() | rank(RankRule::kLength) | keeps_dtype(),
                 "aten::expand(Tensor(a) self, int[] size, *, bool implicit=False) -> Tensor(a)",
                 [](const Tensor& self, const IntArray& size, bool) { return expand(self, size); });
TORCHLET_OP_WITH(expand_as, on_meta(), "aten::expand_as(Tensor(a) self, Tensor other) -> Tensor(a)",
                 [](const Tensor& self, const Tensor& other) {
                   return expand(self, other.sizes());
                 });
TORCHLET_OP(broadcast_to, "aten::broadcast_to(Tensor(a) self, int[] size) -> Tensor(a)",
            [](const Tensor& self, const IntArray& size) { return expand(self, size); });

TORCHLET_OP_WITH(select_int, copied() | keeps_dtype(),
                 "aten::select.int(Tensor(a) self, int dim, int index) -> Tensor(a)", select);
TORCHLET_OP_WITH(
    slice_Tensor, copied() | keeps_rank() | keeps_dtype(),
    "aten::slice.Tensor(Tensor(a) self, int dim=0, int? start=None, int? end=None, int step=1) -> "
    "Tensor(a)",
    slice);
TORCHLET_OP_WITH(narrow, copied() | keeps_rank() | keeps_dtype(),
                 "aten::narrow(Tensor(a) self, int dim, int start, int length) -> Tensor(a)",
                 narrow);
TORCHLET_OP_WITH(
    narrow_Tensor, keeps_rank() | keeps_dtype(),
    "aten::narrow.Tensor(Tensor(a) self, int dim, Tensor start, int length) -> Tensor(a)",
    [](const Tensor& self, int64_t dim, const Tensor& start, int64_t length) {
      TORCHLET_CHECK(start.dim() == 0 && is_integral(start.dtype(), false),
                     "start must be an 0-dim integral Tensor.");
      return narrow(self, dim, start.item<int64_t>(), length);
    });
TORCHLET_OP_WITH(
    as_strided, inplace_view() | copied(),
    "aten::as_strided(Tensor(a) self, int[] size, int[] stride, int? storage_offset=None) -> "
    "Tensor(a)",
    as_strided);
TORCHLET_OP_WITH(unfold, copied(),
                 "aten::unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)",
                 unfold);
TORCHLET_OP_WITH(
    diagonal, copied(),
    "aten::diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)", diagonal);

TORCHLET_OP_WITH(alias, copied() | keeps_rank(), "aten::alias(Tensor(a) self) -> Tensor(a)", alias);
TORCHLET_OP_WITH(detach, copied() | keeps_rank() | keeps_dtype() | never_raises(),
                 "aten::detach(Tensor(a) self) -> Tensor(a)", detach);
TORCHLET_OP(detach_, "aten::detach_(Tensor(a!) self) -> Tensor(a!)", [](const Tensor& self) {
  self.impl()->requires_grad = false;
  return self;
});
TORCHLET_OP(data, "aten::data(Tensor(a) self) -> Tensor(a)", detach);
// What tracing leaves around tensors that the program made of Python's or NumPy's numbers.
TORCHLET_OP_WITH(lift_fresh, keeps_rank(), "aten::lift_fresh(Tensor(a) self) -> Tensor(a)",
                 [](const Tensor& self) { return self; });
TORCHLET_OP_WITH(lift_fresh_copy, out("out"), "aten::lift_fresh_copy(Tensor self) -> Tensor",
                 [](const Tensor& self) { return self.clone(); });
TORCHLET_OP_WITH(lift, out("out") | keeps_rank() | may_alias(), "aten::lift(Tensor self) -> Tensor",
                 [](const Tensor& self) { return self; });
TORCHLET_OP(requires_grad_,
            "aten::requires_grad_(Tensor(a!) self, bool requires_grad=True) -> Tensor(a!)",
            [](const Tensor& self, bool requires_grad) {
              TORCHLET_CHECK(
                  !requires_grad || is_floating_point(self.dtype()) || is_complex(self.dtype()),
                  "only Tensors of floating point dtype can require gradients");
              self.impl()->requires_grad = requires_grad;
              return self;
            });

}  // namespace torchlet::ops
