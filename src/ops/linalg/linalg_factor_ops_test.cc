// Determinants, solutions and factorisations.
// Expected numbers are PyTorch 1.13's; where LAPACK leaves signs free, the product of the factors
// is compared instead.
#include "ops/linalg/testing.h"

namespace torchlet::ops {
namespace {

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

}  // namespace
}  // namespace torchlet::ops
