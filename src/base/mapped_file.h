#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace torchlet {

// A whole regular file, mapped privately into memory: a write copies the page it touches and never
// reaches the file, so tensors may use the bytes in place. The bytes stay at one address until the
// object is destroyed; moving the object does not move them. Reading from several threads at once
// is safe.
//
// The file must not shrink while it is mapped: touching a page that is gone raises SIGBUS.
// Replacing the file by renaming another over it is safe.
class MappedFile {
 public:
  // Error kIo, naming the path, if it cannot be opened, is not a regular file, or cannot be mapped.
  explicit MappedFile(const std::string& path);
  ~MappedFile();

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  // Page-aligned; empty for an empty file.
  std::span<std::byte> bytes() const { return bytes_; }

 private:
  std::span<std::byte> bytes_;
};

}  // namespace torchlet
