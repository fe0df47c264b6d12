#include "base/atomic_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/testing.h"

namespace torchlet {
namespace {

class AtomicFileTest : public testing::Test {
 protected:
  AtomicFileTest() : folder_(temp_path("folder")) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
  }
  ~AtomicFileTest() override { std::filesystem::remove_all(folder_); }

  static std::span<const std::byte> bytes(std::string_view text) {
    return std::as_bytes(std::span(text));
  }
  static std::string content(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  size_t files() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder_), {}));
  }

  const std::string folder_;
};

TEST_F(AtomicFileTest, IsThereWhenItIsWhole) {
  const std::string path = folder_ + "/a";
  AtomicFile file(path);
  file.write(bytes("one"));
  file.write(bytes(" two"));
  EXPECT_EQ(file.size(), 7u);
  EXPECT_FALSE(std::filesystem::exists(path));
  file.commit();
  EXPECT_EQ(content(path), "one two");
  EXPECT_EQ(files(), 1u);
}

TEST_F(AtomicFileTest, LeavesWhatWasThereIfItIsNotFinished) {
  const std::string path = folder_ + "/a";
  std::ofstream(path) << "old";
  { AtomicFile(path).write(bytes("new")); }
  EXPECT_EQ(content(path), "old");
  EXPECT_EQ(files(), 1u);
}

TEST_F(AtomicFileTest, RefusesANullCharacterInThePath) {
  AtomicFile(folder_ + "/a").commit();
  const std::string path = folder_ + "/a" + '\0' + "b";
  try {
    AtomicFile(path).commit();
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "cannot write '" + folder_ + "/a\\0b': Invalid argument");
  }
}

TEST_F(AtomicFileTest, NamesThePathThatCannotBeWritten) {
  for (const std::string& path : {folder_ + "/none/a", folder_, std::string("/dev/null")}) {
    try {
      AtomicFile file(path);
      ADD_FAILURE() << path;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kIo);
      EXPECT_NE(error.message().find("'" + path + "'"), std::string::npos) << error.message();
    }
  }
}

}  // namespace
}  // namespace torchlet
