#include "archive/zip.h"

#include <gtest/gtest.h>

#include <random>

#include "archive/test_util.h"

namespace torchlet::archive {
namespace {

ZipReader open(const std::string& zip) {
  AlignedBytes copy(zip);
  return ZipReader(copy.bytes, copy.owner);
}

std::string text(const ZipData& data) {
  return {reinterpret_cast<const char*>(data.bytes.data()), data.bytes.size()};
}

std::string read(ZipReader& zip, std::string_view name) { return text(zip.read(*zip.find(name))); }

void expect_error(const std::string& zip, const std::string& part) {
  const std::string error = error_of([&] {
    ZipReader reader = open(zip);
    for (const ZipEntry& entry : reader.entries()) reader.read(entry);
  });
  EXPECT_NE(error.find(part), std::string::npos) << "got: " << error;
}

TEST(ZipReader, ReadsStoredAndDeflatedEntries) {
  const std::string code(5000, 'c');
  ZipReader zip = open(ZipBuilder()
                           .add("m/data/0", "weights!")
                           .add("m/code/a.py", code, {.deflate = true})
                           .add("m/empty", "")
                           .finish());
  ASSERT_EQ(zip.entries().size(), 3u);
  EXPECT_EQ(zip.entries()[0].name, "m/data/0");
  EXPECT_EQ(zip.entries()[0].offset, 64u);
  EXPECT_EQ(zip.entries()[0].stored_size, 8u);
  EXPECT_FALSE(zip.entries()[0].deflated);
  EXPECT_EQ(zip.entries()[1].size, 5000u);
  EXPECT_LT(zip.entries()[1].stored_size, 100u);
  EXPECT_TRUE(zip.entries()[1].deflated);
  EXPECT_EQ(read(zip, "m/data/0"), "weights!");
  EXPECT_EQ(read(zip, "m/code/a.py"), code);
  EXPECT_EQ(read(zip, "m/empty"), "");
  EXPECT_EQ(zip.find("m/data/1"), nullptr);
  EXPECT_EQ(zip.find("data/0"), nullptr);
}

TEST(ZipReader, StoredDataIsUsedInPlaceAndKeepsItsOwner) {
  AlignedBytes copy(ZipBuilder().add("m/data/0", "weights!").finish());
  std::weak_ptr<Storage> owner = copy.owner;
  ZipData data;
  {
    ZipReader zip(copy.bytes, copy.owner);
    data = zip.read(zip.entries()[0]);
  }
  EXPECT_EQ(data.bytes.data(), copy.bytes.data() + 64);
  copy.owner.reset();
  EXPECT_FALSE(owner.expired());
  EXPECT_EQ(text(data), "weights!");
  data = {};
  EXPECT_TRUE(owner.expired());
}

TEST(ZipReader, ReadsZip64Sizes) {
  ZipReader zip = open(ZipBuilder()
                           .add("m/a", "stored", {.zip64 = true})
                           .add("m/b", "deflated", {.deflate = true, .zip64 = true})
                           .finish());
  EXPECT_EQ(read(zip, "m/a"), "stored");
  EXPECT_EQ(read(zip, "m/b"), "deflated");
}

TEST(ZipReader, LeavesFoldersOut) {
  ZipReader zip = open(ZipBuilder().add("m/", "").add("m/data/", "").add("m/data/0", "x").finish());
  ASSERT_EQ(zip.entries().size(), 1u);
  EXPECT_EQ(zip.entries()[0].name, "m/data/0");
}

TEST(ZipReader, IgnoresAComment) {
  ZipReader zip = open(ZipBuilder().add("m/a", "x").finish("a comment with PK\x05\x06 inside"));
  EXPECT_EQ(read(zip, "m/a"), "x");
  zip = open(ZipBuilder().add("m/a", "x").finish(std::string(0xffff, 'c')));
  EXPECT_EQ(read(zip, "m/a"), "x");
}

TEST(ZipReader, AnEmptyArchiveHasNoEntries) {
  EXPECT_TRUE(open(ZipBuilder().finish()).entries().empty());
}

TEST(ZipReader, ChecksTheCrcOfStoredAndDeflatedData) {
  expect_error(ZipBuilder().add("m/data/0", "weights!", {.crc_lie = 1}).finish(),
               "record 'm/data/0' at byte 64: its CRC-32 is wrong");
  expect_error(ZipBuilder().add("m/a.py", "code", {.deflate = true, .crc_lie = 1}).finish(),
               "record 'm/a.py' at byte 64: its CRC-32 is wrong");
}

TEST(ZipReader, RefusesSizesThatLie) {
  expect_error(ZipBuilder().add("m/a", "stored", {.size_lie = 1}).finish(), "its two sizes differ");
  const std::string content(1000, 'x');
  for (int64_t lie : {-1, 1}) {
    expect_error(ZipBuilder().add("m/a", content, {.deflate = true, .size_lie = lie}).finish(),
                 "another size than the directory says");
  }
  expect_error(ZipBuilder().add("m/a", content, {.deflate = true, .size_lie = 1 << 30}).finish(),
               "which deflate cannot do");
}

TEST(ZipReader, RefusesABombWithinTheLimitsOfDeflate) {
  // 150 MB of zeros, which deflate to 150 kB: more than 128 MiB + 100 x the file.
  const std::string zeros(150'000'000, '\0');
  expect_error(ZipBuilder().add("m/a", zeros, {.deflate = true}).finish(), "may hold");
}

TEST(ZipReader, RefusesDamagedDeflateStreams) {
  std::string code;
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) code += static_cast<char>('a' + random() % 26);
  std::string zip = ZipBuilder().add("m/a", code, {.deflate = true}).finish();
  zip[64 + 100] ^= 0x55;
  expect_error(zip, "record 'm/a' at byte 64");
}

TEST(ZipReader, RefusesOtherMethodsAndEncryption) {
  expect_error(ZipBuilder().add("m/a", "x", {.method = 12}).finish(), "compression method 12");
  expect_error(ZipBuilder().add("m/a", "x", {.flags = 1}).finish(), "it is encrypted");
}

TEST(ZipReader, RefusesTheSameNameTwice) {
  expect_error(ZipBuilder().add("m/a", "x").add("m/a", "y").finish(), "its name comes twice");
}

TEST(ZipReader, RefusesAnEntryOutsideTheFile) {
  // A local header may only lie where its directory entry says, so both say it.
  std::string zip = ZipBuilder().add("m/a", "12345678").finish();
  for (size_t field : {zip.find("PK\x03\x04") + 18, zip.find("PK\x01\x02") + 20}) {
    zip.replace(field, 8, little_endian(5000, 4) + little_endian(5000, 4));
  }
  expect_error(zip, "reach past the end of the file");
}

TEST(ZipReader, RefusesOverlappingEntries) {
  // The second entry lies in the data of the first.
  const std::string inner = ZipBuilder().add("m/b", "inside", {.align = 1}).finish();
  std::string zip = ZipBuilder().add("m/a", inner.substr(0, inner.find("PK\x01\x02"))).finish();
  const size_t directory = zip.find("PK\x01\x02");
  const size_t inner_directory = inner.find("PK\x01\x02");
  std::string second = inner.substr(inner_directory, inner.find("PK\x05\x06") - inner_directory);
  second.replace(42, 4, little_endian(64, 4));  // where the first entry's data begins
  const size_t end = zip.find("PK\x05\x06");
  const std::string entries = zip.substr(directory, end - directory) + second;
  zip = zip.substr(0, directory) + entries + "PK\x05\x06" + little_endian(0, 4) +
        little_endian(2, 2) + little_endian(2, 2) + little_endian(entries.size(), 4) +
        little_endian(directory, 4) + little_endian(0, 2);
  expect_error(zip, "it overlaps the record 'm/a'");
}

TEST(ZipReader, RefusesEveryTruncation) {
  const std::string zip = ZipBuilder().add("m/a", "one").add("m/b", "two").finish();
  for (size_t size = 0; size < zip.size(); ++size) {
    EXPECT_NE(error_of([&] { open(zip.substr(0, size)); }), "") << size;
  }
}

TEST(ZipReader, RefusesADirectoryThatLies) {
  const std::string zip = ZipBuilder().add("m/a", "one").finish();
  const size_t end = zip.find("PK\x05\x06");
  const auto with = [&](size_t offset, uint64_t value, int width) {
    std::string changed = zip;
    changed.replace(end + offset, static_cast<size_t>(width), little_endian(value, width));
    return changed;
  };
  EXPECT_NE(error_of([&] { open(with(8, 65535, 2).replace(end + 10, 2, "\xff\xff")); }), "");
  EXPECT_NE(error_of([&] { open(with(8, 2, 2).replace(end + 10, 2, little_endian(2, 2))); }), "");
  EXPECT_NE(error_of([&] { open(with(12, 0x7fffffff, 4)); }), "");
  EXPECT_NE(error_of([&] { open(with(16, 0x7fffffff, 4)); }), "");
}

TEST(ZipReader, SurvivesEveryFlippedBit) {
  const std::string zip = ZipBuilder()
                              .add("m/data/0", "weights!")
                              .add("m/code/a.py", std::string(300, 'c'), {.deflate = true})
                              .add("m/c", "zip64", {.zip64 = true})
                              .finish();
  int opened = 0;
  for (size_t bit = 0; bit < zip.size() * 8; ++bit) {
    std::string changed = zip;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ 1 << bit % 8);
    const std::string error = error_of([&] {
      ZipReader reader = open(changed);
      for (const ZipEntry& entry : reader.entries()) reader.read(entry);
    });
    opened += error.empty();
  }
  // Dates, versions and padding may change without harm; data and sizes may not.
  EXPECT_LT(opened, static_cast<int>(zip.size() * 8 / 2));
}

}  // namespace
}  // namespace torchlet::archive
