// Application threads that share one module, while each forward itself runs on two threads.
#include <gtest/gtest.h>
#include <torchlet/torchlet.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>
#include <vector>

namespace torchlet {
namespace {

std::vector<float> scores(const Module& module, const Tensor& picture) {
  const Tensor result = module.forward({picture}).to_tensor().contiguous();
  return {result.data_ptr<float>(), result.data_ptr<float>() + result.numel()};
}

TEST(Concurrency, FourThreadsRunOneModuleAThousandTimes) {
  constexpr size_t kThreads = 4;
  constexpr int kForwards = 250;  // of each thread
  set_num_threads(2);
  const Module module = load("models/digits_mobilenet_v2.pt");
  std::vector<Tensor> pictures;
  std::vector<std::vector<float>> expected;
  for (size_t i = 0; i < kThreads; ++i) {
    // Two of the sizes have plans of their own.
    const int64_t side = i % 2 ? 64 : 96;
    const Tensor picture = zeros(std::array<int64_t, 4>{1, 3, side, side}, DType::kFloat32);
    std::fill_n(picture.data_ptr<float>(), picture.numel(), 0.1f * static_cast<float>(i + 1));
    pictures.push_back(picture);
    expected.push_back(scores(module, picture));
  }
  // The sums of a forward do not depend on which threads computed them.
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      for (int run = 0; run < kForwards; ++run) {
        if (scores(module, pictures[i]) != expected[i]) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  set_num_threads(0);
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace torchlet
