// A file that is written whole or not at all.
#pragma once

#include <string>

#include "base/byte_sink.h"

namespace torchlet {

// Writes beside `path` and takes its place in the end, so that nobody ever sees a part of it and a
// failure leaves what was there. Errors are kIo and name the path.
class AtomicFile final : public ByteSink {
 public:
  explicit AtomicFile(std::string path);
  // Without a commit() nothing stays.
  ~AtomicFile() override;
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes) override;
  size_t size() const override { return size_; }
  // kLater: a system that crashes may leave a damaged file, for those whose readers check it.
  enum class Durability { kNow, kLater };
  // Makes sure that the bytes are on the disk, then gives them the name.
  void commit(Durability durability = Durability::kNow);

 private:
  [[noreturn]] void refuse(int error) const;
  void give_name();

  const std::string path_;
  std::string temporary_;  // its name until it has its own; empty: it has none
  int fd_ = -1;
  size_t size_ = 0;
};

}  // namespace torchlet
