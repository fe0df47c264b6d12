#include <gtest/gtest.h>
#include <torchlet/error.h>

#include "neuralnetworks/runtime/testing.h"

namespace torchlet::nn {
namespace {

using Dims = std::vector<uint32_t>;

struct Resizing {
  int32_t code;
  bool nchw, align_corners, half_pixel_centers;
};

// An image of one row, 0, 10, 20, ..., 4 elements wide after it.
template <typename T>
std::vector<T> resized(int32_t type, const Resizing& resizing, uint32_t width, bool by_factor,
                       const std::string& device, bool known = true) {
  TestModel model;
  const bool is_quantized = type != ANEURALNETWORKS_TENSOR_FLOAT32;
  const Dims dims = resizing.nchw ? Dims{1, 1, 1, width} : Dims{1, 1, width, 1};
  const float scale = is_quantized ? 0.5f : 0;
  const uint32_t x = model.input(type, known ? dims : Dims(), scale, 0);
  const uint32_t y = model.output(type, {}, scale, 0);
  const auto factor = [&](float value) {
    return model.constant<float>(ANEURALNETWORKS_FLOAT32, {}, {value});
  };
  std::vector<uint32_t> inputs = {x, model.integer(4), model.integer(1)};
  if (by_factor) inputs = {x, factor(4.0f / static_cast<float>(width) + 0.01f), factor(1)};
  inputs.push_back(model.boolean(resizing.nchw));
  inputs.push_back(model.boolean(resizing.align_corners));
  inputs.push_back(model.boolean(resizing.half_pixel_centers));
  model.operation(resizing.code, inputs, {y});
  std::vector<T> image;
  for (uint32_t i = 0; i < width; ++i) image.push_back(static_cast<T>(10 * i));
  const auto outputs = run(*model.compiled({device}), {dims}, image);
  EXPECT_EQ(outputs[0].dims, resizing.nchw ? (Dims{1, 1, 1, 4}) : (Dims{1, 1, 4, 1}));
  return outputs[0].template as<T>();
}

template <typename T>
void expect_resized(int32_t type, const Resizing& resizing, uint32_t width,
                    const std::vector<T>& wanted) {
  for (const char* device : {"reference", "cpu"}) {
    for (const bool by_factor : {false, true}) {
      for (const bool known : {false, true}) {
        EXPECT_EQ((resized<T>(type, resizing, width, by_factor, device, known)), wanted);
      }
    }
  }
}

constexpr int32_t kFloat32 = ANEURALNETWORKS_TENSOR_FLOAT32;
constexpr int32_t kSigned = ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED;

TEST(Resizing, Bilinear) {
  constexpr int32_t kCode = ANEURALNETWORKS_RESIZE_BILINEAR;
  expect_resized<float>(kFloat32, {kCode, false, false, false}, 2, {0, 5, 10, 10});
  expect_resized<float>(kFloat32, {kCode, true, false, true}, 2, {0, 2.5f, 7.5f, 10});
  expect_resized<float>(kFloat32, {kCode, false, true, false}, 7, {0, 20, 40, 60});
  expect_resized<int8_t>(kSigned, {kCode, true, false, false}, 2, {0, 5, 10, 10});
  expect_resized<int8_t>(kSigned, {kCode, false, false, true}, 2, {0, 3, 8, 10});
  expect_resized<int8_t>(kSigned, {kCode, false, true, false}, 3, {0, 7, 13, 20});
}

TEST(Resizing, Nearest) {
  constexpr int32_t kCode = ANEURALNETWORKS_RESIZE_NEAREST_NEIGHBOR;
  for (const bool nchw : {false, true}) {
    expect_resized<float>(kFloat32, {kCode, nchw, false, false}, 3, {0, 0, 10, 20});
    expect_resized<float>(kFloat32, {kCode, nchw, false, true}, 3, {0, 10, 10, 20});
    expect_resized<float>(kFloat32, {kCode, nchw, true, false}, 3, {0, 10, 10, 20});
    expect_resized<int8_t>(kSigned, {kCode, nchw, false, false}, 3, {0, 0, 10, 20});
    expect_resized<int8_t>(kSigned, {kCode, nchw, false, true}, 3, {0, 10, 10, 20});
    expect_resized<int8_t>(kSigned, {kCode, nchw, true, false}, 3, {0, 10, 10, 20});
  }
}

TEST(Resizing, RefusesBothConventionsAtOnce) {
  EXPECT_THROW((resized<float>(kFloat32, {ANEURALNETWORKS_RESIZE_BILINEAR, false, true, true}, 2,
                               false, "cpu")),
               Error);
}

}  // namespace
}  // namespace torchlet::nn
