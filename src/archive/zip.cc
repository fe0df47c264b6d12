#include "archive/zip.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>

#include "base/content_hash.h"
#include "base/error.h"
#include "kernels/checksum/crc32.h"

namespace torchlet::archive {
namespace {

// Deflate cannot expand more than about 1032 times (RFC 1951: 258 bytes from two bits or so).
constexpr uint64_t kMaxExpansion = 1032;
// Real archives deflate source code, which is small, and now and then somebody repacks a whole
// model.
constexpr uint64_t kInflateFloor = 128 << 20;
constexpr uint64_t kInflatePerByte = 100;

[[noreturn]] void refuse(const ZipEntry& entry, const std::string& why) {
  fail(ErrorCode::kFileFormat, "record '%s' at byte %llu: %s", entry.name.c_str(),
       static_cast<unsigned long long>(entry.offset), why.c_str());
}

void check_expansion(const ZipEntry& entry) {
  if (entry.size / kMaxExpansion > entry.stored_size) {
    refuse(entry, format("it claims to inflate from %llu to %llu bytes, which deflate cannot do",
                         static_cast<unsigned long long>(entry.stored_size),
                         static_cast<unsigned long long>(entry.size)));
  }
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
      entries_(read_zip_directory(bytes)),
      inflate_budget_(kInflateFloor + kInflatePerByte * bytes.size()) {
  check_overlaps();
  verified_.resize(entries_.size());
  index_.reserve(entries_.size());
  ContentHash content;
  for (size_t i = 0; i < entries_.size(); ++i) {
    const ZipEntry& entry = entries_[i];
    check_expansion(entry);
    if (!index_.emplace(entry.name, i).second) refuse(entry, "its name comes twice");
    for (const uint64_t number : {entry.offset, entry.size, uint64_t{entry.crc32}}) {
      content.add(number);
    }
  }
  content_id_ = content.value();
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
  if (kernels::crc32(data) == entry.crc32) return;
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
