#include "kernels/conv_nhwc/inverted_residual.h"

#include <algorithm>

#include "base/thread_pool.h"
#include "kernels/conv_nhwc/conv_nhwc.h"
#include "kernels/conv_nhwc/dwconv_nhwc.h"
#include "kernels/simd/caches.h"
#include "kernels/simd/scratch.h"

namespace torchlet::kernels {
namespace {

void conv(const ConvNhwcShape& shape, const float* input, int64_t input_stride, const void* packed,
          const EpilogueF32& epilogue, float* output, int64_t output_stride) {
  conv_nhwc_f32(shape, input, input_stride, packed, epilogue, output, output_stride);
}
void conv(const ConvNhwcShape& shape, const Float16* input, int64_t input_stride,
          const void* packed, const EpilogueF16& epilogue, Float16* output, int64_t output_stride) {
  conv_nhwc_f16(shape, input, input_stride, packed, epilogue, output, output_stride);
}

ConvNhwcShape pointwise(int64_t in_channels, int64_t out_channels, int64_t pixels,
                        WeightFormat weights) {
  return {
      .batch = 1,
      .in_channels = in_channels,
      .out_channels = out_channels,
      .window =
          {.in_h = 1, .in_w = pixels, .out_h = 1, .out_w = pixels, .kernel_h = 1, .kernel_w = 1},
      .weights = weights};
}

// Output rows of a strip: as many as let what is made of it stay in the second-level cache, which
// are the hidden rows or, if these are the input, what the depthwise convolution makes of them.
// Each strip reads the weights anew.
template <typename T>
int64_t strip_rows(const InvertedResidualShape& shape, bool expands) {
  constexpr int64_t kCachedBytes = int64_t{256} << 10;
  const Window2dShape& s = shape.window;
  const int64_t pixel_bytes = shape.hidden_channels * static_cast<int64_t>(sizeof(T));
  const int64_t bytes = cached(kCachedBytes);
  const int64_t in_rows = bytes / std::max<int64_t>(1, s.in_w * pixel_bytes) - s.kernel_h;
  const int64_t out_rows = bytes / std::max<int64_t>(1, s.out_w * pixel_bytes);
  return std::clamp<int64_t>(expands ? in_rows / s.stride_h : out_rows, 1, s.out_h);
}

// Some output rows of one picture, from the top to the bottom, on one thread.
template <typename T>
class Strips {
 public:
  Strips(const InvertedResidualShape& shape, const InvertedResidual<T>& layers, const T* input,
         int64_t input_stride)
      : shape_(shape),
        layers_(layers),
        s_(shape.window),
        input_(input),
        input_stride_(input_stride),
        strip_(strip_rows<T>(shape, layers.expand)),
        ring_rows_((strip_ - 1) * s_.stride_h + (s_.kernel_h - 1) * s_.dilation_h + 1),
        hidden_(layers.expand ? ring_rows_ * s_.in_w * shape.hidden_channels : 0),
        hidden_rows_(s_.in_h),
        depthwise_(layers.project ? strip_ * s_.out_w * shape.hidden_channels : 0) {}

  // `output` and the residual begin with row `begin`.
  void run(int64_t begin, int64_t end, const T* residual, T* output, int64_t output_stride) {
    next_row_ = std::max<int64_t>(0, begin * s_.stride_h - s_.pad_h);
    const DwConvShape depthwise{1, shape_.hidden_channels, s_};
    for (int64_t y = begin; y < end; y += strip_) {
      const int64_t last = std::min(y + strip_, end);
      expand_until((last - 1) * s_.stride_h - s_.pad_h + (s_.kernel_h - 1) * s_.dilation_h + 1);
      const int64_t pixel = (y - begin) * s_.out_w;
      T* strip = layers_.project ? depthwise_.data() : output + pixel * output_stride;
      dwconv_nhwc_rows<T>(depthwise, hidden_rows_.data(),
                          layers_.expand ? shape_.hidden_channels : input_stride_,
                          layers_.depthwise, layers_.depthwise_epilogue, strip,
                          layers_.project ? shape_.hidden_channels : output_stride, y, last);
      if (!layers_.project) continue;
      Epilogue<T> epilogue = layers_.project_epilogue;
      if (residual) epilogue.residual = residual + pixel * epilogue.residual_stride;
      conv(pointwise(shape_.hidden_channels, shape_.out_channels, (last - y) * s_.out_w,
                     shape_.weights),
           depthwise_.data(), shape_.hidden_channels, layers_.project, epilogue,
           output + pixel * output_stride, output_stride);
    }
  }

 private:
  // Makes the rows of the hidden image before `end`, in a ring of rows.
  void expand_until(int64_t end) {
    end = std::min(end, s_.in_h);
    const int64_t row_size = s_.in_w * shape_.hidden_channels;
    while (next_row_ < end) {
      const T* from = input_ + next_row_ * s_.in_w * input_stride_;
      if (!layers_.expand) {
        hidden_rows_[next_row_++] = from;
        continue;
      }
      const int64_t slot = next_row_ % ring_rows_;
      const int64_t rows = std::min(end - next_row_, ring_rows_ - slot);
      T* to = hidden_.data() + slot * row_size;
      conv(pointwise(shape_.in_channels, shape_.hidden_channels, rows * s_.in_w, shape_.weights),
           from, input_stride_, layers_.expand, layers_.expand_epilogue, to,
           shape_.hidden_channels);
      for (int64_t i = 0; i < rows; ++i) hidden_rows_[next_row_++] = to + i * row_size;
    }
  }

  const InvertedResidualShape& shape_;
  const InvertedResidual<T>& layers_;
  const Window2dShape& s_;
  const T* input_;
  int64_t input_stride_;
  int64_t strip_, ring_rows_;
  Scratch<T> hidden_;
  Scratch<const T*> hidden_rows_;
  Scratch<T> depthwise_;
  int64_t next_row_ = 0;  // of the hidden image
};

}  // namespace

bool inverted_residual_pays(const InvertedResidualShape& shape, int64_t element_size) {
  constexpr int64_t kCacheBytes = int64_t{1} << 20;
  const Window2dShape& s = shape.window;
  return s.in_h * s.in_w * shape.hidden_channels * element_size > cached(kCacheBytes);
}

template <typename T>
void inverted_residual(const InvertedResidualShape& shape, const T* input, int64_t input_stride,
                       const InvertedResidual<T>& layers, T* output, int64_t output_stride) {
  const Window2dShape& s = shape.window;
  // Neighbouring tasks both expand the rows that they share, so tasks are few.
  const int64_t strips =
      (s.out_h + strip_rows<T>(shape, layers.expand) - 1) / strip_rows<T>(shape, layers.expand);
  const int64_t tasks = std::min(strips, num_threads() == 1 ? 1 : int64_t{2} * num_threads());
  parallel_for(shape.batch * tasks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t index = begin; index < end; ++index) {
      const int64_t picture = index / tasks, task = index % tasks;
      const int64_t row_begin = task * s.out_h / tasks, row_end = (task + 1) * s.out_h / tasks;
      const int64_t pixel = (picture * s.out_h + row_begin) * s.out_w;
      const Epilogue<T>& epilogue = layers.project_epilogue;
      Strips<T> strip(shape, layers, input + picture * s.in_h * s.in_w * input_stride,
                      input_stride);
      strip.run(row_begin, row_end,
                epilogue.residual ? epilogue.residual + pixel * epilogue.residual_stride : nullptr,
                output + pixel * output_stride, output_stride);
    }
  });
}

template void inverted_residual<float>(const InvertedResidualShape&, const float*, int64_t,
                                       const InvertedResidual<float>&, float*, int64_t);
template void inverted_residual<Float16>(const InvertedResidualShape&, const Float16*, int64_t,
                                         const InvertedResidual<Float16>&, Float16*, int64_t);

}  // namespace torchlet::kernels
