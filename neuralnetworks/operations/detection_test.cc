#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "neuralnetworks/runtime/testing.h"

namespace torchlet::nn {
namespace {

using Dims = std::vector<uint32_t>;
using Floats = std::vector<float>;
using Ints = std::vector<int32_t>;
constexpr int32_t kFloat = ANEURALNETWORKS_TENSOR_FLOAT32, kInt = ANEURALNETWORKS_TENSOR_INT32;
const std::vector<std::vector<std::string>> kDevices = {{"reference"}, {"cpu"}};

uint32_t floats(TestModel& model, Dims dims, Floats values) {
  return model.constant<float>(kFloat, std::move(dims), std::move(values));
}
uint32_t scalar(TestModel& model, float value) {
  return model.constant<float>(ANEURALNETWORKS_FLOAT32, {}, {value});
}
uint32_t flag(TestModel& model, bool value) {
  return model.constant<uint8_t>(ANEURALNETWORKS_BOOL, {}, {value});
}

// ---- regions of interest ----

// A map of 2 channels and 2 x 2 pixels at half the size of the image.
TestModel align_model(bool nchw) {
  TestModel model;
  const uint32_t image = model.input(kFloat, {0, 0, 0, 0});
  const uint32_t rois = model.input(kFloat, {0, 4});
  const uint32_t batches = model.input(kInt, {0});
  model.operation(ANEURALNETWORKS_ROI_ALIGN,
                  {image, rois, batches, model.integer(1), model.integer(2), scalar(model, 2),
                   scalar(model, 2), model.integer(0), model.integer(1), flag(model, nchw)},
                  {model.output(kFloat, {})});
  return model;
}

TEST(Detection, RoiAlignInBothLayouts) {
  for (const bool nchw : {false, true}) {
    const auto compiled = align_model(nchw).compiled({"cpu"});
    const Dims dims = {1, 2, 2, 2};
    const Floats image =
        nchw ? Floats{0, 1, 2, 3, 10, 20, 30, 40} : Floats{0, 10, 1, 20, 2, 30, 3, 40};
    // All of the image, and a point at (0.5, 0.5) of the map, which counts as one pixel.
    const auto results =
        run(*compiled, {dims, {2, 4}, {2}}, image, Floats{0, 0, 4, 4, 1, 1, 1, 1}, Ints{0, 0});
    // Of the first, 2 x 1 samples in each of the 2 cells; beyond the last pixel is that pixel.
    EXPECT_EQ(results[0].dims, (nchw ? Dims{2, 2, 1, 2} : Dims{2, 1, 2, 2}));
    EXPECT_EQ(results[0].as<float>(), nchw ? (Floats{2, 2.5, 30, 35, 2.75, 3, 37.5, 40})
                                           : (Floats{2, 30, 2.5, 35, 2.75, 37.5, 3, 40}));
  }
}

TEST(Detection, AnyNumberOfSamplesTakesLittleTime) {
  TestModel model;
  const uint32_t image = model.input(kFloat, {1, 1, 2, 1});
  model.operation(
      ANEURALNETWORKS_ROI_ALIGN,
      {image, floats(model, {1, 4}, {0, 0, 1, 1}), model.constant<int32_t>(kInt, {1}, {0}),
       model.integer(1), model.integer(1), scalar(model, 1), scalar(model, 1),
       model.integer(INT32_MAX), model.integer(INT32_MAX), flag(model, false)},
      {model.output(kFloat, {})});
  const auto results = run(*model.compiled({"cpu"}), {{1, 1, 2, 1}}, Floats{0, 8});
  EXPECT_NEAR(results[0].as<float>()[0], 4, 1e-4);
}

TEST(Detection, RegionsAreChecked) {
  for (const auto& devices : kDevices) {
    const auto compiled = align_model(true).compiled(devices);
    const auto run_with = [&](const Floats& roi, int32_t batch) {
      return run(*compiled, {{1, 2, 2, 2}, {1, 4}, {1}}, Floats(8), roi, Ints{batch});
    };
    EXPECT_NO_THROW(run_with({0, 0, 4, 4}, 0));
    EXPECT_THROW(run_with({0, 0, 4, 4}, 1), Error);
    EXPECT_THROW(run_with({0, 0, 4, 4}, -1), Error);
    EXPECT_THROW(run_with({0, 0, 4.5, 4}, 0), Error);
    EXPECT_THROW(run_with({-1, 0, 4, 4}, 0), Error);
    EXPECT_THROW(run_with({3, 0, 2, 4}, 0), Error);
    EXPECT_THROW(run_with({NAN, 0, 2, 4}, 0), Error);
    EXPECT_THROW(run(*compiled, {{1, 2, 2, 2}, {1, 4}, {2}}, Floats(8), Floats(4), Ints{0, 0}),
                 Error);
    // No pixels; no regions. An input that has no address is not given.
    Floats no_floats;
    Ints no_ints;
    no_floats.reserve(1), no_ints.reserve(1);
    EXPECT_THROW(run(*compiled, {{1, 2, 0, 0}, {1, 4}, {1}}, no_floats, Floats(4), Ints{0}), Error);
    const auto none = run(*compiled, {{1, 2, 2, 2}, {0, 4}, {0}}, Floats(8), no_floats, no_ints);
    EXPECT_EQ(none[0].dims, (Dims{0, 2, 1, 2}));
  }
}

// Signed integers with boxes in eighths of a pixel. The cells of one region overlap, and the region
// that begins at the edge has cells without pixels, which are 0.
TEST(Detection, RoiPoolingOfSignedIntegers) {
  TestModel model;
  const int32_t type = ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED;
  const uint32_t image = model.input(type, {1, 3, 3, 1}, 0.5f, 4);
  const uint32_t rois = model.input(ANEURALNETWORKS_TENSOR_QUANT16_ASYMM, {2, 4}, 0.125f);
  const uint32_t batches = model.input(kInt, {2});
  model.operation(ANEURALNETWORKS_ROI_POOLING,
                  {image, rois, batches, model.integer(2), model.integer(2), scalar(model, 1),
                   scalar(model, 1), flag(model, false)},
                  {model.output(type, {2, 2, 2, 1}, 0.5f, 4)});
  for (const auto& devices : kDevices) {
    const auto results = run(*model.compiled(devices), {{1, 3, 3, 1}, {2, 4}, {2}},
                             std::vector<int8_t>{-9, -8, -7, -6, -5, -4, -3, -2, -1},
                             std::vector<uint16_t>{0, 0, 16, 16, 24, 24, 24, 24}, Ints{0, 0});
    EXPECT_EQ(results[0].as<int8_t>(), (std::vector<int8_t>{-5, -4, -2, -1, 4, 4, 4, 4}));
  }
}

TEST(Detection, BoxesOfIntegersAreInEighths) {
  TestModel model;
  const int32_t type = ANEURALNETWORKS_TENSOR_QUANT8_ASYMM;
  const uint32_t image = model.input(type, {1, 3, 3, 1}, 0.5f, 4);
  const uint32_t rois = model.input(ANEURALNETWORKS_TENSOR_QUANT16_ASYMM, {2, 4}, 0.25f);
  const uint32_t batches = model.input(kInt, {2});
  model.operation(ANEURALNETWORKS_ROI_POOLING,
                  {image, rois, batches, model.integer(2), model.integer(2), scalar(model, 1),
                   scalar(model, 1), flag(model, false)},
                  {model.output(type, {2, 2, 2, 1}, 0.5f, 4)});
  EXPECT_THROW(model.compiled({"cpu"}), Error);
}

// ---- boxes ----

TEST(Detection, BoxesAreMovedAndClipped) {
  TestModel model;
  const uint32_t rois = model.input(kFloat, {0, 4});
  const uint32_t deltas = model.input(kFloat, {0, 0});
  const uint32_t batches = model.input(kInt, {0});
  model.operation(ANEURALNETWORKS_AXIS_ALIGNED_BBOX_TRANSFORM,
                  {rois, deltas, batches, floats(model, {2, 2}, {100, 100, 20, 30})},
                  {model.output(kFloat, {})});
  const auto compiled = model.compiled({"cpu"});
  const Floats box = {10, 10, 20, 18};
  const auto results = run(*compiled, {{1, 4}, {1, 8}, {1}}, box,
                           Floats{0.5, 1, 0, 0, -2, 0, std::log(2.0f), 0}, Ints{1});
  EXPECT_EQ(results[0].as<float>(), (Floats{15, 18, 25, 20, 0, 10, 5, 18}));
  EXPECT_THROW(run(*compiled, {{1, 4}, {1, 8}, {1}}, box, Floats(8), Ints{2}), Error);
  EXPECT_THROW(run(*compiled, {{1, 4}, {1, 7}, {1}}, box, Floats(7), Ints{0}), Error);
  EXPECT_THROW(run(*compiled, {{1, 4}, {1, 4}, {1}}, Floats{2, 0, 1, 0}, Floats(4), Ints{0}),
               Error);
}

struct Nms {
  int32_t kernel;
  int32_t limit = -1;
  float score_threshold = 0.05f;
  float iou_threshold = 0.3f;
  float nms_score_threshold = 0.05f;

  // Three boxes of image 7 (the first two overlap by a third), one of image 9; the background and
  // two classes.
  std::vector<TestOutput> run_on(const std::vector<std::string>& devices) const {
    TestModel model;
    const Floats scores = {1, 0.5f, 0.9f, 1, 0.5f, 0.8f, 1, 0, 0.7f, 1, 0.25f, 0};
    const Floats boxes[] = {{0, 0, 2, 2}, {1, 0, 3, 2}, {5, 5, 6, 6}, {0, 0, 1, 1}};
    Floats all;
    for (const Floats& box : boxes) {
      for (int c = 0; c < 3; ++c) all.insert(all.end(), box.begin(), box.end());
    }
    const uint32_t batches = model.input(kInt, {4});
    model.operation(
        ANEURALNETWORKS_BOX_WITH_NMS_LIMIT,
        {floats(model, {4, 3}, scores), floats(model, {4, 12}, all), batches,
         scalar(model, score_threshold), model.integer(limit), model.integer(kernel),
         scalar(model, iou_threshold), scalar(model, 0.5f), scalar(model, nms_score_threshold)},
        {model.output(kFloat, {}), model.output(kFloat, {}), model.output(kInt, {}),
         model.output(kInt, {})});
    return run(*model.compiled(devices), {{4}}, Ints{7, 7, 7, 9});
  }
};

void expect_near(const Floats& got, const Floats& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-6) << i;
}

TEST(Detection, KernelsLowerTheScoresOfBoxesThatOverlap) {
  for (const auto& devices : kDevices) {
    auto results = Nms{0}.run_on(devices);
    expect_near(results[0].as<float>(), {0.5f, 0.9f, 0.7f, 0.25f});
    EXPECT_EQ(results[1].as<float>(), (Floats{0, 0, 2, 2, 0, 0, 2, 2, 5, 5, 6, 6, 0, 0, 1, 1}));
    EXPECT_EQ(results[2].as<int32_t>(), (Ints{1, 2, 2, 1}));
    EXPECT_EQ(results[3].as<int32_t>(), (Ints{7, 7, 7, 9}));

    results = Nms{1}.run_on(devices);
    expect_near(results[0].as<float>(), {0.5f, 1.0f / 3, 0.9f, 0.7f, 1.6f / 3, 0.25f});
    EXPECT_EQ(results[2].as<int32_t>(), (Ints{1, 1, 2, 2, 2, 1}));

    results = Nms{2}.run_on(devices);
    const float factor = std::exp(-2.0f / 9);
    expect_near(results[0].as<float>(), {0.5f, 0.5f * factor, 0.9f, 0.7f, 0.8f * factor, 0.25f});

    // Two of each image, the best of all its classes.
    results = Nms{1, 2}.run_on(devices);
    expect_near(results[0].as<float>(), {0.9f, 0.7f, 0.25f});
    // What a kernel lowers too far goes.
    Nms strict{2};
    strict.nms_score_threshold = 0.6f;
    results = strict.run_on(devices);
    expect_near(results[0].as<float>(), {0.5f, 0.9f, 0.7f, 0.8f * factor, 0.25f});
    Nms none{0};
    none.score_threshold = 2;
    results = none.run_on(devices);
    EXPECT_EQ(results[0].dims, (Dims{0}));
    EXPECT_EQ(results[1].dims, (Dims{0, 4}));
    EXPECT_THROW(Nms{3}.run_on(devices), Error);
  }
}

// A feature map of 1 x 2 with one anchor; the second place is nearly the first one's after its
// delta, and the image is narrow.
TEST(Detection, ProposalsOfAnImage) {
  for (const bool nchw : {false, true}) {
    for (const int32_t limit : {0, 1}) {
      TestModel model;
      const uint32_t scores = model.input(kFloat, {0, 0, 0, 0});
      const Floats deltas =
          nchw ? Floats{0, -1, 0, 0, 0, 0, 0, 0} : Floats{0, 0, 0, 0, -1, 0, 0, 0};
      model.operation(ANEURALNETWORKS_GENERATE_PROPOSALS,
                      {scores, floats(model, nchw ? Dims{1, 4, 1, 2} : Dims{1, 1, 2, 4}, deltas),
                       floats(model, {1, 4}, {0, 0, 8, 8}), floats(model, {1, 2}, {6, 100}),
                       scalar(model, 8), scalar(model, 4), model.integer(-1), model.integer(limit),
                       scalar(model, 0.5f), scalar(model, 1), flag(model, nchw)},
                      {model.output(kFloat, {}), model.output(kFloat, {}), model.output(kInt, {})});
      for (const auto& devices : kDevices) {
        // (0, 0) to (8, 6), and (-4, 0) to (4, 8) clipped: an overlap of a half.
        const auto results =
            run(*model.compiled(devices), {nchw ? Dims{1, 1, 1, 2} : Dims{1, 1, 2, 1}},
                Floats{0.25f, 0.75f});
        EXPECT_EQ(results[0].as<float>(), (Floats{0.75f}));
        EXPECT_EQ(results[1].as<float>(), (Floats{0, 0, 4, 6}));
        EXPECT_EQ(results[2].as<int32_t>(), (Ints{0}));
      }
    }
  }
}

// Two anchors far from each other; both ways of choosing.
TEST(Detection, DetectionsOfClassesAndOfAnchors) {
  for (const bool by_class : {true, false}) {
    TestModel model;
    const uint32_t scores = model.input(kFloat, {0, 0, 0});
    model.operation(ANEURALNETWORKS_DETECTION_POSTPROCESSING,
                    {scores, floats(model, {1, 2, 5}, {1, 0, 0, 0, 77, 0, -1, 0, 0, 77}),
                     floats(model, {2, 4}, {10, 10, 4, 2, 50, 50, 2, 2}), scalar(model, 2),
                     scalar(model, 1), scalar(model, 1), scalar(model, 1), flag(model, by_class),
                     model.integer(3), model.integer(1), model.integer(1), scalar(model, 0.125f),
                     scalar(model, 0.5f), flag(model, !by_class)},
                    {model.output(kFloat, {}), model.output(kFloat, {}), model.output(kInt, {}),
                     model.output(kInt, {})});
    for (const auto& devices : kDevices) {
      const auto results =
          run(*model.compiled(devices), {{1, 2, 3}}, Floats{1, 0.25f, 0.5f, 1, 0.75f, 0.0625f});
      EXPECT_EQ(results[0].dims, (Dims{1, 3}));
      EXPECT_EQ(results[1].dims, (Dims{1, 3, 4}));
      // Of classes: the best anchor of each. Of anchors: the best class of each, and the background
      // is a class.
      EXPECT_EQ(results[0].as<float>(), (Floats{0.75f, 0.5f, 0}));
      EXPECT_EQ(results[1].as<float>(), (Floats{49, 47, 51, 49, 10, 9, 14, 11, 0, 0, 0, 0}));
      EXPECT_EQ(results[2].as<int32_t>(), by_class ? (Ints{0, 1, 0}) : (Ints{1, 2, 0}));
      EXPECT_EQ(results[3].as<int32_t>(), (Ints{2}));
      EXPECT_THROW(run(*model.compiled(devices), {{1, 2, 1}}, Floats(2)), Error);
      EXPECT_THROW(run(*model.compiled(devices), {{1, 3, 3}}, Floats(9)), Error);
    }
  }
}

// ---- keypoints ----

// A flat map has its keypoint at the first place, a single peak in a corner is mirrored.
TEST(Detection, KeypointsOfHeatmaps) {
  for (const bool nchw : {false, true}) {
    TestModel model;
    const uint32_t map = model.input(kFloat, {0, 0, 0, 0});
    model.operation(ANEURALNETWORKS_HEATMAP_MAX_KEYPOINT,
                    {map, floats(model, {1, 4}, {10, 20, 14, 28}), flag(model, nchw)},
                    {model.output(kFloat, {}), model.output(kFloat, {})});
    for (const auto& devices : kDevices) {
      const auto results =
          nchw ? run(*model.compiled(devices), {{1, 2, 2, 2}}, Floats{1, 1, 1, 1, 0, 0, 0, 4})
               : run(*model.compiled(devices), {{1, 2, 2, 2}}, Floats{1, 0, 1, 0, 1, 0, 1, 4});
      EXPECT_EQ(results[0].as<float>(), (Floats{1, 4}));
      EXPECT_EQ(results[0].dims, (Dims{1, 2}));
      EXPECT_EQ(results[1].dims, (Dims{1, 2, 2}));
      EXPECT_EQ(results[1].as<float>(), (Floats{11, 22, 13, 26}));
      EXPECT_THROW(run(*model.compiled(devices), {{1, 1, 1, 1}}, Floats(1)), Error);
    }
  }
}

}  // namespace
}  // namespace torchlet::nn
