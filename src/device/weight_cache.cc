#include "device/weight_cache.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/atomic_file.h"
#include "base/build_id.h"
#include "base/content_hash.h"
#include "base/error.h"
#include "kernels/checksum/crc32.h"
#include "kernels/simd/isa.h"

namespace torchlet::device {
namespace {

namespace fs = std::filesystem;

// A file is a header, and entries: each an EntryHeader and its bytes, all of them padded to
// kAlignment bytes. Numbers stand as this processor writes them.
constexpr size_t kAlignment = 64;
constexpr std::array<char, 8> kMagic = {'T', 'L', 'W', 'E', 'I', 'G', 'H', '1'};
constexpr char kSuffix[] = ".weights";

struct Header {
  std::array<char, 8> magic = kMagic;
  uint64_t build = 0;
  std::array<uint64_t, 6> reserved = {};
};
struct EntryHeader {
  uint64_t key = 0, nbytes = 0;
  uint64_t crc32 = 0;  // of the bytes
  uint64_t hash = 0;   // of the members before
  std::array<uint64_t, 4> reserved = {};
};
static_assert(sizeof(Header) == kAlignment && sizeof(EntryHeader) == kAlignment);

uint64_t padded(uint64_t nbytes) { return (nbytes + kAlignment - 1) / kAlignment * kAlignment; }

uint64_t hash_of(const EntryHeader& entry) {
  ContentHash hash;
  for (const uint64_t word : {entry.key, entry.nbytes, entry.crc32}) hash.add(word);
  return hash.value();
}

std::string prefix_of(uint64_t model, uint64_t processor) {
  return format("%016llx-%016llx-", static_cast<unsigned long long>(model),
                static_cast<unsigned long long>(processor));
}

void warn(const std::string& path, const char* what) {
  std::fprintf(stderr, "torchlet: %s: %s\n", path.c_str(), what);
}

}  // namespace

WeightCache::WeightCache(std::string folder, uint64_t model, size_t model_bytes,
                         uint64_t processor, uint64_t build)
    : folder_(std::move(folder)),
      prefix_(prefix_of(model, processor)),
      build_(build),
      bytes_left_(build ? std::max(kFloor, kMostTimes * model_bytes) : 0) {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) {
    fail(ErrorCode::kIo, "cannot make the folder '" + folder_ + "' for packed weights: " +
                             error.message() + "; name another one, or none");
  }
  if (!build) return;
  for (const fs::directory_entry& file : fs::directory_iterator(folder_, error)) {
    const std::string name = file.path().filename();
    if (name.starts_with(prefix_) && name.ends_with(kSuffix)) read(file.path());
  }
}

WeightCache::WeightCache(std::string folder, uint64_t model, size_t model_bytes)
    : WeightCache(std::move(folder), model, model_bytes,
                  static_cast<uint64_t>(kernels::best_isa()), build_id()) {}

void WeightCache::read(const std::string& path) {
  enum { kRight, kForeign, kDamaged } state = kDamaged;
  std::vector<std::pair<EntryHeader, const std::byte*>> entries;
  std::shared_ptr<MappedFile> mapped;
  try {
    mapped = std::make_shared<MappedFile>(path);
  } catch (const Error&) {
    return;  // it is gone, or may not be read
  }
  std::span<const std::byte> left = mapped->bytes();
  const auto take = [&](auto& part) {
    if (left.size() < sizeof part) return false;
    std::memcpy(&part, left.data(), sizeof part);
    left = left.subspan(sizeof part);
    return true;
  };
  Header header;
  if (take(header) && header.magic == kMagic) {
    state = header.build == build_ ? kRight : kForeign;
    while (state == kRight && !left.empty()) {
      EntryHeader entry;
      state = kDamaged;
      if (!take(entry) || entry.hash != hash_of(entry) || entry.nbytes > left.size() ||
          padded(entry.nbytes) > left.size() ||
          kernels::crc32(left.first(entry.nbytes)) != entry.crc32) {
        break;
      }
      entries.emplace_back(entry, left.data());
      left = left.subspan(padded(entry.nbytes));
      state = kRight;
    }
  }
  if (state == kDamaged) warn(path, "it is damaged; the weights are packed anew");
  if (state != kRight) {
    std::error_code ignored;
    fs::remove(path, ignored);
    return;
  }
  for (const auto& [entry, data] : entries) {
    found_[{entry.key, entry.nbytes}] = std::shared_ptr<const void>(mapped, data);
  }
  bytes_left_ -= std::min(bytes_left_, uint64_t{mapped->bytes().size()});
}

std::shared_ptr<const void> WeightCache::find(uint64_t key, size_t nbytes) const {
  const std::lock_guard lock(mutex_);
  const auto found = found_.find({key, nbytes});
  return found == found_.end() ? nullptr : found->second;
}

void WeightCache::add(uint64_t key, std::shared_ptr<const void> packed, size_t nbytes) {
  const std::lock_guard lock(mutex_);
  const uint64_t taken = sizeof(EntryHeader) + padded(nbytes);
  if (taken > bytes_left_) return;
  bytes_left_ -= taken;
  added_.push_back({key, std::move(packed), nbytes});
}

void WeightCache::write() {
  std::vector<Added> entries;
  {
    const std::lock_guard lock(mutex_);
    entries.swap(added_);
  }
  if (entries.empty()) return;
  try {
    write_file(entries);
  } catch (const Error& error) {
    const std::lock_guard lock(mutex_);
    if (bytes_left_ > 0) warn(folder_, error.what());
    bytes_left_ = 0;
  }
}

void WeightCache::write_file(const std::vector<Added>& entries) {
  ContentHash set;
  for (const Added& entry : entries) set.add(entry.key);
  const auto bytes_of = [](const auto& part) { return std::as_bytes(std::span(&part, 1)); };
  AtomicFile file(folder_ + "/" + prefix_ +
                  format("%016llx", static_cast<unsigned long long>(set.value())) + kSuffix);
  Header header;
  header.build = build_;
  file.write(bytes_of(header));
  for (const Added& added : entries) {
    const std::span bytes(static_cast<const std::byte*>(added.packed.get()), added.nbytes);
    EntryHeader entry{.key = added.key, .nbytes = added.nbytes, .crc32 = kernels::crc32(bytes)};
    entry.hash = hash_of(entry);
    file.write(bytes_of(entry));
    file.write(bytes);
    const std::array<std::byte, kAlignment> zeros = {};
    file.write(std::span(zeros).first(padded(added.nbytes) - added.nbytes));
  }
  file.commit(AtomicFile::Durability::kLater);
}

}  // namespace torchlet::device
