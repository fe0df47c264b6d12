// What the kernels reach on one thread, next to what the processor allows. The convolutions are the
// layer shapes of MobileNetV2 1.0 at 224 x 224.
//
//   ninja -C build/release kernel_bench && build/release/kernel_bench

#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/conv_nchw/conv2d.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/elementwise/normalize.h"
#include "kernels/gemm/gemm.h"
#include "kernels/peak/peak_flops.h"
#include "kernels/spatial/pool2d.h"
#include "kernels/spatial/window_size.h"

namespace torchlet::kernels {

namespace {

using benchmark::Counter;

std::vector<float> data(int64_t size) {
  return std::vector<float>(static_cast<size_t>(size), 0.5f);
}

void set_flops(benchmark::State& state, int64_t per_iteration) {
  const double operations = static_cast<double>(per_iteration * state.iterations());
  state.counters["FLOP/s"] = Counter(operations, Counter::kIsRate);
}

void fma_limit(benchmark::State& state) {
  for (auto _ : state) state.counters["FLOP/s"] = Counter(measure_peak_flops());
}
BENCHMARK(fma_limit)->Iterations(5);

void gemm(benchmark::State& state, int64_t m, int64_t n, int64_t k) {
  set_num_threads(1);
  const auto a = data(m * k), b = data(k * n);
  auto c = data(m * n);
  for (auto _ : state) gemm_f32(m, n, k, {a.data(), k, 1}, {b.data(), n, 1}, c.data(), n);
  set_flops(state, 2 * m * n * k);
}
BENCHMARK_CAPTURE(gemm, square_256, 256, 256, 256);
BENCHMARK_CAPTURE(gemm, square_1024, 1024, 1024, 1024);

// As torch.nn.functional.linear: the weight is [out, in].
void linear(benchmark::State& state, int64_t rows, int64_t out, int64_t in) {
  set_num_threads(1);
  const auto x = data(rows * in), weight = data(out * in);
  auto y = data(rows * out);
  for (auto _ : state)
    gemm_f32(rows, out, in, {x.data(), in, 1}, {weight.data(), 1, in}, y.data(), out);
  set_flops(state, 2 * rows * out * in);
}
BENCHMARK_CAPTURE(linear, 1x1280_to_1000, 1, 1000, 1280);
BENCHMARK_CAPTURE(linear, 64x768_to_768, 64, 768, 768);

struct Layer {
  int64_t in_channels, out_channels, size, kernel, stride;
  bool depthwise;
};
constexpr Layer kLayers[] = {
    {3, 32, 224, 3, 2, false},  {32, 16, 112, 1, 1, false},  {16, 96, 112, 1, 1, false},
    {96, 24, 56, 1, 1, false},  {24, 144, 56, 1, 1, false},  {144, 24, 56, 1, 1, false},
    {144, 32, 28, 1, 1, false}, {32, 192, 28, 1, 1, false},  {192, 32, 28, 1, 1, false},
    {192, 64, 14, 1, 1, false}, {64, 384, 14, 1, 1, false},  {384, 64, 14, 1, 1, false},
    {96, 576, 14, 1, 1, false}, {576, 96, 14, 1, 1, false},  {160, 960, 7, 1, 1, false},
    {960, 160, 7, 1, 1, false}, {960, 320, 7, 1, 1, false},  {320, 1280, 7, 1, 1, false},
    {32, 32, 112, 3, 1, true},  {96, 96, 112, 3, 2, true},   {144, 144, 56, 3, 1, true},
    {144, 144, 56, 3, 2, true}, {192, 192, 28, 3, 1, true},  {192, 192, 28, 3, 2, true},
    {384, 384, 14, 3, 1, true}, {576, 576, 14, 3, 2, true},  {960, 960, 7, 3, 1, true},
    {64, 64, 56, 3, 1, false},  {256, 256, 14, 3, 1, false},  // of ResNet-18
};

void conv2d(benchmark::State& state) {
  set_num_threads(1);
  const Layer& layer = kLayers[state.range(0)];
  const int64_t pad = layer.kernel / 2;
  const int64_t out = sliding_output_size(layer.size, layer.kernel, layer.stride, pad, 1);
  const Conv2dShape shape{.in_channels = layer.in_channels,
                          .out_channels = layer.out_channels,
                          .groups = layer.depthwise ? layer.in_channels : 1,
                          .window = {.in_h = layer.size,
                                     .in_w = layer.size,
                                     .out_h = out,
                                     .out_w = out,
                                     .kernel_h = layer.kernel,
                                     .kernel_w = layer.kernel,
                                     .stride_h = layer.stride,
                                     .stride_w = layer.stride,
                                     .pad_h = pad,
                                     .pad_w = pad}};
  const int64_t taps = layer.in_channels / shape.groups * layer.kernel * layer.kernel;
  const auto input = data(layer.in_channels * layer.size * layer.size);
  const auto weight = data(layer.out_channels * taps), bias = data(layer.out_channels);
  auto output = data(layer.out_channels * out * out);
  for (auto _ : state) {
    conv2d_f32(shape, input.data(), weight.data(), bias.data(), output.data(), 0, 6);
  }
  set_flops(state, 2 * layer.out_channels * out * out * taps);
  state.SetLabel(std::to_string(layer.in_channels) + "->" + std::to_string(layer.out_channels) +
                 " " + std::to_string(layer.size) + "x" + std::to_string(layer.size) + " k" +
                 std::to_string(layer.kernel) + " s" + std::to_string(layer.stride) +
                 (layer.depthwise ? " depthwise" : ""));
}
BENCHMARK(conv2d)->DenseRange(0, static_cast<int64_t>(std::size(kLayers)) - 1);

// Elementwise functions of as many floats as half the first-level cache holds, so that arithmetic
// shows.
void unary(benchmark::State& state, UnaryFunction* function) {
  set_num_threads(1);
  auto x = data(2048), y = x;
  for (auto _ : state) function(x.data(), y.data(), 2048, 0, 6);
  state.SetItemsProcessed(2048 * state.iterations());
}
BENCHMARK_CAPTURE(unary, clamp, clamp_f32);
BENCHMARK_CAPTURE(unary, hard_swish, hardswish_f32);
BENCHMARK_CAPTURE(unary, exp, exp_f32);
BENCHMARK_CAPTURE(unary, sigmoid, sigmoid_f32);
BENCHMARK_CAPTURE(unary, tanh, tanh_f32);
BENCHMARK_CAPTURE(unary, gelu, gelu_f32);

void softmax(benchmark::State& state) {
  set_num_threads(1);
  const auto x = data(8 * 256);
  auto y = x;
  for (auto _ : state) softmax_f32(x.data(), y.data(), 8, 256);
  state.SetItemsProcessed(8 * 256 * state.iterations());
}
BENCHMARK(softmax);

void max_pool(benchmark::State& state) {
  set_num_threads(1);
  const auto x = data(64 * 112 * 112);
  auto y = data(64 * 56 * 56);
  const Window2dShape window{.in_h = 112,
                             .in_w = 112,
                             .out_h = 56,
                             .out_w = 56,
                             .kernel_h = 3,
                             .kernel_w = 3,
                             .stride_h = 2,
                             .stride_w = 2,
                             .pad_h = 1,
                             .pad_w = 1};
  for (auto _ : state) max_pool2d_f32(window, x.data(), y.data(), 64);
  state.SetItemsProcessed(64 * 56 * 56 * state.iterations());
}
BENCHMARK(max_pool);

}  // namespace
}  // namespace torchlet::kernels
