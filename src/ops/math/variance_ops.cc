// Variance, standard deviation and vector norms.
#include <cmath>
#include <numeric>

#include "ops/core/op.h"
#include "ops/engines/fold.h"
#include "ops/engines/quantize.h"
#include "ops/engines/reduce.h"
#include "ops/math/math.h"

namespace torchlet::ops {
namespace {

using kernels::Fold;

IntSpan span_of(const std::optional<IntArray>& dims) { return dims ? IntSpan(*dims) : IntSpan(); }

// Of complex numbers, in two passes.
double variance(const std::complex<double>* run, int64_t count, int64_t correction) {
  const std::complex<double> mean =
      std::accumulate(run, run + count, std::complex<double>()) / static_cast<double>(count);
  double squares = 0;
  for (int64_t i = 0; i < count; ++i) squares += std::norm(run[i] - mean);
  return squares / std::max(0.0, static_cast<double>(count) - static_cast<double>(correction));
}

DType real_type(DType dtype) {
  return dtype == DType::kComplex64    ? DType::kFloat32
         : dtype == DType::kComplex128 ? DType::kFloat64
                                       : dtype;
}

Tensor spread(const Tensor& self, IntSpan dims, int64_t correction, bool keepdim, bool root) {
  if (self.is_quantized() && root) {
    return map_quantized(
        self, [&](const Tensor& x) { return spread(x, dims, correction, keepdim, root); });
  }
  TORCHLET_CHECK(is_floating_point(self.dtype()) || is_complex(self.dtype()),
                 "std and var only support floating point and complex dtypes");
  if (is_complex(self.dtype())) {
    using Complex = std::complex<double>;
    return reduce<Complex>(self, dims, keepdim, real_type(self.dtype()),
                           [=](const Complex* run, int64_t count) -> Complex {
                             const double value = variance(run, count, correction);
                             return root ? std::sqrt(value) : value;
                           });
  }
  int64_t count = 1;
  for (int64_t d : normalize_dims(dims, self.dim())) count *= self.size(d);
  const Tensor center =
      div(fold(Fold::kSum, self, dims, keepdim, self.dtype()), Scalar(static_cast<double>(count)));
  const Tensor squares = fold(Fold::kSumOfDistances, self, dims, keepdim, self.dtype(), center);
  const Tensor result = div(
      squares, Scalar(std::max(0.0, static_cast<double>(count) - static_cast<double>(correction))));
  return (root ? sqrt(result) : result).to(self.dtype());
}

template <bool Root>
Tensor spread_all(const Tensor& self, bool unbiased) {
  return spread(self, {}, unbiased, false, Root);
}
template <bool Root>
Tensor spread_dim(const Tensor& self, const std::optional<IntArray>& dim, bool unbiased,
                  bool keepdim) {
  return spread(self, span_of(dim), unbiased, keepdim, Root);
}
template <bool Root>
Tensor spread_correction(const Tensor& self, const std::optional<IntArray>& dim,
                         std::optional<int64_t> correction, bool keepdim) {
  return spread(self, span_of(dim), correction.value_or(1), keepdim, Root);
}

using TwoTensors = std::tuple<Tensor, Tensor>;
template <bool Root>
TwoTensors spread_mean_all(const Tensor& self, bool unbiased) {
  return {spread(self, {}, unbiased, false, Root), mean(self)};
}
template <bool Root>
TwoTensors spread_mean_dim(const Tensor& self, const std::optional<IntArray>& dim, bool unbiased,
                           bool keepdim) {
  return {spread(self, span_of(dim), unbiased, keepdim, Root), mean(self, span_of(dim), keepdim)};
}
template <bool Root>
TwoTensors spread_mean_correction(const Tensor& self, const std::optional<IntArray>& dim,
                                  std::optional<int64_t> correction, bool keepdim) {
  return {spread(self, span_of(dim), correction.value_or(1), keepdim, Root),
          mean(self, span_of(dim), keepdim)};
}

// ---- norms ----

// (sum |x|^p)^(1/p); p = 0 counts, p = inf and -inf take the largest and smallest |x|.
template <typename C>
double norm_of(const C* run, int64_t count, double p) {
  double total = p == -INFINITY ? INFINITY : 0;
  for (int64_t i = 0; i < count; ++i) {
    const double x = static_cast<double>(std::abs(run[i]));
    if (p == 2) {
      total += x * x;
    } else if (p == 1) {
      total += x;
    } else if (p == 0) {
      total += x != 0;
    } else if (p == INFINITY) {
      total = std::isnan(x) || x > total ? x : total;
    } else if (p == -INFINITY) {
      total = std::isnan(x) || x < total ? x : total;
    } else {
      total += std::pow(x, p);
    }
  }
  if (p == 2) return std::sqrt(total);
  return p == 0 || p == 1 || std::isinf(p) ? total : std::pow(total, 1 / p);
}

Tensor norm_as(const Tensor& self, double p, IntSpan dims, bool keepdim,
               std::optional<DType> dtype) {
  const Tensor input = dtype ? self.to(*dtype) : self;
  TORCHLET_CHECK(is_floating_point(input.dtype()) || is_complex(input.dtype()),
                 "norm(): input dtype should be either floating point or complex. Got %s instead.",
                 dtype_name(input.dtype()).data());
  const DType result_type = real_type(input.dtype());
  if (!is_complex(input.dtype())) {
    const auto folded = [&](Fold of) { return fold(of, input, dims, keepdim, input.dtype()); };
    if (p == 1) return folded(Fold::kSumOfAbs).to(result_type);
    if (p == 2) return sqrt(folded(Fold::kSumOfSquares)).to(result_type);
    if (p == INFINITY && input.numel() > 0) {
      return maximum(folded(Fold::kMax), neg(folded(Fold::kMin))).to(result_type);
    }
    if (p != 0 && !std::isinf(p)) {
      const DType compute = element_size(input.dtype()) == 2 ? DType::kFloat32 : input.dtype();
      const Tensor powers = pow(abs(input.to(compute)), Scalar(p));
      return pow(fold(Fold::kSum, powers, dims, keepdim, compute), Scalar(1 / p)).to(result_type);
    }
  }
  return reduce_any<kMapReal | kMapComplex>(
      input, dims, keepdim, input.dtype(), real_type(input.dtype()), [p](auto* run, int64_t count) {
        return std::remove_cvref_t<decltype(*run)>(norm_of(run, count, p));
      });
}

double norm_order(const std::optional<Scalar>& p) { return p ? p->to_double() : 2; }

Tensor norm(const Tensor& self, const Scalar& p) {
  return norm_as(self, p.to_double(), {}, false, std::nullopt);
}
Tensor norm_dtype(const Tensor& self, const std::optional<Scalar>& p, DType dtype) {
  return norm_as(self, norm_order(p), {}, false, dtype);
}
Tensor norm_dim(const Tensor& self, const std::optional<Scalar>& p, const IntArray& dim,
                bool keepdim) {
  return norm_as(self, norm_order(p), dim, keepdim, std::nullopt);
}
Tensor norm_dim_dtype(const Tensor& self, const std::optional<Scalar>& p, const IntArray& dim,
                      bool keepdim, DType dtype) {
  return norm_as(self, norm_order(p), dim, keepdim, dtype);
}

Tensor frobenius_norm_dim(const Tensor& self, const IntArray& dim, bool keepdim) {
  TORCHLET_CHECK(dim.size() <= 2, "Expected at most 2 dimensions, but got %zu dimensions instead.",
                 dim.size());
  return norm_as(self, 2, dim, keepdim, std::nullopt);
}

Tensor dist(const Tensor& self, const Tensor& other, const Scalar& p) {
  return norm(sub(self, other), p);
}

// Slices along `dim` whose norm is above maxnorm are scaled down to it.
Tensor renorm(const Tensor& self, const Scalar& p, int64_t dim, const Scalar& maxnorm) {
  TORCHLET_CHECK(p.to_double() > 0, "renorm: non-positive-norm not supported");
  TORCHLET_CHECK(maxnorm.to_double() >= 0, "renorm: expected maxnorm to be >= 0");
  TORCHLET_CHECK(self.dim() > 1, "renorm: input needs at least 2 dimensions, got %lld dimensions",
                 static_cast<long long>(self.dim()));
  dim = wrap_dim(dim, self.dim());
  IntArray others;
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (d != dim) others.push_back(d);
  }
  const Tensor norms = norm_as(self, p.to_double(), others, true, std::nullopt);
  const double limit = maxnorm.to_double();
  const Tensor factors = map<kMapReal, 1>({norms}, norms.dtype(), [limit](auto n) {
    using T = decltype(n);
    return n > T(limit) ? T(limit) / (n + T(1e-7)) : T(1);
  });
  return mul(self, factors);
}

}  // namespace

Tensor var(const Tensor& self, IntSpan dims, int64_t correction, bool keepdim) {
  return spread(self, dims, correction, keepdim, false);
}

Tensor vector_norm(const Tensor& self, const Scalar& ord, IntSpan dims, bool keepdim,
                   std::optional<DType> dtype) {
  const double p = ord.to_double();
  TORCHLET_CHECK(is_floating_point(self.dtype()) || is_complex(self.dtype()),
                 "linalg.vector_norm: Expected a floating point or complex tensor as input. Got %s",
                 dtype_name(self.dtype()).data());
  if (dtype) {
    TORCHLET_CHECK(promote_types(self.dtype(), *dtype) == *dtype,
                   "linalg.vector_norm: the dtype of the input (%s) should be convertible without "
                   "narrowing to the specified dtype (%s)",
                   dtype_name(self.dtype()).data(), dtype_name(*dtype).data());
  }
  if (self.numel() == 0 && (p < 0 || p == INFINITY)) {
    for (int64_t d : normalize_dims(dims, self.dim())) {
      TORCHLET_CHECK(self.size(d) != 0 && !dims.empty(),
                     "linalg.vector_norm cannot compute the %g norm on an empty tensor because the "
                     "operation does not have an identity",
                     p);
    }
  }
  return norm_as(self, p, dims, keepdim, dtype);
}

#define TORCHLET_SPREAD(name, root)                                                             \
  TORCHLET_OP(name, "aten::" #name "(Tensor self, bool unbiased=True) -> Tensor",               \
              spread_all<root>);                                                                \
  TORCHLET_OP_WITH(name##_dim, out("out"),                                                      \
                   "aten::" #name                                                               \
                   ".dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) "    \
                   "-> Tensor",                                                                 \
                   spread_dim<root>);                                                           \
  TORCHLET_OP_WITH(name##_correction, out("correction_out"),                                    \
                   "aten::" #name                                                               \
                   ".correction(Tensor self, int[1]? dim, *, int? correction, bool "            \
                   "keepdim=False) -> Tensor",                                                  \
                   spread_correction<root>);                                                    \
  TORCHLET_OP(name##_mean,                                                                      \
              "aten::" #name "_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)",      \
              spread_mean_all<root>);                                                           \
  TORCHLET_OP(name##_mean_dim,                                                                  \
              "aten::" #name                                                                    \
              "_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> " \
              "(Tensor, Tensor)",                                                               \
              spread_mean_dim<root>);                                                           \
  TORCHLET_OP_WITH(name##_mean_correction, out("correction_out(out0, out1)"),                   \
                   "aten::" #name                                                               \
                   "_mean.correction(Tensor self, int[1]? dim, *, int? correction, bool "       \
                   "keepdim=False) -> (Tensor, Tensor)",                                        \
                   spread_mean_correction<root>)

TORCHLET_SPREAD(var, false);
TORCHLET_SPREAD(std, true);

TORCHLET_OP_WITH(norm_Scalar, out("Scalar_out") | on_meta(),
                 "aten::norm.Scalar(Tensor self, Scalar p=2) -> Tensor", norm);
TORCHLET_OP_WITH(
    norm_ScalarOpt_dim, out("out") | on_meta(),
    "aten::norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor",
    norm_dim);
TORCHLET_OP_WITH(norm_ScalarOpt_dim_dtype, out("dtype_out") | on_meta(),
                 "aten::norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool "
                 "keepdim, *, ScalarType dtype) -> Tensor",
                 norm_dim_dtype);
TORCHLET_OP_WITH(
    norm_ScalarOpt_dtype, out("ScalarOpt_dtype_out") | on_meta(),
    "aten::norm.ScalarOpt_dtype(Tensor self, Scalar? p, *, ScalarType dtype) -> Tensor",
    norm_dtype);
TORCHLET_OP(frobenius_norm, "aten::frobenius_norm(Tensor self) -> Tensor",
            [](const Tensor& self) { return norm(self, 2); });
TORCHLET_OP_WITH(frobenius_norm_dim, out("out"),
                 "aten::frobenius_norm.dim(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
                 frobenius_norm_dim);
TORCHLET_OP_WITH(linalg_vector_norm, out("out") | on_meta(),
                 "aten::linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool "
                 "keepdim=False, *, ScalarType? dtype=None) -> Tensor",
                 [](const Tensor& self, const Scalar& ord, const std::optional<IntArray>& dim,
                    bool keepdim, std::optional<DType> dtype) {
                   return vector_norm(self, ord, span_of(dim), keepdim, dtype);
                 });
TORCHLET_OP_WITH(dist, out("out"), "aten::dist(Tensor self, Tensor other, Scalar p=2) -> Tensor",
                 dist);
TORCHLET_OP_WITH(renorm, inplace() | out("out"),
                 "aten::renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor", renorm);

}  // namespace torchlet::ops
