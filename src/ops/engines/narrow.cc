#include "ops/engines/narrow.h"

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <type_traits>

#include "ops/engines/elementwise.h"
#include "ops/engines/integer_math.h"
#include "tensor/meta.h"

namespace torchlet::ops {
namespace {

struct Add {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(uint32_t{a} + uint32_t{b});
  }
};
struct Sub {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(uint32_t{a} - uint32_t{b});
  }
};
struct Mul {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(uint32_t{a} * uint32_t{b});
  }
};
struct Max {
  template <typename T>
  T operator()(T a, T b) const {
    return a > b ? a : b;
  }
};
struct Min {
  template <typename T>
  T operator()(T a, T b) const {
    return a < b ? a : b;
  }
};

// Rounded to nearest, a quotient that is no integer stays on its side of the next one: it is at
// least 1 / |b| away, |a / b| / |a| that is, and |a| has fewer bits than these have. Not in range
// is the least number over -1 alone, which wraps.
struct FloorDivide {
  template <typename T>
  T operator()(T a, T b) const {
    using Real = std::conditional_t<sizeof(T) < 4, float, double>;
    Real quotient = std::floor(static_cast<Real>(a) / static_cast<Real>(b));
    if constexpr (sizeof(T) == 4) {
      constexpr double kMost = std::numeric_limits<int32_t>::max(), kRange = 0x1p32;
      quotient = choose(quotient > kMost, quotient - kRange, quotient);
    }
    return static_cast<T>(static_cast<int32_t>(quotient));
  }
};
struct FloorRemainder {
  template <typename T>
  T operator()(T a, T b) const {
    const auto whole = static_cast<uint32_t>(FloorDivide()(a, b));
    return static_cast<T>(static_cast<uint32_t>(a) - whole * static_cast<uint32_t>(b));
  }
};

struct Abs {
  template <typename T>
  T operator()(T x) const {
    return x < 0 ? static_cast<T>(0U - static_cast<uint32_t>(x)) : x;
  }
};
struct Clamp {
  template <typename T>
  T operator()(T x, T low, T high) const {
    return Min()(Max()(x, low), high);
  }
};

constexpr Add kStateless;  // as all of them are

template <typename T, class F>
constexpr detail::BlockBody body() {
  constexpr bool kCompares = std::is_same_v<decltype(F()(T(), T())), bool>;
  return &detail::map_steps<std::conditional_t<kCompares, bool, T>, T, 2, F>;
}

// That of N operands, for each dtype.
template <size_t N, class F>
detail::BlockBody body_of(DType dtype) {
  switch (dtype) {
    case DType::kUInt8:
      return &detail::map_steps<uint8_t, uint8_t, N, F>;
    case DType::kInt8:
      return &detail::map_steps<int8_t, int8_t, N, F>;
    case DType::kInt16:
      return &detail::map_steps<int16_t, int16_t, N, F>;
    default:
      return &detail::map_steps<int32_t, int32_t, N, F>;
  }
}

// In the order of NarrowOp: of T, or where the sign makes no difference of U.
template <typename T, typename U = std::make_unsigned_t<T>>
detail::BlockBody body_of(NarrowOp op) {
  static constexpr detail::BlockBody kBodies[] = {body<U, Add>(),
                                                  body<U, Sub>(),
                                                  body<U, Mul>(),
                                                  body<U, std::bit_and<>>(),
                                                  body<U, std::bit_or<>>(),
                                                  body<U, std::bit_xor<>>(),
                                                  body<T, Max>(),
                                                  body<T, Min>(),
                                                  body<T, FloorDivide>(),
                                                  body<T, FloorRemainder>(),
                                                  body<U, std::equal_to<>>(),
                                                  body<U, std::not_equal_to<>>(),
                                                  body<T, std::less<>>(),
                                                  body<T, std::less_equal<>>()};
  return kBodies[static_cast<size_t>(op)];
}

detail::BlockBody body_of(NarrowOp op, DType dtype) {
  switch (dtype) {
    case DType::kBool:
    case DType::kUInt8:
      return body_of<uint8_t>(op);
    case DType::kInt8:
      return body_of<int8_t>(op);
    case DType::kInt16:
      return body_of<int16_t>(op);
    default:
      return body_of<int32_t>(op);
  }
}

void check_divisors(const Tensor& divisors) {
  if (is_meta(divisors)) return;
  const Tensor zero = scalar_tensor(0, divisors.dtype());
  const Tensor is_zero =
      narrow_map(NarrowOp::kEqual, divisors, zero, divisors.dtype()).contiguous();
  if (is_zero.numel() == 0) return;
  const bool* const first = is_zero.data_ptr<bool>();
  check_divisor(std::memchr(first, 1, static_cast<size_t>(is_zero.numel())) == nullptr);
}

}  // namespace

Tensor narrow_map(NarrowOp op, const Tensor& self, const Tensor& other, DType dtype,
                  const Tensor* into) {
  if (op == NarrowOp::kFloorDivide || op == NarrowOp::kFloorRemainder) {
    check_divisors(other.to(dtype));
  }
  const DType out = op >= NarrowOp::kEqual ? DType::kBool : dtype;
  return detail::map_blocks(Operands<2>(self, other), out, out, dtype, body_of(op, dtype), true,
                            &kStateless, into);
}

Tensor narrow_abs(const Tensor& self) {
  const DType dtype = self.dtype();
  return detail::map_blocks(Operands<1>(self), dtype, dtype, dtype, body_of<1, Abs>(dtype), true,
                            &kStateless);
}

Tensor narrow_clamp(const Tensor& self, const Tensor& min, const Tensor& max, DType dtype) {
  return detail::map_blocks(Operands<3>(self, min, max), dtype, dtype, dtype,
                            body_of<3, Clamp>(dtype), true, &kStateless);
}

}  // namespace torchlet::ops
