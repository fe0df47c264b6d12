#include "archive/reader.h"

#include <cstring>

#include "base/content_hash.h"
#include "base/error.h"
#include "base/mapped_file.h"
#include "base/selection.h"

namespace torchlet::archive {
namespace {

constexpr int64_t kMaxVersion = 10;
// Good for every element type, whichever tensor of a storage comes first.
constexpr uintptr_t kAlignment = 16;

// Runs `body`; an Error on its way out learns the name of the file.
template <typename Body>
auto in_file(const std::string& name, const Body& body) {
  try {
    return body();
  } catch (Error& error) {
    error.add_context("in '" + name + "'");
    throw;
  }
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The folder that all records lie in, with its slash. PyTorch names it after the file.
std::string root_of(const std::vector<ZipEntry>& entries) {
  if (entries.empty()) return "";
  const std::string& first = entries.front().name;
  std::string root = first.substr(0, first.find('/') + 1);
  for (const ZipEntry& entry : entries) {
    if (!entry.name.starts_with(root)) {
      fail(ErrorCode::kFileFormat, "the record '" + entry.name + "' lies outside the folder '" +
                                       root + "' that the archive begins with");
    }
  }
  return root;
}

}  // namespace

ArchiveReader ArchiveReader::open(const std::string& path) {
  auto file = std::make_shared<MappedFile>(path);
  const std::span<std::byte> bytes = file->bytes();
  return ArchiveReader(bytes, std::move(file), path, true);
}

ArchiveReader ArchiveReader::open(int fd, int64_t offset, int64_t length) {
  const std::string name = "file descriptor " + std::to_string(fd);
  auto file = std::make_shared<MappedFile>(fd, offset, length, name);
  const std::span<std::byte> bytes = file->bytes();
  return ArchiveReader(bytes, std::move(file), name, true);
}

ArchiveReader ArchiveReader::open(std::span<std::byte> bytes, std::shared_ptr<void> keep_alive,
                                  std::string name) {
  return ArchiveReader(bytes, std::move(keep_alive), std::move(name), false);
}

ArchiveReader::ArchiveReader(std::span<std::byte> bytes, std::shared_ptr<void> owner,
                             std::string name, bool is_private)
    : name_(std::move(name)), bytes_(bytes), owner_(std::move(owner)), is_private_(is_private) {
  in_file(name_, [&] {
    if (detect_file_kind(bytes_) == FileKind::kZip) open_zip();
  });
}

void ArchiveReader::open_zip() {
  zip_.emplace(bytes_, owner_);
  root_ = root_of(zip_->entries());
  bool any_code = false;
  for (const ZipEntry& entry : zip_->entries()) {
    records_.push_back(
        {entry.name.substr(root_.size()), entry.offset, entry.stored_size, entry.size});
    const std::string& name = records_.back().name;
    any_code |= name.starts_with("code/") && !name.ends_with(".debug_pkl");
  }
  if (has_record("bytecode.pkl")) {
    container_ = Container::kLite;
  } else if (any_code || has_record("constants.pkl")) {
    container_ = Container::kTorchScript;
  } else {
    refuse_foreign_zip([&](std::string_view record) { return has_record(record); });
  }
  has_code_ = any_code;
  entry("data.pkl");
  if (container_ == Container::kTorchScript) entry("constants.pkl");
  read_version();
}

uint64_t ArchiveReader::content_id() const {
  return zip_ ? zip_->content_id() : content_hash(bytes_);
}

void ArchiveReader::read_version() {
  const char* record = has_record(".data/version") ? ".data/version" : "version";
  std::string text =
      text_of(zip_->read(entry(record)).bytes.first(std::min<size_t>(entry(record).size, 32)));
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  version_ = 0;
  for (const char c : text) {
    const bool digit = c >= '0' && c <= '9';
    version_ = digit && version_ < 1000 ? version_ * 10 + (c - '0') : -1;
    if (version_ < 0) break;
  }
  if (version_ < 1) {
    fail(ErrorCode::kFileFormat,
         "the record '" + std::string(record) + "' does not hold the number of a file version");
  }
  if (version_ > kMaxVersion) {
    fail(ErrorCode::kUnsupported,
         "file version %lld is newer than the versions 1 to %lld that Torchlet reads; save "
         "the model with an older PyTorch",
         static_cast<long long>(version_), static_cast<long long>(kMaxVersion));
  }
  if (has_record("byteorder") && text_of(zip_->read(entry("byteorder")).bytes).starts_with("big")) {
    fail(ErrorCode::kUnsupported,
         "the model was saved on a big-endian machine; save it on a little-endian one");
  }
}

bool ArchiveReader::has_record(std::string_view name) const {
  return zip_ && zip_->find(root_ + std::string(name)) != nullptr;
}

const ZipEntry& ArchiveReader::entry(std::string_view record) const {
  const ZipEntry* found = zip_ ? zip_->find(root_ + std::string(record)) : nullptr;
  if (!found) {
    fail(ErrorCode::kFileFormat, "the archive has no record '" + std::string(record) +
                                     "'; it is incomplete, so save or download the model again");
  }
  return *found;
}

ZipData ArchiveReader::read(std::string_view name) {
  return in_file(name_, [&] { return zip_->read(entry(name)); });
}

std::string ArchiveReader::read_text(std::string_view name) { return text_of(read(name).bytes); }

Value ArchiveReader::read_pickle(std::string_view name, const std::string& tensor_folder,
                                 ObjectFactory& factory) {
  return in_file(name_, [&] {
    const ZipEntry& record = entry(name);
    const ZipData data = zip_->read(record);
    return archive::read_pickle(data.bytes, record.stored_size, std::string(name), factory,
                                [&](std::string_view key, size_t nbytes) {
                                  return make_storage(tensor_folder + std::string(key), nbytes);
                                });
  });
}

std::vector<Value> ArchiveReader::read_constants(ObjectFactory& factory) {
  const Value value = read_pickle("constants.pkl", "constants/", factory);
  if (!value.is_tuple()) {
    in_file(name_, [&] {
      fail(ErrorCode::kFileFormat, "constants.pkl holds %s instead of a tuple", value.kind_name());
    });
  }
  return value.to_tuple();
}

Value ArchiveReader::read_bytecode(ObjectFactory& factory) {
  for (const Record& record : records_) {
    if (record.name.starts_with("bytecode/")) {
      return read_pickle("bytecode.pkl", "bytecode/", factory);
    }
  }
  return read_pickle("bytecode.pkl", "constants/", factory);
}

Value ArchiveReader::read_module(ObjectFactory& factory) {
  Value value = read_pickle("data.pkl", "data/", factory);
  if (!value.is_object()) {
    in_file(name_, [&] {
      fail(ErrorCode::kFileFormat, "data.pkl holds %s instead of a module", value.kind_name());
    });
  }
  return value;
}

std::map<std::string, std::string> ArchiveReader::extra_files() {
  constexpr std::string_view kFolder = "extra/";
  std::map<std::string, std::string> files;
  for (const Record& record : records_) {
    if (!record.name.starts_with(kFolder)) continue;
    files.emplace(record.name.substr(kFolder.size()), read_text(record.name));
  }
  return files;
}

Ref<Storage> ArchiveReader::storage(const std::string& record, size_t nbytes) {
  return in_file(name_, [&] { return make_storage(record, nbytes); });
}

Ref<Storage> ArchiveReader::make_storage(const std::string& record, size_t nbytes) {
  if (nbytes == 0) return make_ref<Storage>(0);
  const auto known = storages_.find(record);
  if (known != storages_.end() && known->second->nbytes() >= nbytes) return known->second;
  const ZipEntry& found = entry(record);
  if (found.size < nbytes || (found.deflated && found.size > nbytes)) {
    fail(ErrorCode::kFileFormat,

         "record '%s' at byte %llu has %llu bytes, but a storage of %zu bytes is read from it",
         record.c_str(), static_cast<unsigned long long>(found.offset),
         static_cast<unsigned long long>(found.size), nbytes);
  }
  const ZipData data = zip_->read(found);
  Ref<Storage> made;
  if (reinterpret_cast<uintptr_t>(data.bytes.data()) % kAlignment == 0) {
    made = make_ref<Storage>(data.bytes.data(), data.bytes.size(), data.owner);
    if (selection::kIsWhole && is_private_) {
      ContentHash id;
      id.add(content_id());
      id.add(found.offset);
      made->set_content_id(id.value());
    }
  } else {
    made = make_ref<Storage>(data.bytes.size());
    std::memcpy(made->data(), data.bytes.data(), data.bytes.size());
  }
  storages_[record] = made;
  return made;
}

}  // namespace torchlet::archive
