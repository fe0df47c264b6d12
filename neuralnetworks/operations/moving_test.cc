// Where the elements go, for sizes that are known and sizes that are not, and what is refused.
#include "neuralnetworks/operations/moving.h"

#include <gtest/gtest.h>

#include <functional>

#include "neuralnetworks/runtime/testing.h"

namespace torchlet::nn {
namespace {

using Dims = std::vector<uint32_t>;
using Bytes = std::vector<uint8_t>;

constexpr int32_t kInt32 = ANEURALNETWORKS_TENSOR_INT32;
constexpr int32_t kFloat32 = ANEURALNETWORKS_TENSOR_FLOAT32;
constexpr int32_t kFloat16 = ANEURALNETWORKS_TENSOR_FLOAT16;
constexpr int32_t kQuant8 = ANEURALNETWORKS_TENSOR_QUANT8_ASYMM;
constexpr int32_t kSigned = ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED;

std::vector<std::vector<std::string>> devices() { return {{"reference"}, {"cpu"}}; }

std::vector<int32_t> count_up(size_t count) {
  std::vector<int32_t> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<int32_t>(i);
  return values;
}

// Adds the operation to a model with the given input.
using Add = std::function<void(TestModel&, uint32_t input, uint32_t output)>;

// What one operation gives for 0, 1, 2, ... of the sizes: as they are, with sizes that are not
// known before the execution, and with a rank that is not; the same on all devices.
template <typename T>
void expect_moved(int32_t type, const Dims& dims, const Add& add, const Dims& wanted_dims,
                  const std::vector<T>& wanted) {
  size_t count = 1;
  for (const uint32_t size : dims) count *= size;
  std::vector<T> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<T>(i);
  const float scale = type == kQuant8 || type == kSigned ? 0.5f : 0;
  const int zero_point = type == kQuant8 ? 3 : type == kSigned ? -3 : 0;
  for (const Dims& declared : {dims, Dims(dims.size(), 0), Dims()}) {
    for (const auto& device : devices()) {
      TestModel model;
      const uint32_t input = model.input(type, declared, scale, zero_point);
      const uint32_t output = model.output(type, {}, scale, zero_point);
      add(model, input, output);
      const auto outputs = run(*model.compiled(device), {dims}, values);
      EXPECT_EQ(outputs[0].dims, wanted_dims);
      EXPECT_EQ(outputs[0].template as<T>(), wanted);
    }
  }
}

// One operation on an input of the type, with these other arguments.
Add operation(int32_t code, std::function<std::vector<uint32_t>(TestModel&)> arguments) {
  return [code, arguments](TestModel& model, uint32_t input, uint32_t output) {
    std::vector<uint32_t> inputs = arguments(model);
    inputs.insert(inputs.begin(), input);
    model.operation(code, inputs, {output});
  };
}

Add strided_slice(std::vector<int32_t> begins, std::vector<int32_t> ends,
                  std::vector<int32_t> strides, int begin_mask, int end_mask, int shrink_mask) {
  return operation(ANEURALNETWORKS_STRIDED_SLICE, [=](TestModel& m) {
    return std::vector<uint32_t>{m.integers(begins),  m.integers(ends),
                                 m.integers(strides), m.integer(begin_mask),
                                 m.integer(end_mask), m.integer(shrink_mask)};
  });
}

Add of_axis(int32_t code, int axis) {
  return operation(code, [=](TestModel& m) { return std::vector<uint32_t>{m.integer(axis)}; });
}

Add of_integers(int32_t code, std::vector<int32_t> values) {
  return operation(code, [=](TestModel& m) { return std::vector<uint32_t>{m.integers(values)}; });
}

Add of_table(int32_t code, Dims dims, std::vector<int32_t> values) {
  return operation(code, [=](TestModel& m) {
    return std::vector<uint32_t>{m.constant<int32_t>(kInt32, dims, values)};
  });
}

// The error of a model with one input of the type and sizes, when it is compiled or run.
template <typename T>
std::string error_of(int32_t type, const Dims& dims, const Add& add, const Dims& declared,
                     float output_scale = 0.5f) {
  size_t count = 1;
  for (const uint32_t size : dims) count *= size;
  const bool is_quantized = type == kQuant8 || type == kSigned;
  TestModel model;
  const uint32_t input = model.input(type, declared, is_quantized ? 0.5f : 0, 0);
  const uint32_t output = model.output(type, {}, is_quantized ? output_scale : 0, 0);
  add(model, input, output);
  try {
    run(*model.compiled({"cpu"}), {dims}, std::vector<T>(count));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// Whether or not the sizes are known when the model is compiled.
template <typename T>
void expect_refused(int32_t type, const Dims& dims, const Add& add) {
  EXPECT_NE(error_of<T>(type, dims, add, dims), "");
  EXPECT_NE(error_of<T>(type, dims, add, {}), "");
}

// ---- shapes ----

TEST(Moving, Reshapes) {
  expect_moved<int32_t>(kInt32, {2, 3}, of_integers(ANEURALNETWORKS_RESHAPE, {3, -1}), {3, 2},
                        count_up(6));
  expect_moved<int8_t>(kSigned, {2, 2}, of_integers(ANEURALNETWORKS_RESHAPE, {4}), {4},
                       {0, 1, 2, 3});
  expect_refused<int32_t>(kInt32, {2, 3}, of_integers(ANEURALNETWORKS_RESHAPE, {4, -1}));
  expect_refused<int32_t>(kInt32, {2, 3}, of_integers(ANEURALNETWORKS_RESHAPE, {-1, -1}));
}

TEST(Moving, Transposes) {
  expect_moved<float>(kFloat32, {2, 3}, of_integers(ANEURALNETWORKS_TRANSPOSE, {1, 0}), {3, 2},
                      {0, 3, 1, 4, 2, 5});
  const Add reversed = operation(ANEURALNETWORKS_TRANSPOSE, [](TestModel& m) {
    return std::vector<uint32_t>{m.omitted(kInt32)};
  });
  expect_moved<uint8_t>(kQuant8, {1, 2, 3}, reversed, {3, 2, 1}, {0, 3, 1, 4, 2, 5});
  expect_refused<float>(kFloat32, {2, 3}, of_integers(ANEURALNETWORKS_TRANSPOSE, {-1, 0}));
  expect_refused<float>(kFloat32, {2, 3}, of_integers(ANEURALNETWORKS_TRANSPOSE, {1, 1}));
  expect_refused<float>(kFloat32, {2, 3}, of_integers(ANEURALNETWORKS_TRANSPOSE, {0}));
}

TEST(Moving, Squeezes) {
  expect_moved<float>(kFloat32, {1, 2, 1}, of_integers(ANEURALNETWORKS_SQUEEZE, {-1}), {1, 2},
                      {0, 1});
  const Add all = operation(ANEURALNETWORKS_SQUEEZE,
                            [](TestModel& m) { return std::vector<uint32_t>{m.omitted(kInt32)}; });
  expect_moved<int8_t>(kSigned, {1, 2, 1}, all, {2}, {0, 1});
  expect_moved<float>(kFloat32, {1, 1}, all, {1}, {0});
  expect_refused<float>(kFloat32, {1, 2}, of_integers(ANEURALNETWORKS_SQUEEZE, {1}));
  expect_refused<float>(kFloat32, {1, 2}, of_integers(ANEURALNETWORKS_SQUEEZE, {2}));
}

TEST(Moving, ExpandsDims) {
  expect_moved<int32_t>(kInt32, {2}, of_axis(ANEURALNETWORKS_EXPAND_DIMS, -1), {2, 1}, {0, 1});
  expect_moved<uint8_t>(kQuant8, {2}, of_axis(ANEURALNETWORKS_EXPAND_DIMS, 0), {1, 2}, {0, 1});
  expect_refused<int32_t>(kInt32, {2}, of_axis(ANEURALNETWORKS_EXPAND_DIMS, 2));
}

TEST(Moving, TellsTheRank) {
  for (const Dims& declared : {Dims{2, 1, 1}, Dims{}}) {
    TestModel model;
    const uint32_t x = model.input(kFloat16, declared);
    model.operation(ANEURALNETWORKS_RANK, {x}, {model.output(ANEURALNETWORKS_INT32, {})});
    const auto outputs = run(*model.compiled({"cpu"}), {{2, 1, 1}}, std::vector<uint16_t>{0, 0});
    EXPECT_EQ(outputs[0].dims, Dims());
    EXPECT_EQ(outputs[0].as<int32_t>(), (std::vector<int32_t>{3}));
  }
}

TEST(Moving, Fills) {
  TestModel model;
  const uint32_t dims = model.input(kInt32, {2});
  const uint32_t y = model.output(kInt32, {0, 0});
  model.operation(ANEURALNETWORKS_FILL, {dims, model.integer(7)}, {y});
  const auto compiled = model.compiled({"cpu"});
  const auto outputs = run(*compiled, {{2}}, std::vector<int32_t>{1, 3});
  EXPECT_EQ(outputs[0].dims, (Dims{1, 3}));
  EXPECT_EQ(outputs[0].as<int32_t>(), (std::vector<int32_t>{7, 7, 7}));
  EXPECT_THROW(run(*compiled, {{2}}, std::vector<int32_t>{INT32_MAX, INT32_MAX}), Error);
  EXPECT_THROW(run(*compiled, {{2}}, std::vector<int32_t>{-1, 3}), Error);
}

// ---- parts ----

TEST(Moving, Slices) {
  const auto slice = [](std::vector<int32_t> begin, std::vector<int32_t> size) {
    return operation(ANEURALNETWORKS_SLICE, [=](TestModel& m) {
      return std::vector<uint32_t>{m.integers(begin), m.integers(size)};
    });
  };
  expect_moved<int32_t>(kInt32, {2, 3}, slice({1, 0}, {-1, 2}), {1, 2}, {3, 4});
  expect_moved<int8_t>(kSigned, {2, 3}, slice({0, 2}, {2, 1}), {2, 1}, {2, 5});
  expect_moved<int32_t>(kInt32, {2, 3}, slice({2, 0}, {0, 3}), {0, 3}, {});
  expect_refused<int32_t>(kInt32, {2, 3}, slice({-1, 0}, {1, 1}));
  expect_refused<int32_t>(kInt32, {2, 3}, slice({1, 0}, {2, 1}));
  expect_refused<int32_t>(kInt32, {2, 3}, slice({0, 0}, {1, -2}));
  expect_refused<int32_t>(kInt32, {2, 3}, slice({0}, {1}));
}

TEST(Moving, SlicesWithStrides) {
  expect_moved<float>(kFloat32, {2, 4}, strided_slice({0, 3}, {2, 0}, {1, -2}, 0, 0, 0), {2, 2},
                      {3, 1, 7, 5});
  expect_moved<int8_t>(kSigned, {2, 4}, strided_slice({0, -9}, {9, 9}, {2, 3}, 0, 0, 0), {1, 2},
                       {0, 3});
  // Masks: whole ranges backwards, and a dimension that goes.
  expect_moved<uint8_t>(kQuant8, {2, 3}, strided_slice({5, 5}, {5, 5}, {-1, -1}, 3, 3, 0), {2, 3},
                        {5, 4, 3, 2, 1, 0});
  expect_moved<float>(kFloat32, {2, 3}, strided_slice({1, 0}, {2, 0}, {1, 1}, 0, 2, 1), {3},
                      {3, 4, 5});
  expect_moved<float>(kFloat32, {2, 3}, strided_slice({1, 2}, {2, 3}, {1, 1}, 0, 0, 3), {1}, {5});
  expect_moved<float>(kFloat32, {2, 3}, strided_slice({1, 2}, {1, 3}, {1, 1}, 0, 0, 0), {0, 1}, {});
  expect_refused<float>(kFloat32, {2, 3}, strided_slice({0, 0}, {1, 1}, {1, 0}, 0, 0, 0));
  expect_refused<float>(kFloat32, {2, 3}, strided_slice({0, 0}, {1, 2}, {1, 1}, 0, 0, 2));
  expect_refused<float>(kFloat32, {2, 3}, strided_slice({0}, {1}, {1}, 0, 0, 0));
}

TEST(Moving, Splits) {
  for (const Dims& declared : {Dims{2, 4}, Dims{0, 0}, Dims{}}) {
    TestModel model;
    const uint32_t x = model.input(kSigned, declared, 0.5f, -3);
    const std::vector<uint32_t> outputs = {model.output(kSigned, {2, 2}, 0.5f, -3),
                                           model.output(kSigned, {}, 0.5f, -3)};
    model.operation(ANEURALNETWORKS_SPLIT, {x, model.integer(-1), model.integer(2)}, outputs);
    const auto compiled = model.compiled({"cpu"});
    const auto parts = run(*compiled, {{2, 4}}, std::vector<int8_t>{0, 1, 2, 3, 4, 5, 6, 7});
    EXPECT_EQ(parts[0].as<int8_t>(), (std::vector<int8_t>{0, 1, 4, 5}));
    EXPECT_EQ(parts[1].as<int8_t>(), (std::vector<int8_t>{2, 3, 6, 7}));
    EXPECT_EQ(parts[1].dims, (Dims{2, 2}));
    if (declared.empty()) {
      EXPECT_THROW(run(*compiled, {{1, 3}}, std::vector<int8_t>{0, 1, 2}), Error);
    }
  }
}

TEST(Moving, Gathers) {
  const auto gather = [](int axis, Dims dims, std::vector<int32_t> indices) {
    return operation(ANEURALNETWORKS_GATHER, [=](TestModel& m) {
      return std::vector<uint32_t>{m.integer(axis), m.constant<int32_t>(kInt32, dims, indices)};
    });
  };
  expect_moved<float>(kFloat32, {2, 3}, gather(-1, {2}, {2, 0}), {2, 2}, {2, 0, 5, 3});
  expect_moved<uint8_t>(kQuant8, {3, 1}, gather(0, {2, 2}, {0, 1, 2, 2}), {2, 2, 1}, {0, 1, 2, 2});
  expect_refused<float>(kFloat32, {2, 3}, gather(1, {1}, {3}));
  expect_refused<float>(kFloat32, {2, 3}, gather(1, {1}, {-1}));
  expect_refused<float>(kFloat32, {2, 3}, gather(2, {1}, {0}));
}

TEST(Moving, LooksUpKeys) {
  TestModel model;
  const uint32_t lookups = model.input(kInt32, {0});
  const uint32_t keys = model.integers({-5, 10, 70});
  const uint32_t values = model.constant<uint8_t>(kQuant8, {3, 2}, {1, 2, 3, 4, 5, 6}, 0.5f, 9);
  const uint32_t y = model.output(kQuant8, {}, 0.5f, 9);
  const uint32_t hits = model.output(kQuant8, {}, 1, 0);
  model.operation(ANEURALNETWORKS_HASHTABLE_LOOKUP, {lookups, keys, values}, {y, hits});
  const auto outputs = run(*model.compiled({"cpu"}), {{3}}, std::vector<int32_t>{70, 11, -5});
  EXPECT_EQ(outputs[0].dims, (Dims{3, 2}));
  EXPECT_EQ(outputs[0].as<uint8_t>(), (Bytes{5, 6, 9, 9, 1, 2}));
  EXPECT_EQ(outputs[1].as<uint8_t>(), (Bytes{1, 0, 1}));
}

// Of equal elements the last is the first of the largest, and the first is the largest.
TEST(Moving, FindsTheLargest) {
  for (const Dims& declared : {Dims{1, 4}, Dims{}}) {
    TestModel model;
    const uint32_t x = model.input(kSigned, declared, 1, 5);
    const uint32_t values = model.output(kSigned, {}, 1, 5), indices = model.output(kInt32, {});
    model.operation(ANEURALNETWORKS_TOPK_V2, {x, model.integer(3)}, {values, indices});
    const uint32_t argmax = model.output(kInt32, {}), argmin = model.output(kInt32, {});
    model.operation(ANEURALNETWORKS_ARGMAX, {x, model.integer(-1)}, {argmax});
    model.operation(ANEURALNETWORKS_ARGMIN, {x, model.integer(0)}, {argmin});
    const auto outputs = run(*model.compiled({"cpu"}), {{1, 4}}, std::vector<int8_t>{-7, 4, 4, -9});
    EXPECT_EQ(outputs[0].as<int8_t>(), (std::vector<int8_t>{4, 4, -7}));
    EXPECT_EQ(outputs[1].as<int32_t>(), (std::vector<int32_t>{2, 1, 0}));
    EXPECT_EQ(outputs[2].dims, (Dims{1}));
    EXPECT_EQ(outputs[2].as<int32_t>(), (std::vector<int32_t>{1}));
    EXPECT_EQ(outputs[3].as<int32_t>(), (std::vector<int32_t>{0, 0, 0, 0}));
  }
}

TEST(Moving, GivesOneIndexOfAVector) {
  for (const Dims& declared : {Dims{3}, Dims{0}, Dims{}}) {
    TestModel model;
    const uint32_t x = model.input(kInt32, declared);
    model.operation(ANEURALNETWORKS_ARGMIN, {x, model.integer(0)}, {model.output(kInt32, {})});
    const auto outputs = run(*model.compiled({"cpu"}), {{3}}, std::vector<int32_t>{2, -1, 0});
    EXPECT_EQ(outputs[0].dims, (Dims{1}));
    EXPECT_EQ(outputs[0].as<int32_t>(), (std::vector<int32_t>{1}));
  }
}

// ---- joins, borders and copies ----

TEST(Moving, ConcatenatesInOneScale) {
  TestModel model;
  const uint32_t a = model.input(kSigned, {0, 1}, 1, 0), b = model.input(kSigned, {}, 0.5f, -10);
  const uint32_t y = model.output(kSigned, {}, 0.5f, 10);
  model.operation(ANEURALNETWORKS_CONCATENATION, {a, b, model.integer(1)}, {y});
  for (const auto& device : devices()) {
    const auto compiled = model.compiled(device);
    const auto outputs =
        run(*compiled, {{2, 1}, {2, 1}}, std::vector<int8_t>{3, 100}, std::vector<int8_t>{0, -20});
    EXPECT_EQ(outputs[0].dims, (Dims{2, 2}));
    EXPECT_EQ(outputs[0].as<int8_t>(), (std::vector<int8_t>{16, 20, 127, 0}));
    EXPECT_THROW(run(*compiled, {{2, 1}, {3, 1}}, std::vector<int8_t>(2), std::vector<int8_t>(3)),
                 Error);
  }
}

TEST(Moving, Pads) {
  expect_moved<uint8_t>(kQuant8, {1, 2}, of_table(ANEURALNETWORKS_PAD, {2, 2}, {1, 0, 0, 1}),
                        {2, 3}, {3, 3, 3, 0, 1, 3});
  const auto with = [](int value) {
    return operation(ANEURALNETWORKS_PAD_V2, [=](TestModel& m) {
      return std::vector<uint32_t>{m.constant<int32_t>(kInt32, {1, 2}, {1, 2}), m.integer(value)};
    });
  };
  expect_moved<int8_t>(kSigned, {1}, with(-128), {4}, {-128, 0, -128, -128});
  expect_refused<int8_t>(kSigned, {1}, with(128));
  expect_refused<float>(kFloat32, {1, 2}, of_table(ANEURALNETWORKS_PAD, {2, 2}, {0, 0, 0, -1}));
  expect_refused<float>(kFloat32, {1, 2}, of_table(ANEURALNETWORKS_PAD, {1, 2}, {0, 1}));
  expect_refused<float>(
      kFloat32, {1, 2},
      of_table(ANEURALNETWORKS_PAD, {2, 2}, {INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX}));
}

TEST(Moving, PadsWithMirrorImages) {
  const auto mirror = [](int mode, Dims dims, std::vector<int32_t> paddings) {
    return operation(ANEURALNETWORKS_MIRROR_PAD, [=](TestModel& m) {
      return std::vector<uint32_t>{m.constant<int32_t>(kInt32, dims, paddings), m.integer(mode)};
    });
  };
  expect_moved<int32_t>(kInt32, {3}, mirror(0, {1, 2}, {2, 1}), {6}, {2, 1, 0, 1, 2, 1});
  expect_moved<int8_t>(kSigned, {3}, mirror(1, {1, 2}, {3, 1}), {7}, {2, 1, 0, 0, 1, 2, 2});
  expect_refused<int32_t>(kInt32, {3}, mirror(0, {1, 2}, {3, 0}));
  expect_refused<int32_t>(kInt32, {3}, mirror(1, {1, 2}, {0, 4}));
  expect_refused<int32_t>(kInt32, {3}, mirror(2, {1, 2}, {0, 0}));
}

TEST(Moving, TilesAndReverses) {
  expect_moved<int8_t>(kSigned, {1, 2}, of_integers(ANEURALNETWORKS_TILE, {2, 2}), {2, 4},
                       {0, 1, 0, 1, 0, 1, 0, 1});
  expect_moved<uint8_t>(kQuant8, {2, 2}, of_integers(ANEURALNETWORKS_REVERSE, {1}), {2, 2},
                        {1, 0, 3, 2});
  expect_refused<int32_t>(kInt32, {2}, of_integers(ANEURALNETWORKS_TILE, {1, 2}));
  expect_refused<int32_t>(kInt32, {2, 2},
                          of_integers(ANEURALNETWORKS_TILE, {INT32_MAX, INT32_MAX}));
  expect_refused<int32_t>(kInt32, {2}, of_integers(ANEURALNETWORKS_REVERSE, {-1}));
}

TEST(Moving, Packs) {
  for (const Dims& declared : {Dims{2}, Dims{}}) {
    TestModel model;
    const uint32_t a = model.input(kSigned, declared, 1, 7), b = model.input(kSigned, {2}, 1, 7);
    model.operation(ANEURALNETWORKS_PACK, {model.integer(1), a, b},
                    {model.output(kSigned, {}, 1, 7)});
    const auto outputs = run(*model.compiled({"cpu"}), {{2}, {2}}, std::vector<int8_t>{1, 2},
                             std::vector<int8_t>{3, 4});
    EXPECT_EQ(outputs[0].dims, (Dims{2, 2}));
    EXPECT_EQ(outputs[0].as<int8_t>(), (std::vector<int8_t>{1, 3, 2, 4}));
  }
}

// ---- blocks ----

TEST(Moving, MovesBlocks) {
  const auto block = [](int32_t code, bool nchw) {
    return operation(code, [=](TestModel& m) {
      return std::vector<uint32_t>{m.integer(2), m.boolean(nchw)};
    });
  };
  expect_moved<int8_t>(kSigned, {1, 1, 1, 8}, block(ANEURALNETWORKS_DEPTH_TO_SPACE, false),
                       {1, 2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  expect_moved<int8_t>(kSigned, {1, 8, 1, 1}, block(ANEURALNETWORKS_DEPTH_TO_SPACE, true),
                       {1, 2, 2, 2}, {0, 2, 4, 6, 1, 3, 5, 7});
  expect_moved<float>(kFloat32, {1, 2, 4, 1}, block(ANEURALNETWORKS_SPACE_TO_DEPTH, false),
                      {1, 1, 2, 4}, {0, 1, 4, 5, 2, 3, 6, 7});
  expect_moved<float>(kFloat32, {1, 2, 2, 2}, block(ANEURALNETWORKS_SPACE_TO_DEPTH, true),
                      {1, 8, 1, 1}, {0, 4, 1, 5, 2, 6, 3, 7});
  expect_refused<float>(kFloat32, {1, 1, 1, 6}, block(ANEURALNETWORKS_DEPTH_TO_SPACE, false));
  expect_refused<float>(kFloat32, {1, 3, 2, 1}, block(ANEURALNETWORKS_SPACE_TO_DEPTH, false));
}

TEST(Moving, MovesBlocksToTheBatch) {
  const auto to_batch = [](std::vector<int32_t> sizes, std::vector<int32_t> paddings, bool nchw) {
    return operation(ANEURALNETWORKS_SPACE_TO_BATCH_ND, [=](TestModel& m) {
      return std::vector<uint32_t>{m.integers(sizes), m.constant<int32_t>(kInt32, {2, 2}, paddings),
                                   m.boolean(nchw)};
    });
  };
  expect_moved<uint8_t>(kQuant8, {1, 1, 2, 1}, to_batch({1, 2}, {0, 0, 2, 0}, false), {2, 1, 2, 1},
                        {3, 0, 3, 1});
  expect_moved<uint8_t>(kQuant8, {1, 1, 1, 2}, to_batch({2, 1}, {1, 0, 0, 0}, true), {2, 1, 1, 2},
                        {3, 3, 0, 1});
  expect_refused<uint8_t>(kQuant8, {1, 1, 2, 1}, to_batch({1, 2}, {0, 0, 1, 0}, false));
  expect_refused<uint8_t>(kQuant8, {1, 1, 2, 1}, to_batch({0, 2}, {0, 0, 0, 0}, false));
  expect_moved<int8_t>(kSigned, {2, 1, 2, 1},
                       of_integers(ANEURALNETWORKS_BATCH_TO_SPACE_ND, {1, 2}), {1, 1, 4, 1},
                       {0, 2, 1, 3});
  expect_refused<int8_t>(kSigned, {3, 1, 1, 1},
                         of_integers(ANEURALNETWORKS_BATCH_TO_SPACE_ND, {1, 2}));
  expect_refused<int8_t>(kSigned, {2, 1, 1, 1},
                         of_integers(ANEURALNETWORKS_BATCH_TO_SPACE_ND, {-1, -2}));
}

TEST(Moving, ShufflesChannels) {
  const auto shuffle = [](int groups, int axis) {
    return operation(ANEURALNETWORKS_CHANNEL_SHUFFLE, [=](TestModel& m) {
      return std::vector<uint32_t>{m.integer(groups), m.integer(axis)};
    });
  };
  expect_moved<int8_t>(kSigned, {1, 6}, shuffle(2, -1), {1, 6}, {0, 3, 1, 4, 2, 5});
  expect_moved<float>(kFloat32, {4, 1}, shuffle(2, 0), {4, 1}, {0, 2, 1, 3});
  expect_refused<float>(kFloat32, {4, 1}, shuffle(3, 0));
  expect_refused<float>(kFloat32, {4, 1}, shuffle(1, 2));
}

// ---- what all of them share ----

TEST(Moving, KeepsTheScale) {
  EXPECT_NE(error_of<uint8_t>(kQuant8, {2}, of_integers(ANEURALNETWORKS_RESHAPE, {2}), {2}, 0.25f),
            "");
  EXPECT_NE(error_of<int8_t>(kSigned, {2}, of_axis(ANEURALNETWORKS_EXPAND_DIMS, 0), {2}, 0.25f),
            "");
}

// Images that a convolution has left as NCHW: the axes are still those of the model.
TEST(Moving, KnowsImagesByTheirOwnAxes) {
  TestModel model;
  const uint32_t x = model.input(kFloat32, {1, 2, 2, 1});
  const uint32_t filter = model.constant<float>(kFloat32, {2, 1, 1, 1}, {1, 10});
  const uint32_t bias = model.constant<float>(kFloat32, {2}, {0, 0});
  const uint32_t image = model.temporary(kFloat32, {1, 2, 2, 2});
  const uint32_t one = model.integer(1), valid = model.integer(ANEURALNETWORKS_PADDING_VALID);
  model.operation(ANEURALNETWORKS_CONV_2D, {x, filter, bias, valid, one, one, model.integer(0)},
                  {image});
  const uint32_t joined = model.output(kFloat32, {1, 2, 2, 4});
  model.operation(ANEURALNETWORKS_CONCATENATION, {image, image, model.integer(3)}, {joined});
  const uint32_t left = model.output(kFloat32, {}), right = model.output(kFloat32, {});
  model.operation(ANEURALNETWORKS_SPLIT, {image, model.integer(-2), model.integer(2)},
                  {left, right});
  const uint32_t padded = model.output(kFloat32, {});
  model.operation(ANEURALNETWORKS_PAD,
                  {image, model.constant<int32_t>(kInt32, {4, 2}, {0, 0, 1, 0, 0, 0, 0, 1})},
                  {padded});
  const uint32_t shuffled = model.output(kFloat32, {});
  model.operation(ANEURALNETWORKS_CHANNEL_SHUFFLE, {joined, model.integer(2), model.integer(-1)},
                  {shuffled});
  for (const auto& device : devices()) {
    const auto outputs =
        run(*model.compiled(device), {{1, 2, 2, 1}}, std::vector<float>{1, 2, 3, 4});
    EXPECT_EQ(outputs[0].as<float>(),
              (std::vector<float>{1, 10, 1, 10, 2, 20, 2, 20, 3, 30, 3, 30, 4, 40, 4, 40}));
    EXPECT_EQ(outputs[1].as<float>(), (std::vector<float>{1, 10, 3, 30}));
    EXPECT_EQ(outputs[2].as<float>(), (std::vector<float>{2, 20, 4, 40}));
    EXPECT_EQ(outputs[3].dims, (Dims{1, 3, 2, 3}));
    EXPECT_EQ(outputs[3].as<float>(),
              (std::vector<float>{0, 0, 0, 0, 0, 0, 1, 10, 0, 2, 20, 0, 3, 30, 0, 4, 40, 0}));
    EXPECT_EQ(outputs[4].as<float>(),
              (std::vector<float>{1, 1, 10, 10, 2, 2, 20, 20, 3, 3, 30, 30, 4, 4, 40, 40}));
  }
}

}  // namespace
}  // namespace torchlet::nn
