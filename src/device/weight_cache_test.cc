#include "device/weight_cache.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/build_id.h"
#include "base/error.h"
#include "base/testing.h"

namespace torchlet::device {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kModel = 0x1234, kProcessor = 5, kBuild = 6;
constexpr size_t kModelBytes = 1000;

// A folder of its own, empty.
std::string folder() {
  const std::string path = temp_path("cache");
  fs::remove_all(path);
  return path;
}

std::shared_ptr<const void> text(const char* characters) {
  return std::shared_ptr<const void>(std::shared_ptr<const void>(), characters);
}

std::vector<fs::path> files_in(const std::string& folder) {
  std::vector<fs::path> files;
  for (const auto& file : fs::directory_iterator(folder)) files.push_back(file.path());
  return files;
}

struct Cache : WeightCache {
  explicit Cache(const std::string& folder, uint64_t model = kModel,
                 uint64_t processor = kProcessor, uint64_t build = kBuild,
                 size_t model_bytes = kModelBytes)
      : WeightCache(folder, model, model_bytes, processor, build) {}
  std::string at(uint64_t key, size_t nbytes) const {
    const auto found = find(key, nbytes);
    return found ? std::string(static_cast<const char*>(found.get()), nbytes) : "nothing";
  }
};

void fill(const std::string& folder) {
  Cache cache(folder);
  cache.add(1, text("one"), 3);
  cache.add(2, text("and two"), 7);
  cache.write();
  cache.add(3, text(""), 0);
  cache.add(4, text("four"), 4);
  cache.write();
  cache.write();
}

TEST(WeightCache, GivesWhatAnotherOneWrote) {
  const std::string path = folder();
  fill(path);
  EXPECT_EQ(files_in(path).size(), 2u);
  const Cache cache(path);
  EXPECT_EQ(cache.at(1, 3), "one");
  EXPECT_EQ(cache.at(2, 7), "and two");
  EXPECT_EQ(cache.at(3, 0), "");
  EXPECT_EQ(cache.at(4, 4), "four");
  EXPECT_EQ(cache.at(1, 2), "nothing");
  EXPECT_EQ(cache.at(5, 3), "nothing");
  EXPECT_EQ(reinterpret_cast<uintptr_t>(cache.find(2, 7).get()) % 64, 0u);
}

TEST(WeightCache, KeepsItsFilesInUse) {
  const std::string path = folder();
  fill(path);
  std::shared_ptr<const void> held;
  {
    const Cache cache(path);
    held = cache.find(2, 7);
  }
  fs::remove_all(path);
  EXPECT_EQ(std::memcmp(held.get(), "and two", 7), 0);
}

TEST(WeightCache, OfAnotherModelOrProcessorStays) {
  const std::string path = folder();
  fill(path);
  EXPECT_EQ(Cache(path, kModel + 1).at(1, 3), "nothing");
  EXPECT_EQ(Cache(path, kModel, kProcessor + 1).at(1, 3), "nothing");
  EXPECT_EQ(Cache(path).at(1, 3), "one");
}

TEST(WeightCache, OfAnotherBuildGoes) {
  const std::string path = folder();
  fill(path);
  EXPECT_EQ(Cache(path, kModel, kProcessor, kBuild + 1).at(1, 3), "nothing");
  EXPECT_TRUE(files_in(path).empty());
}

// Each bit of a file in turn, and each length.
TEST(WeightCache, DamagedGoesAndIsWrittenAnew) {
  const std::string path = folder();
  {
    Cache cache(path);
    cache.add(1, text("one"), 3);
    cache.write();
  }
  const fs::path file = files_in(path).at(0);
  std::string right(fs::file_size(file), '\0');
  std::ifstream(file, std::ios::binary)
      .read(right.data(), static_cast<std::streamsize>(right.size()));
  const auto check = [&](const std::string& content, const std::string& what) {
    std::ofstream(file, std::ios::binary) << content;
    testing::internal::CaptureStderr();
    Cache cache(path);
    const std::string told = testing::internal::GetCapturedStderr();
    EXPECT_EQ(cache.at(1, 3), "nothing") << what;
    EXPECT_FALSE(fs::exists(file)) << what;
    cache.add(1, text("one"), 3);
    cache.write();
    EXPECT_EQ(Cache(path).at(1, 3), "one") << what;
    return told;
  };
  constexpr size_t kHeader = 64, kChecked = 8 * sizeof(uint32_t);
  for (size_t at = 0; at < kHeader + kChecked; ++at) {
    const bool is_reserved = at >= 16 && at < kHeader;
    if (is_reserved) continue;
    std::string damaged = right;
    damaged[at] ^= 0x10;
    const bool is_build = at >= 8 && at < 16;
    EXPECT_EQ(check(damaged, "byte " + std::to_string(at)).empty(), is_build) << at;
  }
  std::string damaged = right;
  damaged[2 * kHeader + 1] ^= 1;
  EXPECT_NE(check(damaged, "data").find("it is damaged"), std::string::npos);
  for (size_t length = 0; length < right.size(); ++length) {
    if (length == kHeader) continue;  // a file of nothing
    EXPECT_FALSE(check(right.substr(0, length), "length " + std::to_string(length)).empty());
  }
}

TEST(WeightCache, TakesNoMoreThanItMay) {
  const std::string path = folder();
  const size_t most = WeightCache::kMostTimes * kModelBytes;
  ASSERT_LT(most, WeightCache::kFloor);
  const std::vector<char> zeros(WeightCache::kFloor / 4);
  const std::shared_ptr<const void> memory(std::shared_ptr<const void>(), zeros.data());
  for (uint64_t key = 1; key <= 3; ++key) {
    Cache cache(path);
    cache.add(2 * key, memory, zeros.size());
    cache.add(2 * key + 1, memory, zeros.size());
    cache.write();
  }
  const Cache cache(path);
  size_t found = 0;
  for (uint64_t key = 2; key < 8; ++key) found += cache.find(key, zeros.size()) != nullptr;
  EXPECT_EQ(found, 3u);
  fs::remove_all(path);
}

TEST(WeightCache, ThatCannotBeWrittenSaysSoOnce) {
  const std::string path = folder();
  Cache cache(path);
  fs::remove_all(path);
  testing::internal::CaptureStderr();
  for (int i = 0; i < 2; ++i) {
    cache.add(1, text("one"), 3);
    cache.write();
  }
  const std::string told = testing::internal::GetCapturedStderr();
  EXPECT_NE(told.find("cannot write"), std::string::npos) << told;
  EXPECT_EQ(told.find("cannot write"), told.rfind("cannot write")) << told;
}

TEST(WeightCache, RefusesAFolderThatIsAFile) {
  const std::string path = folder();
  std::ofstream(path) << "x";
  EXPECT_THROW(Cache{path}, Error);
  fs::remove_all(path);
}

TEST(WeightCache, OfABuildThatNobodyKnowsIsEmpty) {
  const std::string path = folder();
  fill(path);
  Cache cache(path, kModel, kProcessor, 0);
  EXPECT_EQ(cache.at(1, 3), "nothing");
  cache.add(7, text("seven"), 5);
  cache.write();
  EXPECT_EQ(files_in(path).size(), 2u);
}

#ifdef __linux__
TEST(BuildId, IsThere) { EXPECT_NE(build_id(), 0u); }
#endif

}  // namespace
}  // namespace torchlet::device
