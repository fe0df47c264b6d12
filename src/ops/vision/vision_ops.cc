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
#include "ops/core/op.h"
#include "ops/engines/compute.h"
#include "ops/engines/matmul.h"

namespace torchlet::ops {
namespace {

long long ll(int64_t value) { return value; }

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

// The value between pixels; 0 more than one pixel outside, clamped to the border within that.
template <typename T>
T bilinear(const T* plane, int64_t height, int64_t width, T y, T x) {
  if (!(y >= -1 && y <= static_cast<T>(height) && x >= -1 && x <= static_cast<T>(width))) return 0;
  y = std::max(y, T(0));
  x = std::max(x, T(0));
  int64_t y0 = static_cast<int64_t>(y), x0 = static_cast<int64_t>(x);
  if (y0 >= height - 1) y = static_cast<T>(y0 = height - 1);
  if (x0 >= width - 1) x = static_cast<T>(x0 = width - 1);
  const int64_t y1 = std::min(y0 + 1, height - 1), x1 = std::min(x0 + 1, width - 1);
  const T dy = y - static_cast<T>(y0), dx = x - static_cast<T>(x0);
  return (1 - dy) * ((1 - dx) * plane[y0 * width + x0] + dx * plane[y0 * width + x1]) +
         dy * ((1 - dx) * plane[y1 * width + x0] + dx * plane[y1 * width + x1]);
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

// Bilinear samples in the bins of a region that begins at (y, x) and is at least `least_size` high
// and wide; a bin's sum is divided by the number of its samples, at least `least_count`.
template <typename T>
struct RoiGrid {
  T y, x, bin_h, bin_w;
  int64_t grid_h, grid_w, count;

  RoiGrid(const RoiShape& s, const T* roi, T offset, T least_size, int64_t least_count) {
    const T scale = static_cast<T>(s.scale);
    x = roi[1] * scale - offset;
    y = roi[2] * scale - offset;
    T w = roi[3] * scale - offset - x, h = roi[4] * scale - offset - y;
    w = std::max(w, least_size);
    h = std::max(h, least_size);
    bin_h = h / static_cast<T>(s.pooled_h);
    bin_w = w / static_cast<T>(s.pooled_w);
    grid_h = s.sampling > 0 ? s.sampling : samples(bin_h);
    grid_w = s.sampling > 0 ? s.sampling : samples(bin_w);
    count = std::max(checked_mul(grid_h, grid_w), least_count);
  }
  static int64_t samples(T bin) {
    TORCHLET_CHECK(std::abs(bin) < T(1 << 20), "a region of interest is too large");
    return static_cast<int64_t>(std::ceil(bin));
  }
  T mean(const T* plane, int64_t height, int64_t width, int64_t ph, int64_t pw) const {
    T sum = 0;
    for (int64_t i = 0; i < grid_h; ++i) {
      poll();
      const T sy = y + static_cast<T>(ph) * bin_h +
                   (static_cast<T>(i) + T(0.5)) * bin_h / static_cast<T>(grid_h);
      for (int64_t j = 0; j < grid_w; ++j) {
        const T sx = x + static_cast<T>(pw) * bin_w +
                     (static_cast<T>(j) + T(0.5)) * bin_w / static_cast<T>(grid_w);
        sum += bilinear(plane, height, width, sy, sx);
      }
    }
    return sum / static_cast<T>(count);
  }
};

Tensor roi_align(const Tensor& input, const Tensor& rois, double scale, int64_t pooled_h,
                 int64_t pooled_w, int64_t sampling, bool aligned) {
  const RoiShape s = roi_shape(input, rois, scale, pooled_h, pooled_w, sampling);
  return compute_as<kMapReal>(input.dtype(), "roi_align", [&](auto zero) {
    using T = decltype(zero);
    const Tensor in = dense_as<T>(input), regions = dense_as<T>(rois);
    const Tensor out = empty({{s.rois, s.channels, pooled_h, pooled_w}}, DTypeOf<T>::value);
    constexpr T lowest = std::numeric_limits<T>::lowest();
    parallel_for(s.rois, 1, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const T* roi = const_data<T>(regions) + r * 5;
        const int64_t image = roi_image(roi, s.batch);
        const RoiGrid<T> grid(s, roi, aligned ? T(0.5) : T(0), aligned ? lowest : T(1), 1);
        T* to = out.data_ptr<T>() + r * s.channels * pooled_h * pooled_w;
        for (int64_t c = 0; c < s.channels; ++c) {
          const T* plane = const_data<T>(in) + (image * s.channels + c) * s.height * s.width;
          for (int64_t ph = 0; ph < pooled_h; ++ph) {
            for (int64_t pw = 0; pw < pooled_w; ++pw) {
              *to++ = grid.mean(plane, s.height, s.width, ph, pw);
            }
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
    for (int64_t r = 0; r < s.rois; ++r) {
      const T* roi = const_data<T>(regions) + r * 5;
      const int64_t image = roi_image(roi, s.batch);
      const RoiGrid<T> grid(s, roi, T(0.5), std::numeric_limits<T>::lowest(), 0);
      for (int64_t c = 0; c < s.channels; ++c) {
        const T* plane = const_data<T>(in) + (image * s.channels + c) * s.height * s.width;
        *from++ = static_cast<int32_t>(c);
        *to++ = grid.mean(plane, s.height, s.width, c / pooled_w % pooled_h, c % pooled_w);
      }
    }
    return std::tuple(out.to(input.dtype()), mapping);
  });
}

// The pixels [begin, end) of bin `i` of a region that begins at `start`, within [0, size).
struct PixelRange {
  int64_t begin, end;
};
template <typename T>
PixelRange bin_range(int64_t i, T bin, int64_t start, int64_t low, int64_t high) {
  const int64_t begin = static_cast<int64_t>(std::floor(static_cast<T>(i) * bin)) + start;
  const int64_t end = static_cast<int64_t>(std::ceil(static_cast<T>(i + 1) * bin)) + start;
  return {std::clamp(begin, low, high), std::clamp(end, low, high)};
}

// A corner of a region in whole pixels.
template <typename T>
int64_t pixel(T coordinate, double scale) {
  const T x = std::round(coordinate * static_cast<T>(scale));
  TORCHLET_CHECK(std::abs(x) < T(1 << 24), "a region of interest is too large");
  return static_cast<int64_t>(x);
}

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
    for (int64_t r = 0; r < s.rois; ++r) {
      const T* roi = const_data<T>(regions) + r * 5;
      const int64_t image = roi_image(roi, s.batch);
      const int64_t x0 = pixel(roi[1], scale), y0 = pixel(roi[2], scale);
      const int64_t w = std::max<int64_t>(pixel(roi[3], scale) - x0 + 1, 1);
      const int64_t h = std::max<int64_t>(pixel(roi[4], scale) - y0 + 1, 1);
      const T bin_h = static_cast<T>(h) / static_cast<T>(pooled_h);
      const T bin_w = static_cast<T>(w) / static_cast<T>(pooled_w);
      for (int64_t i = 0; i < s.channels * pooled_h * pooled_w; ++i) {
        const int64_t c = i / (pooled_h * pooled_w);
        const PixelRange ys = bin_range(i / pooled_w % pooled_h, bin_h, y0, 0, s.height);
        const PixelRange xs = bin_range(i % pooled_w, bin_w, x0, 0, s.width);
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
    for (int64_t r = 0; r < s.rois; ++r) {
      const T* roi = const_data<T>(regions) + r * 5;
      const int64_t image = roi_image(roi, s.batch);
      const int64_t x0 = pixel(roi[1], scale), y0 = pixel(roi[2], scale);
      const int64_t w = std::max<int64_t>(pixel(roi[3], scale) - x0, 1);
      const int64_t h = std::max<int64_t>(pixel(roi[4], scale) - y0, 1);
      const T bin_h = static_cast<T>(h) / static_cast<T>(pooled_h);
      const T bin_w = static_cast<T>(w) / static_cast<T>(pooled_w);
      for (int64_t c = 0; c < s.channels; ++c) {
        const PixelRange ys = bin_range(c / pooled_w % pooled_h, bin_h, y0, 0, s.height - 1);
        const PixelRange xs = bin_range(c % pooled_w, bin_w, x0, 0, s.width - 1);
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
