#include "ops/linalg/linalg.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/limits.h"
#include "base/sort.h"
#include "ops/linalg/bands.h"
#include "ops/linalg/reductions.h"

namespace torchlet::ops::linalg {

void check_dtype(const Tensor& a, const char* name) {
  const DType dtype = a.dtype();
  TORCHLET_CHECK(dtype == DType::kFloat32 || dtype == DType::kFloat64 ||
                     dtype == DType::kComplex64 || dtype == DType::kComplex128,
                 "%s: Expected a floating point or complex tensor as input. Got %s", name,
                 dtype_name(dtype).data());
}

void check_matrix(const Tensor& a, const char* name) {
  TORCHLET_CHECK(a.dim() >= 2, "%s: The input tensor A must have at least 2 dimensions.", name);
  check_dtype(a, name);
}

void check_square(const Tensor& a, const char* name) {
  check_matrix(a, name);
  TORCHLET_CHECK(a.size(-1) == a.size(-2),
                 "%s: A must be batches of square matrices, but they are %lld by %lld matrices",
                 name, static_cast<long long>(a.size(-2)), static_cast<long long>(a.size(-1)));
}

DType real_dtype(DType dtype) {
  if (dtype == DType::kComplex64) return DType::kFloat32;
  return dtype == DType::kComplex128 ? DType::kFloat64 : dtype;
}

Places::Places(const Tensor& matrices)
    : data(matrices.raw_data()),
      rows(matrices.size(-2)),
      cols(matrices.size(-1)),
      row_step(matrices.stride(-2)),
      col_step(matrices.stride(-1)),
      sizes_(matrices.sizes().first(matrices.sizes().size() - 2)),
      strides_(matrices.strides().first(sizes_.size())),
      is_even_(true),
      step_(sizes_.empty() ? 0 : strides_.back()) {
  for (size_t d = sizes_.size(); d-- > 0;) {
    if (sizes_[d] > 1 && strides_[d] != count * step_) is_even_ = false;
    count *= sizes_[d];
  }
}

int64_t Places::offset_of(int64_t i) const {
  poll();
  if (is_even_) return i * step_;
  int64_t offset = 0;
  for (size_t d = sizes_.size(); d-- > 0; i /= sizes_[d]) offset += i % sizes_[d] * strides_[d];
  return offset;
}

Tensor copied_batch(const Tensor& a, DType dtype) {
  const Tensor data = empty(a.sizes(), dtype);
  data.copy_(a);
  return data;
}

Tensor empty_batch(IntSpan batch, int64_t m, int64_t n, DType dtype) {
  IntArray sizes(batch);
  sizes.push_back(m);
  sizes.push_back(n);
  return empty(sizes, dtype);
}

IntArray batch_of(const Tensor& a, const Tensor& b) {
  return broadcast_shapes(a.sizes().first(a.sizes().size() - 2),
                          b.sizes().first(b.sizes().size() - 2));
}

Tensor expand_batch(const Tensor& a, IntSpan batch) {
  IntArray sizes(batch);
  sizes.push_back(a.size(-2));
  sizes.push_back(a.size(-1));
  return expand(a, sizes);
}

namespace {

constexpr int64_t kFew = 64;  // columns for which a QR factorisation does not pay

// The places of the values in ascending or descending order; equal ones stay in order.
std::vector<int64_t> sorted_places(const std::vector<double>& values, bool descending) {
  std::vector<int64_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  stable_sort(order, [&](int64_t a, int64_t b) {
    const double x = values[static_cast<size_t>(a)], y = values[static_cast<size_t>(b)];
    return descending ? x > y : x < y;
  });
  return order;
}

// q becomes the product of the reflections, the first of which leaves `first` rows alone, and q.
template <typename T>
void reflect(const View<T>& reflections, const std::vector<T>& tau, int64_t first,
             const View<T>& q) {
  if (q.rows() <= first) return;
  apply_reflections(reflections, tau.data(), false, q.block(first, 0, q.rows() - first, q.cols()));
}

// Turns columns of what there is.
template <typename T>
auto turning(const View<T>& m) {
  return [&m](size_t k, double c, double s) {
    const auto column = static_cast<int64_t>(k);
    if (m.rows() > 0) rotate(m.col(column), m.col(column + 1), c, s);
  };
}

// That no element is infinite or NaN, and the largest not far from 1: as a rule, what matters of
// them is known from their squares. Of a triangle, if nothing above the diagonal counts.
template <typename T>
bool is_moderate(const View<T>& a, bool triangle) {
  double sum = 0;
  for (int64_t j = 0; j < a.cols(); ++j) {
    const Vector<T> column = a.col(j).from(triangle ? j : 0);
    sum += std::real(dot(column, column));
  }
  return sum > 1e-12 * static_cast<double>(a.rows() * a.cols()) && sum < 1e12;
}

// A power of two near the largest element, by which a matrix is divided so that no square of its
// numbers vanishes or overflows that matters; 1 if none does.
template <typename T>
double unit_of(const View<T>& a, bool triangle) {
  if (is_moderate(a, triangle)) return 1;
  double size = 0;
  for (int64_t j = 0; j < a.cols(); ++j) {
    poll();
    for (int64_t i = triangle ? j : 0; i < a.rows(); ++i) {
      const double real = std::abs(std::real(a(i, j))), imaginary = std::abs(std::imag(a(i, j)));
      size = real > size ? real : size;
      size = imaginary > size ? imaginary : size;
    }
  }
  if (size == 0 || (size > 1e-6 && size < 1e6)) return 1;
  return std::ldexp(1, std::clamp(std::ilogb(size), -1000, 1000));
}

template <typename T>
void copy_vector(Vector<T> from, Vector<T> to) {
  copy<T>({from.data, 1, from.size, 1, from.step}, {to.data, 1, to.size, 1, to.step});
}

template <typename T>
void conjugate_all(const View<T>& a) {
  for (int64_t i = 0; i < a.rows(); ++i) {
    for (int64_t j = 0; j < a.cols(); ++j) a(i, j) = conjugate(a(i, j));
  }
}

template <typename T>
void divide_all(const View<T>& a, double unit) {
  for (int64_t j = 0; j < a.cols() && unit != 1; ++j) {
    for (int64_t i = 0; i < a.rows(); ++i) {
      a(i, j) = static_cast<T>(static_cast<WideOf<T>>(a(i, j)) * (1 / unit));
    }
  }
}

// B^T B of a bidiagonal matrix B, the eigenvalues of which are the squares of B's singular values.
// From squares in double these come to within rounding of the largest in float.
void square_band(Reals& d, Reals& e) {
  for (size_t i = d.size(); i-- > 0;) {
    d[i] = d[i] * d[i] + (i > 0 ? e[i - 1] * e[i - 1] : 0);
    if (i > 0) e[i - 1] *= d[i - 1];
  }
}

// The columns of Q in those of `w`, of which the later ones may be no more than roundings: the
// columns of R, which is next to diagonal, decide about signs.
template <typename T>
void orthonormalise(const View<T>& w) {
  const int64_t n = w.cols();
  std::vector<T> tau(static_cast<size_t>(n));
  factor_qr(w, tau.data());
  const Columns<T> q(n, n);
  set_identity<T>(q);
  apply_reflections<T>(w, tau.data(), false, q);
  for (int64_t j = 0; j < n; ++j) {
    if (std::real(w(j, j)) < 0) scale(q.col(j), T(-1));
  }
  copy<T>(q.transposed(), w.transposed());
}

// Singular values, descending, and vectors of a bidiagonal matrix B in the first columns of `left`
// and in `right`, as good as they are in float: of B^T B in double, where B v is the other vector
// times the value. Values are small where its direction is lost; but then it is what is orthogonal
// to those before.
template <typename T>
void coarse_vectors(Reals& d, const Reals& e, const View<T>& left, const View<T>& right) {
  const int64_t n = right.rows();
  Reals values = d, beside = e;
  square_band(values, beside);
  const Matrix<double> v(n, n);
  tridiagonal_vectors<double>(values, std::move(beside), v);
  std::ranges::reverse(values);
  for (double& x : values) x = std::sqrt(std::max(x, 0.0));
  const bool lost = n > 0 && !(values.back() > 1e-4 * values.front());
  for (int64_t j = 0; j < n; ++j) {
    poll();
    const Vector<double> x = v.row(n - 1 - j);
    const double factor = lost ? 1 : 1 / values[static_cast<size_t>(j)];
    for (int64_t i = 0; i < n; ++i) {
      const auto at = static_cast<size_t>(i);
      right(i, j) = static_cast<T>(x[i]);
      left(i, j) = static_cast<T>(factor * (d[at] * x[i] + (i + 1 < n ? e[at] * x[i + 1] : 0)));
    }
  }
  if (lost) orthonormalise(left.block(0, 0, n, n));
  d = std::move(values);
}

}  // namespace

Svd svd(const Tensor& a, bool full_matrices, bool compute_uv) {
  const bool coarse = real_dtype(a.dtype()) != DType::kFloat64;
  return with_type(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    // The taller way round, so that there are at least as many rows as columns, which are
    // contiguous.
    const bool wide = a.size(-2) < a.size(-1);
    const Batch<T> in(wide ? a : transpose(a, -2, -1));
    const IntSpan batch = in.batch_sizes();
    const int64_t m = a.size(-2), n = a.size(-1), k = std::min(m, n);
    IntArray s_sizes(batch);
    s_sizes.push_back(k);
    const Tensor s = empty(s_sizes, DType::kFloat64);
    const int64_t tall = std::max(m, n), others = std::max<int64_t>(0, k - 1);
    // Their rows are vectors.
    const Batch<T> lefts(batch, full_matrices ? tall : k, compute_uv ? tall : 0),
        rights(batch, k, compute_uv ? k : 0);
    for (int64_t i = 0; i < in.count(); ++i) {
      View<T> columns = in[i].transposed();
      const Columns<T> rows(others, others);
      double unit = 1;
      if (!is_moderate(columns, false)) {
        TORCHLET_CHECK(all_finite(columns),
                       "linalg.svd: The algorithm failed to converge because the input matrix "
                       "contained non-finite values.");
        unit = unit_of<T>(columns, false);
        divide_all<T>(columns, unit);
      }
      if (wide && is_complex(a.dtype())) conjugate_all<T>(columns);
      if (!compute_uv && 3 * tall > 5 * k && k > kFew) {  // R has the same values
        std::vector<T> tau(static_cast<size_t>(k));
        factor_qr<T>(columns, tau.data());
        columns = columns.block(0, 0, k, k);
        for (int64_t j = 0; j < k; ++j) {
          for (int64_t row = j + 1; row < k; ++row) columns(row, j) = T(0);
        }
      }
      Band<T> band = to_bidiagonal<T>(columns, rows);
      const View<T> left = lefts[i].transposed(), right = rights[i].transposed();
      set_identity<T>(left);
      set_identity<T>(right);
      // What is turned has no more than k rows; the reflections make the others.
      const View<T> top = left.block(0, 0, std::min(k, left.rows()), k);
      if (coarse && !compute_uv) {
        square_band(band.diagonal, band.beside);
        band.diagonal = tridiagonal_values(band.diagonal, band.beside);
        for (double& x : band.diagonal) x = std::sqrt(std::max(x, 0.0));
      }
      if constexpr (!std::is_same_v<T, double>) {
        if (coarse && compute_uv) coarse_vectors<T>(band.diagonal, band.beside, top, right);
      }
      if constexpr (!std::is_same_v<T, float>) {
        if (!coarse) {
          bidiagonal_values(band.diagonal, band.beside, turning(top), turning(right));
        }
      }
      if (compute_uv) {
        reflect<T>(columns, band.left, 0, left);
        reflect<T>(rows, band.right, 1, right);
      }
      std::vector<double> values;
      for (const double x : band.diagonal) values.push_back(std::abs(x));
      const std::vector<int64_t> order = sorted_places(values, true);
      for (int64_t j = 0; j < k; ++j) {
        const auto from = static_cast<size_t>(order[static_cast<size_t>(j)]);
        s.data_ptr<double>()[i * k + j] = unit * values[from];
        if (band.diagonal[from] < 0) scale(right.col(order[static_cast<size_t>(j)]), T(-1));
      }
      if (!compute_uv) continue;
      for (const View<T>& vectors : {lefts[i].block(0, 0, k, tall), rights[i]}) {
        if (std::ranges::is_sorted(order)) break;
        const Matrix<T> unsorted = copied(vectors);
        for (int64_t j = 0; j < k; ++j) {
          copy_vector(unsorted.row(order[static_cast<size_t>(j)]), vectors.row(j));
        }
      }
      if (is_complex(a.dtype())) conjugate_all<T>((wide ? lefts : rights)[i]);
    }
    Svd result{Tensor(), s.to(real_dtype(a.dtype())), Tensor()};
    if (compute_uv) {
      result.u = transpose((wide ? rights : lefts).to(a.dtype()), -2, -1);
      result.vh = (wide ? lefts : rights).to(a.dtype());
    }
    return result;
  });
}

Eigh eigh(const Tensor& a, bool lower, bool compute_vectors) {
  return with_type(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    // Columns that are contiguous, with what counts below the diagonal.
    const Batch<T> in(lower ? transpose(a, -2, -1) : a);
    const int64_t n = a.size(-1);
    const Batch<T> rows(in.batch_sizes(), n, compute_vectors ? n : 0);  // are the vectors
    const Tensor values = empty(a.sizes().first(a.sizes().size() - 1), DType::kFloat64);
    for (int64_t i = 0; i < in.count(); ++i) {
      const View<T> hermitian = in[i].transposed(), vectors = rows[i].transposed();
      if (!lower && is_complex(a.dtype())) conjugate_all<T>(hermitian);
      for (int64_t j = 0; j < n; ++j) hermitian(j, j) = T(std::real(hermitian(j, j)));
      const double unit = unit_of<T>(hermitian, true);
      divide_all<T>(hermitian, unit);
      Band<T> band = to_tridiagonal<T>(hermitian);
      if (compute_vectors) {
        fill(rows[i], T(0));
        if constexpr (std::is_floating_point_v<T>) {
          tridiagonal_vectors<T>(band.diagonal, band.beside, rows[i]);
        } else {
          const Matrix<double> real(n, n);
          tridiagonal_vectors<double>(band.diagonal, band.beside, real);
          for (int64_t c = 0; c < n; ++c) {
            for (int64_t r = 0; r < n; ++r) vectors(r, c) = real(c, r);
          }
        }
        const int64_t others = std::max<int64_t>(0, n - 1);
        reflect<T>(hermitian.block(n - others, 0, others, others), band.left, 1, vectors);
      } else {
        band.diagonal = tridiagonal_values(band.diagonal, band.beside);
      }
      const std::vector<int64_t> order = sorted_places(band.diagonal, false);
      for (int64_t j = 0; j < n; ++j) {
        const int64_t from = order[static_cast<size_t>(j)];
        values.data_ptr<double>()[i * n + j] = unit * band.diagonal[static_cast<size_t>(from)];
      }
    }
    return Eigh{values.to(real_dtype(a.dtype())),
                compute_vectors ? transpose(rows.to(a.dtype()), -2, -1) : Tensor()};
  });
}

Inverse inverse(const Tensor& a) {
  return with_type(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const Batch<T> in(a), out(a.sizes());
    const Tensor info = zeros(in.batch_sizes(), DType::kInt32);
    const int64_t n = in.rows();
    std::vector<int32_t> pivots(static_cast<size_t>(n));
    for (int64_t i = 0; i < in.count(); ++i) {
      info.data_ptr<int32_t>()[i] = factor_lu(in[i], pivots.data(), true);
      const View<T> x = out[i];
      set_identity(x);
      for (int64_t k = 0; k < n; ++k) swap(x.row(k), x.row(pivots[static_cast<size_t>(k)] - 1));
      solve_triangular(in[i], false, true, x);
      solve_triangular(in[i], true, false, x);
    }
    return Inverse{out.to(a.dtype()), info};
  });
}

void check_inexact(const Tensor& a, const char* name) {
  TORCHLET_CHECK(is_floating_point(a.dtype()) || is_complex(a.dtype()),
                 "%s: Expected a floating point or complex tensor as input. Got %s", name,
                 dtype_name(a.dtype()).data());
}

Tensor adjoint(const Tensor& a) {
  const Tensor view = transpose(a, -2, -1);
  return is_complex(a.dtype()) ? call("aten::conj_physical", "", {view}) : view;
}

Tensor call(const char* name, const char* overload, std::vector<Value> args) {
  const Operator* op = find_operator(name, overload);
  TORCHLET_ASSERT(op);
  std::vector<Value> results(op->schema.returns.size());
  op->call(args, results);
  return results[0].to_tensor();
}

Tensor int_batch(const Tensor& a, IntSpan extra) {
  IntArray sizes(a.sizes().first(a.sizes().size() - 2));
  for (const int64_t size : extra) sizes.push_back(size);
  return zeros(sizes, DType::kInt32);
}

void check_info(const Tensor& info, const char* message) {
  const Tensor flat = info.contiguous();
  for (int64_t i = 0; i < flat.numel(); ++i) {
    const int value = flat.data_ptr<int32_t>()[i];
    TORCHLET_CHECK(value == 0, "%s (batch element %lld, diagonal element %d)", message,
                   static_cast<long long>(i), value);
  }
}

Tensor checked_pivots(const Tensor& pivots, IntArray sizes, int64_t count, int64_t rows,
                      bool blocks, const char* what) {
  TORCHLET_CHECK(pivots.dtype() == DType::kInt32 && pivots.dim() >= 1 && pivots.size(-1) == count,
                 "%s: expected %lld int32 pivots for each matrix, got %s", what,
                 static_cast<long long>(count), pivots.describe().c_str());
  sizes.push_back(count);
  const Tensor all = expand(pivots, sizes).contiguous();
  const int32_t* const values = all.data_ptr<int32_t>();
  const auto check = [&](int64_t row) {
    TORCHLET_CHECK(row >= 1 && row <= rows, "%s: pivots must be between 1 and %lld, got %lld", what,
                   static_cast<long long>(rows), static_cast<long long>(row));
  };
  for (int64_t i = 0; i < all.numel(); ++i) {
    const int64_t value = values[i];
    check(blocks ? std::abs(value) : value);
    if (!blocks || value > 0) continue;
    TORCHLET_CHECK(++i % count != 0 && values[i] < 0, "%s: negative pivots must come in pairs",
                   what);
    check(-int64_t{values[i]});
  }
  return all;
}

}  // namespace torchlet::ops::linalg
