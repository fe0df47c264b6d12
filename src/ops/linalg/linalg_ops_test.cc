#include <cmath>
#include <functional>

#include "ops/core/testing.h"
#include "ops/engines/matmul.h"

// Expected numbers are PyTorch 1.13's; where LAPACK leaves signs free, the product of the factors
// is compared instead.
namespace torchlet::ops {
namespace {

constexpr double kInf = INFINITY, kNan = NAN;
constexpr DType kF32 = DType::kFloat32, kI32 = DType::kInt32, kI64 = DType::kInt64;

Tensor square(std::vector<double> elements, DType dtype = kF32) {
  return make(std::move(elements), dtype, {2, 2});
}
Tensor complex_square(std::vector<double> pairs) {
  return result_of("aten::view_as_complex", "", {make(std::move(pairs), kF32, {2, 2, 2})});
}
Tensor real_pairs(const Tensor& z) { return result_of("aten::view_as_real", "", {z}); }
Tensor adjoint(const Tensor& a) {
  const Tensor turned = transpose(a, -2, -1);
  return is_complex(a.dtype()) ? result_of("aten::conj_physical", "", {turned}) : turned;
}
Tensor scaled_columns(const Tensor& a, const Tensor& factors) {
  return result_of("aten::mul", "Tensor", {a, unsqueeze(factors, -2)});
}
void expect_close(const Tensor& a, const Tensor& b, double tolerance = 1e-5) {
  const Tensor distance = result_of("aten::abs", "", {result_of("aten::sub", "Tensor", {a, b})});
  for (const double d : elements_of(distance)) EXPECT_LT(d, tolerance);
}

// Matrices of all shapes, a batch, none at all, and complex ones.
std::vector<Tensor> samples() {
  const Tensor parts = ramp({3, 4, 2}, 2);
  return {ramp({1, 1}, 1),    ramp({3, 3}, 4),
          ramp({5, 3}, 2),    ramp({3, 5}, 3),
          ramp({2, 3, 4}, 1), ramp({0, 3}),
          ramp({2, 0, 0}),    result_of("aten::view_as_complex", "", {parts})};
}

TEST(Linalg, Determinants) {
  const Tensor a = square({1, 2, 3, 4});
  expect_tensor(result_of("aten::linalg_det", "", {a}), {-2}, kF32, {});
  expect_tensor(result_of("aten::det", "", {empty(IntArray{0, 0}, kF32)}), {1}, kF32, {});
  expect_tensor(result_of("aten::linalg_slogdet", "", {square({1, 2, 2, 1})}, 1), {1.098612309},
                kF32, {});
  expect_tensor(result_of("aten::linalg_slogdet", "", {square({1, 2, 2, 4})}, 1), {-kInf}, kF32,
                {});
  const Tensor z = complex_square({0, 1, 2, 0, 2, 0, 1, 0});
  expect_tensor(real_pairs(result_of("aten::linalg_slogdet", "", {z})),
                {-0.970142484, 0.242535621});
  expect_tensor(result_of("aten::logdet", "", {square({1, 2, 2, 1})}), {kNan}, kF32, {});
  EXPECT_THROW(call_op("aten::linalg_det", "", {make({1, 2})}), Error);
  EXPECT_THROW(call_op("aten::linalg_det", "", {square({1, 2, 3, 4}, kI64)}), Error);
  EXPECT_THROW(call_op("aten::linalg_det", "", {make({1, 2, 3}, kF32, {1, 3})}), Error);
}

TEST(Linalg, InversesAndSolutions) {
  expect_tensor(result_of("aten::linalg_inv", "", {square({2, 1, 1, 1})}), {1, -1, -1, 2}, kF32,
                {2, 2});
  const Tensor singular = square({1, 2, 2, 4});
  EXPECT_THROW(call_op("aten::linalg_inv", "", {singular}), Error);
  expect_tensor(result_of("aten::linalg_inv_ex", "", {singular}, 1), {2}, kI32, {});
  EXPECT_THROW(call_op("aten::linalg_inv_ex", "", {singular, true}), Error);
  const Tensor a = square({2, 1, 1, 3});
  expect_tensor(result_of("aten::linalg_solve", "", {a, make({3, 5})}), {0.8, 1.4});
  expect_tensor(result_of("aten::linalg_solve", "", {a, make({3, 5}, kF32, {1, 2}), false}),
                {0.8, 1.4}, kF32, {1, 2});
  EXPECT_THROW(call_op("aten::linalg_solve", "", {singular, make({1, 2})}), Error);
  const Tensor upper = square({2, 1, 0, 4}), b = make({4, 8}, kF32, {2, 1});
  expect_tensor(result_of("aten::linalg_solve_triangular", "", {upper, b, true}), {1, 2}, kF32,
                {2, 1});
  expect_tensor(result_of("aten::linalg_solve_triangular", "", {upper, b, true, true, true}),
                {-4, 8}, kF32, {2, 1});
  expect_tensor(result_of("aten::triangular_solve", "", {b, upper}), {1, 2}, kF32, {2, 1});
  const Tensor points = make({1, 0, 1, 1, 1, 2}, kF32, {3, 2});
  expect_tensor(result_of("aten::linalg_lstsq", "", {points, make({1, 2, 4}, kF32, {3, 1})}),
                {0.833333313, 1.5}, kF32, {2, 1});
}

TEST(Linalg, Cholesky) {
  expect_tensor(result_of("aten::linalg_cholesky", "", {square({4, 2, 2, 5})}), {2, 0, 1, 2}, kF32,
                {2, 2});
  expect_tensor(result_of("aten::cholesky", "", {square({4, 2, 2, 5}), true}), {2, 1, 0, 2}, kF32,
                {2, 2});
  const Tensor hermitian = complex_square({4, 0, 0, 2, 0, -2, 5, 0});
  expect_tensor(real_pairs(result_of("aten::linalg_cholesky", "", {hermitian})),
                {2, 0, 0, 0, 0, -1, 2, 0}, kF32, {2, 2, 2});
  EXPECT_THROW(call_op("aten::linalg_cholesky", "", {square({1, 2, 2, 1})}), Error);
  expect_tensor(result_of("aten::linalg_cholesky_ex", "", {square({1, 2, 2, 1})}, 1), {2}, kI32,
                {});
  const Tensor lower = square({2, 0, 1, 2});
  expect_tensor(result_of("aten::cholesky_solve", "", {make({2, 4}, kF32, {2, 1}), lower}),
                {0.125, 0.75}, kF32, {2, 1});
  expect_tensor(result_of("aten::cholesky_inverse", "", {lower}), {0.3125, -0.125, -0.125, 0.25},
                kF32, {2, 2});
}

TEST(Linalg, QrHasLapacksSigns) {
  const Tensor a = make({1, 2, 3, 4, 5, 6}, kF32, {3, 2});
  expect_tensor(result_of("aten::linalg_qr", "", {a}),
                {-0.169030851, 0.897085227, -0.507092553, 0.276026224, -0.845154255, -0.345032780},
                kF32, {3, 2});
  const std::vector<double> r = {-5.916079783, -7.437357441, 0, 0.828078671};
  expect_tensor(result_of("aten::linalg_qr", "", {a}, 1), r, kF32, {2, 2});
  expect_tensor(result_of("aten::linalg_qr", "", {a, "r"}), {}, kF32, {0});
  expect_tensor(result_of("aten::linalg_qr", "", {a, "r"}, 1), r, kF32, {2, 2});
  EXPECT_THROW(call_op("aten::linalg_qr", "", {a, "x"}), Error);
  const Tensor b = square({3, 1, 4, 2});
  expect_tensor(result_of("aten::geqrf", "", {b}), {-5, -2.2, 0.5, 0.4}, kF32, {2, 2});
  const Tensor tau = result_of("aten::geqrf", "", {b}, 1);
  expect_tensor(tau, {1.6, 0});
  expect_tensor(
      result_of("aten::linalg_householder_product", "", {result_of("aten::geqrf", "", {b}), tau}),
      {-0.6, -0.8, -0.8, 0.6}, kF32, {2, 2});
}

TEST(Linalg, QrOfAllShapes) {
  for (const Tensor& a : samples()) {
    for (const char* mode : {"reduced", "complete"}) {
      const Tensor q = result_of("aten::linalg_qr", "", {a, mode});
      const Tensor r = result_of("aten::linalg_qr", "", {a, mode}, 1);
      expect_close(matmul(q, r), a);
      const Tensor one = result_of("aten::eye", "", {q.size(-1)});
      expect_close(matmul(adjoint(q), q), one);
    }
  }
}

// No two columns alike.
Tensor waves(int64_t rows, int64_t columns, DType dtype) {
  const Tensor a = empty(IntArray{rows, columns}, DType::kComplex128);
  for (int64_t i = 0; i < a.numel(); ++i) {
    const auto x = static_cast<double>(i * i % 1009);
    a.data_ptr<std::complex<double>>()[i] = {std::sin(x), std::cos(3 * x)};
  }
  return is_complex(dtype) ? a : result_of("aten::real", "", {a}).to(dtype);
}

TEST(Linalg, QrOfManyBlocksOfReflections) {
  for (const DType dtype : {DType::kFloat64, DType::kComplex128}) {
    for (const auto& [rows, columns] : {std::pair(70, 65), {65, 70}, {150, 20}, {20, 150}}) {
      const Tensor a = waves(rows, columns, dtype);
      const Tensor q = result_of("aten::linalg_qr", "", {a, "complete"});
      expect_close(matmul(q, result_of("aten::linalg_qr", "", {a, "complete"}, 1)), a);
      expect_close(matmul(adjoint(q), q), result_of("aten::eye", "", {rows}).to(dtype));

      const Tensor packed = result_of("aten::geqrf", "", {a});
      const Tensor tau = result_of("aten::geqrf", "", {a}, 1);
      for (const bool transposed : {false, true}) {
        const Tensor factor = transposed ? adjoint(q) : q;
        const Tensor below = waves(rows, 3, dtype), beside = waves(3, rows, dtype);
        expect_close(result_of("aten::ormqr", "", {packed, tau, below, true, transposed}),
                     matmul(factor, below));
        expect_close(result_of("aten::ormqr", "", {packed, tau, beside, false, transposed}),
                     matmul(beside, factor));
      }
    }
  }
}

TEST(Linalg, SolutionsOfFewAndManyColumns) {
  for (const DType dtype : {DType::kFloat64, DType::kComplex128}) {
    const Tensor a = waves(70, 70, dtype);
    for (const int64_t columns : {1, 4, 5, 70}) {
      const Tensor b = waves(70, columns, dtype);
      expect_close(matmul(a, result_of("aten::linalg_solve", "", {a, b})), b);
    }
  }
}

TEST(Linalg, Lu) {
  const Tensor a = square({1, 2, 3, 4});
  expect_tensor(result_of("aten::linalg_lu_factor", "", {a}), {3, 4, 1.0 / 3, 2.0 / 3}, kF32,
                {2, 2});
  expect_tensor(result_of("aten::linalg_lu_factor", "", {a}, 1), {2, 2}, kI32);
  const Tensor tall = make({1, 2, 3, 4, 5, 6}, kF32, {3, 2});
  expect_tensor(result_of("aten::linalg_lu", "", {tall}), {0, 1, 0, 0, 0, 1, 1, 0, 0}, kF32,
                {3, 3});
  expect_tensor(result_of("aten::linalg_lu", "", {tall}, 1), {1, 0, 0.2, 1, 0.6, 0.5}, kF32,
                {3, 2});
  const Tensor packed = square({3, 4, 1.0 / 3, 2.0 / 3}), pivots = make({2, 2}, kI32);
  expect_tensor(result_of("aten::lu_unpack", "", {packed, pivots}), {0, 1, 1, 0}, kF32, {2, 2});
  expect_tensor(
      result_of("aten::linalg_lu_solve", "", {packed, pivots, make({1, 1}, kF32, {2, 1})}), {-1, 1},
      kF32, {2, 1});
  for (const Tensor& wrong :
       {make({3, 2}, kI32), make({2, 0}, kI32), make({2, -1}, kI32), make({2}, kI32),
        make({2, 2, 1}, kI32), make({2, 2}, DType::kInt64)}) {
    EXPECT_THROW(call_op("aten::lu_unpack", "", {packed, wrong}), Error);
    EXPECT_THROW(call_op("aten::linalg_lu_solve", "", {packed, wrong, a}), Error);
    EXPECT_THROW(call_op("aten::linalg_ldl_solve", "", {packed, wrong, a}), Error);
  }
  EXPECT_THROW(call_op("aten::linalg_ldl_solve", "", {packed, make({-1, 2}, kI32), a}), Error);
  for (const Tensor& matrix : samples()) {
    const Tensor p = result_of("aten::linalg_lu", "", {matrix});
    const Tensor l = result_of("aten::linalg_lu", "", {matrix}, 1);
    expect_close(matmul(matmul(p, l), result_of("aten::linalg_lu", "", {matrix}, 2)), matrix);
  }
  expect_tensor(result_of("aten::linalg_ldl_factor", "", {square({4, 2, 2, 3})}), {4, 0, 0.5, 2},
                kF32, {2, 2});
}

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

// Of full rank, unlike ramp().
Tensor scattered(IntArray sizes, DType dtype = DType::kFloat64) {
  const Tensor real = empty(sizes, DType::kFloat64);
  for (int64_t i = 0; i < real.numel(); ++i) {
    real.data_ptr<double>()[i] = std::sin(static_cast<double>(i) * static_cast<double>(i + 1));
  }
  return real.to(dtype);
}

double max_of(const Tensor& a) {
  return elements_of(result_of("aten::max", "", {result_of("aten::abs", "", {a})}))[0];
}

// Large enough to be worked on by halves, and for the GEMM kernel.
TEST(Linalg, LargeMatrices) {
  for (const int64_t n : {17, 40, 70}) {
    const Tensor parts = scattered({n, n, 2}), one = result_of("aten::eye", "", {n});
    for (const Tensor& a : {scattered({n, n}), scattered({n, n}, kF32),
                            result_of("aten::view_as_complex", "", {parts})}) {
      const double tolerance = a.dtype() == kF32 ? 1e-3 : 1e-9;
      expect_close(matmul(a, result_of("aten::linalg_inv", "", {a})), one.to(a.dtype()), tolerance);
      const Tensor b = slice(a, 1, 0, 3, 1);
      const Tensor lu = result_of("aten::linalg_lu_factor", "", {a}),
                   pivots = result_of("aten::linalg_lu_factor", "", {a}, 1);
      const Tensor x = result_of("aten::linalg_lu_solve", "", {lu, pivots, b, true, true});
      expect_close(matmul(adjoint(a), x), b, tolerance);
      const Tensor q = result_of("aten::linalg_qr", "", {a});
      expect_close(matmul(adjoint(q), q), one.to(a.dtype()), tolerance * 1e-3);
    }
  }
  for (const Tensor& a : {scattered({60, 25}), scattered({25, 60}), scattered({90, 50})}) {
    Tensor product;
    for (int64_t i = 0; i < 3; ++i) {
      const Tensor factor = result_of("aten::linalg_lu", "", {a}, i);
      product = i == 0 ? factor : matmul(product, factor);
    }
    expect_close(product, a, 1e-12);
  }
}

TEST(Linalg, LargeCholesky) {
  const Tensor parts = scattered({50, 50, 2});
  for (const Tensor& a : {scattered({50, 50}), scattered({50, 50}, kF32),
                          result_of("aten::view_as_complex", "", {parts})}) {
    const double tolerance = a.dtype() == kF32 ? 1e-3 : 1e-9;
    const Tensor one = result_of("aten::eye", "", {50}).to(a.dtype());
    const Tensor gram = result_of("aten::add", "Tensor", {matmul(a, adjoint(a)), one});
    const Tensor l = result_of("aten::linalg_cholesky", "", {gram});
    expect_close(matmul(l, adjoint(l)), gram, tolerance * 1e-1);
    expect_close(result_of("aten::linalg_cholesky", "", {gram, true}), adjoint(l),
                 tolerance * 1e-1);
    expect_close(matmul(gram, result_of("aten::cholesky_solve", "", {a, l})), a, tolerance);
    expect_close(matmul(gram, result_of("aten::cholesky_inverse", "", {l})), one, tolerance);
    // The first pivot that is not positive is the 41st.
    fill(select(select(gram, 0, 40), 0, 40), Scalar(-1));
    EXPECT_EQ(elements_of(result_of("aten::linalg_cholesky_ex", "", {gram}, 1)),
              std::vector<double>{41});
  }
}

// By halves; the other triangle of a factor is not read.
TEST(Linalg, LargeInversesOfCholesky) {
  constexpr int64_t n = 301;
  const Tensor parts = scattered({n, n, 2}), one = result_of("aten::eye", "", {n});
  for (const Tensor& a : {scattered({n, n}), result_of("aten::view_as_complex", "", {parts})}) {
    const Tensor gram = result_of("aten::add", "Tensor", {matmul(a, adjoint(a)), one});
    const Tensor l = result_of("aten::linalg_cholesky", "", {gram});
    const Tensor noisy = result_of("aten::add", "Tensor", {l, result_of("aten::triu", "", {a, 1})});
    const Tensor inverse = result_of("aten::cholesky_inverse", "", {noisy});
    expect_close(matmul(gram, inverse), one.to(a.dtype()), 1e-9);
    expect_close(result_of("aten::cholesky_inverse", "", {adjoint(noisy), true}), inverse, 1e-12);
  }
}

// As the pseudo-inverse, which comes of singular values, for tall and wide matrices of full rank
// and for one that is not.
TEST(Linalg, LargeLeastSquares) {
  const Tensor parts = scattered({90, 70, 2});
  const Tensor deficient = scattered({90, 70});
  select(deficient, 1, 3).copy_(select(deficient, 1, 5));
  for (const Tensor& a :
       {scattered({90, 70}), scattered({70, 90}), scattered({2, 40, 20}), deficient,
        result_of("aten::view_as_complex", "", {parts}),
        adjoint(result_of("aten::view_as_complex", "", {parts})), scattered({90, 20}, kF32)}) {
    const Tensor b = narrow(a, -1, 2, 3);
    const Tensor rhs = result_of("aten::add", "Tensor", {b, scattered(IntArray(b.sizes()))});
    const double tolerance = a.dtype() == kF32 ? 1e-4 : 1e-9;
    const Tensor given = rhs.to(a.dtype());
    const Tensor expected = matmul(result_of("aten::pinverse", "", {a, 1e-12}), given);
    const bool full = !a.is_same(deficient);
    for (const char* driver : {"gelsy", "gelsd"}) {
      const std::vector<Value> args = {a, given, Value(), driver};
      expect_close(result_of("aten::linalg_lstsq", "", args), expected, tolerance);
      const Tensor rank = result_of("aten::linalg_lstsq", "", args, 2);
      const auto count = static_cast<double>(std::min(a.size(-1), a.size(-2)) - (full ? 0 : 1));
      EXPECT_EQ(elements_of(rank),
                std::vector<double>(static_cast<size_t>(a.dim() == 3 ? a.size(0) : 1), count));
    }
  }
  // Numbers whose squares vanish are no less regular.
  const Tensor tiny = result_of("aten::mul", "Scalar", {scattered({30, 20}, kF32), 1e-30});
  expect_tensor(result_of("aten::linalg_lstsq", "", {tiny, narrow(tiny, 1, 0, 1)}, 2), {20}, kI64,
                {});
}

// Few columns and many, of matrices that lie by rows and by columns, on whichever side. What is not
// of the triangle must not be read.
TEST(Linalg, LargeTriangles) {
  for (const DType dtype : {kF32, DType::kFloat64, DType::kComplex128}) {
    for (const int64_t n : {5, 17, 70, 210}) {
      Tensor a = result_of("aten::mul", "Scalar", {scattered({n, n}), 1.0 / n}).to(dtype);
      fill(result_of("aten::diagonal", "", {a}), Scalar(2));
      for (const bool upper : {false, true}) {
        const Tensor triangle = result_of(upper ? "aten::triu" : "aten::tril", "", {a});
        const Tensor other = result_of(upper ? "aten::tril" : "aten::triu", "",
                                       {full(IntArray{n, n}, Scalar(kNan), dtype), upper ? -1 : 1});
        Tensor given = result_of("aten::add", "Tensor", {triangle, other});
        for (const bool by_columns : {false, true}) {
          if (by_columns) given = transpose(transpose(given, 0, 1).contiguous(), 0, 1);
          for (const int64_t columns : {1, 3, 4, 5, 20}) {
            Tensor b = scattered({n, columns}).to(dtype);
            if (by_columns) b = transpose(transpose(b, 0, 1).contiguous(), 0, 1);
            const double tolerance = dtype == kF32 ? 1e-5 : 1e-13;
            expect_close(
                matmul(triangle, result_of("aten::linalg_solve_triangular", "", {given, b, upper})),
                b, tolerance);
            const Tensor wide = transpose(b, 0, 1);
            const Tensor x =
                result_of("aten::linalg_solve_triangular", "", {given, wide, upper, false});
            expect_close(matmul(x, triangle), wide, tolerance);
          }
        }
      }
    }
  }
}

// Panels, with pivots of one and of two rows; the diagonal decides which.
TEST(Linalg, LargeLdl) {
  for (const DType dtype : {kF32, DType::kFloat64, DType::kComplex128}) {
    for (const int64_t n : {3, 63, 64, 65, 150}) {
      Tensor part = scattered({n, n}).to(dtype);
      if (dtype == DType::kComplex128) {
        part = result_of("aten::view_as_complex", "", {scattered({n, n, 2})});
      }
      for (const bool hermitian : {true, false}) {
        for (const double weight : {0.0, 1.0, 100.0}) {
          const Tensor other = hermitian ? adjoint(part) : transpose(part, 0, 1);
          const Tensor a = result_of("aten::add", "Tensor", {part, other});
          const Tensor diagonal = result_of("aten::diagonal", "", {a});
          result_of("aten::mul_", "Scalar", {diagonal, weight});
          // The upper triangle is not read.
          const Tensor given = result_of(
              "aten::add", "Tensor",
              {a, result_of("aten::triu", "", {full(IntArray{n, n}, Scalar(kNan), dtype), 1})});
          const Tensor ld = result_of("aten::linalg_ldl_factor", "", {given, hermitian}),
                       pivots = result_of("aten::linalg_ldl_factor", "", {given, hermitian}, 1);
          const std::vector<double> rows = elements_of(pivots);
          const auto blocks = std::ranges::count_if(rows, [](double p) { return p < 0; });
          EXPECT_TRUE(weight == 0 ? blocks > 0 : weight == 1 || blocks < n);
          const Tensor b = scattered({n, 3}).to(dtype);
          const Tensor x = result_of("aten::linalg_ldl_solve", "", {ld, pivots, b, hermitian});
          expect_close(matmul(a, x), b, dtype == kF32 ? 1e-3 : 1e-9);
        }
      }
    }
  }
  Tensor a = full(IntArray{100, 100}, Scalar(0), kF32);
  fill(select(select(a, 0, 0), 0, 0), Scalar(1));
  EXPECT_EQ(elements_of(result_of("aten::linalg_ldl_factor_ex", "", {a}, 2)),
            std::vector<double>{2});
  fill(result_of("aten::diagonal", "", {a}), Scalar(2));
  fill(select(select(a, 0, 80), 0, 80), Scalar(0));
  EXPECT_EQ(elements_of(result_of("aten::linalg_ldl_factor_ex", "", {a}, 2)),
            std::vector<double>{81});
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

TEST(Linalg, LargeExponentials) {
  for (const DType dtype : {kF32, DType::kFloat64, DType::kComplex128}) {
    for (const double size : {0.01, 0.3, 4.0}) {  // without halving, and with some
      const Tensor a = result_of("aten::mul", "Scalar", {scattered({40, 40}), size}).to(dtype);
      const Tensor e = result_of("aten::linalg_matrix_exp", "", {a});
      const Tensor back =
          result_of("aten::linalg_matrix_exp", "", {result_of("aten::neg", "", {a})});
      const double scale = max_of(e) * max_of(back) * 40;
      expect_close(matmul(e, back), result_of("aten::eye", "", {40}).to(dtype),
                   scale * (dtype == kF32 ? 1e-5 : 1e-13));
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

TEST(Linalg, PowersAndExponentials) {
  expect_tensor(result_of("aten::linalg_matrix_power", "", {square({1, 1, 1, 0}), 5}), {8, 5, 5, 3},
                kF32, {2, 2});
  expect_tensor(result_of("aten::matrix_power", "", {square({2, 0, 0, 4}), -2}),
                {0.25, 0, 0, 0.0625}, kF32, {2, 2});
  expect_tensor(result_of("aten::matrix_power", "", {square({2, 0, 0, 4}), 0}), {1, 0, 0, 1}, kF32,
                {2, 2});
  expect_tensor(result_of("aten::linalg_matrix_exp", "", {square({0, 1, 0, 0})}), {1, 1, 0, 1},
                kF32, {2, 2});
  expect_tensor(result_of("aten::matrix_exp", "", {square({0, -1, 1, 0})}),
                {0.540302306, -0.841470985, 0.841470985, 0.540302306}, kF32, {2, 2});
}

TEST(Linalg, Norms) {
  const Tensor a = square({1, 2, 3, 4});
  auto norm = [&](Value order) { return result_of("aten::linalg_norm", "", {a, order}); };
  expect_tensor(norm(Value()), {5.477225780}, kF32, {});
  expect_tensor(norm(2), {5.464985847}, kF32, {});
  expect_tensor(norm(1), {6}, kF32, {});
  expect_tensor(result_of("aten::linalg_norm", "ord_str", {a, "nuc"}), {5.830951691}, kF32, {});
  expect_tensor(result_of("aten::nuclear_norm", "", {a}), {5.830951691}, kF32, {});
  expect_tensor(result_of("aten::linalg_matrix_norm", "", {a, kInf, int_list({-2, -1}), true}), {7},
                kF32, {1, 1});
  EXPECT_THROW(call_op("aten::linalg_matrix_norm", "", {a, 3}), Error);
  expect_tensor(result_of("aten::linalg_cond", "", {square({0, 0, 0, 0}), 1}), {kInf}, kF32, {});
  expect_tensor(result_of("aten::linalg_cond", "", {a}), {14.933039665}, kF32, {});
  expect_tensor(result_of("aten::linalg_cond", "", {a, 1}), {21}, kF32, {});
  expect_tensor(result_of("aten::linalg_cond", "p_str", {square({1, 2, 2, 4}), "fro"}), {kInf},
                kF32, {});
  expect_tensor(result_of("aten::norm_except_dim", "", {square({3, 4, 6, 8})}), {5, 10}, kF32,
                {2, 1});
}

TEST(Linalg, WeightNorm) {
  const Tensor v = ramp({2, 2, 2});
  const auto weight = [&](const Tensor& g, int64_t dim) {
    return result_of("aten::_weight_norm", "", {v, g, dim});
  };
  expect_tensor(
      weight(make({2, 3}, kF32, {2, 1, 1}), 0),
      {-1.31306422, 0.525225699, -0.525225699, 1.31306422, 0.588348389, -1.76504517, 2.35339355, 0},
      kF32, {2, 2, 2});
  expect_tensor(
      weight(make({2, 3}, kF32, {1, 2, 1}), 1),
      {-1.60128164, 0.640512645, -0.89442718, 2.23606801, 0.320256323, -0.960768938, 1.78885436, 0},
      kF32, {2, 2, 2});
  expect_tensor(
      weight(make({2, 3}, kF32, {1, 1, 2}), 2),
      {-1.47441959, 0.973328531, -0.589767814, 2.43332124, 0.294883907, -1.45999277, 1.17953563, 0},
      kF32, {2, 2, 2});
  expect_tensor(weight(make({2}, kF32, {}), -1),
                {-1.09108937, 0.436435759, -0.436435759, 1.09108937, 0.21821788, -0.654653668,
                 0.872871518, 0},
                kF32, {2, 2, 2});
  // At the ends g need only have the right number of elements, and the norms come in its shape.
  const Tensor flat = make({2, 3});
  for (const int64_t dim : {0, 2}) {
    const Tensor kept = reshape(flat, dim == 0 ? IntArray{2, 1, 1} : IntArray{1, 1, 2});
    expect_tensor(weight(flat, dim), elements_of(weight(kept, dim)), kF32, {2, 2, 2});
  }
  const Value both = call_op("aten::_weight_norm_interface", "", {v, flat, 0});
  expect_tensor(both.to_tuple()[1].to_tensor(), {1.9039433, 1.27475488});
  EXPECT_THROW(weight(make({1, 2, 3}), 1), Error);
  EXPECT_THROW(weight(make({1, 2, 3}), 0), Error);
  EXPECT_THROW(call_op("aten::_weight_norm_interface", "", {v, v, 1}), Error);
}

// Matrices in either order of memory, with a factor for each row, each column and for both.
TEST(Linalg, WeightNormOfMatrices) {
  const Tensor x = ramp({37, 21}), g = ramp({37, 1}, 3), h = ramp({1, 21}, 5);
  for (const Tensor& v : {x, transpose(transpose(x, 0, 1).contiguous(), 0, 1)}) {
    for (const auto& [factors, dim] :
         {std::pair(g, 0), std::pair(h, 1), std::pair(g, -1), std::pair(h, -1)}) {
      const Tensor expected = result_of("aten::_weight_norm", "",
                                        {v.to(DType::kFloat64), factors.to(DType::kFloat64), dim});
      expect_tensor(result_of("aten::_weight_norm", "", {v, factors, dim}), elements_of(expected),
                    kF32, {37, 21});
    }
  }
}

// Rows of floats are multiplied where their norms are found, a block of them at a time.
TEST(Linalg, WeightNormOfRows) {
  for (const IntArray& sizes : {IntArray{500, 130}, IntArray{9, 5, 7, 7}, IntArray{3, 40000}}) {
    const Tensor v = ramp(sizes), g = ramp(IntArray{sizes[0]}, 3);
    const Value wide =
        call_op("aten::_weight_norm_interface", "", {v.to(DType::kFloat64), g.to(DType::kFloat64)});
    const Value both = call_op("aten::_weight_norm_interface", "", {v, g});
    for (size_t i = 0; i < 2; ++i) {
      const Tensor expected = wide.to_tuple()[i].to_tensor();
      expect_tensor(both.to_tuple()[i].to_tensor(), elements_of(expected), kF32,
                    IntArray(expected.sizes()));
    }
  }
}

TEST(Linalg, Products) {
  const Value chain =
      make_tensor_list({make({1, 2}, kF32, {1, 2}), square({1, 0, 2, 1}), make({3, 4})});
  expect_tensor(result_of("aten::linalg_multi_dot", "", {chain}), {23});
  expect_tensor(result_of("aten::linalg_cross", "", {make({1, 0, 0}), make({0, 1, 0})}), {0, 0, 1});
  expect_tensor(result_of("aten::linalg_vander", "", {make({1, 2, 3}), 4}),
                {1, 1, 1, 1, 1, 2, 4, 8, 1, 3, 9, 27}, kF32, {3, 4});
  expect_tensor(result_of("aten::linalg_vander", "", {ints({1, 2})}), {1, 1, 1, 2}, kI64, {2, 2});
  const Tensor eye = view(result_of("aten::eye", "", {4}), IntArray{2, 2, 4});
  expect_tensor(result_of("aten::linalg_tensorsolve", "", {eye, square({1, 2, 3, 4})}),
                {1, 2, 3, 4});
  EXPECT_THROW(call_op("aten::linalg_tensorsolve", "", {make({1}, kF32, {}), eye}), Error);
  expect_tensor(result_of("aten::trace", "", {square({1, 2, 3, 4}, kI64)}), {5}, kI64, {});
}

}  // namespace
}  // namespace torchlet::ops
