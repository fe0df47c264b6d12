#include "tensor/block_cache.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "base/error.h"

namespace torchlet {
namespace {

TEST(BlockCache, BlocksAreAlignedAndApart) {
  std::vector<std::pair<std::byte*, size_t>> blocks;
  for (const size_t size :
       {size_t{1}, size_t{100}, size_t{70000}, size_t{70000}, size_t{5} << 20}) {
    std::byte* block = allocate_block(size);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % 64, 0u);
    std::memset(block, static_cast<int>(blocks.size()), size);
    blocks.emplace_back(block, size);
  }
  for (size_t i = 0; i < blocks.size(); ++i) {
    const auto [block, size] = blocks[i];
    EXPECT_EQ(static_cast<size_t>(block[0]), i);
    EXPECT_EQ(static_cast<size_t>(block[size - 1]), i);
    free_block(block, size);
  }
  EXPECT_EQ(allocate_block(0), nullptr);
  free_block(nullptr, 0);
}

TEST(BlockCache, RefusesWhatTheMachineDoesNotHave) {
  EXPECT_THROW(allocate_block(SIZE_MAX / 16 * 15), Error);
}

TEST(BlockCache, ThreadsMayTakeAndGive) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (size_t i = 0; i < 200; ++i) {
        const size_t size = (i % 7 + 1) * 50000;
        std::byte* block = allocate_block(size);
        block[0] = block[size - 1] = static_cast<std::byte>(t);
        std::this_thread::yield();
        EXPECT_EQ(block[0], static_cast<std::byte>(t));
        EXPECT_EQ(block[size - 1], static_cast<std::byte>(t));
        free_block(block, size);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace torchlet
