// Opens a model file: tells what it is, lists its records, and reads them.
#pragma once

#include <torchlet/value.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "archive/file_kind.h"
#include "archive/pickle.h"
#include "archive/zip.h"

namespace torchlet::archive {

enum class Container {
  kTorchScript,  // zip with code/, constants.pkl and data.pkl
  kLite,         // zip with bytecode.pkl; most of them have all of TorchScript's records too
  kFlatbuffer,   // Lite Interpreter flatbuffer; no records, only bytes() (lite/flatbuffer.h)
};

// A record by its name without the root folder: "data.pkl", "code/__torch__.py", "data/0".
struct Record {
  std::string name;
  uint64_t offset;       // of its first byte in the file
  uint64_t stored_size;  // bytes in the file
  uint64_t size;         // bytes when read
};

// A model file, mapped or given in memory. Opening reads only the directory and the version; the
// CRC-32 of a record is checked when it is first read.
//
// Errors are kFileFormat, or kUnsupported for files of another kind, and carry the name of the file
// as context. Not thread safe.
class ArchiveReader {
 public:
  // Maps the file; tensors use its bytes in place, and writing to them copies the page.
  static ArchiveReader open(const std::string& path);
  // The same with a part of an open file, as MappedFile does it.
  static ArchiveReader open(int fd, int64_t offset, int64_t length);
  // Over the caller's memory, which tensors use in place: a program that changes its weights
  // writes there. The bytes must stay unchanged by others until `keep_alive` is released.
  // `name` stands for the file in messages.
  static ArchiveReader open(std::span<std::byte> bytes, std::shared_ptr<void> keep_alive,
                            std::string name);

  const std::string& name() const { return name_; }
  Container container() const { return container_; }
  // Version of the file format, 1 to 10 (caffe2/serialize/versions.h); 0 for a flatbuffer.
  int64_t version() const { return version_; }
  // Whether code/ and data.pkl are there, so that the program can be compiled from source.
  bool has_code() const { return has_code_; }

  // The whole file, and what keeps it in memory.
  std::span<std::byte> bytes() const { return bytes_; }
  const std::shared_ptr<void>& owner() const { return owner_; }

  // A hash of what is in the file. Of a zip archive it stands for the CRC-32 of all records, and
  // nothing is read.
  uint64_t content_id() const;

  // In the order of the file.
  const std::vector<Record>& records() const { return records_; }
  bool has_record(std::string_view name) const;
  // Error kFileFormat if there is no such record.
  ZipData read(std::string_view name);
  std::string read_text(std::string_view name);

  // The value of a pickled record. Its storages are the records `tensor_folder` + key.
  Value read_pickle(std::string_view name, const std::string& tensor_folder,
                    ObjectFactory& factory);
  // The constants that code/ calls CONSTANTS.c0, CONSTANTS.c1, ...
  std::vector<Value> read_constants(ObjectFactory& factory);
  // bytecode.pkl of a Lite Interpreter archive. Its tensors lie in bytecode/ up to bytecode version
  // 4 and are shared with the constants since.
  Value read_bytecode(ObjectFactory& factory);
  // The root object of data.pkl: a module (a Value of kind kObject).
  Value read_module(ObjectFactory& factory);
  // Name -> content of extra/: what torch.jit.save got as _extra_files.
  std::map<std::string, std::string> extra_files();

  // The bytes of a record as memory for tensors; one storage per record, so that tensors which
  // share memory in the file share it here. In place unless deflated or badly aligned. Error if the
  // record has fewer than `nbytes` bytes, or is deflated and has more.
  Ref<Storage> storage(const std::string& record, size_t nbytes);

 private:
  ArchiveReader(std::span<std::byte> bytes, std::shared_ptr<void> owner, std::string name,
                bool is_private);
  void open_zip();
  void read_version();
  const ZipEntry& entry(std::string_view record) const;
  Ref<Storage> make_storage(const std::string& record, size_t nbytes);

  std::string name_;
  std::span<std::byte> bytes_;
  std::shared_ptr<void> owner_;
  bool is_private_;  // a mapping that nobody else writes to
  Container container_ = Container::kFlatbuffer;
  bool has_code_ = false;
  int64_t version_ = 0;
  std::optional<ZipReader> zip_;
  std::string root_;  // "model/"
  std::vector<Record> records_;
  std::unordered_map<std::string, Ref<Storage>> storages_;
};

// Gives the lists and dicts inside `value` the element types that `type` declares, and checks that
// the value fits the type at all. Files before version 3 carry no type tags, and no file can be
// trusted to keep to the types of its attributes. Error kFileFormat: "expected List[int], got a
// str".
void conform(const Value& value, const TypePtr& type);

}  // namespace torchlet::archive
