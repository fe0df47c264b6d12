// Singular values, eigenvalues, and what comes of them.
// Expected numbers are PyTorch 1.13's; where LAPACK leaves signs free, the product of the factors
// is compared instead.
#include <functional>

#include "ops/linalg/testing.h"

namespace torchlet::ops {
namespace {

TEST(Linalg, SingularValues) {
  expect_tensor(result_of("aten::linalg_svdvals", "", {square({1, 2, 3, 4})}),
                {5.464985847, 0.365966082});
  for (const Tensor& a : samples()) {
    const Tensor u = result_of("aten::linalg_svd", "", {a, false});
    const Tensor s = result_of("aten::linalg_svd", "", {a, false}, 1);
    const Tensor vh = result_of("aten::linalg_svd", "", {a, false}, 2);
    expect_close(matmul(scaled_columns(u, s), vh), a);
    const Tensor full = result_of("aten::linalg_svd", "", {a, true});
    expect_close(matmul(adjoint(full), full), result_of("aten::eye", "", {a.size(-2)}));
    // The old operator gives V, not its adjoint.
    expect_close(
        matmul(scaled_columns(result_of("aten::svd", "", {a}), result_of("aten::svd", "", {a}, 1)),
               adjoint(result_of("aten::svd", "", {a}, 2))),
        a);
  }
}

TEST(Linalg, Eigenvalues) {
  expect_tensor(result_of("aten::linalg_eigvalsh", "", {square({2, 1, 1, 2})}), {1, 3});
  // Only the lower triangle counts.
  expect_tensor(result_of("aten::linalg_eigh", "", {square({2, 9, 1, 2})}), {1, 3});
  const Tensor a = ramp({4, 4}, 1);
  const Tensor symmetric = result_of("aten::add", "Tensor", {a, transpose(a, 0, 1)});
  const Tensor v = result_of("aten::linalg_eigh", "", {symmetric}, 1);
  expect_close(matmul(symmetric, v),
               scaled_columns(v, result_of("aten::linalg_eigh", "", {symmetric})));
  expect_tensor(real_pairs(result_of("aten::linalg_eigvals", "", {square({0, -1, 1, 0})})),
                {0, 1, 0, -1}, kF32, {2, 2});
  for (const Tensor& general : {ramp({4, 4}, 3), ramp({2, 3, 3}, 1)}) {
    const Tensor w = result_of("aten::linalg_eig", "", {general});
    const Tensor vectors = result_of("aten::linalg_eig", "", {general}, 1);
    expect_close(matmul(general.to(DType::kComplex64), vectors), scaled_columns(vectors, w));
  }
  EXPECT_THROW(call_op("aten::linalg_eigh", "", {symmetric, "X"}), Error);
  EXPECT_THROW(call_op("aten::linalg_eig", "", {square({kNan, 1, 1, 1})}), Error);
}

// Of full rank, of rank 2, with values that are equal, with a zero in the middle of a bidiagonal
// matrix and at its end, and none but zeros.
TEST(Linalg, Spectra) {
  const Tensor parts = scattered({40, 30, 2});
  const Tensor complex = result_of("aten::view_as_complex", "", {parts});
  Tensor bidiagonal = result_of("aten::eye", "", {30}).to(DType::kFloat64);
  fill(result_of("aten::diagonal", "", {bidiagonal, 1}), Scalar(2));
  fill(select(select(bidiagonal, 0, 12), 0, 12), Scalar(0));
  Tensor singular = bidiagonal.clone();
  fill(select(select(singular, 0, 29), 0, 29), Scalar(0));
  for (const Tensor& a :
       {scattered({70, 41}), scattered({41, 70}), scattered({40, 30}, kF32), complex,
        transpose(complex, 0, 1), matmul(scattered({50, 2}), scattered({2, 33})),
        result_of("aten::eye", "", {20}).to(DType::kFloat64), bidiagonal, singular,
        result_of("aten::mul", "Scalar", {singular, 1e-30}),
        full(IntArray{7, 5}, Scalar(0), kF32)}) {
    const double tolerance = a.dtype() == kF32 ? 1e-5 : 1e-12;
    for (const bool all : {false, true}) {
      const auto part = [&](int64_t i) { return result_of("aten::linalg_svd", "", {a, all}, i); };
      const Tensor u = part(0), s = part(1), vh = part(2);
      const int64_t k = s.numel();
      expect_close(matmul(scaled_columns(slice(u, 1, 0, k, 1), s), slice(vh, 0, 0, k, 1)), a,
                   tolerance);
      for (const Tensor& q : {u, adjoint(vh)}) {
        expect_close(matmul(adjoint(q), q), result_of("aten::eye", "", {q.size(1)}).to(a.dtype()),
                     tolerance);
      }
      const std::vector<double> values = elements_of(s);
      EXPECT_TRUE(std::ranges::is_sorted(values, std::greater<>()));
      EXPECT_GE(values.back(), 0);
      expect_close(result_of("aten::linalg_svdvals", "", {a}), s, tolerance);
    }
    const Tensor gram = matmul(a, adjoint(a));
    const Tensor values = result_of("aten::linalg_eigh", "", {gram}),
                 vectors = result_of("aten::linalg_eigh", "", {gram}, 1);
    expect_close(matmul(scaled_columns(vectors, values), adjoint(vectors)), gram,
                 10 * tolerance * std::max(1.0, max_of(gram)));
    expect_close(matmul(adjoint(vectors), vectors),
                 result_of("aten::eye", "", {gram.size(0)}).to(a.dtype()), tolerance);
    EXPECT_TRUE(std::ranges::is_sorted(elements_of(values)));
    expect_close(result_of("aten::linalg_eigvalsh", "", {gram}), values,
                 tolerance * std::max(1.0, max_of(gram)));
  }
}

// Symmetric matrices whose eigenvalues lie apart, in clusters, next to each other in pairs, over
// many sizes, at three places, at two, and nowhere.
std::vector<Tensor> symmetric_samples(int64_t n) {
  const Tensor parts = scattered({n, n});
  const Tensor random = result_of("aten::add", "Tensor", {parts, adjoint(parts)});
  const Tensor eye = result_of("aten::eye", "", {n}).to(DType::kFloat64);
  const Tensor q = result_of("aten::linalg_qr", "", {parts});
  const auto made = [&](const std::function<double(double)>& value) {  // Q diag(values) Q^T
    const Tensor d = empty(IntArray{n}, DType::kFloat64);
    for (int64_t i = 0; i < n; ++i) d.data_ptr<double>()[i] = value(static_cast<double>(i));
    const Tensor a = matmul(scaled_columns(q, d), adjoint(q));
    return result_of("aten::mul", "Scalar",
                     {result_of("aten::add", "Tensor", {a, adjoint(a)}), 0.5});
  };
  const Tensor wilkinson = empty(IntArray{n, n}, DType::kFloat64);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      wilkinson.data_ptr<double>()[i * n + j] =
          i == j ? std::abs(static_cast<double>(2 * i - n + 1)) / 2 : std::abs(i - j) == 1;
    }
  }
  return {random,
          result_of("aten::add", "Tensor", {eye, random, 1e-6}),
          wilkinson,
          made([n](double i) { return std::pow(10, -20 * i / static_cast<double>(n)); }),
          made([](double i) { return std::fmod(i, 3) - 1; }),
          made([](double i) { return i == 0 ? 2.0 : 0.0; }),
          full(IntArray{n, n}, Scalar(0), DType::kFloat64)};
}

// That Q's columns are orthogonal to within `tolerance`, by what doubles say.
void expect_orthogonal(const Tensor& q, double tolerance) {
  const Tensor wide = q.to(DType::kFloat64);
  expect_close(matmul(adjoint(wide), wide),
               result_of("aten::eye", "", {q.size(1)}).to(DType::kFloat64), tolerance);
}

// Residuals and orthogonality as LAPACK has them, by halves of all sizes and of what is not halved;
// values are those of another method and of their own without vectors.
TEST(Linalg, SpectraOfAllKinds) {
  for (const DType dtype : {kF32, DType::kFloat64}) {
    for (const int64_t n : {1, 2, 3, 31, 32, 33, 64, 65, 100, 257}) {
      for (const double scale :
           {1.0, dtype == kF32 ? 1e-38 : 1e-305, dtype == kF32 ? 1e36 : 1e300}) {
        if (scale != 1 && n != 65) continue;
        for (int kind = 0; const Tensor& sample : symmetric_samples(n)) {
          SCOPED_TRACE(testing::Message() << n << " of kind " << kind++ << " times " << scale);
          const auto scaled = [](const Tensor& x, double factor) {
            return result_of("aten::mul", "Scalar", {x.to(DType::kFloat64), factor});
          };
          const Tensor given = scaled(sample, scale).to(dtype);
          const Tensor a = scaled(given, 1 / scale);
          const double size = std::max(1e-30, max_of(result_of("aten::linalg_svdvals", "", {a})));
          const double epsilon = dtype == kF32 ? 1.2e-7 : 2.3e-16;
          const double tolerance = epsilon * static_cast<double>(n + 20), wide = tolerance * size;

          const Tensor values = scaled(result_of("aten::linalg_eigh", "", {given}), 1 / scale),
                       vectors = result_of("aten::linalg_eigh", "", {given}, 1);
          const Tensor v = vectors.to(DType::kFloat64);
          expect_close(matmul(a, v), scaled_columns(v, values), wide);
          expect_orthogonal(v, tolerance);
          EXPECT_TRUE(std::ranges::is_sorted(elements_of(values)));
          expect_close(scaled(result_of("aten::linalg_eigvalsh", "", {given}), 1 / scale), values,
                       wide);

          const Tensor tall = slice(given, 1, 0, (n + 1) / 2, 1);
          for (const Tensor& b : {given, tall, transpose(tall, 0, 1)}) {
            if (n > 100 && b.size(0) < b.size(1)) continue;
            const Tensor u = result_of("aten::linalg_svd", "", {b, false}).to(DType::kFloat64),
                         vh = result_of("aten::linalg_svd", "", {b, false}, 2).to(DType::kFloat64),
                         s = scaled(result_of("aten::linalg_svd", "", {b, false}, 1), 1 / scale);
            expect_close(matmul(scaled_columns(u, s), vh), scaled(b, 1 / scale), wide);
            expect_orthogonal(u, tolerance);
            expect_orthogonal(adjoint(vh), tolerance);
            EXPECT_TRUE(std::ranges::is_sorted(elements_of(s), std::greater<>()));
            expect_close(scaled(result_of("aten::linalg_svdvals", "", {b}), 1 / scale), s, wide);
            // Doubles turn the bidiagonal matrix itself.
            expect_close(result_of("aten::linalg_svdvals", "", {scaled(b, 1 / scale)}), s, wide);
          }
        }
      }
    }
  }
}

TEST(Linalg, SpectraWithoutNumbers) {
  for (const int64_t n : {3, 50}) {
    for (const double value : {kNan, kInf}) {
      Tensor a = scattered({n, n}, kF32);
      fill(select(select(a, 0, n - 1), 0, 0), Scalar(value));
      for (const int64_t i : {0, 1}) {
        for (const double x : elements_of(result_of("aten::linalg_eigh", "", {a}, i))) {
          EXPECT_TRUE(std::isnan(x));
        }
      }
      EXPECT_THROW(call_op("aten::linalg_svd", "", {a, false}), Error);
      // What is not of the triangle that counts is not looked at.
      const Tensor upper = result_of("aten::linalg_eigh", "", {a, std::string("U")});
      for (const double x : elements_of(upper)) EXPECT_TRUE(std::isfinite(x));
    }
  }
}

TEST(Linalg, RanksAndPseudoInverses) {
  const Tensor one = square({1, 2, 2, 4});
  expect_tensor(result_of("aten::linalg_matrix_rank", "atol_rtol_float", {one}), {1}, kI64, {});
  expect_tensor(result_of("aten::linalg_matrix_rank", "", {empty(IntArray{0, 3}, kF32), 0.1}), {0},
                kI64, {});
  expect_tensor(result_of("aten::linalg_pinv", "atol_rtol_float", {one}), {0.04, 0.08, 0.08, 0.16},
                kF32, {2, 2});
  expect_tensor(result_of("aten::pinverse", "", {empty(IntArray{0, 3}, kF32)}), {}, kF32, {3, 0});
}

}  // namespace
}  // namespace torchlet::ops
