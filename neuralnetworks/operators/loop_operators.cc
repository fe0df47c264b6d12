// What loops need.
#include <chrono>

#include "ops/core/common.h"
#include "ops/core/op.h"

namespace torchlet::ops {
namespace {

// Nanoseconds of a clock that only goes forward.
int64_t now() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// True; Error kTimeLimit once `limit` nanoseconds have passed since `start`, unless it is 0.
bool within_time(int64_t start, int64_t limit) {
  if (limit != 0 && now() - start > limit) {
    fail(ErrorCode::kTimeLimit, "a loop did not end within %g s",
         static_cast<double>(limit) * 1e-9);
  }
  return true;
}

// The tensor, which has to have these sizes; 0 stands for any.
Tensor with_sizes(const Tensor& tensor, const IntArray& sizes) {
  bool fits = static_cast<int64_t>(sizes.size()) == tensor.dim();
  for (size_t i = 0; fits && i < sizes.size(); ++i) {
    fits = sizes[i] == 0 || sizes[i] == tensor.sizes()[i];
  }
  TORCHLET_CHECK(fits, "a value that a model is called with has sizes %s, and the model says %s",
                 shape_text(tensor.sizes()).c_str(), shape_text(sizes).c_str());
  return tensor;
}

}  // namespace

TORCHLET_OP_WITH(nnapi_now, varies(), "nnapi::now() -> int", now);
TORCHLET_OP_WITH(nnapi_within_time, varies(), "nnapi::within_time(int start, int limit) -> bool",
                 within_time);
TORCHLET_OP(nnapi_with_sizes, "nnapi::with_sizes(Tensor(a) tensor, int[] sizes) -> Tensor(a)",
            with_sizes);

}  // namespace torchlet::ops
