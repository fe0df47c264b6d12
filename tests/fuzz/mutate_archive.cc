#include <torchlet/error.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "archive/test_util.h"
#include "archive/zip.h"
#include "tests/fuzz/mutate.h"

namespace torchlet::fuzz {
namespace {

struct Record {
  std::string name, content;
};
using Records = std::vector<Record>;

enum class Kind { kPickle, kSource, kOther };
Kind kind_of(const Record& record) {
  if (record.name.ends_with("pkl")) return Kind::kPickle;
  return record.name.ends_with(".py") ? Kind::kSource : Kind::kOther;
}

// Nothing if it is no archive.
std::optional<Records> unpack(std::string_view archive) {
  try {
    const archive::AlignedBytes copy{std::string(archive)};
    archive::ZipReader zip(copy.bytes, copy.owner);
    Records records;
    for (const archive::ZipEntry& entry : zip.entries()) {
      const archive::ZipData data = zip.read(entry);
      records.push_back(
          {entry.name, {reinterpret_cast<const char*>(data.bytes.data()), data.bytes.size()}});
    }
    if (records.empty()) return std::nullopt;
    return records;
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::string pack(const Records& records) {
  archive::ZipBuilder zip;
  for (const Record& record : records) zip.add(record.name, record.content, {.align = 16});
  return zip.finish();
}

// Source is where most of a program is; debug records say only where it came from.
size_t weight(const Record& record) {
  if (record.name.ends_with(".debug_pkl")) return 1;
  switch (kind_of(record)) {
    case Kind::kSource:
      return record.content.empty() ? 1 : 24;
    case Kind::kPickle:
      return 12;
    default:
      return 1;
  }
}

Record& weighted(Records& records, Random& random) {
  size_t sum = 0;
  for (const Record& record : records) sum += weight(record);
  size_t left = random.below(sum);
  for (Record& record : records) {
    if (left < weight(record)) return record;
    left -= weight(record);
  }
  return records.back();
}

void mutate_list(Records& records, Random& random, MutateBytes& bytes) {
  Record& record = records[random.below(records.size())];
  switch (random.below(4)) {
    case 0:
      if (records.size() > 1) records.erase(records.begin() + (&record - records.data()));
      return;
    case 1:
      bytes(record.name, record.name.size() + 8);
      return;
    case 2:
      record.content = random.of(records).content;
      return;
    default:
      records.push_back({record.name + "x", record.content});
  }
}

void mutate_record(Record& record, Random& random, MutateBytes& bytes) {
  switch (kind_of(record)) {
    case Kind::kPickle:
      return mutate_pickle(record.content, random, bytes);
    case Kind::kSource:
      return mutate_source(record.content, random, bytes);
    default:
      bytes(record.content, record.content.size() + 16);
  }
}

}  // namespace

std::string mutate_archive(std::string_view archive, size_t limit, Random& random,
                           MutateBytes& bytes) {
  std::optional<Records> records = unpack(archive);
  if (records && !random.one_in(50)) {
    for (size_t changes = 1 + random.below(3); changes > 0; --changes) {
      if (random.one_in(60)) {
        mutate_list(*records, random, bytes);
      } else {
        mutate_record(weighted(*records, random), random, bytes);
      }
    }
    std::string packed = pack(*records);
    if (packed.size() <= limit) return packed;
  }
  std::string changed(archive);
  bytes(changed, limit);
  return changed;
}

std::string cross_archives(std::string_view archive, std::string_view from, Random& random) {
  std::optional<Records> records = unpack(archive);
  std::optional<Records> other = unpack(from);
  if (!records || !other) return std::string(archive);
  Record& target = weighted(*records, random);
  std::erase_if(*other, [&](const Record& record) { return kind_of(record) != kind_of(target); });
  if (other->empty()) return std::string(archive);
  const Record& source = random.of(*other);
  switch (kind_of(target)) {
    case Kind::kPickle:
      cross_pickles(target.content, source.content, random);
      break;
    case Kind::kSource:
      cross_sources(target.content, source.content, random);
      break;
    default:
      target.content = source.content;
  }
  return pack(*records);
}

}  // namespace torchlet::fuzz
