#include "ops/linalg/bands.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "base/limits.h"
#include "base/sort.h"

namespace torchlet::ops::linalg {
namespace {

constexpr double kEpsilon = 2.2e-16, kTiny = 1e-150;
// For each value: two are usual, but tiny ones near each other take many.
constexpr int kMaxSteps = 1000;

// The rotation that brings (x, y) to (length, 0), for numbers of which the largest is about 1.
struct Turn {
  Turn(double x, double y) : length(std::sqrt(x * x + y * y)) {
    if (const double scale = 1 / length; length > kTiny) c = x * scale, s = y * scale;
  }
  double length, c = 1, s = 0;
};

// The eigenvalue of [a b; b c] that is nearer to c.
double last_eigenvalue(double a, double b, double c) {
  const double half = (a - c) / 2, root = std::sqrt(half * half + b * b);
  return root == 0 ? c : c - b * (b / (half + (half < 0 ? -root : root)));
}

// Makes what is beside the diagonal vanish by steps(low, high) over blocks where it does not.
template <typename Step>
void iterate(Reals& d, Reals& e, const char* name, const Step& step) {
  double size = 0;
  for (const double x : d) size = std::max(size, std::abs(x));
  for (const double x : e) size = std::max(size, std::abs(x));
  if (size == 0) return;
  for (double& x : d) x /= size;
  for (double& x : e) x /= size;
  int steps = 0;
  for (size_t high = d.empty() ? 0 : d.size() - 1; high > 0;) {
    size_t low = high;
    while (low > 0 && std::abs(e[low - 1]) > kEpsilon) --low;
    if (low == high) {
      --high;
      steps = 0;
      continue;
    }
    poll();
    TORCHLET_CHECK(++steps < kMaxSteps, "%s: the iteration did not converge", name);
    step(low, high);
  }
  for (double& x : d) x *= size;
}

// Eigenvalues, by implicit QR steps.
void diagonalise_tridiagonal(Reals& d, Reals& e, TurnColumns turn_q) {
  iterate(d, e, "linalg.eigh", [&](size_t low, size_t high) {
    double x = d[low] - last_eigenvalue(d[high - 1], e[high - 1], d[high]), y = e[low];
    for (size_t i = low; i < high; ++i) {
      const Turn turn(x, y);
      if (i > low) e[i - 1] = turn.length;
      const double first = d[i], second = d[i + 1], c = turn.c, s = turn.s;
      const double both = 2 * c * s * e[i];
      d[i] = c * c * first + both + s * s * second;
      d[i + 1] = s * s * first - both + c * c * second;
      e[i] = c * s * (second - first) + (c * c - s * s) * e[i];
      x = e[i];
      if (i + 1 < high) {
        y = s * e[i + 1];
        e[i + 1] *= c;
      }
      turn_q(i, c, s);
    }
  });
}

// What is beside the diagonal becomes part of the first and the last of two halves, whose spectra
// are merged (Cuppen 1981).
constexpr int64_t kLeaf = 32;

// ---- D + rho z z^T with D diagonal and ascending, rho > 0, and no z near zero ----

struct Secular {
  Reals d, z;
  double rho;
  double precision;  // of the roots
};

// An eigenvalue as what is added to the nearest of d: the differences from the others are exact.
struct Root {
  size_t pole = 0;
  double offset = 0;
};
double difference(const Secular& s, size_t j, const Root& root) {
  return (s.d[j] - s.d[root.pole]) - root.offset;
}

// The sums of z^2 / (d - x) over the poles up to one and beyond it, and their derivatives.
struct Sum {
  double value = 0, slope = 0;
};
struct Sums {
  Sum low, high;
};
Sums sums_at(const Secular& s, const Root& x, size_t low_count) {
  const double *d = s.d.data(), *z = s.z.data();
  const double pole = d[x.pole], offset = x.offset;
  const auto sum_of = [=](size_t first, size_t last) {
    Sum even, odd;  // independent of each other, so that divisions overlap
    size_t j = first;
    for (; j + 2 <= last; j += 2) {
      const double r = z[j] / ((d[j] - pole) - offset), q = z[j + 1] / ((d[j + 1] - pole) - offset);
      even.value += z[j] * r;
      odd.value += z[j + 1] * q;
      even.slope += r * r;
      odd.slope += q * q;
    }
    if (j < last) {
      const double r = z[j] / ((d[j] - pole) - offset);
      even.value += z[j] * r;
      even.slope += r * r;
    }
    return Sum{even.value + odd.value, even.slope + odd.slope};
  };
  return {sum_of(0, low_count), sum_of(low_count, s.d.size())};
}

// A root of c x^2 - a x + b: the one that lies between the two poles where this comes from, or, if
// `beyond`, to the right of both.
double quadratic_root(double c, double a, double b, bool beyond) {
  const double root = std::sqrt(std::max(0.0, a * a - 4 * b * c));
  if (beyond) return a >= 0 ? (a + root) / (2 * c) : 2 * b / (a - root);
  return a > 0 ? 2 * b / (a + root) : (a - root) / (2 * c);
}

// The root of 1 / rho + sum of z^2 / (d - x) between d[i] and d[i + 1], or beyond the last, by
// rational functions of the two poles that agree with both sums and their slopes (Li 1993).
Root root_of(const Secular& s, size_t i) {
  const size_t count = s.d.size();
  const bool last = i + 1 == count;
  double reach = 0;
  if (last) {
    for (const double z : s.z) reach += s.rho * z * z;
    if (count == 1) return {0, reach};
  } else {
    reach = s.d[i + 1] - s.d[i];
  }
  const size_t p = last ? i - 1 : i, q = p + 1;
  Root x{i, reach / 2};
  Sums sums = sums_at(s, x, q);
  double f = 1 / s.rho + sums.low.value + sums.high.value, low = 0, high = reach;
  const double dp = difference(s, p, x), dq = difference(s, q, x);
  // At first with what the other poles come to in the middle.
  const double others = f - s.z[p] * s.z[p] / dp - s.z[q] * s.z[q] / dq;
  (f < 0 ? low : high) = x.offset;
  if (!last && f < 0) x.pole = q, low -= reach, high -= reach;
  const double to_p = s.d[p] - s.d[x.pole], to_q = s.d[q] - s.d[x.pole];
  const double zp = s.z[p] * s.z[p], zq = s.z[q] * s.z[q];
  double next =
      quadratic_root(others, others * (to_p + to_q) + zp + zq, zp * to_q + zq * to_p, last);
  for (int steps = 0; steps < 200; ++steps) {
    if (!(next > low && next < high)) next = low + (high - low) / 2;
    if (next == low || next == high) break;
    x.offset = next;
    sums = sums_at(s, x, q);
    f = 1 / s.rho + sums.low.value + sums.high.value;
    const double slope = sums.low.slope + sums.high.slope;
    const double terms = 1 / s.rho + std::abs(sums.low.value) + std::abs(sums.high.value);
    if (std::abs(f) <=
        kEpsilon * ((8 + static_cast<double>(count) / 8) * terms + std::abs(x.offset) * slope)) {
      break;
    }
    (f < 0 ? low : high) = x.offset;
    const double a = difference(s, p, x), b = difference(s, q, x);
    next = x.offset + quadratic_root(f - a * sums.low.slope - b * sums.high.slope,
                                     (a + b) * f - a * b * slope, a * b * f, last);
    if (next == x.offset) break;
  }
  return x;
}

// The eigenvalues, and the eigenvectors in the rows of `vectors`, element j in column places[j].
// The vectors are those of a z for which the roots are exact, so they are orthogonal however near
// to each other the roots are (Gu and Eisenstat 1994).
template <typename T>
Reals solve_secular(Secular& s, const std::vector<int64_t>& places, const View<T>& vectors) {
  const size_t count = s.d.size();
  std::vector<Root> roots(count);
  Reals values(count), squares(count, 1.0), vector(count);
  const double* d = s.d.data();
  for (size_t i = 0; i < count; ++i) {
    poll();
    const Root root = roots[i] = root_of(s, i);
    values[i] = d[root.pole] + root.offset;
    const double pole = d[root.pole], own = d[i];
    double* square = squares.data();
    for (size_t j = 0; j < count; ++j) {
      const double gap = (d[j] - pole) - root.offset;
      square[j] *= j == i ? gap : gap / (d[j] - own);
    }
  }
  for (size_t j = 0; j < count; ++j) {
    s.z[j] = std::copysign(std::sqrt(std::abs(squares[j])), s.z[j]);
  }
  const double* z = s.z.data();
  for (size_t i = 0; i < count; ++i) {
    poll();
    double sum = 0;
    const double pole = d[roots[i].pole], offset = roots[i].offset;
    double* x = vector.data();
    for (size_t j = 0; j < count; ++j) {
      x[j] = z[j] / ((d[j] - pole) - offset);
      sum += x[j] * x[j];
    }
    const double factor = 1 / std::sqrt(sum);
    const Vector<T> row = vectors.row(static_cast<int64_t>(i));
    for (size_t j = 0; j < count; ++j) row.data[places[j]] = static_cast<T>(factor * x[j]);
  }
  return values;
}

std::vector<int64_t> ascending_places(const Reals& values) {
  std::vector<int64_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  stable_sort(order, [&](int64_t a, int64_t b) {
    return values[static_cast<size_t>(a)] < values[static_cast<size_t>(b)];
  });
  return order;
}

template <typename T>
void copy_vector(Vector<T> from, Vector<T> to) {
  for (int64_t i = 0; i < from.size; ++i) to[i] = from[i];
}

// The spectrum of diag(d) + rho z z^T, where z is what follows from the rows of `q`, which are the
// eigenvectors of two halves: the first `half` rows have nothing beyond column `half`, the others
// nothing before it. |z|^2 is 2.
template <typename T>
void merge(Reals& d, int64_t half, double beside, const View<T>& q) {
  const int64_t n = q.rows();
  const double rho = 2 * std::abs(beside);
  Reals z;
  double size = 1;
  for (int64_t j = 0; j < n; ++j) {
    const double end = j < half ? q(j, half - 1) : q(j, half);
    z.push_back((j >= half && beside < 0 ? -end : end) * std::sqrt(0.5));
    size = std::max(size, std::abs(d[static_cast<size_t>(j)]));
  }
  const double tolerance = 4 * std::numeric_limits<T>::epsilon() * size;

  // What has no share in z stays, and of two values that are next to equal one gets it all.
  enum : uint8_t { kTop = 1, kBottom = 2 };
  std::vector<uint8_t> sides;
  for (int64_t j = 0; j < n; ++j) sides.push_back(j < half ? kTop : kBottom);
  std::vector<int64_t> kept, settled;
  int64_t open = -1;
  for (const int64_t j : ascending_places(d)) {
    const auto y = static_cast<size_t>(j);
    if (rho * std::abs(z[y]) <= tolerance) {
      settled.push_back(j);
      continue;
    }
    if (open >= 0) {
      const auto x = static_cast<size_t>(open);
      const double length = std::hypot(z[x], z[y]), c = z[y] / length, s = -z[x] / length;
      if (std::abs((d[y] - d[x]) * c * s) <= tolerance) {
        rotate(q.row(open), q.row(j), c, s);
        const double first = d[x], second = d[y];
        d[x] = first * c * c + second * s * s;
        d[y] = first * s * s + second * c * c;
        z[y] = length;
        sides[y] |= sides[x];
        settled.push_back(open);
      } else {
        kept.push_back(open);
      }
    }
    open = j;
  }
  if (open >= 0) kept.push_back(open);

  // In an order in which those that have nothing at the bottom come first and those that have
  // nothing at the top last, so that products leave out what is zero.
  const auto count = static_cast<int64_t>(kept.size());
  std::vector<int64_t> places(kept.size());
  int64_t ends[4] = {};  // of those of each kind
  for (int64_t place = 0; const int kind : {int{kTop}, kTop | kBottom, int{kBottom}}) {
    for (size_t j = 0; j < kept.size(); ++j) {
      if (sides[static_cast<size_t>(kept[j])] == kind) places[j] = place++;
    }
    ends[kind] = place;
  }
  const int64_t top_count = ends[kTop | kBottom], bottom_first = ends[kTop];
  const Matrix<T> top(top_count, half), bottom(count - bottom_first, n - half),
      shares(count, count), turned(count, n), others(n - count, n);
  Secular secular{{}, {}, rho, std::numeric_limits<T>::epsilon() / 8};
  for (size_t j = 0; j < kept.size(); ++j) {
    const Vector<T> row = q.row(kept[j]);
    secular.d.push_back(d[static_cast<size_t>(kept[j])]);
    secular.z.push_back(z[static_cast<size_t>(kept[j])]);
    if (places[j] < top_count) copy_vector(row.head(half), top.row(places[j]));
    if (places[j] >= bottom_first) {
      copy_vector(row.from(half), bottom.row(places[j] - bottom_first));
    }
  }
  Reals values = solve_secular<T>(secular, places, shares);
  add_product<T>(shares.block(0, 0, count, top_count), top, turned.block(0, 0, count, half));
  add_product<T>(shares.block(0, bottom_first, count, count - bottom_first), bottom,
                 turned.block(0, half, count, n - half));
  for (int64_t j = 0; const int64_t from : settled) {
    values.push_back(d[static_cast<size_t>(from)]);
    copy_vector(q.row(from), others.row(j++));
  }
  for (int64_t j = 0; const int64_t from : ascending_places(values)) {
    d[static_cast<size_t>(j)] = values[static_cast<size_t>(from)];
    copy_vector(from < count ? turned.row(from) : others.row(from - count), q.row(j++));
  }
}

// The largest of d and e is about 1.
template <typename T>
void divide(Reals& d, Reals e, const View<T>& q) {
  const int64_t n = q.rows(), half = n / 2;
  if (n <= kLeaf) {
    const Matrix<double> vectors(n, n);
    set_identity<double>(vectors);
    diagonalise_tridiagonal(d, e, [&](size_t k, double c, double s) {
      const auto row = static_cast<int64_t>(k);
      rotate(vectors.row(row), vectors.row(row + 1), c, s);
    });
    const Reals values = d;
    for (int64_t j = 0; const int64_t from : ascending_places(values)) {
      d[static_cast<size_t>(j)] = values[static_cast<size_t>(from)];
      for (int64_t i = 0; i < n; ++i) q(j, i) = static_cast<T>(vectors(from, i));
      ++j;
    }
    return;
  }
  const auto middle = static_cast<std::ptrdiff_t>(half);
  const double beside = e[static_cast<size_t>(half) - 1];
  Reals first(d.begin(), d.begin() + middle), second(d.begin() + middle, d.end());
  first.back() -= std::abs(beside);
  second.front() -= std::abs(beside);
  divide<T>(first, Reals(e.begin(), e.begin() + middle - 1), q.block(0, 0, half, half));
  divide<T>(second, Reals(e.begin() + middle, e.end()), q.block(half, half, n - half, n - half));
  std::ranges::copy(second, std::ranges::copy(first, d.begin()).out);
  merge(d, half, beside, q);
}

}  // namespace

// By implicit QR steps on B^T B (Golub and Kahan 1965).
void bidiagonal_values(Reals& d, Reals& e, TurnColumns turn_u, TurnColumns turn_v) {
  iterate(d, e, "linalg.svd", [&](size_t low, size_t high) {
    // Without a shift where a value vanishes, which then goes to the end.
    bool shifted = true;
    for (size_t i = low; i <= high; ++i) shifted = shifted && std::abs(d[i]) > kEpsilon;
    double x = d[low], y = e[low];
    if (shifted) {
      const double before = high - 1 > low ? e[high - 2] : 0;
      x -= last_eigenvalue(d[high - 1] * d[high - 1] + before * before, d[high - 1] * e[high - 1],
                           d[high] * d[high] + e[high - 1] * e[high - 1]) /
           d[low];
    }
    for (size_t i = low; i < high; ++i) {
      const Turn right(x, y);
      if (i > low) e[i - 1] = right.length;
      x = right.c * d[i] + right.s * e[i];
      e[i] = right.c * e[i] - right.s * d[i];
      y = right.s * d[i + 1];
      d[i + 1] *= right.c;
      turn_v(i, right.c, right.s);
      const Turn left(x, y);
      d[i] = left.length;
      x = left.c * e[i] + left.s * d[i + 1];
      d[i + 1] = left.c * d[i + 1] - left.s * e[i];
      if (i + 1 < high) {
        y = left.s * e[i + 1];
        e[i + 1] *= left.c;
      }
      turn_u(i, left.c, left.s);
    }
    e[high - 1] = x;
  });
}

// Implicit QR steps without square roots (Pal, Walker and Kahan; Parlett, The Symmetric Eigenvalue
// Problem, 8.15) on the squares of what is beside the diagonal.
Reals tridiagonal_values(Reals d, Reals e) {
  double size = 0;
  for (const double x : d) size = std::max(size, std::abs(x));
  for (const double x : e) size = std::max(size, std::abs(x));
  if (size == 0) return d;
  for (double& x : d) x /= size;
  for (double& x : e) x = (x / size) * (x / size);
  int steps = 0;
  for (size_t high = d.empty() ? 0 : d.size() - 1; high > 0;) {
    size_t low = high;
    while (low > 0 && e[low - 1] > kEpsilon * kEpsilon) --low;
    if (low == high) {
      --high;
      steps = 0;
      continue;
    }
    poll();
    TORCHLET_CHECK(++steps < kMaxSteps, "linalg.eigh: the iteration did not converge");
    const double half = (d[high - 1] - d[high]) / 2, last = e[high - 1];
    const double root = std::sqrt(half * half + last);
    const double shift = d[high] - last / (half + (half < 0 ? -root : root));
    double c = 1, s = 0, gamma = d[low] - shift, p = gamma * gamma;
    for (size_t i = low; i < high; ++i) {
      const double square = e[i], r = p + square, before = gamma, last_c = c;
      if (i > low) e[i - 1] = s * r;
      c = p / r;
      s = square / r;
      gamma = c * (d[i + 1] - shift) - s * before;
      d[i] = before + (d[i + 1] - gamma);
      p = p > kTiny ? gamma * gamma * (r / p) : last_c * square;  // no division waits for c
    }
    e[high - 1] = s * p;
    d[high] = shift + gamma;
  }
  for (double& x : d) x *= size;
  return d;
}

template <typename T>
void tridiagonal_vectors(Reals& d, Reals e, const View<T>& vectors) {
  double size = 0, sum = 0;
  for (const Reals* part : {&d, &e}) {
    for (const double x : *part) size = std::max(size, std::abs(x)), sum += x;
  }
  if (!std::isfinite(sum)) {
    std::ranges::fill(d, sum - sum);
    return fill(vectors, static_cast<T>(sum - sum));
  }
  if (size == 0) size = 1;
  for (double& x : d) x /= size;
  for (double& x : e) x /= size;
  divide<T>(d, std::move(e), vectors);
  for (double& x : d) x *= size;
}

template void tridiagonal_vectors(Reals&, Reals, const View<float>&);
template void tridiagonal_vectors(Reals&, Reals, const View<double>&);

}  // namespace torchlet::ops::linalg
