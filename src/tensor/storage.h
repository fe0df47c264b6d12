// Bytes that tensors share: owned, borrowed from the caller, or a window of a privately mapped file
// (so that writing to it copies the page and never reaches the file).
#pragma once

#include <torchlet/ref.h>

#include <cstddef>
#include <memory>

#include "base/limits.h"

namespace torchlet {

namespace internal {
// Storages made by this thread have no memory (tensor/meta.h).
inline constinit thread_local bool making_meta = false;
}  // namespace internal

class Storage : public RefCounted {
 public:
  // `nbytes` of owned memory, 64-byte aligned. Error kOutOfMemory when the system has none, and
  // kMemoryLimit when the program may not have it.
  explicit Storage(size_t nbytes);
  // Writable memory of somebody else; `keep_alive` goes when the storage goes.
  Storage(void* data, size_t nbytes, std::shared_ptr<void> keep_alive);
  ~Storage() override;

  std::byte* data() const { return data_; }
  // Made without memory: nobody may read or write it.
  bool is_meta() const { return !data_ && nbytes_ > 0; }
  size_t nbytes() const { return nbytes_; }
  // Grows or shrinks owned memory, keeping the common prefix (torch's resize_storage_).
  void resize(size_t nbytes);

 private:
  Charge charge_;  // for owned memory
  std::byte* data_ = nullptr;
  size_t nbytes_ = 0;
  bool owned_ = false;
  std::shared_ptr<void> keep_alive_;
};

}  // namespace torchlet
