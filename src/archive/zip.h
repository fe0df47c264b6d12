// The zip container of a model file: which records there are and where their bytes lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace torchlet::archive {

struct ZipEntry {
  std::string name;          // as the archive spells it, with its root folder
  uint64_t offset = 0;       // of the first byte of data in the file
  uint64_t stored_size = 0;  // bytes in the file
  uint64_t size = 0;         // bytes of the record; equal to stored_size unless deflated
  uint32_t crc32 = 0;        // of the record
  bool deflated = false;
};

// The bytes of one entry, in place or inflated; alive as long as `owner`.
struct ZipData {
  std::span<std::byte> bytes;
  std::shared_ptr<void> owner;
};

// The entries of a zip or zip64 archive, in the order of its central directory; folders are left
// out. Each lies inside the archive, is stored or deflated, and agrees with its local header: Error
// kFileFormat otherwise.
std::vector<ZipEntry> read_zip_directory(std::span<const std::byte> bytes);

// Reads the data of a zip archive that lies in memory.
//
// Everything is checked before it is believed: entries do not overlap, no name comes twice, sizes
// and CRC-32 agree with the data, and all inflated data together stays within a budget that grows
// with the file. Errors are kFileFormat and name the entry and its offset. Not thread safe.
class ZipReader {
 public:
  // `owner` keeps `bytes` alive. Reads the directory only.
  ZipReader(std::span<std::byte> bytes, std::shared_ptr<void> owner);
  ZipReader(ZipReader&&) = default;
  ZipReader& operator=(ZipReader&&) = default;

  const std::vector<ZipEntry>& entries() const { return entries_; }
  const ZipEntry* find(std::string_view name) const;  // null if there is none

  // A hash of where the entries lie and of their sizes and CRC-32.
  uint64_t content_id() const { return content_id_; }

  // The data of an entry of this archive. Stored data is used in place; a deflated entry is
  // inflated anew each time.
  ZipData read(const ZipEntry& entry);

 private:
  void check_overlaps() const;
  std::span<std::byte> stored_bytes(const ZipEntry& entry) const;
  void check_crc(const ZipEntry& entry, std::span<const std::byte> data);
  void take_from_budget(const ZipEntry& entry);

  std::span<std::byte> bytes_;
  std::shared_ptr<void> owner_;
  std::vector<ZipEntry> entries_;
  uint64_t content_id_ = 0;
  std::unordered_map<std::string_view, size_t> index_;  // keys point into entries_
  std::vector<bool> verified_;                          // CRC-32 of a stored entry was right
  uint64_t inflate_budget_;
};

}  // namespace torchlet::archive
