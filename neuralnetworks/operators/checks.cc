#include "neuralnetworks/operators/checks.h"

#include <algorithm>

#include "base/error.h"
#include "tensor/containers.h"

namespace torchlet::nn {

void check_sizes(const Tensor& tensor, std::initializer_list<int64_t> sizes, const char* what) {
  const bool fits = std::ranges::equal(tensor.sizes(), sizes, [](int64_t is, int64_t expected) {
    return expected == -1 || is == expected;
  });
  TORCHLET_CHECK(fits, "%s has sizes %s, and %s are needed (-1: any)", what,
                 shape_text(tensor.sizes()).c_str(), shape_text(IntArray(sizes)).c_str());
}

}  // namespace torchlet::nn
