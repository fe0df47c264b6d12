// How well a model answers as another one does.
#pragma once

#include <torchlet/value.h>

#include <cstddef>

#include "quant/accuracy.h"

namespace torchlet::quant {

class Fidelity {
 public:
  // What the two gave for the same input: floating-point tensors, or lists, tuples and dicts of
  // them in the same structure; other things are left out. Quantized tensors count as the real
  // numbers that they stand for. With `labels`, of the rows of scores, it counts how often each of
  // them is right; errors as of Accuracy::add().
  void add(const Value& exact, const Value& result, std::span<const int64_t> labels = {});

  // 10 log10 of the power of the exact numbers to that of the differences; 200 if there are none.
  double sqnr_db() const;
  // The part of the rows of scores, [..., classes], whose largest is the same; -1 if there was
  // none.
  double agreement() const;
  size_t rows() const { return rows_; }
  // Of the calls with labels.
  const Accuracy& exact_accuracy() const { return exact_accuracy_; }
  const Accuracy& accuracy() const { return accuracy_; }

 private:
  void compare(const Value& exact, const Value& result);
  void add_tensor(const Tensor& exact, const Tensor& result);

  double signal_ = 0, error_ = 0;
  size_t rows_ = 0, same_ = 0;
  Accuracy exact_accuracy_, accuracy_;
};

}  // namespace torchlet::quant
