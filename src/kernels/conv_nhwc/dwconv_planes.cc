#include <algorithm>
#include <numeric>

#include "base/thread_pool.h"
#include "kernels/conv_nhwc/dwconv_plane_by_plane.h"
#include "kernels/conv_nhwc/dwconv_task.h"
#include "kernels/layout/transpose.h"
#include "kernels/simd/scratch.h"
#include "kernels/simd/split.h"

namespace torchlet::kernels {
namespace {

constexpr int64_t kBlock = kDwConvBlock<float>;

// Some rows of the output of some channels of one picture.
struct Piece {
  int64_t picture, row_begin, row_end;
  int64_t channel, channels;
};

// Rows [begin, end) of the input that a piece reads.
struct InputRows {
  int64_t begin, end;
};
InputRows input_rows(const Window2dShape& s, int64_t row_begin, int64_t row_end) {
  const int64_t reach = (s.kernel_h - 1) * s.dilation_h;
  const int64_t first = row_begin * s.stride_h - s.pad_h;
  const int64_t last = (row_end - 1) * s.stride_h - s.pad_h + reach;
  const int64_t begin = std::clamp<int64_t>(first, 0, s.in_h);
  return {begin, std::clamp<int64_t>(last + 1, begin, s.in_h)};
}

class Planes {
 public:
  Planes(const DwConvShape& shape, const float* input, int64_t input_stride, const float* packed,
         const EpilogueF32& epilogue, float* output, int64_t output_stride)
      : shape_(shape),
        s_(shape.window),
        input_(input),
        input_stride_(input_stride),
        packed_(packed),
        epilogue_(epilogue),
        output_(output),
        output_stride_(output_stride) {}

  void run(bool reads_planes, bool writes_planes, const Piece& p) const {
    DwConvShape part = shape_;
    part.batch = 1;
    part.channels = p.channels;
    const int64_t first_pixel = (p.picture * s_.out_h + p.row_begin) * s_.out_w;
    const int64_t pixels = (p.row_end - p.row_begin) * s_.out_w;
    const InputRows in = input_rows(s_, p.row_begin, p.row_end);

    // Groups put each row in an order of their own, so that it is moved but once.
    const bool moves_rows = reads_planes && !dwconv_is_grouped(shape_);
    const bool is_of_pixels = reads_planes && writes_planes && dwconv_suits_pixels(shape_);
    const int64_t in_plane = s_.in_h * s_.in_w;
    const float* planes = input_ + (p.picture * shape_.channels + p.channel) * in_plane;
    const Scratch<float> pixels_in(moves_rows ? (in.end - in.begin) * s_.in_w * p.channels : 0);
    const Scratch<float> pixels_out(writes_planes && !is_of_pixels ? pixels * p.channels : 0);
    const Scratch<const float*> rows(s_.in_h);
    const int64_t stride = moves_rows ? p.channels : input_stride_;
    if (moves_rows) {
      transpose_f32(p.channels, (in.end - in.begin) * s_.in_w, planes + in.begin * s_.in_w,
                    in_plane, pixels_in.data(), stride);
    }
    for (int64_t y = in.begin; y < in.end; ++y) {
      rows[y] = moves_rows     ? pixels_in.data() + (y - in.begin) * s_.in_w * stride
                : reads_planes ? planes + y * s_.in_w
                               : input_ + (p.picture * s_.in_h + y) * s_.in_w * stride + p.channel;
    }

    EpilogueF32 epilogue = epilogue_;
    if (epilogue.bias) epilogue.bias += p.channel;
    const DwConvBlocks blocks = dwconv_blocks_of<float>(shape_);
    const int64_t weights_before =
        static_cast<int64_t>(dwconv_nhwc_f32_packed_bytes(shape_) / sizeof(float)) / blocks.count *
        (p.channel / blocks.channels);
    const float* packed = packed_ + weights_before;
    const int64_t out_plane = s_.out_h * s_.out_w;
    float* planes_out =
        output_ + (p.picture * shape_.channels + p.channel) * out_plane + p.row_begin * s_.out_w;
    if (is_of_pixels) {
      return dwconv_pixels_task({&part, rows.data(), 0, packed, &epilogue, planes_out, out_plane,
                                 p.row_begin, p.row_end, 0, dwconv_blocks_of<float>(part).count,
                                 in_plane});
    }
    float* to =
        writes_planes ? pixels_out.data() : output_ + first_pixel * output_stride_ + p.channel;
    const int64_t to_stride = writes_planes ? p.channels : output_stride_;
    if (reads_planes && !moves_rows) {
      dwconv_group_task({&part, rows.data(), 0, packed, &epilogue, to, to_stride, p.row_begin,
                         p.row_end, 0, dwconv_blocks_of<float>(part).count, in_plane});
    } else {
      dwconv_nhwc_rows<float>(part, rows.data(), stride, packed, epilogue, to, to_stride,
                              p.row_begin, p.row_end);
    }
    if (writes_planes) {
      transpose_f32(pixels, p.channels, to, p.channels, planes_out, out_plane);
    }
  }

 private:
  const DwConvShape& shape_;
  const Window2dShape& s_;
  const float* input_;
  int64_t input_stride_;
  const float* packed_;
  const EpilogueF32& epilogue_;
  float* output_;
  int64_t output_stride_;
};

}  // namespace

void dwconv_planes_f32(const DwConvShape& shape, bool reads_planes, const float* input,
                       int64_t input_stride, const void* packed, const EpilogueF32& epilogue,
                       bool writes_planes, float* output, int64_t output_stride) {
  if (dwconv_suits_plane_by_plane(shape, epilogue, reads_planes && writes_planes)) {
    return dwconv_plane_by_plane(shape, reads_planes, input, input_stride,
                                 static_cast<const float*>(packed), epilogue, writes_planes, output,
                                 output_stride);
  }
  // As many channels as a transpose moves at its best, whole groups, and of those as many rows as
  // stay near.
  constexpr int64_t kPieceBytes = int64_t{384} << 10;
  const int64_t span_channels = std::lcm(2 * kBlock, shape.group);
  const Window2dShape& s = shape.window;
  const int64_t row_bytes =
      (s.in_w * s.stride_h + s.out_w) * span_channels * static_cast<int64_t>(sizeof(float));
  const int64_t strips = std::clamp<int64_t>(s.out_h * row_bytes / kPieceBytes, 1, s.out_h);
  // If the last block overlaps the one before it, they stay together.
  const int64_t spans = std::max<int64_t>(1, shape.channels / span_channels);
  const Planes planes(shape, input, input_stride, static_cast<const float*>(packed), epilogue,
                      output, output_stride);
  constexpr int64_t kOpsPerTask = int64_t{1} << 16;
  const int64_t pieces = shape.batch * spans * strips;
  const int64_t ops = shape.batch * shape.channels * s.out_h * s.out_w * s.kernel_h * s.kernel_w;
  const int64_t grain = even_grain(pieces, 1, ops * shape.group, kOpsPerTask);
  parallel_for(pieces, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t strip = i % strips, span = i / strips % spans;
      const int64_t channel = span * span_channels;
      planes.run(reads_planes, writes_planes,
                 {.picture = i / strips / spans,
                  .row_begin = dwconv_strip_row(shape, strip, strips),
                  .row_end = dwconv_strip_row(shape, strip + 1, strips),
                  .channel = channel,
                  .channels = span + 1 == spans ? shape.channels - channel : span_channels});
    }
  });
}

}  // namespace torchlet::kernels
