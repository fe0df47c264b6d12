// The zip container itself (PKWARE APPNOTE.TXT 6.3, sections 4.3 to 4.5).
//
// zlib inflates and checks, but the directory is read here and not by a library, since what a model
// needs is just what the libraries at hand do not give: where a record's bytes lie, so that they
// can be used in place, and a refusal of everything doubtful. minizip 1.1, for one, misses zip64
// sizes, takes a signature inside the archive's comment for the directory, and reads past a cut-off
// end as if zeros followed.

#include "archive/zip.h"
#include "base/error.h"

namespace torchlet::archive {
namespace {

constexpr std::string_view kLocalSignature("PK\x03\x04");
constexpr std::string_view kCentralSignature("PK\x01\x02");
constexpr std::string_view kEndSignature("PK\x05\x06");
constexpr std::string_view kEnd64Signature("PK\x06\x06");
constexpr std::string_view kLocator64Signature("PK\x06\x07");
constexpr size_t kLocalSize = 30, kCentralSize = 46, kEndSize = 22, kEnd64Size = 56,
                 kLocator64Size = 20;
constexpr size_t kMaxComment = 0xffff;
constexpr uint64_t kSaturated16 = 0xffff, kSaturated32 = 0xffffffff;

constexpr uint64_t kFlagEncrypted = 1 << 0;
constexpr uint64_t kFlagSizesFollow = 1 << 3;  // the local header has no sizes; they come behind

[[noreturn]] void refuse_directory(const char* what) {
  fail(ErrorCode::kFileFormat,
       "the zip archive is incomplete or damaged (%s); copy or "
       "download it again",
       what);
}

[[noreturn]] void refuse_entry(const ZipEntry& entry, uint64_t offset, const std::string& why) {
  fail(ErrorCode::kFileFormat, "record '%s' (header at byte %llu): %s", entry.name.c_str(),
       static_cast<unsigned long long>(offset), why.c_str());
}

// Little-endian numbers at checked places.
class Bytes {
 public:
  explicit Bytes(std::span<const std::byte> bytes)
      : text_(reinterpret_cast<const char*>(bytes.data()), bytes.size()) {}

  uint64_t size() const { return text_.size(); }
  std::string_view text() const { return text_; }
  bool has(uint64_t offset, uint64_t count) const {
    return offset <= text_.size() && count <= text_.size() - offset;
  }
  bool starts_with(uint64_t offset, std::string_view signature, size_t header_size) const {
    return has(offset, header_size) && text_.substr(offset).starts_with(signature);
  }
  std::string_view slice(uint64_t offset, uint64_t count) const {
    if (!has(offset, count)) refuse_directory("a header reaches past its end");
    return text_.substr(offset, count);
  }
  uint64_t number(uint64_t offset, size_t width) const {
    const std::string_view raw = slice(offset, width);
    uint64_t value = 0;
    for (size_t i = width; i-- > 0;) value = value << 8 | static_cast<uint8_t>(raw[i]);
    return value;
  }

 private:
  std::string_view text_;
};

// The end-of-central-directory record: the last place that has its signature and room for the
// record and its comment.
uint64_t find_end(const Bytes& file) {
  const std::string_view text = file.text();
  size_t from = std::string_view::npos;
  while (true) {
    const size_t at = text.rfind(kEndSignature, from);
    if (at == std::string_view::npos || text.size() - at > kEndSize + kMaxComment) break;
    if (file.has(at, kEndSize) && file.has(at + kEndSize, file.number(at + 20, 2))) return at;
    if (at == 0) break;
    from = at - 1;
  }
  refuse_directory("it has no zip directory at its end");
}

struct Directory {
  uint64_t count, size, offset;
};

Directory find_directory(const Bytes& file) {
  const uint64_t end = find_end(file);
  Directory directory{file.number(end + 10, 2), file.number(end + 12, 4), file.number(end + 16, 4)};
  uint64_t limit = end;
  if (end >= kLocator64Size &&
      file.starts_with(end - kLocator64Size, kLocator64Signature, kLocator64Size)) {
    limit = file.number(end - kLocator64Size + 8, 8);
    if (limit > end || !file.starts_with(limit, kEnd64Signature, kEnd64Size)) {
      refuse_directory("its zip64 directory is not where it should be");
    }
    directory = {file.number(limit + 32, 8), file.number(limit + 40, 8),
                 file.number(limit + 48, 8)};
  } else if (directory.count == kSaturated16 || directory.offset == kSaturated32) {
    refuse_directory("it needs a zip64 directory and has none");
  }
  if (directory.offset > limit || directory.size > limit - directory.offset) {
    refuse_directory("its zip directory lies outside the file");
  }
  return directory;
}

// Replaces saturated 32-bit fields by those of the zip64 extra field, which holds just these.
void apply_zip64(const Bytes& file, uint64_t extra, uint64_t extra_size, ZipEntry& entry,
                 uint64_t& local) {
  const uint64_t end = extra + extra_size;
  while (extra + 4 <= end) {
    const uint64_t id = file.number(extra, 2);
    const uint64_t field_end = extra + 4 + file.number(extra + 2, 2);
    if (field_end > end) refuse_directory("an extra field reaches past its end");
    uint64_t at = extra + 4;
    if (id == 1) {
      for (uint64_t* value : {&entry.size, &entry.stored_size, &local}) {
        if (*value != kSaturated32 || at + 8 > field_end) continue;
        *value = file.number(at, 8);
        at += 8;
      }
    }
    extra = field_end;
  }
}

// The local header tells where the data begins, and must agree with the directory.
void apply_local_header(const Bytes& file, uint64_t limit, uint64_t local, uint64_t method,
                        ZipEntry& entry) {
  if (local > limit || !file.starts_with(local, kLocalSignature, kLocalSize)) {
    refuse_entry(entry, local, "there is no local header");
  }
  const uint64_t name_size = file.number(local + 26, 2);
  const auto agrees = [&](uint64_t offset, uint64_t value) {
    const uint64_t own = file.number(local + offset, 4);
    return own == value || own == kSaturated32;
  };
  const bool sizes_follow = file.number(local + 6, 2) & kFlagSizesFollow;
  if (file.slice(local + kLocalSize, name_size) != entry.name ||
      file.number(local + 8, 2) != method ||
      (!sizes_follow && (file.number(local + 14, 4) != entry.crc32 ||
                         !agrees(18, entry.stored_size) || !agrees(22, entry.size)))) {
    refuse_entry(entry, local, "its local header disagrees with the zip directory");
  }
  entry.offset = local + kLocalSize + name_size + file.number(local + 28, 2);
  if (entry.offset > limit || entry.stored_size > limit - entry.offset) {
    refuse_entry(entry, local,
                 format("its %llu bytes reach past the end of the file",
                        static_cast<unsigned long long>(entry.stored_size)));
  }
}

// The entry whose central header lies at `at`; moves `at` behind it.
ZipEntry read_entry(const Bytes& file, const Directory& directory, uint64_t& at) {
  if (!file.starts_with(at, kCentralSignature, kCentralSize)) {
    refuse_directory("its zip directory has fewer records than it says");
  }
  const uint64_t flags = file.number(at + 8, 2);
  const uint64_t method = file.number(at + 10, 2);
  const uint64_t name_size = file.number(at + 28, 2);
  const uint64_t extra_size = file.number(at + 30, 2);
  ZipEntry entry;
  entry.name = std::string(file.slice(at + kCentralSize, name_size));
  entry.deflated = method == 8;
  entry.crc32 = static_cast<uint32_t>(file.number(at + 16, 4));
  entry.stored_size = file.number(at + 20, 4);
  entry.size = file.number(at + 24, 4);
  uint64_t local = file.number(at + 42, 4);
  const uint64_t extra = at + kCentralSize + name_size;
  apply_zip64(file, extra, extra_size, entry, local);
  if (flags & kFlagEncrypted) refuse_entry(entry, local, "it is encrypted");
  if (method != 0 && method != 8) {
    refuse_entry(entry, local,
                 format("compression method %llu is neither stored nor deflated",
                        static_cast<unsigned long long>(method)));
  }
  if (!entry.deflated && entry.size != entry.stored_size) {
    refuse_entry(entry, local, "it is stored, but its two sizes differ");
  }
  apply_local_header(file, directory.offset, local, method, entry);
  at = extra + extra_size + file.number(at + 32, 2);
  return entry;
}

}  // namespace

std::vector<ZipEntry> read_zip_directory(std::span<const std::byte> bytes) {
  const Bytes file(bytes);
  const Directory directory = find_directory(file);
  std::vector<ZipEntry> entries;
  uint64_t at = directory.offset;
  for (uint64_t i = 0; i < directory.count; ++i) {
    ZipEntry entry = read_entry(file, directory, at);
    if (!entry.name.ends_with('/')) entries.push_back(std::move(entry));
  }
  if (at != directory.offset + directory.size) {
    refuse_directory("its zip directory is longer or shorter than it says");
  }
  return entries;
}

}  // namespace torchlet::archive
