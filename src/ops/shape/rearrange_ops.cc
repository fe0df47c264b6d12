// Operators that give the elements of a tensor in another order, or more than once.
#include <algorithm>
#include <numeric>

#include "base/checked.h"
#include "kernels/layout/transpose.h"
#include "ops/core/op.h"
#include "ops/shape/shape.h"
#include "tensor/meta.h"

namespace torchlet::ops {

Tensor repeat(const Tensor& self, const IntArray& repeats) {
  TORCHLET_CHECK(repeats.size() >= self.sizes().size(),
                 "Number of dimensions of repeat dims can not be smaller than number of dimensions "
                 "of tensor");
  const size_t lead = repeats.size() - self.sizes().size();
  // Every dimension of size s is copied as [repeat, s], the first of stride 0 in the source.
  IntArray shape, pairs, expanded;
  for (size_t d = 0; d < repeats.size(); ++d) {
    const int64_t size = d < lead ? 1 : self.sizes()[d - lead];
    int64_t total;
    TORCHLET_CHECK(repeats[d] >= 0 && !__builtin_mul_overflow(size, repeats[d], &total),
                   "Trying to create tensor with negative dimension: repeat %lld times",
                   static_cast<long long>(repeats[d]));
    shape.push_back(total);
    pairs.push_back(1);
    pairs.push_back(size);
    expanded.push_back(repeats[d]);
    expanded.push_back(size);
  }
  const Tensor result = empty(shape, self.dtype());
  result.impl()->quantizer = self.impl()->quantizer;
  if (result.numel() > 0) view(result, expanded).copy_(reshape(self, pairs));
  return result;
}

namespace {

Tensor tile(const Tensor& self, const IntArray& dims) {
  IntArray repeats(dims);
  while (std::ssize(repeats) < self.dim()) repeats.insert(repeats.begin(), 1);
  return repeat(self, repeats);
}

// [2, 0, 1] -> [0, 0, 2]
Tensor repeat_indices(const Tensor& repeats, std::optional<int64_t> output_size) {
  TORCHLET_CHECK(repeats.dtype() == DType::kInt64 || repeats.dtype() == DType::kInt32,
                 "repeats has to be Long or Int tensor");
  TORCHLET_CHECK(repeats.dim() == 1, "repeat_interleave only accept 1D vector as repeat");
  const Tensor counts = repeats.to(DType::kInt64).contiguous();
  const int64_t* data = counts.data_ptr<int64_t>();
  int64_t total = 0;
  for (int64_t i = 0; i < counts.numel(); ++i) {
    TORCHLET_CHECK(data[i] >= 0 && !__builtin_add_overflow(total, data[i], &total),
                   "repeats can not be negative");
  }
  TORCHLET_CHECK(!output_size || *output_size == total,
                 "allocated size does not match required size");
  const Tensor result = empty(IntArray{total}, DType::kInt64);
  int64_t* to = result.data_ptr<int64_t>();
  for (int64_t i = 0; i < counts.numel(); ++i) to = std::fill_n(to, data[i], i);
  return result.to(repeats.dtype());
}

// Each element of a dimension as often.
Tensor repeat_alike(const Tensor& self, size_t dim, int64_t times) {
  IntArray sizes(self.sizes()), apart(self.sizes());
  sizes[dim] = checked_mul(sizes[dim], times);
  apart.insert(apart.begin() + dim + 1, times);
  const Tensor result = empty(apart, self.dtype());
  result.copy_(expand(unsqueeze(self, static_cast<int64_t>(dim) + 1), apart));
  return view(result, sizes);
}

Tensor repeat_interleave(const Tensor& self, const Tensor& repeats, std::optional<int64_t> dim,
                         std::optional<int64_t> output_size) {
  const Tensor input = dim ? self : reshape(self, IntArray{-1});
  const int64_t length = input.size(dim.value_or(0));
  Tensor counts = repeats;
  if (repeats.dim() == 0 || (repeats.dim() == 1 && repeats.numel() == 1)) {
    const bool is_plain = input.dim() > 0 && !input.is_quantized() && !is_meta(repeats) &&
                          (repeats.dtype() == DType::kInt64 || repeats.dtype() == DType::kInt32);
    const int64_t times = is_plain ? repeats.to(DType::kInt64).item<int64_t>() : -1;
    if (times >= 0 && output_size.value_or(length * times) == length * times) {
      return repeat_alike(input, static_cast<size_t>(wrap_dim(dim.value_or(0), input.dim())),
                          times);
    }
    counts = expand(reshape(repeats, IntArray{1}), IntArray{length});
  }
  TORCHLET_CHECK(counts.dim() == 1, "repeats must be 0-dim or 1-dim tensor");
  TORCHLET_CHECK(counts.numel() == length, "repeats must have the same size as input along dim");
  return index_select(input, dim.value_or(0), repeat_indices(counts, output_size));
}

Tensor repeat_interleave_int(const Tensor& self, int64_t repeats, std::optional<int64_t> dim,
                             std::optional<int64_t> output_size) {
  return repeat_interleave(self, scalar_tensor(repeats, DType::kInt64), dim, output_size);
}

Tensor flip(const Tensor& self, const IntArray& dims) {
  if (self.dim() == 0 || dims.empty() || self.numel() == 0 || is_meta(self)) {
    normalize_dims(dims, self.dim());
    return clone(self, std::nullopt);
  }
  const IntArray wrapped = normalize_dims(dims, self.dim());
  if (self.dim() <= kernels::kMaxCopyDims && element_size(self.dtype()) <= sizeof(int64_t)) {
    Tensor result = empty_like(self);
    IntArray strides(self.strides());
    int64_t last = 0;
    for (int64_t dim : wrapped) {
      int64_t& stride = strides[static_cast<size_t>(dim)];
      last += stride * (self.size(dim) - 1);
      stride = -stride;
    }
    const auto width = static_cast<int64_t>(element_size(self.dtype()));
    kernels::copy_strided(width, static_cast<int>(self.dim()), self.sizes().data(),
                          static_cast<const std::byte*>(self.raw_data()) + last * width,
                          strides.data(), result.raw_data(), result.strides().data());
    return result;
  }
  Tensor result = clone(self, std::nullopt);
  for (int64_t dim : wrapped) {
    const Tensor order = empty(IntArray{self.size(dim)}, DType::kInt64);
    int64_t* data = order.data_ptr<int64_t>();
    std::iota(data, data + order.numel(), 0);
    std::reverse(data, data + order.numel());
    result = index_select(result, dim, order);
  }
  return result;
}

Tensor roll(const Tensor& self, const IntArray& shifts, const IntArray& dims) {
  TORCHLET_CHECK(!shifts.empty(), "`shifts` required");
  if (dims.empty() && shifts.size() == 1) {
    const Tensor flat = reshape(self, IntArray{-1});
    return reshape(roll(flat, shifts, {0}), self.sizes());
  }
  TORCHLET_CHECK(shifts.size() == dims.size(),
                 "shifts and dimensions must align. shifts: %zu, dims:%zu", shifts.size(),
                 dims.size());
  Tensor result = self;
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t length = result.size(dims[i]);
    if (length == 0) continue;
    const int64_t shift = ((shifts[i] % length) + length) % length;
    if (shift == 0) continue;
    result = cat({narrow(result, dims[i], length - shift, shift),
                  narrow(result, dims[i], 0, length - shift)},
                 dims[i]);
  }
  return result.is_same(self) ? clone(self, std::nullopt) : result;
}

Tensor rot90(const Tensor& self, int64_t k, const IntArray& dims) {
  TORCHLET_CHECK(dims.size() == 2, "expected total rotation dims == 2, but got dims = %zu",
                 dims.size());
  TORCHLET_CHECK(self.dim() >= 2, "expected total dims >= 2, but got total dims = %lld",
                 static_cast<long long>(self.dim()));
  const int64_t a = wrap_dim(dims[0], self.dim()), b = wrap_dim(dims[1], self.dim());
  TORCHLET_CHECK(a != b,
                 "expected rotation dims to be different, but got dim0 = %lld and dim1 = %lld",
                 static_cast<long long>(dims[0]), static_cast<long long>(dims[1]));
  switch ((k % 4 + 4) % 4) {
    case 1:
      return transpose(flip(self, {b}), a, b);
    case 2:
      return flip(self, {a, b});
    case 3:
      return transpose(flip(self, {a}), a, b);
    default:
      return clone(self, std::nullopt);
  }
}

// Keeps the columns [first(row), last(row)) of each row and makes the others 0.
template <typename Bounds>
Tensor keep_columns(const Tensor& self, const char* name, const Bounds& bounds) {
  TORCHLET_CHECK(self.dim() >= 2, "%s: input tensor must have at least 2 dimensions", name);
  const Tensor result = clone(self, MemoryFormat::kContiguous);
  const int64_t rows = self.size(-2), columns = self.size(-1);
  if (result.numel() == 0) return result;
  const size_t width = element_size(self.dtype());
  auto* data = static_cast<std::byte*>(result.raw_data());
  for (int64_t row = 0; row < result.numel() / columns; ++row) {
    const auto [first, last] = bounds(row % rows);
    const int64_t begin = std::clamp<int64_t>(first, 0, columns);
    const int64_t end = std::clamp<int64_t>(last, begin, columns);
    std::byte* at = data + static_cast<size_t>(row * columns) * width;
    std::fill_n(at, static_cast<size_t>(begin) * width, std::byte{0});
    std::fill_n(at + static_cast<size_t>(end) * width, static_cast<size_t>(columns - end) * width,
                std::byte{0});
  }
  return result;
}

}  // namespace

Tensor tril(const Tensor& self, int64_t diagonal) {
  const int64_t k = std::clamp<int64_t>(diagonal, -(int64_t{1} << 40), int64_t{1} << 40);
  return keep_columns(self, "tril",
                      [k](int64_t row) { return std::pair<int64_t, int64_t>(0, row + k + 1); });
}

Tensor triu(const Tensor& self, int64_t diagonal) {
  const int64_t k = std::clamp<int64_t>(diagonal, -(int64_t{1} << 40), int64_t{1} << 40);
  const int64_t columns = self.dim() >= 2 ? self.size(-1) : 0;
  return keep_columns(self, "triu", [k, columns](int64_t row) {
    return std::pair<int64_t, int64_t>(row + k, columns);
  });
}

Tensor diag_embed(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) {
  const int64_t rank = self.dim() + 1;
  const int64_t a = wrap_dim(dim1, rank), b = wrap_dim(dim2, rank);
  TORCHLET_CHECK(a != b, "diagonal dimensions cannot be identical %lld, %lld",
                 static_cast<long long>(dim1), static_cast<long long>(dim2));
  const int64_t length = checked_add(self.size(-1), offset < 0 ? checked_sub(0, offset) : offset);
  IntArray shape(self.sizes().first(self.sizes().size() - 1));
  shape.insert(shape.begin() + std::min(a, b), length);
  shape.insert(shape.begin() + std::max(a, b), length);
  const Tensor result = zeros(shape, self.dtype());
  diagonal(result, offset, a, b).copy_(self);
  return result;
}

namespace {

Tensor diag(const Tensor& self, int64_t offset) {
  TORCHLET_CHECK(self.dim() == 1 || self.dim() == 2, "matrix or a vector expected");
  if (self.dim() == 1) return diag_embed(self, offset, 0, 1);
  TORCHLET_CHECK(offset <= self.size(1) && offset >= -self.size(0),
                 "diag: the diagonal %lld is outside of the matrix",
                 static_cast<long long>(offset));
  return clone(diagonal(self, offset, 0, 1), std::nullopt);
}

// A copy of self in which the view that `make_view_of` cuts out is replaced by `source`.
template <typename MakeView>
Tensor scatter_view(const Tensor& self, const Tensor& source, const MakeView& make_view_of) {
  const Tensor result = clone(self, std::nullopt);
  const Tensor part = make_view_of(result);
  TORCHLET_CHECK(
      std::ranges::equal(part.sizes(), source.sizes()),
      "expected src to have a size equal to the slice of self. src size = %s, slice size "
      "= %s",
      source.describe().c_str(), part.describe().c_str());
  copy_into(part, source);
  return result;
}

// The product of all sizes before [C, H, W].
int64_t image_count(const Tensor& self) {
  int64_t count = 1;
  for (int64_t size : self.sizes().first(self.sizes().size() - 3)) count *= size;
  return count;
}

// [shape] of the cells in another order; never a view.
Tensor rearranged(const Tensor& cells, const IntArray& order, const IntArray& shape) {
  const Tensor result = reshape(permute(cells, order), shape);
  return result.impl()->storage == cells.impl()->storage ? result.clone() : result;
}

Tensor pixel_shuffle(const Tensor& self, int64_t factor) {
  TORCHLET_CHECK(self.dim() >= 3,
                 "pixel_shuffle expects input to have at least 3 dimensions, but got input with "
                 "%lld dimension(s)",
                 static_cast<long long>(self.dim()));
  TORCHLET_CHECK(factor > 0 && factor < (int64_t{1} << 31),
                 "pixel_shuffle expects a positive upscale_factor, but got %lld",
                 static_cast<long long>(factor));
  const int64_t c = self.size(-3), h = self.size(-2), w = self.size(-1);
  TORCHLET_CHECK(c % (factor * factor) == 0,
                 "pixel_shuffle expects its input's 'channel' dimension to be divisible by the "
                 "square of upscale_factor, but input.size(-3)=%lld is not divisible by %lld",
                 static_cast<long long>(c), static_cast<long long>(factor * factor));
  IntArray batch(self.sizes().first(self.sizes().size() - 3));
  IntArray shape(batch);
  for (int64_t size : {c / (factor * factor), checked_mul(h, factor), checked_mul(w, factor)})
    shape.push_back(size);
  const Tensor cells =
      reshape(self, IntArray{image_count(self), c / (factor * factor), factor, factor, h, w});
  return rearranged(cells, IntArray{0, 1, 4, 2, 5, 3}, shape);
}

Tensor pixel_unshuffle(const Tensor& self, int64_t factor) {
  TORCHLET_CHECK(self.dim() >= 3,
                 "pixel_unshuffle expects input to have at least 3 dimensions, but got input with "
                 "%lld dimension(s)",
                 static_cast<long long>(self.dim()));
  TORCHLET_CHECK(factor > 0 && factor < (int64_t{1} << 31),
                 "pixel_unshuffle expects a positive downscale_factor, but got %lld",
                 static_cast<long long>(factor));
  const int64_t c = self.size(-3), h = self.size(-2), w = self.size(-1);
  TORCHLET_CHECK(
      h % factor == 0 && w % factor == 0,
      "pixel_unshuffle expects height and width to be divisible by downscale_factor, but "
      "%lld x %lld is not divisible by %lld",
      static_cast<long long>(h), static_cast<long long>(w), static_cast<long long>(factor));
  IntArray shape(self.sizes().first(self.sizes().size() - 3));
  for (int64_t size : {checked_mul(c, factor * factor), h / factor, w / factor})
    shape.push_back(size);
  const Tensor cells =
      reshape(self, IntArray{image_count(self), c, h / factor, factor, w / factor, factor});
  return rearranged(cells, IntArray{0, 1, 3, 5, 2, 4}, shape);
}

Tensor channel_shuffle(const Tensor& self, int64_t groups) {
  TORCHLET_CHECK(self.dim() > 2, "channel_shuffle expects input with > 2 dims, but got input %s",
                 self.describe().c_str());
  const int64_t channels = self.size(1);
  TORCHLET_CHECK(groups > 0 && channels % groups == 0,
                 "Number of channels must be divisible by groups. Got %lld channels and %lld "
                 "groups.",
                 static_cast<long long>(channels), static_cast<long long>(groups));
  if (self.numel() == 0) return self;
  const Tensor grouped = reshape(self, IntArray{self.size(0), groups, channels / groups, -1});
  return reshape(transpose(grouped, 1, 2), self.sizes());
}

}  // namespace

TORCHLET_OP_WITH(repeat, on_meta() | out("out"), "aten::repeat(Tensor self, int[] repeats) -> Tensor", repeat);
TORCHLET_OP_WITH(tile, on_meta(), "aten::tile(Tensor self, int[] dims) -> Tensor", tile);
TORCHLET_OP_WITH(
    repeat_interleave_Tensor, out("Tensor_out"),
    "aten::repeat_interleave.Tensor(Tensor repeats, *, int? output_size=None) -> Tensor",
    repeat_indices);
TORCHLET_OP(repeat_interleave_self_Tensor,
            "aten::repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, "
            "int? output_size=None) -> Tensor",
            repeat_interleave);
TORCHLET_OP(repeat_interleave_self_int,
            "aten::repeat_interleave.self_int(Tensor self, int repeats, int? dim=None, *, int? "
            "output_size=None) -> Tensor",
            repeat_interleave_int);
TORCHLET_OP_WITH(flip, on_meta() | out("out") | keeps_rank() | keeps_dtype(),
                 "aten::flip(Tensor self, int[] dims) -> Tensor", flip);
TORCHLET_OP(fliplr, "aten::fliplr(Tensor self) -> Tensor", [](const Tensor& self) {
  TORCHLET_CHECK(self.dim() >= 2, "Input must be >= 2-d.");
  return flip(self, {1});
});
TORCHLET_OP(flipud, "aten::flipud(Tensor self) -> Tensor", [](const Tensor& self) {
  TORCHLET_CHECK(self.dim() >= 1, "Input must be >= 1-d.");
  return flip(self, {0});
});
TORCHLET_OP_WITH(roll, out("out") | on_meta() | keeps_rank() | keeps_dtype() | may_alias(),
                 "aten::roll(Tensor self, int[1] shifts, int[1] dims=[]) -> Tensor", roll);
TORCHLET_OP_WITH(rot90, out("out") | may_alias(),
                 "aten::rot90(Tensor self, int k=1, int[] dims=[0, 1]) -> Tensor", rot90);
TORCHLET_OP_WITH(tril, inplace() | out("out") | keeps_rank() | keeps_dtype(),
                 "aten::tril(Tensor self, int diagonal=0) -> Tensor", tril);
TORCHLET_OP_WITH(triu, inplace() | out("out") | keeps_rank() | keeps_dtype(),
                 "aten::triu(Tensor self, int diagonal=0) -> Tensor", triu);
TORCHLET_OP_WITH(diag, out("out"), "aten::diag(Tensor self, int diagonal=0) -> Tensor", diag);
TORCHLET_OP_WITH(diag_embed, out("out"),
                 "aten::diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor",
                 diag_embed);
TORCHLET_OP(diagflat, "aten::diagflat(Tensor self, int offset=0) -> Tensor",
            [](const Tensor& self, int64_t offset) {
              return diag_embed(reshape(self, IntArray{-1}), offset, 0, 1);
            });
TORCHLET_OP_WITH(select_scatter, out("out"),
                 "aten::select_scatter(Tensor self, Tensor src, int dim, int index) -> Tensor",
                 [](const Tensor& self, const Tensor& source, int64_t dim, int64_t index) {
                   return scatter_view(self, source,
                                       [&](const Tensor& t) { return select(t, dim, index); });
                 });
TORCHLET_OP_WITH(
    slice_scatter, out("out"),
    "aten::slice_scatter(Tensor self, Tensor src, int dim=0, int? start=None, int? end=None, int "
    "step=1) -> Tensor",
    [](const Tensor& self, const Tensor& source, int64_t dim, std::optional<int64_t> start,
       std::optional<int64_t> end, int64_t step) {
      return scatter_view(self, source,
                          [&](const Tensor& t) { return slice(t, dim, start, end, step); });
    });
TORCHLET_OP_WITH(diagonal_scatter, out("out"),
                 "aten::diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int "
                 "dim2=1) -> Tensor",
                 [](const Tensor& self, const Tensor& source, int64_t offset, int64_t dim1,
                    int64_t dim2) {
                   return scatter_view(self, source, [&](const Tensor& t) {
                     return diagonal(t, offset, dim1, dim2);
                   });
                 });
TORCHLET_OP_WITH(as_strided_scatter, out("out"),
                 "aten::as_strided_scatter(Tensor self, Tensor src, int[] size, int[] stride, int? "
                 "storage_offset=None) -> Tensor",
                 [](const Tensor& self, const Tensor& source, const IntArray& size,
                    const IntArray& stride, std::optional<int64_t> storage_offset) {
                   return scatter_view(self, source, [&](const Tensor& t) {
                     return make_view(t, size, stride, storage_offset.value_or(t.storage_offset()));
                   });
                 });
TORCHLET_OP_WITH(pixel_shuffle, on_meta() | out("out") | keeps_rank() | keeps_dtype() | quantized_as_input(),
                 "aten::pixel_shuffle(Tensor self, int upscale_factor) -> Tensor", pixel_shuffle);
TORCHLET_OP_WITH(pixel_unshuffle, on_meta() | out("out") | keeps_rank() | keeps_dtype(),
                 "aten::pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor",
                 pixel_unshuffle);
TORCHLET_OP_WITH(channel_shuffle,
                 out("out") | keeps_rank() | keeps_dtype() | may_alias() | quantized_as_input(),
                 "aten::channel_shuffle(Tensor self, int groups) -> Tensor", channel_shuffle);
TORCHLET_OP_WITH(native_channel_shuffle, keeps_rank() | keeps_dtype() | may_alias(),
                 "aten::native_channel_shuffle(Tensor self, int groups) -> Tensor",
                 channel_shuffle);

}  // namespace torchlet::ops
