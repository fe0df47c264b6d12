#include "neuralnetworks/api/memory.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "neuralnetworks/api/memory_desc.h"
#include "neuralnetworks/model/operand_type.h"

using namespace torchlet::nn;

namespace torchlet::nn {

FileMemory::FileMemory(size_t size, int protect, int fd, size_t offset)
    : may_read_((protect & PROT_READ) != 0), may_write_((protect & PROT_WRITE) != 0) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  if (size == 0 || fd < 0 || offset % page != 0 || (protect & ~(PROT_READ | PROT_WRITE)) != 0 ||
      protect == 0) {
    refuse(ANEURALNETWORKS_BAD_DATA,
           "%zu bytes of file %d from %zu with protection %d: a size, an open file, a multiple of "
           "%zu and PROT_READ or PROT_WRITE are needed",
           size, fd, offset, protect, page);
  }
  // Pages beyond the end of a file can be mapped, but not touched.
  struct stat status {};
  if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
    const auto end = static_cast<uint64_t>(status.st_size);
    if (offset > end || size > end - offset) {
      refuse(ANEURALNETWORKS_BAD_DATA, "%zu bytes from %zu of a file of %llu", size, offset,
             static_cast<unsigned long long>(end));
    }
  }
  void* const mapped = mmap(nullptr, size, protect, MAP_SHARED, fd, static_cast<off_t>(offset));
  if (mapped == MAP_FAILED) {
    refuse(ANEURALNETWORKS_UNMAPPABLE, "file %d cannot be mapped: %s", fd, std::strerror(errno));
  }
  bytes_ = {static_cast<std::byte*>(mapped), size};
}

FileMemory::~FileMemory() { munmap(bytes_.data(), bytes_.size()); }

std::span<std::byte> FileMemory::range(Access access, size_t offset, size_t length) const {
  if (length == 0 || offset > size() || length > size() - offset) {
    refuse(ANEURALNETWORKS_BAD_DATA, "%zu bytes from %zu of a memory of %zu", length, offset,
           size());
  }
  if (access == Access::kRead ? !may_read_ : !may_write_) {
    refuse(ANEURALNETWORKS_BAD_DATA, "the memory was made without %s",
           access == Access::kRead ? "PROT_READ" : "PROT_WRITE");
  }
  return bytes_.subspan(offset, length);
}

DeviceMemory::Contents DeviceMemory::contents() const {
  const std::lock_guard lock(mutex_);
  return contents_;
}

void DeviceMemory::set_contents(std::shared_ptr<const Bytes> bytes, std::vector<uint32_t> dims) {
  const std::lock_guard lock(mutex_);
  contents_ = {std::move(bytes), std::move(dims)};
}

namespace {

// What is copied: bytes, and how long they live.
struct Source {
  std::span<const std::byte> bytes;
  std::shared_ptr<const DeviceMemory::Bytes> keep_alive;
  std::vector<uint32_t> dims;  // of memory of a device
};

Source source_of(const MemoryObject& memory) {
  if (memory.file) return {memory.file->range(Access::kRead, 0, memory.file->size()), nullptr, {}};
  const DeviceMemory::Contents contents = memory.device->contents();
  if (!contents.bytes) {
    refuse(ANEURALNETWORKS_BAD_DATA, "the source was never written, or writing it failed");
  }
  return {{contents.bytes->data.get(), contents.bytes->size}, contents.bytes, contents.dims};
}

void copy_to_file(const Source& source, const FileMemory& target) {
  if (source.bytes.size() != target.size()) {
    refuse(ANEURALNETWORKS_BAD_DATA, "%zu bytes to a memory of %zu", source.bytes.size(),
           target.size());
  }
  // Two memories may be of one file.
  std::memmove(target.range(Access::kWrite, 0, target.size()).data(), source.bytes.data(),
               source.bytes.size());
}

void copy_to_device(const MemoryObject& from, const Source& source, DeviceMemory& target) {
  const Operand& operand = target.use().operand;
  if (from.device && !is_same_type(from.device->use().operand, operand)) {
    refuse(ANEURALNETWORKS_BAD_DATA, "the memories are of other types");
  }
  const auto dims = combine_dims(operand.dims, source.dims);
  if (!dims) {
    refuse(ANEURALNETWORKS_BAD_DATA, "sizes %s to a memory of sizes %s",
           dims_text(source.dims).c_str(), dims_text(operand.dims).c_str());
  }
  const auto nbytes = value_size(operand.type, *dims);
  // A source without elements has no size that is known from its dims.
  if (nbytes ? *nbytes != source.bytes.size() : !from.device) {
    refuse(ANEURALNETWORKS_BAD_DATA, "%zu bytes to a memory of sizes %s", source.bytes.size(),
           dims_text(*dims).c_str());
  }
  auto bytes = std::make_shared<DeviceMemory::Bytes>(source.bytes.size());
  std::ranges::copy(source.bytes, bytes->data.get());
  target.set_contents(std::move(bytes), *dims);
}

void copy(const MemoryObject& from, const MemoryObject& to) {
  if (&from == &to) return;
  try {
    const Source source = source_of(from);
    if (to.file) return copy_to_file(source, *to.file);
    copy_to_device(from, source, *to.device);
  } catch (...) {
    if (to.device) to.device->clear_contents();
    throw;
  }
}

}  // namespace
}  // namespace torchlet::nn

int ANeuralNetworksMemory_createFromFd(size_t size, int protect, int fd, size_t offset,
                                       ANeuralNetworksMemory** memory) {
  return answer(__func__, [&] {
    require(memory, "memory");
    *memory = nullptr;
    auto object = std::make_shared<MemoryObject>();
    object->file = std::make_unique<const FileMemory>(size, protect, fd, offset);
    *memory = make_handle(std::move(object));
  });
}

int ANeuralNetworksMemory_createFromAHardwareBuffer(const AHardwareBuffer* ahwb,
                                                    ANeuralNetworksMemory** memory) {
  return answer(__func__, [&] {
    require(memory, "memory");
    *memory = nullptr;
    require(ahwb, "ahwb");
    refuse(ANEURALNETWORKS_BAD_DATA, "there are no hardware buffers on this system");
  });
}

int ANeuralNetworksMemory_createFromDesc(const ANeuralNetworksMemoryDesc* desc,
                                         ANeuralNetworksMemory** memory) {
  return answer(__func__, [&] {
    require(memory, "memory");
    *memory = nullptr;
    auto object = std::make_shared<MemoryObject>();
    object->device = std::make_unique<DeviceMemory>(find<MemoryDescObject>(desc)->finished());
    *memory = make_handle(std::move(object));
  });
}

int ANeuralNetworksMemory_copy(const ANeuralNetworksMemory* src, const ANeuralNetworksMemory* dst) {
  return answer(__func__, [&] {
    require(src, "src");
    require(dst, "dst");
    copy(*find<MemoryObject>(src), *find<MemoryObject>(dst));
  });
}

void ANeuralNetworksMemory_free(ANeuralNetworksMemory* memory) {
  free_handle<MemoryObject>(__func__, memory);
}
