#include "kernels/simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/elementwise_nhwc_f32.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/selection.h"
#include "base/thread_pool.h"
#include "kernels/elementwise/elementwise_nhwc.h"
#include "kernels/simd/activation-inl.h"
#include "kernels/simd/log-inl.h"
#include "kernels/simd/simd-inl.h"
#include "kernels/simd/split.h"
// After the target is chosen.
#include <hwy/contrib/math/math-inl.h>

#ifndef TORCHLET_KERNELS_ELEMENTWISE_NHWC_RUN_
#define TORCHLET_KERNELS_ELEMENTWISE_NHWC_RUN_
namespace torchlet::kernels {
struct UnaryParameters {
  float alpha, beta, gamma;
};
}  // namespace torchlet::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr D d;
constexpr int64_t kLanes = static_cast<int64_t>(HWY_LANES(float));

// y[i] = function(x[i]). The function appears once in the code; the branches for the tail cost
// nothing next to it.
template <class Function>
HWY_INLINE void map(const float* x, float* y, int64_t n, const Function& function) {
  for (int64_t i = 0; i < n; i += kLanes) {
    store_first(function(load_first(d, x + i, n - i)), d, y + i, n - i);
  }
}

HWY_INLINE V one() { return hn::Set(d, 1.0f); }

// function(lane) of each lane.
template <class Function>
HWY_INLINE V each_lane(V x, const Function& function) {
  HWY_ALIGN float lanes[HWY_LANES(float)];
  hn::Store(x, d, lanes);
  for (float& lane : lanes) lane = function(lane);
  return hn::Load(d, lanes);
}

// Highway's sine and cosine reduce their argument well up to here.
HWY_INLINE bool is_small_angle(V x) {
  return hn::AllTrue(d, hn::Le(hn::Abs(x), hn::Set(d, 30000.0f)));
}
HWY_INLINE V sine(V x) {
  if (HWY_LIKELY(is_small_angle(x))) return hn::Sin(d, x);
  return each_lane(x, [](float lane) { return std::sin(lane); });
}
HWY_INLINE V cosine(V x) {
  if (HWY_LIKELY(is_small_angle(x))) return hn::Cos(d, x);
  return each_lane(x, [](float lane) { return std::cos(lane); });
}

HWY_INLINE V softplus(V x, V alpha, V beta) {
  const V scaled = hn::Mul(x, alpha);
  const V small = hn::Div(vector_log1p(d, vector_exp(d, hn::Min(scaled, beta))), alpha);
  return hn::IfThenElse(hn::Gt(scaled, beta), x, hn::IfThenElse(hn::IsNaN(x), x, small));
}

// With e = e^x, tanh(log(1 + e)) = e (e + 2) / (e (e + 2) + 2), and 1 in float32 above 20.
HWY_INLINE V mish(V x) {
  const V two = hn::Set(d, 2.0f);
  const V e = vector_exp(d, min_keeping_nan(hn::Set(d, 20.0f), x));
  const V n = hn::Mul(e, hn::Add(e, two));
  return hn::Mul(x, hn::Div(n, hn::Add(n, two)));
}

HWY_INLINE V sign(V x) {
  const V magnitude = hn::IfThenElseZero(hn::Ne(x, hn::Zero(d)), one());
  return hn::IfThenElse(hn::IsNaN(x), x, hn::CopySign(magnitude, x));
}

void unary(MatrixUnaryOp op, const float* x, float* y, int64_t n, const UnaryParameters& p) {
  const V a = hn::Set(d, p.alpha), b = hn::Set(d, p.beta), g = hn::Set(d, p.gamma);
  const auto run = [&](const auto& function) HWY_ATTR { map(x, y, n, function); };
  switch (op) {
    case MatrixUnaryOp::kAbs:
      return run([](V v) HWY_ATTR { return hn::Abs(v); });
    case MatrixUnaryOp::kNeg:
      return run([](V v) HWY_ATTR { return hn::Neg(v); });
    case MatrixUnaryOp::kCube:
      return run([](V v) HWY_ATTR { return hn::Mul(hn::Mul(v, v), v); });
    case MatrixUnaryOp::kSquare:
      return run([](V v) HWY_ATTR { return hn::Mul(v, v); });
    case MatrixUnaryOp::kReciprocal:
      return run([](V v) HWY_ATTR { return hn::Div(one(), v); });
    case MatrixUnaryOp::kSqrt:
      return run([](V v) HWY_ATTR { return hn::Sqrt(v); });
    case MatrixUnaryOp::kRsqrt:
      return run([](V v) HWY_ATTR { return hn::Div(one(), hn::Sqrt(v)); });
    case MatrixUnaryOp::kExp:
      return run([](V v) HWY_ATTR { return vector_exp(d, v); });
    case MatrixUnaryOp::kExpm1:
      return run([](V v) HWY_ATTR { return vector_expm1(d, v); });
    case MatrixUnaryOp::kLog:
      return run([](V v) HWY_ATTR { return vector_log(d, v); });
    case MatrixUnaryOp::kLog1p:
      return run([](V v) HWY_ATTR { return vector_log1p(d, v); });
    case MatrixUnaryOp::kErf:
      return run([](V v) HWY_ATTR { return vector_erf(d, v); });
    case MatrixUnaryOp::kSin:
      return run([](V v) HWY_ATTR { return sine(v); });
    case MatrixUnaryOp::kCos:
      return run([](V v) HWY_ATTR { return cosine(v); });
    case MatrixUnaryOp::kFloor:
      return run([](V v) HWY_ATTR { return hn::Floor(v); });
    case MatrixUnaryOp::kCeil:
      return run([](V v) HWY_ATTR { return hn::Ceil(v); });
    case MatrixUnaryOp::kTrunc:
      return run([](V v) HWY_ATTR { return hn::Trunc(v); });
    case MatrixUnaryOp::kRound:
      return run([](V v) HWY_ATTR { return hn::Round(v); });
    case MatrixUnaryOp::kSign:
      return run([](V v) HWY_ATTR { return sign(v); });
    case MatrixUnaryOp::kElu:
      return run([&](V v) HWY_ATTR {
        const auto is_above = hn::Gt(v, hn::Zero(d));
        if (hn::AllTrue(d, is_above)) return hn::Mul(g, v);
        const V below = hn::Mul(a, vector_expm1(d, hn::Mul(v, b)));
        return hn::Mul(g, hn::IfThenElse(is_above, v, below));
      });
    case MatrixUnaryOp::kSoftplus:
      return run([&](V v) HWY_ATTR { return softplus(v, a, b); });
    case MatrixUnaryOp::kMish:
      return run([](V v) HWY_ATTR { return mish(v); });
    case MatrixUnaryOp::kSoftsign:
      return run([](V v) HWY_ATTR { return hn::Div(v, hn::Add(one(), hn::Abs(v))); });
    case MatrixUnaryOp::kThreshold:
      return run([&](V v) HWY_ATTR { return hn::IfThenElse(hn::Le(v, a), b, v); });
    case MatrixUnaryOp::kHardshrink:
      return run([&](V v) HWY_ATTR { return hn::IfThenZeroElse(hn::Le(hn::Abs(v), a), v); });
    case MatrixUnaryOp::kSoftshrink:
      return run([&](V v) HWY_ATTR {
        const V shrunk = hn::Sub(v, hn::CopySign(a, v));
        return hn::IfThenZeroElse(hn::Le(hn::Abs(v), a), shrunk);
      });
  }
}

void affine(const float* x, float* y, int64_t n, float scale, float shift) {
  const V a = hn::Set(d, scale), b = hn::Set(d, shift);
  map(x, y, n, [&](V v) HWY_ATTR { return hn::MulAdd(v, a, b); });
}

// Some rows of a binary function. The second operand of a row is a vector of its own (b_step 1) or
// one number (0).
struct BinaryRows {
  int64_t rows, columns;
  const float* a;
  int64_t a_stride;
  const float* b;
  int64_t b_stride, b_step;
  float* y;
  int64_t y_stride;
  Bounds bounds;
};

template <class Function>
HWY_INLINE void map2(const BinaryRows& r, const Function& function) {
  const V low = hn::Set(d, r.bounds.low), high = hn::Set(d, r.bounds.high);
  const int64_t whole = r.columns / kLanes * kLanes, rest = r.columns - whole;
  for (int64_t row = 0; row < r.rows; ++row) {
    const float* a = r.a + row * r.a_stride;
    const float* b = r.b + row * r.b_stride;
    float* y = r.y + row * r.y_stride;
    const V scalar = hn::Set(d, *b);
    if (r.b_step == 0) {
      for (int64_t i = 0; i < whole; i += kLanes) {
        hn::StoreU(clamp(function(hn::LoadU(d, a + i), scalar), low, high), d, y + i);
      }
    } else {
      for (int64_t i = 0; i < whole; i += kLanes) {
        const V value = function(hn::LoadU(d, a + i), hn::LoadU(d, b + i));
        hn::StoreU(clamp(value, low, high), d, y + i);
      }
    }
    if (rest > 0) {
      const V q = r.b_step == 0 ? scalar : load_first(d, b + whole, rest);
      const V value = function(load_first(d, a + whole, rest), q);
      store_first(clamp(value, low, high), d, y + whole, rest);
    }
  }
}

HWY_INLINE V larger(V p, V q) { return hn::IfThenElse(hn::IsNaN(p), p, max_keeping_nan(p, q)); }
HWY_INLINE V smaller(V p, V q) { return hn::IfThenElse(hn::IsNaN(p), p, min_keeping_nan(p, q)); }

void binary(MatrixBinaryOp op, const BinaryRows& r) {
  const auto run = [&](const auto& function) HWY_ATTR { map2(r, function); };
  switch (op) {
    case MatrixBinaryOp::kAdd:
      return run([](V p, V q) HWY_ATTR { return hn::Add(p, q); });
    case MatrixBinaryOp::kSub:
      return run([](V p, V q) HWY_ATTR { return hn::Sub(p, q); });
    case MatrixBinaryOp::kRsub:
      return run([](V p, V q) HWY_ATTR { return hn::Sub(q, p); });
    case MatrixBinaryOp::kMul:
      return run([](V p, V q) HWY_ATTR { return hn::Mul(p, q); });
    case MatrixBinaryOp::kDiv:
      return run([](V p, V q) HWY_ATTR { return hn::Div(p, q); });
    case MatrixBinaryOp::kRdiv:
      return run([](V p, V q) HWY_ATTR { return hn::Div(q, p); });
    case MatrixBinaryOp::kMax:
      return run([](V p, V q) HWY_ATTR { return larger(p, q); });
    case MatrixBinaryOp::kMin:
      return run([](V p, V q) HWY_ATTR { return smaller(p, q); });
    case MatrixBinaryOp::kPrelu:
      return run([](V p, V q)
                     HWY_ATTR { return hn::IfThenElse(hn::Gt(p, hn::Zero(d)), p, hn::Mul(p, q)); });
  }
}

// Rows [begin, end).
void binary_rows(MatrixBinaryOp op, int64_t begin, int64_t end, int64_t columns, const float* a,
                 int64_t a_stride, const SpreadOperand& b, const Activation& function, float* y,
                 int64_t y_stride) {
  // An activation that is no clamp finds its piece in the first-level cache.
  constexpr int64_t kPiece = 4096;
  const bool clamped = is_clamp(function);
  const bool by_batch = b.spread == Spread::kBatchColumns;
  const bool is_one = b.spread == Spread::kScalar || b.spread == Spread::kRows;
  const bool moves = b.spread == Spread::kNone || b.spread == Spread::kRows;
  int64_t rows = 0;
  for (int64_t row = begin; row < end; row += rows) {
    rows = clamped ? end - row : std::clamp<int64_t>(kPiece / columns, 1, end - row);
    if (by_batch) rows = std::min(rows, b.rows_per_batch - row % b.rows_per_batch);
    const float* second = b.data;
    if (by_batch) second += row / b.rows_per_batch * b.stride;
    if (moves) second += row * b.stride;
    for (int64_t i = 0; i < columns; i += kPiece) {
      const int64_t count = clamped ? columns : std::min(kPiece, columns - i);
      float* to = y + row * y_stride + i;
      binary(op, {.rows = rows,
                  .columns = count,
                  .a = a + row * a_stride + i,
                  .a_stride = a_stride,
                  .b = is_one ? second : second + i,
                  .b_stride = moves ? b.stride : 0,
                  .b_step = is_one ? 0 : 1,
                  .y = to,
                  .y_stride = y_stride,
                  .bounds = bounds_of(function)});
      if (clamped) break;
      activate_rows(function, to, y_stride, to, y_stride, rows, count);
    }
  }
}

void scale_shift(int64_t rows, int64_t columns, const float* x, int64_t x_stride,
                 const float* scale, const float* shift, const Activation& function, float* y,
                 int64_t y_stride) {
  const bool clamped = is_clamp(function);
  const Bounds bounds = bounds_of(function);
  const V low = hn::Set(d, bounds.low), high = hn::Set(d, bounds.high);
  for (int64_t row = 0; row < rows; ++row, x += x_stride, y += y_stride) {
    for (int64_t i = 0; i < columns; i += kLanes) {
      const int64_t left = columns - i;
      const V v = hn::MulAdd(load_first(d, x + i, left), load_first(d, scale + i, left),
                             load_first(d, shift + i, left));
      store_first(clamp(v, low, high), d, y + i, left);
    }
    if (!clamped) activate_rows(function, y, columns, y, columns, 1, columns);
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace torchlet::kernels {

HWY_EXPORT(unary);
HWY_EXPORT(affine);
HWY_EXPORT(activate_rows);
HWY_EXPORT(binary_rows);
HWY_EXPORT(scale_shift);

namespace {

// Rows and columns of a matrix.
struct Part {
  int64_t row, rows;
  int64_t column, columns;
};

// Calls body(Part) for the parts of a matrix.
void parallel_matrix(int64_t rows, int64_t columns, int64_t elements_per_task,
                     FunctionRef<void(const Part&)> body) {
  constexpr int64_t kCacheLine = 16;
  const int64_t elements = rows * columns;
  if (is_cut_by_columns(rows)) {
    const int64_t grain = even_grain(columns, kCacheLine, elements, elements_per_task);
    return parallel_for(columns, grain, [&](int64_t begin, int64_t end) {
      body({0, rows, begin, end - begin});
    });
  }
  parallel_for(rows, even_grain(rows, 1, elements, elements_per_task),
               [&](int64_t begin, int64_t end) {
                 body({begin, end - begin, 0, columns});
               });
}

// A matrix without gaps that is cut by rows is one row: its borders need not be those of rows.
void flatten(bool dense, int64_t& rows, int64_t& columns) {
  if (!dense || is_cut_by_columns(rows)) return;
  columns *= rows;
  rows = 1;
}

constexpr int64_t kCheap = int64_t{1} << 14, kCostly = int64_t{1} << 12;

// Rows of few columns without gaps are taken for longer ones, since the end of a row that fills no
// vector costs as much as several vectors. What stands for each column is then repeated.
constexpr int64_t kLongRow = 512;

class JoinedRows {
 public:
  JoinedRows(bool dense, int64_t rows, int64_t columns) : rows_(rows), columns_(columns) {
    constexpr int64_t kLeastElements = 256;
    const int64_t elements = rows * columns;
    const bool pays = selection::kIsWhole && dense && columns < kLongRow / 4;
    // Of few elements there are some long rows, as well.
    if (pays && elements >= kLeastElements) count_ = std::min(kLongRow, elements / 4) / columns;
  }
  explicit operator bool() const { return count_ > 1; }
  // body(rows, columns, offset) for the longer rows, and for what is left as one row.
  template <class Body>
  void each(const Body& body) const {
    const int64_t whole = rows_ / count_, done = whole * count_;
    body(whole, count_ * columns_, 0);
    if (done < rows_) body(1, (rows_ - done) * columns_, done * columns_);
  }
  void repeat(const float* columns, std::array<float, kLongRow>& row) const {
    std::copy_n(columns, columns_, row.data());
    const int64_t width = count_ * columns_;
    for (int64_t done = columns_; done < width; done *= 2) {
      std::copy_n(row.data(), std::min(done, width - done), row.data() + done);
    }
  }

 private:
  int64_t rows_, columns_, count_ = 1;
};

// function(x, y, n) for the elements of a matrix, some of a row at a time.
template <class Function>
void map_rows(int64_t rows, int64_t columns, const float* x, int64_t x_stride, float* y,
              int64_t y_stride, int64_t elements_per_task, const Function& function) {
  flatten(x_stride == columns && y_stride == columns, rows, columns);
  parallel_matrix(rows, columns, elements_per_task, [&](const Part& part) {
    for (int64_t row = part.row; row < part.row + part.rows; ++row) {
      function(x + row * x_stride + part.column, y + row * y_stride + part.column, part.columns);
    }
  });
}

}  // namespace

void unary_rows_f32(MatrixUnaryOp op, int64_t rows, int64_t columns, const float* x,
                    int64_t x_stride, float* y, int64_t y_stride, float alpha, float beta,
                    float gamma) {
  const UnaryParameters parameters{alpha, beta, gamma};
  map_rows(rows, columns, x, x_stride, y, y_stride, kCostly,
           [&](const float* from, float* to, int64_t n) {
             HWY_DYNAMIC_DISPATCH(unary)(op, from, to, n, parameters);
           });
}

void affine_rows_f32(int64_t rows, int64_t columns, const float* x, int64_t x_stride, float scale,
                     float shift, float* y, int64_t y_stride) {
  map_rows(rows, columns, x, x_stride, y, y_stride, kCheap,
           [&](const float* from, float* to, int64_t n) {
             HWY_DYNAMIC_DISPATCH(affine)(from, to, n, scale, shift);
           });
}

void activation_rows_f32(const Activation& function, int64_t rows, int64_t columns, const float* x,
                         int64_t x_stride, float* y, int64_t y_stride) {
  flatten(x_stride == columns && y_stride == columns, rows, columns);
  parallel_matrix(rows, columns, kCostly, [&](const Part& part) {
    HWY_DYNAMIC_DISPATCH(activate_rows)
    (function, x + part.row * x_stride + part.column, x_stride,
     y + part.row * y_stride + part.column, y_stride, part.rows, part.columns);
  });
}

void activate_f32(const Activation& function, float* y, int64_t y_stride, int64_t rows,
                  int64_t columns) {
  HWY_DYNAMIC_DISPATCH(activate_rows)(function, y, y_stride, y, y_stride, rows, columns);
}

void binary_rows_f32(MatrixBinaryOp op, int64_t rows, int64_t columns, const float* a,
                     int64_t a_stride, const SpreadOperand& b, const Activation& function, float* y,
                     int64_t y_stride) {
  const bool is_dense = a_stride == columns && y_stride == columns;
  const JoinedRows joined(is_dense && b.spread == Spread::kColumns, rows, columns);
  if (joined) {
    std::array<float, kLongRow> second;
    joined.repeat(b.data, second);
    return joined.each([&](int64_t count, int64_t width, int64_t at) {
      binary_rows_f32(op, count, width, a + at, width, {second.data(), Spread::kColumns}, function,
                      y + at, width);
    });
  }
  flatten(is_dense &&
              (b.spread == Spread::kScalar || (b.spread == Spread::kNone && b.stride == columns)),
          rows, columns);
  parallel_matrix(rows, columns, kCheap, [&](const Part& part) {
    SpreadOperand local = b;
    if (b.spread != Spread::kScalar && b.spread != Spread::kRows) local.data += part.column;
    HWY_DYNAMIC_DISPATCH(binary_rows)
    (op, part.row, part.row + part.rows, part.columns, a + part.column, a_stride, local, function,
     y + part.column, y_stride);
  });
}

void scale_shift_rows_f32(int64_t rows, int64_t columns, const float* x, int64_t x_stride,
                          const float* scale, const float* shift, const Activation& function,
                          float* y, int64_t y_stride) {
  const JoinedRows joined(x_stride == columns && y_stride == columns, rows, columns);
  if (joined) {
    std::array<float, kLongRow> scales, shifts;
    joined.repeat(scale, scales);
    joined.repeat(shift, shifts);
    return joined.each([&](int64_t count, int64_t width, int64_t at) {
      scale_shift_rows_f32(count, width, x + at, width, scales.data(), shifts.data(), function,
                           y + at, width);
    });
  }
  parallel_matrix(rows, columns, kCheap, [&](const Part& part) {
    HWY_DYNAMIC_DISPATCH(scale_shift)
    (part.rows, part.columns, x + part.row * x_stride + part.column, x_stride, scale + part.column,
     shift + part.column, function, y + part.row * y_stride + part.column, y_stride);
  });
}

}  // namespace torchlet::kernels

#endif  // HWY_ONCE
