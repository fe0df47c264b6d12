#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace torchlet {

// A regular file or a part of one, mapped privately into memory: a write copies the page it touches
// and never reaches the file, so tensors may use the bytes in place. The bytes stay at one address
// until the object is destroyed; moving the object does not move them. Reading from several threads
// at once is safe.
//
// The file must not shrink while it is mapped: touching a page that is gone raises SIGBUS.
// Replacing the file by renaming another over it is safe.
class MappedFile {
 public:
  // Error kIo, naming the path, if it cannot be opened, is not a regular file, or cannot be mapped.
  explicit MappedFile(const std::string& path);
  // `length` bytes at `offset` of an open file, which may be closed after this; -1 stands for all
  // to the end. `name` is for messages. Error kIo as above, and kInvalidArgument for a part that
  // the file does not have.
  MappedFile(int fd, int64_t offset, int64_t length, const std::string& name);
  ~MappedFile();

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  // Page-aligned if it begins with the file; empty if there are none.
  std::span<std::byte> bytes() const { return bytes_; }

 private:
  void map(int fd, uint64_t offset, uint64_t length, const std::string& name);

  std::span<std::byte> bytes_;
};

}  // namespace torchlet
