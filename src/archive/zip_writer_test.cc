#include "archive/zip_writer.h"

#include <gtest/gtest.h>

#include "archive/test_util.h"
#include "archive/zip.h"

namespace torchlet::archive {
namespace {

std::string text_of(const MemorySink& sink) {
  return {reinterpret_cast<const char*>(sink.bytes().data()), sink.size()};
}

// With a deflated record, an empty one and many small ones.
std::string write() {
  MemorySink sink;
  ZipWriter zip(sink, "archive");
  zip.add("data/0", bytes_of("weights!"));
  zip.add("code/a.py", bytes_of(std::string(5000, 'c')), ZipWriter::Form::kDeflatedIfLarge);
  zip.add("code/b.py", bytes_of("pass"), ZipWriter::Form::kDeflatedIfLarge);
  zip.add("data/1", {});
  for (int i = 2; i < 70; ++i) {
    zip.add("data/" + std::to_string(i), bytes_of(std::string(static_cast<size_t>(i), 'x')));
  }
  zip.finish();
  return text_of(sink);
}

TEST(ZipWriter, IsReadBack) {
  AlignedBytes copy(write());
  ZipReader zip(copy.bytes, copy.owner);
  ASSERT_EQ(zip.entries().size(), 72u);
  const auto text = [&](const char* name) {
    const ZipData data = zip.read(*zip.find(name));
    return std::string(reinterpret_cast<const char*>(data.bytes.data()), data.bytes.size());
  };
  EXPECT_EQ(text("archive/data/0"), "weights!");
  EXPECT_EQ(text("archive/data/1"), "");
  EXPECT_EQ(text("archive/data/69"), std::string(69, 'x'));
  EXPECT_EQ(text("archive/code/a.py"), std::string(5000, 'c'));
  EXPECT_EQ(text("archive/code/b.py"), "pass");
  EXPECT_TRUE(zip.find("archive/code/a.py")->deflated);
  EXPECT_FALSE(zip.find("archive/code/b.py")->deflated);
  for (const ZipEntry& entry : zip.entries()) EXPECT_EQ(entry.offset % 64, 0u) << entry.name;
}

TEST(ZipWriter, TheSameRecordsGiveTheSameBytes) { EXPECT_EQ(write(), write()); }

TEST(ZipWriter, ManyRecordsTakeZip64) {
  MemorySink sink;
  ZipWriter zip(sink, "archive");
  for (int i = 0; i < 66'000; ++i) zip.add(std::to_string(i), {});
  zip.finish();
  AlignedBytes copy(text_of(sink));
  EXPECT_EQ(read_zip_directory(copy.bytes).size(), 66'000u);
}

TEST(ZipWriter, RefusesNamesThatNoReaderWouldFind) {
  MemorySink sink;
  ZipWriter zip(sink, "archive");
  zip.add("a", {});
  EXPECT_EQ(error_of([&] { zip.add("a", {}); }), "the record 'a' is written twice");
  for (const std::string& name :
       {std::string(), std::string("folder/"), std::string(70'000, 'n')}) {
    EXPECT_NE(error_of([&] { zip.add(name, {}); }).find("cannot have the name"), std::string::npos);
  }
}

}  // namespace
}  // namespace torchlet::archive
