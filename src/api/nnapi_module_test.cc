// Models that convert_model_to_nnapi wrote, on the libneuralnetworks.so of this build.
#include <gtest/gtest.h>
#include <torchlet/torchlet.h>

#include <algorithm>
#include <thread>

#include "tensor/npy.h"

namespace torchlet {
namespace {

std::string fixture(const std::string& name) { return "tests/fixtures/nnapi_" + name; }

void expect_near(const Tensor& got, const Tensor& want, float tolerance) {
  ASSERT_TRUE(std::ranges::equal(got.sizes(), want.sizes()));
  const Tensor a = got.contiguous(), b = want.contiguous();
  for (int64_t i = 0; i < a.numel(); ++i) {
    ASSERT_NEAR(a.data_ptr<float>()[i], b.data_ptr<float>()[i], tolerance) << i;
  }
}

// Sizes that were left open when it was converted are those of the first call.
TEST(NnapiModule, FloatModelsGiveTheAnswersOfWhatWasConverted) {
  const Module module = load(fixture("float.pt"));
  const Tensor x = load_npy(fixture("float.in0.npy")), y = load_npy(fixture("float.out0.npy"));
  for (int call = 0; call < 2; ++call) expect_near(module.forward({x}).to_tensor(), y, 1e-5f);
}

TEST(NnapiModule, QuantizedModelsGiveTheAnswersOfWhatWasConverted) {
  const Module module = load(fixture("quantized.pt"));
  const Tensor x = load_npy(fixture("quantized.in0.npy"));
  const Tensor y = load_npy(fixture("quantized.out0.npy"));
  float largest = 0;
  for (int64_t i = 0; i < y.numel(); ++i) largest = std::max(largest, y.data_ptr<float>()[i]);
  expect_near(module.forward({x}).to_tensor(), y, largest / 127);  // a quantum
}

TEST(NnapiModule, ThreadsShareACompiledModel) {
  const Module module = load(fixture("float.pt"));
  const Tensor x = load_npy(fixture("float.in0.npy")), y = load_npy(fixture("float.out0.npy"));
  module.forward({x});  // it compiles itself, which changes it
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int call = 0; call < 20; ++call) expect_near(module.forward({x}).to_tensor(), y, 1e-5f);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(NnapiModule, WrongModelsSayWhatNnapiRefused) {
  const Module module = load(fixture("float.pt"));
  try {
    module.forward(
        {zeros(std::vector<int64_t>{2, 4, 9, 7}, DType::kFloat32)});  // a channel too many
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("NNAPI cannot"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace torchlet
