#include "base/large_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "base/limits.h"

namespace torchlet {
namespace {

TEST(LargeMemory, IsAlignedWritableAndCharged) {
  const MemoryBudget budget(size_t{64} << 20);
  const LimitScope scope(&budget);
  for (const size_t nbytes : {size_t{1}, size_t{4096}, (size_t{256} << 10) - 1, size_t{256} << 10,
                              (size_t{5} << 20) + 3}) {
    auto* const memory = static_cast<char*>(large_new(nbytes));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % 64, 0u);
    EXPECT_GE(budget.used(), nbytes);
    std::fill_n(memory, nbytes, 7);
    EXPECT_EQ(std::count(memory, memory + nbytes, 7), static_cast<ptrdiff_t>(nbytes));
    large_delete(memory, nbytes);
    EXPECT_EQ(budget.used(), 0u);
  }
}

TEST(LargeMemory, RefusesWhatThereIsNoRoomFor) {
  const MemoryBudget budget(size_t{1} << 20);
  const LimitScope scope(&budget);
  const auto code_of = [](size_t nbytes) {
    try {
      large_delete(large_new(nbytes), nbytes);
    } catch (const Error& error) {
      return error.code();
    }
    return ErrorCode::kInternal;
  };
  EXPECT_EQ(code_of(size_t{2} << 20), ErrorCode::kMemoryLimit);
  const LimitScope none{limits::Current()};
  EXPECT_EQ(code_of(physical_memory() + 1), ErrorCode::kOutOfMemory);
  EXPECT_EQ(code_of(~size_t{0} - 8), ErrorCode::kOutOfMemory);
}

}  // namespace
}  // namespace torchlet
