// Regions of interest of feature maps, and keypoints in heatmaps.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/counted_vector.h"
#include "base/limits.h"
#include "neuralnetworks/operators/checks.h"
#include "ops/core/op.h"
#include "ops/engines/compute.h"

namespace torchlet::ops {
namespace {

using nn::check_sizes;

// A float32 image [batch, channels, height, width] with any strides.
struct Image {
  explicit Image(const Tensor& tensor) : held(tensor) {
    check_sizes(tensor, {-1, -1, -1, -1}, "the feature map");
    const IntArray& strides = tensor.impl()->strides;
    data = tensor.data_ptr<float>();
    batch = tensor.size(0), channels = tensor.size(1);
    height = tensor.size(2), width = tensor.size(3);
    of_batch = strides[0], of_channel = strides[1], of_row = strides[2], of_column = strides[3];
  }

  const float* at(int64_t b, int64_t y, int64_t x) const {
    return data + b * of_batch + y * of_row + x * of_column;
  }

  Tensor held;
  const float* data;
  int64_t batch, channels, height, width;
  int64_t of_batch, of_channel, of_row, of_column;
};

// Where a region lies, in pixels of the feature map, and of which image.
struct Region {
  int64_t batch;
  float x1, y1, x2, y2;
};

class Regions {
 public:
  Regions(const Image& image, const Tensor& boxes, const Tensor& batches, double height_ratio,
          double width_ratio)
      : image_(image), boxes_(dense_as<float>(boxes)), batches_(dense_as<int64_t>(batches)) {
    check_sizes(boxes, {-1, 4}, "the regions");
    check_sizes(batches, {boxes.size(0)}, "the indices of the images");
    TORCHLET_CHECK(height_ratio > 0 && width_ratio > 0, "the ratios of sizes are %g and %g",
                   height_ratio, width_ratio);
    y_scale_ = 1 / static_cast<float>(height_ratio);
    x_scale_ = 1 / static_cast<float>(width_ratio);
  }

  int64_t count() const { return boxes_.size(0); }

  Region operator[](int64_t i) const {
    const float* box = boxes_.data_ptr<float>() + i * 4;
    const Region region{batches_.data_ptr<int64_t>()[i], box[0] * x_scale_, box[1] * y_scale_,
                        box[2] * x_scale_, box[3] * y_scale_};
    TORCHLET_CHECK(region.batch >= 0 && region.batch < image_.batch,
                   "there is no image %lld among %lld", static_cast<long long>(region.batch),
                   static_cast<long long>(image_.batch));
    const bool is_inside = image_.width > 0 && image_.height > 0 && 0 <= region.x1 &&
                           region.x1 <= region.x2 &&
                           region.x2 <= static_cast<float>(image_.width) && 0 <= region.y1 &&
                           region.y1 <= region.y2 && region.y2 <= static_cast<float>(image_.height);
    TORCHLET_CHECK(is_inside,
                   "the region (%g, %g) to (%g, %g) does not lie in a map of %lld x %lld",
                   region.x1, region.y1, region.x2, region.y2, static_cast<long long>(image_.width),
                   static_cast<long long>(image_.height));
    return region;
  }

 private:
  const Image& image_;
  Tensor boxes_, batches_;
  float x_scale_, y_scale_;
};

// [regions, channels, height, width] with the channels of a pixel together, and zero.
Tensor pooled_image(const Regions& regions, const Image& image, int64_t height, int64_t width) {
  TORCHLET_CHECK(height > 0 && width > 0, "an output of %lld x %lld",
                 static_cast<long long>(height), static_cast<long long>(width));
  const Tensor pixels = zeros({{regions.count(), height, width, image.channels}}, DType::kFloat32);
  return permute(pixels, {{0, 3, 1, 2}});
}

// How much each pixel in a line counts for one cell of a region: [first, first + weights).
struct CellPixels {
  int64_t first;
  CountedVector<float> weights;
};

// A region's extent in one direction is cut into cells, and these have samples at equal distances.
// A sample lies between two pixels; beyond the last pixel is that pixel.
class Samples {
 public:
  // `count` samples of each cell, or if that is 0 as many as there are pixels. No float tells the
  // mean of more than 65536 from the mean of so many.
  Samples(float begin, float end, int64_t cells, int64_t count, int64_t size)
      : begin_(begin), size_(size) {
    step_ = std::max(end - begin, 1.0f) / static_cast<float>(cells);
    count_ = count > 0 ? std::min<int64_t>(count, 65536) : static_cast<int64_t>(std::ceil(step_));
    bin_ = step_ / static_cast<float>(count_);
  }

  CellPixels operator[](int64_t cell) const {
    const int64_t first = pixel(place(cell, 0)), last = pixel(place(cell, count_ - 1));
    CountedVector<double> sums(static_cast<size_t>(std::min(last + 1, size_ - 1) - first + 1));
    for (int64_t i = 0; i < count_; ++i) {
      if (i % 1024 == 0) poll();
      const float at = place(cell, i);
      const int64_t before = pixel(at);
      const auto which = static_cast<size_t>(before - first);
      const float part = before == size_ - 1 ? 0 : at - static_cast<float>(before);
      sums[which] += 1 - part;
      if (part > 0) sums[which + 1] += part;
    }
    CellPixels made{first, CountedVector<float>(sums.size())};
    std::ranges::transform(sums, made.weights.begin(), [&](double sum) {
      return static_cast<float>(sum / static_cast<double>(count_));
    });
    return made;
  }

 private:
  float place(int64_t cell, int64_t sample) const {
    return step_ * static_cast<float>(cell) + begin_ + bin_ / 2 + bin_ * static_cast<float>(sample);
  }
  int64_t pixel(float at) const {
    return std::min(static_cast<int64_t>(std::floor(at)), size_ - 1);
  }

  float begin_, step_, bin_;
  int64_t count_, size_;
};

// to[channels] += the mean of the samples of a cell.
void add_cell(const Image& image, int64_t batch, const CellPixels& rows, const CellPixels& columns,
              float* to) {
  poll();
  for (size_t y = 0; y < rows.weights.size(); ++y) {
    for (size_t x = 0; x < columns.weights.size(); ++x) {
      const float* pixel = image.at(batch, rows.first + static_cast<int64_t>(y),
                                    columns.first + static_cast<int64_t>(x));
      const float weight = rows.weights[y] * columns.weights[x];
      for (int64_t c = 0; c < image.channels; ++c) to[c] += weight * pixel[c * image.of_channel];
    }
  }
}

Tensor roi_align(const Tensor& input, const Tensor& boxes, const Tensor& batches, int64_t height,
                 int64_t width, double height_ratio, double width_ratio, int64_t height_samples,
                 int64_t width_samples) {
  const Image image(input);
  const Regions regions(image, boxes, batches, height_ratio, width_ratio);
  TORCHLET_CHECK(height_samples >= 0 && width_samples >= 0, "%lld x %lld samples of a cell",
                 static_cast<long long>(height_samples), static_cast<long long>(width_samples));
  const Tensor result = pooled_image(regions, image, height, width);
  float* to = result.data_ptr<float>();
  for (int64_t i = 0; i < regions.count(); ++i) {
    const Region region = regions[i];
    const Samples ys(region.y1, region.y2, height, height_samples, image.height);
    const Samples xs(region.x1, region.x2, width, width_samples, image.width);
    CountedVector<CellPixels> columns;
    for (int64_t x = 0; x < width; ++x) columns.push_back(xs[x]);
    for (int64_t y = 0; y < height; ++y) {
      const CellPixels rows = ys[y];
      for (const CellPixels& column : columns) {
        add_cell(image, region.batch, rows, column, to);
        to += image.channels;
      }
    }
  }
  return result;
}

// The pixels [begin, end) of a cell among `cells` of a region that ends are rounded for.
std::pair<int64_t, int64_t> cell_pixels(float from, float to, int64_t cells, int64_t cell,
                                        int64_t size) {
  const float begin = std::round(from);
  const float step = std::max(std::round(to) - begin + 1, 1.0f) / static_cast<float>(cells);
  const auto pixel = [&](float at) {
    return std::clamp(static_cast<int64_t>(at), int64_t{0}, size);
  };
  return {pixel(std::floor(step * static_cast<float>(cell) + begin)),
          pixel(std::ceil(step * static_cast<float>(cell + 1) + begin))};
}

Tensor roi_pooling(const Tensor& input, const Tensor& boxes, const Tensor& batches, int64_t height,
                   int64_t width, double height_ratio, double width_ratio) {
  const Image image(input);
  const Regions regions(image, boxes, batches, height_ratio, width_ratio);
  const Tensor result = pooled_image(regions, image, height, width);
  float* to = result.data_ptr<float>();
  for (int64_t i = 0; i < regions.count(); ++i) {
    const Region region = regions[i];
    for (int64_t cell = 0; cell < height * width; ++cell, to += image.channels) {
      poll();
      const auto [top, bottom] =
          cell_pixels(region.y1, region.y2, height, cell / width, image.height);
      const auto [left, right] =
          cell_pixels(region.x1, region.x2, width, cell % width, image.width);
      for (int64_t y = top; y < bottom; ++y) {
        for (int64_t x = left; x < right; ++x) {
          const float* pixel = image.at(region.batch, y, x);
          const bool is_first = y == top && x == left;
          for (int64_t c = 0; c < image.channels; ++c) {
            const float value = pixel[c * image.of_channel];
            if (is_first || value > to[c]) to[c] = value;
          }
        }
      }
    }
  }
  return result;
}

// ---- HEATMAP_MAX_KEYPOINT ----

// The top of the parabola through a maximum and the 8 values around it: where it lies relative to
// the middle, and how high.
struct Peak {
  float x = 0, y = 0, score;
};

Peak peak_of(const float (&grid)[3][3], float tolerance) {
  const float middle = grid[1][1];
  Peak peak{0, 0, middle};
  // Minus the slope, and the curvature.
  const float bx = (grid[1][0] - grid[1][2]) / 2, by = (grid[0][1] - grid[2][1]) / 2;
  const float axx = grid[1][0] - 2 * middle + grid[1][2];
  const float ayy = grid[0][1] - 2 * middle + grid[2][1];
  const float axy = (grid[2][2] - grid[2][0] - grid[0][2] + grid[0][0]) / 4;
  const float determinant = axx * ayy - axy * axy;
  if (!(std::abs(determinant) >= tolerance + tolerance * axx * ayy)) return peak;
  peak.x = (ayy * bx - axy * by) / determinant;
  peak.y = (axx * by - axy * bx) / determinant;
  const float farthest = std::max(std::abs(peak.x), std::abs(peak.y));
  if (farthest > 1.5f) {
    peak.x *= 1.5f / farthest;
    peak.y *= 1.5f / farthest;
  }
  peak.score =
      middle - bx * peak.x - by * peak.y +
      ((axx * peak.x + axy * peak.y) * peak.x + (axy * peak.x + ayy * peak.y) * peak.y) / 2;
  return peak;
}

// Heatmaps [boxes, keypoints, size, size].
std::tuple<Tensor, Tensor> heatmap_max_keypoint(const Tensor& heatmaps, const Tensor& boxes,
                                                double tolerance) {
  const Image image(heatmaps);
  const int64_t size = image.height;
  TORCHLET_CHECK(size == image.width && size >= 2, "the heatmaps are of %lld x %lld",
                 static_cast<long long>(image.width), static_cast<long long>(size));
  check_sizes(boxes, {image.batch, 4}, "the boxes");
  const Tensor dense = dense_as<float>(boxes);
  const Tensor scores = empty({{image.batch, image.channels}}, DType::kFloat32);
  const Tensor points = empty({{image.batch, image.channels, 2}}, DType::kFloat32);
  // Beyond an edge is what lies on this side of it.
  const auto mirrored = [&](int64_t at) { return at < 0 ? 1 : at >= size ? size - 2 : at; };
  for (int64_t i = 0; i < image.batch * image.channels; ++i) {
    const float* box = dense.data_ptr<float>() + i / image.channels * 4;
    TORCHLET_CHECK(box[0] <= box[2] && box[1] <= box[3],
                   "a box ends at (%g, %g) before it begins at (%g, %g)", box[2], box[3], box[0],
                   box[1]);
    const auto value = [&](int64_t y, int64_t x) {
      return image.at(i / image.channels, y, x)[i % image.channels * image.of_channel];
    };
    int64_t best_y = 0, best_x = 0;
    float best = -std::numeric_limits<float>::max();
    for (int64_t place = 0; place < size * size; ++place) {
      const float here = value(place / size, place % size);
      if (here > best) best = here, best_y = place / size, best_x = place % size;
    }
    float grid[3][3];
    for (int64_t dy = 0; dy < 3; ++dy) {
      for (int64_t dx = 0; dx < 3; ++dx) {
        grid[dy][dx] = value(mirrored(best_y + dy - 1), mirrored(best_x + dx - 1));
      }
    }
    const Peak peak = peak_of(grid, static_cast<float>(tolerance));
    const auto place = [&](int64_t at, float offset, float begin, float end) {
      return (static_cast<float>(at) + offset + 0.5f) / static_cast<float>(size) * (end - begin) +
             begin;
    };
    scores.data_ptr<float>()[i] = peak.score;
    points.data_ptr<float>()[i * 2] = place(best_x, peak.x, box[0], box[2]);
    points.data_ptr<float>()[i * 2 + 1] = place(best_y, peak.y, box[1], box[3]);
  }
  return {scores, points};
}

}  // namespace

TORCHLET_OP(nnapi_roi_align,
            "nnapi::roi_align(Tensor image, Tensor boxes, Tensor batches, int height, int width, "
            "float height_ratio, float width_ratio, int height_samples, int width_samples) -> "
            "Tensor",
            roi_align);
TORCHLET_OP(nnapi_roi_pooling,
            "nnapi::roi_pooling(Tensor image, Tensor boxes, Tensor batches, int height, int width, "
            "float height_ratio, float width_ratio) -> Tensor",
            roi_pooling);
TORCHLET_OP(nnapi_heatmap_max_keypoint,
            "nnapi::heatmap_max_keypoint(Tensor heatmaps, Tensor boxes, float tolerance) -> "
            "(Tensor, Tensor)",
            heatmap_max_keypoint);

}  // namespace torchlet::ops
