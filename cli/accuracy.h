// How far results are from others that ought to be the same.
#pragma once

#include <torchlet/value.h>

#include <optional>

namespace torchlet::cli {

struct Accuracy {
  // The largest difference of two elements, as a part of the largest exact element of the same
  // tensor: of all floating-point tensors the worst. Infinite if a number is lost to infinity or
  // NaN.
  double error = 0;
  // For scores, [..., classes]: whether the largest one is the same in each row. Nothing if no
  // tensor looks like scores, with rows of at least two and no further dimensions but the batch.
  std::optional<bool> same_largest;
};

// `exact` and `result` have the same structure, of lists, tuples and dicts.
Accuracy compare(const Value& exact, const Value& result);

}  // namespace torchlet::cli
