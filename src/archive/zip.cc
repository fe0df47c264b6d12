#include "archive/zip.h"

#include <minizip/unzip.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace torchlet::archive {
namespace {

// Deflate cannot expand more than about 1032 times (RFC 1951: 258 bytes from two bits or so).
constexpr uint64_t kMaxExpansion = 1032;
// Real archives deflate source code, which is small, and now and then somebody repacks a whole
// model.
constexpr uint64_t kInflateFloor = 128 << 20;
constexpr uint64_t kInflatePerByte = 100;

constexpr size_t kMaxNameLength = 4096;
constexpr size_t kMethodStored = 0;
constexpr size_t kMethodDeflated = 8;
constexpr uLong kFlagEncrypted = 1;

[[noreturn]] void refuse(const ZipEntry& entry, const std::string& why) {
  fail(ErrorCode::kFileFormat, format("record '%s' at byte %llu: %s", entry.name.c_str(),
                                      static_cast<unsigned long long>(entry.offset), why.c_str()));
}

// The archive as minizip's "file".
struct Source {
  std::span<const std::byte> bytes;
  uint64_t position = 0;
};

uLong source_read(void*, void* stream, void* buffer, uLong size) {
  auto& source = *static_cast<Source*>(stream);
  const uint64_t left = source.bytes.size() - source.position;
  const uint64_t count = std::min<uint64_t>(size, left);
  if (count) std::memcpy(buffer, source.bytes.data() + source.position, count);
  source.position += count;
  return count;
}

long source_seek(void*, void* stream, ZPOS64_T offset, int origin) {
  auto& source = *static_cast<Source*>(stream);
  uint64_t target = offset;
  if (origin == ZLIB_FILEFUNC_SEEK_CUR) target += source.position;
  if (origin == ZLIB_FILEFUNC_SEEK_END) target += source.bytes.size();
  if (target > source.bytes.size()) return -1;
  source.position = target;
  return 0;
}

zlib_filefunc64_def source_functions(Source& source) {
  zlib_filefunc64_def functions{};
  functions.opaque = &source;
  functions.zopen64_file = [](void* opaque, const void*, int) { return opaque; };
  functions.zread_file = source_read;
  functions.ztell64_file = [](void*, void* stream) -> ZPOS64_T {
    return static_cast<Source*>(stream)->position;
  };
  functions.zseek64_file = source_seek;
  functions.zclose_file = [](void*, void*) { return 0; };
  functions.zerror_file = [](void*, void*) { return 0; };
  return functions;
}

// The bytes up to the end of the end-of-central-directory record, without the comment that may
// follow: minizip would take the same signature inside a comment for the record.
std::span<const std::byte> without_comment(std::span<const std::byte> bytes) {
  constexpr size_t kRecordSize = 22, kMaxComment = 0xffff;
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  size_t end = text.size();
  while (true) {
    const size_t at = text.rfind("PK\x05\x06", end);
    if (at == std::string_view::npos || text.size() - at > kRecordSize + kMaxComment) return bytes;
    if (text.size() - at >= kRecordSize) {
      const size_t comment = static_cast<uint8_t>(text[at + 20]) |
                             static_cast<size_t>(static_cast<uint8_t>(text[at + 21])) << 8;
      if (at + kRecordSize + comment <= text.size()) return bytes.first(at + kRecordSize);
    }
    if (at == 0) return bytes;
    end = at - 1;
  }
}

struct UnzCloser {
  void operator()(void* file) const { unzClose(file); }
};

// The entry that minizip stands at. The local header is read too: only it tells where the data
// begins, and minizip compares it with the directory.
ZipEntry current_entry(unzFile file) {
  unz_file_info64 info;
  char name[kMaxNameLength + 1];
  if (unzGetCurrentFileInfo64(file, &info, name, sizeof name, nullptr, 0, nullptr, 0) != UNZ_OK) {
    fail(ErrorCode::kFileFormat,
         "the zip directory is damaged; the file is incomplete or was changed: copy it again");
  }
  if (info.size_filename > kMaxNameLength) {
    fail(ErrorCode::kFileFormat, "the zip directory has a name of more than 4096 bytes");
  }
  // Until the data is found, messages give the place of the directory's own record.
  ZipEntry entry{std::string(name, info.size_filename),
                 unzGetOffset64(file),
                 info.compressed_size,
                 info.uncompressed_size,
                 static_cast<uint32_t>(info.crc),
                 info.compression_method == kMethodDeflated};
  if (info.flag & kFlagEncrypted) refuse(entry, "it is encrypted");
  if (!entry.deflated && info.compression_method != kMethodStored) {
    refuse(entry, format("compression method %lu is neither stored nor deflated",
                         info.compression_method));
  }
  int method, level;
  if (unzOpenCurrentFile2(file, &method, &level, /*raw=*/1) != UNZ_OK) {
    refuse(entry, "its local header is damaged or disagrees with the zip directory");
  }
  entry.offset = unzGetCurrentFileZStreamPos64(file);
  unzCloseCurrentFile(file);
  return entry;
}

void check_sizes(const ZipEntry& entry, uint64_t archive_size) {
  if (entry.offset > archive_size || entry.stored_size > archive_size - entry.offset) {
    refuse(entry, format("its %llu bytes reach past the end of the file",
                         static_cast<unsigned long long>(entry.stored_size)));
  }
  if (!entry.deflated && entry.size != entry.stored_size) {
    refuse(entry, "it is stored, but its two sizes differ");
  }
  if (entry.size / kMaxExpansion > entry.stored_size) {
    refuse(entry, format("it claims to inflate from %llu to %llu bytes, which deflate cannot do",
                         static_cast<unsigned long long>(entry.stored_size),
                         static_cast<unsigned long long>(entry.size)));
  }
}

uint32_t crc_of(std::span<const std::byte> data) {
  return static_cast<uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(data.data()), data.size()));
}

// Raw inflate of `in` into exactly `out`. False if the stream is damaged, shorter or longer.
bool inflate_exactly(std::span<const std::byte> in, std::span<std::byte> out) {
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) {
    fail(ErrorCode::kOutOfMemory, "no memory to inflate a record");
  }
  constexpr size_t kStep = 1u << 30;  // zlib counts in 32 bits
  std::byte spare;                    // inflate wants room to notice that the stream goes on
  size_t taken = 0, made = 0;
  int status = Z_OK;
  while (status == Z_OK) {
    const size_t in_step = std::min(kStep, in.size() - taken);
    const size_t out_step = std::min(kStep, out.size() - made);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(in.data() + taken));
    stream.avail_in = static_cast<uInt>(in_step);
    stream.next_out = reinterpret_cast<Bytef*>(out_step ? out.data() + made : &spare);
    stream.avail_out = static_cast<uInt>(out_step ? out_step : 1);
    status = inflate(&stream, Z_NO_FLUSH);
    taken += in_step - stream.avail_in;
    made += (out_step ? out_step : 1) - stream.avail_out;
    if (made > out.size()) status = Z_BUF_ERROR;
  }
  inflateEnd(&stream);
  return status == Z_STREAM_END && made == out.size();
}

}  // namespace

ZipReader::ZipReader(std::span<std::byte> bytes, std::shared_ptr<void> owner)
    : bytes_(bytes),
      owner_(std::move(owner)),
      inflate_budget_(kInflateFloor + kInflatePerByte * bytes.size()) {
  read_directory();
  check_overlaps();
  verified_.resize(entries_.size());
  index_.reserve(entries_.size());
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (!index_.emplace(entries_[i].name, i).second) refuse(entries_[i], "its name comes twice");
  }
}

void ZipReader::read_directory() {
  Source source{without_comment(bytes_)};
  zlib_filefunc64_def functions = source_functions(source);
  const std::unique_ptr<void, UnzCloser> file(unzOpen2_64("", &functions));
  if (!file) {
    fail(ErrorCode::kFileFormat,
         "it begins as a zip archive but has no valid zip directory at its end; it is incomplete "
         "or damaged: copy or download it again");
  }
  unz_global_info64 global;
  unzGetGlobalInfo64(file.get(), &global);
  if (global.number_entry == 0) return;
  int status = unzGoToFirstFile(file.get());
  for (; status == UNZ_OK; status = unzGoToNextFile(file.get())) {
    ZipEntry entry = current_entry(file.get());
    check_sizes(entry, bytes_.size());
    if (!entry.name.ends_with('/')) entries_.push_back(std::move(entry));
  }
  if (status != UNZ_END_OF_LIST_OF_FILE) {
    fail(ErrorCode::kFileFormat,
         format("the zip directory is damaged after %zu of %llu records", entries_.size(),
                static_cast<unsigned long long>(global.number_entry)));
  }
}

void ZipReader::check_overlaps() const {
  std::vector<const ZipEntry*> order;
  for (const ZipEntry& entry : entries_) {
    if (entry.stored_size > 0) order.push_back(&entry);
  }
  std::sort(order.begin(), order.end(),
            [](const ZipEntry* a, const ZipEntry* b) { return a->offset < b->offset; });
  for (size_t i = 1; i < order.size(); ++i) {
    if (order[i - 1]->offset + order[i - 1]->stored_size > order[i]->offset) {
      refuse(*order[i], "it overlaps the record '" + order[i - 1]->name + "'");
    }
  }
}

const ZipEntry* ZipReader::find(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &entries_[found->second];
}

std::span<std::byte> ZipReader::stored_bytes(const ZipEntry& entry) const {
  return bytes_.subspan(entry.offset, entry.stored_size);
}

void ZipReader::check_crc(const ZipEntry& entry, std::span<const std::byte> data) {
  if (crc_of(data) == entry.crc32) return;
  refuse(entry, "its CRC-32 is wrong; the file was damaged or changed: copy or download it again");
}

void ZipReader::take_from_budget(const ZipEntry& entry) {
  if (entry.size > inflate_budget_) {
    refuse(entry, format("inflating its %llu bytes would go beyond what a file of %zu bytes may "
                         "hold; store the archive without compression",
                         static_cast<unsigned long long>(entry.size), bytes_.size()));
  }
  inflate_budget_ -= entry.size;
}

ZipData ZipReader::read(const ZipEntry& entry) {
  if (entry.deflated) {
    take_from_budget(entry);
    const std::shared_ptr<std::byte[]> buffer(new std::byte[entry.size]);
    const std::span<std::byte> out(buffer.get(), entry.size);
    if (!inflate_exactly(stored_bytes(entry), out)) {
      refuse(entry, "its deflated data is damaged or has another size than the directory says");
    }
    check_crc(entry, out);
    return {out, buffer};
  }
  const std::span<std::byte> data = stored_bytes(entry);
  const size_t index = static_cast<size_t>(&entry - entries_.data());
  if (!verified_[index]) check_crc(entry, data);
  verified_[index] = true;
  return {data, owner_};
}

}  // namespace torchlet::archive
