#include "kernels/simd/scratch.h"

#include <cassert>
#include <new>

#include "base/limits.h"

namespace torchlet::kernels {
namespace {

constexpr std::align_val_t kAlignment{64};
constexpr size_t kStackBytes = size_t{4} << 20;

// Four megabytes of address space per thread that ever ran a kernel, of which only what is used
// becomes memory: whatever a kernel keeps in the second-level cache fits.
struct ThreadStack {
  char* base = nullptr;
  size_t used = 0;

  ~ThreadStack() { ::operator delete(base, kAlignment); }
};

thread_local ThreadStack stack;

}  // namespace

ScratchBytes::ScratchBytes(size_t size) : data_(nullptr), stack_size_(0) {
  size = (size + (size == 0) + 63) / 64 * 64;  // never 0, which would say "on the heap"
  if (size > kStackBytes - stack.used) {
    data_ = counted_new(size, static_cast<size_t>(kAlignment));
    return;
  }
  if (stack.base == nullptr)
    stack.base = static_cast<char*>(::operator new(kStackBytes, kAlignment));
  data_ = stack.base + stack.used;
  stack_size_ = size;
  stack.used += size;
}

ScratchBytes::~ScratchBytes() {
  if (stack_size_ == 0) {
    counted_delete(data_, static_cast<size_t>(kAlignment));
    return;
  }
  stack.used -= stack_size_;
  assert(stack.base + stack.used == data_);
}

}  // namespace torchlet::kernels
