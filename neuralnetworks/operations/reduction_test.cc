#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "neuralnetworks/runtime/testing.h"

namespace torchlet::nn {
namespace {

constexpr int32_t kFloat = ANEURALNETWORKS_TENSOR_FLOAT32, kInts = ANEURALNETWORKS_TENSOR_INT32,
                  kSigned = ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED;
constexpr const char* kDevices[] = {"reference", "cpu"};

// The same whether the axes are known when the model is compiled or come with an execution.
TEST(Reduction, AxesMayBeAnInput) {
  struct Want {
    std::vector<int32_t> axes;
    bool keeps;
    std::vector<uint32_t> dims;
    std::vector<float> values;
  };
  for (const Want& want : {Want{{1}, false, {2}, {6, 120}}, Want{{-1, 1}, true, {2, 1}, {6, 120}},
                           Want{{0}, false, {3}, {4, 10, 18}}, Want{{0, 1}, false, {1}, {720}},
                           Want{{-1, -2}, true, {1, 1}, {720}}}) {
    for (const bool is_input : {false, true}) {
      TestModel model;
      const uint32_t x =
          model.input(kFloat, is_input ? std::vector<uint32_t>{} : std::vector<uint32_t>{2, 3});
      const uint32_t axes = is_input ? model.input(kInts, {0}) : model.integers(want.axes);
      const uint32_t y = model.output(kFloat, {});
      model.operation(ANEURALNETWORKS_REDUCE_PROD, {x, axes, model.boolean(want.keeps)}, {y});
      const std::vector<float> values = {1, 2, 3, 4, 5, 6};
      for (const char* device : kDevices) {
        const auto compiled = model.compiled({device});
        const auto outputs =
            is_input ? run(*compiled, {{2, 3}, {static_cast<uint32_t>(want.axes.size())}}, values,
                           want.axes)
                     : run(*compiled, {{2, 3}}, values);
        EXPECT_EQ(outputs[0].dims, want.dims);
        EXPECT_EQ(outputs[0].as<float>(), want.values);
      }
    }
  }
}

TEST(Reduction, NoSuchAxis) {
  TestModel model;
  const uint32_t x = model.input(kFloat, {2, 3}), axes = model.input(kInts, {1});
  const uint32_t y = model.output(kFloat, {});
  model.operation(ANEURALNETWORKS_REDUCE_SUM, {x, axes, model.boolean(false)}, {y});
  for (const char* device : kDevices) {
    EXPECT_THROW(run(*model.compiled({device}), {{2, 3}, {1}}, std::vector<float>(6),
                     std::vector<int32_t>{2}),
                 Error);
  }
  TestModel known;
  const uint32_t z = known.input(kFloat, {2, 3}), sum = known.output(kFloat, {});
  known.operation(ANEURALNETWORKS_REDUCE_SUM, {z, known.integers({-3}), known.boolean(false)},
                  {sum});
  EXPECT_THROW(known.compiled({"cpu"}), Error);
}

// The pixels of an image, whose average may have a scale of its own.
TEST(Reduction, AveragesPixelsOfBytes) {
  for (const float scale : {0.5f, 0.25f}) {
    for (const bool keeps : {false, true}) {
      TestModel model;
      const uint32_t x = model.input(kSigned, {1, 2, 2, 2}, 0.5f, -10);
      const uint32_t y = model.output(kSigned, {}, scale, -10);
      model.operation(ANEURALNETWORKS_MEAN, {x, model.integers({1, 2}), model.integer(keeps)}, {y});
      // 2, 4, 5, 5 and -4, -2, -2, 0
      const std::vector<int8_t> image = {-6, -18, -2, -14, 0, -14, 0, -10};
      for (const char* device : kDevices) {
        const auto outputs = run(*model.compiled({device}), {{1, 2, 2, 2}}, image);
        EXPECT_EQ(outputs[0].dims,
                  keeps ? (std::vector<uint32_t>{1, 1, 1, 2}) : (std::vector<uint32_t>{1, 2}));
        EXPECT_EQ(outputs[0].as<int8_t>(),
                  scale == 0.5f ? (std::vector<int8_t>{-2, -14}) : (std::vector<int8_t>{6, -18}));
      }
    }
  }
}

TEST(Normalization, ALineOfZerosStaysOne) {
  TestModel model;
  const uint32_t x = model.input(kFloat, {2, 2}), y = model.output(kFloat, {2, 2});
  model.operation(ANEURALNETWORKS_L2_NORMALIZATION, {x, model.integer(0)}, {y});
  for (const char* device : kDevices) {
    const auto outputs = run(*model.compiled({device}), {{2, 2}}, std::vector<float>{0, 3, 0, 4});
    EXPECT_EQ(outputs[0].as<float>(), (std::vector<float>{0, 0.6f, 0, 0.8f}));
  }
}

TEST(Normalization, NeighboursAlongAnyAxis) {
  for (const bool is_known : {true, false}) {
    TestModel model;
    const uint32_t x =
        model.input(kFloat, is_known ? std::vector<uint32_t>{3, 2} : std::vector<uint32_t>{});
    const uint32_t y = model.output(kFloat, {});
    const auto number = [&](float value) {
      return model.constant<float>(ANEURALNETWORKS_FLOAT32, {}, {value});
    };
    model.operation(ANEURALNETWORKS_LOCAL_RESPONSE_NORMALIZATION,
                    {x, model.integer(1), number(4), number(2), number(0.5f), model.integer(-2)},
                    {y});
    for (const char* device : kDevices) {
      // The columns are 4, 4, 0 and 0, 0, 4: the roots of 4 + 2 (16 + 16) and of 4 + 2 * 16.
      const auto outputs =
          run(*model.compiled({device}), {{3, 2}}, std::vector<float>{4, 0, 4, 0, 0, 4});
      const float both = 4 / std::sqrt(68.0f), one = 4 / 6.0f;
      const std::vector<float> got = outputs[0].as<float>();
      const std::vector<float> want = {both, 0, both, 0, 0, one};
      for (size_t i = 0; i < want.size(); ++i) EXPECT_FLOAT_EQ(got[i], want[i]) << i;
    }
  }
}

}  // namespace
}  // namespace torchlet::nn
