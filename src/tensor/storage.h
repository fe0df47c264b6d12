// Bytes that tensors share: owned, borrowed from the caller, a window of a privately mapped file
// (so that writing to it copies the page and never reaches the file), or made of another tensor
// when they are asked for (derived_storage.h).
#pragma once

#include <torchlet/ref.h>

#include <atomic>
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

  std::byte* data() {
    std::byte* data = data_.load(std::memory_order_acquire);
    return data ? data : made();
  }
  // Made without memory: nobody may read or write it.
  bool is_meta() const { return is_meta_; }
  size_t nbytes() const { return nbytes_; }
  // False for meta tensors, for derived ones until somebody asks for data(), and for nothing.
  bool has_memory() const { return data_.load(std::memory_order_acquire) != nullptr; }
  // Grows or shrinks owned memory, keeping the common prefix (torch's resize_storage_).
  void resize(size_t nbytes);

  // For somebody who reads these bytes once: this storage, or a new one with the same bytes if this
  // one has not made its memory yet.
  virtual Ref<Storage> in_passing();
  // Lets the system take `nbytes` of memory from `offset` on that it can read from a file again
  // when somebody asks for it. Others may read these bytes meanwhile, but not write them.
  virtual void give_back(size_t offset, size_t nbytes);
  // A hash that stands for what these bytes are, which another process finds again without reading
  // them; 0 if there is none: they are no file's, or somebody may have written to them.
  virtual uint64_t content_id(size_t offset, size_t nbytes);
  // Of a window of a mapped file: a hash of the file and of the window's place in it.
  void set_content_id(uint64_t id) { content_id_ = id; }

 protected:
  // Without memory, until take_over().
  struct Unmade {};
  Storage(Unmade, size_t nbytes) : nbytes_(nbytes) {}
  // The memory of a storage that had none yet; null if it never gets any.
  virtual std::byte* made() { return nullptr; }
  // Takes the memory of another one, of the same size.
  std::byte* take_over(Storage& made);

 private:
  Charge charge_;  // for owned memory
  std::atomic<std::byte*> data_ = nullptr;
  size_t nbytes_ = 0;
  bool owned_ = false;
  bool is_meta_ = false;
  uint64_t content_id_ = 0;
  std::shared_ptr<void> keep_alive_;
};

}  // namespace torchlet
