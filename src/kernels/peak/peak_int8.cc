#define HWY_WANT_AVX3_DL  // for its integer dot product
#define TORCHLET_WANT_ARM_MATRIX
#include "kernels/peak/peak_flops.h"
#include "kernels/simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/peak/peak_int8.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include "kernels/simd/foreach_dot.h"  // IWYU pragma: keep
// After the line above.
#include <hwy/highway.h>

#include <cstdint>

#include "kernels/quantized/conv_q8_amx-inl.h"
#include "kernels/quantized/dot_q8-inl.h"
#include "kernels/quantized/dot_sums-inl.h"
#include "kernels/simd/isa.h"

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
constexpr int kPeakRows = 12;
#elif TORCHLET_ARM_DOT
constexpr int kPeakRows = 8;
#elif TORCHLET_AVX_VNNI
constexpr int kPeakRows = 6;
#else
constexpr int kPeakRows = 4;
#endif

// `rounds` times the tile of sums that the kernels multiply at once, of a few KB; returns the
// operations. `result` keeps them from being left out.
int64_t multiply_bytes(int64_t rounds, volatile int32_t* result) {
  constexpr int64_t kDepth = 128;
#if TORCHLET_KERNELS_AMX
  if (has(Isa::kAmx)) {
    alignas(64) static constexpr uint8_t kRows[kAmxRows * kDepth] = {};
    alignas(64) static constexpr uint8_t kWeights[kAmxColumns * kDepth] = {};
    alignas(64) int32_t sums[kAmxRows * kAmxColumns];
    AmxPrefetch nothing;
    const AmxTiles tiles;
    for (int64_t round = 0; round < rounds; ++round) {
      amx_multiply<2>(kRows, kDepth, kWeights, kDepth, nothing);
    }
    amx_store_sums<2>(sums);
    *result = sums[0];
    return rounds * kAmxRows * kAmxColumns * kDepth * 2;
  }
#endif
  constexpr int kVectors = 2;
  constexpr int64_t kSteps = kDepth / kDotDepth;
  alignas(64) static constexpr DotInput kRow[kPeakRows * kDepth] = {};
  alignas(64) static constexpr DotWeight kWeights[kVectors * kDotLanes * kDepth] = {};
  const DotInput* rows[kPeakRows];
  for (int r = 0; r < kPeakRows; ++r) rows[r] = kRow + r * kDepth;
  const DotVec start[kVectors] = {hn::Zero(DotTag()), hn::Zero(DotTag())};
  DotSums<kPeakRows, kVectors> sums(start);
  for (int64_t round = 0; round < rounds; ++round) {
    add_products(rows, kSteps, kWeights, sums);
  }
  DotVec all = hn::Zero(DotTag());
  for (int r = 0; r < kPeakRows; ++r) {
    for (int v = 0; v < kVectors; ++v) all = hn::Add(all, sums(r, v));
  }
  *result = hn::GetLane(all);
  return rounds * kPeakRows * kVectors * kDotLanes * kDepth * 2;
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "kernels/peak/best_rate.h"

namespace torchlet::kernels {

HWY_EXPORT(multiply_bytes);

double measure_peak_int8() {
  volatile int32_t result = 0;
  return best_rate([&] { return TORCHLET_DOT_DISPATCH(multiply_bytes)(200, &result); });
}

}  // namespace torchlet::kernels

#endif  // HWY_ONCE
