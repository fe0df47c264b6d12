#include "kernels/conv_nhwc/conv3d_nhwc.h"

#include <algorithm>

#include "base/selection.h"
#include "base/thread_pool.h"
#include "kernels/conv_nhwc/conv3d_taps.h"
#include "kernels/conv_nhwc/conv_few_outputs.h"
#include "kernels/conv_nhwc/conv_runs.h"
#include "kernels/conv_nhwc/winograd_f32.h"
#include "kernels/gemm/gemm_nhwc.h"
#include "kernels/layout/transpose.h"
#include "kernels/simd/scratch.h"
#include "kernels/simd/split.h"

namespace torchlet::kernels {
namespace {

// Lines that are copied at once: they and the weights stay in the second-level cache.
constexpr int64_t kCopyBytes = int64_t{192} << 10;
// Windows that are copied at once.
constexpr int64_t kWindowBytes = int64_t{768} << 10;
constexpr int64_t kOpsPerTask = int64_t{1} << 19;
// Of filters that are asked for at once.
constexpr int64_t kFilterBytes = int64_t{64} << 10;

struct Range {
  int64_t begin, end;
  int64_t size() const { return std::max<int64_t>(0, end - begin); }
  bool operator==(const Range&) const = default;
};

// The input under tap k of output o, or -1 if there is none.
int64_t input_under(const WindowAxis& a, bool transposed, int64_t o, int64_t k) {
  int64_t i = o * a.stride - a.pad + k * a.dilation;
  if (transposed) {
    const int64_t reach = o + a.pad - k * a.dilation;
    i = reach % a.stride == 0 ? reach / a.stride : -1;
  }
  return i >= 0 && i < a.in ? i : -1;
}

// The inputs that the outputs of a range look at.
Range inputs_of(const WindowAxis& a, bool transposed, const Range& outputs) {
  const int64_t reach = (a.kernel - 1) * a.dilation;
  Range in{outputs.begin * a.stride - a.pad, (outputs.end - 1) * a.stride - a.pad + reach + 1};
  if (transposed) {
    in = {(outputs.begin + a.pad - reach) / a.stride, (outputs.end - 1 + a.pad) / a.stride + 1};
  }
  return {std::clamp<int64_t>(in.begin, 0, a.in), std::clamp<int64_t>(in.end, 0, a.in)};
}

// How many taps of output o meet an input before the first one, and up to the last one; not of a
// transposed convolution.
Range taps_inside(const WindowAxis& a, int64_t o) {
  const int64_t first = o * a.stride - a.pad;
  const int64_t begin = ceil_div(std::max<int64_t>(0, -first), a.dilation);
  return {begin, std::clamp(ceil_div(std::max<int64_t>(0, a.in - first), a.dilation), begin,
                            std::max(begin, a.kernel))};
}

// At most so many.
int64_t count_inputs(const WindowAxis& a, bool transposed, int64_t outputs) {
  const int64_t reach = (a.kernel - 1) * a.dilation;
  const int64_t count =
      transposed ? (outputs - 1 + reach) / a.stride + 2 : (outputs - 1) * a.stride + reach + 1;
  return std::min(count, a.in);
}

// Where the tap k of output o of a line lies, the padding included.
bool position(const WindowAxis& a, bool transposed, int64_t o, int64_t k, int64_t* at) {
  *at = o * a.stride - a.pad + k * a.dilation;
  if (!transposed) return true;
  const int64_t reach = o + a.pad - k * a.dilation;
  *at = reach / a.stride;
  return reach % a.stride == 0;
}

std::vector<int64_t> positions(const WindowAxis& a, bool transposed, int64_t first, int64_t count) {
  std::vector<int64_t> all;
  for (int64_t o = first; o < first + count; ++o) {
    for (int64_t k = 0; k < a.kernel; ++k) {
      int64_t at;
      if (position(a, transposed, o, k, &at)) all.push_back(at);
    }
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

// What one step of k costs for a line of rows of p pixels and one vector of columns: tiles of fewer
// than 8 rows wait for their sums.
int64_t line_cost(const TileShape& tile, int64_t pixels, int64_t p) {
  int64_t cost = pixels % p == 0 ? 0 : 8, rows = pixels / p;
  for (const int64_t height :
       {int64_t{tile.rows}, int64_t{8}, int64_t{4}, int64_t{2}, int64_t{1}}) {
    cost += rows / height * std::max<int64_t>(height, 8);
    rows %= height;
  }
  return cost;
}

// One product for each pixel, of images whose pixels have all that a row reads.
ConvNhwcShape product_shape(int64_t rows, int64_t groups, int64_t depth, int64_t columns) {
  return {1, groups * depth, groups * columns, groups, {1, rows, 1, rows, 1, 1}};
}

EpilogueF32 from_pixel(const EpilogueF32& epilogue, int64_t pixel) {
  EpilogueF32 result = epilogue;
  if (result.residual) result.residual += pixel * result.residual_stride;
  return result;
}

}  // namespace

Conv3dNhwc::Conv3dNhwc(const Conv3dNhwcShape& shape)
    : shape_(shape),
      groups_(merge_groups(planes()).groups),
      channels_(shape.in_channels / groups_),
      columns_(shape.out_channels / groups_) {
  const TileShape tile = tile_shape<float>();
  // Lines have several pixels in a vector, too, and are as fast if few of it is empty.
  if (2 * shape.out_channels <= tile.lanes && suits_few_outputs(shape)) {
    form_ = Form::kFewOutputs;
    return;
  }
  if (selection::kHasWinograd && !shape.transposed) {
    ConvNhwcShape all = planes();
    all.batch = shape.depth.out;
    winograd_ = winograd_tile(all, winograd_depth());
    if (winograd_ > 0) return;
  }
  if (!shape.transposed && shape.groups > 1 && shape.in_channels == shape.out_channels &&
      dwconv_takes(line_of_filters())) {
    form_ = Form::kDepthwise;
    return;
  }
  const WindowAxis& w = shape.width;
  // Short lines make tiles of few rows, and each reads all weights anew.
  const bool is_short = w.out < tile.rows && groups_ == 1 && columns_ >= tile.width;
  form_ = suits_taps(shape)               ? Form::kTaps
          : is_short && !shape.transposed ? Form::kWindows
                                          : Form::kLines;
  // So do several pixels with few columns each; what they do not share is multiplied by zero.
  const int64_t most = groups_ == 1 && form_ == Form::kLines ? tile.lanes / columns_ : 1;
  if (shape.transposed) {
    if (w.stride <= most) pixels_ = w.stride;
    const int64_t phases = pixels_ > 1 ? 1 : std::min(w.stride, w.out);
    for (int64_t i = 0; i < phases; ++i) add_phase(i, w.stride);
  } else {
    int64_t least = INT64_MAX;
    for (int64_t p = 1; p <= std::max<int64_t>(1, most); ++p) {
      const int64_t cost = line_cost(tile, w.out, p) * std::ssize(positions(w, false, 0, p));
      if (cost >= least) continue;
      least = cost;
      pixels_ = p;
    }
    add_phase(0, pixels_);
  }
}

void Conv3dNhwc::add_phase(int64_t first_out, int64_t out_step) {
  const WindowAxis& w = shape_.width;
  const std::vector<int64_t> all = positions(w, shape_.transposed, first_out, pixels_);
  Phase phase{.rows = ceil_div(w.out - first_out, out_step),
              .first_out = first_out,
              .out_step = out_step,
              .first_in = all.empty() ? 0 : all[0],
              .in_step = shape_.transposed ? out_step / w.stride : out_step * w.stride,
              .runs = {},
              .run_pixels = std::ssize(all),
              .packed = 0};
  for (const int64_t at : all) {
    const int64_t begin = at - phase.first_in;
    if (!phase.runs.empty() && phase.runs.back().begin + phase.runs.back().count == begin) {
      ++phase.runs.back().count;
    } else {
      phase.runs.push_back({begin, 1});
    }
  }
  if (!all.empty()) {
    const int64_t end = all.back() + (phase.rows - 1) * phase.in_step + 1;
    const bool is_first = line_end_ == line_begin_;
    line_begin_ = is_first ? phase.first_in : std::min(line_begin_, phase.first_in);
    line_end_ = is_first ? end : std::max(line_end_, end);
  }
  phase.packed = static_cast<int64_t>(packed_bytes() / sizeof(float));
  phases_.push_back(std::move(phase));
}

// Each plane of one volume as an image.
ConvNhwcShape Conv3dNhwc::planes() const {
  const WindowAxis &h = shape_.height, &w = shape_.width;
  return {.batch = 1,
          .in_channels = shape_.in_channels,
          .out_channels = shape_.out_channels,
          .groups = shape_.groups,
          .window = {h.in, w.in, h.out, w.out, h.kernel, w.kernel, h.stride, w.stride, h.pad, w.pad,
                     h.dilation, w.dilation}};
}

WinogradDepth Conv3dNhwc::winograd_depth() const {
  const WindowAxis& d = shape_.depth;
  return {d.in, d.out, d.kernel, d.stride, d.pad, d.dilation};
}

// One line of the output of filters for each channel or small group: an image of one line for each
// tap of the others.
DwConvShape Conv3dNhwc::line_of_filters() const {
  const WindowAxis& w = shape_.width;
  return {
      .batch = 1,
      .channels = shape_.in_channels,
      .window = {taps(), w.in, 1, w.out, taps(), w.kernel, 1, w.stride, 0, w.pad, 1, w.dilation},
      .group = shape_.in_channels / shape_.groups};
}

size_t Conv3dNhwc::packed_bytes() const {
  if (form_ == Form::kFewOutputs) return few_outputs_packed_bytes(shape_);
  if (form_ == Form::kDepthwise) return dwconv_nhwc_f32_packed_bytes(line_of_filters());
  if (winograd_ > 0) return winograd_f32_packed_bytes(planes(), winograd_, shape_.depth.kernel);
  size_t bytes = 0;
  for (const Phase& phase : phases_) {
    bytes +=
        conv_nhwc_f32_packed_bytes(product_shape(1, groups_, depth_of(phase), pixels_ * columns_));
  }
  return bytes;
}

int64_t Conv3dNhwc::filter_size() const {
  const int64_t channels = shape_.transposed ? shape_.out_channels : shape_.in_channels;
  return channels / shape_.groups * taps() * shape_.width.kernel;
}

void Conv3dNhwc::pack(const float* weight, float* packed) const {
  const int64_t filter = filter_size();
  const auto filters = [&](int64_t first, int64_t) { return weight + first * filter; };
  pack(filters, packed);
}

void Conv3dNhwc::pack(FiltersAt filters, float* packed) const {
  if (winograd_ > 0) {
    return winograd_f32_pack(planes(), winograd_, filters, packed, shape_.depth.kernel);
  }
  if (packs_filters()) return pack_filters(filters, packed);
  const float* weight = filters(0, shape_.transposed ? shape_.in_channels : shape_.out_channels);
  if (form_ == Form::kFewOutputs) return few_outputs_pack(shape_, weight, packed);
  if (form_ == Form::kDepthwise) return dwconv_nhwc_f32_pack(line_of_filters(), weight, packed);
  for (const Phase& phase : phases_) pack_phase(phase, weight, packed + phase.packed);
}

// Is each filter a column of the product, its weights in another order?
bool Conv3dNhwc::packs_filters() const {
  return form_ != Form::kFewOutputs && form_ != Form::kDepthwise && pixels_ == 1 &&
         !shape_.transposed && groups_ == shape_.groups && phases_.size() == 1;
}

void Conv3dNhwc::pack_filters(FiltersAt filters, float* packed) const {
  const int64_t outputs = shape_.out_channels, depth = depth_of(phases_[0]);
  const int64_t window = taps() * shape_.width.kernel, width = tile_shape<float>().width;
  const int64_t columns = width * panels_at_once(width * depth, ceil_div(outputs, width));
  const int64_t some = std::max<int64_t>(1, kFilterBytes / (depth * int64_t{sizeof(float)}));
  for (int64_t first = 0, end; first < outputs; first = end) {
    // The last ones with those before: a few alone may be packed in another form.
    end = groups_ == 1 && outputs - first >= 2 * columns ? first + columns : outputs;
    const Scratch<float> rows((end - first) * depth);  // channels last
    for (int64_t done = first, next; done < end; done = next) {
      next = std::min(end, done + some);
      const float* weight = filters(done, next);
      for (int64_t o = done; o < next; ++o, weight += depth) {
        transpose_f32(channels_, window, weight, window, rows.data() + (o - first) * depth,
                      channels_);
      }
    }
    const ConvNhwcShape product =
        product_shape(1, groups_, depth, groups_ == 1 ? end - first : columns_);
    conv_nhwc_f32_pack(product, rows.data(), packed + first * depth);
  }
}

void Conv3dNhwc::pack_phase(const Phase& phase, const float* weight, float* packed) const {
  const WindowAxis& w = shape_.width;
  const int64_t group_channels = shape_.in_channels / shape_.groups;
  const int64_t group_columns = shape_.out_channels / shape_.groups;
  const int64_t depth = depth_of(phase), outputs = shape_.out_channels;
  const Scratch<float> rows(outputs * pixels_ * depth);
  std::fill_n(rows.data(), outputs * pixels_ * depth, 0.0f);
  // Weights of tap (t, k) for pixel r at run pixel q.
  const auto copy_tap = [&](int64_t r, int64_t k, int64_t q) {
    for (int64_t o = 0; o < outputs; ++o) {
      const int64_t group = o / group_columns;
      const int64_t part = group * group_channels % channels_;
      float* row = rows.data() + (o + r * outputs) * depth;
      for (int64_t c = 0; c < group_channels; ++c) {
        const int64_t filter =
            shape_.transposed ? (group * group_channels + c) * group_columns + o % group_columns
                              : o * group_channels + c;
        for (int64_t t = 0; t < taps(); ++t) {
          row[(t * phase.run_pixels + q) * channels_ + part + c] =
              weight[(filter * taps() + t) * w.kernel + k];
        }
      }
    }
  };
  for (int64_t r = 0; r < pixels_; ++r) {
    for (int64_t k = 0; k < w.kernel; ++k) {
      int64_t at;
      if (!position(w, shape_.transposed, phase.first_out + r, k, &at)) continue;
      int64_t q = 0;
      for (const Run& run : phase.runs) {
        const int64_t inside = at - phase.first_in - run.begin;
        if (inside >= 0 && inside < run.count) copy_tap(r, k, q + inside);
        q += run.count;
      }
    }
  }
  conv_nhwc_f32_pack(product_shape(1, groups_, depth, pixels_ * columns_), rows.data(), packed);
}

double Conv3dNhwc::flops() const {
  const auto volume = [](int64_t d, int64_t h, int64_t w) {
    return static_cast<double>(d) * static_cast<double>(h) * static_cast<double>(w);
  };
  const WindowAxis &d = shape_.depth, &h = shape_.height, &w = shape_.width;
  const double places = shape_.transposed ? volume(d.in, h.in, w.in) : volume(d.out, h.out, w.out);
  return 2 * places * volume(d.kernel, h.kernel, w.kernel) *
         static_cast<double>(shape_.batch * shape_.out_channels) *
         static_cast<double>(shape_.in_channels / shape_.groups);
}

void Conv3dNhwc::run(const float* input, int64_t input_stride, const float* packed,
                     const EpilogueF32& epilogue, float* output, int64_t output_stride) const {
  const auto run_form = winograd_ > 0                ? &Conv3dNhwc::run_winograd
                        : form_ == Form::kWindows    ? &Conv3dNhwc::run_windows
                        : form_ == Form::kTaps       ? &Conv3dNhwc::run_taps
                        : form_ == Form::kDepthwise  ? &Conv3dNhwc::run_depthwise
                        : form_ == Form::kFewOutputs ? &Conv3dNhwc::run_few_outputs
                                                     : &Conv3dNhwc::run_lines;
  (this->*run_form)(input, input_stride, packed, epilogue, output, output_stride);
}

void Conv3dNhwc::run_winograd(const float* input, int64_t input_stride, const float* packed,
                              const EpilogueF32& epilogue, float* output,
                              int64_t output_stride) const {
  const WindowAxis &d = shape_.depth, &h = shape_.height, &w = shape_.width;
  const int64_t in = d.in * h.in * w.in, out = d.out * h.out * w.out;
  for (int64_t i = 0; i < shape_.batch; ++i) {
    winograd_f32(planes(), winograd_, input + i * in * input_stride, input_stride, packed,
                 from_pixel(epilogue, i * out), output + i * out * output_stride, output_stride,
                 winograd_depth());
  }
}

void Conv3dNhwc::run_taps(const float* input, int64_t input_stride, const float* packed,
                          const EpilogueF32& epilogue, float* output, int64_t output_stride) const {
  conv3d_taps(shape_, input, input_stride, packed, epilogue, output, output_stride);
}

void Conv3dNhwc::run_few_outputs(const float* input, int64_t input_stride, const float* packed,
                                 const EpilogueF32& epilogue, float* output,
                                 int64_t output_stride) const {
  conv_few_outputs(shape_, input, input_stride, packed, epilogue, output, output_stride);
}

void Conv3dNhwc::run_depthwise(const float* input, int64_t input_stride, const float* packed,
                               const EpilogueF32& epilogue, float* output,
                               int64_t output_stride) const {
  const WindowAxis &d = shape_.depth, &h = shape_.height, &w = shape_.width;
  const DwConvShape line = line_of_filters();
  const int64_t ops = w.out * taps() * w.kernel * line.channels * line.group;
  const int64_t grain = std::max<int64_t>(1, kOpsPerTask / std::max<int64_t>(1, ops));
  parallel_for(shape_.batch * d.out * h.out, grain, [&](int64_t begin, int64_t end) {
    const Scratch<float> zeros(w.in * input_stride);
    std::fill_n(zeros.data(), w.in * input_stride, 0.0f);
    const Scratch<const float*> lines(taps());
    for (int64_t i = begin; i < end; ++i) {
      const int64_t y = i % h.out, z = i / h.out % d.out, image = i / h.out / d.out;
      for (int64_t tap = 0; tap < taps(); ++tap) {
        const int64_t iz = input_under(d, false, z, tap / h.kernel);
        const int64_t iy = input_under(h, false, y, tap % h.kernel);
        lines[tap] = iz < 0 || iy < 0
                         ? zeros.data()
                         : input + ((image * d.in + iz) * h.in + iy) * w.in * input_stride;
      }
      dwconv_nhwc_rows<float>(line, lines.data(), input_stride, packed,
                              from_pixel(epilogue, i * w.out), output + i * w.out * output_stride,
                              output_stride, 0, 1);
    }
  });
}

// ---- lines: what a block of the output looks at is copied, with the padding at both ends ----

struct Conv3dNhwc::Lines {
  const Conv3dNhwc& conv;
  const float* input;  // the group's first channel
  int64_t input_stride;
  Range z, y;  // input
  float* copies;

  int64_t line_size() const { return (conv.line_end_ - conv.line_begin_) * conv.channels_; }
  const float* line(int64_t line_z, int64_t line_y) const {
    return copies + ((line_z - z.begin) * y.size() + line_y - y.begin) * line_size();
  }

  // What the rows of a line of the output are multiplied by in a phase, and how many segments that
  // is.
  int64_t find_segments(const Phase& phase, int64_t out_z, int64_t out_y,
                        TileSegment<float>* segments) const {
    const Conv3dNhwcShape& s = conv.shape_;
    const int64_t channels = conv.channels_;
    int64_t count = 0;
    for (int64_t kz = 0; kz < s.depth.kernel; ++kz) {
      const int64_t iz = input_under(s.depth, s.transposed, out_z, kz);
      for (int64_t ky = 0; iz >= 0 && ky < s.height.kernel; ++ky) {
        const int64_t iy = input_under(s.height, s.transposed, out_y, ky);
        if (iy < 0) continue;
        const float* from = line(iz, iy) + (phase.first_in - conv.line_begin_) * channels;
        int64_t row = (kz * s.height.kernel + ky) * phase.run_pixels * channels;
        for (const Run& run : phase.runs) {
          segments[count++] = {from + run.begin * channels, phase.in_step * channels,
                               run.count * channels, row};
          row += run.count * channels;
        }
      }
    }
    return count;
  }

  void copy(int64_t image) const {
    const Conv3dNhwcShape& s = conv.shape_;
    float* to = copies;
    for (int64_t i = z.begin; i < z.end; ++i) {
      for (int64_t j = y.begin; j < y.end; ++j, to += line_size()) {
        const int64_t pixel = ((image * s.depth.in + i) * s.height.in + j) * s.width.in;
        copy_line(input + pixel * input_stride, to);
      }
    }
  }

  void copy_line(const float* from, float* to) const {
    const int64_t channels = conv.channels_, begin = conv.line_begin_;
    const int64_t first = std::clamp<int64_t>(0, begin, conv.line_end_);
    const int64_t last = std::clamp(conv.shape_.width.in, first, conv.line_end_);
    std::fill_n(to, (first - begin) * channels, 0.0f);
    to += (first - begin) * channels;
    if (input_stride == channels) {
      std::copy_n(from + first * channels, (last - first) * channels, to);
      to += (last - first) * channels;
    } else {
      for (int64_t x = first; x < last; ++x, to += channels) {
        std::copy_n(from + x * input_stride, channels, to);
      }
    }
    std::fill_n(to, (conv.line_end_ - last) * channels, 0.0f);
  }
};

void Conv3dNhwc::run_lines(const float* input, int64_t input_stride, const float* packed,
                           const EpilogueF32& epilogue, float* output,
                           int64_t output_stride) const {
  const TileShape tile = tile_shape<float>();
  const WindowAxis &d = shape_.depth, &h = shape_.height, &w = shape_.width;
  const bool transposed = shape_.transposed;
  const int64_t line_size = (line_end_ - line_begin_) * channels_;
  const auto lines_for = [&](int64_t planes, int64_t lines) {
    return count_inputs(d, transposed, planes) * count_inputs(h, transposed, lines);
  };
  // Blocks of the output.
  int64_t planes = 1, lines = 1;
  const int64_t most = ceil_div(shape_.batch * d.out * h.out, num_threads() > 1 ? 4 : 1);
  const auto grows = [&](int64_t to_planes, int64_t to_lines) {
    if (to_planes > d.out || to_lines > h.out || to_planes * to_lines > most ||
        lines_for(to_planes, to_lines) * line_size * 4 > kCopyBytes) {
      return false;
    }
    planes = to_planes;
    lines = to_lines;
    return true;
  };
  while (planes <= lines ? grows(planes + 1, lines) || grows(planes, lines + 1)
                         : grows(planes, lines + 1) || grows(planes + 1, lines)) {
  }
  const int64_t plane_blocks = ceil_div(d.out, planes), line_blocks = ceil_div(h.out, lines);
  const int64_t blocks = shape_.batch * plane_blocks * line_blocks * groups_;
  int64_t depth = 0, most_runs = 1;
  for (const Phase& phase : phases_) {
    depth += depth_of(phase) * phase.rows;
    most_runs = std::max<int64_t>(most_runs, std::ssize(phase.runs));
  }
  const int64_t ops = planes * lines * depth * columns_ * pixels_;
  const int64_t grain = std::max<int64_t>(1, kOpsPerTask / std::max<int64_t>(1, ops));
  // Several pixels at once have to follow each other without gaps.
  const int64_t channels = shape_.out_channels;
  const bool is_apart =
      pixels_ > 1 &&
      (output_stride != channels || (epilogue.residual && epilogue.residual_stride != channels));
  parallel_for(blocks, grain, [&](int64_t begin, int64_t end) {
    const Scratch<float> copies(lines_for(planes, lines) * line_size);
    const Scratch<TileSegment<float>> segments(taps() * most_runs);
    const Scratch<float> biases(epilogue.bias && pixels_ > 1 ? pixels_ * columns_ : 0);
    const Scratch<float> apart(is_apart ? 2 * w.out * channels : 0);
    EpilogueF32 whole = epilogue;
    if (epilogue.bias && pixels_ > 1) {
      for (int64_t p = 0; p < pixels_; ++p) {
        std::copy_n(epilogue.bias, columns_, biases.data() + p * columns_);
      }
      whole.bias = biases.data();
    }
    // The segments are those of the line above, further down, if as many taps meet an input.
    int64_t count = 0, last_z = -1, last_y = -1;
    const auto lies_below_last = [&](int64_t z, int64_t y) {
      return !transposed && z == last_z && y == last_y + 1 &&
             taps_inside(h, y) == taps_inside(h, last_y);
    };
    const auto run_line = [&](const Lines& from, int64_t group, int64_t z, int64_t y,
                              const EpilogueF32& line_epilogue, float* to, int64_t to_stride) {
      for (const Phase& phase : phases_) {
        if (lies_below_last(z, y)) {
          for (int64_t s = 0; s < count; ++s) segments[s].a += h.stride * line_size;
        } else {
          count = from.find_segments(phase, z, y, segments.data());
        }
        last_z = z;
        last_y = y;
        EpilogueF32 of_phase = from_pixel(line_epilogue, phase.first_out);
        of_phase.residual_stride *= phase.out_step;
        const int64_t phase_depth = depth_of(phase), columns = pixels_ * columns_;
        const auto move_segments = [&](int64_t rows) {
          for (int64_t s = 0; rows != 0 && s < count; ++s) {
            segments[s].a += rows * segments[s].a_row_stride;
          }
        };
        const auto multiply = [&](int64_t row, int64_t rows, int64_t last_column) {
          move_segments(row);
          multiply_strip(StripJob<float>{
              .segments = segments.data(),
              .segment_count = count,
              .b = packed + phase.packed + group * tile.packed_columns(columns) * phase_depth,
              .depth = phase_depth,
              .first_column = 0,
              .last_column = last_column,
              .rows = rows,
              .epilogue = &of_phase,
              .output = to + phase.first_out * to_stride,
              .output_stride = to_stride * phase.out_step,
              .pixel = row,
              .channel = group * columns_});
          move_segments(-row);
        };
        // The last row may have fewer pixels.
        const int64_t full = (w.out - phase.first_out) % pixels_ == 0 ? phase.rows : phase.rows - 1;
        const int64_t at_once = epilogue.residual_last ? tile.rows : full;
        for (int64_t row = 0; row < full; row += at_once) {
          multiply(row, std::min(at_once, full - row), columns);
        }
        if (full < phase.rows) {
          multiply(full, 1, (w.out - phase.first_out) % pixels_ * columns_);
        }
      }
    };
    for (int64_t i = begin; i < end; ++i) {
      const int64_t group = i % groups_, block = i / groups_;
      const int64_t y0 = block % line_blocks * lines;
      const int64_t z0 = block / line_blocks % plane_blocks * planes;
      const int64_t image = block / line_blocks / plane_blocks;
      const Range z{z0, std::min(d.out, z0 + planes)}, y{y0, std::min(h.out, y0 + lines)};
      const Lines from{*this,
                       input + group * channels_,
                       input_stride,
                       inputs_of(d, transposed, z),
                       inputs_of(h, transposed, y),
                       copies.data()};
      from.copy(image);
      last_z = -1;
      for (int64_t oz = z.begin; oz < z.end; ++oz) {
        for (int64_t oy = y.begin; oy < y.end; ++oy) {
          const int64_t pixel = ((image * d.out + oz) * h.out + oy) * w.out;
          EpilogueF32 of_line = from_pixel(whole, pixel);
          float* to = output + pixel * output_stride;
          if (!is_apart) {
            run_line(from, group, oz, oy, of_line, to, output_stride);
            continue;
          }
          if (of_line.residual) {
            float* residual = apart.data() + w.out * channels;
            for (int64_t x = 0; x < w.out; ++x) {
              std::copy_n(of_line.residual + x * of_line.residual_stride, channels,
                          residual + x * channels);
            }
            of_line.residual = residual;
            of_line.residual_stride = channels;
          }
          run_line(from, group, oz, oy, of_line, apart.data(), channels);
          for (int64_t x = 0; x < w.out; ++x) {
            std::copy_n(apart.data() + x * channels, channels, to + x * output_stride);
          }
        }
      }
    }
  });
}

// ---- windows: what each pixel of the output looks at is copied ----

void Conv3dNhwc::copy_window(const float* input, int64_t input_stride, int64_t pixel,
                             float* to) const {
  const WindowAxis &d = shape_.depth, &h = shape_.height, &w = shape_.width;
  const int64_t x0 = pixel % w.out * w.stride - w.pad;
  const int64_t y = pixel / w.out % h.out;
  const int64_t z = pixel / w.out / h.out % d.out;
  const int64_t image = pixel / w.out / h.out / d.out;
  for (int64_t kz = 0; kz < d.kernel; ++kz) {
    const int64_t iz = input_under(d, false, z, kz);
    for (int64_t ky = 0; ky < h.kernel; ++ky) {
      const int64_t iy = input_under(h, false, y, ky);
      const float* line = input + ((image * d.in + iz) * h.in + iy) * w.in * input_stride;
      if (w.dilation == 1 && input_stride == channels_ && iz >= 0 && iy >= 0) {
        // Pixels that follow each other, without those of the padding.
        const int64_t first = std::clamp<int64_t>(-x0, 0, w.kernel);
        const int64_t last = std::clamp(w.in - x0, first, w.kernel);
        to = std::fill_n(to, first * channels_, 0.0f);
        to = std::copy_n(line + (x0 + first) * channels_, (last - first) * channels_, to);
        to = std::fill_n(to, (w.kernel - last) * channels_, 0.0f);
        continue;
      }
      for (int64_t kx = 0; kx < w.kernel; ++kx, to += channels_) {
        const int64_t ix = x0 + kx * w.dilation;
        if (iz < 0 || iy < 0 || ix < 0 || ix >= w.in) {
          std::fill_n(to, channels_, 0.0f);
        } else {
          std::copy_n(line + ix * input_stride, channels_, to);
        }
      }
    }
  }
}

void Conv3dNhwc::run_windows(const float* input, int64_t input_stride, const float* packed,
                             const EpilogueF32& epilogue, float* output,
                             int64_t output_stride) const {
  const TileShape tile = tile_shape<float>();
  const int64_t depth = depth_of(phases_[0]);
  // No power of two between rows.
  const int64_t row_stride = depth + tile.lanes;
  const int64_t pixels = shape_.batch * shape_.depth.out * shape_.height.out * shape_.width.out;
  const int64_t most = std::max<int64_t>(2 * tile.rows, kWindowBytes / 4 / row_stride);
  const int64_t block = even_block(pixels, most, tile.rows);
  const Scratch<float> windows(std::min(block, pixels) * row_stride);
  for (int64_t first = 0; first < pixels; first += block) {
    const int64_t count = std::min(block, pixels - first);
    parallel_for(count, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        copy_window(input, input_stride, first + i, windows.data() + i * row_stride);
      }
    });
    conv_nhwc_f32(product_shape(count, 1, depth, columns_), windows.data(), row_stride, packed,
                  from_pixel(epilogue, first), output + first * output_stride, output_stride);
  }
}

}  // namespace torchlet::kernels
