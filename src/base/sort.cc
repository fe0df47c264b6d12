#include "base/sort.h"

#include <algorithm>

namespace torchlet {

void stable_sort(std::span<int64_t> places, FunctionRef<bool(int64_t, int64_t)> before) {
  std::stable_sort(places.begin(), places.end(), before);
}

}  // namespace torchlet
