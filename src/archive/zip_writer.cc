#include "archive/zip_writer.h"

#include <zlib.h>

#include <algorithm>

#include "base/error.h"
#include "kernels/checksum/crc32.h"

namespace torchlet::archive {
namespace {

constexpr uint64_t kAlignment = 64;
constexpr size_t kLeastDeflated = 200;
constexpr size_t kLocalHeader = 30;
constexpr uint32_t kNo32 = 0xffffffff;  // the number stands in the zip64 field
constexpr uint16_t kNo16 = 0xffff;

template <typename T>
void put(std::string& bytes, T number) {
  for (size_t i = 0; i < sizeof(T); ++i) {
    bytes += static_cast<char>(static_cast<uint64_t>(number) >> (8 * i));
  }
}

uint32_t clipped(uint64_t number) {
  return number >= kNo32 ? kNo32 : static_cast<uint32_t>(number);
}

// Raw deflate, without a zlib header.
std::string deflated(std::span<const std::byte> data) {
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) !=
      Z_OK) {
    fail(ErrorCode::kOutOfMemory, "there is no memory to compress a record");
  }
  std::string out(deflateBound(&stream, data.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(data.data()));
  stream.avail_in = static_cast<uInt>(data.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int status = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  if (status != Z_STREAM_END) fail(ErrorCode::kInternal, "a record cannot be compressed");
  return out;
}

// What both headers of an entry say alike.
struct Entry {
  std::string name;
  uint16_t method;  // 0 stored, 8 deflated
  uint32_t crc32;
  uint64_t stored_size, size;

  std::string common() const {
    constexpr uint16_t kUtf8Names = 1 << 11, kMidnight = 0, kFirstOf1980 = 0x21;
    std::string bytes;
    put(bytes, kUtf8Names);
    put(bytes, method);
    put(bytes, kMidnight);
    put(bytes, kFirstOf1980);
    put(bytes, crc32);
    put(bytes, clipped(stored_size));
    put(bytes, clipped(size));
    put(bytes, static_cast<uint16_t>(name.size()));
    return bytes;
  }
  bool is_large() const { return size >= kNo32 || stored_size >= kNo32; }
};

std::string zip64_field(std::initializer_list<uint64_t> numbers) {
  std::string bytes;
  put(bytes, uint16_t{1});
  put(bytes, static_cast<uint16_t>(8 * numbers.size()));
  for (const uint64_t number : numbers) put(bytes, number);
  return bytes;
}

// So that what follows `offset` + the field + the name begins at a multiple of kAlignment.
std::string padding_field(uint64_t offset) {
  const uint64_t unpadded = offset + 4;
  const uint64_t padding = (kAlignment - unpadded % kAlignment) % kAlignment;
  std::string bytes = "FB";
  put(bytes, static_cast<uint16_t>(padding));
  return bytes.append(padding, 'Z');
}

constexpr uint16_t kVersionOfZip64 = 45;

}  // namespace

void ZipWriter::add(std::string_view name, std::span<const std::byte> data, Form form) {
  Entry entry{root_ + "/" + std::string(name), 0, kernels::crc32(data), data.size(), data.size()};
  if (name.empty() || name.back() == '/' || entry.name.size() >= kNo16) {
    fail(ErrorCode::kInvalidArgument,
         "a record of an archive cannot have the name '" + std::string(name.substr(0, 100)) + "'");
  }
  if (!names_.insert(entry.name).second) {
    fail(ErrorCode::kInvalidArgument, "the record '" + std::string(name) + "' is written twice");
  }
  std::string packed;
  if (form == Form::kDeflatedIfLarge && data.size() > kLeastDeflated && data.size() < kNo32) {
    packed = deflated(data);
    data = bytes_of(packed);
    entry.method = 8;
    entry.stored_size = data.size();
  }

  const uint64_t offset = sink_.size();
  std::string extra =
      entry.is_large() ? zip64_field({entry.size, entry.stored_size}) : std::string();
  extra += padding_field(offset + kLocalHeader + entry.name.size() + extra.size());
  std::string header = "PK\x03\x04";
  put(header, kVersionOfZip64);
  header += entry.common();
  put(header, static_cast<uint16_t>(extra.size()));
  sink_.write(bytes_of(header + entry.name + extra));
  sink_.write(data);

  const bool is_far = offset >= kNo32;
  std::string central_extra;
  if (entry.is_large() && is_far) {
    central_extra = zip64_field({entry.size, entry.stored_size, offset});
  } else if (entry.is_large()) {
    central_extra = zip64_field({entry.size, entry.stored_size});
  } else if (is_far) {
    central_extra = zip64_field({offset});
  }
  directory_ += "PK\x01\x02";
  put(directory_, kVersionOfZip64);
  put(directory_, kVersionOfZip64);
  directory_ += entry.common();
  put(directory_, static_cast<uint16_t>(central_extra.size()));
  directory_.append(10, '\0');  // no comment, first disk, no attributes
  put(directory_, clipped(offset));
  directory_ += entry.name + central_extra;
}

void ZipWriter::finish() {
  const uint64_t begin = sink_.size();
  sink_.write(bytes_of(directory_));
  write_directory_end(begin);
}

void ZipWriter::write_directory_end(uint64_t begin) {
  const uint64_t count = names_.size(), size = directory_.size();
  std::string end;
  if (begin >= kNo32 || size >= kNo32 || count >= kNo16) {
    const uint64_t record = sink_.size();
    end += "PK\x06\x06";
    put(end, uint64_t{44});  // of what follows
    put(end, kVersionOfZip64);
    put(end, kVersionOfZip64);
    put(end, uint64_t{0});  // the disks
    put(end, count);
    put(end, count);
    put(end, size);
    put(end, begin);
    end += "PK\x06\x07";
    put(end, uint32_t{0});
    put(end, record);
    put(end, uint32_t{1});
  }
  end += "PK\x05\x06";
  put(end, uint32_t{0});
  const auto clipped_count = static_cast<uint16_t>(std::min<uint64_t>(count, kNo16));
  put(end, clipped_count);
  put(end, clipped_count);
  put(end, clipped(size));
  put(end, clipped(begin));
  put(end, uint16_t{0});
  sink_.write(bytes_of(end));
}

}  // namespace torchlet::archive
