// Weights lie in panels of one vector of hidden units, [hidden, gates, units], so that a tile holds
// all gates of its units and their new state follows at once. A row of weights meets few rows of
// the state, so that reading the panels is what takes time: they follow each other, after the
// biases of all, [panels, gates, units], which are floats also where the weights are Float16.

#include "kernels/simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/sequence/rnn_f32.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include <algorithm>

#include "base/thread_pool.h"
#include "kernels/gemm/gemm_nhwc.h"
#include "kernels/gemm/half_panels-inl.h"
#include "kernels/sequence/rnn.h"
#include "kernels/simd/activation-inl.h"
#include "kernels/simd/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace {

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr D d;
constexpr int64_t kLanes = static_cast<int64_t>(HWY_LANES(float));

// Rows of a tile, so that the sums fit the registers.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL || \
    (HWY_TARGET == HWY_NEON && HWY_ARCH_ARM_A64)
constexpr int kTileRows = 6;
#else
constexpr int kTileRows = 2;
#endif

int64_t lanes_here() { return kLanes; }

// Gate g of row r and unit u at data[r * row + g * gate + u].
struct Gates {
  const float* data;
  int64_t row, gate;
  HWY_INLINE V load(int64_t r, int g, int64_t u, int64_t left) const {
    return load_first(d, data + r * row + g * gate + u, left);
  }
};

// The new state of rows [first, first + rows), units [begin, end). `in` and `hidden` begin with
// that row and unit 0.
HWY_NOINLINE void finish(const RnnStepF32& s, const Gates& in, const Gates& hidden, int64_t first,
                         int64_t rows, int64_t begin, int64_t end) {
  for (int64_t r = 0; r < rows; ++r) {
    float* next = s.next.data + (first + r) * s.next.stride;
    for (int64_t u = begin; u < end; u += kLanes) {
      const int64_t left = end - u;
      const auto sum = [&](int g) HWY_ATTR {
        return hn::Add(in.load(r, g, u, left), hidden.load(r, g, u, left));
      };
      if (s.cell == RnnCell::kLstm) {
        float* c = s.c.data + (first + r) * s.c.stride + u;
        const V added = hn::Mul(activate_sigmoid(d, sum(0)), activate_tanh(d, sum(2)));
        const V kept = hn::Mul(activate_sigmoid(d, sum(1)), load_first(d, c, left));
        const V state = hn::Add(kept, added);
        store_first(state, d, c, left);
        store_first(hn::Mul(activate_sigmoid(d, sum(3)), activate_tanh(d, state)), d, next + u,
                    left);
      } else {
        const V reset = activate_sigmoid(d, sum(0)), update = activate_sigmoid(d, sum(1));
        const V fresh =
            activate_tanh(d, hn::MulAdd(reset, hidden.load(r, 2, u, left), in.load(r, 2, u, left)));
        const V h = load_first(d, s.h.data + (first + r) * s.h.stride + u, left);
        store_first(hn::MulAdd(hn::Sub(h, fresh), update, fresh), d, next + u, left);
      }
    }
  }
}

// sums[R, kGates, kLanes] = R rows of h, of which those beyond the last repeat it, times a panel,
// plus its bias.
template <int kGates, int R>
HWY_NOINLINE void multiply_tile(const RnnStepF32& s, const float* HWY_RESTRICT bias,
                                Panels<float> panel, int64_t first, float* HWY_RESTRICT sums) {
  const float* HWY_RESTRICT h[R];
  HWY_UNROLL(6)
  for (int r = 0; r < R; ++r) {
    h[r] = s.h.data + std::min<int64_t>(first + r, s.batch - 1) * s.h.stride;
  }
  V sum[R][kGates];
  HWY_UNROLL(4)
  for (int g = 0; g < kGates; ++g) {
    sum[0][g] = hn::Load(d, bias + g * kLanes);
    HWY_UNROLL(6)
    for (int r = 1; r < R; ++r) sum[r][g] = sum[0][g];
  }
  const auto multiply = [&](const auto* HWY_RESTRICT weights) HWY_ATTR {
    for (int64_t k = 0; k < s.hidden; ++k) {
      V w[kGates];
      HWY_UNROLL(4)
      for (int g = 0; g < kGates; ++g) {
        w[g] = load_floats(d, weights + g * kLanes);
        if (R == 1) __builtin_prefetch(weights + 2048 / sizeof(*weights) + g * kLanes);
      }
      weights += kGates * kLanes;
      HWY_UNROLL(6)
      for (int r = 0; r < R; ++r) {
        const V x = hn::Set(d, h[r][k]);
        HWY_UNROLL(4)
        for (int g = 0; g < kGates; ++g) sum[r][g] = hn::MulAdd(x, w[g], sum[r][g]);
      }
    }
  };
  bool is_done = false;
  if constexpr (kHasHalfPanels) {
    is_done = panel.half() != nullptr;
    if (is_done) multiply(reinterpret_cast<const hwy::float16_t*>(panel.half()));
  }
  if (!is_done) multiply(panel.data());
  HWY_UNROLL(6)
  for (int r = 0; r < R; ++r) {
    HWY_UNROLL(4)
    for (int g = 0; g < kGates; ++g) hn::Store(sum[r][g], d, sums + (r * kGates + g) * kLanes);
  }
}

template <int kGates>
void step_panels(const RnnStepF32& s, const float* packed, int64_t begin, int64_t end) {
  const int64_t biases = (s.hidden + kLanes - 1) / kLanes * kGates * kLanes;
  const auto panels = Panels<float>::of(packed + biases, s.weights);
  HWY_ALIGN float sums[kTileRows * kGates * kLanes];
  for (int64_t i = begin; i < end; ++i) {
    const float* bias = packed + i * kGates * kLanes;
    const Panels<float> panel = panels + i * kGates * kLanes * s.hidden;
    const int64_t first_unit = i * kLanes, last_unit = std::min(s.hidden, first_unit + kLanes);
    for (int64_t row = 0; row < s.batch; row += kTileRows) {
      const int64_t rows = std::min<int64_t>(kTileRows, s.batch - row);
      if (rows == 1) {
        multiply_tile<kGates, 1>(s, bias, panel, row, sums);
      } else {
        multiply_tile<kGates, kTileRows>(s, bias, panel, row, sums);
      }
      const Gates in{s.gates.data + row * s.gates.stride, s.gates.stride, s.hidden};
      const Gates hidden{sums - first_unit, kGates * kLanes, kLanes};
      finish(s, in, hidden, row, rows, first_unit, last_unit);
    }
  }
}

void step_here(const RnnStepF32& s, const float* packed, int64_t begin, int64_t end) {
  if (s.cell == RnnCell::kLstm) {
    step_panels<4>(s, packed, begin, end);
  } else {
    step_panels<3>(s, packed, begin, end);
  }
}

void finish_here(const RnnStepF32& s, const RnnRows<const float>& hidden_gates) {
  finish(s, {s.gates.data, s.gates.stride, s.hidden},
         {hidden_gates.data, hidden_gates.stride, s.hidden}, 0, s.batch, 0, s.hidden);
}

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace torchlet::kernels {

HWY_EXPORT(lanes_here);
HWY_EXPORT(step_here);
HWY_EXPORT(finish_here);

namespace {

int64_t lanes() { return HWY_DYNAMIC_DISPATCH(lanes_here)(); }
int64_t panel_count(int64_t hidden) { return (hidden + lanes() - 1) / lanes(); }

}  // namespace

size_t rnn_packed_bytes(RnnCell cell, int64_t hidden, WeightFormat weights) {
  const size_t weight = weights == WeightFormat::kFloat32 ? sizeof(float) : sizeof(Float16);
  return static_cast<size_t>(panel_count(hidden) * lanes() * gate_count(cell)) *
         (sizeof(float) + static_cast<size_t>(hidden) * weight);
}

void rnn_pack(RnnCell cell, int64_t hidden, const float* weight, const float* bias, void* packed,
              WeightFormat weights) {
  const int64_t units = lanes(), row_size = gate_count(cell) * units;
  auto* const biases = static_cast<float*>(packed);
  const PackingTarget<float> panels(biases + panel_count(hidden) * row_size, weights);
  // value(row) of all gates of the units from `first` on.
  const auto write = [&](int64_t first, float* to, const auto& value) {
    for (int64_t gate = 0; gate < gate_count(cell); ++gate) {
      for (int64_t unit = first; unit < first + units; ++unit) {
        *to++ = unit < hidden ? value(gate * hidden + unit) : 0;
      }
    }
  };
  for (int64_t first = 0; first < hidden; first += units) {
    write(first, biases + first * gate_count(cell),
          [&](int64_t row) { return bias ? bias[row] : 0; });
    panels.pack(first * gate_count(cell) * hidden, hidden, row_size, [&](float* to) {
      for (int64_t k = 0; k < hidden; ++k) {
        write(first, to + k * row_size, [&](int64_t row) { return weight[row * hidden + k]; });
      }
    });
  }
}

void rnn_step_f32(const RnnStepF32& s, const void* packed) {
  // About 5 microseconds of reading weights.
  constexpr int64_t kProductsPerTask = int64_t{1} << 16;
  const int64_t panels = panel_count(s.hidden);
  const int64_t products = s.batch * s.hidden * s.hidden * gate_count(s.cell) / panels;
  const int64_t grain = (kProductsPerTask + products - 1) / products;
  parallel_for(panels, grain, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(step_here)(s, static_cast<const float*>(packed), begin, end);
  });
}

void rnn_finish_f32(const RnnStepF32& step, RnnRows<const float> hidden_gates) {
  HWY_DYNAMIC_DISPATCH(finish_here)(step, hidden_gates);
}

}  // namespace torchlet::kernels

#endif  // HWY_ONCE
