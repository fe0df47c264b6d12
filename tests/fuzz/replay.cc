// Runs fuzz targets on files: what was found once must not come back. Needs no fuzzer.
//
//   fuzz_replay TARGET FILE_OR_FOLDER...
#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mapped_file.h"
#include "tests/fuzz/targets.h"

namespace {

namespace fs = std::filesystem;

constexpr std::pair<std::string_view, torchlet::fuzz::Target*> kTargets[] = {
#define TARGET(name) {#name, torchlet::fuzz::fuzz_##name},
    TORCHLET_FUZZ_TARGETS
#undef TARGET
};

std::vector<fs::path> files_below(const fs::path& path) {
  if (!fs::is_directory(path)) return {path};
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(path)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace

int main(int argc, char** argv) {
  const auto target = std::ranges::find(kTargets, std::string_view(argc > 1 ? argv[1] : ""),
                                        [](const auto& known) { return known.first; });
  if (target == std::end(kTargets) || argc < 3) {
    std::fprintf(stderr, "usage: fuzz_replay TARGET FILE_OR_FOLDER...\n");
    return 2;
  }
  size_t count = 0;
  for (int i = 2; i < argc; ++i) {
    for (const fs::path& file : files_below(argv[i])) {
      std::printf("%s\n", file.c_str());
      std::fflush(stdout);
      const torchlet::MappedFile mapped(file);
      target->second(mapped.bytes());
      ++count;
    }
  }
  std::printf("%zu inputs ended well\n", count);
  return 0;
}
