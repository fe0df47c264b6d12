#include "base/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>

#include "base/error.h"

namespace torchlet {
namespace {

// What a new file of this process may be: asking for the mask sets it, so it is set back.
mode_t permissions() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return 0666 & ~mask;
}

}  // namespace

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)) {
  struct stat info;
  if (::stat(path_.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    fail(ErrorCode::kIo, "cannot write '" + path_ + "': it is there and no regular file");
  }
  temporary_ = path_ + ".XXXXXX";
  fd_ = ::mkostemp(temporary_.data(), O_CLOEXEC);
  if (fd_ < 0) refuse(errno);
}

AtomicFile::~AtomicFile() {
  if (fd_ < 0) return;
  ::close(fd_);
  ::unlink(temporary_.c_str());
}

void AtomicFile::refuse(int error) const {
  fail(ErrorCode::kIo, "cannot write '" + path_ + "': " + std::generic_category().message(error));
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  constexpr size_t kAtOnce = size_t{1} << 30;  // a system call takes no more than 2 GiB
  size_ += bytes.size();
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd_, bytes.data(), std::min(bytes.size(), kAtOnce));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) refuse(errno);
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
}

void AtomicFile::commit() {
  if (::fchmod(fd_, permissions()) != 0 || ::fsync(fd_) != 0) refuse(errno);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) refuse(errno);
  ::close(fd_);
  fd_ = -1;
}

}  // namespace torchlet
