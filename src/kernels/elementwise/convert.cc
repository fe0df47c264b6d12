// Any pair of types is a loop into float or int32 and one out of it, so few loops make all pairs.
#define TORCHLET_NO_AVX3  // bound by memory
#include "kernels/simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/convert.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "kernels/elementwise/convert.h"

#ifndef TORCHLET_KERNELS_CONVERT_ONCE_
#define TORCHLET_KERNELS_CONVERT_ONCE_
namespace torchlet::kernels::convert_detail {

struct F16 {
  uint16_t bits;
};
struct BF16 {
  uint16_t bits;
};
struct Bool {
  uint8_t value;
};

// Loops take so many elements at a time: compilers make vectors of loops that end evenly.
constexpr int64_t kStep = 32;
using Loop = void (*)(const void* from, void* to, int64_t steps);

}  // namespace torchlet::kernels::convert_detail
#endif

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using namespace convert_detail;

// What a processor without vectors for it does: the lowest integer for what does not fit.
template <typename To>
HWY_INLINE To truncated(float x) {
  using Wide = std::conditional_t<sizeof(To) == 8, int64_t, int32_t>;
  constexpr float kLowest = static_cast<float>(std::numeric_limits<Wide>::min());
  return static_cast<To>(static_cast<Wide>(std::fabs(x) < -kLowest ? x : kLowest));
}

HWY_INLINE uint16_t rounded_bf16(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  const uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  return static_cast<uint16_t>(bits << 1 > 0xff000000u ? 0x7fc0 : rounded);
}

template <typename From, typename To>
HWY_INLINE void assign(const From& from, To& to) {
  if constexpr (std::is_same_v<From, BF16>) {
    to = std::bit_cast<float>(static_cast<uint32_t>(from.bits) << 16);
  } else if constexpr (std::is_same_v<To, BF16>) {
    to.bits = rounded_bf16(from);
  } else if constexpr (std::is_same_v<To, Bool>) {
    to.value = from != 0;
  } else if constexpr (std::is_same_v<From, float> && std::is_integral_v<To>) {
    to = truncated<To>(from);
  } else {
    to = static_cast<To>(from);
  }
}

template <typename From, typename To>
HWY_INLINE void step(const From* HWY_RESTRICT from, To* HWY_RESTRICT to) {
  for (int64_t i = 0; i < kStep; ++i) assign(from[i], to[i]);
}

// Processors without 512-bit vectors know int32 alone.
HWY_INLINE void step(const float* HWY_RESTRICT from, int64_t* HWY_RESTRICT to) {
  int is_small = 1;
  for (int64_t i = 0; i < kStep; ++i) is_small &= std::fabs(from[i]) < 0x1p31f;
  if (is_small) {
    for (int64_t i = 0; i < kStep; ++i) to[i] = static_cast<int32_t>(from[i]);
  } else {
    for (int64_t i = 0; i < kStep; ++i) assign(from[i], to[i]);
  }
}

#if HWY_TARGET == HWY_AVX2
// The processor's own conversion gives the lowest integer for what does not fit, and the lowest
// bytes of all are picked at once: compilers compare, and narrow twice.
template <typename To>
requires(sizeof(To) == 1 && std::is_integral_v<To>) HWY_INLINE
    void step(const float* HWY_RESTRICT from, To* HWY_RESTRICT to) {
  const hn::ScalableTag<float> d;
  const hn::ScalableTag<uint8_t> bytes;
  const hn::ScalableTag<uint32_t> words;
  static_assert(hn::MaxLanes(bytes) == kStep);
  HWY_ALIGN static constexpr uint32_t kOrder[] = {0, 4, 1, 5, 2, 6, 3, 7};
  auto sum = hn::Zero(bytes);
  const auto add = [&](auto part) HWY_ATTR {
    constexpr int kPart = decltype(part)::value;
    const auto x = hn::LoadU(d, from + kPart * kStep / 4);
    const auto whole = hn::BitCast(bytes, hn::Vec256<int32_t>{_mm256_cvttps_epi32(x.raw)});
    HWY_ALIGN static constexpr auto kPlaces = [] {
      std::array<uint8_t, 16> places{};
      for (size_t i = 0; i < 16; ++i) places[i] = i / 4 == kPart ? i % 4 * 4 : 128;  // or a zero
      return places;
    }();
    sum = hn::Or(sum, hn::TableLookupBytes(whole, hn::LoadDup128(bytes, kPlaces.data())));
  };
  add(std::integral_constant<int, 0>());
  add(std::integral_constant<int, 1>());
  add(std::integral_constant<int, 2>());
  add(std::integral_constant<int, 3>());
  const auto order = hn::SetTableIndices(words, kOrder);
  const auto sorted = hn::TableLookupLanes(hn::BitCast(words, sum), order);
  hn::StoreU(hn::BitCast(bytes, sorted), bytes, reinterpret_cast<uint8_t*>(to));
}

template <typename To>
requires(sizeof(To) == 2 && std::is_integral_v<To>) HWY_INLINE
    void step(const float* HWY_RESTRICT from, To* HWY_RESTRICT to) {
  const hn::ScalableTag<float> d;
  const auto low_halves = [&](int64_t at) HWY_ATTR {
    const __m256i whole = _mm256_cvttps_epi32(hn::LoadU(d, from + at).raw);
    return _mm256_and_si256(whole, _mm256_set1_epi32(0xffff));
  };
  for (int64_t i = 0; i < kStep; i += 16) {
    const __m256i packed = _mm256_packus_epi32(low_halves(i), low_halves(i + 8));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i), _mm256_permute4x64_epi64(packed, 0xd8));
  }
}

HWY_INLINE void step(const float* HWY_RESTRICT from, BF16* HWY_RESTRICT to) {
  const auto rounded = [&](int64_t at) HWY_ATTR {
    const __m256 x = _mm256_loadu_ps(from + at);
    const __m256i bits = _mm256_castps_si256(x);
    const __m256i half =
        _mm256_add_epi32(_mm256_set1_epi32(0x7fff),
                         _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1)));
    const __m256i number = _mm256_srli_epi32(_mm256_add_epi32(bits, half), 16);
    const __m256i is_nan = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
    return _mm256_blendv_epi8(number, _mm256_set1_epi32(0x7fc0), is_nan);
  };
  for (int64_t i = 0; i < kStep; i += 16) {
    const __m256i packed = _mm256_packus_epi32(rounded(i), rounded(i + 8));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i), _mm256_permute4x64_epi64(packed, 0xd8));
  }
}

// A vector of int64 as doubles: as numbers from 2^84 and from 2^52 on, of the upper and the lower
// half, whose difference from these is exact.
HWY_INLINE hn::Vec256<double> doubles_of(const int64_t* from) {
  const hn::Full256<uint64_t> words;
  const hn::Full256<double> d;
  constexpr uint64_t kUpper = 0x4530000080000000;  // 2^84 + 2^63, which the sign's bit adds to
  constexpr uint64_t kLower = 0x4330000000000000;  // 2^52
  const auto x = hn::LoadU(words, reinterpret_cast<const uint64_t*>(from));
  const auto upper = hn::Xor(hn::ShiftRight<32>(x), hn::Set(words, kUpper));
  const auto lower = hn::Or(hn::And(x, hn::Set(words, 0xffffffff)), hn::Set(words, kLower));
  const auto rest = hn::Sub(hn::BitCast(d, upper), hn::Set(d, 0x1p84 + 0x1p63 + 0x1p52));
  return hn::Add(rest, hn::BitCast(d, lower));
}
HWY_INLINE void step(const int64_t* HWY_RESTRICT from, double* HWY_RESTRICT to) {
  const hn::Full256<double> d;
  for (int64_t i = 0; i < kStep; i += 4) hn::StoreU(doubles_of(from + i), d, to + i);
}
HWY_INLINE void step(const int64_t* HWY_RESTRICT from, float* HWY_RESTRICT to) {
  constexpr int64_t kExact = int64_t{1} << 53;  // up to here doubles are
  const hn::Full128<float> half;
  const hn::Full256<int64_t> words;
  auto all = hn::Zero(words);
  for (int64_t i = 0; i < kStep; i += 4) {
    all = hn::Or(all, hn::Add(hn::LoadU(words, from + i), hn::Set(words, kExact)));
  }
  const auto beyond = hn::AndNot(hn::Set(words, 2 * kExact - 1), all);
  if (hn::AllTrue(words, hn::Eq(beyond, hn::Zero(words)))) {
    for (int64_t i = 0; i < kStep; i += 4) {
      hn::StoreU(hn::DemoteTo(half, doubles_of(from + i)), half, to + i);
    }
  } else {
    for (int64_t i = 0; i < kStep; ++i) assign(from[i], to[i]);
  }
}
#endif

template <typename From, typename To>
void loop(const void* from, void* to, int64_t steps) {
  for (int64_t i = 0; i < steps; ++i) {
    step(static_cast<const From*>(from) + i * kStep, static_cast<To*>(to) + i * kStep);
  }
}

// Elsewhere Highway's own do not round, and know no infinity.
constexpr bool kHasF16 = (HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2) || HWY_ARCH_ARM_A64;

void loop_from_f16(const void* source, void* target, int64_t steps) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<hwy::float16_t, decltype(d)> half;
  const auto* from = static_cast<const hwy::float16_t*>(source);
  for (int64_t i = 0; i < steps * kStep; i += static_cast<int64_t>(hn::Lanes(d))) {
    hn::StoreU(hn::PromoteTo(d, hn::LoadU(half, from + i)), d, static_cast<float*>(target) + i);
  }
}

void loop_to_f16(const void* source, void* target, int64_t steps) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<hwy::float16_t, decltype(d)> half;
  const auto* from = static_cast<const float*>(source);
  auto* to = static_cast<hwy::float16_t*>(target);
  for (int64_t i = 0; i < steps * kStep; i += static_cast<int64_t>(hn::Lanes(d))) {
    hn::StoreU(hn::DemoteTo(half, hn::LoadU(d, from + i)), half, to + i);
  }
}

// In the order of NumberType; null: it is of that type, or there is none.
template <typename Middle>
Loop loop_into(NumberType type) {
  constexpr bool kFloat = std::is_same_v<Middle, float>;
  constexpr Loop kLoops[] = {loop<uint8_t, Middle>,
                             loop<int8_t, Middle>,
                             loop<int16_t, Middle>,
                             kFloat ? loop<int32_t, Middle> : nullptr,
                             loop<int64_t, Middle>,
                             kFloat && kHasF16 ? loop_from_f16 : nullptr,
                             kFloat ? loop<BF16, float> : nullptr,
                             nullptr,
                             kFloat ? loop<double, float> : nullptr,
                             loop<uint8_t, Middle>};
  return kLoops[static_cast<size_t>(type)];
}
template <typename Middle>
Loop loop_out_of(NumberType type) {
  constexpr bool kFloat = std::is_same_v<Middle, float>;
  constexpr Loop kLoops[] = {loop<Middle, uint8_t>,
                             loop<Middle, int8_t>,
                             loop<Middle, int16_t>,
                             kFloat ? loop<Middle, int32_t> : nullptr,
                             loop<Middle, int64_t>,
                             kFloat && kHasF16 ? loop_to_f16 : nullptr,
                             kFloat ? loop<float, BF16> : nullptr,
                             nullptr,
                             kFloat ? loop<float, double> : nullptr,
                             kFloat ? loop<float, Bool> : nullptr};
  return kLoops[static_cast<size_t>(type)];
}

// For what needs no number in the middle, or would lose some there.
Loop direct_loop(NumberType from, NumberType to) {
  if (from == NumberType::kI64 && to == NumberType::kBool) return loop<int64_t, Bool>;
  if (from == NumberType::kI64 && to == NumberType::kF64) return loop<int64_t, double>;
  if (to != NumberType::kI16) return nullptr;
  if (from == NumberType::kI8) return loop<int8_t, int16_t>;
  return from == NumberType::kU8 || from == NumberType::kBool ? loop<uint8_t, int16_t> : nullptr;
}

Loop convert_loop(bool by_float, bool into, NumberType type) {
  if (by_float) return into ? loop_into<float>(type) : loop_out_of<float>(type);
  return into ? loop_into<int32_t>(type) : loop_out_of<int32_t>(type);
}

void look_up(const uint8_t* answers, const uint8_t* x, const uint8_t* y, const uint8_t* z,
             uint8_t* to, int64_t count) {
  const hn::ScalableTag<uint8_t> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  HWY_ALIGN uint8_t table[16] = {};
  std::copy_n(answers, 8, table);
  const auto all = hn::LoadDup128(d, table);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto third = hn::LoadU(d, z + i);
    const auto second = hn::Add(hn::LoadU(d, y + i), hn::Add(third, third));
    const auto place = hn::Add(hn::LoadU(d, x + i), hn::Add(second, second));
    hn::StoreU(hn::TableLookupBytes(all, place), d, to + i);
  }
  for (; i < count; ++i) to[i] = answers[(x[i] + 2 * y[i] + 4 * z[i]) & 7];
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace torchlet::kernels {

HWY_EXPORT(convert_loop);
HWY_EXPORT(direct_loop);
HWY_EXPORT(look_up);

namespace {

using convert_detail::kStep;
using convert_detail::Loop;

constexpr int64_t kMiddle = 512;  // elements that stay in the first cache
constexpr int64_t kWidest = 8;    // bytes of an element

bool is_integer(NumberType type) { return type <= NumberType::kI64; }

int64_t width_of(NumberType type) {
  constexpr int8_t kWidths[] = {1, 1, 2, 4, 8, 2, 2, 4, 8, 1};
  return kWidths[static_cast<size_t>(type)];
}

// Does no number change on its way through float?
bool passes_float(NumberType from, NumberType to) {
  switch (from) {
    case NumberType::kI32:
    case NumberType::kI64:
    case NumberType::kF64:
      return to == NumberType::kF16 || to == NumberType::kBF16 || to == NumberType::kF32 ||
             (to == NumberType::kBool && from == NumberType::kI32);
    default:
      return true;
  }
}

}  // namespace

bool convert(NumberType from_type, const void* from, NumberType to_type, void* to, int64_t count) {
  const bool by_int =
      (is_integer(from_type) || from_type == NumberType::kBool) && is_integer(to_type);
  const NumberType middle_type = by_int ? NumberType::kI32 : NumberType::kF32;
  if (from_type == to_type) return false;
  const int64_t from_width = width_of(from_type), to_width = width_of(to_type);
  if (by_int && from_width == to_width) {  // the same bytes
    std::memcpy(to, from, static_cast<size_t>(count * to_width));
    return true;
  }
  const Loop direct = HWY_DYNAMIC_DISPATCH(direct_loop)(from_type, to_type);
  if (!direct && !by_int && !passes_float(from_type, to_type)) return false;
  const Loop into = direct ? direct : HWY_DYNAMIC_DISPATCH(convert_loop)(!by_int, true, from_type);
  const Loop out_of =
      direct ? nullptr : HWY_DYNAMIC_DISPATCH(convert_loop)(!by_int, false, to_type);
  if (!direct && ((!into && from_type != middle_type) || (!out_of && to_type != middle_type))) {
    return false;
  }
  const auto* source = static_cast<const char*>(from);
  auto* target = static_cast<char*>(to);
  alignas(64) char middle[kMiddle * 4], first[kStep * kWidest], last[kStep * kWidest];
  while (count > 0) {
    int64_t some = std::min(count, kMiddle), steps = some / kStep;
    const char* x = source;
    char* y = target;
    if (steps == 0) {  // what is left goes through arrays that a step fits
      std::memcpy(first, source, static_cast<size_t>(some * from_width));
      x = first, y = last, steps = 1;
    } else {
      some = steps * kStep;
    }
    if (into && out_of) {
      into(x, middle, steps);
      out_of(middle, y, steps);
    } else {
      (into ? into : out_of)(x, y, steps);
    }
    if (y == last) std::memcpy(target, last, static_cast<size_t>(some * to_width));
    source += some * from_width;
    target += some * to_width;
    count -= some;
  }
  return true;
}

void look_up_bools(const uint8_t (&answers)[8], const uint8_t* x, const uint8_t* y,
                   const uint8_t* z, uint8_t* to, int64_t count) {
  HWY_DYNAMIC_DISPATCH(look_up)(answers, x, y, z, to, count);
}

}  // namespace torchlet::kernels

#endif  // HWY_ONCE
