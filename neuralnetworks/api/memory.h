// ANeuralNetworksMemory: a part of a file, or memory of a device.
#pragma once

#include <compare>
#include <cstddef>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <vector>

#include "neuralnetworks/api/handles.h"
#include "neuralnetworks/model/model.h"

namespace torchlet::nn {

enum class Access { kRead, kWrite };

// A part of an open file, mapped and shared as long as this lives.
class FileMemory {
 public:
  // BAD_DATA for arguments that cannot be right, UNMAPPABLE if the system refuses.
  FileMemory(size_t size, int protect, int fd, size_t offset);
  ~FileMemory();
  FileMemory(const FileMemory&) = delete;
  FileMemory& operator=(const FileMemory&) = delete;

  size_t size() const { return bytes_.size(); }
  // BAD_DATA if that is not all in the file, nothing, or may not be accessed so.
  std::span<std::byte> range(Access access, size_t offset, size_t length) const;

 private:
  std::span<std::byte> bytes_;
  bool may_read_, may_write_;
};

// Input or output `index` of the executions of a compilation.
struct Role {
  uint64_t compilation;  // CompilationObject::id()
  Access access;         // what an execution does with the memory
  uint32_t index;
  auto operator<=>(const Role&) const = default;
};

// What memory of a device is for.
struct MemoryUse {
  std::set<Role> roles;
  Operand operand;  // type and quantization; the dims that are known before anything is written
};

// Memory that applications cannot see. Whoever reads or writes it has bytes of its own, so that
// concurrent use gives one value or the other. Thread-safe.
class DeviceMemory {
 public:
  struct Bytes {
    explicit Bytes(size_t nbytes) : data(new std::byte[nbytes]), size(nbytes) {}
    std::unique_ptr<std::byte[]> data;
    size_t size;
  };
  struct Contents {
    std::shared_ptr<const Bytes> bytes;  // null if nothing was written, or writing failed
    std::vector<uint32_t> dims;
  };

  explicit DeviceMemory(MemoryUse use) : use_(std::move(use)) {}

  const MemoryUse& use() const { return use_; }
  Contents contents() const;
  void set_contents(std::shared_ptr<const Bytes> bytes, std::vector<uint32_t> dims);
  void clear_contents() { set_contents(nullptr, {}); }

 private:
  const MemoryUse use_;
  mutable std::mutex mutex_;
  Contents contents_;
};

struct MemoryObject {
  using Handle = ANeuralNetworksMemory;
  static constexpr const char* kName = "memory";

  // One of the two.
  std::unique_ptr<const FileMemory> file;
  std::unique_ptr<DeviceMemory> device;
};

}  // namespace torchlet::nn
