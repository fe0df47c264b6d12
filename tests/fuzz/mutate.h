// Changes to one record of a model file that keep most of its form, so that they get past the first
// check that reads it.
#pragma once

#include <cstddef>
#include <random>
#include <string>
#include <string_view>

namespace torchlet::fuzz {

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  // In [0, count); 0 for a count of 0.
  size_t below(size_t count) { return count ? engine_() % count : 0; }
  bool one_in(size_t count) { return below(count) == 0; }
  template <typename Items>
  const auto& of(const Items& items) {
    return *(std::begin(items) + static_cast<std::ptrdiff_t>(below(std::size(items))));
  }

 private:
  std::mt19937 engine_;
};

// Changes bytes without knowing what they are; `text` stays at or below `limit`. libFuzzer's own
// mutation in the fuzzers.
using MutateBytes = void(std::string& text, size_t limit);

// Removes, repeats, moves and exchanges opcodes, and changes their operands.
void mutate_pickle(std::string& pickle, Random& random, MutateBytes& bytes);
// The same for the lines and tokens of TorchScript source.
void mutate_source(std::string& source, Random& random, MutateBytes& bytes);
// Puts a run of `from`'s opcodes into `pickle`.
void cross_pickles(std::string& pickle, const std::string& from, Random& random);
// Puts some of `from`'s lines into `source`.
void cross_sources(std::string& source, const std::string& from, Random& random);

// For archives: one record is changed, or is dropped, doubled or renamed, and the archive is packed
// again with right checksums. What is no archive, and now and then what is one, is changed as
// bytes.
std::string mutate_archive(std::string_view archive, size_t limit, Random& random,
                           MutateBytes& bytes);
// Brings a part of one of `from`'s records into `archive`.
std::string cross_archives(std::string_view archive, std::string_view from, Random& random);

}  // namespace torchlet::fuzz
