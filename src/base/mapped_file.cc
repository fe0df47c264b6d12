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

// Bytes of an open file. Error kIo unless it is a regular one.
uint64_t regular_size(int fd, const std::string& path) {
  struct stat info;
  if (::fstat(fd, &info) != 0) refuse(path, errno);
  if (S_ISDIR(info.st_mode)) refuse(path, EISDIR);
  if (!S_ISREG(info.st_mode)) {
    fail(ErrorCode::kIo, "cannot open '" + path + "': it is not a regular file");
  }
  return static_cast<uint64_t>(info.st_size);
}

size_t page_size() { return static_cast<size_t>(::sysconf(_SC_PAGESIZE)); }

}  // namespace

MappedFile::MappedFile(const std::string& path) {
  if (path.find('\0') != std::string::npos) refuse(path, EINVAL);
  // O_NONBLOCK, so that a pipe without a writer is refused below and not waited for.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) refuse(path, errno);
  const Descriptor closer{fd};
  map(fd, 0, regular_size(fd, path), path);
}

MappedFile::MappedFile(int fd, int64_t offset, int64_t length, const std::string& name) {
  const uint64_t size = regular_size(fd, name);
  const auto start = static_cast<uint64_t>(offset), count = static_cast<uint64_t>(length);
  if (offset < 0 || length < -1 || start > size || (length >= 0 && count > size - start)) {
    fail(ErrorCode::kInvalidArgument,
         "%s has %llu bytes, so there are no %lld bytes at offset %lld in it", name.c_str(),
         static_cast<unsigned long long>(size), static_cast<long long>(length),
         static_cast<long long>(offset));
  }
  map(fd, start, length < 0 ? size - start : count, name);
}

void MappedFile::map(int fd, uint64_t offset, uint64_t length, const std::string& name) {
  if (length == 0) return;
  // The system maps from the beginning of a page.
  const auto before = static_cast<size_t>(offset % page_size());
  if (length > SIZE_MAX - before) refuse(name, EFBIG);
  // Nothing is written to most pages, so no swap space is set aside for their copies.
  void* address = ::mmap(nullptr, static_cast<size_t>(length) + before, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_NORESERVE, fd, static_cast<off_t>(offset - before));
  if (address == MAP_FAILED) refuse(name, errno);
  bytes_ = {static_cast<std::byte*>(address) + before, static_cast<size_t>(length)};
}

MappedFile::~MappedFile() {
  if (bytes_.empty()) return;
  const size_t before = reinterpret_cast<uintptr_t>(bytes_.data()) % page_size();
  ::munmap(bytes_.data() - before, bytes_.size() + before);
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

}  // namespace torchlet
