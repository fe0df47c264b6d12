#include "ops/linalg/schur.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "base/limits.h"
#include "kernels/gemm/vectors.h"
#include "ops/linalg/reductions.h"

namespace torchlet::ops::linalg {
namespace {

// Francis' implicit QR steps with two shifts at a time: a bulge of 3 x 3 below the diagonal, chased
// to the end of the matrix. Of large matrices a chain of bulges goes at once, and what it does to a
// window on the diagonal is gathered, so that all outside of the window changes by products
// (Braman, Byers and Mathias, "The multishift QR algorithm, part I", 2002).
constexpr int64_t kSmall = 60;   // rows that no chain is worth its products for
constexpr int64_t kBulges = 8;   // of a chain
constexpr int64_t kSpacing = 3;  // rows from one to the next
constexpr int64_t kSteps = 24;   // of each bulge in a window
constexpr int kMostSteps = 300;  // for an eigenvalue
constexpr int kUnusual = 10;     // steps after which shifts are tried that no matrix expects

// Of two eigenvalues, both real or conjugate.
struct Shifts {
  double sum, product;
};

// I - tau v v^T with v = (1, second, third).
struct Reflection {
  double second, third, tau;
};

// That which leaves `beta` alone of x.
Reflection reflection_of(const std::array<double, 3>& x, double* beta) {
  *beta = x[0];
  if (x[1] == 0 && x[2] == 0) return {0, 0, 0};
  const double size = std::max({std::abs(x[0]), std::abs(x[1]), std::abs(x[2])});
  const double a = x[0] / size, b = x[1] / size, c = x[2] / size;
  const double length = std::copysign(std::sqrt(a * a + b * b + c * c), a);
  *beta = -length * size;
  return {b / (a + length), c / (a + length), (a + length) / length};
}

// Rows `row` and the next ones, from column `begin` on; `is_pair` if they are two.
template <typename T>
void reflect_rows_from(const View<T>& a, int64_t row, bool is_pair, int64_t begin,
                       const Reflection& r) {
  const auto second = static_cast<T>(r.second), tau = static_cast<T>(r.tau);
  T* const x = &a(row, 0);
  T* const y = x + a.row_step;
  if (!is_pair) {
    return kernels::reflect(second, static_cast<T>(r.third), tau, x + begin, y + begin,
                            y + a.row_step + begin, a.cols() - begin);
  }
  for (int64_t j = begin; j < a.cols(); ++j) {
    const T sum = tau * (x[j] + second * y[j]);
    x[j] -= sum;
    y[j] -= sum * second;
  }
}

// Column `column` and the next ones, up to row `end`.
template <typename T>
void reflect_columns_to(const View<T>& a, int64_t column, bool is_pair, int64_t end,
                        const Reflection& r) {
  const auto second = static_cast<T>(r.second), third = static_cast<T>(r.third);
  const auto tau = static_cast<T>(r.tau);
  T* x = &a(0, column);
  for (int64_t i = 0; i < end; ++i, x += a.row_step) {
    const T sum = tau * (x[0] + second * x[1] + (is_pair ? T(0) : third * x[2]));
    x[0] -= sum;
    x[1] -= sum * second;
    if (!is_pair) x[2] -= sum * third;
  }
}

// The first column of (H - s1) (H - s2), by which a bulge begins at row `first`, but for a factor.
template <typename T>
std::array<double, 3> first_column(const View<T>& h, int64_t first, int64_t last,
                                   const Shifts& shifts) {
  const double a = h(first, first), b = h(first, first + 1), c = h(first + 1, first);
  const double d = h(first + 1, first + 1);
  const double below = first + 2 <= last ? h(first + 2, first + 1) : T(0);
  const double size = std::abs(a) + std::abs(b) + std::abs(c) + std::abs(d) + std::abs(below) +
                      std::abs(shifts.sum);
  if (size == 0) return {0, 0, 0};
  return {((a - shifts.sum) * (a / size) + shifts.product / size + b / size * c) / size,
          c / size * ((a + d - shifts.sum) / size), c / size * (below / size)};
}

// One step of a bulge in rows [first, last] of a Hessenberg matrix: from below column `at` to below
// the next; from first - 1 on, where it begins. Rows of q_rows turn as those of h.
template <typename T>
void step(const View<T>& h, const View<T>& q_rows, int64_t at, int64_t first, int64_t last,
          const Shifts& shifts) {
  const int64_t size = std::min<int64_t>(3, last - at);
  std::array<double, 3> x{};
  if (at < first) {
    x = first_column(h, first, last, shifts);
    if (size == 2) x[2] = 0;
  } else {
    for (int64_t i = 0; i < size; ++i) x[static_cast<size_t>(i)] = h(at + 1 + i, at);
  }
  double beta;
  const Reflection reflection = reflection_of(x, &beta);
  const bool is_pair = size == 2;
  if (at >= first) {
    h(at + 1, at) = static_cast<T>(beta);
    for (int64_t i = 1; i < size; ++i) h(at + 1 + i, at) = T(0);
  }
  reflect_rows_from(h, at + 1, is_pair, at + 1, reflection);
  reflect_columns_to(h, at + 1, is_pair, std::min(at + 4, last) + 1, reflection);
  if (q_rows.rows() > 0) reflect_rows_from(q_rows, at + 1, is_pair, 0, reflection);
}

// The first row of the last block of rows [0, last] that falls apart no more. What is no more than
// a rounding is left out.
template <typename T>
int64_t first_of_block(const View<T>& h, int64_t last, double norm) {
  constexpr double kEps = std::numeric_limits<T>::epsilon();
  int64_t first = last;
  for (; first > 0; --first) {
    T& below = h(first, first - 1);
    double near = std::abs(double{h(first, first)}) + std::abs(double{h(first - 1, first - 1)});
    if (near == 0) near = norm;
    if (std::abs(double{below}) <= kEps * near) {
      below = T(0);
      break;
    }
  }
  return first;
}

// Shifts that are as good as any, for a step that got stuck: of a block near row `at`.
template <typename T>
Shifts unusual_shifts(const View<T>& h, int64_t at) {
  const double size =
      std::abs(double{h(at, at - 1)}) + (at > 1 ? std::abs(double{h(at - 1, at - 2)}) : 0.0);
  const double middle = 0.75 * size + h(at, at);
  return {2 * middle, middle * middle + 0.4375 * size * size};
}

// A block [a, b; c, d]: half of a - d, and the square of half the distance of its eigenvalues.
template <typename T>
struct Block2 {
  Block2(const View<T>& h, int64_t at)
      : a(h(at, at)),
        b(h(at, at + 1)),
        c(h(at + 1, at)),
        d(h(at + 1, at + 1)),
        half((a - d) / 2),
        square(half * half + b * c) {}
  double a, b, c, d, half, square;
};

// The eigenvalues of the last two rows if they are complex, else twice the one nearer to the end.
template <typename T>
Shifts shifts_of_end(const View<T>& h, int64_t last) {
  const Block2<T> block(h, last - 1);
  if (block.square < 0) return {block.a + block.d, block.a * block.d - block.b * block.c};
  const double root = std::copysign(std::sqrt(block.square), block.half);
  const double far = block.half + root;
  const double nearer = block.d - (far == 0 ? 0 : block.b * block.c / far);
  return {2 * nearer, nearer * nearer};
}

// Turns rows and columns `at` and at + 1, so that a block with real eigenvalues becomes triangular.
template <typename T>
void split_block(const View<T>& h, const View<T>& q_rows, int64_t at) {
  const Block2<T> block(h, at);
  if (block.square < 0 || block.c == 0) return;
  const double x = block.half + std::copysign(std::sqrt(block.square), block.half);
  const double length = std::hypot(x, block.c), cosine = x / length, sine = block.c / length;
  rotate(h.row(at), h.row(at + 1), cosine, sine);
  rotate(h.col(at), h.col(at + 1), cosine, sine);
  if (q_rows.rows() > 0) rotate(q_rows.row(at), q_rows.row(at + 1), cosine, sine);
  h(at + 1, at) = T(0);
}

template <typename T>
bool small_schur(const View<T>& h, const View<T>& q_rows) {
  const double size = norm(h);
  int steps = 0;
  for (int64_t last = h.rows() - 1; last > 0;) {
    const int64_t first = first_of_block(h, last, size);
    if (last - first < 2) {
      if (last > first) split_block(h, q_rows, first);
      last = first - 1;
      steps = 0;
      continue;
    }
    if (++steps > kMostSteps) return false;
    poll();
    const Shifts shifts = steps % kUnusual == 0 ? unusual_shifts(h, last) : shifts_of_end(h, last);
    for (int64_t at = first - 1; at < last - 1; ++at) step(h, q_rows, at, first, last, shifts);
  }
  return true;
}

// What a large matrix and its Q^T become, window by window.
template <typename T>
class LargeSchur {
 public:
  LargeSchur(const View<T>& h, const View<T>& q_rows)
      : h_(h), q_rows_(q_rows), is_whole_(q_rows.rows() > 0) {}

  bool run() {
    const double size = norm(h_);
    int steps = 0;
    for (int64_t last = h_.rows() - 1; last > 0;) {
      const int64_t first = first_of_block(h_, last, size), rows = last + 1 - first;
      if (rows <= kSmall) {
        const Matrix<T> turns = identity(is_whole_ ? rows : 0);
        if (!small_schur<T>(h_.block(first, first, rows, rows), turns)) return false;
        if (is_whole_) turn_outside(first, last, turns, 0, h_.rows());
        last = first - 1;
        steps = 0;
        continue;
      }
      if (++steps > kMostSteps) return false;
      sweep(first, last, shifts(last, steps));
    }
    return true;
  }

 private:
  using ChainShifts = std::array<Shifts, kBulges>;

  static Matrix<T> identity(int64_t rows) {
    Matrix<T> made(rows, rows);
    set_identity<T>(made);
    return made;
  }

  // The eigenvalues of as many rows at the end as the chain has shifts.
  ChainShifts shifts(int64_t last, int steps) const {
    ChainShifts result;
    constexpr int64_t kRows = 2 * kBulges;
    const int64_t begin = last + 1 - kRows;
    const Matrix<double> end(kRows, kRows);
    for (int64_t i = 0; i < kRows; ++i) {
      for (int64_t j = 0; j < kRows; ++j) end(i, j) = h_(begin + i, begin + j);
    }
    if (steps % kUnusual == 0 || !small_schur<double>(end, {})) {
      for (int64_t i = 0; i < kBulges; ++i) {
        result[static_cast<size_t>(i)] = unusual_shifts(h_, last - 2 * i);
      }
      return result;
    }
    size_t count = 0;
    double other = 0;
    bool has_other = false;  // a real one
    for (const std::complex<double> value : schur_values<double>(end)) {
      if (value.imag() < 0) continue;
      if (value.imag() > 0) {
        result[count++] = {2 * value.real(), std::norm(value)};
      } else if (has_other) {
        result[count++] = {other + value.real(), other * value.real()};
      }
      if (value.imag() == 0) {
        has_other = !has_other;
        other = value.real();
      }
    }
    return result;
  }

  // Takes the chain through rows [first, last].
  void sweep(int64_t first, int64_t last, const ChainShifts& shifts) {
    const int64_t steps = last - first, delay = kSpacing * (kBulges - 1);
    for (int64_t begin = 0; begin < steps + delay; begin += kSteps) {
      poll();
      const int64_t end = std::min(begin + kSteps, steps + delay);
      const int64_t top = std::max(first, first - 1 + begin - delay);
      const int64_t bottom = std::min(last, first - 1 + end - 1 + 4);
      const int64_t rows = bottom + 1 - top;
      const View<T> window = h_.block(top, top, rows, rows);
      const Matrix<T> turns = identity(rows);
      for (int64_t time = begin; time < end; ++time) {
        for (int64_t i = 0; i < kBulges; ++i) {
          const int64_t at = time - kSpacing * i;
          if (at < 0 || at >= steps) continue;
          step<T>(window, turns, first - 1 + at - top, first - top, last - top,
                  shifts[static_cast<size_t>(i)]);
        }
      }
      turn_outside(top, bottom, turns, is_whole_ ? 0 : first, is_whole_ ? h_.rows() : last + 1);
    }
  }

  // Rows [top, bottom] and these columns of all but the window itself, in rows from `begin` and
  // columns up to `end`.
  void turn_outside(int64_t top, int64_t bottom, const View<T>& turns, int64_t begin, int64_t end) {
    const int64_t rows = bottom + 1 - top;
    multiply(turns, h_.block(top, bottom + 1, rows, end - bottom - 1));
    if (is_whole_) multiply(turns, q_rows_.block(top, 0, rows, q_rows_.cols()));
    const View<T> above = h_.block(begin, top, top - begin, rows);
    copy<T>(product<T>(above, turns.transposed()), above);
  }

  static void multiply(const View<T>& turns, const View<T>& a) { copy<T>(product<T>(turns, a), a); }

  View<T> h_, q_rows_;
  bool is_whole_;  // else eigenvalues alone are wanted
};

}  // namespace

template <typename T>
bool to_schur(const View<T>& a, const View<T>& q_rows) {
  const int64_t n = a.rows(), others = std::max<int64_t>(0, n - 1);
  const Columns<T> columns(a);
  const std::vector<T> tau = to_hessenberg<T>(columns);
  if (q_rows.rows() > 0) {
    set_identity<T>(q_rows);
    const View<T> q = q_rows.transposed();
    apply_reflections<T>(columns.block(n - others, 0, others, others), tau.data(), false,
                         q.block(n - others, 0, others, n));
  }
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) a(i, j) = i > j + 1 ? T(0) : columns(i, j);
  }
  return n <= kSmall ? small_schur(a, q_rows) : LargeSchur<T>(a, q_rows).run();
}

template <typename T>
std::vector<std::complex<double>> schur_values(const View<T>& t) {
  std::vector<std::complex<double>> values;
  for (int64_t i = 0; i < t.rows(); ++i) {
    if (i + 1 == t.rows() || t(i + 1, i) == T(0)) {
      values.emplace_back(t(i, i));
      continue;
    }
    const Block2<T> block(t, i++);
    const std::complex<double> value((block.a + block.d) / 2,
                                     std::sqrt(std::max(0.0, -block.square)));
    values.push_back(value);
    values.push_back(std::conj(value));
  }
  return values;
}

template <typename T>
Matrix<T> schur_vectors(const View<T>& t) {
  using C = std::complex<double>;
  const int64_t n = t.rows();
  const std::vector<C> values = schur_values(t);
  const Matrix<T> columns = adjoint_of<T>(t);  // contiguous
  // Eigenvalues nearer to each other than this are as far apart as this.
  const double smallest =
      std::max(std::numeric_limits<T>::epsilon() * norm(t), double{std::numeric_limits<T>::min()});
  constexpr double kLarge = 1e15;
  Matrix<T> vectors(n, n);
  for (int64_t j = n - 1; j >= 0; --j) {
    poll();
    const C value = values[static_cast<size_t>(j)];
    const bool is_pair = value.imag() != 0;
    const int64_t first = j - is_pair;  // of the block
    const Vector<T> re = vectors.row(first), im = vectors.row(is_pair ? j : first);
    // Sets element i, and adds it times column i of T to the elements above `end`.
    const auto set = [&](int64_t i, C x, int64_t end) {
      const Vector<T> column = columns.row(i).head(end);
      re[i] = static_cast<T>(x.real());
      add_scaled(re[i], column, re.head(end));
      if (!is_pair) return;
      im[i] = static_cast<T>(x.imag());
      add_scaled(im[i], column, im.head(end));
    };
    const C shift = is_pair ? std::conj(value) : value;  // the one above the real axis
    if (is_pair) {
      const C x = (shift - double{t(j, j)}) / double{t(j, first)};
      const double size = std::max(1.0, std::abs(x));
      set(first, x / size, first);
      set(j, 1 / size, first);
    } else {
      set(j, 1, j);
    }
    for (int64_t i = first - 1; i >= 0; --i) {
      const auto rest = [&](int64_t at) {
        return -C(double{re[at]}, is_pair ? double{im[at]} : 0.0);
      };
      const bool is_block = i > 0 && t(i, i - 1) != T(0);
      C x[2];
      if (is_block) {
        const C a = double{t(i - 1, i - 1)} - shift, d = double{t(i, i)} - shift;
        const double b = t(i - 1, i), c = t(i, i - 1);
        C determinant = a * d - b * c;
        if (std::abs(determinant) < smallest * smallest) determinant = smallest * smallest;
        x[0] = (rest(i - 1) * d - b * rest(i)) / determinant;
        x[1] = (rest(i) * a - c * rest(i - 1)) / determinant;
      } else {
        C gap = double{t(i, i)} - shift;
        if (std::abs(gap) < smallest) gap = smallest;
        x[1] = rest(i) / gap;
      }
      const double size = std::max(std::abs(x[0]), std::abs(x[1]));
      if (size > kLarge) {
        x[0] /= size;
        x[1] /= size;
        scale(re, static_cast<T>(1 / size));
        if (is_pair) scale(im, static_cast<T>(1 / size));
      }
      const int64_t end = i - is_block;
      set(i, x[1], end);
      if (is_block) set(--i, x[0], end);
    }
    j = first;
  }
  return vectors;
}

#define TORCHLET_SCHUR(T)                                                  \
  template bool to_schur(const View<T>&, const View<T>&);                  \
  template std::vector<std::complex<double>> schur_values(const View<T>&); \
  template Matrix<T> schur_vectors(const View<T>&)
TORCHLET_SCHUR(float);
TORCHLET_SCHUR(double);
#undef TORCHLET_SCHUR

}  // namespace torchlet::ops::linalg
