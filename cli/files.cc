#include "cli/files.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/error.h"

namespace torchlet::cli {

void make_folder(const std::string& path) {
  int why = 0;  // the last call tells; those above are often there
  for (size_t end = 0; end != std::string::npos;) {
    end = path.find('/', end + 1);
    why = mkdir(path.substr(0, end).c_str(), 0777) == 0 ? 0 : errno;
  }
  struct stat status {};
  if (why != 0 && (stat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode))) {
    fail(ErrorCode::kIo, "cannot make the folder " + path + ": " + std::strerror(why));
  }
}

void write_file(const std::string& path, std::string_view text) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  bool written = file && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (file && std::fclose(file) != 0) written = false;
  if (!written) fail(ErrorCode::kIo, "cannot write " + path + ": " + std::strerror(errno));
}

}  // namespace torchlet::cli
