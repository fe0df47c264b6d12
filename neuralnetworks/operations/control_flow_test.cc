#include <gtest/gtest.h>
#include <torchlet/error.h>

#include <chrono>

#include "neuralnetworks/runtime/testing.h"

namespace torchlet::nn {
namespace {

using Dims = std::vector<uint32_t>;
using Ints = std::vector<int32_t>;

constexpr int32_t kInt32 = ANEURALNETWORKS_TENSOR_INT32;
constexpr int32_t kFloat32 = ANEURALNETWORKS_TENSOR_FLOAT32;
constexpr int32_t kBool8 = ANEURALNETWORKS_TENSOR_BOOL8;

std::vector<std::vector<std::string>> devices() { return {{"reference"}, {"cpu"}}; }

// x -> x + x, or x -> x + 1, of any size.
TestModel added(bool doubles, const Dims& dims = {}) {
  TestModel model;
  const uint32_t x = model.input(kInt32, dims);
  const uint32_t y = doubles ? x : model.integers({1});
  model.operation(ANEURALNETWORKS_ADD, {x, y, model.integer(0)}, {model.output(kInt32, dims)});
  return model;
}

// (i, ...) -> i < limit, of `count` inputs
TestModel below(int32_t limit, size_t count) {
  TestModel model;
  const uint32_t i = model.input(kInt32, {1});
  for (size_t k = 1; k < count; ++k) model.input(kInt32, {});
  model.operation(ANEURALNETWORKS_LESS, {i, model.integers({limit})}, {model.output(kBool8, {1})});
  return model;
}

ErrorCode code_of(const TestModel& model, uint64_t loop_timeout_nanoseconds) {
  struct Sink : OutputSink {
    std::byte* receive(size_t, const Dims&, size_t) override { return nullptr; }
  } sink;
  const Ints zero = {0};
  const auto bytes = std::as_bytes(std::span(zero));
  try {
    model.compiled({"cpu"})->run({{{1}, bytes.data(), bytes.size()}}, sink,
                                 {.loop_timeout_nanoseconds = loop_timeout_nanoseconds});
  } catch (const Error& error) {
    return error.code();
  }
  ADD_FAILURE() << "there is no error";
  return ErrorCode::kInternal;
}

// ---- IF ----

TEST(If, TakesABranch) {
  TestModel model;
  const uint32_t condition = model.input(kBool8, {1}), x = model.input(kInt32, {0});
  model.operation(ANEURALNETWORKS_IF,
                  {condition, model.referred(added(true)), model.referred(added(false)), x},
                  {model.output(kInt32, {})});
  for (const auto& device : devices()) {
    const auto compiled = model.compiled(device);
    const auto outputs = [&](uint8_t which) {
      return run(*compiled, {{1}, {2}}, std::vector<uint8_t>{which}, Ints{3, 4});
    };
    EXPECT_EQ(outputs(1)[0].as<int32_t>(), (Ints{6, 8}));
    EXPECT_EQ(outputs(0)[0].as<int32_t>(), (Ints{4, 5}));
    EXPECT_EQ(outputs(0)[0].dims, Dims{2});
  }
}

// A scalar that decides what is computed is a constant of the branch, and so is what is omitted.
TEST(If, HandsOverScalarsAndWhatIsOmitted) {
  TestModel branch;
  const uint32_t x = branch.input(kFloat32, {1, 2, 1});
  const uint32_t axis = branch.input(ANEURALNETWORKS_INT32, {}), none = branch.input(kInt32, {0});
  const uint32_t expanded = branch.temporary(kFloat32, {});
  branch.operation(ANEURALNETWORKS_EXPAND_DIMS, {x, axis}, {expanded});
  branch.operation(ANEURALNETWORKS_SQUEEZE, {expanded, none}, {branch.output(kFloat32, {})});

  TestModel model;
  const uint32_t y = model.input(kFloat32, {1, 2, 1});
  const uint32_t condition = model.constant<uint8_t>(kBool8, {1}, {1});
  const uint32_t then_model = model.referred(branch);
  model.operation(ANEURALNETWORKS_IF,
                  {condition, then_model, then_model, y, model.integer(-1), model.omitted(kInt32)},
                  {model.output(kFloat32, {})});
  const auto outputs = run(*model.compiled({"cpu"}), {{1, 2, 1}}, std::vector<float>{3, 4});
  EXPECT_EQ(outputs[0].dims, Dims{2});
  EXPECT_EQ(outputs[0].as<float>(), (std::vector<float>{3, 4}));
}

// RANK's result is known only while the model runs.
TEST(If, HandsOverScalarsThatAreComputed) {
  TestModel branch;
  branch.operation(ANEURALNETWORKS_FILL,
                   {branch.integers({2}), branch.input(ANEURALNETWORKS_INT32, {})},
                   {branch.output(kInt32, {2})});
  TestModel model;
  const uint32_t x = model.input(kFloat32, {});
  const uint32_t rank = model.temporary(ANEURALNETWORKS_INT32, {});
  model.operation(ANEURALNETWORKS_RANK, {x}, {rank});
  const uint32_t condition = model.constant<uint8_t>(kBool8, {1}, {0});
  const uint32_t either = model.referred(branch);
  model.operation(ANEURALNETWORKS_IF, {condition, either, either, rank},
                  {model.output(kInt32, {2})});
  const auto outputs = run(*model.compiled({"cpu"}), {{1, 1, 1}}, std::vector<float>{5});
  EXPECT_EQ(outputs[0].as<int32_t>(), (Ints{3, 3}));
}

TEST(If, RefusesBranchesOfOtherTypes) {
  const auto with = [](const TestModel& branch) {
    TestModel model;
    const uint32_t condition = model.constant<uint8_t>(kBool8, {1}, {1});
    const uint32_t x = model.input(kInt32, {2});
    model.operation(ANEURALNETWORKS_IF,
                    {condition, model.referred(branch), model.referred(added(false)), x},
                    {model.output(kInt32, {2})});
    return model.compiled({"cpu"});
  };
  EXPECT_THROW(with(added(true, {3})), Error);
  TestModel two_inputs = added(true);
  two_inputs.input(kInt32, {});
  EXPECT_THROW(with(two_inputs), Error);
  TestModel real;
  const uint32_t x = real.input(kFloat32, {2});
  real.operation(ANEURALNETWORKS_ADD, {x, x, real.integer(0)}, {real.output(kFloat32, {2})});
  EXPECT_THROW(with(real), Error);
}

// ---- WHILE ----

// while i < 3: i, x, sum = i + 1, [*x, x[-1]] + y, sum + i; gives i and x, whose size grows.
TEST(While, CarriesWhatGrows) {
  TestModel body;
  const uint32_t i = body.input(kInt32, {1}), x = body.input(kInt32, {0});
  const uint32_t sum = body.input(kInt32, {1}), y = body.input(kInt32, {});
  const uint32_t no_activation = body.integer(0);
  const uint32_t longer = body.temporary(kInt32, {0});
  body.operation(ANEURALNETWORKS_ADD, {i, body.integers({1}), no_activation},
                 {body.output(kInt32, {1})});
  body.operation(ANEURALNETWORKS_MIRROR_PAD,
                 {x, body.constant<int32_t>(kInt32, {1, 2}, {0, 1}), body.integer(1)}, {longer});
  body.operation(ANEURALNETWORKS_ADD, {longer, y, no_activation}, {body.output(kInt32, {0})});
  body.operation(ANEURALNETWORKS_ADD, {sum, i, no_activation}, {body.output(kInt32, {1})});

  TestModel model;
  const uint32_t first = model.input(kInt32, {1}), start = model.input(kInt32, {0});
  model.operation(ANEURALNETWORKS_WHILE,
                  {model.referred(below(3, 4)), model.referred(body), first, start,
                   model.integers({0}), model.integers({10})},
                  {model.output(kInt32, {1}), model.output(kInt32, {})});
  for (const auto& device : devices()) {
    const auto compiled = model.compiled(device);
    const auto outputs = run(*compiled, {{1}, {2}}, Ints{1}, Ints{5, 6});
    EXPECT_EQ(outputs[0].as<int32_t>(), (Ints{3}));
    EXPECT_EQ(outputs[1].dims, Dims{4});
    EXPECT_EQ(outputs[1].as<int32_t>(), (Ints{25, 26, 26, 26}));
    // No round at all.
    EXPECT_EQ(run(*compiled, {{1}, {1}}, Ints{3}, Ints{5})[1].as<int32_t>(), (Ints{5}));
  }
}

TestModel loop(const TestModel& body, int32_t limit) {
  TestModel model;
  const uint32_t x = model.input(kInt32, {1});
  model.operation(ANEURALNETWORKS_WHILE, {model.referred(below(limit, 1)), model.referred(body), x},
                  {model.output(kInt32, {1})});
  return model;
}

// while x < 100: (x = x * 2 if x < 10 else (while x < 50: x = x + 1; x))
TEST(While, Nests) {
  TestModel body;
  const uint32_t x = body.input(kInt32, {1});
  const uint32_t is_small = body.temporary(kBool8, {1});
  body.operation(ANEURALNETWORKS_LESS, {x, body.integers({10})}, {is_small});
  const uint32_t grown = body.temporary(kInt32, {1});
  body.operation(ANEURALNETWORKS_IF,
                 {is_small, body.referred(added(true)), body.referred(loop(added(false), 50)), x},
                 {grown});
  body.operation(ANEURALNETWORKS_ADD, {grown, body.integers({1}), body.integer(0)},
                 {body.output(kInt32, {1})});
  for (const auto& device : devices()) {
    // 3, 7, 15, 51, 52, ..., 60
    EXPECT_EQ(run(*loop(body, 60).compiled(device), {{1}}, Ints{3})[0].as<int32_t>(), (Ints{60}));
    EXPECT_EQ(run(*loop(body, 20).compiled(device), {{1}}, Ints{3})[0].as<int32_t>(), (Ints{51}));
  }
}

TEST(While, EndsAfterItsTime) {
  TestModel same;
  const uint32_t x = same.input(kInt32, {1});
  same.operation(ANEURALNETWORKS_RESHAPE, {x, same.integers({1})}, {same.output(kInt32, {1})});
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(code_of(loop(same, 1), 50'000'000), ErrorCode::kTimeLimit);
  // A loop whose end is never asked for is as endless inside of another one.
  EXPECT_EQ(code_of(loop(loop(same, 1), 1), 50'000'000), ErrorCode::kTimeLimit);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

// The branch that is not taken may say what it likes.
TEST(If, RefusesSizesThatAreNotWhatTheBranchSays) {
  TestModel model;
  const uint32_t condition = model.input(kBool8, {1}), x = model.input(kInt32, {0});
  model.operation(ANEURALNETWORKS_IF,
                  {condition, model.referred(added(true, {2})), model.referred(added(false)), x},
                  {model.output(kInt32, {})});
  for (const auto& device : devices()) {
    const auto compiled = model.compiled(device);
    EXPECT_THROW(run(*compiled, {{1}, {3}}, std::vector<uint8_t>{1}, Ints{3, 4, 5}), Error);
    EXPECT_EQ(run(*compiled, {{1}, {3}}, std::vector<uint8_t>{0}, Ints{3, 4, 5})[0].as<int32_t>(),
              (Ints{4, 5, 6}));
    EXPECT_EQ(run(*compiled, {{1}, {2}}, std::vector<uint8_t>{1}, Ints{3, 4})[0].as<int32_t>(),
              (Ints{6, 8}));
  }
}

TEST(While, RefusesSizesThatAreNotWhatTheModelSays) {
  TestModel twice;
  const uint32_t x = twice.input(kInt32, {1});
  twice.operation(ANEURALNETWORKS_TILE, {x, twice.integers({2})}, {twice.output(kInt32, {1})});
  EXPECT_EQ(code_of(loop(twice, 1), 0), ErrorCode::kRuntime);
}

// Each level refers to the one below twice.
TEST(ControlFlow, HasBounds) {
  TestModel model = added(false, {1});
  const auto refer = [&](bool twice) {
    TestModel outer;
    const uint32_t x = outer.input(kInt32, {1});
    const uint32_t condition = outer.constant<uint8_t>(kBool8, {1}, {1});
    const uint32_t inner = outer.referred(model);
    const uint32_t other = twice ? inner : outer.referred(added(false, {1}));
    outer.operation(ANEURALNETWORKS_IF, {condition, inner, other, x}, {outer.output(kInt32, {1})});
    return outer;
  };
  for (int i = 0; i < 20; ++i) model = refer(false);
  EXPECT_EQ(run(*model.compiled({"cpu"}), {{1}}, Ints{1})[0].as<int32_t>(), (Ints{2}));
  for (int i = 0; i < 60; ++i) model = refer(false);
  EXPECT_EQ(code_of(model, 0), ErrorCode::kUnsupported);
  model = added(false, {1});
  for (int i = 0; i < 30; ++i) model = refer(true);
  EXPECT_EQ(code_of(model, 0), ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace torchlet::nn
