// Complex numbers: their parts as views, conjugates, and made from real tensors.
#include <cmath>

#include "base/checked.h"
#include "ops/core/op.h"
#include "ops/engines/complex_kernels.h"
#include "ops/engines/kernel_map.h"
#include "ops/math/math.h"
#include "ops/shape/shape.h"

namespace torchlet::ops {
namespace {

DType real_type(DType dtype) {
  switch (dtype) {
    case DType::kComplex32:
      return DType::kFloat16;
    case DType::kComplex64:
      return DType::kFloat32;
    default:
      return DType::kFloat64;
  }
}

DType complex_type(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return DType::kComplex32;
    case DType::kFloat32:
      return DType::kComplex64;
    case DType::kFloat64:
      return DType::kComplex128;
    default:
      fail(ErrorCode::kRuntime, "there is no complex dtype for %s", dtype_name(dtype).data());
  }
}

// The same storage read as another dtype.
Tensor reinterpret(const Tensor& self, DType dtype, IntSpan sizes, IntSpan strides,
                   int64_t storage_offset) {
  return make_tensor(self.impl()->storage, dtype, sizes, strides, storage_offset);
}

}  // namespace

Tensor view_as_real(const Tensor& self) {
  TORCHLET_CHECK(is_complex(self.dtype()), "view_as_real is only supported for complex tensors");
  IntArray sizes(self.sizes()), strides;
  for (int64_t stride : self.strides()) strides.push_back(stride * 2);
  sizes.push_back(2);
  strides.push_back(1);
  return reinterpret(self, real_type(self.dtype()), sizes, strides, self.storage_offset() * 2);
}

Tensor view_as_complex(const Tensor& self) {
  const DType dtype = complex_type(self.dtype());
  TORCHLET_CHECK(self.dim() > 0, "Input tensor must have one or more dimensions");
  TORCHLET_CHECK(self.size(-1) == 2, "Tensor must have a last dimension of size 2");
  TORCHLET_CHECK(self.stride(-1) == 1, "Tensor must have a last dimension with stride 1");
  TORCHLET_CHECK(self.storage_offset() % 2 == 0,
                 "Tensor must have a storage_offset divisible by 2");
  const size_t rank = self.sizes().size() - 1;
  IntArray strides;
  for (int64_t stride : self.strides().first(rank)) {
    TORCHLET_CHECK(stride % 2 == 0,
                   "Tensor must have a stride divisible by 2 for all but last "
                   "dimension");
    strides.push_back(stride / 2);
  }
  return reinterpret(self, dtype, self.sizes().first(rank), strides, self.storage_offset() / 2);
}

namespace {

Tensor real(const Tensor& self) {
  return is_complex(self.dtype()) ? select(view_as_real(self), -1, 0) : self;
}
Tensor imag(const Tensor& self) {
  TORCHLET_CHECK(is_complex(self.dtype()),
                 "imag is not implemented for tensors with non-complex dtypes.");
  return select(view_as_real(self), -1, 1);
}

Tensor conj_physical(const Tensor& self) {
  if (!is_complex(self.dtype())) return clone(self, std::nullopt);
  if (has_complex_kernel(self.dtype())) return conj_complex64(self);
  return map<kMapComplex, 1>({self}, self.dtype(), [](auto z) { return std::conj(z); });
}
// PyTorch marks the tensor as conjugated and computes later; the values are the same.
Tensor conj(const Tensor& self) { return is_complex(self.dtype()) ? conj_physical(self) : self; }

Tensor adjoint(const Tensor& self, const char* name) {
  TORCHLET_CHECK(self.dim() != 1,
                 "tensor.%s is only supported on matrices or batches of matrices. Got 1-D tensor.",
                 name);
  return conj(self.dim() == 0 ? self : matrix_transpose(self));
}
Tensor m_h(const Tensor& self) { return adjoint(self, "mH"); }
Tensor matrix_h(const Tensor& self) {
  TORCHLET_CHECK(self.dim() == 0 || self.dim() == 2,
                 "tensor.H is only supported on matrices (2-D tensors). Got %lld-D tensor.",
                 static_cast<long long>(self.dim()));
  return adjoint(self, "H");
}

void check_pair(const Tensor& a, const Tensor& b, bool takes_half) {
  const DType dtype = a.dtype();
  TORCHLET_CHECK(dtype == DType::kFloat32 || dtype == DType::kFloat64 ||
                     (takes_half && dtype == DType::kFloat16),
                 "Expected both inputs to be Half, Float or Double tensors but got %s and %s",
                 dtype_name(dtype).data(), dtype_name(b.dtype()).data());
  TORCHLET_CHECK(b.dtype() == dtype,
                 "Expected object of scalar type %s but got scalar type %s for second argument",
                 dtype_name(dtype).data(), dtype_name(b.dtype()).data());
}

// Of numbers that have the width of T.
template <typename T>
void interleave(void* out, const void* const* in, int64_t count) {
  const auto* re = static_cast<const T*>(in[0]);
  const auto* im = static_cast<const T*>(in[1]);
  auto* to = static_cast<T*>(out);
  for (int64_t i = 0; i < count; ++i) {
    to[2 * i] = re[i];
    to[2 * i + 1] = im[i];
  }
}

Tensor complex(const Tensor& re, const Tensor& im) {
  check_pair(re, im, true);
  const Operands<2> parts(re, im);
  const DType dtype = re.dtype();
  const Tensor result = empty_result(parts, complex_type(dtype));
  const auto interleaved = dtype == DType::kFloat32   ? &interleave<uint32_t>
                           : dtype == DType::kFloat64 ? &interleave<uint64_t>
                                                      : &interleave<uint16_t>;
  elementwise(result, parts, result.dtype(), dtype, interleaved);
  return result;
}

}  // namespace

Tensor polar(const Tensor& magnitude, const Tensor& angle) {
  check_pair(magnitude, angle, false);
  const auto part = [&](kernels::MatrixUnaryOp op, auto f) {
    const DType dtype = angle.dtype();
    const Tensor turned =
        has_kernel(dtype) ? kernel_map(op, angle, dtype) : map<kMapDouble, 1>({angle}, dtype, f);
    return mul(magnitude, turned);
  };
  return complex(part(kernels::MatrixUnaryOp::kCos, [](auto phi) { return std::cos(phi); }),
                 part(kernels::MatrixUnaryOp::kSin, [](auto phi) { return std::sin(phi); }));
}

namespace {

// The bytes read as another dtype: a wider one takes several elements of the last dimension
// together, a narrower one splits them.
Tensor view_dtype(const Tensor& self, DType dtype) {
  const auto from = static_cast<int64_t>(element_size(self.dtype()));
  const auto to = static_cast<int64_t>(element_size(dtype));
  TORCHLET_CHECK(self.impl()->storage, "view needs a strided tensor");
  IntArray sizes(self.sizes()), strides(self.strides());
  int64_t offset = self.storage_offset();
  if (from != to) {
    TORCHLET_CHECK(self.dim() > 0,
                   "self.dim() cannot be 0 to view %s as %s (different element sizes)",
                   dtype_name(self.dtype()).data(), dtype_name(dtype).data());
    TORCHLET_CHECK(strides.back() == 1,
                   "self.stride(-1) must be 1 to view %s as %s (different element sizes), but got "
                   "%lld",
                   dtype_name(self.dtype()).data(), dtype_name(dtype).data(),
                   static_cast<long long>(strides.back()));
    auto scale = [&](int64_t count) {
      if (from > to) return checked_mul(count, from / to);
      TORCHLET_CHECK(count % (to / from) == 0,
                     "self.size(-1), its strides and storage_offset must be divisible by %lld to "
                     "view %s as %s (different element sizes)",
                     static_cast<long long>(to / from), dtype_name(self.dtype()).data(),
                     dtype_name(dtype).data());
      return count / (to / from);
    };
    offset = scale(offset);
    for (size_t d = 0; d + 1 < strides.size(); ++d) strides[d] = scale(strides[d]);
    sizes.back() = scale(sizes.back());
  }
  return reinterpret(self, dtype, sizes, strides, offset);
}

}  // namespace

TORCHLET_OP_WITH(view_as_real, copied(), "aten::view_as_real(Tensor(a) self) -> Tensor(a)",
                 view_as_real);
TORCHLET_OP_WITH(view_as_complex, copied(), "aten::view_as_complex(Tensor(a) self) -> Tensor(a)",
                 view_as_complex);
TORCHLET_OP_WITH(view_dtype, copied(),
                 "aten::view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)", view_dtype);
TORCHLET_OP(real, "aten::real(Tensor(a) self) -> Tensor(a)", real);
TORCHLET_OP(imag, "aten::imag(Tensor(a) self) -> Tensor(a)", imag);
TORCHLET_OP(conj, "aten::conj(Tensor(a) self) -> Tensor(a)", conj);
TORCHLET_OP_WITH(_conj, copied(), "aten::_conj(Tensor(a) self) -> Tensor(a)", conj);
TORCHLET_OP_WITH(conj_physical, inplace() | out("out"),
                 "aten::conj_physical(Tensor self) -> Tensor", conj_physical);
TORCHLET_OP_WITH(_conj_physical, out("out"), "aten::_conj_physical(Tensor self) -> Tensor",
                 conj_physical);
TORCHLET_OP(mH, "aten::mH(Tensor(a) self) -> Tensor(a)", m_h);
TORCHLET_OP(mH_a, "aten::mH.a(Tensor(a) self) -> Tensor(a)", m_h);
TORCHLET_OP(matrix_H, "aten::matrix_H(Tensor(a) self) -> Tensor(a)", matrix_h);
TORCHLET_OP(matrix_H_a, "aten::matrix_H.a(Tensor(a) self) -> Tensor(a)", matrix_h);
TORCHLET_OP(adjoint, "aten::adjoint(Tensor(a) self) -> Tensor(a)",
            [](const Tensor& self) { return adjoint(self, "adjoint()"); });
TORCHLET_OP_WITH(complex, out("out"), "aten::complex(Tensor real, Tensor imag) -> Tensor", complex);
TORCHLET_OP_WITH(polar, out("out"), "aten::polar(Tensor abs, Tensor angle) -> Tensor", polar);

}  // namespace torchlet::ops
