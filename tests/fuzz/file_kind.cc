#include "archive/file_kind.h"

#include <memory>
#include <vector>

#include "archive/reader.h"
#include "tests/fuzz/targets.h"

namespace torchlet::fuzz {

int fuzz_file_kind(std::span<const std::byte> input) {
  return expect_good_end([&] {
    const auto copy = std::make_shared<std::vector<std::byte>>(input.begin(), input.end());
    archive::ArchiveReader reader = archive::ArchiveReader::open(*copy, copy, "input");
    const bool flatbuffer = archive::detect_file_kind(input) == archive::FileKind::kFlatbuffer;
    expect(flatbuffer == (reader.container() == archive::Container::kFlatbuffer),
           "the reader and the detector agree on what a flatbuffer is");
    for (const archive::Record& record : reader.records()) reader.read(record.name);
  });
}

}  // namespace torchlet::fuzz
