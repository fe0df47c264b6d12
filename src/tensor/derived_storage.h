// Memory that is made of another tensor when somebody asks for it: constants that a pass computes
// and a device then packs never need any of their own.
#pragma once

#include <functional>
#include <memory>
#include <mutex>

#include "tensor/tensor_impl.h"

namespace torchlet {

// Writes rows of a tensor, those of its first dimension from `first` on, made of the same rows of
// its source: the same bytes each time, in any thread.
using Derivation = std::function<void(const Tensor& rows, int64_t first, std::byte* to)>;

class DerivedStorage : public Storage {
 public:
  DerivedStorage(Tensor source, size_t nbytes, Derivation derivation, uint64_t derivation_id);
  Ref<Storage> in_passing() override;
  uint64_t content_id(size_t offset, size_t nbytes) override;

  const Tensor& source() const { return source_; }
  // What the storage holds for these rows of the source.
  void derive(const Tensor& rows, int64_t first, std::byte* to) const;

 private:
  std::byte* made() override;
  void derive_all(std::byte* to) const;  // gives the source back

  const Tensor source_;
  const Derivation derivation_;
  const uint64_t derivation_id_;
  std::mutex making_;
};

// A contiguous tensor of the source's dtype and sizes. The id is a hash of all that the derivation
// depends on besides the source, the same in each process that has this build; 0: there is none.
Tensor derived_tensor(const Tensor& source, Derivation derivation, uint64_t derivation_id = 0);

struct TransientBlock {
  void* data = nullptr;
  size_t nbytes = 0;
};

// While one lives, its thread keeps the largest block of memory that in_passing() took, for the
// next tensors: new pages cost more than what is written to them. For who packs many.
class PassingScope {
 public:
  PassingScope();
  ~PassingScope();
  PassingScope(const PassingScope&) = delete;
  PassingScope& operator=(const PassingScope&) = delete;

  // Of the innermost scope, if the thread has one.
  static TransientBlock take(size_t nbytes);
  static void put_back(TransientBlock block);

 private:
  PassingScope* outer_;
  TransientBlock spare_;
};

// For somebody who reads a tensor once: its elements, in memory that goes with the result where the
// tensor has none of its own yet. Everything else is given as it is.
Tensor in_passing(const Tensor& tensor);
template <typename T>
const T& in_passing(const T& value) {
  return value;
}

// Lets go of the memory of a tensor's elements that the system can read from a file again, now or
// in what they are derived of.
void give_back(const Tensor& tensor);
template <typename T>
void give_back(const T&) {}

// Reads the rows of a tensor once, some at a time, so that what is derived stays in a cache between
// who makes it and who reads it. Rows that follow each other are given back when they were read.
class RowReader {
 public:
  explicit RowReader(const Tensor& tensor);  // of one dimension at least
  ~RowReader();
  RowReader(const RowReader&) = delete;
  RowReader& operator=(const RowReader&) = delete;

  // Rows [first, end) of the first dimension, until the next call.
  Tensor rows(int64_t first, int64_t end);

 private:
  size_t row_bytes() const;
  void give_back_until(int64_t row);  // of a contiguous tensor

  Tensor tensor_;                // whose rows are there, or
  Ref<DerivedStorage> derived_;  // what makes them of those of its source
  std::unique_ptr<RowReader> source_;
  TransientBlock block_;
  int64_t given_back_ = 0, read_ = 0;  // the rows between are read and not given back
};

// A hash of the elements of a tensor and of how it looks at them, of the memory's content_id()
// where it has one, so that they need not be read. The same contents in other memory may have
// another hash; other contents have not.
uint64_t content_hash(const Tensor& tensor);

}  // namespace torchlet
