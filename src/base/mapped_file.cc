#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "base/error.h"

namespace torchlet {
namespace {

[[noreturn]] void refuse(const std::string& path, int error) {
  fail(ErrorCode::kIo, "cannot open '" + path + "': " + std::generic_category().message(error));
}

// Closes the descriptor at the end of the constructor: a mapping outlives it.
struct Descriptor {
  int fd;
  ~Descriptor() { ::close(fd); }
};

}  // namespace

MappedFile::MappedFile(const std::string& path) {
  // O_NONBLOCK, so that a pipe without a writer is refused below and not waited for.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) refuse(path, errno);
  const Descriptor closer{fd};

  struct stat info;
  if (::fstat(fd, &info) != 0) refuse(path, errno);
  if (S_ISDIR(info.st_mode)) refuse(path, EISDIR);
  if (!S_ISREG(info.st_mode)) {
    fail(ErrorCode::kIo, "cannot open '" + path + "': it is not a regular file");
  }
  if (info.st_size == 0) return;

  const auto size = static_cast<size_t>(info.st_size);
  // Nothing is written to most pages, so no swap space is set aside for their copies.
  void* address = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, fd, 0);
  if (address == MAP_FAILED) refuse(path, errno);
  bytes_ = {static_cast<std::byte*>(address), size};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

}  // namespace torchlet
