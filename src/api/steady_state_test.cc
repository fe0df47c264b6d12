// A forward in the steady state does not touch the heap: every allocation of this program is
// counted.
#include <gtest/gtest.h>
#include <torchlet/torchlet.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "base/sanitizers.h"

#if !TORCHLET_ADDRESS_SANITIZER && !TORCHLET_THREAD_SANITIZER

namespace {
std::atomic<int64_t> allocations{0};

void* counted(size_t size, size_t alignment) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  // aligned_alloc wants a multiple of the alignment.
  void* memory = std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (!memory) throw std::bad_alloc();
  return memory;
}
}  // namespace

void* operator new(size_t size) { return counted(size + !size, alignof(std::max_align_t)); }
void* operator new(size_t size, std::align_val_t alignment) {
  return counted(size + !size, static_cast<size_t>(alignment));
}
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return counted(size + !size, alignof(std::max_align_t));
}
void* operator new(size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return counted(size + !size, static_cast<size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }

namespace torchlet {
namespace {

int64_t allocations_of_forwards(const std::string& model, const Tensor& input, int threads) {
  set_num_threads(threads);
  const Method forward = load(model).get_method("forward");
  int64_t count = 0;
  for (int run = 0; run < 25; ++run) {
    std::vector<Value> inputs = {input};
    const int64_t before = allocations;
    const Value result = forward(std::move(inputs));
    if (run >= 15) count += allocations - before;
  }
  set_num_threads(0);
  return count;
}

TEST(SteadyState, AForwardDoesNotTouchTheHeap) {
  const Tensor picture = zeros(std::array<int64_t, 4>{1, 3, 224, 224}, DType::kFloat32);
  const Tensor sequence = zeros(std::array<int64_t, 3>{7, 2, 10}, DType::kFloat32);
  for (const int threads : {1, 2}) {
    EXPECT_EQ(allocations_of_forwards("models/digits_mobilenet_v2.pt", picture, threads), 0);
    EXPECT_EQ(allocations_of_forwards("tests/fixtures/recurrent.pt", sequence, threads), 0);
  }
}

TEST(SteadyState, ResultsThatAreKeptStayAsTheyAre) {
  const Method forward = load("models/digits_mobilenet_v2.pt").get_method("forward");
  const Tensor picture = zeros(std::array<int64_t, 4>{1, 3, 224, 224}, DType::kFloat32);
  const Tensor first = forward({picture}).to_tensor();
  const float score = first.data_ptr<float>()[0];
  picture.data_ptr<float>()[0] = 100;
  for (int run = 0; run < 6; ++run) {
    EXPECT_NE(forward({picture}).to_tensor().data_ptr<float>(), first.data_ptr<float>());
  }
  EXPECT_EQ(first.data_ptr<float>()[0], score);
}

}  // namespace
}  // namespace torchlet

#endif
