#include "tests/fuzz/mutate.h"

#include <gtest/gtest.h>
#include <torchlet/torchlet.h>

#include <map>

#include "archive/test_util.h"
#include "archive/zip.h"
#include "base/mapped_file.h"

namespace torchlet::fuzz {
namespace {

constexpr size_t kLimit = 65536;
constexpr unsigned kChanges = 200;

// Stands in for libFuzzer's.
void flip_first_bit(std::string& text, size_t limit) {
  if (text.size() > limit) text.resize(limit);
  if (!text.empty()) text[0] = static_cast<char>(text[0] ^ 1);
}

void keep(std::string&, size_t) {}

std::string file(const char* path) {
  const MappedFile mapped(path);
  return {reinterpret_cast<const char*>(mapped.bytes().data()), mapped.bytes().size()};
}

std::map<std::string, std::string> records_of(const std::string& zip) {
  const archive::AlignedBytes copy(zip);
  archive::ZipReader reader(copy.bytes, copy.owner);
  std::map<std::string, std::string> records;
  for (const archive::ZipEntry& entry : reader.entries()) {
    const archive::ZipData data = reader.read(entry);
    records[entry.name] = {reinterpret_cast<const char*>(data.bytes.data()), data.bytes.size()};
  }
  return records;
}

TEST(MutateArchive, KeepsAnArchiveWithRightChecksumsAndMostOfItsRecords) {
  const std::string model = file("tests/fixtures/api.pt");
  const std::map<std::string, std::string> before = records_of(model);
  unsigned archives = 0;
  for (unsigned seed = 0; seed < kChanges; ++seed) {
    Random random(seed);
    const std::string changed = mutate_archive(model, kLimit, random, flip_first_bit);
    EXPECT_LE(changed.size(), kLimit);
    std::map<std::string, std::string> after;
    if (!archive::error_of([&] { after = records_of(changed); }).empty()) continue;
    ++archives;
    size_t kept = 0;
    for (const auto& [name, content] : before) {
      const auto found = after.find(name);
      kept += found != after.end() && found->second == content;
    }
    EXPECT_GE(kept + 3, before.size()) << seed;
  }
  EXPECT_GT(archives, kChanges * 9 / 10);
}

TEST(MutateArchive, ReachesWhatComesAfterTheFirstCheck) {
  const std::string model = file("tests/fixtures/linear.pt");
  unsigned loaded = 0, ran = 0;
  for (unsigned seed = 0; seed < kChanges; ++seed) {
    Random random(seed);
    const std::string changed = mutate_archive(model, kLimit, random, flip_first_bit);
    archive::error_of([&] {
      const Module module =
          load(std::as_bytes(std::span(changed)), {.allow_unsupported = true, .print = {}});
      ++loaded;
      module.forward({zeros(std::vector<int64_t>{2, 5}, DType::kFloat32)});
      ++ran;
    });
  }
  EXPECT_GT(loaded, kChanges / 10);
  EXPECT_LT(loaded, kChanges);
  EXPECT_LT(ran, loaded);
}

TEST(MutateArchive, ChangesWhatIsNoArchiveAsBytes) {
  Random random(1);
  EXPECT_EQ(mutate_archive("abc", kLimit, random, flip_first_bit), "`bc");
}

TEST(CrossArchives, BringsAPartOfOneRecord) {
  const std::string model = file("tests/fixtures/linear.pt");
  const std::string other = file("tests/fixtures/containers.pt");
  const std::map<std::string, std::string> before = records_of(model);
  for (unsigned seed = 0; seed < kChanges; ++seed) {
    Random random(seed);
    const std::map<std::string, std::string> after =
        records_of(cross_archives(model, other, random));
    size_t changed = 0;
    for (const auto& [name, content] : before) changed += after.at(name) != content;
    EXPECT_EQ(after.size(), before.size());
    EXPECT_LE(changed, 1u);
  }
}

TEST(MutatePickle, MovesWholeOpcodes) {
  // Opcodes of every form of operand; what is changed is an opcode with its operand.
  const std::string pickle = std::string("\x80\x02", 2) + "ctorch\nfoo\n" +
                             archive::op::str("some text") + archive::op::byte(7) +
                             archive::op::integer(-1) + archive::op::real(0.5) + "q\x01h\x01(tR.";
  for (unsigned seed = 0; seed < kChanges; ++seed) {
    Random random(seed);
    std::string changed = pickle;
    mutate_pickle(changed, random, keep);
    if (changed.find("some text") != std::string::npos) {
      EXPECT_NE(changed.find(archive::op::str("some text")), std::string::npos) << seed;
    }
  }
}

TEST(MutateSource, ChangesProgramsOfAnyForm) {
  for (const char* source : {"", "\n", "x", "\"open",
                             "def forward(self, x: Tensor) -> Tensor:\n  return torch.relu(x)\n"}) {
    for (unsigned seed = 0; seed < kChanges; ++seed) {
      Random random(seed);
      std::string changed = source;
      mutate_source(changed, random, flip_first_bit);
      EXPECT_LT(changed.size(), 400u) << source;
      cross_sources(changed, source, random);
    }
  }
}

}  // namespace
}  // namespace torchlet::fuzz
