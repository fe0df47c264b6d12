// libFuzzer's way in. TORCHLET_FUZZ_TARGET is the name of one of the functions of targets.h;
// TORCHLET_FUZZ_ARCHIVES or TORCHLET_FUZZ_PICKLES says what its inputs are, unless they are bytes.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "tests/fuzz/mutate.h"
#include "tests/fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return torchlet::fuzz::TORCHLET_FUZZ_TARGET(std::as_bytes(std::span(data, size)));
}

#if defined(TORCHLET_FUZZ_ARCHIVES) || defined(TORCHLET_FUZZ_PICKLES)
extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t limit);

namespace {

void mutate_bytes(std::string& text, size_t limit) {
  const size_t size = text.size();
  text.resize(std::max(size, limit));
  auto* const data = reinterpret_cast<uint8_t*>(text.data());
  text.resize(LLVMFuzzerMutate(data, size, text.size()));
}

std::string_view text_of(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

size_t put(const std::string& text, uint8_t* out, size_t limit) {
  const size_t size = std::min(text.size(), limit);
  std::memcpy(out, text.data(), size);
  return size;
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t limit, unsigned seed) {
  torchlet::fuzz::Random random(seed);
#if defined(TORCHLET_FUZZ_ARCHIVES)
  const std::string changed =
      torchlet::fuzz::mutate_archive(text_of(data, size), limit, random, mutate_bytes);
#else
  std::string changed(text_of(data, size));
  torchlet::fuzz::mutate_pickle(changed, random, mutate_bytes);
#endif
  return put(changed, data, limit);
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* data, size_t size, const uint8_t* other,
                                            size_t other_size, uint8_t* out, size_t limit,
                                            unsigned seed) {
  torchlet::fuzz::Random random(seed);
#if defined(TORCHLET_FUZZ_ARCHIVES)
  const std::string crossed =
      torchlet::fuzz::cross_archives(text_of(data, size), text_of(other, other_size), random);
#else
  std::string crossed(text_of(data, size));
  torchlet::fuzz::cross_pickles(crossed, std::string(text_of(other, other_size)), random);
#endif
  return put(crossed, out, limit);
}
#endif
