#include "kernels/conv_nhwc/strassen_f32.h"

#define TORCHLET_NO_AVX3  // sums that are some percent of the products
#include "kernels/simd/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv_nhwc/strassen_f32.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The first operands of the products, in the order in which they come: A11, A12, S2, S1, S4, S3 and
// A22 of the rows `top` over `bottom`, both of 2 * half elements. Each row of an operand is
// `matrix` elements after that of the one before.
void row_operands_here(const float* HWY_RESTRICT top, const float* HWY_RESTRICT bottom,
                       int64_t half, float* HWY_RESTRICT to, int64_t matrix) {
  const auto sums = [&](auto d, int64_t k) HWY_ATTR {
    const auto a11 = hn::LoadU(d, top + k), a12 = hn::LoadU(d, top + half + k);
    const auto a21 = hn::LoadU(d, bottom + k), a22 = hn::LoadU(d, bottom + half + k);
    const auto s1 = hn::Add(a21, a22), s2 = hn::Sub(s1, a11);
    float* out = to + k;
    for (const auto& operand : {a11, a12, s2, s1, hn::Sub(a12, s2), hn::Sub(a11, a21), a22}) {
      hn::StoreU(operand, d, out);
      out += matrix;
    }
  };
  const hn::ScalableTag<float> d;
  constexpr int64_t kLanes = static_cast<int64_t>(HWY_LANES(float));
  int64_t k = 0;
  for (; k + kLanes <= half; k += kLanes) sums(d, k);
  for (; k < half; ++k) sums(hn::CappedTag<float, 1>(), k);
}

// y = x + z + bias for contiguous rows of `width` elements, a whole number of vectors; z and bias
// may be null.
void add_tiles_here(const float* HWY_RESTRICT x, const float* HWY_RESTRICT z,
                    const float* HWY_RESTRICT bias, int64_t rows, int64_t width,
                    float* HWY_RESTRICT y) {
  const hn::ScalableTag<float> d;
  constexpr int64_t kLanes = static_cast<int64_t>(HWY_LANES(float));
  for (int64_t i = 0; i < rows * width; i += width) {
    for (int64_t column = 0; column < width; column += kLanes) {
      auto sum = hn::Load(d, x + i + column);
      if (bias) sum = hn::Add(sum, hn::LoadU(d, bias + column));
      if (z) sum = hn::Add(sum, hn::Load(d, z + i + column));
      hn::Store(sum, d, y + i + column);
    }
  }
}

// The second operands of the products, in their order, of panels of `count` elements of the left
// and the right half of the columns, whose second halves follow them: B11, B21, T2, T1, B22, T3 and
// -T4, each `matrix` elements after the one before.
void panel_operands_here(const float* HWY_RESTRICT left, const float* HWY_RESTRICT right,
                         int64_t count, float* HWY_RESTRICT to, int64_t matrix) {
  const hn::ScalableTag<float> d;
  constexpr int64_t kLanes = static_cast<int64_t>(HWY_LANES(float));
  for (int64_t i = 0; i < count; i += kLanes) {
    const auto b11 = hn::Load(d, left + i), b21 = hn::Load(d, left + count + i);
    const auto b12 = hn::Load(d, right + i), b22 = hn::Load(d, right + count + i);
    const auto t1 = hn::Sub(b12, b11), t2 = hn::Sub(b22, t1);
    float* out = to + i;
    for (const auto& operand : {b11, b21, t2, t1, b22, hn::Sub(b22, b12), hn::Sub(b21, t2)}) {
      hn::StoreU(operand, d, out);
      out += matrix;
    }
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <algorithm>
#include <optional>

#include "base/pages.h"
#include "base/thread_pool.h"
#include "kernels/gemm/gemm_nhwc.h"
#include "kernels/layout/transpose.h"
#include "kernels/simd/caches.h"
#include "kernels/simd/scratch.h"
#include "kernels/simd/split.h"

namespace torchlet::kernels {

HWY_EXPORT(row_operands_here);
HWY_EXPORT(add_tiles_here);
HWY_EXPORT(panel_operands_here);

namespace {

// The products, by their second operands.
enum Product { kB11, kB21, kT2, kT1, kB22, kT3, kMinusT4, kProducts };

// Of each half of a strip of pixels, at most, and what is made of them: the first operands, and
// sums of products. Both stay in the second-level cache.
constexpr int64_t kRows = 56;
constexpr int64_t kOperandBytes = int64_t{640} << 10, kSumBytes = int64_t{336} << 10;
// Multiply-adds that are worth waking a thread for, about 10 microseconds.
constexpr int64_t kOpsPerTask = int64_t{1} << 19;

// How the channels are cut: columns [0, half_columns) and as many after them meet in pairs of
// panels; those that are left are panels of the plain product, behind the pairs.
struct Cut {
  TileShape tile = tile_shape<float>();
  int64_t depth, half_depth, columns, half_columns;

  explicit Cut(const ConvNhwcShape& shape)
      : depth(shape.in_channels),
        half_depth(depth / 2),
        columns(shape.out_channels),
        half_columns(columns / (2 * tile.width) * tile.width) {}

  int64_t rest() const { return columns - 2 * half_columns; }
  int64_t products_count() const { return kProducts * half_columns * half_depth; }
  int64_t packed_count() const { return products_count() + tile.packed_columns(rest()) * depth; }
};

class Layer {
 public:
  Layer(const Cut& cut, int64_t pixels, const float* input, int64_t input_stride,
        const float* packed, const EpilogueF32& epilogue, float* output, int64_t output_stride)
      : cut_(cut),
        input_(input),
        input_stride_(input_stride),
        packed_(packed),
        epilogue_(epilogue),
        output_(output),
        output_stride_(output_stride),
        is_far_(is_far_image(pixels, cut.columns)),
        row_stride_(odd_lines(cut.half_depth, 16)) {}

  // What run_strip() needs for that many rows of each half, and for each of its columns.
  int64_t operand_bytes(int64_t rows) const { return kProducts * rows * row_stride_ * kSize; }
  int64_t sum_bytes(int64_t rows) const { return kSums * rows * kSize; }

  // Pixels [first, first + rows), and columns [begin, end) of both halves, so many at a time.
  void run_strip(int64_t first, int64_t rows, int64_t begin, int64_t end,
                 int64_t most_columns) const {
    const int64_t upper = ceil_div(rows, 2), lower = rows - upper;
    const Scratch<float> operands(kProducts * upper * row_stride_);
    const int64_t block = even_block(end - begin, most_columns, cut_.tile.width);
    const Scratch<float> sums(kSums * upper * block);
    fill_operands(first, upper, lower, operands.data());
    for (int64_t column = begin; column < end; column += block) {
      run_block(first, upper, lower, column, std::min(end, column + block), operands.data(),
                sums.data());
    }
  }

  // The columns that have no pair.
  void run_rest(int64_t first, int64_t rows) const {
    const int64_t most = epilogue_.residual_last ? cut_.tile.rows : rows;
    for (int64_t row = 0; row < rows; row += most) {
      const TileSegment<float> segment{input_ + (first + row) * input_stride_, input_stride_,
                                       cut_.depth, 0};
      multiply_strip(StripJob<float>{.segments = &segment,
                                     .segment_count = 1,
                                     .b = packed_ + cut_.products_count(),
                                     .depth = cut_.depth,
                                     .first_column = 0,
                                     .last_column = cut_.rest(),
                                     .rows = std::min(most, rows - row),
                                     .epilogue = &epilogue_,
                                     .output = output_,
                                     .output_stride = output_stride_,
                                     .pixel = first + row,
                                     .channel = 2 * cut_.half_columns,
                                     .is_far = is_far_});
    }
  }

 private:
  static constexpr int64_t kSums = 3, kSize = sizeof(float);

  void run_block(int64_t first, int64_t upper, int64_t lower, int64_t begin, int64_t end,
                 const float* operands, float* sums) const {
    const int64_t matrix = upper * row_stride_, width = end - begin;
    float* const x = sums;
    float* const y = x + upper * width;
    float* const z = y + upper * width;
    const auto job_of = [&](const TileSegment<float>& segment, int product, int64_t count) {
      return StripJob<float>{.segments = &segment,
                             .segment_count = 1,
                             .b = packed_ + (product * cut_.half_columns + begin) * cut_.half_depth,
                             .depth = cut_.half_depth,
                             .first_column = 0,
                             .last_column = width,
                             .rows = count,
                             .partial_stride = width,
                             .is_first = false,
                             .epilogue = &epilogue_,
                             .output = output_,
                             .output_stride = output_stride_,
                             .pixel = 0,
                             .channel = 0,
                             .is_far = is_far_,
                             .ahead_row = cut_.half_depth,
                             .ahead_rows = cut_.half_depth};
    };
    // A product, added to what is there if `adds`.
    const auto multiply = [&](int product, float* sum, bool adds) {
      static const EpilogueF32 kNothing;
      const TileSegment<float> segment{operands + product * matrix, row_stride_, cut_.half_depth,
                                       0};
      StripJob<float> job = job_of(segment, product, upper);
      job.epilogue = &kNothing;
      job.partial = sum;
      job.is_first = !adds;
      job.is_last = false;
      multiply_strip(job);
    };
    // A quarter of the result: the product, if there is one, plus x, z, if that is not null, and
    // bias.
    const auto finish = [&](std::optional<int> product, const float* added, int64_t pixel,
                            int64_t count, int64_t channel) {
      HWY_DYNAMIC_DISPATCH(add_tiles_here)
      (x, added, epilogue_.bias ? epilogue_.bias + channel : nullptr, count, width, y);
      const int64_t most = epilogue_.residual_last ? cut_.tile.rows : count;
      for (int64_t row = 0; row < count; row += most) {
        const TileSegment<float> segment{
            operands + product.value_or(0) * matrix + row * row_stride_, row_stride_,
            cut_.half_depth, 0};
        StripJob<float> job = job_of(segment, product.value_or(0), std::min(most, count - row));
        job.segment_count = product ? 1 : 0;
        job.partial = y + row * width;
        job.pixel = pixel + row;
        job.channel = channel;
        multiply_strip(job);
      }
    };
    const int64_t left = begin, right = cut_.half_columns + begin, below = first + upper;
    multiply(kB11, x, false);
    finish(kB21, nullptr, first, upper, left);
    multiply(kT2, x, true);
    multiply(kT1, z, false);
    finish(kB22, z, first, upper, right);
    multiply(kT3, x, true);
    finish(kMinusT4, nullptr, below, lower, left);
    finish(std::nullopt, z, below, lower, right);
  }

  void fill_operands(int64_t first, int64_t upper, int64_t lower, float* to) const {
    const Scratch<float> none(cut_.depth);
    if (lower < upper) std::fill_n(none.data(), cut_.depth, 0.0f);
    for (int64_t row = 0; row < upper; ++row) {
      const float* top = input_ + (first + row) * input_stride_;
      HWY_DYNAMIC_DISPATCH(row_operands_here)
      (top, row < lower ? top + upper * input_stride_ : none.data(), cut_.half_depth,
       to + row * row_stride_, upper * row_stride_);
    }
  }

  const Cut& cut_;
  const float* input_;
  int64_t input_stride_;
  const float* packed_;
  const EpilogueF32& epilogue_;
  float* output_;
  int64_t output_stride_;
  bool is_far_;
  int64_t row_stride_;  // of the operands
};

int64_t pixels_of(const ConvNhwcShape& shape) {
  return shape.batch * shape.window.out_h * shape.window.out_w;
}

}  // namespace

bool suits_strassen(const ConvNhwcShape& shape) {
  const Window2dShape& w = shape.window;
  if (!shape.strassen || shape.lean || shape.groups != 1 ||
      shape.weights != WeightFormat::kFloat32 ||
      w.kernel_h * w.kernel_w * w.stride_h * w.stride_w != 1 || w.pad_h != 0 || w.pad_w != 0 ||
      w.in_h != w.out_h || w.in_w != w.out_w || shape.in_channels % 2 != 0) {
    return false;
  }
  const Cut cut(shape);
  // Weights of more than 4 MB come from memory each time, and would take more of it.
  constexpr int64_t kLeastPixels = 96, kMostWeights = int64_t{1} << 20;
  if (pixels_of(shape) < kLeastPixels || cut.half_columns == 0 ||
      cut.depth * cut.columns > kMostWeights) {
    return false;
  }
  // Of the time of a plain product: an eighth less what the sums take, of the columns in pairs.
  // Measured with AVX-512 for 128 to 3072 channels.
  const auto over = [](int64_t a, int64_t b) {
    return static_cast<double>(a) / static_cast<double>(b);
  };
  const int64_t paired = 2 * cut.half_columns;
  return (0.125 - over(14, cut.depth) - over(7, paired)) * over(paired, cut.columns) > 0.03;
}

size_t strassen_f32_packed_bytes(const ConvNhwcShape& shape) {
  return static_cast<size_t>(Cut(shape).packed_count()) * sizeof(float);
}

void strassen_f32_pack(const ConvNhwcShape& shape, const float* weight, float* packed) {
  const Cut cut(shape);
  take_pages(packed, strassen_f32_packed_bytes(shape));
  const int64_t width = cut.tile.width, depth = cut.depth;
  const auto transpose_panel = [&](int64_t column, int64_t columns, int64_t to_width, float* to) {
    if (columns < to_width) std::fill_n(to, to_width * depth, 0.0f);
    transpose_f32(columns, depth, weight + column * depth, depth, to, to_width);
  };
  const int64_t panel = cut.half_depth * width;
  parallel_for(cut.half_columns / width, ceil_div(1 << 15, panel), [&](int64_t begin, int64_t end) {
    const Scratch<float> left(2 * panel), right(2 * panel);
    for (int64_t column = begin * width; column < end * width; column += width) {
      transpose_panel(column, width, width, left.data());
      transpose_panel(cut.half_columns + column, width, width, right.data());
      HWY_DYNAMIC_DISPATCH(panel_operands_here)
      (left.data(), right.data(), panel, packed + column * cut.half_depth,
       cut.half_columns * cut.half_depth);
    }
  });
  float* to = packed + cut.products_count();
  for (int64_t column = 0; column < cut.rest(); column += width) {
    const int64_t columns = std::min(width, cut.rest() - column);
    const int64_t to_width = cut.tile.panel_width(columns);
    transpose_panel(2 * cut.half_columns + column, columns, to_width, to + column * depth);
  }
}

void strassen_f32(const ConvNhwcShape& shape, const float* input, int64_t input_stride,
                  const float* packed, const EpilogueF32& epilogue, float* output,
                  int64_t output_stride) {
  const Cut cut(shape);
  const int64_t pixels = pixels_of(shape);
  const Layer layer(cut, pixels, input, input_stride, packed, epilogue, output, output_stride);
  const int64_t fit = cached(kOperandBytes) / layer.operand_bytes(1) / cut.tile.rows;
  const int64_t tiles = std::clamp<int64_t>(fit, 1, kRows / cut.tile.rows);
  const int64_t unit = 2 * cut.tile.rows, rows = even_block(pixels, tiles * unit, unit);
  const int64_t most_columns = cached(kSumBytes) / layer.sum_bytes(rows / 2);
  const int64_t strips = ceil_div(pixels, rows), panels = cut.half_columns / cut.tile.width;
  const auto run = [&](int64_t strip, int64_t first_panel, int64_t last_panel) {
    layer.run_strip(strip * rows, std::min(rows, pixels - strip * rows),
                    first_panel * cut.tile.width, last_panel * cut.tile.width, most_columns);
  };
  const auto grain = [](int64_t ops) { return std::max<int64_t>(1, kOpsPerTask / ops); };
  // Each thread takes all strips of some panels, and perhaps some of one more.
  const int64_t share = ceil_div(panels * strips, num_threads());
  parallel_for(panels * strips, std::max(share, grain(rows * 2 * cut.tile.width * cut.depth)),
               [&](int64_t begin, int64_t end) {
                 while (begin < end) {
                   const int64_t panel = begin / strips, last_panel = end / strips;
                   if (begin % strips != 0 || panel == last_panel) {
                     run(begin % strips, panel, panel + 1);
                     ++begin;
                     continue;
                   }
                   for (int64_t i = 0; i < strips; ++i) run(i, panel, last_panel);
                   begin = last_panel * strips;
                 }
               });
  if (cut.rest() == 0) return;
  parallel_for(pixels, ceil_div(grain(cut.rest() * cut.depth), cut.tile.rows) * cut.tile.rows,
               [&](int64_t begin, int64_t end) { layer.run_rest(begin, end - begin); });
}

}  // namespace torchlet::kernels

#endif  // HWY_ONCE
