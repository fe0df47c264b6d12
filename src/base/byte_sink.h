// Where bytes are written to, one after the other.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace torchlet {

class ByteSink {
 public:
  virtual ~ByteSink() = default;
  virtual void write(std::span<const std::byte> bytes) = 0;
  // Written so far.
  virtual size_t size() const = 0;
};

class MemorySink final : public ByteSink {
 public:
  void write(std::span<const std::byte> bytes) override {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  size_t size() const override { return bytes_.size(); }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace torchlet
