// How often a model's scores tell the right class.
#pragma once

#include <torchlet/value.h>

#include <cstdint>
#include <span>

namespace torchlet::quant {

// What tells classes apart in what a model gave: the first tensor, of lists, tuples and dicts in
// their order, of [classes] or [N, classes], at least two, real or quantized. Undefined if there is
// none.
Tensor scores_of(const Value& output);

class Accuracy {
 public:
  // `labels` are the classes of the rows of scores_of(output). Error kInvalidArgument if it has no
  // scores, for another count of labels, and for one that is not among the classes.
  void add(const Value& output, std::span<const int64_t> labels);

  size_t rows() const { return rows_; }
  size_t classes() const { return classes_; }
  // The part of the rows where the right class has the largest score, or one of the five largest.
  // Of equal scores the first is the larger one. 0 without rows.
  double top1() const { return part(top1_); }
  double top5() const { return part(top5_); }

 private:
  double part(size_t count) const {
    return rows_ == 0 ? 0 : static_cast<double>(count) / static_cast<double>(rows_);
  }

  size_t rows_ = 0, classes_ = 0, top1_ = 0, top5_ = 0;
};

}  // namespace torchlet::quant
