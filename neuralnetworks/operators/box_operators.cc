// Boxes: refining them by deltas, and choosing among those that overlap.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <type_traits>

#include "base/checked.h"
#include "base/counted_vector.h"
#include "base/limits.h"
#include "neuralnetworks/operators/checks.h"
#include "ops/core/op.h"
#include "ops/engines/compute.h"

namespace torchlet::ops {
namespace {

using nn::check_sizes;
using Indices = CountedVector<int64_t>;

struct Box {
  float x1, y1, x2, y2;

  bool is_valid() const { return x1 <= x2 && y1 <= y2; }
  float width() const { return x2 - x1; }
  float height() const { return y2 - y1; }
  float area() const { return width() * height(); }
};

const Box* boxes_of(const Tensor& dense) {
  return reinterpret_cast<const Box*>(dense.data_ptr<float>());
}

void check_box(const Box& box) {
  TORCHLET_CHECK(box.is_valid(), "a box ends at (%g, %g) before it begins at (%g, %g)", box.x2,
                 box.y2, box.x1, box.y1);
}

// Intersection over union.
float overlap(const Box& a, const Box& b) {
  const float width = std::max(std::min(a.x2, b.x2) - std::max(a.x1, b.x1), 0.0f);
  const float height = std::max(std::min(a.y2, b.y2) - std::max(a.y1, b.y1), 0.0f);
  const float common = width * height;
  return common / (a.area() + b.area() - common);
}

// The box moved by delta[0] and delta[1] of its width and height, its size times e^delta[2] and
// e^delta[3].
Box moved(const Box& box, const float* delta) {
  const float x = (box.x1 + box.x2) / 2 + delta[0] * box.width();
  const float y = (box.y1 + box.y2) / 2 + delta[1] * box.height();
  const float width = std::exp(delta[2]) * box.width();
  const float height = std::exp(delta[3]) * box.height();
  return {x - width / 2, y - height / 2, x + width / 2, y + height / 2};
}

struct ImageSize {
  float height, width;
};

Box clipped(const Box& box, const ImageSize& image) {
  const auto within = [](float x, float size) { return std::min(std::max(x, 0.0f), size); };
  return {within(box.x1, image.width), within(box.y1, image.height), within(box.x2, image.width),
          within(box.y2, image.height)};
}

// ---- orders ----

// A NaN is the lowest score.
float rank_of(float score) {
  return score == score ? score : -std::numeric_limits<float>::infinity();
}

void sort_by_score(Indices& indices, const float* scores) {
  std::stable_sort(indices.begin(), indices.end(),
                   [&](int64_t a, int64_t b) { return rank_of(scores[a]) > rank_of(scores[b]); });
}

void truncate(Indices& indices, int64_t limit) {
  if (limit >= 0 && static_cast<uint64_t>(limit) < indices.size()) {
    indices.resize(static_cast<size_t>(limit));
  }
}

// Moves the best of `pending` to the result until there are `limit` (any number if negative) or
// none is left. After each, keeps(i, overlap with it) tells whether another stays; it may change
// its score.
template <typename BoxOf, typename Keeps>
Indices choose(Indices pending, const float* scores, int64_t limit, const BoxOf& box_of,
               const Keeps& keeps) {
  Indices chosen;
  while (!pending.empty() && (limit < 0 || chosen.size() < static_cast<uint64_t>(limit))) {
    poll();
    const auto best = std::ranges::max_element(
        pending, [&](int64_t a, int64_t b) { return rank_of(scores[a]) < rank_of(scores[b]); });
    const int64_t index = *best;
    pending.erase(best);
    chosen.push_back(index);
    const Box& box = box_of(index);
    std::erase_if(pending,
                  [&](int64_t other) { return !keeps(other, overlap(box_of(other), box)); });
  }
  return chosen;
}

// ---- AXIS_ALIGNED_BBOX_TRANSFORM ----

Tensor transformed_boxes(const Tensor& boxes, const Tensor& deltas, const Tensor& batches,
                         const Tensor& image_sizes) {
  check_sizes(boxes, {-1, 4}, "the boxes");
  const int64_t count = boxes.size(0);
  check_sizes(deltas, {count, -1}, "the deltas");
  TORCHLET_CHECK(deltas.size(1) > 0 && deltas.size(1) % 4 == 0,
                 "there are %lld deltas for each box, not 4 for each class",
                 static_cast<long long>(deltas.size(1)));
  check_sizes(batches, {count}, "the indices of the images");
  check_sizes(image_sizes, {-1, 2}, "the sizes of the images");
  const int64_t classes = deltas.size(1) / 4;
  const Tensor from = dense_as<float>(boxes), by = dense_as<float>(deltas);
  const Tensor which = dense_as<int64_t>(batches), sizes = dense_as<float>(image_sizes);
  const Tensor result = empty(deltas.sizes(), DType::kFloat32);
  auto* to = reinterpret_cast<Box*>(result.data_ptr<float>());
  for (int64_t i = 0; i < count; ++i) {
    const Box& box = boxes_of(from)[i];
    check_box(box);
    const int64_t image = which.data_ptr<int64_t>()[i];
    TORCHLET_CHECK(image >= 0 && image < sizes.size(0), "there is no image %lld among %lld",
                   static_cast<long long>(image), static_cast<long long>(sizes.size(0)));
    const float* size = sizes.data_ptr<float>() + image * 2;
    for (int64_t j = i * classes; j < (i + 1) * classes; ++j) {
      to[j] = clipped(moved(box, by.data_ptr<float>() + j * 4), {size[0], size[1]});
    }
  }
  return result;
}

// ---- BOX_WITH_NMS_LIMIT ----

struct NmsLimit {
  double score_threshold;
  int64_t max_detections;
  int64_t kernel;  // 0: hard, 1: linear, 2: gaussian
  double iou_threshold, sigma, nms_score_threshold;

  // The factor of a score for an overlap with a better box.
  float factor(float iou) const {
    if (kernel == 2) return std::exp(-iou * iou / static_cast<float>(sigma));
    if (iou < static_cast<float>(iou_threshold)) return 1;
    return kernel == 0 ? 0 : 1 - iou;
  }
};

// Of one image: indices of [boxes, classes], class by class. Class 0 is the background.
Indices limited(const NmsLimit& nms, float* scores, const Box* boxes, int64_t count,
                int64_t classes) {
  const auto box_of = [&](int64_t i) -> const Box& { return boxes[i]; };
  const auto keeps = [&](int64_t i, float iou) {
    scores[i] *= nms.factor(iou);
    return !(scores[i] < static_cast<float>(nms.nms_score_threshold));
  };
  Indices all;
  for (int64_t c = 1; c < classes; ++c) {
    Indices pending;
    for (int64_t i = c; i < count * classes; i += classes) {
      if (scores[i] > static_cast<float>(nms.score_threshold)) pending.push_back(i);
    }
    const Indices chosen = choose(std::move(pending), scores, nms.max_detections, box_of, keeps);
    all.insert(all.end(), chosen.begin(), chosen.end());
  }
  sort_by_score(all, scores);
  truncate(all, nms.max_detections);
  std::stable_sort(all.begin(), all.end(),
                   [&](int64_t a, int64_t b) { return a % classes < b % classes; });
  return all;
}

// What is chosen, row by row.
struct Detections {
  CountedVector<float> scores;
  CountedVector<Box> boxes;
  CountedVector<int32_t> classes, batches;
};

template <typename T>
Tensor tensor_of(const CountedVector<T>& values, DType dtype) {
  const auto count = static_cast<int64_t>(values.size());
  const Tensor result =
      std::is_same_v<T, Box> ? empty({{count, 4}}, dtype) : empty({{count}}, dtype);
  std::copy(values.begin(), values.end(), reinterpret_cast<T*>(result.impl()->data()));
  return result;
}

std::tuple<Tensor, Tensor, Tensor, Tensor> box_with_nms_limit(
    const Tensor& scores, const Tensor& boxes, const Tensor& batches, double score_threshold,
    int64_t max_detections, int64_t kernel, double iou_threshold, double sigma,
    double nms_score_threshold) {
  check_sizes(scores, {-1, -1}, "the scores");
  const int64_t count = scores.size(0), classes = scores.size(1);
  TORCHLET_CHECK(classes > 1, "there is no class besides the background");
  check_sizes(boxes, {count, checked_mul(4, classes)}, "the boxes");
  check_sizes(batches, {count}, "the indices of the images");
  TORCHLET_CHECK(kernel >= 0 && kernel <= 2, "there is no kernel of number %lld",
                 static_cast<long long>(kernel));
  const NmsLimit nms{score_threshold, max_detections, kernel,
                     iou_threshold,   sigma,          nms_score_threshold};
  const Tensor changing = empty(scores.sizes(), DType::kFloat32);
  changing.copy_(scores);
  const Tensor dense_boxes = dense_as<float>(boxes), dense_batches = dense_as<int32_t>(batches);
  const int32_t* which = dense_batches.data_ptr<int32_t>();
  for (int64_t i = 0; i < count * classes; ++i) check_box(boxes_of(dense_boxes)[i]);
  Detections found;
  // Boxes of the same image lie together.
  for (int64_t begin = 0, end = 0; begin < count; begin = end) {
    while (end < count && which[end] == which[begin]) ++end;
    float* own_scores = changing.data_ptr<float>() + begin * classes;
    const Box* own_boxes = boxes_of(dense_boxes) + begin * classes;
    for (const int64_t i : limited(nms, own_scores, own_boxes, end - begin, classes)) {
      found.scores.push_back(own_scores[i]);
      found.boxes.push_back(own_boxes[i]);
      found.classes.push_back(static_cast<int32_t>(i % classes));
      found.batches.push_back(which[begin]);
    }
  }
  return {tensor_of(found.scores, DType::kFloat32), tensor_of(found.boxes, DType::kFloat32),
          tensor_of(found.classes, DType::kInt32), tensor_of(found.batches, DType::kInt32)};
}

// ---- GENERATE_PROPOSALS ----

Indices all_of(int64_t count) {
  Indices indices(static_cast<size_t>(count));
  std::iota(indices.begin(), indices.end(), 0);
  return indices;
}

// The anchors at each place of a feature map, moved by their deltas.
CountedVector<Box> proposed_boxes(const Tensor& anchors, const float* deltas, int64_t height,
                                  int64_t width, float height_stride, float width_stride,
                                  const ImageSize& image) {
  CountedVector<Box> boxes;
  const int64_t count = anchors.size(0);
  boxes.reserve(static_cast<size_t>(height * width * count));
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      const float dx = static_cast<float>(x) * width_stride;
      const float dy = static_cast<float>(y) * height_stride;
      for (int64_t a = 0; a < count; ++a, deltas += 4) {
        const Box& anchor = boxes_of(anchors)[a];
        check_box(anchor);
        const Box here{anchor.x1 + dx, anchor.y1 + dy, anchor.x2 + dx, anchor.y2 + dy};
        boxes.push_back(clipped(moved(here, deltas), image));
      }
    }
  }
  return boxes;
}

// Scores [batch, height, width, anchors], deltas [batch, height, width, 4 * anchors].
std::tuple<Tensor, Tensor, Tensor> generate_proposals(const Tensor& scores, const Tensor& deltas,
                                                      const Tensor& anchors,
                                                      const Tensor& image_sizes,
                                                      double height_stride, double width_stride,
                                                      int64_t max_before, int64_t max_after,
                                                      double iou_threshold, double min_size) {
  check_sizes(scores, {-1, -1, -1, -1}, "the scores");
  const int64_t batch = scores.size(0), height = scores.size(1), width = scores.size(2);
  const int64_t count = scores.size(3);
  check_sizes(deltas, {batch, height, width, checked_mul(4, count)}, "the deltas");
  check_sizes(anchors, {count, 4}, "the anchors");
  check_sizes(image_sizes, {batch, 2}, "the sizes of the images");
  TORCHLET_CHECK(height_stride > 0 && width_stride > 0, "the strides are %g and %g", height_stride,
                 width_stride);
  const Tensor all_scores = dense_as<float>(scores), all_deltas = dense_as<float>(deltas);
  const Tensor shapes = dense_as<float>(anchors), sizes = dense_as<float>(image_sizes);
  const int64_t places = height * width * count;
  const auto least = static_cast<float>(min_size);
  Detections found;
  for (int64_t b = 0; b < batch; ++b) {
    const float* own_scores = all_scores.data_ptr<float>() + b * places;
    const ImageSize image{sizes.data_ptr<float>()[b * 2], sizes.data_ptr<float>()[b * 2 + 1]};
    const CountedVector<Box> boxes =
        proposed_boxes(shapes, all_deltas.data_ptr<float>() + b * places * 4, height, width,
                       static_cast<float>(height_stride), static_cast<float>(width_stride), image);
    const auto box_of = [&](int64_t i) -> const Box& { return boxes[static_cast<size_t>(i)]; };
    Indices pending = all_of(places);
    if (max_before > 0) {
      sort_by_score(pending, own_scores);
      truncate(pending, max_before);
    }
    std::erase_if(pending, [&](int64_t i) {
      const Box& box = box_of(i);
      return !(box.width() > least && box.height() > least &&
               box.x1 + box.width() / 2 < image.width && box.y1 + box.height() / 2 < image.height);
    });
    const auto keeps = [&](int64_t, float iou) {
      return !(iou >= static_cast<float>(iou_threshold));
    };
    const int64_t limit = max_after > 0 ? max_after : -1;
    for (const int64_t i : choose(std::move(pending), own_scores, limit, box_of, keeps)) {
      found.scores.push_back(own_scores[i]);
      found.boxes.push_back(box_of(i));
      found.batches.push_back(static_cast<int32_t>(b));
    }
  }
  return {tensor_of(found.scores, DType::kFloat32), tensor_of(found.boxes, DType::kFloat32),
          tensor_of(found.batches, DType::kInt32)};
}

// ---- DETECTION_POSTPROCESSING ----

struct DetectionLimits {
  int64_t max_detections, max_classes, max_per_class;
  float score_threshold, iou_threshold;
};

// An index of [anchors, classes] for each detection, the best first. Class 0 is the background.
Indices detections_by_class(const DetectionLimits& limits, const float* scores, const Box* boxes,
                            int64_t anchors, int64_t classes) {
  const auto box_of = [&](int64_t i) -> const Box& { return boxes[i / classes]; };
  const auto keeps = [&](int64_t, float iou) { return !(iou >= limits.iou_threshold); };
  Indices all;
  for (int64_t c = 1; c < classes; ++c) {
    Indices pending;
    for (int64_t i = c; i < anchors * classes; i += classes) {
      if (scores[i] > limits.score_threshold) pending.push_back(i);
    }
    const Indices chosen = choose(std::move(pending), scores, limits.max_per_class, box_of, keeps);
    all.insert(all.end(), chosen.begin(), chosen.end());
  }
  sort_by_score(all, scores);
  truncate(all, limits.max_detections);
  return all;
}

// The same with one choice among the anchors by their best class, each with its best classes.
Indices detections_by_anchor(const DetectionLimits& limits, const float* scores, const Box* boxes,
                             int64_t anchors, int64_t classes) {
  CountedVector<float> best;
  Indices pending;
  for (int64_t a = 0; a < anchors; ++a) {
    const float* own = scores + a * classes;
    best.push_back(*std::max_element(own + 1, own + classes));
    if (best.back() > limits.score_threshold) pending.push_back(a);
  }
  const Indices chosen = choose(
      std::move(pending), best.data(), limits.max_detections,
      [&](int64_t a) -> const Box& { return boxes[a]; },
      [&](int64_t, float iou) { return !(iou >= limits.iou_threshold); });
  Indices all;
  for (const int64_t a : chosen) {
    Indices own = all_of(classes);
    own.erase(own.begin());
    sort_by_score(own, scores + a * classes);
    truncate(own, limits.max_classes);
    for (const int64_t c : own) all.push_back(a * classes + c);
  }
  return all;
}

// Anchors (y, x, height, width) moved by deltas (y, x, height, width) over their scales, as boxes
// whose x is the y of the image.
CountedVector<Box> decoded(const float* anchors, const float* deltas, int64_t count, int64_t stride,
                           const std::vector<double>& scales) {
  CountedVector<Box> boxes;
  boxes.reserve(static_cast<size_t>(count));
  std::array<float, 4> scale;
  std::ranges::transform(scales, scale.begin(), [](double x) { return static_cast<float>(x); });
  for (int64_t i = 0; i < count; ++i, anchors += 4, deltas += stride) {
    const float y = anchors[0] + anchors[2] * deltas[0] / scale[0];
    const float x = anchors[1] + anchors[3] * deltas[1] / scale[1];
    const float height = anchors[2] * std::exp(deltas[2] / scale[2]) / 2;
    const float width = anchors[3] * std::exp(deltas[3] / scale[3]) / 2;
    boxes.push_back({y - height, x - width, y + height, x + width});
  }
  return boxes;
}

std::tuple<Tensor, Tensor, Tensor, Tensor> detections(
    const Tensor& scores, const Tensor& deltas, const Tensor& anchors,
    const std::vector<double>& scales, bool by_class, int64_t max_detections, int64_t max_classes,
    int64_t max_per_class, double score_threshold, double iou_threshold, bool with_background) {
  check_sizes(scores, {-1, -1, -1}, "the scores");
  const int64_t batch = scores.size(0), count = scores.size(1), classes = scores.size(2);
  TORCHLET_CHECK(classes > 1, "there is no class besides the background");
  check_sizes(deltas, {batch, count, -1}, "the deltas");
  check_sizes(anchors, {count, 4}, "the anchors");
  const int64_t stride = deltas.size(2);
  TORCHLET_CHECK(stride >= 4, "there are %lld deltas for each anchor, not 4",
                 static_cast<long long>(stride));
  TORCHLET_CHECK(scales.size() == 4 && std::ranges::all_of(scales, [](double x) { return x > 0; }),
                 "the scales of the deltas are not 4 positive numbers");
  TORCHLET_CHECK(score_threshold >= 0 && iou_threshold >= 0, "the thresholds are %g and %g",
                 score_threshold, iou_threshold);
  TORCHLET_CHECK(max_detections > 0 && (by_class ? max_per_class : max_classes) > 0,
                 "there can be no detections");
  const int64_t rows = by_class ? max_detections : checked_mul(max_detections, max_classes);
  const DetectionLimits limits{max_detections, max_classes, max_per_class,
                               static_cast<float>(score_threshold),
                               static_cast<float>(iou_threshold)};
  const Tensor out_scores = zeros({{batch, rows}}, DType::kFloat32);
  const Tensor out_boxes = zeros({{batch, rows, 4}}, DType::kFloat32);
  const Tensor out_classes = zeros({{batch, rows}}, DType::kInt32);
  const Tensor out_count = zeros({{batch}}, DType::kInt32);
  const Tensor all_scores = dense_as<float>(scores), all_deltas = dense_as<float>(deltas);
  const Tensor shapes = dense_as<float>(anchors);
  for (int64_t b = 0; b < batch; ++b) {
    const float* own = all_scores.data_ptr<float>() + b * count * classes;
    const CountedVector<Box> boxes =
        decoded(shapes.data_ptr<float>(), all_deltas.data_ptr<float>() + b * count * stride, count,
                stride, scales);
    const Indices found = (by_class ? detections_by_class : detections_by_anchor)(
        limits, own, boxes.data(), count, classes);
    int64_t row = b * rows;
    for (const int64_t i : found) {
      out_scores.data_ptr<float>()[row] = own[i];
      reinterpret_cast<Box*>(out_boxes.data_ptr<float>())[row] =
          boxes[static_cast<size_t>(i / classes)];
      out_classes.data_ptr<int32_t>()[row] =
          static_cast<int32_t>(i % classes - (with_background ? 0 : 1));
      ++row;
    }
    out_count.data_ptr<int32_t>()[b] = static_cast<int32_t>(found.size());
  }
  return {out_scores, out_boxes, out_classes, out_count};
}

}  // namespace

TORCHLET_OP(nnapi_transformed_boxes,
            "nnapi::transformed_boxes(Tensor boxes, Tensor deltas, Tensor batches, Tensor "
            "image_sizes) -> Tensor",
            transformed_boxes);
TORCHLET_OP(nnapi_box_with_nms_limit,
            "nnapi::box_with_nms_limit(Tensor scores, Tensor boxes, Tensor batches, float "
            "score_threshold, int max_detections, int kernel, float iou_threshold, float sigma, "
            "float nms_score_threshold) -> (Tensor, Tensor, Tensor, Tensor)",
            box_with_nms_limit);
TORCHLET_OP(nnapi_generate_proposals,
            "nnapi::generate_proposals(Tensor scores, Tensor deltas, Tensor anchors, Tensor "
            "image_sizes, float height_stride, float width_stride, int max_before, int max_after, "
            "float iou_threshold, float min_size) -> (Tensor, Tensor, Tensor)",
            generate_proposals);
TORCHLET_OP(nnapi_detections,
            "nnapi::detections(Tensor scores, Tensor deltas, Tensor anchors, float[] scales, bool "
            "by_class, int max_detections, int max_classes, int max_per_class, float "
            "score_threshold, float iou_threshold, bool with_background) -> (Tensor, Tensor, "
            "Tensor, Tensor)",
            detections);

}  // namespace torchlet::ops
