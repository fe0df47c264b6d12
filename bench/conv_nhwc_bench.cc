// The layers of MobileNetV2, ResNet-18, ResNet-50 and DeepLabV3 at 224 x 224 as NHWC convolutions.
// GFLOP/s are those of the fastest run, next to the multiply-add limit in float32 measured just
// before it. Names with f16/ are in Float16, whose limit is twice that.
//
//   ninja -C build/release conv_nhwc_bench && build/release/conv_nhwc_bench
//   --benchmark_min_time=0.1

#include <benchmark/benchmark.h>

#include <algorithm>
#include <ctime>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/conv_nhwc/conv_nhwc.h"
#include "kernels/peak/peak_flops.h"
#include "kernels/spatial/window_size.h"

namespace torchlet::kernels {

namespace {

// Seconds of this thread on a processor, or of the world if there are several threads. What else a
// machine does costs the former less.
double now(int threads) {
  timespec time;
  clock_gettime(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

class Floats {
 public:
  explicit Floats(int64_t count)
      : data_(new (std::align_val_t{64}) float[static_cast<size_t>(count)]) {
    std::fill_n(data_, count, 0.5f);
  }
  ~Floats() { ::operator delete[](data_, std::align_val_t{64}); }
  Floats(const Floats&) = delete;
  Floats& operator=(const Floats&) = delete;
  float* data() const { return data_; }

 private:
  float* data_;
};

struct Layer {
  const char* model;
  int64_t in_channels, out_channels, size, kernel = 1, stride = 1, dilation = 1, groups = 1;
};

constexpr Layer kLayers[] = {
    {"mobilenet_v2", 3, 32, 224, 3, 2},
    {"mobilenet_v2", 32, 16, 112},
    {"mobilenet_v2", 16, 96, 112},
    {"mobilenet_v2", 96, 24, 56},
    {"mobilenet_v2", 24, 144, 56},
    {"mobilenet_v2", 144, 24, 56},
    {"mobilenet_v2", 144, 32, 28},
    {"mobilenet_v2", 32, 192, 28},
    {"mobilenet_v2", 192, 32, 28},
    {"mobilenet_v2", 192, 64, 14},
    {"mobilenet_v2", 64, 384, 14},
    {"mobilenet_v2", 384, 64, 14},
    {"mobilenet_v2", 384, 96, 14},
    {"mobilenet_v2", 96, 576, 14},
    {"mobilenet_v2", 576, 96, 14},
    {"mobilenet_v2", 576, 160, 7},
    {"mobilenet_v2", 160, 960, 7},
    {"mobilenet_v2", 960, 160, 7},
    {"mobilenet_v2", 960, 320, 7},
    {"mobilenet_v2", 320, 1280, 7},
    {"resnet", 3, 64, 224, 7, 2},
    {"resnet18", 64, 64, 56, 3},
    {"resnet18", 64, 128, 56, 3, 2},
    {"resnet18", 64, 128, 56, 1, 2},
    {"resnet18", 128, 128, 28, 3},
    {"resnet18", 128, 256, 28, 3, 2},
    {"resnet18", 256, 256, 14, 3},
    {"resnet18", 256, 512, 14, 3, 2},
    {"resnet18", 512, 512, 7, 3},
    {"resnet50", 64, 64, 56},
    {"resnet50", 64, 256, 56},
    {"resnet50", 256, 64, 56},
    {"resnet50", 256, 128, 56},
    {"resnet50", 128, 128, 56, 3, 2},
    {"resnet50", 128, 512, 28},
    {"resnet50", 256, 512, 56, 1, 2},
    {"resnet50", 512, 128, 28},
    {"resnet50", 512, 256, 28},
    {"resnet50", 256, 256, 28, 3, 2},
    {"resnet50", 256, 1024, 14},
    {"resnet50", 512, 1024, 28, 1, 2},
    {"resnet50", 1024, 256, 14},
    {"resnet50", 1024, 512, 14},
    {"resnet50", 512, 512, 14, 3, 2},
    {"resnet50", 512, 2048, 7},
    {"resnet50", 2048, 512, 7},
    {"deeplab", 1024, 256, 28},
    {"deeplab", 1024, 512, 28},
    {"deeplab", 2048, 512, 28},
    {"deeplab", 512, 2048, 28},
    {"deeplab", 256, 256, 28, 3, 1, 2},
    {"deeplab", 512, 512, 28, 3, 1, 2},
    {"deeplab", 512, 512, 28, 3, 1, 4},
    {"deeplab aspp", 2048, 256, 28},
    {"deeplab aspp", 2048, 256, 28, 3, 1, 12},
    {"deeplab aspp", 2048, 256, 28, 3, 1, 24},
    {"deeplab aspp", 2048, 256, 28, 3, 1, 36},
    {"deeplab aspp", 1280, 256, 28},
    {"deeplab", 256, 256, 28, 3},
    {"resnext", 128, 128, 56, 3, 1, 1, 32},
    {"vit", 768, 768, 14},
    {"vit", 768, 2304, 14},
    {"vit", 768, 3072, 14},
    {"vit", 3072, 768, 14},
    {"linear", 1280, 1000, 1},
    {"linear", 2048, 1000, 1},
    {"linear", 4096, 4096, 1},
};

ConvNhwcShape shape_of(const Layer& layer) {
  const int64_t pad = layer.kernel / 2 * layer.dilation;
  const int64_t out =
      sliding_output_size(layer.size, layer.kernel, layer.stride, pad, layer.dilation);
  return {.in_channels = layer.in_channels,
          .out_channels = layer.out_channels,
          .groups = layer.groups,
          .window = {.in_h = layer.size,
                     .in_w = layer.size,
                     .out_h = out,
                     .out_w = out,
                     .kernel_h = layer.kernel,
                     .kernel_w = layer.kernel,
                     .stride_h = layer.stride,
                     .stride_w = layer.stride,
                     .pad_h = pad,
                     .pad_w = pad,
                     .dilation_h = layer.dilation,
                     .dilation_w = layer.dilation}};
}

// Multiply-adds whose input exists: taps on the padding need no arithmetic.
double real_multiply_adds(const ConvNhwcShape& s) {
  const auto taps_inside = [](int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t pad,
                              int64_t dilation) {
    int64_t count = 0;
    for (int64_t o = 0; o < out; ++o) {
      for (int64_t k = 0; k < kernel; ++k) {
        const int64_t i = o * stride - pad + k * dilation;
        count += i >= 0 && i < in;
      }
    }
    return static_cast<double>(count);
  };
  const Window2dShape& w = s.window;
  return taps_inside(w.in_h, w.out_h, w.kernel_h, w.stride_h, w.pad_h, w.dilation_h) *
         taps_inside(w.in_w, w.out_w, w.kernel_w, w.stride_w, w.pad_w, w.dilation_w) *
         static_cast<double>(s.in_channels / s.groups * s.out_channels * s.batch);
}

// The kernels of an element type.
struct InFloat32 {
  using T = float;
  static constexpr auto packed_bytes = conv_nhwc_f32_packed_bytes;
  static constexpr void (*pack)(const ConvNhwcShape&, const float*, void*) = conv_nhwc_f32_pack;
  static constexpr auto run = conv_nhwc_f32;
};
struct InFloat16 {
  using T = Float16;
  static constexpr auto packed_bytes = conv_nhwc_f16_packed_bytes;
  static constexpr auto pack = conv_nhwc_f16_pack;
  static constexpr auto run = conv_nhwc_f16;
};

template <typename Kernels>
void conv(benchmark::State& state, const Layer& layer, int threads, bool cold) {
  using T = typename Kernels::T;
  set_num_threads(threads);
  const ConvNhwcShape s = shape_of(layer);
  const Window2dShape& w = s.window;
  const int64_t taps = s.in_channels / s.groups * w.kernel_h * w.kernel_w;
  const Floats input(w.in_h * w.in_w * s.in_channels), weight(s.out_channels * taps);
  const Floats bias(s.out_channels), output(w.out_h * w.out_w * s.out_channels);
  // Cold weights: so many copies in turns that none is in a cache, as in a whole network.
  const auto packed_size = static_cast<int64_t>(Kernels::packed_bytes(s) / sizeof(float));
  const int64_t copies = cold ? (int64_t{32} << 20) / packed_size + 1 : 1;
  const Floats packed(copies * packed_size);
  for (int64_t i = 0; i < copies; ++i) {
    Kernels::pack(s, weight.data(), packed.data() + i * packed_size);
  }
  const Epilogue<T> epilogue{.bias = bias.data(), .activation = {ActivationKind::kClamp, 0, 6}};

  double limit = measure_peak_flops(), best = 1e9;
  int64_t run = 0;
  for (auto _ : state) {
    const float* weights = packed.data() + run++ % copies * packed_size;
    const double start = now(threads);
    // Bits of floats are numbers in Float16, too.
    Kernels::run(s, reinterpret_cast<const T*>(input.data()), s.in_channels, weights, epilogue,
                 reinterpret_cast<T*>(output.data()), s.out_channels);
    best = std::min(best, now(threads) - start);
  }
  limit = std::max(limit, measure_peak_flops()) * threads;
  const double rate = 2 * real_multiply_adds(s) / best;
  state.counters["us"] = best * 1e6;
  state.counters["GFLOP/s"] = rate / 1e9;
  state.counters["share"] = rate / limit;
}

std::string name_of(const Layer& layer, int threads, bool cold) {
  return std::string(layer.model) + "/" + std::to_string(layer.in_channels) + "->" +
         std::to_string(layer.out_channels) + " " + std::to_string(layer.size) + "x" +
         std::to_string(layer.size) + " k" + std::to_string(layer.kernel) + " s" +
         std::to_string(layer.stride) + " d" + std::to_string(layer.dilation) + " g" +
         std::to_string(layer.groups) + (cold ? "/cold" : "") +
         "/threads:" + std::to_string(threads);
}

const bool kRegistered = [] {
  for (const int threads : {1, 2}) {
    for (const bool cold : {false, true}) {
      for (const Layer& layer : kLayers) {
        const std::string name = name_of(layer, threads, cold);
        benchmark::RegisterBenchmark(name.c_str(),
                                     [&layer, threads, cold](benchmark::State& state) {
                                       conv<InFloat32>(state, layer, threads, cold);
                                     });
        if (!has_float16()) continue;
        benchmark::RegisterBenchmark(("f16/" + name).c_str(),
                                     [&layer, threads, cold](benchmark::State& state) {
                                       conv<InFloat16>(state, layer, threads, cold);
                                     });
      }
    }
  }
  return true;
}();

}  // namespace
}  // namespace torchlet::kernels
