#include "base/mapped_file.h"
#include "base/testing.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <torchlet/error.h>

#include <filesystem>
#include <fstream>
#include <string_view>

namespace torchlet {
namespace {

class MappedFileTest : public testing::Test {
 protected:
  MappedFileTest() : path_(temp_path("file")) {}
  ~MappedFileTest() override { std::filesystem::remove_all(path_); }

  void write(std::string_view text) const { std::ofstream(path_, std::ios::binary) << text; }

  static std::string_view text(const MappedFile& file) {
    return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
  }

  // What opening path_ says after naming it.
  std::string open_error() const {
    try {
      MappedFile file(path_);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kIo);
      const std::string start = "cannot open '" + path_ + "': ";
      const std::string text = error.what();
      EXPECT_EQ(text.substr(0, start.size()), start);
      return text.substr(start.size());
    }
    return "";
  }

  const std::string path_;
};

TEST_F(MappedFileTest, GivesEveryByte) {
  const std::string content("head\0tail\xff", 10);
  write(content);
  EXPECT_EQ(text(MappedFile(path_)), content);
}

TEST_F(MappedFileTest, EmptyFileIsAnEmptySpan) {
  write("");
  EXPECT_TRUE(MappedFile(path_).bytes().empty());
}

TEST_F(MappedFileTest, BytesStayWhenTheObjectMoves) {
  write("weights");
  MappedFile first(path_);
  const std::byte* address = first.bytes().data();
  MappedFile second(std::move(first));
  EXPECT_EQ(second.bytes().data(), address);
  MappedFile third(path_);
  third = std::move(second);
  EXPECT_EQ(third.bytes().data(), address);
  EXPECT_EQ(text(third), "weights");
}

TEST_F(MappedFileTest, BytesOutliveARenamedReplacement) {
  write("old");
  MappedFile file(path_);
  std::filesystem::remove(path_);
  write("new one");
  EXPECT_EQ(text(file), "old");
}

TEST_F(MappedFileTest, WritesNeverReachTheFile) {
  write("weights");
  MappedFile file(path_);
  file.bytes()[0] = std::byte{'W'};
  EXPECT_EQ(text(file), "Weights");
  EXPECT_EQ(text(MappedFile(path_)), "weights");
}

TEST_F(MappedFileTest, NamesAMissingFile) { EXPECT_EQ(open_error(), "No such file or directory"); }

TEST_F(MappedFileTest, RefusesADirectory) {
  std::filesystem::create_directory(path_);
  EXPECT_EQ(open_error(), "Is a directory");
}

TEST_F(MappedFileTest, RefusesANullCharacterInThePath) {
  std::ofstream(path_) << "content";
  EXPECT_THROW(MappedFile(path_ + '\0'), Error);
}

TEST_F(MappedFileTest, RefusesAPipeAtOnce) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(open_error(), "it is not a regular file");
}

}  // namespace
}  // namespace torchlet
