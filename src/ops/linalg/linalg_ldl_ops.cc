// LDL factorisations and what is solved with them.
#include <algorithm>
#include <cmath>

#include "base/limits.h"
#include "ops/core/op.h"
#include "ops/linalg/linalg.h"

namespace torchlet::ops {
namespace {

using linalg::Batch;
using linalg::check_info;
using linalg::conjugate;
using linalg::int_batch;
using linalg::kSingular;
using linalg::Matrix;
using linalg::View;
using linalg::with_type;

// Symmetric or Hermitian, with 1x1 and 2x2 pivots (Bunch and Kaufman 1977, LAPACK's sytrf and
// hetrf, lower triangle).

template <typename T>
struct LdlPivoting {
  bool hermitian;
  T conj(T x) const { return hermitian ? conjugate(x) : x; }
};

// Factors some first columns of `a` and takes out of the others what they explain. Returns how
// many; `info` is the 1-based place of the first of them that is zero, or 0.
template <typename T>
int64_t ldl_panel(const View<T>& a, int32_t* pivots, LdlPivoting<T> rule, int* info) {
  constexpr int64_t kPanel = 64;
  const double alpha = (1 + std::sqrt(17.0)) / 8;
  const int64_t n = a.rows();
  auto size = [](T x) -> double { return std::abs(std::real(x)) + std::abs(std::imag(x)); };
  // Columns of L D, by which others change only when they are looked at. Until the end, rows are
  // exchanged in all of the panel.
  const Matrix<T> columns(std::min(kPanel, n), n), factors(columns.rows(), n), row(1, kPanel);
  const View<T> w = columns.transposed(), l = factors.transposed();  // l goes to `a` at the end
  int64_t k = 0;
  // Column `from` of what is left of `a` goes to column `to` of w.
  auto take = [&](int64_t from, int64_t to) {
    for (int64_t i = k; i < from; ++i) w(i, to) = rule.conj(a(from, i));
    for (int64_t i = from; i < n; ++i) w(i, to) = a(i, from);
    for (int64_t j = 0; j < k; ++j) row(0, j) = rule.conj(w(from, j));
    linalg::subtract_product(l.block(k, 0, n - k, k), row.block(0, 0, 1, k).transposed(),
                             w.block(k, to, n - k, 1));
    if (rule.hermitian) w(from, to) = T(std::real(w(from, to)));
  };
  while (k < n && (n <= kPanel || k + 1 < kPanel)) {
    poll();
    take(k, k);
    int64_t step = 1, pivot = k, other = k;
    const double diagonal = size(w(k, k));
    double largest = 0;
    for (int64_t i = k + 1; i < n; ++i) {
      if (size(w(i, k)) > largest) largest = size(w(i, k)), other = i;
    }
    if (std::max(diagonal, largest) == 0) {
      if (*info == 0) *info = static_cast<int>(k + 1);
    } else if (diagonal < alpha * largest) {
      take(other, k + 1);
      double row_largest = 0;
      for (int64_t i = k; i < n; ++i) {
        if (i != other) row_largest = std::max(row_largest, size(w(i, k + 1)));
      }
      if (diagonal < alpha * largest * (largest / row_largest)) {
        pivot = other;
        if (size(w(other, k + 1)) >= alpha * row_largest) {
          linalg::copy(w.block(k, k + 1, n - k, 1), w.block(k, k, n - k, 1));
        } else {
          step = 2;
        }
      }
    }
    const int64_t last = k + step - 1;
    if (pivot != last) {  // column `last` to the place of the pivot's, which is in w
      a(pivot, pivot) = a(last, last);
      for (int64_t j = last + 1; j < pivot; ++j) a(pivot, j) = rule.conj(a(j, last));
      for (int64_t i = pivot + 1; i < n; ++i) a(i, pivot) = a(i, last);
      linalg::swap(l.row(last).head(k), l.row(pivot).head(k));
      linalg::swap(w.row(last).head(last + 1), w.row(pivot).head(last + 1));
    }
    linalg::copy(w.block(k, k, n - k, step), l.block(k, k, n - k, step));
    if (step == 1) {
      if (l(k, k) != T(0)) linalg::scale(l.col(k).from(k + 1), T(1) / l(k, k));
    } else {
      const T d11 = l(k, k), d22 = l(k + 1, k + 1), d21 = l(k + 1, k);
      const T determinant = d11 * d22 - d21 * rule.conj(d21);
      for (int64_t i = k + 2; i < n; ++i) {  // rows of (L D) D^-1
        const T first = w(i, k), second = w(i, k + 1);
        l(i, k) = (d22 * first - d21 * second) / determinant;
        l(i, k + 1) = (d11 * second - rule.conj(d21) * first) / determinant;
      }
      pivots[k] = static_cast<int32_t>(-(pivot + 1));
    }
    pivots[last] = static_cast<int32_t>(step == 1 ? pivot + 1 : -(pivot + 1));
    k += step;
  }
  linalg::copy(l.block(0, 0, n, k), a.block(0, 0, n, k));
  for (int64_t j = k; j < n; ++j) {
    for (int64_t c = 0; c < k; ++c) w(j, c) = rule.conj(w(j, c));
  }
  for (int64_t j = k; j < n; j += kPanel) {  // the lower triangle, by blocks of columns
    const int64_t width = std::min(kPanel, n - j);
    linalg::subtract_product(a.block(j, 0, n - j, k), w.block(j, 0, width, k).transposed(),
                             a.block(j, j, n - j, width));
  }
  // LAPACK leaves rows of columns before a pivot as they were.
  for (int64_t j = k - 1; j > 0;) {
    const int64_t last = j, pivot = std::abs(pivots[j]) - 1;
    j -= pivots[j] < 0 ? 2 : 1;
    linalg::swap(a.row(last).head(j + 1), a.row(pivot).head(j + 1));
  }
  return k;
}

template <typename T>
int ldl_in_place(const View<T>& a, int32_t* pivots, bool hermitian) {
  int info = 0;
  for (int64_t k = 0, n = a.rows(); k < n;) {
    int zero = 0;
    const int64_t done = ldl_panel<T>(a.block(k, k, n - k, n - k), pivots + k, {hermitian}, &zero);
    if (info == 0 && zero != 0) info = zero + static_cast<int>(k);
    for (int64_t j = k; j < k + done; ++j)
      pivots[j] += static_cast<int32_t>(pivots[j] < 0 ? -k : k);
    k += done;
  }
  return info;
}

struct Ldl {
  Tensor ld, pivots, info;
};

Ldl ldl_factor(const Tensor& a, bool hermitian) {
  linalg::check_square(a, "torch.linalg.ldl_factor_ex");
  return with_type(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const Batch<T> ld(a);
    const int64_t n = ld.rows();
    const Tensor pivots = int_batch(a, IntArray{n}), info = int_batch(a);
    for (int64_t i = 0; i < ld.count(); ++i) {
      info.data_ptr<int32_t>()[i] = ldl_in_place<T>(ld[i], pivots.data_ptr<int32_t>() + i * n,
                                                    hermitian && is_complex(a.dtype()));
      // LAPACK leaves the other triangle as it was; PyTorch hands out the lower one.
      const View<decltype(zero)> lower = ld[i];
      for (int64_t r = 0; r < n; ++r) std::fill_n(&lower(r, 0) + r + 1, n - r - 1, 0);
    }
    return Ldl{ld.to(a.dtype()), pivots, info};
  });
}

Tensor ldl_solve(const Tensor& ld, const Tensor& pivots, const Tensor& b, bool hermitian) {
  linalg::check_square(ld, "torch.linalg.ldl_solve");
  TORCHLET_CHECK(b.dim() >= 2 && ld.size(-1) == b.size(-2),
                 "torch.linalg.ldl_solve: Incompatible shapes of LD and B: %s and %s",
                 ld.describe().c_str(), b.describe().c_str());
  const IntArray batch = linalg::batch_of(ld, b);
  const int64_t n = ld.size(-1);
  const Tensor all_pivots = linalg::checked_pivots(pivots, batch, n, n, true, "ldl_solve");
  return with_type(ld.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const LdlPivoting<T> rule{hermitian && is_complex(ld.dtype())};
    const Batch<T> factors(linalg::expand_batch(ld, batch)), out(linalg::expand_batch(b, batch));
    for (int64_t i = 0; i < out.count(); ++i) {
      const int32_t* pivot = all_pivots.data_ptr<int32_t>() + i * n;
      const auto l = factors[i];
      auto x = out[i];
      for (int64_t k = 0; k < n;) {  // P L
        const int64_t step = pivot[k] > 0 ? 1 : 2, last = k + step - 1;
        linalg::swap(x.row(last), x.row(std::abs(pivot[k]) - 1));
        for (int64_t r = k + step; r < n; ++r) {
          linalg::add_scaled(-l(r, k), x.row(k), x.row(r));
          if (step == 2) linalg::add_scaled(-l(r, k + 1), x.row(k + 1), x.row(r));
        }
        if (step == 1) {
          for (int64_t j = 0; j < x.cols(); ++j) x(k, j) /= l(k, k);
        } else {
          const T d21 = l(k + 1, k), d12 = rule.conj(d21);
          const T determinant = l(k, k) * l(k + 1, k + 1) - d21 * d12;
          for (int64_t j = 0; j < x.cols(); ++j) {
            const T first = x(k, j), second = x(k + 1, j);
            x(k, j) = (l(k + 1, k + 1) * first - d12 * second) / determinant;
            x(k + 1, j) = (l(k, k) * second - d21 * first) / determinant;
          }
        }
        k += step;
      }
      for (int64_t k = n - 1; k >= 0;) {  // L^T P^T, from the end
        const int64_t step = pivot[k] > 0 ? 1 : 2, first = k - step + 1;
        for (int64_t r = k + 1; r < n; ++r) {
          linalg::add_scaled(-rule.conj(l(r, first)), x.row(r), x.row(first));
          if (step == 2) linalg::add_scaled(-rule.conj(l(r, k)), x.row(r), x.row(k));
        }
        linalg::swap(x.row(k), x.row(std::abs(pivot[k]) - 1));
        k -= step;
      }
    }
    return out.to(ld.dtype());
  });
}

}  // namespace

TORCHLET_OP(linalg_ldl_factor_ex,
            "aten::linalg_ldl_factor_ex(Tensor self, *, bool hermitian=False, bool "
            "check_errors=False) -> (Tensor "
            "LD, Tensor pivots, Tensor info)",
            [](const Tensor& a, bool hermitian, bool check) {
              const Ldl result = ldl_factor(a, hermitian);
              if (check) check_info(result.info, kSingular);
              return std::tuple(result.ld, result.pivots, result.info);
            });
TORCHLET_OP(
    linalg_ldl_factor,
    "aten::linalg_ldl_factor(Tensor self, *, bool hermitian=False) -> (Tensor LD, Tensor pivots)",
    [](const Tensor& a, bool hermitian) {
      const Ldl result = ldl_factor(a, hermitian);
      return std::tuple(result.ld, result.pivots);
    });
TORCHLET_OP(
    linalg_ldl_solve,
    "aten::linalg_ldl_solve(Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False) -> Tensor",
    ldl_solve);

}  // namespace torchlet::ops
