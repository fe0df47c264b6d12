// Sequences and patterns: arange, linspace, logspace, eye, triangles of indices, windows, powers,
// one_hot.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "base/checked.h"
#include "ops/core/op.h"
#include "ops/creation/factory.h"
#include "ops/engines/compute.h"
#include "ops/math/math.h"
#include "ops/math/special_math.h"
#include "ops/shape/shape.h"

namespace torchlet::ops {
namespace {

using OptionalDType = std::optional<DType>;

// Writes value(i) to out[i]; out is 1-d with any strides. Values are double, int64_t or complex.
template <typename F>
void fill_with(const Tensor& out, const F& value) {
  using C = decltype(value(int64_t{0}));
  const Tensor wide = empty(out.sizes(), DTypeOf<C>::value);
  C* data = wide.data_ptr<C>();
  for (int64_t i = 0; i < wide.numel(); ++i) data[i] = value(i);
  out.copy_(wide);
}

// ---- arange, range ----

void check_range(const Scalar& start, const Scalar& end, const Scalar& step) {
  const double from = start.to_double(), to = end.to_double(), by = step.to_double();
  TORCHLET_CHECK(by != 0, "step must be nonzero");
  TORCHLET_CHECK(std::isfinite(from) && std::isfinite(to), "unsupported range: %g -> %g", from, to);
  TORCHLET_CHECK((by > 0 && to >= from) || (by < 0 && to <= from),
                 "upper bound and larger bound inconsistent with step sign");
}

Scalar as_integer(const Scalar& value) {
  return value.is_integral() ? Scalar(value.to_int()) : Scalar(saturating_int(value.to_double()));
}

void check_sequence_dtype(DType dtype, const char* name) {
  TORCHLET_CHECK(dtype != DType::kBool && !is_complex(dtype) && !is_quantized(dtype),
                 "\"%s\" not implemented for '%s'", name, dtype_name(dtype).data());
}

int64_t checked_length(double length) {
  TORCHLET_CHECK(length >= 0 && length < 0x1p62, "invalid size, possible overflow?");
  return static_cast<int64_t>(length);
}

// start, start + step, ...: in int64 for integer dtypes, else in double.
void fill_sequence(const Tensor& out, const Scalar& start, const Scalar& step) {
  if (is_integral(out.dtype(), false)) {
    const auto from = static_cast<uint64_t>(as_integer(start).to_int());
    const auto by = static_cast<uint64_t>(as_integer(step).to_int());
    fill_with(
        out, [=](int64_t i) { return static_cast<int64_t>(from + by * static_cast<uint64_t>(i)); });
  } else {
    const double from = start.to_double(), by = step.to_double();
    fill_with(out, [=](int64_t i) { return from + by * static_cast<double>(i); });
  }
}

int64_t arange_length(const Scalar& start, const Scalar& end, const Scalar& step, DType dtype) {
  if (dtype == DType::kInt64) {
    const Scalar from = as_integer(start), to = as_integer(end), by = as_integer(step);
    check_range(from, to, by);
    if (start.is_integral() && end.is_integral() && step.is_integral()) {
      int64_t span;
      TORCHLET_CHECK(!__builtin_sub_overflow(to.to_int(), from.to_int(), &span),
                     "invalid size, possible overflow?");
      const int64_t stride = by.to_int();
      return span / stride + (span % stride != 0);
    }
    return checked_length(std::ceil((to.to_double() - from.to_double()) / by.to_double()));
  }
  if (is_integral(dtype, false)) check_range(as_integer(start), as_integer(end), as_integer(step));
  check_range(start, end, step);
  return checked_length(std::ceil((end.to_double() - start.to_double()) / step.to_double()));
}

Tensor arange_into(Tensor out, const Scalar& start, const Scalar& end, const Scalar& step) {
  check_sequence_dtype(out.dtype(), "arange_cpu");
  const int64_t length = arange_length(start, end, step, out.dtype());
  if (out.numel() != length) resize_output(out, IntArray{length});
  fill_sequence(out.dim() == 1 ? out : view(out, IntArray{-1}), start, step);
  return out;
}

Tensor arange_step(const Scalar& start, const Scalar& end, const Scalar& step, OptionalDType dtype,
                   const Value& layout, const Value& device, const Value&) {
  const bool integral = start.is_integral() && end.is_integral() && step.is_integral();
  const DType fallback = integral ? DType::kInt64 : default_dtype();
  const Tensor out = empty(IntArray{0}, factory_dtype(dtype, layout, device, fallback));
  return arange_into(out, start, end, step);
}
Tensor arange_start(const Scalar& start, const Scalar& end, OptionalDType dtype,
                    const Value& layout, const Value& device, const Value& pin) {
  return arange_step(start, end, 1, dtype, layout, device, pin);
}
Tensor arange_end(const Scalar& end, OptionalDType dtype, const Value& layout, const Value& device,
                  const Value& pin) {
  return arange_step(0, end, 1, dtype, layout, device, pin);
}

// The older torch.range, which includes its end and is of the default dtype.
Tensor range_into(const Tensor& out, const Scalar& start, const Scalar& end, const Scalar& step) {
  check_sequence_dtype(out.dtype(), "range_cpu");
  check_range(start, end, step);
  const double count = (end.to_double() - start.to_double()) / step.to_double();
  const int64_t length = checked_length(std::floor(count) + 1);
  if (out.numel() != length) resize_output(out, IntArray{length});
  fill_sequence(out, start, step);
  return out;
}
Tensor range_step(const Scalar& start, const Scalar& end, const Scalar& step, OptionalDType dtype,
                  const Value& layout, const Value& device, const Value&) {
  return range_into(empty(IntArray{0}, factory_dtype(dtype, layout, device)), start, end, step);
}

// ---- linspace, logspace ----

// Counts from both ends, so that the last element is exactly `end`.
template <typename C>
auto spaced(C start, C end, int64_t steps) {
  const C step = steps > 1 ? (end - start) / static_cast<C>(static_cast<double>(steps - 1)) : C(0);
  return [=](int64_t i) {
    return i < steps / 2 ? start + step * static_cast<C>(static_cast<double>(i))
                         : end - step * static_cast<C>(static_cast<double>(steps - i - 1));
  };
}

// What a float becomes when it is stored as an integer and read again (int8 and uint8 wrap).
double stored(const Scalar& value, DType dtype) {
  return is_integral(dtype, false) ? scalar_of(scalar_tensor(value, dtype)).to_double()
                                   : value.to_double();
}

Tensor linspace_into(const Tensor& out, const Scalar& start, const Scalar& end, int64_t steps) {
  TORCHLET_CHECK(steps >= 0, "number of steps must be non-negative");
  TORCHLET_CHECK(out.dtype() != DType::kBool, "\"linspace_cpu\" not implemented for 'Bool'");
  resize_output(out, IntArray{steps});
  if (steps == 1) {
    out.copy_(scalar_tensor(start, out.dtype()));
  } else if (is_complex(out.dtype())) {
    fill_with(out, spaced(start.to_complex(), end.to_complex(), steps));
  } else {
    fill_with(out, spaced(stored(start, out.dtype()), stored(end, out.dtype()), steps));
  }
  return out;
}

Tensor logspace_into(const Tensor& out, const Scalar& start, const Scalar& end, int64_t steps,
                     double base) {
  TORCHLET_CHECK(steps >= 0, "number of steps must be non-negative");
  TORCHLET_CHECK(out.dtype() != DType::kBool, "\"logspace_cpu\" not implemented for 'Bool'");
  resize_output(out, IntArray{steps});
  if (is_complex(out.dtype())) {
    const auto exponent = spaced(start.to_complex(), end.to_complex(), steps);
    fill_with(out, [&](int64_t i) {
      return std::pow(std::complex<double>(base), steps == 1 ? start.to_complex() : exponent(i));
    });
    return out;
  }
  const double first = stored(start, out.dtype());
  const auto exponent = spaced(first, stored(end, out.dtype()), steps);
  fill_with(out, [&](int64_t i) { return std::pow(base, steps == 1 ? first : exponent(i)); });
  return out;
}

DType spaced_dtype(const Scalar& start, const Scalar& end) {
  return start.is_complex() || end.is_complex() ? DType::kComplex64 : default_dtype();
}

// ---- eye, triangles ----

Tensor eye_into(const Tensor& out, int64_t rows, int64_t columns) {
  TORCHLET_CHECK(rows >= 0, "n must be greater or equal to 0, got %lld",
                 static_cast<long long>(rows));
  TORCHLET_CHECK(columns >= 0, "m must be greater or equal to 0, got %lld",
                 static_cast<long long>(columns));
  resize_output(out, IntArray{rows, columns});
  out.copy_(scalar_tensor(0, out.dtype()));
  diagonal(out, 0, 0, 1).copy_(scalar_tensor(1, out.dtype()));
  return out;
}

// Elements of a matrix on and below a diagonal: rows of 1, 2 .. of them, then whole ones. `offset`
// is within the matrix, or one beyond.
int64_t count_below(int64_t rows, int64_t columns, int64_t offset) {
  const int64_t first = std::min(rows, std::max<int64_t>(0, -offset));  // row that has any
  const int64_t whole = std::clamp(columns - offset, first, rows);
  const int64_t shortest = first + offset + 1, longest = whole + offset;
  return (shortest + longest) * (whole - first) / 2 + (rows - whole) * columns;
}

// Row and column indices of the elements on and below (lower) or above the diagonal, as [2, count].
Tensor triangle_indices(int64_t rows, int64_t columns, int64_t offset, bool lower, DType dtype) {
  TORCHLET_CHECK(rows >= 0, "row must be non-negative, got %lld", static_cast<long long>(rows));
  TORCHLET_CHECK(columns >= 0, "col must be non-negative, got %lld",
                 static_cast<long long>(columns));
  TORCHLET_CHECK(dtype == DType::kInt64 || dtype == DType::kInt32,
                 "tril_indices and triu_indices are not implemented for '%s'",
                 dtype_name(dtype).data());
  const int64_t all = checked_mul(2, checked_mul(rows, columns)) / 2;  // count_below() doubles it
  offset = std::clamp(offset, -rows, columns);
  const int64_t below = count_below(rows, columns, lower ? offset : offset - 1);
  const int64_t count = lower ? below : all - below;
  const Tensor out = empty(IntArray{2, count}, DType::kInt64);
  if (count == 0) return out.to(dtype);
  int64_t* row_at = out.data_ptr<int64_t>();
  int64_t* column_at = row_at + count;
  const int64_t first_row = lower ? std::max<int64_t>(0, -offset) : 0;
  const int64_t last_row = lower ? rows : std::min(rows, columns - offset);
  for (int64_t row = first_row; row < last_row; ++row) {
    const int64_t begin = lower ? 0 : std::max<int64_t>(0, row + offset);
    const int64_t some = (lower ? std::min(columns, row + offset + 1) : columns) - begin;
    row_at = std::fill_n(row_at, some, row);
    std::iota(column_at, column_at + some, begin);
    column_at += some;
  }
  return out.to(dtype);
}

// ---- windows ----

// A window of `length` from f(n, count - 1), n = 0 .. length - 1; a periodic one is a symmetric one
// of one more point without its last.
template <typename F>
Tensor window_into(const Tensor& out, int64_t length, bool periodic, const char* name, const F& f) {
  TORCHLET_CHECK(is_floating_point(out.dtype()) || is_complex(out.dtype()),
                 "%s expects floating point dtypes, got: %s", name, dtype_name(out.dtype()).data());
  TORCHLET_CHECK(length >= 0, "%s requires non-negative window_length, got window_length=%lld",
                 name, static_cast<long long>(length));
  resize_output(out, IntArray{length});
  const auto last = static_cast<double>(periodic ? length : length - 1);
  fill_with(out, [&](int64_t n) {
    return length == 1 ? 1.0 : static_cast<double>(f(static_cast<double>(n), last));
  });
  return out;
}

constexpr double kTau = 2 * std::numbers::pi;

Tensor hamming_into(const Tensor& out, int64_t length, bool periodic, double alpha, double beta,
                    const char* name = "hamming_window") {
  return window_into(out, length, periodic, name, [=](double n, double last) {
    return alpha - beta * std::cos(kTau * n / last);
  });
}
Tensor hann_into(const Tensor& out, int64_t length, bool periodic) {
  return hamming_into(out, length, periodic, 0.5, 0.5, "hann_window");
}
Tensor hamming_default_into(const Tensor& out, int64_t length, bool periodic) {
  return hamming_into(out, length, periodic, 0.54, 0.46);
}
Tensor blackman_into(const Tensor& out, int64_t length, bool periodic) {
  return window_into(out, length, periodic, "blackman_window", [](double n, double last) {
    return 0.42 - 0.5 * std::cos(kTau * n / last) + 0.08 * std::cos(2 * kTau * n / last);
  });
}
Tensor bartlett_into(const Tensor& out, int64_t length, bool periodic) {
  return window_into(out, length, periodic, "bartlett_window",
                     [](double n, double last) { return 1 - std::abs(2 * n / last - 1); });
}
Tensor kaiser_into(const Tensor& out, int64_t length, bool periodic, double beta) {
  return window_into(out, length, periodic, "kaiser_window", [beta](double n, double last) {
    const double x = 2 * n / last - 1;
    return special::i0(beta * std::sqrt(std::max(0.0, 1 - x * x))) / special::i0(beta);
  });
}
Tensor kaiser_default_into(const Tensor& out, int64_t length, bool periodic) {
  return kaiser_into(out, length, periodic, 12);
}

Tensor window_memory(OptionalDType dtype, const Value& layout, const Value& device) {
  return empty(IntArray{0}, factory_dtype(dtype, layout, device));
}

using WindowInto = Tensor (*)(const Tensor& out, int64_t length, bool periodic);
template <WindowInto kInto>
Tensor window(int64_t length, OptionalDType dtype, const Value& layout, const Value& device,
              const Value&) {
  return kInto(window_memory(dtype, layout, device), length, true);
}
template <WindowInto kInto>
Tensor window_periodic(int64_t length, bool periodic, OptionalDType dtype, const Value& layout,
                       const Value& device, const Value&) {
  return kInto(window_memory(dtype, layout, device), length, periodic);
}

// ---- vander, one_hot ----

Tensor vander(const Tensor& x, std::optional<int64_t> columns, bool increasing) {
  TORCHLET_CHECK(x.dim() == 1, "x must be a one-dimensional tensor.");
  const int64_t count = columns.value_or(x.numel());
  TORCHLET_CHECK(count >= 0, "N must be non-negative.");
  const Tensor base = is_integral(x.dtype(), true) ? x.to(DType::kInt64) : x;
  const Tensor result = empty(IntArray{x.numel(), count}, base.dtype());
  if (result.numel() == 0) return result;
  Tensor power = full(base.sizes(), 1, base.dtype());
  for (int64_t i = 0; i < count; ++i) {
    if (i > 0) power = mul(power, base);
    select(result, 1, increasing ? i : count - 1 - i).copy_(power);
  }
  return result;
}

Tensor one_hot(const Tensor& self, int64_t num_classes) {
  TORCHLET_CHECK(self.dtype() == DType::kInt64, "one_hot is only applicable to index tensor.");
  const Tensor classes = self.contiguous();
  const int64_t* data = classes.data_ptr<int64_t>();
  TORCHLET_CHECK(self.numel() > 0 || num_classes > 0,
                 "Can not infer total number of classes from empty tensor.");
  int64_t largest = -1;
  for (int64_t i = 0; i < self.numel(); ++i) {
    TORCHLET_CHECK(data[i] >= 0, "Class values must be non-negative.");
    largest = std::max(largest, data[i]);
  }
  const int64_t count = num_classes == -1 ? checked_add(largest, 1) : num_classes;
  TORCHLET_CHECK(count > 0, "num_classes should be positive");
  TORCHLET_CHECK(largest < count, "Class values must be smaller than num_classes.");
  IntArray shape(self.sizes());
  shape.push_back(count);
  const Tensor result = zeros(shape, DType::kInt64);
  int64_t* to = result.data_ptr<int64_t>();
  for (int64_t i = 0; i < self.numel(); ++i) to[i * count + data[i]] = 1;
  return result;
}

}  // namespace

Tensor arange(const Scalar& start, const Scalar& end, const Scalar& step, DType dtype) {
  return arange_into(empty(IntArray{0}, dtype), start, end, step);
}

TORCHLET_OP(arange, "aten::arange(Scalar end, *, " TORCHLET_FACTORY_ARGS ") -> Tensor", arange_end);
TORCHLET_OP(arange_start,
            "aten::arange.start(Scalar start, Scalar end, *, " TORCHLET_FACTORY_ARGS ") -> Tensor",
            arange_start);
TORCHLET_OP(arange_start_step,
            "aten::arange.start_step(Scalar start, Scalar end, Scalar step=1, "
            "*, " TORCHLET_FACTORY_ARGS ") -> Tensor",
            arange_step);
TORCHLET_OP(arange_start_out,
            "aten::arange.start_out(Scalar start, Scalar end, Scalar step=1, *, Tensor(a!) out) -> "
            "Tensor(a!)",
            [](const Scalar& start, const Scalar& end, const Scalar& step, const Tensor& out) {
              return arange_into(out, start, end, step);
            });
TORCHLET_OP(arange_out, "aten::arange.out(Scalar end, *, Tensor(a!) out) -> Tensor(a!)",
            [](const Scalar& end, const Tensor& out) { return arange_into(out, 0, end, 1); });
TORCHLET_OP(_dim_arange, "aten::_dim_arange(Tensor like, int dim) -> Tensor",
            [](const Tensor& like, int64_t dim) {
              return arange(0, like.size(dim), 1, DType::kInt64);
            });
TORCHLET_OP(range_step,
            "aten::range.step(Scalar start, Scalar end, Scalar step=1, *, " TORCHLET_FACTORY_ARGS
            ") -> Tensor",
            range_step);
TORCHLET_OP(range, "aten::range(Scalar start, Scalar end, *, " TORCHLET_FACTORY_ARGS ") -> Tensor",
            [](const Scalar& start, const Scalar& end, OptionalDType dtype, const Value& layout,
               const Value& device,
               const Value& pin) { return range_step(start, end, 1, dtype, layout, device, pin); });
TORCHLET_OP(range_out,
            "aten::range.out(Scalar start, Scalar end, Scalar step=1, *, Tensor(a!) out) -> "
            "Tensor(a!)",
            [](const Scalar& start, const Scalar& end, const Scalar& step, const Tensor& out) {
              return range_into(out, start, end, step);
            });
TORCHLET_OP(linspace,
            "aten::linspace(Scalar start, Scalar end, int steps, *, " TORCHLET_FACTORY_ARGS
            ") -> Tensor",
            [](const Scalar& start, const Scalar& end, int64_t steps, OptionalDType dtype,
               const Value& layout, const Value& device, const Value&) {
              const DType type = factory_dtype(dtype, layout, device, spaced_dtype(start, end));
              return linspace_into(empty(IntArray{0}, type), start, end, steps);
            });
TORCHLET_OP(linspace_out,
            "aten::linspace.out(Scalar start, Scalar end, int steps, *, Tensor(a!) out) -> "
            "Tensor(a!)",
            [](const Scalar& start, const Scalar& end, int64_t steps, const Tensor& out) {
              return linspace_into(out, start, end, steps);
            });
TORCHLET_OP(logspace,
            "aten::logspace(Scalar start, Scalar end, int steps, float base=10., "
            "*, " TORCHLET_FACTORY_ARGS ") -> Tensor",
            [](const Scalar& start, const Scalar& end, int64_t steps, double base,
               OptionalDType dtype, const Value& layout, const Value& device, const Value&) {
              const DType type = factory_dtype(dtype, layout, device, spaced_dtype(start, end));
              return logspace_into(empty(IntArray{0}, type), start, end, steps, base);
            });
TORCHLET_OP(logspace_out,
            "aten::logspace.out(Scalar start, Scalar end, int steps, float base=10., *, Tensor(a!) "
            "out) -> Tensor(a!)",
            [](const Scalar& start, const Scalar& end, int64_t steps, double base,
               const Tensor& out) { return logspace_into(out, start, end, steps, base); });
TORCHLET_OP(eye, "aten::eye(int n, *, " TORCHLET_FACTORY_ARGS ") -> Tensor",
            [](int64_t n, OptionalDType dtype, const Value& layout, const Value& device,
               const Value&) { return eye_into(window_memory(dtype, layout, device), n, n); });
TORCHLET_OP(eye_m, "aten::eye.m(int n, int m, *, " TORCHLET_FACTORY_ARGS ") -> Tensor",
            [](int64_t n, int64_t m, OptionalDType dtype, const Value& layout, const Value& device,
               const Value&) { return eye_into(window_memory(dtype, layout, device), n, m); });
TORCHLET_OP(eye_out, "aten::eye.out(int n, *, Tensor(a!) out) -> Tensor(a!)",
            [](int64_t n, const Tensor& out) { return eye_into(out, n, n); });
TORCHLET_OP(eye_m_out, "aten::eye.m_out(int n, int m, *, Tensor(a!) out) -> Tensor(a!)",
            [](int64_t n, int64_t m, const Tensor& out) { return eye_into(out, n, m); });
TORCHLET_OP(tril_indices,
            "aten::tril_indices(int row, int col, int offset=0, *, ScalarType? dtype=long, Layout? "
            "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
            [](int64_t rows, int64_t columns, int64_t offset, OptionalDType dtype,
               const Value& layout, const Value& device, const Value&) {
              return triangle_indices(rows, columns, offset, true,
                                      factory_dtype(dtype, layout, device, DType::kInt64));
            });
TORCHLET_OP(triu_indices,
            "aten::triu_indices(int row, int col, int offset=0, *, ScalarType? dtype=long, Layout? "
            "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
            [](int64_t rows, int64_t columns, int64_t offset, OptionalDType dtype,
               const Value& layout, const Value& device, const Value&) {
              return triangle_indices(rows, columns, offset, false,
                                      factory_dtype(dtype, layout, device, DType::kInt64));
            });
TORCHLET_OP(hann_window,
            "aten::hann_window(int window_length, *, " TORCHLET_FACTORY_ARGS ") -> Tensor",
            window<hann_into>);
TORCHLET_OP(hann_window_periodic,
            "aten::hann_window.periodic(int window_length, bool periodic, *, " TORCHLET_FACTORY_ARGS
            ") -> Tensor",
            window_periodic<hann_into>);
TORCHLET_OP(hamming_window,
            "aten::hamming_window(int window_length, *, " TORCHLET_FACTORY_ARGS ") -> Tensor",
            window<hamming_default_into>);
TORCHLET_OP(hamming_window_periodic,
            "aten::hamming_window.periodic(int window_length, bool periodic, "
            "*, " TORCHLET_FACTORY_ARGS ") -> Tensor",
            window_periodic<hamming_default_into>);
TORCHLET_OP(hamming_window_periodic_alpha,
            "aten::hamming_window.periodic_alpha(int window_length, bool periodic, float alpha, "
            "*, " TORCHLET_FACTORY_ARGS ") -> Tensor",
            [](int64_t length, bool periodic, double alpha, OptionalDType dtype,
               const Value& layout, const Value& device, const Value&) {
              return hamming_into(window_memory(dtype, layout, device), length, periodic, alpha,
                                  0.46);
            });
TORCHLET_OP(hamming_window_periodic_alpha_beta,
            "aten::hamming_window.periodic_alpha_beta(int window_length, bool periodic, float "
            "alpha, float beta, *, " TORCHLET_FACTORY_ARGS ") -> Tensor",
            [](int64_t length, bool periodic, double alpha, double beta, OptionalDType dtype,
               const Value& layout, const Value& device, const Value&) {
              return hamming_into(window_memory(dtype, layout, device), length, periodic, alpha,
                                  beta);
            });
TORCHLET_OP(blackman_window,
            "aten::blackman_window(int window_length, *, " TORCHLET_FACTORY_ARGS ") -> Tensor",
            window<blackman_into>);
TORCHLET_OP(blackman_window_periodic,
            "aten::blackman_window.periodic(int window_length, bool periodic, "
            "*, " TORCHLET_FACTORY_ARGS ") -> Tensor",
            window_periodic<blackman_into>);
TORCHLET_OP(bartlett_window,
            "aten::bartlett_window(int window_length, *, " TORCHLET_FACTORY_ARGS ") -> Tensor",
            window<bartlett_into>);
TORCHLET_OP(bartlett_window_periodic,
            "aten::bartlett_window.periodic(int window_length, bool periodic, "
            "*, " TORCHLET_FACTORY_ARGS ") -> Tensor",
            window_periodic<bartlett_into>);
TORCHLET_OP(kaiser_window,
            "aten::kaiser_window(int window_length, *, " TORCHLET_FACTORY_ARGS ") -> Tensor",
            window<kaiser_default_into>);
TORCHLET_OP(kaiser_window_periodic,
            "aten::kaiser_window.periodic(int window_length, bool periodic, "
            "*, " TORCHLET_FACTORY_ARGS ") -> Tensor",
            window_periodic<kaiser_default_into>);
TORCHLET_OP(kaiser_window_beta,
            "aten::kaiser_window.beta(int window_length, bool periodic, float beta, "
            "*, " TORCHLET_FACTORY_ARGS ") -> Tensor",
            [](int64_t length, bool periodic, double beta, OptionalDType dtype, const Value& layout,
               const Value& device, const Value&) {
              return kaiser_into(window_memory(dtype, layout, device), length, periodic, beta);
            });
TORCHLET_OP(vander, "aten::vander(Tensor x, int? N=None, bool increasing=False) -> Tensor", vander);
TORCHLET_OP(one_hot, "aten::one_hot(Tensor self, int num_classes=-1) -> Tensor", one_hot);

}  // namespace torchlet::ops
