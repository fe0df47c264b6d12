// A tile of sums of products: rows of the input that are read where they lie, times a panel of
// vectors of columns.

#if defined(TORCHLET_KERNELS_DOT_SUMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TORCHLET_KERNELS_DOT_SUMS_INL_H_
#undef TORCHLET_KERNELS_DOT_SUMS_INL_H_
#else
#define TORCHLET_KERNELS_DOT_SUMS_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <cstring>

#include "kernels/quantized/dot_q8-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// DotSums<kRows, kVectors> offers
//   DotSums(start)                 sums that begin with a value for each column
//   add_step(rows, step, weights)  plus kDotDepth products, those of step `step` of the rows
//   operator()(r, v)               the sums of a row
// and add_products adds `steps` steps and returns what is behind their weights, which are of
// DotWeight or int8_t, [steps, columns, kDotDepth].

#if HWY_TARGET == HWY_NEON && TORCHLET_ARM_DOT
// Not earlier: GCC would load many weights ahead, and spill sums for that.
HWY_INLINE int8x16_t load_now(const int8_t* weights) {
  asm volatile("" ::: "memory");
  return vld1q_s8(weights);
}
#endif

#if HWY_TARGET == HWY_NEON && TORCHLET_ARM_DOT == 2

// A vector holds the sums of two rows by two columns.
template <int kRows, int kVectors>
class DotSums {
 public:
  HWY_INLINE explicit DotSums(const DotVec (&start)[kVectors]) {
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) {
      const int64x2_t columns = vreinterpretq_s64_s32(start[v].raw);
      HWY_UNROLL(4)
      for (int p = 0; p < kPairs; ++p) {
        sum_[p][2 * v] = vreinterpretq_s32_s64(vdupq_laneq_s64(columns, 0));
        sum_[p][2 * v + 1] = vreinterpretq_s32_s64(vdupq_laneq_s64(columns, 1));
      }
    }
  }

  HWY_INLINE void add_step(const uint8_t* const (&rows)[kRows], int64_t step,
                           const int8_t* weights) {
    uint8x16_t x[kPairs];
    HWY_UNROLL(4)
    for (int p = 0; p < kPairs; ++p) {
      const int second = 2 * p + 1 < kRows ? 2 * p + 1 : 2 * p;
      x[p] = vcombine_u8(vld1_u8(rows[2 * p] + step * kDotDepth),
                         vld1_u8(rows[second] + step * kDotDepth));
    }
    HWY_UNROLL(8)
    for (int c = 0; c < 2 * kVectors; ++c) {
      const int8x16_t w = load_now(weights + c * 16);
      HWY_UNROLL(4)
      for (int p = 0; p < kPairs; ++p) {
        sum_[p][c] = multiply(sum_[p][c], x[p], w);
      }
    }
  }

  HWY_INLINE DotVec operator()(int r, int v) const {
    const int64x2_t a = vreinterpretq_s64_s32(sum_[r / 2][2 * v]);
    const int64x2_t b = vreinterpretq_s64_s32(sum_[r / 2][2 * v + 1]);
    return DotVec(vreinterpretq_s32_s64(r % 2 == 0 ? vzip1q_s64(a, b) : vzip2q_s64(a, b)));
  }

 private:
  // A function, so that `sum` is a value for GCC and no memory.
  static HWY_INLINE int32x4_t multiply(int32x4_t sum, uint8x16_t x, int8x16_t w) {
    asm("usmmla %0.4s, %1.16b, %2.16b" : "+w"(sum) : "w"(x), "w"(w));
    return sum;
  }

  static constexpr int kPairs = (kRows + 1) / 2;
  int32x4_t sum_[kPairs][2 * kVectors];
};

#elif HWY_TARGET == HWY_NEON && TORCHLET_ARM_DOT == 1

template <int kRows, int kVectors>
class DotSums {
 public:
  HWY_INLINE explicit DotSums(const DotVec (&start)[kVectors]) {
    HWY_UNROLL(8)
    for (int r = 0; r < kRows; ++r) {
      HWY_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) sum_[r][v] = start[v].raw;
    }
  }

  HWY_INLINE void add_step(const uint8_t* const (&rows)[kRows], int64_t step,
                           const int8_t* weights) {
    int8x16_t x[kRows];
    HWY_UNROLL(8)
    for (int r = 0; r < kRows; ++r) {
      uint32_t operand;
      std::memcpy(&operand, rows[r] + step * kDotDepth, sizeof operand);
      x[r] = signed_bytes(vreinterpretq_u8_u32(vdupq_n_u32(operand)));
    }
    add_lane<0>(x, weights);
  }

  // Four steps.
  HWY_INLINE void add_steps(const uint8_t* const (&rows)[kRows], int64_t step,
                            const int8_t* weights) {
    int8x16_t x[kRows];
    HWY_UNROLL(8)
    for (int r = 0; r < kRows; ++r) x[r] = signed_bytes(vld1q_u8(rows[r] + step * kDotDepth));
    add_lane<0>(x, weights);
    add_lane<1>(x, weights + 1 * kStepBytes);
    add_lane<2>(x, weights + 2 * kStepBytes);
    add_lane<3>(x, weights + 3 * kStepBytes);
  }

  HWY_INLINE DotVec operator()(int r, int v) const { return DotVec(sum_[r][v]); }

 private:
  static constexpr int kStepBytes = kVectors * 16;

  static HWY_INLINE int8x16_t signed_bytes(uint8x16_t x) {
    return vreinterpretq_s8_u8(veorq_u8(x, vdupq_n_u8(kDotOffset)));
  }

  // Of one step in each of the four lanes of x.
  template <int kLane>
  static HWY_INLINE int32x4_t dot_lane(int32x4_t sum, int8x16_t x, int8x16_t w) {
    asm("sdot %0.4s, %1.16b, %2.4b[%3]" : "+w"(sum) : "w"(w), "w"(x), "i"(kLane));
    return sum;
  }

  template <int kLane>
  HWY_INLINE void add_lane(const int8x16_t (&x)[kRows], const int8_t* weights) {
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) {
      const int8x16_t w = load_now(weights + v * 16);
      HWY_UNROLL(8)
      for (int r = 0; r < kRows; ++r) {
        sum_[r][v] = dot_lane<kLane>(sum_[r][v], x[r], w);
      }
    }
  }

  int32x4_t sum_[kRows][kVectors];
};

#elif HWY_TARGET == HWY_NEON

// Products of even and odd depths have sums of their own: those of columns 0 and 1 in one vector,
// of columns 2 and 3 in another.
template <int kRows, int kVectors>
class DotSums {
 public:
  HWY_INLINE explicit DotSums(const DotVec (&start)[kVectors]) {
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) {
      const int32x4x2_t columns = vzipq_s32(start[v].raw, vdupq_n_s32(0));
      HWY_UNROLL(8)
      for (int r = 0; r < kRows; ++r) {
        low_[r][v] = columns.val[0];
        high_[r][v] = columns.val[1];
      }
    }
  }

  template <typename Weight>
  HWY_INLINE void add_step(const int16_t* const (&rows)[kRows], int64_t step,
                           const Weight* weights) {
    int16x8_t w[kVectors];
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) {
      w[v] = vreinterpretq_s16_s32(load_dot_operand(weights + v * kDotLanes * kDotDepth).raw);
    }
    HWY_UNROLL(8)
    for (int r = 0; r < kRows; ++r) {
      int32_t operand;
      std::memcpy(&operand, rows[r] + step * kDotDepth, sizeof operand);
      const int16x8_t x = vreinterpretq_s16_s32(vdupq_n_s32(operand));
      HWY_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) {
        low_[r][v] = vmlal_s16(low_[r][v], vget_low_s16(w[v]), vget_low_s16(x));
#if HWY_ARCH_ARM_A64
        high_[r][v] = vmlal_high_s16(high_[r][v], w[v], x);
#else
        high_[r][v] = vmlal_s16(high_[r][v], vget_high_s16(w[v]), vget_low_s16(x));
#endif
      }
    }
  }

  HWY_INLINE DotVec operator()(int r, int v) const {
    return DotVec(add_pairs(low_[r][v], high_[r][v]));
  }

 private:
  int32x4_t low_[kRows][kVectors], high_[kRows][kVectors];
};

#else

template <int kRows, int kVectors>
class DotSums {
 public:
  HWY_INLINE explicit DotSums(const DotVec (&start)[kVectors]) {
    HWY_UNROLL(12)
    for (int r = 0; r < kRows; ++r) {
      HWY_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) sum_[r][v] = start[v];
    }
  }

  template <typename Weight>
  HWY_INLINE void add_step(const DotInput* const (&rows)[kRows], int64_t step,
                           const Weight* weights) {
    DotVec w[kVectors];
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) w[v] = load_dot_operand(weights + v * kDotLanes * kDotDepth);
    HWY_UNROLL(12)
    for (int r = 0; r < kRows; ++r) {
      int32_t operand;
      std::memcpy(&operand, rows[r] + step * kDotDepth, sizeof operand);
      const DotVec x = hn::Set(DotTag(), operand);
      HWY_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) sum_[r][v] = dot(sum_[r][v], x, w[v]);
    }
  }

  HWY_INLINE DotVec operator()(int r, int v) const { return sum_[r][v]; }

 private:
  DotVec sum_[kRows][kVectors];
};

#endif

template <int kRows, int kVectors, typename Weight>
HWY_INLINE const Weight* add_products(const DotInput* const (&rows)[kRows], int64_t steps,
                                      const Weight* weights, DotSums<kRows, kVectors>& sums) {
  constexpr int64_t kStep = kVectors * kDotLanes * kDotDepth;
  // A single row is bound by memory.
  const auto fetch = [](const Weight* from) HWY_ATTR {
    constexpr int64_t kAhead = 2048, kLine = 64;  // bytes
    const char* ahead = reinterpret_cast<const char*>(from) + kAhead;
    constexpr int64_t kBytes = kStep * static_cast<int64_t>(sizeof(Weight));
    HWY_UNROLL(4)
    for (int64_t i = 0; kRows == 1 && i < kBytes; i += kLine) __builtin_prefetch(ahead + i);
  };
  int64_t step = 0;
#if TORCHLET_ARM_DOT == 1
  for (; step + 4 <= steps; step += 4) {
    for (int i = 0; i < 4; ++i) fetch(weights + i * kStep);
    sums.add_steps(rows, step, weights);
    weights += 4 * kStep;
  }
#endif
  for (; step < steps; ++step) {
    fetch(weights);
    sums.add_step(rows, step, weights);
    weights += kStep;
  }
  return weights;
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#endif  // TORCHLET_KERNELS_DOT_SUMS_INL_H_
