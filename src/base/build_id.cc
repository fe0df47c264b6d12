#include "base/build_id.h"

#ifdef __linux__
#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "base/content_hash.h"
#endif

namespace torchlet {

uint64_t place_in_build(uintptr_t function) {
  return function - reinterpret_cast<uintptr_t>(&place_in_build);
}

#ifdef __linux__
namespace {

constexpr char kGnu[] = "GNU";

// Of notes in memory: headers, each with a name and a description, padded to four bytes.
uint64_t find_build_id(const std::byte* notes, size_t size) {
  const auto padded = [](size_t length) { return (length + 3) / 4 * 4; };
  for (size_t at = 0; at + sizeof(ElfW(Nhdr)) <= size;) {
    ElfW(Nhdr) header;
    std::memcpy(&header, notes + at, sizeof header);
    const std::byte* const name = notes + at + sizeof header;
    const std::byte* const description = name + padded(header.n_namesz);
    if (header.n_type == NT_GNU_BUILD_ID && header.n_namesz == sizeof kGnu &&
        std::memcmp(name, kGnu, sizeof kGnu) == 0) {
      return content_hash({description, header.n_descsz});
    }
    at += sizeof header + padded(header.n_namesz) + padded(header.n_descsz);
  }
  return 0;
}

struct Search {
  uintptr_t code;
  uint64_t found = 0;
};

int look_into(dl_phdr_info* object, size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  const auto begin = [&](const ElfW(Phdr) & part) { return object->dlpi_addr + part.p_vaddr; };
  const std::span parts(object->dlpi_phdr, object->dlpi_phnum);
  const bool is_ours = std::ranges::any_of(parts, [&](const ElfW(Phdr) & part) {
    return part.p_type == PT_LOAD && search.code - begin(part) < part.p_memsz;
  });
  if (!is_ours) return 0;
  for (const ElfW(Phdr) & part : parts) {
    if (part.p_type != PT_NOTE || search.found) continue;
    search.found = find_build_id(reinterpret_cast<const std::byte*>(begin(part)), part.p_memsz);
  }
  return 1;
}

}  // namespace

uint64_t build_id() {
  static const uint64_t id = [] {
    Search search{reinterpret_cast<uintptr_t>(&build_id)};
    dl_iterate_phdr(look_into, &search);
    return search.found;
  }();
  return id;
}

#else

uint64_t build_id() { return 0; }

#endif

}  // namespace torchlet
