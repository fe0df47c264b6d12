// Watches the values of one place of a program, and chooses the range that their quantized form
// covers.
#pragma once

#include <torchlet/quantize.h>
#include <torchlet/tensor.h>

#include "quant/histogram.h"
#include "quant/qparams.h"

namespace torchlet::quant {

class Observer {
 public:
  // Float32 of any shape and strides; one of a call's values.
  void add(const Tensor& tensor);

  // Did any value come by, and were all of them finite?
  bool seen() const { return seen_; }
  bool finite() const { return finite_; }
  Range range() const { return range_; }
  const Histogram& histogram() const { return histogram_; }

  // What PyTorch's observer of that name chooses; kL2, kPercentile and kEntropy: quant/ranges.h.
  Range choose(RangeMethod method) const;

 private:
  bool seen_ = false, finite_ = true;
  Range range_;           // least and largest
  Range moving_average_;  // of the ranges of the tensors, each new one counting 1/100
  Histogram histogram_;
};

}  // namespace torchlet::quant
