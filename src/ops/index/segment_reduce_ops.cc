// Reductions of consecutive segments of one dimension.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/core/op.h"
#include "ops/engines/compute.h"

namespace torchlet::ops {
namespace {

enum class SegmentOp { kMax, kMin, kMean, kSum, kProd };

SegmentOp parse_segment_op(const std::string& name) {
  if (name == "max") return SegmentOp::kMax;
  if (name == "min") return SegmentOp::kMin;
  if (name == "mean") return SegmentOp::kMean;
  if (name == "sum") return SegmentOp::kSum;
  TORCHLET_CHECK(name == "prod", "unsupported reduction given! %s", name.c_str());
  return SegmentOp::kProd;
}

template <typename T>
T start_value(SegmentOp op, const std::optional<Scalar>& initial) {
  if (initial) return scalar_as<T>(*initial);
  switch (op) {
    case SegmentOp::kMax:
      return -std::numeric_limits<T>::infinity();
    case SegmentOp::kMin:
      return std::numeric_limits<T>::infinity();
    case SegmentOp::kProd:
      return T(1);
    default:
      return T(0);
  }
}

template <typename T>
T reduce_step(SegmentOp op, T total, T x) {
  switch (op) {
    case SegmentOp::kMax:
      return std::isnan(x) || x > total ? x : total;
    case SegmentOp::kMin:
      return std::isnan(x) || x < total ? x : total;
    case SegmentOp::kProd:
      return total * x;
    default:
      return total + x;
  }
}

// [batch..., segments + 1] borders along the axis, from lengths or offsets.
Tensor segment_borders(const Tensor& data, const Tensor& lengths, const Tensor& offsets,
                       int64_t axis, bool unsafe) {
  TORCHLET_CHECK(lengths.defined() || offsets.defined(),
                 "segment_reduce(): Either lengths or offsets must be defined.");
  const Tensor& given = offsets.defined() ? offsets : lengths;
  TORCHLET_CHECK(
      is_integral(given.dtype(), false) && given.dim() == axis + 1 &&
          std::ranges::equal(given.sizes().first(static_cast<size_t>(axis)),
                             data.sizes().first(static_cast<size_t>(axis))),
      "segment_reduce(): expected integral lengths or offsets for axis %lld of %s, got %s",
      static_cast<long long>(axis), data.describe().c_str(), given.describe().c_str());
  const Tensor dense = dense_as<int64_t>(given);
  const int64_t count = given.size(-1), size = data.size(axis);
  IntArray shape(given.sizes());
  if (!offsets.defined()) shape.back() = count + 1;
  const Tensor borders = offsets.defined() ? dense : empty(shape, DType::kInt64);
  const int64_t rows = borders.size(-1) == 0 ? 0 : borders.numel() / borders.size(-1);
  for (int64_t row = 0; row < rows; ++row) {
    int64_t* border = borders.data_ptr<int64_t>() + row * borders.size(-1);
    if (!offsets.defined()) {
      const int64_t* length = dense.data_ptr<int64_t>() + row * count;
      border[0] = 0;
      for (int64_t i = 0; i < count; ++i) {
        TORCHLET_CHECK(length[i] >= 0, "lengths contains negative value!");
        TORCHLET_CHECK(!__builtin_add_overflow(border[i], length[i], &border[i + 1]),
                       "segment_reduce(): the lengths overflow");
      }
      TORCHLET_CHECK(
          unsafe || border[count] == size,
          "segment_reduce(): Expected all rows of lengths along axis to sum to %lld when "
          "!unsafe, got %lld",
          static_cast<long long>(size), static_cast<long long>(border[count]));
    }
    for (int64_t i = 0; i < borders.size(-1); ++i) {
      TORCHLET_CHECK(border[i] >= 0 && border[i] <= size && (i == 0 || border[i] >= border[i - 1]),
                     "segment_reduce(): segment border %lld does not fit the %lld elements",
                     static_cast<long long>(border[i]), static_cast<long long>(size));
    }
  }
  return borders;
}

Tensor segment_reduce(const Tensor& data, const std::string& reduce, const Tensor& lengths,
                      const Tensor& indices, const Tensor& offsets, int64_t axis_arg, bool unsafe,
                      const std::optional<Scalar>& initial) {
  const SegmentOp op = parse_segment_op(reduce);
  TORCHLET_CHECK(data.numel() >= 0 && data.dim() > 0,
                 "segment_reduce(): expected data of at least one dimension");
  TORCHLET_CHECK(!indices.defined(),
                 "segment_reduce(): indices based reduction is not supported yet.");
  const int64_t axis = wrap_dim(axis_arg, data.dim());
  const Tensor borders = segment_borders(data, lengths, offsets, axis, unsafe);
  const int64_t segments = std::max<int64_t>(borders.size(-1) - 1, 0);
  IntArray shape(data.sizes());
  shape[static_cast<size_t>(axis)] = segments;
  int64_t outer = 1, inner = 1;
  for (int64_t d = 0; d < data.dim(); ++d) {
    if (d != axis) (d < axis ? outer : inner) *= data.size(d);
  }
  const int64_t size = data.size(axis);
  return compute_as<kMapReal>(data.dtype(), "segment_reduce", [&](auto zero) {
    using T = decltype(zero);
    const Tensor in = dense_as<T>(data), out = empty(shape, DTypeOf<T>::value);
    const T start = start_value<T>(op, initial);
    T* to = out.data_ptr<T>();
    for (int64_t o = 0; o < outer; ++o) {
      const int64_t* border = borders.data_ptr<int64_t>() + o * (segments + 1);
      for (int64_t s = 0; s < segments; ++s) {
        const int64_t length = border[s + 1] - border[s];
        for (int64_t i = 0; i < inner; ++i) {
          T total = start;
          for (int64_t k = border[s]; k < border[s + 1]; ++k) {
            total = reduce_step(op, total, const_data<T>(in)[(o * size + k) * inner + i]);
          }
          if (op == SegmentOp::kMean && length > 0) total /= static_cast<T>(length);
          if (op == SegmentOp::kMean && length == 0 && !initial) {
            total = std::numeric_limits<T>::quiet_NaN();
          }
          *to++ = total;
        }
      }
    }
    return out.to(data.dtype());
  });
}

}  // namespace

TORCHLET_OP_WITH(segment_reduce, out("out"),
                 "aten::segment_reduce(Tensor data, str reduce, *, Tensor? lengths=None, "
                 "Tensor? indices=None, Tensor? offsets=None, int axis=0, bool unsafe=False, "
                 "Scalar? initial=None) -> Tensor",
                 segment_reduce);

}  // namespace torchlet::ops
