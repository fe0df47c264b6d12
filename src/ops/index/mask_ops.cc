// Masks, fills and the search for elements that are not zero.
#include <cmath>
#include <limits>
#include <type_traits>

#include "ops/core/op.h"
#include "ops/engines/indexed.h"
#include "ops/engines/quantize.h"
#include "ops/shape/shape.h"
#include "tensor/meta.h"

namespace torchlet::ops {
namespace {

// c10::overflows: an infinity fits every float; an unsigned type takes its negative range as well,
// because that is what C++ conversion wraps.
void check_fits(double value, DType dtype) {
  if (dtype == DType::kBool) return;
  double low, high;
  switch (dtype) {
    case DType::kUInt8:
      low = -255, high = 255;
      break;
    case DType::kInt8:
      low = -128, high = 127;
      break;
    case DType::kInt16:
      low = -32768, high = 32767;
      break;
    case DType::kInt32:
      low = -0x1p31, high = 0x1p31 - 1;
      break;
    case DType::kInt64:
      low = -0x1p63, high = 0x1p63;
      break;
    case DType::kFloat16:
      low = -65504, high = 65504;
      break;
    case DType::kBFloat16:
      low = -3.3895313892515355e38, high = -low;
      break;
    case DType::kFloat32:
    case DType::kComplex64:
      low = -static_cast<double>(std::numeric_limits<float>::max()), high = -low;
      break;
    default:
      return;
  }
  const bool integral = is_integral(dtype, true);
  const bool fits = std::isfinite(value) ? value >= low && value <= high : !integral;
  TORCHLET_CHECK(fits, "value cannot be converted to type %s without overflow",
                 dtype_name(dtype).data());
}

}  // namespace

Tensor element_of(const Tensor& self, const Scalar& value) {
  if (self.is_quantized()) {
    return quantize(scalar_tensor(value, DType::kFloat32), self.dtype(), self.impl()->quantizer);
  }
  if (!is_complex(self.dtype())) {
    TORCHLET_CHECK(!value.is_complex() || value.to_complex().imag() == 0,
                   "value cannot be converted to type %s without overflow",
                   dtype_name(self.dtype()).data());
    check_fits(value.to_double(), self.dtype());
  }
  return scalar_tensor(value, self.dtype());
}

namespace {

Tensor as_mask(const Tensor& mask, const char* name) {
  TORCHLET_CHECK(mask.dtype() == DType::kBool || mask.dtype() == DType::kUInt8,
                 "%s: expected BoolTensor or ByteTensor for mask, got %s", name,
                 mask.describe().c_str());
  return mask;
}

// One byte for each element of `shape`, row-major.
Tensor dense_mask(const Tensor& mask, IntSpan shape) {
  return expand(mask.to(DType::kBool), shape).contiguous();
}

Tensor fill_(const Tensor& self, const Scalar& value) {
  self.copy_(element_of(self, value));
  return self;
}
Tensor fill_tensor_(const Tensor& self, const Tensor& value) {
  TORCHLET_CHECK(
      value.dim() == 0,
      "fill_ only supports 0-dimension value tensor but got tensor with %lld dimensions.",
      static_cast<long long>(value.dim()));
  copy_into(self, value);
  return self;
}
Tensor zero_(const Tensor& self) {
  self.copy_(scalar_tensor(0, self.dtype()));
  return self;
}

// With `wrap`, the diagonal of a tall matrix starts again after each block of rows.
Tensor fill_diagonal_(const Tensor& self, const Scalar& value, bool wrap) {
  TORCHLET_CHECK(self.dim() >= 2, "dimensions must larger than 1");
  int64_t length = self.sizes()[0], step = 0;
  for (size_t d = 0; d < self.sizes().size(); ++d) {
    TORCHLET_CHECK(self.dim() == 2 || self.sizes()[d] == self.sizes()[0],
                   "all dimensions of input must be of equal length");
    length = std::min(length, self.sizes()[d]);
    step += self.strides()[d];
  }
  const Tensor element = element_of(self, value);
  make_view(self, IntArray{length}, IntArray{step}, self.storage_offset()).copy_(element);
  const int64_t rows = self.sizes()[0], columns = self.dim() == 2 ? self.sizes()[1] : 0;
  if (!wrap || self.dim() != 2 || rows <= columns + 1) return self;
  for (int64_t row = columns + 1; row < rows; row += columns + 1) {
    const int64_t count = std::min(columns, rows - row);
    make_view(self, IntArray{count}, IntArray{step},
              self.storage_offset() + row * self.strides()[0])
        .copy_(element);
  }
  return self;
}

}  // namespace

void masked_fill_(const Tensor& self, const Tensor& mask, const Scalar& value) {
  TORCHLET_CHECK(std::ranges::equal(broadcast_shapes(self.sizes(), mask.sizes()), self.sizes()),
                 "output with shape %s doesn't match the broadcast shape of mask %s",
                 self.describe().c_str(), mask.describe().c_str());
  if (is_meta(self)) return;
  const Tensor chosen = dense_mask(mask, self.sizes());
  const Tensor element = element_of(self, value);
  const Tensor dense = self.contiguous();
  const bool* take = chosen.data_ptr<bool>();
  with_width(self.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T fill = *static_cast<const T*>(element.raw_data());
    T* data = static_cast<T*>(dense.raw_data());
    // Without a branch, and of a known length, this becomes vectors.
    const auto fill_some = [&](int64_t i, int64_t count) {
      for (int64_t j = i; j < i + count; ++j) {
        if constexpr (std::is_integral_v<T>) {
          const T keep = static_cast<T>(static_cast<T>(take[j]) - 1);
          data[j] = static_cast<T>((data[j] & keep) | (fill & ~keep));
        } else {
          data[j] = take[j] ? fill : data[j];
        }
      }
    };
    parallel_for(dense.numel(), 65536, [&](int64_t begin, int64_t end) {
      constexpr int64_t kStep = 64;
      int64_t i = begin;
      for (; i + kStep <= end; i += kStep) fill_some(i, kStep);
      fill_some(i, end - i);
    });
  });
  if (!dense.is_same(self)) self.copy_(dense);
}

Tensor masked_fill(const Tensor& self, const Tensor& mask, const Scalar& value) {
  const IntArray shape = broadcast_shapes(self.sizes(), mask.sizes());
  if (is_floating_point(self.dtype()) && std::ranges::equal(shape, self.sizes()) &&
      is_non_overlapping_and_dense(self.sizes(), self.strides())) {
    return map<kMapReal | kMapSteps, 3>({self, mask, element_of(self, value)}, self.dtype(),
                                        [](auto x, auto m, auto v) { return m != 0 ? v : x; });
  }
  const Tensor result = clone(expand(self, shape), {});
  masked_fill_(result, mask, value);
  return result;
}

Tensor masked_select(const Tensor& self, const Tensor& mask) {
  const IntArray shape = broadcast_shapes(self.sizes(), mask.sizes());
  const Tensor chosen = dense_mask(as_mask(mask, "masked_select"), shape);
  const Tensor dense = expand(self, shape).contiguous();
  const bool* take = chosen.data_ptr<bool>();
  const int64_t numel = dense.numel();
  const Tensor result = empty(IntArray{std::count(take, take + numel, true)}, self.dtype());
  with_width(self.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* data = static_cast<const T*>(dense.raw_data());
    T* to = static_cast<T*>(result.raw_data());
    for (int64_t i = 0; i < numel; ++i) {
      if (take[i]) *to++ = data[i];
    }
  });
  return result;
}

Tensor nonzero(const Tensor& self) {
  const Tensor flags = self.to(DType::kBool).contiguous();
  const bool* data = flags.data_ptr<bool>();
  const int64_t numel = flags.numel(), rank = self.dim();
  const Tensor result = empty(IntArray{std::count(data, data + numel, true), rank}, DType::kInt64);
  int64_t* to = result.data_ptr<int64_t>();
  if (rank == 0 || numel == 0) return result;
  IntArray index(static_cast<size_t>(rank));
  const int64_t inner = self.sizes().back();
  // Places in a part of a row, found without a branch.
  constexpr int64_t kPart = 256;
  int64_t found[kPart];
  const auto coordinates = [&](auto known_rank, int64_t count) {
    const int64_t width = known_rank ? known_rank : rank;
    for (int64_t k = 0; k < count; ++k, to += width) {
      for (int64_t d = 0; d + 1 < width; ++d) to[d] = index[static_cast<size_t>(d)];
      to[width - 1] = found[k];
    }
  };
  for (int64_t row = 0; row < numel; row += inner) {
    for (int64_t part = 0; part < inner; part += kPart) {
      int64_t count = 0;
      for (int64_t i = part; i < std::min(part + kPart, inner); ++i) {
        found[count] = i;
        count += data[row + i];
      }
      switch (rank) {
        case 1:
          coordinates(std::integral_constant<int64_t, 1>(), count);
          break;
        case 2:
          coordinates(std::integral_constant<int64_t, 2>(), count);
          break;
        case 3:
          coordinates(std::integral_constant<int64_t, 3>(), count);
          break;
        case 4:
          coordinates(std::integral_constant<int64_t, 4>(), count);
          break;
        default:
          coordinates(std::integral_constant<int64_t, 0>(), count);
      }
    }
    for (size_t d = static_cast<size_t>(rank) - 1; d-- > 0;) {
      if (++index[d] < self.sizes()[d]) break;
      index[d] = 0;
    }
  }
  return result;
}

namespace {

Tensor masked_fill_scalar_(const Tensor& self, const Tensor& mask, const Scalar& value) {
  masked_fill_(self, mask, value);
  return self;
}

Scalar fill_value(const Tensor& value) {
  TORCHLET_CHECK(
      value.dim() == 0,
      "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with %lld "
      "dimension(s).",
      static_cast<long long>(value.dim()));
  return is_meta(value) ? Scalar(0) : scalar_of(value);
}
Tensor masked_fill_tensor_(const Tensor& self, const Tensor& mask, const Tensor& value) {
  masked_fill_(self, mask, fill_value(value));
  return self;
}
Tensor masked_fill_tensor(const Tensor& self, const Tensor& mask, const Tensor& value) {
  return masked_fill(self, mask, fill_value(value));
}

// The elements of `source`, in order, go to the places where the mask is true.
Tensor masked_scatter_(const Tensor& self, const Tensor& mask, const Tensor& source) {
  TORCHLET_CHECK(self.dtype() == source.dtype(),
                 "masked_scatter: expected self and source to have same dtypes but got %s and %s",
                 dtype_name(self.dtype()).data(), dtype_name(source.dtype()).data());
  const Tensor chosen = dense_mask(as_mask(mask, "masked_scatter"), self.sizes());
  const bool* take = chosen.data_ptr<bool>();
  const int64_t numel = self.numel();
  TORCHLET_CHECK(std::count(take, take + numel, true) <= source.numel(),
                 "Number of elements of source < number of ones in mask");
  const Tensor dense = self.contiguous(), values = source.contiguous();
  with_width(self.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* from = static_cast<const T*>(values.raw_data());
    T* data = static_cast<T*>(dense.raw_data());
    for (int64_t i = 0; i < numel; ++i) {
      if (take[i]) data[i] = *from++;
    }
  });
  if (!dense.is_same(self)) self.copy_(dense);
  return self;
}
Tensor masked_scatter(const Tensor& self, const Tensor& mask, const Tensor& source) {
  return masked_scatter_(clone(expand(self, broadcast_shapes(self.sizes(), mask.sizes())), {}),
                         mask, source);
}

// One position tensor for each dimension; a 0-d tensor counts as 1-d.
std::vector<Tensor> nonzero_numpy(const Tensor& self) {
  return unbind(nonzero(self.dim() ? self : reshape(self, IntArray{1})), 1);
}

}  // namespace

TORCHLET_OP_WITH(fill_Scalar, functional() | out("Scalar_out"),
                 "aten::fill_.Scalar(Tensor(a!) self, Scalar value) -> Tensor(a!)", fill_);
TORCHLET_OP_WITH(fill_Tensor, functional() | out("Tensor_out"),
                 "aten::fill_.Tensor(Tensor(a!) self, Tensor value) -> Tensor(a!)", fill_tensor_);
TORCHLET_OP_WITH(zero_, functional() | out("out"), "aten::zero_(Tensor(a!) self) -> Tensor(a!)",
                 zero_);
TORCHLET_OP(fill_diagonal_,
            "aten::fill_diagonal_(Tensor(a!) self, Scalar fill_value, bool wrap=False) -> "
            "Tensor(a!)",
            fill_diagonal_);
TORCHLET_OP_WITH(masked_fill_Scalar, out("Scalar_out") | pointwise() | quantized_as_input(),
                 "aten::masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor",
                 masked_fill);
TORCHLET_OP_WITH(masked_fill_Tensor, out("Tensor_out") | pointwise() | quantized_as_input(),
                 "aten::masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor",
                 masked_fill_tensor);
TORCHLET_OP_WITH(
    masked_fill__Scalar, pointwise(),
    "aten::masked_fill_.Scalar(Tensor(a!) self, Tensor mask, Scalar value) -> Tensor(a!)",
    masked_fill_scalar_);
TORCHLET_OP_WITH(
    masked_fill__Tensor, pointwise(),
    "aten::masked_fill_.Tensor(Tensor(a!) self, Tensor mask, Tensor value) -> Tensor(a!)",
    masked_fill_tensor_);
TORCHLET_OP_WITH(masked_select, out("out"),
                 "aten::masked_select(Tensor self, Tensor mask) -> Tensor", masked_select);
TORCHLET_OP_WITH(masked_scatter, out("out"),
                 "aten::masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor",
                 masked_scatter);
TORCHLET_OP(masked_scatter_,
            "aten::masked_scatter_(Tensor(a!) self, Tensor mask, Tensor source) -> Tensor(a!)",
            masked_scatter_);
TORCHLET_OP_WITH(nonzero, out("out"), "aten::nonzero(Tensor self) -> Tensor", nonzero);
TORCHLET_OP(argwhere, "aten::argwhere(Tensor self) -> Tensor", nonzero);
TORCHLET_OP(nonzero_numpy, "aten::nonzero_numpy(Tensor self) -> Tensor[]", nonzero_numpy);
TORCHLET_OP(where_condition, "aten::where(Tensor condition) -> Tensor[]", nonzero_numpy);

}  // namespace torchlet::ops
