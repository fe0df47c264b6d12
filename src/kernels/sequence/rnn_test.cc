#include "kernels/sequence/rnn.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "kernels/gemm/gemm_nhwc.h"
#include "kernels/simd/target_test.h"

namespace torchlet::kernels {
namespace {

std::vector<float> random_floats(int64_t count, std::mt19937& engine) {
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = uniform(engine);
  return values;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// With weights in kFloat16, they are whole numbers of 64ths, which are the same in both forms.
void check(RnnCell cell, int64_t batch, int64_t hidden, bool has_bias,
           WeightFormat weights = WeightFormat::kFloat32) {
  SCOPED_TRACE(
      testing::Message() << gate_count(cell) << " gates, " << batch << " x " << hidden
                         << (weights == WeightFormat::kFloat16 ? " in half precision" : ""));
  std::mt19937 engine(3);
  const int64_t gates = gate_count(cell) * hidden, stride = gates + 3;
  std::vector<float> weight = random_floats(gates * hidden, engine);
  if (weights == WeightFormat::kFloat16) {
    for (float& x : weight) x = std::round(x * 64) / 64;
  }
  const std::vector<float> bias = random_floats(gates, engine);
  const std::vector<float> in = random_floats(batch * stride, engine);
  const std::vector<float> h = random_floats(batch * hidden, engine);
  const std::vector<float> c = random_floats(batch * hidden, engine);
  std::vector<float> got_c = c, next(static_cast<size_t>(batch * (hidden + 1)), 9);
  std::vector<float> products(static_cast<size_t>(batch * gates));
  std::vector<double> want_h, want_c;
  for (int64_t b = 0; b < batch; ++b) {
    const auto product = [&](int64_t g, int64_t u) {
      const int64_t row = g * hidden + u;
      double sum = has_bias ? bias[static_cast<size_t>(row)] : 0;
      for (int64_t k = 0; k < hidden; ++k) {
        sum += static_cast<double>(weight[static_cast<size_t>(row * hidden + k)]) *
               h[static_cast<size_t>(b * hidden + k)];
      }
      products[static_cast<size_t>(b * gates + row)] = static_cast<float>(sum);
      return sum;
    };
    const auto input = [&](int64_t g, int64_t u) -> double {
      return in[static_cast<size_t>(b * stride + g * hidden + u)];
    };
    for (int64_t u = 0; u < hidden; ++u) {
      const auto sum = [&](int64_t g) { return input(g, u) + product(g, u); };
      const size_t at = static_cast<size_t>(b * hidden + u);
      if (cell == RnnCell::kLstm) {
        want_c.push_back(sigmoid(sum(1)) * c[at] + sigmoid(sum(0)) * std::tanh(sum(2)));
        want_h.push_back(sigmoid(sum(3)) * std::tanh(want_c.back()));
      } else {
        const double fresh = std::tanh(input(2, u) + sigmoid(sum(0)) * product(2, u));
        const double update = sigmoid(sum(1));
        want_h.push_back((1 - update) * fresh + update * h[at]);
      }
    }
  }
  std::vector<char> memory(rnn_packed_bytes(cell, hidden, weights) + 64);
  void* packed = reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(memory.data()) + 63) & ~63ul);
  rnn_pack(cell, hidden, weight.data(), has_bias ? bias.data() : nullptr, packed, weights);
  const RnnStepF32 step{cell,
                        batch,
                        hidden,
                        {in.data(), stride},
                        {h.data(), hidden},
                        {got_c.data(), hidden},
                        {next.data(), hidden + 1},
                        weights};
  for (const bool fused : {true, false}) {
    got_c = c;
    if (fused) {
      rnn_step_f32(step, packed);
    } else {
      rnn_finish_f32(step, {products.data(), gates});
    }
    for (int64_t b = 0; b < batch; ++b) {
      for (int64_t u = 0; u < hidden; ++u) {
        const size_t at = static_cast<size_t>(b * hidden + u);
        ASSERT_NEAR(next[static_cast<size_t>(b * (hidden + 1) + u)], want_h[at], 1e-5) << fused;
        if (cell == RnnCell::kLstm) {
          ASSERT_NEAR(got_c[at], want_c[at], 1e-5) << fused;
        }
      }
      ASSERT_EQ(next[static_cast<size_t>(b * (hidden + 1) + hidden)], 9);
    }
  }
}

TEST(Rnn, EveryTail) {
  for_each_target([] {
    for (const RnnCell cell : {RnnCell::kLstm, RnnCell::kGru}) {
      for (const int64_t hidden : {1, 3, 4, 15, 16, 17, 33, 50}) {
        for (const int64_t batch : {1, 2, 3, 6, 7, 13}) {
          check(cell, batch, hidden, hidden % 2 == 1);
          if (has_half_panels())
            check(cell, batch, hidden, hidden % 2 == 1, WeightFormat::kFloat16);
          if (testing::Test::HasFatalFailure()) return;
        }
      }
      check(cell, 1, 256, true);
    }
  });
}

TEST(Rnn, HalfWeightsTakeHalfTheMemory) {
  const size_t biases = rnn_packed_bytes(RnnCell::kLstm, 64) / 65;
  EXPECT_EQ(rnn_packed_bytes(RnnCell::kLstm, 64, WeightFormat::kFloat16), biases + biases * 64 / 2);
}

}  // namespace
}  // namespace torchlet::kernels
