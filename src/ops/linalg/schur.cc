#include "ops/linalg/schur.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "base/limits.h"
#include "base/sort.h"
#include "kernels/gemm/vectors.h"
#include "ops/linalg/reductions.h"

namespace torchlet::ops::linalg {
namespace {

// Francis' implicit QR steps with two shifts at a time: a bulge of 3 x 3 below the diagonal, chased
// to the end of the matrix. Of large matrices a chain of bulges goes at once, and what it does to a
// window on the diagonal is gathered, so that all outside of the window changes by products; and a
// window at the end tells eigenvalues before they show beside the diagonal (Braman, Byers and
// Mathias, "The multishift QR algorithm", parts I and II, 2002).
constexpr int64_t kSmall = 100;      // rows that no chain is worth its products for
constexpr int64_t kBulges = 8;       // of a chain,
constexpr int64_t kLarge = 350;      // and of a matrix of so many rows
constexpr int64_t kMoreBulges = 16;  // these
constexpr int64_t kSpacing = 3;      // rows from a bulge to the next, and of a window for each
constexpr int64_t kEnough = 14;      // percent of a window that are worth another, without a chain
constexpr int kMostSteps = 300;      // for an eigenvalue
constexpr int kUnusual = 10;         // steps after which shifts are tried that no matrix expects

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

template <typename T>
void multiply(const Matrix<T>& turns, const View<T>& a) {
  copy<T>(product<T>(turns, a), a);
}

// What changes the places of the two blocks of a triangle [2 to 4 rows], the first of which has `p`
// rows: `turns` (the triangle) turns^T is `swapped` (Bai and Demmel, "On swapping diagonal blocks
// in real Schur form", 1993).
struct Swap {
  Matrix<double> turns, swapped;
};
Swap swap_of(const View<double>& triangle, int64_t p) {
  const int64_t rows = triangle.rows(), q = rows - p, unknowns = p * q;
  // A X - X B = C for what is beside the blocks A and B: then [-X; I] spans what belongs to B.
  const Matrix<double> equations(unknowns, unknowns), x(unknowns, 1);
  for (int64_t i = 0; i < p; ++i) {
    for (int64_t j = 0; j < q; ++j) {
      const int64_t row = i * q + j;
      for (int64_t k = 0; k < p; ++k) equations(row, k * q + j) += triangle(i, k);
      for (int64_t k = 0; k < q; ++k) equations(row, i * q + k) -= triangle(p + k, p + j);
      x(row, 0) = triangle(i, p + j);
    }
  }
  int32_t pivots[4];
  factor_lu<double>(equations, pivots, true);
  for (int64_t k = 0; k < unknowns; ++k) swap(x.row(k), x.row(pivots[k] - 1));
  solve_triangular<double>(equations, false, true, x);
  solve_triangular<double>(equations, true, false, x);
  const Matrix<double> span(rows, q);
  for (int64_t j = 0; j < q; ++j) {
    for (int64_t i = 0; i < p; ++i) span(i, j) = -x(i * q + j, 0);
    span(p + j, j) = 1;
  }
  double tau[2];
  factor_qr<double>(span, tau);
  Matrix<double> turns(rows, rows);
  set_identity<double>(turns);
  apply_reflections<double>(span, tau, true, turns);
  Matrix<double> swapped = product<double>(turns, product<double>(triangle, turns.transposed()));
  return {std::move(turns), std::move(swapped)};
}

template <typename From, typename To>
void convert(const View<From>& from, const View<To>& to) {
  for (int64_t i = 0; i < to.rows(); ++i) {
    for (int64_t j = 0; j < to.cols(); ++j) to(i, j) = static_cast<To>(from(i, j));
  }
}

// Changes the places of two blocks of `p` and `q` rows, 1 or 2, the first of which is at `at` on
// the diagonal of a triangle. False, and nothing has changed, if they are too near to each other.
template <typename T>
bool swap_blocks(const View<T>& t, const View<T>& q_rows, int64_t at, int64_t p, int64_t q) {
  const int64_t rows = p + q;
  const Matrix<double> blocks(rows, rows);
  convert<T, double>(t.block(at, at, rows, rows), blocks);
  const Swap found = swap_of(blocks, p);
  const View<double> left = found.swapped.block(q, 0, p, q);
  if (!(norm(left) <= 10 * std::numeric_limits<T>::epsilon() * norm<double>(blocks))) return false;
  fill(left, 0.0);
  const Matrix<T> turns(rows, rows);
  convert<double, T>(found.turns, turns);
  multiply(turns, t.block(at, at + rows, rows, t.cols() - at - rows));
  multiply(turns, q_rows.block(at, 0, rows, q_rows.cols()));
  const View<T> above = t.block(0, at, at, rows);
  copy<T>(product<T>(above, turns.transposed()), above);
  convert<double, T>(found.swapped, t.block(at, at, rows, rows));
  if (q == 2) split_block(t, q_rows, at);
  if (p == 2) split_block(t, q_rows, at + q);
  return true;
}

// Rows of the block at `at` of a triangle, or of the one that ends before it.
template <typename T>
int64_t block_rows(const View<T>& t, int64_t at) {
  return at + 1 < t.rows() && t(at + 1, at) != T(0) ? 2 : 1;
}
template <typename T>
int64_t block_rows_before(const View<T>& t, int64_t at) {
  return at >= 2 && t(at - 1, at - 2) != T(0) ? 2 : 1;
}

// Brings the block at `at` up to row `to`. False if it got stuck or fell apart on its way.
template <typename T>
bool move_block(const View<T>& t, const View<T>& q_rows, int64_t at, int64_t to) {
  const int64_t rows = block_rows(t, at);
  while (at > to) {
    const int64_t before = block_rows_before(t, at);
    if (!swap_blocks(t, q_rows, at - before, before, rows)) return false;
    at -= before;
    if (block_rows(t, at) != rows) return false;
  }
  return true;
}

// What a large matrix and its Q^T become, window by window.
template <typename T>
class LargeSchur {
 public:
  LargeSchur(const View<T>& h, const View<T>& q_rows)
      : h_(h),
        q_rows_(q_rows),
        is_whole_(q_rows.rows() > 0),
        bulges_(h.rows() < kLarge ? kBulges : kMoreBulges),
        window_(kSpacing * bulges_) {}

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
      shifts_.clear();
      const int64_t found = steps % kUnusual == 0 ? 0 : deflate(first, last);
      last -= found;
      if (found > 0) steps = 0;
      if (100 * found > kEnough * window_ || last + 1 - first <= kSmall) continue;
      for (int64_t i = 0; shifts_.empty() && i < bulges_; ++i) {
        shifts_.push_back(unusual_shifts(h_, last - 2 * i));
      }
      sweep(first, last);
    }
    return true;
  }

 private:
  static Matrix<T> identity(int64_t rows) {
    Matrix<T> made(rows, rows);
    set_identity<T>(made);
    return made;
  }

  // Takes those eigenvalues of the window at the end that are eigenvalues of the whole but for
  // roundings, and returns how many. Those of its others become the shifts.
  int64_t deflate(int64_t first, int64_t last) {
    const int64_t top = last + 1 - window_;
    const View<T> window = h_.block(top, top, window_, window_);
    const Matrix<T> t = copied(window), turns = identity(window_);
    if (!small_schur<T>(t, turns)) return 0;
    T& beside = h_(top, top - 1);  // the column before the window becomes this times turns' first
    int64_t kept = window_;
    for (int64_t moved = 0; moved < kept;) {
      const int64_t rows = block_rows_before<T>(t, kept), at = kept - rows;
      double own = std::abs(double{t(at, at)}), spike = 0;
      if (rows == 2) own += std::sqrt(std::abs(double{t(at, at + 1)} * t(at + 1, at)));
      for (int64_t i = at; i < kept; ++i) {
        spike = std::max(spike, std::abs(double{beside} * turns(i, 0)));
      }
      constexpr double kEps = std::numeric_limits<T>::epsilon();
      if (spike <= kEps * (own == 0 ? std::abs(double{beside}) : own)) {
        kept = at;
      } else if (move_block<T>(t, turns, at, moved)) {
        moved += rows;
      } else {
        break;
      }
    }
    collect_shifts(schur_values<T>(t.block(0, 0, kept, kept)));
    if (kept == window_) return 0;
    // What is left, with the spike before it, becomes Hessenberg again.
    const Columns<T> rest(kept + 1, kept + 1);
    for (int64_t i = 0; i < kept; ++i) {
      rest(i + 1, 0) = beside * turns(i, 0);
      for (int64_t j = 0; j < kept; ++j) rest(i + 1, j + 1) = t(i, j);
    }
    const std::vector<T> tau = to_hessenberg<T>(rest);
    const View<T> reflections = rest.block(1, 0, kept, kept);
    apply_reflections<T>(reflections, tau.data(), true, t.block(0, kept, kept, window_ - kept));
    apply_reflections<T>(reflections, tau.data(), true, turns.block(0, 0, kept, window_));
    for (int64_t i = 0; i < kept; ++i) {
      for (int64_t j = 0; j < kept; ++j) t(i, j) = i > j + 1 ? T(0) : rest(i + 1, j + 1);
    }
    beside = kept == 0 ? T(0) : rest(1, 0);
    copy<T>(t, window);
    turn_outside(top, last, turns, is_whole_ ? 0 : first, is_whole_ ? h_.rows() : last + 1);
    return window_ - kept;
  }

  // The smallest of these eigenvalues, as many as a chain has bulges for.
  void collect_shifts(const std::vector<std::complex<double>>& values) {
    std::vector<int64_t> order(values.size());
    std::iota(order.begin(), order.end(), 0);
    stable_sort(order, [&](int64_t a, int64_t b) {
      return std::norm(values[static_cast<size_t>(a)]) < std::norm(values[static_cast<size_t>(b)]);
    });
    double other = 0;
    bool has_other = false;  // a real one
    for (const int64_t i : order) {
      if (std::ssize(shifts_) == bulges_) return;
      const std::complex<double> value = values[static_cast<size_t>(i)];
      if (value.imag() > 0) {
        shifts_.push_back({2 * value.real(), std::norm(value)});
      } else if (has_other) {
        shifts_.push_back({other + value.real(), other * value.real()});
      }
      if (value.imag() == 0) {
        has_other = !has_other;
        other = value.real();
      }
    }
  }

  // Takes a bulge for each of the shifts through rows [first, last].
  void sweep(int64_t first, int64_t last) {
    const int64_t bulges = std::ssize(shifts_);
    const int64_t steps = last - first, delay = kSpacing * (bulges - 1);
    for (int64_t begin = 0; begin < steps + delay; begin += window_) {
      poll();
      const int64_t end = std::min(begin + window_, steps + delay);
      const int64_t top = std::max(first, first - 1 + begin - delay);
      const int64_t bottom = std::min(last, first - 1 + end - 1 + 4);
      const int64_t rows = bottom + 1 - top;
      const View<T> window = h_.block(top, top, rows, rows);
      const Matrix<T> turns = identity(rows);
      for (int64_t time = begin; time < end; ++time) {
        for (int64_t i = 0; i < bulges; ++i) {
          const int64_t at = time - kSpacing * i;
          if (at < 0 || at >= steps) continue;
          step<T>(window, turns, first - 1 + at - top, first - top, last - top,
                  shifts_[static_cast<size_t>(i)]);
        }
      }
      turn_outside(top, bottom, turns, is_whole_ ? 0 : first, is_whole_ ? h_.rows() : last + 1);
    }
  }

  // Rows [top, bottom] and these columns of all but the window itself, in rows from `begin` and
  // columns up to `end`.
  void turn_outside(int64_t top, int64_t bottom, const Matrix<T>& turns, int64_t begin,
                    int64_t end) {
    const int64_t rows = bottom + 1 - top;
    multiply(turns, h_.block(top, bottom + 1, rows, end - bottom - 1));
    if (is_whole_) multiply(turns, q_rows_.block(top, 0, rows, q_rows_.cols()));
    const View<T> above = h_.block(begin, top, top - begin, rows);
    copy<T>(product<T>(above, turns.transposed()), above);
  }

  View<T> h_, q_rows_;
  bool is_whole_;  // else eigenvalues alone are wanted
  int64_t bulges_, window_;
  std::vector<Shifts> shifts_;  // of the next sweep
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
  constexpr double kMost = 1e15;
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
      if (size > kMost) {
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
