// What the quantized kernels reach on one thread, layer by layer, next to what the processor
// allows. The layers are those of MobileNetV2 1.0, ResNet-18 and ResNet-50 at 224 x 224.
//
//   ninja -C build/release conv_q8_bench && build/release/conv_q8_bench

#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/quantized/conv_nhwc_q8.h"
#include "kernels/quantized/dwconv_nhwc_q8.h"
#include "kernels/simd/isa.h"

namespace torchlet::kernels {
namespace {

struct Layer {
  int64_t in_channels, out_channels, size, kernel, stride;
  int64_t groups = 1;
};

Conv2dShape shape_of(const Layer& l) {
  const int64_t pad = l.kernel / 2, out = (l.size + 2 * pad - l.kernel) / l.stride + 1;
  return {1,
          l.in_channels,
          l.out_channels,
          l.groups,
          {l.size, l.size, out, out, l.kernel, l.kernel, l.stride, l.stride, pad, pad}};
}

std::string name_of(const char* model, const Layer& l) {
  return std::string(model) + "/" + (l.groups > 1 ? "depthwise " : "") +
         std::to_string(l.in_channels) + "->" + std::to_string(l.out_channels) + " k" +
         std::to_string(l.kernel) + " s" + std::to_string(l.stride) + " @" + std::to_string(l.size);
}

void convolution(benchmark::State& state, const Layer& l, bool with_amx) {
  set_num_threads(1);
  const Isa before = limit_isa(with_amx ? best_isa() : Isa::kAvx512Fp16);
  const Conv2dShape s = shape_of(l);
  const int64_t terms = l.in_channels / l.groups * l.kernel * l.kernel;
  const std::vector<int8_t> weight(static_cast<size_t>(l.out_channels * terms), 3);
  const std::vector<float> scales(static_cast<size_t>(l.out_channels), 0.01f);
  const LayerQ8 layer{weight.data(), scales.data(), nullptr, scales.data(), 0.02f, 3, 0.5f};
  const std::vector<uint8_t> input(static_cast<size_t>(l.in_channels * l.size * l.size), 5);
  const int64_t pixels = s.window.out_h * s.window.out_w;
  std::vector<uint8_t> output(static_cast<size_t>(l.out_channels * pixels));
  const bool depthwise = l.groups > 1;
  const auto packed_bytes = depthwise ? dwconv_nhwc_q8_packed_bytes : conv_nhwc_q8_packed_bytes;
  const auto pack = depthwise ? dwconv_nhwc_q8_pack : conv_nhwc_q8_pack;
  const auto run = depthwise ? dwconv_nhwc_q8 : conv_nhwc_q8;
  std::vector<char> memory(packed_bytes(s, layer) + 64);
  void* packed = reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(memory.data()) + 63) & ~63ul);
  pack(s, layer, packed);
  for (auto _ : state) {
    run(s, input.data(), l.in_channels, packed, {4}, output.data(), l.out_channels);
  }
  const double operations = 2.0 * static_cast<double>(pixels * l.out_channels * terms);
  state.counters["OP/s"] = benchmark::Counter(operations * static_cast<double>(state.iterations()),
                                              benchmark::Counter::kIsRate);
  limit_isa(before);
}

constexpr Layer kMobileNetV2[] = {
    {3, 32, 224, 3, 2},        {32, 32, 112, 3, 1, 32},   {32, 16, 112, 1, 1},
    {16, 96, 112, 1, 1},       {96, 96, 112, 3, 2, 96},   {96, 24, 56, 1, 1},
    {24, 144, 56, 1, 1},       {144, 144, 56, 3, 1, 144}, {144, 24, 56, 1, 1},
    {144, 144, 56, 3, 2, 144}, {144, 32, 28, 1, 1},       {32, 192, 28, 1, 1},
    {192, 192, 28, 3, 1, 192}, {192, 32, 28, 1, 1},       {192, 192, 28, 3, 2, 192},
    {192, 64, 14, 1, 1},       {64, 384, 14, 1, 1},       {384, 384, 14, 3, 1, 384},
    {384, 64, 14, 1, 1},       {384, 96, 14, 1, 1},       {96, 576, 14, 1, 1},
    {576, 576, 14, 3, 1, 576}, {576, 96, 14, 1, 1},       {576, 576, 14, 3, 2, 576},
    {576, 160, 7, 1, 1},       {160, 960, 7, 1, 1},       {960, 960, 7, 3, 1, 960},
    {960, 160, 7, 1, 1},       {960, 320, 7, 1, 1},       {320, 1280, 7, 1, 1},
    {1280, 1000, 1, 1, 1},
};

constexpr Layer kResNet[] = {
    {3, 64, 224, 7, 2},    {64, 64, 56, 3, 1},    {64, 128, 56, 3, 2},  {128, 128, 28, 3, 1},
    {64, 128, 56, 1, 2},   {128, 256, 28, 3, 2},  {256, 256, 14, 3, 1}, {256, 512, 14, 3, 2},
    {512, 512, 7, 3, 1},   {64, 64, 56, 1, 1},    {64, 256, 56, 1, 1},  {256, 64, 56, 1, 1},
    {256, 128, 56, 1, 1},  {128, 128, 56, 3, 2},  {128, 512, 28, 1, 1}, {256, 512, 56, 1, 2},
    {512, 128, 28, 1, 1},  {512, 256, 28, 1, 1},  {256, 256, 28, 3, 2}, {256, 1024, 14, 1, 1},
    {1024, 256, 14, 1, 1}, {1024, 512, 14, 1, 1}, {512, 512, 14, 3, 2}, {512, 2048, 7, 1, 1},
    {2048, 512, 7, 1, 1},  {2048, 1000, 1, 1, 1},
};

void add_layer(const char* model, const Layer& l) {
  const std::string name = name_of(model, l);
  benchmark::RegisterBenchmark(name.c_str(), convolution, l, true);
  if (l.groups > 1 || !has(Isa::kAmx)) return;
  benchmark::RegisterBenchmark((name + " without AMX").c_str(), convolution, l, false);
}

void add_layers() {
  for (const Layer& l : kMobileNetV2) add_layer("mobilenet_v2", l);
  for (const Layer& l : kResNet) add_layer("resnet", l);
}

const bool added = (add_layers(), true);

}  // namespace
}  // namespace torchlet::kernels
