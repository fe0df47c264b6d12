#include "base/huge_pages.h"

#include <gtest/gtest.h>

#include <vector>

namespace torchlet {
namespace {

TEST(HugePages, KeepsWhatIsThere) {
  for (const size_t size : {size_t{1}, size_t{5} << 20}) {
    std::vector<char> memory(size, 7);
    prefer_huge_pages(memory.data(), size);
    EXPECT_EQ(memory, std::vector<char>(size, 7));
  }
}

}  // namespace
}  // namespace torchlet
