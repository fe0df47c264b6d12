#include "kernels/conv_nhwc/conv3d_taps.h"

#include <algorithm>

#include "base/thread_pool.h"
#include "kernels/gemm/gemm_nhwc.h"
#include "kernels/simd/scratch.h"
#include "kernels/simd/split.h"

namespace torchlet::kernels {
namespace {

// Sums of a task.
constexpr int64_t kSums = int64_t{1} << 15;
// Fewer than these do not pay for reading the sums again.
constexpr int64_t kLeastChannels = 64;

struct Range {
  int64_t begin, end;
  int64_t size() const { return std::max<int64_t>(0, end - begin); }
};

int64_t shift_of(const WindowAxis& a, int64_t tap) { return tap * a.dilation - a.pad; }

// The outputs under which a tap sees an input: 0 <= o * stride + shift < in.
Range seen_by(const WindowAxis& a, int64_t tap, const Range& outputs) {
  const int64_t shift = shift_of(a, tap);
  return {std::max(outputs.begin, ceil_div(std::max<int64_t>(0, -shift), a.stride)),
          std::min(outputs.end, ceil_div(std::max<int64_t>(0, a.in - shift), a.stride))};
}

int64_t taps_inside(const WindowAxis& a) {
  int64_t count = 0;
  for (int64_t i = 0; i < a.kernel; ++i) count += seen_by(a, i, {0, a.out}).size();
  return count;
}

// Some planes of one volume and some columns.
struct Task {
  int64_t image;
  Range planes, columns;
};

class TapsConvolution {
 public:
  TapsConvolution(const Conv3dNhwcShape& shape, const float* input, int64_t input_stride,
                  const float* packed)
      : shape_(shape),
        tile_(tile_shape<float>()),
        input_(input),
        input_stride_(input_stride),
        packed_(packed) {}

  void run(const Task& task, const EpilogueF32& epilogue, float* output,
           int64_t output_stride) const {
    const WindowAxis &d = shape_.depth, &h = shape_.height, &w = shape_.width;
    const int64_t pixels = task.planes.size() * h.out * w.out, columns = task.columns.size();
    const Scratch<float> sums(pixels * columns), products(pixels * columns);
    const Scratch<float> seen(pixels * shape_.in_channels);
    for (int64_t i = 0; i < pixels; ++i) {
      float* to = sums.data() + i * columns;
      if (epilogue.bias) {
        std::copy_n(epilogue.bias + task.columns.begin, columns, to);
      } else {
        std::fill_n(to, columns, 0.0f);
      }
    }
    for (int64_t tap = 0; tap < taps(); ++tap) {
      const int64_t kz = tap / w.kernel / h.kernel, ky = tap / w.kernel % h.kernel;
      const int64_t kx = tap % w.kernel;
      const Box box{
          .tap = tap,
          .planes = seen_by(d, kz, task.planes),
          .lines = seen_by(h, ky, {0, h.out}),
          .line = seen_by(w, kx, {0, w.out}),
          .first = ((task.image * d.in + shift_of(d, kz)) * h.in + shift_of(h, ky)) * w.in +
                   shift_of(w, kx)};
      if (box.pixels() == 0) continue;
      if (2 * box.line.size() >= tile_.rows - 2) {
        add_lines(task, box, sums.data());
      } else {
        put_together(box, seen.data());
        multiply(seen.data(), box, task.columns, products.data());
        add(products.data(), box, task, sums.data());
      }
    }
    store(task, pixels, sums.data(), epilogue, output, output_stride);
  }

 private:
  // The outputs for which a tap sees an input; output 0 would see input `first`.
  struct Box {
    int64_t tap;
    Range planes, lines, line;
    int64_t first;
    int64_t pixels() const { return planes.size() * lines.size() * line.size(); }
  };

  int64_t taps() const { return shape_.depth.kernel * shape_.height.kernel * shape_.width.kernel; }

  const float* seen_from(const Box& box, int64_t z, int64_t y) const {
    const WindowAxis &d = shape_.depth, &h = shape_.height, &w = shape_.width;
    const int64_t pixel =
        box.first + (z * d.stride * h.in + y * h.stride) * w.in + box.line.begin * w.stride;
    return input_ + pixel * input_stride_;
  }

  float* sums_of(const Task& task, const Box& box, int64_t z, int64_t y, float* sums) const {
    const int64_t line = (z - task.planes.begin) * shape_.height.out + y;
    return sums + (line * shape_.width.out + box.line.begin) * task.columns.size();
  }

  // c = a times one panel of a tap, added to what it holds if `adds`.
  void multiply_rows(const float* a, int64_t a_stride, int64_t rows, int64_t tap, int64_t column,
                     int64_t columns, bool adds, float* c, int64_t c_stride) const {
    const int64_t channels = shape_.in_channels;
    const Bounds none = bounds_of({});
    const TileSegment<float> segment{a, a_stride, channels, tap * channels};
    multiply_panel({.segments = &segment,
                    .segment_count = 1,
                    .b = packed_ + column * taps() * channels,
                    .columns = columns,
                    .partial = adds ? c : nullptr,
                    .partial_stride = c_stride,
                    .low = none.low,
                    .high = none.high,
                    .c = c,
                    .c_stride = c_stride},
                   rows);
  }

  // Calls body(column, columns) for each panel: the weights stay in the first-level cache.
  template <typename Body>
  void for_each_panel(const Range& columns, const Body& body) const {
    for (int64_t column = columns.begin; column < columns.end; column += tile_.width) {
      body(column, std::min<int64_t>(tile_.width, columns.end - column));
    }
  }

  // Lines that fill a tile need not be put together.
  void add_lines(const Task& task, const Box& box, float* sums) const {
    for_each_panel(task.columns, [&](int64_t column, int64_t columns) {
      for (int64_t z = box.planes.begin; z < box.planes.end; ++z) {
        for (int64_t y = box.lines.begin; y < box.lines.end; ++y) {
          multiply_rows(seen_from(box, z, y), shape_.width.stride * input_stride_, box.line.size(),
                        box.tap, column, columns, true,
                        sums_of(task, box, z, y, sums) + column - task.columns.begin,
                        task.columns.size());
        }
      }
    });
  }

  void put_together(const Box& box, float* to) const {
    const int64_t channels = shape_.in_channels, step = shape_.width.stride * input_stride_;
    for (int64_t z = box.planes.begin; z < box.planes.end; ++z) {
      for (int64_t y = box.lines.begin; y < box.lines.end; ++y) {
        const float* from = seen_from(box, z, y);
        for (int64_t i = box.line.size(); i > 0; --i, from += step, to += channels) {
          std::copy_n(from, channels, to);
        }
      }
    }
  }

  void multiply(const float* seen, const Box& box, const Range& columns, float* products) const {
    for_each_panel(columns, [&](int64_t column, int64_t count) {
      multiply_rows(seen, shape_.in_channels, box.pixels(), box.tap, column, count, false,
                    products + column - columns.begin, columns.size());
    });
  }

  void add(const float* products, const Box& box, const Task& task, float* sums) const {
    const int64_t count = box.line.size() * task.columns.size();
    for (int64_t z = box.planes.begin; z < box.planes.end; ++z) {
      for (int64_t y = box.lines.begin; y < box.lines.end; ++y, products += count) {
        float* to = sums_of(task, box, z, y, sums);
        for (int64_t i = 0; i < count; ++i) to[i] += products[i];
      }
    }
  }

  void store(const Task& task, int64_t pixels, float* sums, const EpilogueF32& epilogue,
             float* output, int64_t output_stride) const {
    const int64_t first =
        (task.image * shape_.depth.out + task.planes.begin) * shape_.height.out * shape_.width.out;
    const int64_t columns = task.columns.size();
    for (int64_t i = 0; i < pixels; i += tile_.rows) {
      multiply_strip(StripJob<float>{.segments = nullptr,
                                     .segment_count = 0,
                                     .b = nullptr,
                                     .depth = 0,
                                     .first_column = 0,
                                     .last_column = columns,
                                     .rows = std::min<int64_t>(tile_.rows, pixels - i),
                                     .partial = sums + i * columns,
                                     .partial_stride = columns,
                                     .is_first = false,
                                     .epilogue = &epilogue,
                                     .output = output,
                                     .output_stride = output_stride,
                                     .pixel = first + i,
                                     .channel = task.columns.begin});
    }
  }

  const Conv3dNhwcShape& shape_;
  const TileShape tile_;
  const float* input_;
  int64_t input_stride_;
  const float* packed_;
};

}  // namespace

bool suits_taps(const Conv3dNhwcShape& shape) {
  const WindowAxis &d = shape.depth, &h = shape.height, &w = shape.width;
  const TileShape tile = tile_shape<float>();
  if (shape.groups != 1 || shape.transposed || shape.in_channels < kLeastChannels ||
      shape.out_channels < tile.width || h.out * w.out * tile.width > kSums) {
    return false;
  }
  const int64_t all = d.out * d.kernel * h.out * h.kernel * w.out * w.kernel;
  return 8 * taps_inside(d) * taps_inside(h) * taps_inside(w) < 7 * all;
}

void conv3d_taps(const Conv3dNhwcShape& shape, const float* input, int64_t input_stride,
                 const float* packed, const EpilogueF32& epilogue, float* output,
                 int64_t output_stride) {
  const TileShape tile = tile_shape<float>();
  const int64_t plane = shape.height.out * shape.width.out;
  const int64_t planes = std::clamp<int64_t>(kSums / (plane * tile.width), 1, shape.depth.out);
  int64_t columns = std::min(shape.out_channels, kSums / (plane * planes));
  if (num_threads() > 1) columns = std::min(columns, ceil_div(shape.out_channels, num_threads()));
  columns = std::max<int64_t>(1, columns / tile.width) * tile.width;
  const int64_t column_blocks = ceil_div(shape.out_channels, columns);
  const int64_t plane_blocks = ceil_div(shape.depth.out, planes);
  const TapsConvolution convolution(shape, input, input_stride, packed);
  parallel_for(shape.batch * plane_blocks * column_blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t z = i / column_blocks % plane_blocks * planes;
      const int64_t column = i % column_blocks * columns;
      convolution.run({.image = i / column_blocks / plane_blocks,
                       .planes = {z, std::min(shape.depth.out, z + planes)},
                       .columns = {column, std::min(shape.out_channels, column + columns)}},
                      epilogue, output, output_stride);
    }
  });
}

}  // namespace torchlet::kernels
