// The NHWC kernels around the convolutions, one thread: FLOP/s next to the multiply-add limit that
// kernel_bench measures, and the bytes that a kernel must read and write per second next to those
// that memcpy moves (`copy_limit`, of the same size).
//
//   ninja -C build/release nhwc_bench && build/release/nhwc_bench

#include <benchmark/benchmark.h>

#include <cstring>
#include <new>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/conv_nhwc/conv_nhwc.h"
#include "kernels/conv_nhwc/dwconv_nhwc.h"
#include "kernels/conv_nhwc/inverted_residual.h"
#include "kernels/elementwise/elementwise_nhwc.h"
#include "kernels/elementwise/normalize.h"
#include "kernels/layout/transpose.h"
#include "kernels/spatial/pool_nhwc.h"

namespace torchlet::kernels {
namespace {

using benchmark::Counter;

// Vectors that begin on a cache line, as the memory of a plan does.
template <typename T>
struct AlignedAllocator {
  using value_type = T;
  AlignedAllocator() = default;
  template <typename U>
  explicit AlignedAllocator(const AlignedAllocator<U>&) {}
  T* allocate(size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), kAlignment)); }
  void deallocate(T* p, size_t) { ::operator delete(p, kAlignment); }
  bool operator==(const AlignedAllocator&) const { return true; }
  static constexpr std::align_val_t kAlignment{64};
};
template <typename T>
using Aligned = std::vector<T, AlignedAllocator<T>>;

Aligned<float> data(int64_t size) { return Aligned<float>(static_cast<size_t>(size), 0.5f); }

void set_rates(benchmark::State& state, int64_t flops, int64_t bytes) {
  const double rounds = static_cast<double>(state.iterations());
  if (flops)
    state.counters["FLOP/s"] = Counter(static_cast<double>(flops) * rounds, Counter::kIsRate);
  if (bytes) state.counters["B/s"] = Counter(static_cast<double>(bytes) * rounds, Counter::kIsRate);
}

// Bytes read and written.
void copy_limit(benchmark::State& state) {
  const int64_t bytes = state.range(0);
  Aligned<char> from(static_cast<size_t>(bytes), 1), to(from);
  for (auto _ : state) {
    std::memcpy(to.data(), from.data(), to.size());
    benchmark::DoNotOptimize(to.data());
    benchmark::ClobberMemory();
  }
  set_rates(state, 0, 2 * bytes);
}
BENCHMARK(copy_limit)->Arg(16 << 10)->Arg(512 << 10)->Arg(2 << 20)->Arg(5 << 20);

struct Depthwise {
  int64_t channels, size, kernel, stride;
};
// MobileNetV2 1.0 at 224 x 224, with how often each layer occurs.
constexpr struct {
  Depthwise layer;
  int count;
} kMobileNetV2[] = {{{32, 112, 3, 1}, 1}, {{96, 112, 3, 2}, 1}, {{144, 56, 3, 1}, 1},
                    {{144, 56, 3, 2}, 1}, {{192, 28, 3, 1}, 2}, {{192, 28, 3, 2}, 1},
                    {{384, 14, 3, 1}, 4}, {{576, 14, 3, 1}, 2}, {{576, 14, 3, 2}, 1},
                    {{960, 7, 3, 1}, 3}};

struct DepthwiseRun {
  DwConvShape shape;
  Aligned<float> input, output, packed, bias;

  explicit DepthwiseRun(const Depthwise& layer) {
    const int64_t out = (layer.size + layer.stride - 1) / layer.stride;
    shape = {1,
             layer.channels,
             {.in_h = layer.size,
              .in_w = layer.size,
              .out_h = out,
              .out_w = out,
              .kernel_h = layer.kernel,
              .kernel_w = layer.kernel,
              .stride_h = layer.stride,
              .stride_w = layer.stride,
              .pad_h = layer.kernel / 2,
              .pad_w = layer.kernel / 2}};
    input = data(layer.size * layer.size * layer.channels);
    output = data(out * out * layer.channels);
    bias = data(layer.channels);
    const auto weight = data(layer.channels * layer.kernel * layer.kernel);
    packed.resize(dwconv_nhwc_f32_packed_bytes(shape) / sizeof(float));
    dwconv_nhwc_f32_pack(shape, weight.data(), packed.data());
  }
  void operator()(const Activation& activation = {ActivationKind::kClamp, 0, 6}) {
    const EpilogueF32 epilogue{.bias = bias.data(), .activation = activation};
    dwconv_nhwc_f32(shape, input.data(), shape.channels, packed.data(), epilogue, output.data(),
                    shape.channels);
  }
  int64_t flops() const {
    const Window2dShape& s = shape.window;
    return 2 * s.out_h * s.out_w * s.kernel_h * s.kernel_w * shape.channels;
  }
  int64_t bytes() const {
    return static_cast<int64_t>((input.size() + output.size()) * sizeof(float));
  }
};

void depthwise(benchmark::State& state, const Depthwise& layer) {
  set_num_threads(1);
  DepthwiseRun run(layer);
  for (auto _ : state) run();
  set_rates(state, run.flops(), run.bytes());
}
void depthwise_hardswish(benchmark::State& state, const Depthwise& layer) {
  set_num_threads(1);
  DepthwiseRun run(layer);
  for (auto _ : state) run({ActivationKind::kHardswish});
  set_rates(state, run.flops(), run.bytes());
}
BENCHMARK_CAPTURE(depthwise, 32_112_s1, {32, 112, 3, 1});
BENCHMARK_CAPTURE(depthwise, 96_112_s2, {96, 112, 3, 2});
BENCHMARK_CAPTURE(depthwise, 144_56_s1, {144, 56, 3, 1});
BENCHMARK_CAPTURE(depthwise, 144_56_s2, {144, 56, 3, 2});
BENCHMARK_CAPTURE(depthwise, 192_28_s1, {192, 28, 3, 1});
BENCHMARK_CAPTURE(depthwise, 192_28_s2, {192, 28, 3, 2});
BENCHMARK_CAPTURE(depthwise, 384_14_s1, {384, 14, 3, 1});
BENCHMARK_CAPTURE(depthwise, 576_14_s1, {576, 14, 3, 1});
BENCHMARK_CAPTURE(depthwise, 576_14_s2, {576, 14, 3, 2});
BENCHMARK_CAPTURE(depthwise, 960_7_s1, {960, 7, 3, 1});
BENCHMARK_CAPTURE(depthwise, 5x5_72_56_s2, {72, 56, 5, 2});
BENCHMARK_CAPTURE(depthwise, 5x5_120_28_s1, {120, 28, 5, 1});
BENCHMARK_CAPTURE(depthwise, 5x5_672_14_s1, {672, 14, 5, 1});
BENCHMARK_CAPTURE(depthwise, 5x5_960_7_s1, {960, 7, 5, 1});
BENCHMARK_CAPTURE(depthwise_hardswish, 240_28_s2, {240, 28, 3, 2});
BENCHMARK_CAPTURE(depthwise_hardswish, 480_14_s1, {480, 14, 3, 1});

// All 17 depthwise layers of MobileNetV2.
void depthwise_mobilenet_v2(benchmark::State& state) {
  set_num_threads(static_cast<int>(state.range(0)));
  std::vector<DepthwiseRun> layers;
  int64_t flops = 0, bytes = 0;
  for (const auto& [layer, count] : kMobileNetV2) {
    for (int i = 0; i < count; ++i) {
      layers.emplace_back(layer);
      flops += layers.back().flops();
      bytes += layers.back().bytes();
    }
  }
  for (auto _ : state) {
    for (DepthwiseRun& layer : layers) layer();
  }
  set_rates(state, flops, bytes);
}
BENCHMARK(depthwise_mobilenet_v2)->Arg(1)->Arg(2)->Unit(benchmark::kMicrosecond)->UseRealTime();

// A block of MobileNetV2 in strips of rows (range 0 is the number of threads) and as three kernels
// one after the other.
struct Block {
  int64_t in, hidden, out, size, stride;
};
struct BlockRun {
  InvertedResidualShape shape;
  ConvNhwcShape expand, project;
  DwConvShape depthwise;
  Aligned<float> input, wide, narrow, output, bias, expand_weight, depthwise_weight, project_weight;
  InvertedResidual<float> layers;

  static ConvNhwcShape pointwise(int64_t in, int64_t out, int64_t pixels) {
    return {
        .batch = 1,
        .in_channels = in,
        .out_channels = out,
        .window = {
            .in_h = 1, .in_w = pixels, .out_h = 1, .out_w = pixels, .kernel_h = 1, .kernel_w = 1}};
  }
  static Aligned<float> packed(const ConvNhwcShape& conv) {
    Aligned<float> result(conv_nhwc_f32_packed_bytes(conv) / sizeof(float));
    conv_nhwc_f32_pack(conv, data(conv.in_channels * conv.out_channels).data(), result.data());
    return result;
  }

  explicit BlockRun(const Block& b) {
    const int64_t out_size = b.size / b.stride, in_pixels = b.size * b.size;
    const int64_t out_pixels = out_size * out_size;
    shape = {1,
             b.in,
             b.hidden,
             b.out,
             {.in_h = b.size,
              .in_w = b.size,
              .out_h = out_size,
              .out_w = out_size,
              .kernel_h = 3,
              .kernel_w = 3,
              .stride_h = b.stride,
              .stride_w = b.stride,
              .pad_h = 1,
              .pad_w = 1}};
    expand = pointwise(b.in, b.hidden, in_pixels);
    project = pointwise(b.hidden, b.out, out_pixels);
    depthwise = {1, b.hidden, shape.window};
    input = data(in_pixels * b.in);
    wide = data(in_pixels * b.hidden);
    narrow = data(out_pixels * b.hidden);
    output = data(out_pixels * b.out);
    bias = data(b.hidden);
    expand_weight = packed(expand);
    project_weight = packed(project);
    depthwise_weight.resize(dwconv_nhwc_f32_packed_bytes(depthwise) / sizeof(float));
    dwconv_nhwc_f32_pack(depthwise, data(b.hidden * 9).data(), depthwise_weight.data());
    const Activation relu6{ActivationKind::kClamp, 0, 6};
    layers = {.expand = b.in == b.hidden ? nullptr : expand_weight.data(),
              .expand_epilogue = {.bias = bias.data(), .activation = relu6},
              .depthwise = depthwise_weight.data(),
              .depthwise_epilogue = {.bias = bias.data(), .activation = relu6},
              .project = project_weight.data(),
              .project_epilogue = {.bias = bias.data(), .activation = {}}};
  }
  void in_strips() {
    inverted_residual(shape, input.data(), shape.in_channels, layers, output.data(),
                      shape.out_channels);
  }
  void in_turn() {
    const int64_t hidden = shape.hidden_channels;
    if (layers.expand) {
      conv_nhwc_f32(expand, input.data(), shape.in_channels, layers.expand, layers.expand_epilogue,
                    wide.data(), hidden);
    }
    dwconv_nhwc_f32(depthwise, layers.expand ? wide.data() : input.data(), hidden, layers.depthwise,
                    layers.depthwise_epilogue, narrow.data(), hidden);
    conv_nhwc_f32(project, narrow.data(), hidden, layers.project, layers.project_epilogue,
                  output.data(), shape.out_channels);
  }
  int64_t flops() const {
    const Window2dShape& s = shape.window;
    const int64_t expand_ops = layers.expand ? s.in_h * s.in_w * shape.in_channels : 0;
    return 2 * shape.hidden_channels * (expand_ops + s.out_h * s.out_w * (9 + shape.out_channels));
  }
};
void block_in_strips(benchmark::State& state, const Block& block) {
  set_num_threads(static_cast<int>(state.range(0)));
  BlockRun run(block);
  for (auto _ : state) run.in_strips();
  set_rates(state, run.flops(), 0);
}
void block_in_turn(benchmark::State& state, const Block& block) {
  set_num_threads(static_cast<int>(state.range(0)));
  BlockRun run(block);
  for (auto _ : state) run.in_turn();
  set_rates(state, run.flops(), 0);
}
#define TORCHLET_BENCH_BLOCK(name, ...)                                               \
  BENCHMARK_CAPTURE(block_in_turn, name, __VA_ARGS__)->Arg(1)->Arg(2)->UseRealTime(); \
  BENCHMARK_CAPTURE(block_in_strips, name, __VA_ARGS__)->Arg(1)->Arg(2)->UseRealTime()
TORCHLET_BENCH_BLOCK(32_32_16_at_112, {32, 32, 16, 112, 1});
TORCHLET_BENCH_BLOCK(16_96_24_at_112, {16, 96, 24, 112, 2});
TORCHLET_BENCH_BLOCK(24_144_24_at_56, {24, 144, 24, 56, 1});
TORCHLET_BENCH_BLOCK(24_144_32_at_56, {24, 144, 32, 56, 2});
TORCHLET_BENCH_BLOCK(32_192_32_at_28, {32, 192, 32, 28, 1});

void max_pool(benchmark::State& state) {
  set_num_threads(1);
  const PoolShape shape{1,
                        64,
                        {.in_h = 112,
                         .in_w = 112,
                         .out_h = 56,
                         .out_w = 56,
                         .kernel_h = 3,
                         .kernel_w = 3,
                         .stride_h = 2,
                         .stride_w = 2,
                         .pad_h = 1,
                         .pad_w = 1}};
  const auto x = data(112 * 112 * 64);
  auto y = data(56 * 56 * 64);
  for (auto _ : state) max_pool_nhwc(shape, x.data(), 64, y.data(), 64);
  set_rates(state, 0, static_cast<int64_t>((x.size() + y.size()) * sizeof(float)));
}
BENCHMARK(max_pool);

void global_mean(benchmark::State& state) {
  set_num_threads(1);
  const int64_t channels = 1280, pixels = 49;
  const auto x = data(pixels * channels);
  auto y = data(channels);
  for (auto _ : state) {
    global_avg_pool_nhwc(1, pixels, channels, x.data(), channels, y.data(), channels);
  }
  set_rates(state, 0, pixels * channels * 4);
}
BENCHMARK(global_mean);

void to_nhwc(benchmark::State& state, int64_t channels, int64_t pixels) {
  set_num_threads(1);
  const auto x = data(pixels * channels);
  auto y = x;
  for (auto _ : state) nchw_to_nhwc(4, 1, channels, pixels, x.data(), y.data(), channels);
  set_rates(state, 0, 8 * pixels * channels);
}
BENCHMARK_CAPTURE(to_nhwc, 3_224, 3, 224 * 224);
BENCHMARK_CAPTURE(to_nhwc, 24_56, 24, 56 * 56);
BENCHMARK_CAPTURE(to_nhwc, 96_56, 96, 56 * 56);
BENCHMARK_CAPTURE(to_nhwc, 96_112, 96, 112 * 112);

void to_nchw(benchmark::State& state, int64_t channels, int64_t pixels) {
  set_num_threads(1);
  const auto x = data(pixels * channels);
  auto y = x;
  for (auto _ : state) nhwc_to_nchw(4, 1, channels, pixels, x.data(), channels, y.data());
  set_rates(state, 0, 8 * pixels * channels);
}
BENCHMARK_CAPTURE(to_nchw, 21_513, 21, 513 * 513);
BENCHMARK_CAPTURE(to_nchw, 96_56, 96, 56 * 56);
BENCHMARK_CAPTURE(to_nchw, 96_112, 96, 112 * 112);

void bytes_to_nhwc(benchmark::State& state, int64_t channels, int64_t pixels) {
  set_num_threads(1);
  const Aligned<char> x(static_cast<size_t>(pixels * channels));
  auto y = x;
  for (auto _ : state) nchw_to_nhwc(1, 1, channels, pixels, x.data(), y.data(), channels);
  set_rates(state, 0, 2 * pixels * channels);
}
BENCHMARK_CAPTURE(bytes_to_nhwc, 3_224, 3, 224 * 224);
BENCHMARK_CAPTURE(bytes_to_nhwc, 96_56, 96, 56 * 56);

void add(benchmark::State& state, int64_t pixels, int64_t channels) {
  set_num_threads(1);
  const auto a = data(pixels * channels), b = a;
  auto y = a;
  for (auto _ : state) {
    binary_rows_f32(MatrixBinaryOp::kAdd, pixels, channels, a.data(), channels,
                    {b.data(), Spread::kNone, channels}, {ActivationKind::kClamp, 0, 6}, y.data(),
                    channels);
  }
  set_rates(state, 0, 12 * pixels * channels);
}
BENCHMARK_CAPTURE(add, 56x56x24, 56 * 56, 24);
BENCHMARK_CAPTURE(add, 14x14x96, 14 * 14, 96);

void squeeze_excite(benchmark::State& state, int64_t pixels, int64_t channels) {
  set_num_threads(1);
  const auto a = data(pixels * channels), b = data(channels);
  auto y = a;
  for (auto _ : state) {
    binary_rows_f32(MatrixBinaryOp::kMul, pixels, channels, a.data(), channels,
                    {b.data(), Spread::kColumns}, {}, y.data(), channels);
  }
  set_rates(state, 0, 8 * pixels * channels);
}
BENCHMARK_CAPTURE(squeeze_excite, 28x28x72, 28 * 28, 72);
BENCHMARK_CAPTURE(squeeze_excite, 14x14x672, 14 * 14, 672);

// The shapes of attention in ViT-B/16.
void softmax(benchmark::State& state) {
  set_num_threads(1);
  const int64_t rows = 197, cols = 197;
  auto x = data(rows * cols);
  for (auto _ : state) softmax_f32(x.data(), x.data(), rows, cols);
  set_rates(state, 0, 8 * rows * cols);
}
BENCHMARK(softmax);

void layer_norm(benchmark::State& state) {
  set_num_threads(1);
  const int64_t rows = 197, cols = 768;
  const auto x = data(rows * cols), weight = data(cols);
  auto y = x;
  for (auto _ : state) {
    layer_norm_f32(x.data(), weight.data(), weight.data(), y.data(), rows, cols, 1e-6f);
  }
  set_rates(state, 0, 8 * rows * cols);
}
BENCHMARK(layer_norm);

void activation(benchmark::State& state, ActivationKind kind) {
  set_num_threads(1);
  const int64_t n = 1 << 14;
  auto x = data(n);
  for (auto _ : state) activation_rows_f32({kind}, 1, n, x.data(), n, x.data(), n);
  set_rates(state, 0, 8 * n);
}
BENCHMARK_CAPTURE(activation, hardswish, ActivationKind::kHardswish);
BENCHMARK_CAPTURE(activation, sigmoid, ActivationKind::kSigmoid);
BENCHMARK_CAPTURE(activation, silu, ActivationKind::kSilu);
BENCHMARK_CAPTURE(activation, tanh, ActivationKind::kTanh);
BENCHMARK_CAPTURE(activation, gelu, ActivationKind::kGelu);
BENCHMARK_CAPTURE(activation, gelu_tanh, ActivationKind::kGeluTanh);

}  // namespace
}  // namespace torchlet::kernels
