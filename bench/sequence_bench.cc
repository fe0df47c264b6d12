// What the kernels of language and speech models reach on one thread.
//
//   ninja -C build/release sequence_bench && build/release/sequence_bench

#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/quantized/linear_dynamic_q8.h"
#include "kernels/sequence/attention.h"
#include "kernels/sequence/rnn.h"

namespace torchlet::kernels {
namespace {

benchmark::Counter rate(double amount, const benchmark::State& state) {
  return benchmark::Counter(amount * static_cast<double>(state.iterations()),
                            benchmark::Counter::kIsRate);
}

void* aligned(std::vector<char>& memory) {
  return reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(memory.data()) + 63) & ~63ul);
}

// Each call has other weights, as in a network: `copies` of them.
void linear_dynamic(benchmark::State& state, int64_t rows, int64_t in, int64_t out, size_t copies) {
  set_num_threads(1);
  const std::vector<int8_t> weight(static_cast<size_t>(in * out), 3);
  const std::vector<float> scales(static_cast<size_t>(out), 0.01f);
  LayerQ8 layer{};
  layer.weight = weight.data();
  layer.weight_scales = scales.data();
  std::vector<std::vector<char>> packed(copies);
  for (std::vector<char>& memory : packed) {
    memory.resize(linear_dynamic_q8_packed_bytes(in, out) + 64);
    linear_dynamic_q8_pack(in, out, layer, aligned(memory));
  }
  const std::vector<float> x(static_cast<size_t>(rows * in), 0.5f);
  std::vector<float> y(static_cast<size_t>(rows * out));
  std::vector<char> work(static_cast<size_t>(linear_dynamic_q8_work_bytes(rows, in)) + 64);
  uint8_t* bytes = static_cast<uint8_t*>(aligned(work));
  size_t next = 0;
  for (auto _ : state) {
    const RangeF32 range = range_rows_f32(rows, in, x.data(), in);
    linear_dynamic_q8({rows,
                       in,
                       out,
                       x.data(),
                       in,
                       {range.high / 255, 0},
                       aligned(packed[next++ % copies]),
                       -1e9f,
                       1e9f,
                       y.data(),
                       out,
                       bytes});
  }
  state.counters["OP/s"] = rate(2.0 * static_cast<double>(rows * in * out), state);
  state.counters["B/s"] = rate(static_cast<double>(in * out), state);  // of weights
}

void rnn_step(benchmark::State& state, RnnCell cell, int64_t batch, int64_t hidden) {
  set_num_threads(1);
  const int64_t gates = gate_count(cell) * hidden;
  const std::vector<float> weight(static_cast<size_t>(gates * hidden), 0.01f);
  const std::vector<float> in(static_cast<size_t>(batch * gates), 0.1f);
  const std::vector<float> h(static_cast<size_t>(batch * hidden), 0.5f);
  std::vector<float> c = h, next = h;
  std::vector<char> packed(rnn_packed_bytes(cell, hidden) + 64);
  rnn_pack(cell, hidden, weight.data(), nullptr, aligned(packed));
  const RnnStepF32 step{cell,
                        batch,
                        hidden,
                        {in.data(), gates},
                        {h.data(), hidden},
                        {c.data(), hidden},
                        {next.data(), hidden}};
  for (auto _ : state) rnn_step_f32(step, aligned(packed));
  state.counters["FLOP/s"] = rate(2.0 * static_cast<double>(batch * gates * hidden), state);
  state.counters["B/s"] = rate(4.0 * static_cast<double>(gates * hidden), state);  // of weights
}

// Heads side by side in the rows of a linear layer's result.
void attention(benchmark::State& state, int64_t heads, int64_t length, int64_t depth) {
  set_num_threads(1);
  const int64_t width = heads * depth;
  const std::vector<float> qkv(static_cast<size_t>(3 * length * width), 0.1f);
  std::vector<float> result(static_cast<size_t>(length * width));
  const auto part = [&](int64_t i) -> HeadMatrices<const float> {
    return {qkv.data() + i * width, 0, depth, 3 * width};
  };
  const AttentionF32 a{1,       heads,   length, length,  depth, depth,
                       part(0), part(1), 1,      part(2), {},    {result.data(), 0, depth, width},
                       0.125f};
  for (auto _ : state) attention_f32(a);
  state.counters["FLOP/s"] =
      rate(4.0 * static_cast<double>(heads * length * length * depth), state);
}

void add_all() {
  for (const auto cell : {RnnCell::kLstm, RnnCell::kGru}) {
    for (const int64_t hidden : {128, 256, 512}) {
      for (const int64_t batch : {1, 8}) {
        const std::string name = std::string(cell == RnnCell::kLstm ? "lstm" : "gru") + "_step/" +
                                 std::to_string(batch) + "x" + std::to_string(hidden);
        benchmark::RegisterBenchmark(name.c_str(), rnn_step, cell, batch, hidden);
      }
    }
  }
  benchmark::RegisterBenchmark("attention/12x197x64", attention, 12, 197, 64);
  benchmark::RegisterBenchmark("attention/12x128x64", attention, 12, 128, 64);
  benchmark::RegisterBenchmark("attention/8x1024x40", attention, 8, 1024, 40);
  for (const auto& [in, out] : {std::pair<int64_t, int64_t>{512, 512}, {768, 3072}, {3072, 768}}) {
    for (const int64_t rows : {1, 4, 16, 128}) {
      for (const size_t copies : {1, 24}) {
        const std::string name = "linear_dynamic_q8/" + std::to_string(rows) + "x" +
                                 std::to_string(in) + "->" + std::to_string(out) +
                                 (copies > 1 ? " cold" : "");
        benchmark::RegisterBenchmark(name.c_str(), linear_dynamic, rows, in, out, copies);
      }
    }
  }
}

const bool added = (add_all(), true);

}  // namespace
}  // namespace torchlet::kernels
