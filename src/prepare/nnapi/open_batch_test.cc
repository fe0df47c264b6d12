// Models that run by NNAPI for any batch, on the libneuralnetworks.so of this build.
#include "prepare/nnapi/open_batch.h"

#include <gtest/gtest.h>
#include <torchlet/nnapi.h>
#include <torchlet/torchlet.h>

#include "archive/test_util.h"
#include "nnapi/library.h"
#include "prepare/nnapi/testing.h"

namespace torchlet::prepare {
namespace {

class OpenBatches : public NnapiTest {};

Module program(const std::string& body) {
  return program_of("  def forward(self, x: Tensor) -> Tensor:\n" + body);
}

NnapiOptions options_for(const Tensor& example) {
  NnapiOptions options;
  options.inputs = {Value(example)};
  options.any_batch = true;
  return options;
}

void expect_same(const Module& converted, const Module& original, const Tensor& x) {
  const Tensor got = converted.forward({x}).to_tensor().contiguous();
  const Tensor want = original.forward({x}).to_tensor().contiguous();
  ASSERT_TRUE(std::ranges::equal(got.sizes(), want.sizes()));
  for (int64_t i = 0; i < want.numel(); ++i) {
    ASSERT_NEAR(got.data_ptr<float>()[i], want.data_ptr<float>()[i], 1e-4) << i;
  }
}

// Without TorchScript beside it, it is NNAPI that runs them all.
TEST_F(OpenBatches, ImagesInAnyNumber) {
  const Module original = load("models/digits_mobilenet_v2.pt");
  const IntArray sizes = {1, 3, 32, 32};
  NnapiOptions options = options_for(ramp(sizes, 1e-3f));
  options.fixed_shapes = true;
  for (const bool nhwc : {false, true}) {
    options.nhwc = nhwc;
    const NnapiModule converted = to_nnapi(original, options);
    ASSERT_EQ(converted.report.parts.size(), 1u);
    EXPECT_EQ(converted.report.parts[0].one_batch, "");
    for (const int64_t batch : {1, 6, 3}) {
      expect_same(converted.module, original, ramp(IntArray{batch, 3, 32, 32}, 1e-3f));
    }
  }
}

// NNAPI has no empty tensors.
TEST_F(OpenBatches, NoneAtAllGoesAnotherWay) {
  const Module original = program("    return torch.relu(torch.mul(x, x))\n");
  const NnapiModule converted = to_nnapi(original, options_for(ramp(IntArray{2, 3})));
  ASSERT_EQ(converted.report.parts[0].one_batch, "");
  for (const int64_t batch : {2, 0, 1}) {
    expect_same(converted.module, original, ramp(IntArray{batch, 3}));
  }
}

TEST_F(OpenBatches, WhatMixesTheBatchIsForOne) {
  const Module original = program("    return torch.relu(torch.reshape(x, [-1]))\n");
  const NnapiModule converted = to_nnapi(original, options_for(ramp(IntArray{2, 3})));
  ASSERT_EQ(converted.report.parts.size(), 1u);
  for (const int64_t batch : {2, 1, 3}) {
    expect_same(converted.module, original, ramp(IntArray{batch, 3}, 0.5f));
  }
}

// squeeze() is another operator for one row than for more.
TEST_F(OpenBatches, OneIsNotManyForAll) {
  const Module original = program("    return torch.softmax(torch.squeeze(torch.mul(x, x)), 0)\n");
  const NnapiModule converted = to_nnapi(original, options_for(ramp(IntArray{4, 3}, 0.1f)));
  ASSERT_FALSE(converted.report.parts.empty());
  EXPECT_NE(converted.report.parts[0].one_batch, "");
  for (const int64_t batch : {4, 1, 2}) {
    expect_same(converted.module, original, ramp(IntArray{batch, 3}, 0.1f));
  }
}

TEST_F(OpenBatches, AModelOfOneBatchSaysSo) {
  const Module original = program("    return torch.relu(torch.reshape(x, [2, 2, 3]))\n");
  const NnapiModule converted = to_nnapi(original, options_for(ramp(IntArray{2, 6})));
  ASSERT_EQ(converted.report.parts.size(), 1u);
  EXPECT_NE(converted.report.parts[0].one_batch.find("takes no other batch"), std::string::npos)
      << converted.report.parts[0].one_batch;
  expect_same(converted.module, original, ramp(IntArray{2, 6}));
}

TEST(WithBatch, RepeatsRows) {
  const std::vector<Value> two = {Value(int64_t{7}), Value(ramp(IntArray{2, 2})),
                                  Value(ramp(IntArray{3}))};
  EXPECT_EQ(batch_of(two), 2);
  const std::vector<Value> three = with_batch(two, 3);
  const Tensor rows = three[1].to_tensor();
  ASSERT_TRUE(std::ranges::equal(rows.sizes(), IntArray{3, 2}));
  const float want[] = {0, 1, 2, 3, 0, 1};
  EXPECT_TRUE(std::equal(std::begin(want), std::end(want), rows.data_ptr<float>()));
  EXPECT_EQ(three[2].to_tensor().numel(), 3);  // has another first dimension
  EXPECT_THROW(batch_of({Value(int64_t{7})}), Error);
}

}  // namespace
}  // namespace torchlet::prepare
