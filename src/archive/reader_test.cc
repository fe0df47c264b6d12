#include "archive/reader.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "archive/test_util.h"
#include "base/testing.h"

namespace torchlet::archive {
namespace {

using op::byte;
using op::global;
using op::pickle;
using op::storage;
using op::str;
using op::tensor;

const std::string kWeights = float_bytes({1, 2, 3, 4, 5, 6});

// A module with a weight and a view of it.
std::string module_pickle() {
  return pickle(global("__torch__", "Net") + ")\x81}(" + str("weight") +
                tensor(storage("FloatStorage", "0", 6), 0, {2, 3}, {3, 1}) + str("row") +
                tensor(storage("FloatStorage", "0", 6), 3, {3}, {1}) + "ub");
}

// The records of a small archive by name, without the root.
std::vector<std::pair<std::string, std::string>> small_model() {
  return {{"data/0", kWeights},
          {"data.pkl", module_pickle()},
          {"code/__torch__.py", "class Net(Module):\n  weight : Tensor\n"},
          {"constants/0", float_bytes({7})},
          {"constants.pkl", pickle(tensor(storage("FloatStorage", "0", 1), 0, {}, {}) + "\x85")},
          {"extra/labels.txt", "cat\ndog\n"},
          {"version", "3\n"}};
}

std::string zipped(const std::vector<std::pair<std::string, std::string>>& records,
                   const ZipBuilder::Options& options = {}) {
  ZipBuilder zip;
  for (const auto& [name, content] : records) zip.add("net/" + name, content, options);
  return zip.finish();
}

std::string without(const std::string& record) {
  auto records = small_model();
  std::erase_if(records, [&](const auto& one) { return one.first == record; });
  return zipped(records);
}

std::string with(const std::string& record, const std::string& content) {
  auto records = small_model();
  for (auto& [name, old] : records) {
    if (name == record) old = content;
  }
  return zipped(records);
}

ArchiveReader open(const std::string& bytes) {
  AlignedBytes copy(bytes);
  return ArchiveReader::open(copy.bytes, copy.owner, "net.pt");
}

// Everything that loading a model reads.
void read_all(ArchiveReader& archive) {
  TestFactory factory;
  if (archive.container() == Container::kFlatbuffer) return;
  archive.read_constants(factory);
  archive.read_module(factory);
  for (const Record& record : archive.records()) archive.read(record.name);
}

void refused(const std::string& bytes, const std::string& part) {
  const std::string error = error_of([&] {
    ArchiveReader archive = open(bytes);
    read_all(archive);
  });
  EXPECT_NE(error.find(part), std::string::npos) << "got: " << error;
  EXPECT_NE(error.find("in 'net.pt'"), std::string::npos) << "got: " << error;
}

TEST(ArchiveReader, ReadsATorchScriptArchive) {
  ArchiveReader archive = open(zipped(small_model()));
  EXPECT_EQ(archive.container(), Container::kTorchScript);
  EXPECT_EQ(archive.version(), 3);
  EXPECT_TRUE(archive.has_code());
  ASSERT_EQ(archive.records().size(), 7u);
  EXPECT_EQ(archive.records()[0].name, "data/0");
  EXPECT_EQ(archive.records()[0].offset, 64u);
  EXPECT_EQ(archive.records()[0].size, 24u);
  EXPECT_TRUE(archive.has_record("code/__torch__.py"));
  EXPECT_FALSE(archive.has_record("net/code/__torch__.py"));
  EXPECT_EQ(archive.read_text("code/__torch__.py"), "class Net(Module):\n  weight : Tensor\n");
  EXPECT_EQ(archive.extra_files(),
            (std::map<std::string, std::string>{{"labels.txt", "cat\ndog\n"}}));

  TestFactory factory;
  const Value module = archive.read_module(factory);
  const Tensor weight = module.object_ref().attribute("weight").to_tensor();
  const Tensor row = module.object_ref().attribute("row").to_tensor();
  EXPECT_EQ(weight.describe(), "[2, 3] float32");
  EXPECT_EQ(row.data_ptr<float>(), weight.data_ptr<float>() + 3);
  EXPECT_EQ(row.data_ptr<float>()[2], 6);
  const auto constants = archive.read_constants(factory);
  ASSERT_EQ(constants.size(), 1u);
  EXPECT_EQ(constants[0].to_tensor().item<float>(), 7);
}

TEST(ArchiveReader, AlignedTensorsAreUsedInPlaceAndOthersCopied) {
  TestFactory factory;
  for (const size_t align : {64, 16, 1}) {
    const std::string bytes = zipped(small_model(), {.align = align});
    AlignedBytes copy(bytes);
    ArchiveReader archive = ArchiveReader::open(copy.bytes, copy.owner, "net.pt");
    const Tensor weight = archive.read_module(factory).object_ref().attribute("weight").to_tensor();
    const bool aligned = archive.records()[0].offset % 16 == 0;
    EXPECT_EQ(aligned, align >= 16);
    EXPECT_EQ(weight.raw_data() == copy.bytes.data() + archive.records()[0].offset, aligned);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(weight.raw_data()) % 16, 0u);
    EXPECT_EQ(weight.data_ptr<float>()[5], 6);
  }
}

TEST(ArchiveReader, TensorsOutliveTheReaderAndNeverChangeTheFile) {
  const std::string path = temp_path("model.pt");
  const std::string bytes = zipped(small_model());
  std::ofstream(path, std::ios::binary) << bytes;
  TestFactory factory;
  const Value module = ArchiveReader::open(path).read_module(factory);
  const Tensor weight = module.object_ref().attribute("weight").to_tensor();
  weight.data_ptr<float>()[0] = 100;
  EXPECT_EQ(module.object_ref().attribute("row").to_tensor().data_ptr<float>()[0], 4);
  std::ifstream file(path, std::ios::binary);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), bytes);
  std::filesystem::remove(path);
}

TEST(ArchiveReader, ReadsDeflatedRecords) {
  ArchiveReader archive = open(zipped(small_model(), {.deflate = true}));
  TestFactory factory;
  const Tensor weight = archive.read_module(factory).object_ref().attribute("weight").to_tensor();
  EXPECT_EQ(weight.data_ptr<float>()[5], 6);
  EXPECT_EQ(archive.read_text("version"), "3\n");
}

TEST(ArchiveReader, LiteArchives) {
  auto records = small_model();
  records.emplace_back("bytecode.pkl", pickle(byte(8) + "\x85"));
  ArchiveReader archive = open(zipped(records));
  EXPECT_EQ(archive.container(), Container::kLite);
  EXPECT_TRUE(archive.has_code());
  TestFactory factory;
  EXPECT_EQ(archive.read_bytecode(factory).to_tuple()[0].to_int(), 8);

  std::erase_if(records, [](const auto& one) { return one.first.starts_with("code/"); });
  EXPECT_FALSE(open(zipped(records)).has_code());
}

TEST(ArchiveReader, BytecodeTensorsLieInTheirOwnFolderOrWithTheConstants) {
  TestFactory factory;
  auto records = small_model();
  records.emplace_back("bytecode.pkl",
                       pickle(tensor(storage("FloatStorage", "0", 1), 0, {}, {}) + "\x85"));
  const auto constant = [&](const std::vector<std::pair<std::string, std::string>>& archive) {
    return open(zipped(archive)).read_bytecode(factory).to_tuple()[0].to_tensor().item<float>();
  };
  EXPECT_EQ(constant(records), 7);
  records.emplace_back("bytecode/0", float_bytes({8}));
  EXPECT_EQ(constant(records), 8);
}

TEST(ArchiveReader, Flatbuffers) {
  const ArchiveReader archive = open(std::string("\x18\0\0\0PTMF", 8) + std::string(24, '\0'));
  EXPECT_EQ(archive.container(), Container::kFlatbuffer);
  EXPECT_EQ(archive.bytes().size(), 32u);
  EXPECT_TRUE(archive.records().empty());
  EXPECT_FALSE(archive.has_record("data.pkl"));
}

TEST(ArchiveReader, VersionsAndTheirPlace) {
  EXPECT_EQ(open(with("version", "1")).version(), 1);
  EXPECT_EQ(open(with("version", "10\n")).version(), 10);
  auto records = small_model();
  records.emplace_back(".data/version", "9\n");
  EXPECT_EQ(open(zipped(records)).version(), 9);
  for (const char* text : {"", "abc\n", "3x", "-3", "0", "99999999999999999999"}) {
    refused(with("version", text), "does not hold the number of a file version");
  }
  refused(with("version", "11\n"), "file version 11 is newer than the versions 1 to 10");
  records = small_model();
  records.emplace_back("byteorder", "big");
  refused(zipped(records), "big-endian");
}

TEST(ArchiveReader, MissingRecordsAreNamed) {
  for (const char* record : {"data.pkl", "constants.pkl", "version", "data/0", "constants/0"}) {
    refused(without(record), std::string("has no record '") + record + "'");
  }
  ArchiveReader archive = open(zipped(small_model()));
  EXPECT_NE(error_of([&] { archive.read_text("code/lost.py"); }).find("'code/lost.py'"),
            std::string::npos);
}

TEST(ArchiveReader, RootsAndForeignArchives) {
  refused(ZipBuilder().add("a/data.pkl", module_pickle()).add("b/version", "3").finish(),
          "the record 'b/version' lies outside the folder 'a/'");
  refused(ZipBuilder().add("net/data.pkl", "").add("net/version", "3").finish(),
          "a torch.save file");
  refused(ZipBuilder().add("serialized_exported_program.json", "{}").finish(), "torch.export");
  refused(ZipBuilder().add("word/document.xml", "").finish(), "without a model");
  refused(ZipBuilder().finish(), "without a model");
  // A strange root is only a name: nothing is ever unpacked.
  ZipBuilder zip;
  for (const auto& [name, content] : small_model()) zip.add("../" + name, content);
  EXPECT_EQ(open(zip.finish()).read_text("version"), "3\n");
}

TEST(ArchiveReader, WrongRoots) {
  refused(with("data.pkl", pickle("N")), "data.pkl holds None instead of a module");
  refused(with("constants.pkl", pickle(byte(1))), "constants.pkl holds an int instead of a tuple");
  refused(with("constants.pkl", ""), "at byte 0 of record 'constants.pkl'");
  refused(with("data.pkl", pickle(global("os", "system"))), "at byte 2 of record 'data.pkl'");
}

TEST(ArchiveReader, StoragesThatLieAboutTheirSize) {
  const auto with_storage = [](const std::string& stored) {
    return with("data.pkl", pickle(global("__torch__", "Net") + ")\x81}" + str("weight") +
                                   tensor(stored, 0, {1}, {1}) + "sb"));
  };
  refused(with_storage(storage("FloatStorage", "0", 7)),
          "record 'data/0' at byte 64 has 24 bytes, but a storage of 28 bytes is read from it");
  refused(with_storage(storage("DoubleStorage", "0", 4)), "a storage of 32 bytes");
  refused(with_storage(storage("FloatStorage", "77", 1)), "has no record 'data/77'");
  refused(with_storage(storage("FloatStorage", "../version", 1)), "has no record");
}

TEST(ArchiveReader, ADeflatedStorageMayNotBeLargerThanNeeded) {
  auto records = small_model();
  ZipBuilder zip;
  for (const auto& [name, content] : records) {
    const bool weights = name == "data/0";
    zip.add("net/" + name, weights ? std::string(100'000'000, '\0') : content,
            {.deflate = weights});
  }
  refused(zip.finish(), "has 100000000 bytes, but a storage of 24 bytes");
}

TEST(ArchiveReader, SurvivesRandomChanges) {
  const std::string valid = zipped(small_model());
  std::mt19937 random(7);
  int read_well = 0;
  for (int round = 0; round < 5000; ++round) {
    std::string changed = valid;
    for (uint32_t edit = random() % 6; edit < 6; ++edit) {
      changed[random() % changed.size()] ^= static_cast<char>(1 << random() % 8);
    }
    if (random() % 8 == 0) changed.resize(random() % changed.size());
    read_well += error_of([&] {
                   ArchiveReader archive = open(changed);
                   read_all(archive);
                 }).empty();
  }
  EXPECT_GT(read_well, 0);
  EXPECT_LT(read_well, 2500);
}

}  // namespace
}  // namespace torchlet::archive
