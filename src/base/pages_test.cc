#include "base/pages.h"

#include <gtest/gtest.h>
#ifdef __linux__
#include <sys/mman.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

#include "base/mapped_file.h"
#include "base/testing.h"

namespace torchlet {
namespace {

TEST(Pages, ThatAreTakenKeepWhatIsThere) {
  for (const size_t size : {size_t{1}, size_t{5} << 20}) {
    std::vector<char> memory(size, 7);
    take_pages(memory.data(), memory.size());
    EXPECT_EQ(memory, std::vector<char>(size, 7));
  }
}

TEST(Pages, OfAnonymousMemoryStay) {
  std::vector<char> memory(size_t{5} << 20, 7);
  give_back_file_pages(memory.data(), memory.size());
  EXPECT_EQ(memory, std::vector<char>(memory.size(), 7));
}

// The first calls in a process at once: under a sanitizer, they also set up the C library's
// allocator.
TEST(Pages, ThatWereFreedGoFromManyThreads) {
  constexpr int kThreads = 8;
  std::atomic<int> waiting{kThreads};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (--waiting; waiting > 0;) std::this_thread::yield();
      give_back_freed();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

#ifdef __linux__
void write_file(const std::string& path, const std::vector<char>& content) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  ASSERT_TRUE(file);
  ASSERT_EQ(std::fwrite(content.data(), 1, content.size(), file), content.size());
  std::fclose(file);
}

// Tests of what the system tells; on this processor it has to.
class FilePages : public testing::Test {
 protected:
  void SetUp() override {
#ifdef __x86_64__
    ASSERT_TRUE(system_tells_of_pages());
#endif
    if (!system_tells_of_pages()) GTEST_SKIP() << "the system does not tell of pages";
  }
};

TEST_F(FilePages, AreAsInTheFileUntilTheyAreWrittenTo) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const std::string path = temp_path("pages");
  write_file(path, std::vector<char>(600 * page, 7));
  const MappedFile mapped(path);
  auto* bytes = reinterpret_cast<char*>(mapped.bytes().data());
  EXPECT_TRUE(is_as_in_file(bytes, 600 * page));  // nothing was touched
  ASSERT_EQ(std::count(bytes, bytes + 600 * page, 7), 600 * page);
  EXPECT_TRUE(is_as_in_file(bytes, 600 * page));
  bytes[599 * page + 5] = 7;
  EXPECT_FALSE(is_as_in_file(bytes, 600 * page));
  EXPECT_FALSE(is_as_in_file(bytes + 599 * page, 1));
  EXPECT_TRUE(is_as_in_file(bytes + 1, 599 * page - 1));
  std::remove(path.c_str());
}

TEST_F(FilePages, GoUnlessTheyWereWrittenTo) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const std::string path = temp_path("pages");
  const std::vector<char> content(600 * page, 7);
  write_file(path, content);

  const MappedFile mapped(path);
  auto* bytes = reinterpret_cast<char*>(mapped.bytes().data());
  bytes[3 * page + 1] = bytes[599 * page] = 9;
  ASSERT_EQ(std::count(bytes, bytes + content.size(), 7), content.size() - 2);  // reads all pages
  give_back_file_pages(bytes + 1, content.size() - 1);  // not all of the first page
  const auto count_ours = [&] {
    // Of the process's own memory: mincore() tells what the system has in its cache.
    std::FILE* smaps = std::fopen("/proc/self/smaps", "r");
    char line[512];
    long kilobytes = -1;
    for (bool ours = false; std::fgets(line, sizeof line, smaps);) {
      unsigned long from = 0, to = 0;
      if (std::sscanf(line, "%lx-%lx ", &from, &to) == 2) {
        ours = from == reinterpret_cast<uintptr_t>(bytes);
      } else if (ours && std::sscanf(line, "Rss: %ld", &kilobytes) == 1) {
        break;
      }
    }
    std::fclose(smaps);
    return static_cast<size_t>(kilobytes) * 1024 / page;
  };
  EXPECT_EQ(count_ours(), 3);
  for (size_t i = 0; i < content.size(); ++i) {
    ASSERT_EQ(bytes[i], i == 3 * page + 1 || i == 599 * page ? 9 : 7) << i;
  }
  std::remove(path.c_str());
}
#endif

}  // namespace
}  // namespace torchlet
