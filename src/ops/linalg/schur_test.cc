#include "ops/linalg/schur.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "ops/linalg/reductions.h"

namespace torchlet::ops::linalg {
namespace {

enum class Kind {
  kRandom,
  kSymmetric,
  kSkew,
  kCycle,
  kJordan,
  kBlocks,
  kLowRank,
  kTriangle,
  kZero
};

template <typename T>
Matrix<T> matrix(Kind kind, int64_t n) {
  std::mt19937 generator(static_cast<unsigned>(n));
  std::normal_distribution<double> normal;
  Matrix<T> a(n, n);
  const auto random = [&] { return static_cast<T>(normal(generator)); };
  for (int64_t i = 0; i < n; ++i) {
    const int64_t next = (i + 1) % n;
    if (kind == Kind::kCycle) a(i, next) = T(1);
    if (kind == Kind::kJordan) a(i, i) = T(2);
    if (kind == Kind::kJordan && i + 1 < n) a(i, i + 1) = T(1);
    if (kind == Kind::kBlocks) {
      a(i, i) = T(1);
      if (i + 1 < n || i % 2 == 1) a(i, i ^ 1) = i % 2 == 0 ? T(2) : T(-2);
    }
    for (int64_t j = 0; j < n; ++j) {
      if (kind == Kind::kRandom || kind == Kind::kLowRank) a(i, j) = random();
      if (kind == Kind::kTriangle && j >= i) a(i, j) = random();
      if ((kind == Kind::kSymmetric || kind == Kind::kSkew) && j >= i) {
        a(i, j) = i == j && kind == Kind::kSkew ? T(0) : random();
        if (j > i) a(j, i) = kind == Kind::kSkew ? -a(i, j) : a(i, j);
      }
    }
  }
  if (kind == Kind::kLowRank) {
    const int64_t few = n / 3;
    a = product<T>(a.block(0, 0, n, few), a.block(0, 0, few, n));
  }
  return a;
}

template <typename T>
double distance(const View<T>& a, const View<T>& b) {
  const Matrix<T> difference = copied(a);
  for (int64_t i = 0; i < a.rows(); ++i) add_scaled(T(-1), b.row(i), difference.row(i));
  return norm<T>(difference);
}

// That `a` = Q T Q^T with T of the form it should have and Q orthogonal, and that its eigenvalues
// and eigenvectors are those of T. Roundings grow with n: LAPACK's own tests allow n of them.
template <typename T>
void check_schur(const Matrix<T>& a) {
  const int64_t n = a.rows();
  const double rounding = static_cast<double>(20 + n) * std::numeric_limits<T>::epsilon();
  const double bound = rounding * norm<T>(a);
  const Matrix<T> t = copied<T>(a), q_rows(n, n), identity(n, n);
  ASSERT_TRUE(to_schur<T>(t, q_rows));
  set_identity<T>(identity);
  EXPECT_LE(distance<T>(product<T>(q_rows, q_rows.transposed()), identity),
            rounding * norm<T>(identity));
  EXPECT_LE(distance<T>(product<T>(q_rows.transposed(), product<T>(t, q_rows)), a), bound);
  const std::vector<std::complex<double>> values = schur_values<T>(t);
  ASSERT_EQ(values.size(), static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j + 1 < i; ++j) ASSERT_EQ(t(i, j), T(0));
    if (i == 0 || t(i, i - 1) == T(0)) continue;
    // A block of a pair.
    EXPECT_GT(values[static_cast<size_t>(i - 1)].imag(), 0);
    EXPECT_EQ(values[static_cast<size_t>(i)], std::conj(values[static_cast<size_t>(i - 1)]));
    ASSERT_TRUE(i < 2 || t(i - 1, i - 2) == T(0));
  }

  // T x = x value, in rows: x T^T = value x.
  const Matrix<T> vectors = schur_vectors<T>(t);
  const Matrix<T> moved = product<T>(vectors, t.transposed());
  for (int64_t j = 0; j < n; ++j) {
    const std::complex<double> value = values[static_cast<size_t>(j)];
    const bool is_pair = value.imag() != 0;
    double error = 0, length = 0;
    for (int64_t i = 0; i < n; ++i) {
      using C = std::complex<double>;
      const C x(vectors(j, i), is_pair ? vectors(j + 1, i) : T(0));
      const C y(moved(j, i), is_pair ? moved(j + 1, i) : T(0));
      error += std::norm(y - value * x);
      length += std::norm(x);
    }
    ASSERT_GT(length, 0);
    EXPECT_LE(std::sqrt(error / length), bound) << "vector " << j;
    j += is_pair;
  }
}

template <typename T>
void check_values_alone(const Matrix<T>& a) {
  const Matrix<T> whole = copied<T>(a), alone = copied<T>(a), q_rows(a.rows(), a.rows());
  ASSERT_TRUE(to_schur<T>(whole, q_rows) && to_schur<T>(alone, Matrix<T>(0, 0)));
  const auto expected = schur_values<T>(whole), values = schur_values<T>(alone);
  const auto sum = [](const auto& all) {
    return std::accumulate(all.begin(), all.end(), std::complex<double>());
  };
  ASSERT_EQ(values.size(), expected.size());
  EXPECT_LE(std::abs(sum(values) - sum(expected)),
            40 * std::numeric_limits<T>::epsilon() * norm<T>(a) * std::sqrt(values.size()));
  for (const std::complex<double> value : values) {
    double nearest = 1e300;
    for (const std::complex<double> other : expected) {
      nearest = std::min(nearest, std::abs(value - other));
    }
    EXPECT_LE(nearest, 1e4 * std::numeric_limits<T>::epsilon() * norm<T>(a));
  }
}

// Sizes around those from which reflections go by panels and bulges in chains.
TEST(Schur, OfEverySizeAndKind) {
  for (const int64_t n : {1, 2, 3, 4, 5, 17, 47, 48, 49, 50, 75, 100, 101, 102, 130, 211, 350}) {
    for (const Kind kind :
         {Kind::kRandom, Kind::kSymmetric, Kind::kSkew, Kind::kCycle, Kind::kJordan, Kind::kBlocks,
          Kind::kLowRank, Kind::kTriangle, Kind::kZero}) {
      SCOPED_TRACE(std::to_string(n) + " rows, kind " + std::to_string(static_cast<int>(kind)));
      check_schur<float>(matrix<float>(kind, n));
      check_schur<double>(matrix<double>(kind, n));
    }
    check_values_alone<float>(matrix<float>(Kind::kRandom, n));
    check_values_alone<double>(matrix<double>(Kind::kRandom, n));
  }
}

// a = Q H Q^H, as for real matrices above.
TEST(Schur, ComplexHessenberg) {
  using C = std::complex<double>;
  const int64_t n = 9;
  const Matrix<double> re = matrix<double>(Kind::kRandom, n),
                       im = matrix<double>(Kind::kLowRank, n);
  const Matrix<C> a(n, n), q(n, n), h(n, n);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) a(i, j) = C(re(i, j), im(i, j));
  }
  const Columns<C> reduced(a);
  const std::vector<C> tau = to_hessenberg<C>(reduced);
  set_identity<C>(q);
  apply_reflections<C>(reduced.block(1, 0, n - 1, n - 1), tau.data(), false,
                       q.block(1, 0, n - 1, n));
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = std::max<int64_t>(0, i - 1); j < n; ++j) h(i, j) = reduced(i, j);
  }
  EXPECT_LE(distance<C>(product<C>(q, product<C>(h, adjoint_of<C>(q))), a), 1e-14 * norm<C>(a));
}

}  // namespace
}  // namespace torchlet::ops::linalg
