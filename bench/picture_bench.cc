// From a camera's picture, or a photo that is decoded, to a model's input, one thread: seconds of
// one picture.
//
//   ninja -C build/release picture_bench && build/release/picture_bench

#include <benchmark/benchmark.h>
#include <torchlet/preprocess.h>

#include <vector>

namespace torchlet {
namespace {

// A camera's picture in NV21, with noise.
struct Camera {
  Camera(int64_t width, int64_t height) : bytes(static_cast<size_t>(width * height * 3 / 2)) {
    uint32_t state = 1;
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>((state = state * 1664525 + 1) >> 24);
    view.width = width;
    view.height = height;
    view.y_row_stride = view.uv_row_stride = width;
    view.uv_pixel_stride = 2;
    view.y = bytes.data();
    view.v = bytes.data() + width * height;
    view.u = view.v + 1;
  }
  std::vector<uint8_t> bytes;
  YuvView view;
};

Camera camera_of(const benchmark::State& state) { return {state.range(0), state.range(1)}; }

void set_sizes(benchmark::internal::Benchmark* bench) {
  bench->Args({1920, 1080})->Args({640, 480})->Unit(benchmark::kMillisecond);
}

// Resize(256), CenterCrop(224), Normalize, NCHW.
void one_pass(benchmark::State& state, Rotation rotation) {
  const Camera camera = camera_of(state);
  const Preprocess steps = Preprocess::imagenet();
  for (auto _ : state) benchmark::DoNotOptimize(steps(camera.view, rotation).raw_data());
}
BENCHMARK_CAPTURE(one_pass, upright, Rotation::k0)->Apply(set_sizes);
BENCHMARK_CAPTURE(one_pass, turned, Rotation::k90)->Apply(set_sizes);

void one_pass_without_antialias(benchmark::State& state) {
  const Camera camera = camera_of(state);
  Preprocess steps = Preprocess::imagenet();
  steps.antialias = false;
  for (auto _ : state) benchmark::DoNotOptimize(steps(camera.view).raw_data());
}
BENCHMARK(one_pass_without_antialias)->Apply(set_sizes);

void to_bytes_of_nhwc(benchmark::State& state) {
  const Camera camera = camera_of(state);
  Preprocess steps;
  steps.resize = {256};
  steps.crop = {224};
  steps.dtype = DType::kUInt8;
  steps.memory_format = MemoryFormat::kChannelsLast;
  for (auto _ : state) benchmark::DoNotOptimize(steps(camera.view).raw_data());
}
BENCHMARK(to_bytes_of_nhwc)->Apply(set_sizes);

// The same with a picture between.
void step_by_step(benchmark::State& state) {
  const Camera camera = camera_of(state);
  const Preprocess steps = Preprocess::imagenet();
  for (auto _ : state) benchmark::DoNotOptimize(steps(to_image(camera.view)).raw_data());
}
BENCHMARK(step_by_step)->Apply(set_sizes);

void to_rgb(benchmark::State& state, Rotation rotation) {
  const Camera camera = camera_of(state);
  for (auto _ : state) benchmark::DoNotOptimize(to_image(camera.view, rotation).rgb.data());
}
BENCHMARK_CAPTURE(to_rgb, upright, Rotation::k0)->Apply(set_sizes);
BENCHMARK_CAPTURE(to_rgb, turned, Rotation::k90)->Apply(set_sizes);

}  // namespace
}  // namespace torchlet
