// torchvision's detection operators: boxes, pooling of regions, deformable convolution.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/checked.h"
#include "base/counted_vector.h"
#include "base/limits.h"
#include "base/sort.h"
#include "base/thread_pool.h"
#include "kernels/gemm/vectors.h"
#include "kernels/layout/transpose.h"
#include "kernels/reduce/bag.h"
#include "kernels/simd/scratch.h"
#include "kernels/spatial/boxes.h"
#include "ops/core/op.h"
#include "ops/engines/compute.h"
#include "ops/engines/matmul.h"

namespace torchlet::ops {
namespace {

long long ll(int64_t value) { return value; }

// The boxes that are left in this order when those that an earlier one of them overlaps go.
Tensor kept_boxes(const float* boxes, const CountedVector<int64_t>& order, double iou_threshold) {
  const size_t count = order.size();
  CountedVector<float> corners[4], areas(count);
  for (size_t k = 0; k < 4; ++k) {
    for (const int64_t i : order) corners[k].push_back(boxes[4 * i + static_cast<int64_t>(k)]);
  }
  for (size_t i = 0; i < count; ++i) {
    areas[i] = (corners[2][i] - corners[0][i]) * (corners[3][i] - corners[1][i]);
  }
  // The largest float that is not above it.
  float most = static_cast<float>(iou_threshold);
  if (static_cast<double>(most) > iou_threshold) most = std::nextafter(most, -INFINITY);
  const kernels::BoxArrays arrays{corners[0].data(), corners[1].data(), corners[2].data(),
                                  corners[3].data(), areas.data()};
  CountedVector<uint8_t> suppressed(count);
  CountedVector<int64_t> keep;
  for (size_t i = 0; i < count; ++i) {
    if (suppressed[i]) continue;
    poll();
    keep.push_back(order[i]);
    kernels::mark_overlapping(arrays, static_cast<int64_t>(i), static_cast<int64_t>(i) + 1,
                              static_cast<int64_t>(count), most, suppressed.data());
  }
  const Tensor result = empty({{std::ssize(keep)}}, DType::kInt64);
  std::ranges::copy(keep, result.data_ptr<int64_t>());
  return result;
}

// Boxes [N, 4] as x1, y1, x2, y2; the indices of those that no better box overlaps by more than the
// threshold, best first.
Tensor nms(const Tensor& dets, const Tensor& scores, double iou_threshold) {
  TORCHLET_CHECK(dets.dim() == 2 && dets.size(1) == 4,
                 "nms: boxes should be a 2d tensor of shape [N, 4], got %s",
                 dets.describe().c_str());
  TORCHLET_CHECK(scores.dim() == 1 && scores.size(0) == dets.size(0),
                 "nms: boxes and scores should have same number of elements, got %s and %s",
                 dets.describe().c_str(), scores.describe().c_str());
  return compute_as<kMapReal>(dets.dtype(), "nms", [&](auto zero) {
    using T = decltype(zero);
    const Tensor boxes = dense_as<T>(dets), values = dense_as<T>(scores);
    const T *b = const_data<T>(boxes), *score = const_data<T>(values);
    const int64_t count = dets.size(0);
    auto area = [b](int64_t i) {
      return (b[4 * i + 2] - b[4 * i]) * (b[4 * i + 3] - b[4 * i + 1]);
    };
    CountedVector<int64_t> order(static_cast<size_t>(count)), keep;
    std::iota(order.begin(), order.end(), 0);
    stable_sort(order, [score](int64_t i, int64_t j) { return score[i] > score[j]; });
    if constexpr (std::is_same_v<T, float>) return kept_boxes(b, order, iou_threshold);
    std::vector<bool> suppressed(static_cast<size_t>(count));
    for (size_t a = 0; a < order.size(); ++a) {
      const int64_t i = order[a];
      if (suppressed[static_cast<size_t>(i)]) continue;
      keep.push_back(i);
      for (size_t c = a + 1; c < order.size(); ++c) {
        const int64_t j = order[c];
        const T w = std::min(b[4 * i + 2], b[4 * j + 2]) - std::max(b[4 * i], b[4 * j]);
        const T h = std::min(b[4 * i + 3], b[4 * j + 3]) - std::max(b[4 * i + 1], b[4 * j + 1]);
        const T shared = std::max(w, T(0)) * std::max(h, T(0));
        const T iou = shared / (area(i) + area(j) - shared);
        if (static_cast<double>(iou) > iou_threshold) suppressed[static_cast<size_t>(j)] = true;
      }
    }
    const Tensor result = empty({{static_cast<int64_t>(keep.size())}}, DType::kInt64);
    std::ranges::copy(keep, result.data_ptr<int64_t>());
    return result;
  });
}

struct RoiShape {
  int64_t batch, channels, height, width;  // of the input
  int64_t rois, pooled_h, pooled_w;
  double scale;
  int64_t sampling;  // per side of a bin; 0 or less: as many as the bin has pixels
};

RoiShape roi_shape(const Tensor& input, const Tensor& rois, double scale, int64_t pooled_h,
                   int64_t pooled_w, int64_t sampling) {
  TORCHLET_CHECK(input.dim() == 4, "expected an input of 4 dimensions, got %s",
                 input.describe().c_str());
  TORCHLET_CHECK(rois.dim() == 2 && rois.size(1) == 5,
                 "rois must have shape as Tensor[K, 5], got %s", rois.describe().c_str());
  TORCHLET_CHECK(input.dtype() == rois.dtype(),
                 "input and rois must have the same dtype, got %s and %s", input.describe().c_str(),
                 rois.describe().c_str());
  TORCHLET_CHECK(pooled_h > 0 && pooled_w > 0, "the pooled size must be positive, got %lld x %lld",
                 ll(pooled_h), ll(pooled_w));
  return {input.size(0), input.size(1), input.size(2), input.size(3), rois.size(0),
          pooled_h,      pooled_w,      scale,         sampling};
}

// The image of a region; Error if there is no such image.
template <typename T>
int64_t roi_image(const T* roi, int64_t batch) {
  TORCHLET_CHECK(roi[0] >= 0 && roi[0] < static_cast<T>(batch),
                 "a region names image %g of a batch of %lld", static_cast<double>(roi[0]),
                 ll(batch));
  return static_cast<int64_t>(roi[0]);
}

// A sample between two pixels of a line.
template <typename T>
struct SampleTaps {
  int64_t near, far;  // places
  T near_weight, far_weight;
};

// The samples along one dimension of the bins of a region. Those more than one pixel outside of the
// image count as 0 and are left out; within that they are of the border.
template <typename T>
class RoiSamples {
 public:
  [[gnu::noinline]] void set(T start, T bin, int64_t bins, int64_t grid, int64_t size,
                             int64_t stride) {
    constexpr int64_t kPolled = 4096;
    grid = size > 0 ? std::max<int64_t>(grid, 0) : 0;
    require_memory(checked_mul(bins, grid), sizeof(SampleTaps<T>), "samples of a region");
    taps_.resize(static_cast<size_t>(bins * grid));
    ends_.resize(static_cast<size_t>(bins + 1));
    size_t count = 0;
    for (int64_t p = 0; p < bins; ++p) {
      for (int64_t i = 0; i < grid; ++i) {
        if (i % kPolled == kPolled - 1) poll();
        T at = start + static_cast<T>(p) * bin +
               (static_cast<T>(i) + T(0.5)) * bin / static_cast<T>(grid);
        if (!(at >= -1 && at <= static_cast<T>(size))) continue;
        at = std::clamp(at, T(0), static_cast<T>(size - 1));
        const int64_t near = std::min(static_cast<int64_t>(at), size - 1);
        const T rest = at - static_cast<T>(near);
        taps_[count++] = {near * stride, std::min(near + 1, size - 1) * stride, 1 - rest, rest};
      }
      ends_[static_cast<size_t>(p) + 1] = count;
    }
  }
  std::span<const SampleTaps<T>> of(int64_t bin) const {
    const size_t p = static_cast<size_t>(bin);
    return {taps_.data() + ends_[p], ends_[p + 1] - ends_[p]};
  }

 private:
  CountedVector<SampleTaps<T>> taps_;
  CountedVector<size_t> ends_;  // of the bins, after a 0
};

// Bilinear samples in the bins of a region that begins at (y, x) and is at least `least_size` high
// and wide; a bin's sum is divided by the number of its samples, at least `least_count`.
template <typename T>
class RoiGrid {
 public:
  RoiGrid(const RoiShape& s, T offset, T least_size, int64_t least_count)
      : s_(s), offset_(offset), least_size_(least_size), least_count_(least_count) {}
  [[gnu::noinline]] void set(const T* roi) {
    const T scale = static_cast<T>(s_.scale);
    const T x = roi[1] * scale - offset_, y = roi[2] * scale - offset_;
    const T w = std::max(roi[3] * scale - offset_ - x, least_size_);
    const T h = std::max(roi[4] * scale - offset_ - y, least_size_);
    const T bin_h = h / static_cast<T>(s_.pooled_h), bin_w = w / static_cast<T>(s_.pooled_w);
    const int64_t grid_h = s_.sampling > 0 ? s_.sampling : samples(bin_h);
    const int64_t grid_w = s_.sampling > 0 ? s_.sampling : samples(bin_w);
    count_ = static_cast<T>(std::max(checked_mul(grid_h, grid_w), least_count_));
    rows_.set(y, bin_h, s_.pooled_h, grid_h, s_.height, s_.width);
    cols_.set(x, bin_w, s_.pooled_w, grid_w, s_.width, 1);
  }
  [[gnu::noinline]] T mean(const T* plane, int64_t ph, int64_t pw) const {
    constexpr size_t kPolled = 1024;
    const auto rows = rows_.of(ph), cols = cols_.of(pw);
    T sum = 0;
    for (const SampleTaps<T>& y : rows) {
      if (rows.size() * cols.size() > kPolled) poll();
      const T *near = plane + y.near, *far = plane + y.far;
      for (const SampleTaps<T>& x : cols) {
        sum += y.near_weight * (x.near_weight * near[x.near] + x.far_weight * near[x.far]) +
               y.far_weight * (x.near_weight * far[x.near] + x.far_weight * far[x.far]);
      }
    }
    return sum / count_;
  }

  // take(pixels, shares) for the pixels that a bin's mean is made of, and their shares of
  // it: once or more, with some thousands of them at most.
  template <typename Take>
  void for_taps(int64_t ph, int64_t pw, CountedVector<int64_t>& pixels, CountedVector<T>& shares,
                const Take& take) const {
    constexpr size_t kMost = 4096;
    const auto flush = [&] {
      poll();
      take(pixels, shares);
      pixels.clear();
      shares.clear();
    };
    for (const SampleTaps<T>& y : rows_.of(ph)) {
      const T near = y.near_weight / count_, far = y.far_weight / count_;
      for (const SampleTaps<T>& x : cols_.of(pw)) {
        for (const int64_t line : {y.near, y.far}) {
          pixels.push_back(line + x.near);
          pixels.push_back(line + x.far);
        }
        for (const T weight : {near, far}) {
          shares.push_back(weight * x.near_weight);
          shares.push_back(weight * x.far_weight);
        }
        if (pixels.size() == kMost) flush();
      }
    }
    flush();
  }

 private:
  static int64_t samples(T bin) {
    TORCHLET_CHECK(std::abs(bin) < T(1 << 20), "a region of interest is too large");
    return static_cast<int64_t>(std::ceil(bin));
  }

  const RoiShape& s_;
  T offset_, least_size_;
  int64_t least_count_;
  T count_ = 1;
  RoiSamples<T> rows_, cols_;
};

template <typename T>
RoiGrid<T> aligned_grid(const RoiShape& s, bool aligned) {
  return RoiGrid<T>(s, aligned ? T(0.5) : T(0), aligned ? std::numeric_limits<T>::lowest() : T(1),
                    1);
}

// Whether there are channels enough for vectors of them, and regions read so many pixels that it
// pays to lay these channels last, unless they lie so.
bool suits_pixels(const RoiShape& s, bool lie_so) {
  constexpr int64_t kFewChannels = 8, kTaps = 16;
  return s.channels >= kFewChannels &&
         (lie_so || s.rois * s.pooled_h * s.pooled_w * kTaps >= s.batch * s.height * s.width);
}

// All channels of a bin at once, from pixels [N, H, W, C].
void roi_align_pixels(const RoiShape& s, const float* pixels, const float* regions, bool aligned,
                      float* out) {
  const int64_t bins = s.pooled_h * s.pooled_w;
  parallel_for(s.rois, 1, [&](int64_t begin, int64_t end) {
    RoiGrid<float> grid = aligned_grid<float>(s, aligned);
    CountedVector<int64_t> places;
    CountedVector<float> shares;
    const kernels::Scratch<float> means(bins * s.channels), more(s.channels);
    for (int64_t r = begin; r < end; ++r) {
      const float* const roi = regions + r * 5;
      const float* const image = pixels + roi_image(roi, s.batch) * s.height * s.width * s.channels;
      grid.set(roi);
      for (int64_t bin = 0; bin < bins; ++bin) {
        float* const mean = means.data() + bin * s.channels;
        bool is_first = true;
        grid.for_taps(bin / s.pooled_w, bin % s.pooled_w, places, shares,
                      [&](const auto& taps, const auto& weights) {
                        kernels::sum_bag(image, s.channels, taps.data(), std::ssize(taps),
                                         std::ssize(taps), weights.data(),
                                         is_first ? mean : more.data());
                        if (!is_first) kernels::add_scaled(1, more.data(), mean, s.channels);
                        is_first = false;
                      });
      }
      kernels::transpose(sizeof(float), bins, s.channels, means.data(), s.channels,
                         out + r * s.channels * bins, bins);
    }
  });
}

Tensor roi_align(const Tensor& input, const Tensor& rois, double scale, int64_t pooled_h,
                 int64_t pooled_w, int64_t sampling, bool aligned) {
  const RoiShape s = roi_shape(input, rois, scale, pooled_h, pooled_w, sampling);
  return compute_as<kMapReal>(input.dtype(), "roi_align", [&](auto zero) {
    using T = decltype(zero);
    const Tensor regions = dense_as<T>(rois);
    const Tensor out = empty({{s.rois, s.channels, pooled_h, pooled_w}}, DTypeOf<T>::value);
    if constexpr (std::is_same_v<T, float>) {
      const bool lies_so =
          input.dtype() == DType::kFloat32 && input.is_contiguous(MemoryFormat::kChannelsLast);
      if (out.numel() > 0 && suits_pixels(s, lies_so)) {
        const Tensor pixels = input.to(DType::kFloat32).contiguous(MemoryFormat::kChannelsLast);
        roi_align_pixels(s, static_cast<const float*>(pixels.raw_data()),
                         const_data<float>(regions), aligned, out.data_ptr<float>());
        return out.to(input.dtype());
      }
    }
    const Tensor in = dense_as<T>(input);
    parallel_for(s.rois, 1, [&](int64_t begin, int64_t end) {
      RoiGrid<T> grid = aligned_grid<T>(s, aligned);
      for (int64_t r = begin; r < end; ++r) {
        const T* roi = const_data<T>(regions) + r * 5;
        const int64_t image = roi_image(roi, s.batch);
        grid.set(roi);
        T* to = out.data_ptr<T>() + r * s.channels * pooled_h * pooled_w;
        for (int64_t c = 0; c < s.channels; ++c) {
          poll();
          const T* plane = const_data<T>(in) + (image * s.channels + c) * s.height * s.width;
          for (int64_t ph = 0; ph < pooled_h; ++ph) {
            for (int64_t pw = 0; pw < pooled_w; ++pw) *to++ = grid.mean(plane, ph, pw);
          }
        }
      }
    });
    return out.to(input.dtype());
  });
}

// Output channel c takes bin (ph, pw) from input channel (c * pooled_h + ph) * pooled_w + pw.
int64_t score_channels(const RoiShape& s) {
  TORCHLET_CHECK(s.channels % checked_mul(s.pooled_h, s.pooled_w) == 0,
                 "input channels must be a multiple of pooling height * pooling width");
  return s.channels / (s.pooled_h * s.pooled_w);
}

std::tuple<Tensor, Tensor> ps_roi_align(const Tensor& input, const Tensor& rois, double scale,
                                        int64_t pooled_h, int64_t pooled_w, int64_t sampling) {
  const RoiShape s = roi_shape(input, rois, scale, pooled_h, pooled_w, sampling);
  const int64_t channels = score_channels(s);
  const IntArray shape{s.rois, channels, pooled_h, pooled_w};
  return compute_as<kMapReal>(input.dtype(), "ps_roi_align", [&](auto zero) {
    using T = decltype(zero);
    const Tensor in = dense_as<T>(input), regions = dense_as<T>(rois);
    const Tensor out = empty(shape, DTypeOf<T>::value), mapping = empty(shape, DType::kInt32);
    T* to = out.data_ptr<T>();
    int32_t* from = mapping.data_ptr<int32_t>();
    RoiGrid<T> grid(s, T(0.5), std::numeric_limits<T>::lowest(), 0);
    for (int64_t r = 0; r < s.rois; ++r) {
      poll();
      const T* roi = const_data<T>(regions) + r * 5;
      const int64_t image = roi_image(roi, s.batch);
      grid.set(roi);
      for (int64_t c = 0; c < s.channels; ++c) {
        const T* plane = const_data<T>(in) + (image * s.channels + c) * s.height * s.width;
        *from++ = static_cast<int32_t>(c);
        *to++ = grid.mean(plane, c / pooled_w % pooled_h, c % pooled_w);
      }
    }
    return std::tuple(out.to(input.dtype()), mapping);
  });
}

// A corner of a region in whole pixels.
template <typename T>
int64_t pixel(T coordinate, double scale) {
  const T x = std::round(coordinate * static_cast<T>(scale));
  TORCHLET_CHECK(std::abs(x) < T(1 << 24), "a region of interest is too large");
  return static_cast<int64_t>(x);
}

// The bins of a region in whole pixels, those of each row and of each column, within [0, size).
struct PixelRange {
  int64_t begin, end;
};
template <typename T>
class PixelBins {
 public:
  PixelBins(const RoiShape& s, int64_t height, int64_t width)
      : s_(s), height_(height), width_(width) {
    require_memory(checked_add(s.pooled_h, s.pooled_w), sizeof(PixelRange), "bins of a region");
    rows_.resize(static_cast<size_t>(s.pooled_h));
    cols_.resize(static_cast<size_t>(s.pooled_w));
  }
  // `more` is added to the height and the width between the corners.
  [[gnu::noinline]] void set(const T* roi, int64_t more) {
    const int64_t x = pixel(roi[1], s_.scale), y = pixel(roi[2], s_.scale);
    set(y, pixel(roi[4], s_.scale) - y + more, height_, rows_);
    set(x, pixel(roi[3], s_.scale) - x + more, width_, cols_);
  }
  PixelRange rows(int64_t ph) const { return rows_[static_cast<size_t>(ph)]; }
  PixelRange cols(int64_t pw) const { return cols_[static_cast<size_t>(pw)]; }

 private:
  [[gnu::noinline]] static void set(int64_t start, int64_t length, int64_t size,
                                    CountedVector<PixelRange>& bins) {
    const T bin = static_cast<T>(std::max<int64_t>(length, 1)) / static_cast<T>(bins.size());
    for (size_t i = 0; i < bins.size(); ++i) {
      const T begin = std::floor(static_cast<T>(i) * bin);
      const T end = std::ceil(static_cast<T>(i + 1) * bin);
      bins[i] = {std::clamp<int64_t>(static_cast<int64_t>(begin) + start, 0, size),
                 std::clamp<int64_t>(static_cast<int64_t>(end) + start, 0, size)};
    }
  }

  const RoiShape& s_;
  int64_t height_, width_;
  CountedVector<PixelRange> rows_, cols_;
};

std::tuple<Tensor, Tensor> roi_pool(const Tensor& input, const Tensor& rois, double scale,
                                    int64_t pooled_h, int64_t pooled_w) {
  const RoiShape s = roi_shape(input, rois, scale, pooled_h, pooled_w, 0);
  const IntArray shape{s.rois, s.channels, pooled_h, pooled_w};
  return compute_as<kMapReal>(input.dtype(), "roi_pool", [&](auto zero) {
    using T = decltype(zero);
    const Tensor in = dense_as<T>(input), regions = dense_as<T>(rois);
    const Tensor out = empty(shape, DTypeOf<T>::value), argmax = empty(shape, DType::kInt32);
    T* to = out.data_ptr<T>();
    int32_t* at = argmax.data_ptr<int32_t>();
    PixelBins<T> bins(s, s.height, s.width);
    for (int64_t r = 0; r < s.rois; ++r) {
      const T* roi = const_data<T>(regions) + r * 5;
      const int64_t image = roi_image(roi, s.batch);
      bins.set(roi, 1);
      for (int64_t i = 0; i < s.channels * pooled_h * pooled_w; ++i) {
        const int64_t c = i / (pooled_h * pooled_w);
        const PixelRange ys = bins.rows(i / pooled_w % pooled_h), xs = bins.cols(i % pooled_w);
        const T* plane = const_data<T>(in) + (image * s.channels + c) * s.height * s.width;
        const bool is_empty = ys.end <= ys.begin || xs.end <= xs.begin;
        T best = is_empty ? T(0) : std::numeric_limits<T>::lowest();
        int64_t index = -1;
        for (int64_t y = ys.begin; y < ys.end; ++y) {
          for (int64_t x = xs.begin; x < xs.end; ++x) {
            if (plane[y * s.width + x] > best) best = plane[index = y * s.width + x];
          }
        }
        *to++ = best;
        *at++ = static_cast<int32_t>(index);
      }
    }
    return std::tuple(out.to(input.dtype()), argmax);
  });
}

std::tuple<Tensor, Tensor> ps_roi_pool(const Tensor& input, const Tensor& rois, double scale,
                                       int64_t pooled_h, int64_t pooled_w) {
  const RoiShape s = roi_shape(input, rois, scale, pooled_h, pooled_w, 0);
  const IntArray shape{s.rois, score_channels(s), pooled_h, pooled_w};
  return compute_as<kMapReal>(input.dtype(), "ps_roi_pool", [&](auto zero) {
    using T = decltype(zero);
    const Tensor in = dense_as<T>(input), regions = dense_as<T>(rois);
    const Tensor out = empty(shape, DTypeOf<T>::value), mapping = empty(shape, DType::kInt32);
    T* to = out.data_ptr<T>();
    int32_t* from = mapping.data_ptr<int32_t>();
    PixelBins<T> bins(s, std::max<int64_t>(s.height - 1, 0), std::max<int64_t>(s.width - 1, 0));
    for (int64_t r = 0; r < s.rois; ++r) {
      const T* roi = const_data<T>(regions) + r * 5;
      const int64_t image = roi_image(roi, s.batch);
      bins.set(roi, 0);
      for (int64_t c = 0; c < s.channels; ++c) {
        const PixelRange ys = bins.rows(c / pooled_w % pooled_h), xs = bins.cols(c % pooled_w);
        const T* plane = const_data<T>(in) + (image * s.channels + c) * s.height * s.width;
        T sum = 0;
        for (int64_t y = ys.begin; y < ys.end; ++y) {
          for (int64_t x = xs.begin; x < xs.end; ++x) sum += plane[y * s.width + x];
        }
        const int64_t area = (ys.end - ys.begin) * (xs.end - xs.begin);
        *to++ = area > 0 ? sum / static_cast<T>(area) : T(0);
        *from++ = static_cast<int32_t>(c);
      }
    }
    return std::tuple(out.to(input.dtype()), mapping);
  });
}

}  // namespace

TORCHLET_OP(nms, "torchvision::nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
            nms);
TORCHLET_OP(roi_align,
            "torchvision::roi_align(Tensor input, Tensor rois, float spatial_scale, int "
            "pooled_height, int pooled_width, int sampling_ratio, bool aligned) -> Tensor",
            roi_align);
TORCHLET_OP(roi_pool,
            "torchvision::roi_pool(Tensor input, Tensor rois, float spatial_scale, int "
            "pooled_height, int pooled_width) -> (Tensor, Tensor)",
            roi_pool);
TORCHLET_OP(ps_roi_align,
            "torchvision::ps_roi_align(Tensor input, Tensor rois, float spatial_scale, int "
            "pooled_height, int pooled_width, int sampling_ratio) -> (Tensor, Tensor)",
            ps_roi_align);
TORCHLET_OP(ps_roi_pool,
            "torchvision::ps_roi_pool(Tensor input, Tensor rois, float spatial_scale, int "
            "pooled_height, int pooled_width) -> (Tensor, Tensor)",
            ps_roi_pool);

}  // namespace torchlet::ops
