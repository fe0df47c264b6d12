#include "ops/engines/matmul.h"

#include <algorithm>

#include "base/thread_pool.h"
#include "kernels/gemm/gemm_tiny.h"
#include "ops/engines/compute.h"
#include "ops/engines/integer_math.h"
#include "ops/math/math.h"
#include "ops/shape/shape.h"
#include "tensor/meta.h"

namespace torchlet::ops {
namespace {

using kernels::ConstMatrix;

constexpr int64_t kParallelGrain = 32768;  // multiplications worth a hand-off to another thread

// Integers have a kernel where there is room for it.
template <typename T>
constexpr bool kIsKernelInteger = std::is_same_v<T, int64_t>&& selection::kHasConversions;

// Plain loops for the types that no kernel is written for. Rows of C are summed up in place.
template <typename T>
void plain_gemm(int64_t m, int64_t n, int64_t k, ConstMatrix<T> a, ConstMatrix<T> b, T* c,
                int64_t c_stride, bool accumulate, const T* col_bias) {
  if (n == 0) return;
  const int64_t grain = std::max<int64_t>(1, kParallelGrain / std::max<int64_t>(1, n * k));
  parallel_for(m, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      T* row = c + i * c_stride;
      if (!accumulate) std::fill(row, row + n, T(0));
      for (int64_t p = 0; p < k; ++p) {
        const T factor = a.data[i * a.row_stride + p * a.col_stride];
        const T* from = b.data + p * b.row_stride;
        for (int64_t j = 0; j < n; ++j) {
          row[j] = wrap_add(row[j], wrap_mul(factor, from[j * b.col_stride]));
        }
      }
      if (!col_bias) continue;
      for (int64_t j = 0; j < n; ++j) row[j] = wrap_add(row[j], col_bias[j]);
    }
  });
}

template <typename T>
ConstMatrix<T> matrix(const Tensor& t, const T* data) {
  return {data, t.stride(-2), t.stride(-1)};
}

// One matrix after the other, in row-major order or in the transposed one.
[[maybe_unused]] bool lies_dense(const Tensor& t) {
  return t.is_contiguous() || transpose(t, -2, -1).is_contiguous();
}

void check_same_dtype(const Tensor& a, const Tensor& b) {
  TORCHLET_CHECK(a.dtype() == b.dtype(),
                 "expected m1 and m2 to have the same dtype, but got: %s != %s",
                 dtype_name(a.dtype()).data(), dtype_name(b.dtype()).data());
}

void check_inner(int64_t m, int64_t k, int64_t k2, int64_t n) {
  TORCHLET_CHECK(k == k2, "mat1 and mat2 shapes cannot be multiplied (%lldx%lld and %lldx%lld)",
                 static_cast<long long>(m), static_cast<long long>(k), static_cast<long long>(k2),
                 static_cast<long long>(n));
}

// a [batch..., m, k], b [batch..., k, n] with equal batch sizes (stride 0 where broadcast) and the
// same dtype.
template <typename T>
Tensor batched(const Tensor& a, const Tensor& b) {
  const int64_t m = a.size(-2), k = a.size(-1), n = b.size(-1);
  const size_t batch_dims = a.sizes().size() - 2;
  IntArray shape(a.sizes());
  shape.back() = n;
  const Tensor out = empty(shape, DTypeOf<T>::value);
  int64_t count = 1;
  for (size_t d = 0; d < batch_dims; ++d) count *= shape[d];
  if (out.numel() == 0 || is_meta(out)) return out;

  const T* a_data = a.data_ptr<T>();
  const T* b_data = b.data_ptr<T>();
  T* c_data = out.data_ptr<T>();
  if constexpr (std::is_floating_point_v<T> && selection::kHasConversions) {
    const kernels::TinyProducts tiny{count, m, n, k};
    if (suits_tiny(tiny) && lies_dense(a) && lies_dense(b)) {
      kernels::gemm_tiny(tiny, matrix(a, a_data), matrix(b, b_data), c_data);
      return out;
    }
  }
  auto run = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t rest = i, a_offset = 0, b_offset = 0;
      for (size_t d = batch_dims; d-- > 0;) {
        const int64_t index = rest % shape[d];
        rest /= shape[d];
        a_offset += index * a.strides()[d];
        b_offset += index * b.strides()[d];
      }
      gemm<T>(m, n, k, matrix(a, a_data + a_offset), matrix(b, b_data + b_offset),
              c_data + i * m * n, n);
    }
  };
  // Few large products share their own work between threads; many small ones are dealt out whole.
  if (count >= num_threads()) {
    parallel_for(count, std::max<int64_t>(1, kParallelGrain / std::max<int64_t>(1, m * n * k)),
                 run);
  } else {
    run(0, count);
  }
  return out;
}

bool is_repeated(const Tensor& t) {
  for (int64_t d = 0; d < t.dim(); ++d) {
    if (t.stride(d) == 0 && t.size(d) > 1) return true;
  }
  return false;
}

// Matrices of which neither rows nor columns are contiguous are packed number by number.
Tensor with_lines(const Tensor& t) {
  return t.stride(-1) == 1 || t.stride(-2) == 1 || is_repeated(t) ? t : t.contiguous();
}

// Four products of real and imaginary parts.
template <typename R>
Tensor batched_complex(const Tensor& a, const Tensor& b) {
  constexpr int64_t kFew = 128;  // multiplications for which four products do not pay
  if (a.size(-2) * a.size(-1) * b.size(-1) <= kFew) return batched<std::complex<R>>(a, b);
  // Along a new first dimension.
  const auto parts_of = [](const Tensor& t) {
    const Tensor last = view_as_real(is_repeated(t) ? t : t.contiguous());
    IntArray order{t.dim()};
    for (int64_t d = 0; d < t.dim(); ++d) order.push_back(d);
    const Tensor apart = permute(last, order);
    return is_repeated(t) ? apart : apart.contiguous();
  };
  const Tensor parts[] = {parts_of(a), parts_of(b)};
  const auto product = [&](int64_t part_of_a, int64_t part_of_b) {
    return batched<R>(select(parts[0], 0, part_of_a), select(parts[1], 0, part_of_b));
  };
  const Tensor rr = product(0, 0), ii = product(1, 1), ri = product(0, 1), ir = product(1, 0);
  const Tensor out = empty(rr.sizes(), a.dtype());
  if (is_meta(out)) return out;
  auto* const to = static_cast<std::complex<R>*>(out.raw_data());
  const R *const p = const_data<R>(rr), *const q = const_data<R>(ii);
  const R *const x = const_data<R>(ri), *const y = const_data<R>(ir);
  const int64_t count = out.numel();
  for (int64_t i = 0; i < count; ++i) to[i] = {p[i] - q[i], x[i] + y[i]};
  return out;
}

Tensor batched(const Tensor& a, const Tensor& b) {
  if constexpr (selection::kHasComplex) {
    if (a.dtype() == DType::kComplex64) return batched_complex<float>(a, b);
    if (a.dtype() == DType::kComplex128) return batched_complex<double>(a, b);
  }
  return compute_as<kMapInt | kMapReal>(a.dtype(), "matmul", [&](auto zero) {
    using T = decltype(zero);
    constexpr DType kType = DTypeOf<T>::value;
    return batched<T>(with_lines(a.to(kType)), with_lines(b.to(kType))).to(a.dtype());
  });
}

}  // namespace

template <typename T>
void gemm(int64_t m, int64_t n, int64_t k, ConstMatrix<T> a, ConstMatrix<T> b, T* c,
          int64_t c_stride, bool accumulate, const T* col_bias) {
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
    kernels::GemmEpilogue<T> epilogue;
    epilogue.accumulate = accumulate;
    epilogue.col_bias = col_bias;
    if constexpr (std::is_same_v<T, float>) {
      kernels::gemm_f32(m, n, k, a, b, c, c_stride, epilogue);
    } else {
      kernels::gemm_f64(m, n, k, a, b, c, c_stride, epilogue);
    }
  } else if constexpr (kIsKernelInteger<T>) {
    const auto bits = [](const T* x) { return reinterpret_cast<const uint64_t*>(x); };
    kernels::GemmEpilogue<uint64_t> epilogue;
    epilogue.accumulate = accumulate;
    epilogue.col_bias = bits(col_bias);
    kernels::gemm_u64(m, n, k, {bits(a.data), a.row_stride, a.col_stride},
                      {bits(b.data), b.row_stride, b.col_stride}, reinterpret_cast<uint64_t*>(c),
                      c_stride, epilogue);
  } else {
    plain_gemm(m, n, k, a, b, c, c_stride, accumulate, col_bias);
  }
}

#define TORCHLET_GEMM(T)                                                                        \
  template void gemm<T>(int64_t, int64_t, int64_t, ConstMatrix<T>, ConstMatrix<T>, T*, int64_t, \
                        bool, const T*)
TORCHLET_GEMM(int64_t);
TORCHLET_GEMM(float);
TORCHLET_GEMM(double);
TORCHLET_GEMM(std::complex<float>);
TORCHLET_GEMM(std::complex<double>);
#undef TORCHLET_GEMM

Tensor mm(const Tensor& self, const Tensor& mat2) {
  TORCHLET_CHECK(self.dim() == 2, "self must be a matrix");
  TORCHLET_CHECK(mat2.dim() == 2, "mat2 must be a matrix");
  check_same_dtype(self, mat2);
  check_inner(self.size(0), self.size(1), mat2.size(0), mat2.size(1));
  return batched(self, mat2);
}

Tensor bmm(const Tensor& self, const Tensor& mat2) {
  TORCHLET_CHECK(self.dim() == 3, "batch1 must be a 3D tensor");
  TORCHLET_CHECK(mat2.dim() == 3, "batch2 must be a 3D tensor");
  check_same_dtype(self, mat2);
  TORCHLET_CHECK(self.size(0) == mat2.size(0) && self.size(2) == mat2.size(1),
                 "Expected size for first two dimensions of batch2 tensor to be: [%lld, %lld] but "
                 "got: [%lld, %lld].",
                 static_cast<long long>(self.size(0)), static_cast<long long>(self.size(2)),
                 static_cast<long long>(mat2.size(0)), static_cast<long long>(mat2.size(1)));
  return batched(self, mat2);
}

Tensor matmul(const Tensor& self, const Tensor& other) {
  TORCHLET_CHECK(self.dim() > 0 && other.dim() > 0,
                 "both arguments to matmul need to be at least 1D, but they are %lldD and %lldD",
                 static_cast<long long>(self.dim()), static_cast<long long>(other.dim()));
  check_same_dtype(self, other);
  Tensor a = self.dim() == 1 ? unsqueeze(self, 0) : self;
  Tensor b = other.dim() == 1 ? unsqueeze(other, 1) : other;
  check_inner(a.size(-2), a.size(-1), b.size(-2), b.size(-1));
  IntArray shape = broadcast_shapes(a.sizes().first(a.sizes().size() - 2),
                                    b.sizes().first(b.sizes().size() - 2));
  const IntArray batch = shape;
  if (self.dim() > 1) shape.push_back(a.size(-2));
  if (other.dim() > 1) shape.push_back(b.size(-1));
  if (b.dim() == 2 && a.dim() > 2 && a.numel() > 0) {  // one tall product instead of many
    return reshape(batched(reshape(a, {{-1, a.size(-1)}}), b), shape);
  }
  auto with_batch = [&](const Tensor& t) {
    IntArray sizes = batch;
    sizes.push_back(t.size(-2));
    sizes.push_back(t.size(-1));
    return expand(t, sizes);
  };
  return reshape(batched(with_batch(a), with_batch(b)), shape);
}

Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  TORCHLET_CHECK(weight.dim() == 1 || weight.dim() == 2,
                 "linear: expected a weight of 1 or 2 dimensions, got %lld",
                 static_cast<long long>(weight.dim()));
  TORCHLET_CHECK(input.dim() > 0, "linear: the input must have at least one dimension");
  check_same_dtype(input, weight);
  if (bias.defined()) check_same_dtype(input, bias);
  const Tensor matrix2 = weight.dim() == 1 ? unsqueeze(weight, 0) : weight;
  const int64_t k = input.size(-1), n = matrix2.size(0);
  int64_t m = 1;
  for (int64_t size : input.sizes().first(input.sizes().size() - 1)) m *= size;
  check_inner(m, k, matrix2.size(1), n);
  IntArray shape(input.sizes());
  shape.back() = n;
  if (weight.dim() == 1) shape.pop_back();
  if (selection::kHasComplex && is_complex(input.dtype())) {
    const Tensor product =
        reshape(batched(reshape(input, {{m, k}}), transpose(matrix2, 0, 1)), shape);
    return bias.defined() ? add(product, bias) : product;
  }
  return compute_as<kMapInt | kMapReal>(input.dtype(), "linear", [&](auto zero) {
    using T = decltype(zero);
    constexpr DType kType = DTypeOf<T>::value;
    const Tensor a = reshape(input.to(kType), {{m, k}});
    const Tensor b = transpose(matrix2.to(kType), 0, 1);
    // A bias of one row goes into the product; any other shape is added to the result.
    const bool row = bias.defined() && bias.dim() <= 1;
    const Tensor bias_row = row ? expand(bias.to(kType), {{n}}).contiguous() : Tensor();
    const Tensor out = empty(shape, kType);
    if (is_meta(out)) return out.to(input.dtype());
    gemm<T>(m, n, k, {a.data_ptr<T>(), a.stride(0), a.stride(1)},
            {b.data_ptr<T>(), b.stride(0), b.stride(1)}, out.data_ptr<T>(), n, false,
            const_data<T>(bias_row));
    if (bias.defined() && !row) {
      elementwise(out, std::array{out, bias}, kType, kType,
                  [](void* to, const void* const* in, int64_t count) {
                    const T* x = static_cast<const T*>(in[0]);
                    const T* y = static_cast<const T*>(in[1]);
                    for (int64_t i = 0; i < count; ++i) static_cast<T*>(to)[i] = x[i] + y[i];
                  });
    }
    return out.to(input.dtype());
  });
}

}  // namespace torchlet::ops
