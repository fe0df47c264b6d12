#include "base/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
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
  if (path_.find('\0') != std::string::npos) refuse(EINVAL);
  struct stat info;
  if (::stat(path_.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    fail(ErrorCode::kIo, "cannot write '" + path_ + "': it is there and no regular file");
  }
#if defined(O_TMPFILE) && !defined(__ANDROID__)
  // Has no name, so that nothing stays even of a process that is killed. (Apps on Android may not
  // link, which it takes to give it one.)
  const std::string folder = std::filesystem::path(path_).parent_path();
  fd_ = ::open(folder.empty() ? "." : folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
  if (fd_ >= 0) return;
#endif
  // Not every file system has such files.
  temporary_ = path_ + ".XXXXXX";
  fd_ = ::mkstemp(temporary_.data());  // Android has mkostemp from API level 23 on
  if (fd_ < 0) refuse(errno);
  ::fcntl(fd_, F_SETFD, FD_CLOEXEC);
}

AtomicFile::~AtomicFile() {
  if (fd_ < 0) return;
  ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
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

void AtomicFile::commit(Durability durability) {
  if (::fchmod(fd_, permissions()) != 0) refuse(errno);
  if (durability == Durability::kNow && ::fsync(fd_) != 0) refuse(errno);
  if (temporary_.empty()) give_name();
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) refuse(errno);
  ::close(fd_);
  fd_ = -1;
}

// A link cannot take the place of another file, so it gets a name of its own first.
void AtomicFile::give_name() {
  const std::string opened = "/proc/self/fd/" + std::to_string(fd_);
  for (int i = 0;; ++i) {
    std::string name = path_ + "." + std::to_string(::getpid()) + "-" + std::to_string(i);
    if (::linkat(AT_FDCWD, opened.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      temporary_ = std::move(name);
      return;
    }
    if (errno != EEXIST) refuse(errno);
  }
}

}  // namespace torchlet
