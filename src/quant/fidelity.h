// How well a model answers as another one does.
#pragma once

#include <torchlet/value.h>

#include <cstddef>

namespace torchlet::quant {

class Fidelity {
 public:
  // What the two gave for the same input: floating-point tensors, or lists, tuples and dicts of
  // them in the same structure; other things are left out. Quantized tensors count as the real
  // numbers that they stand for.
  void add(const Value& exact, const Value& result);

  // 10 log10 of the power of the exact numbers to that of the differences; 200 if there are none.
  double sqnr_db() const;
  // The part of the rows of scores, [..., classes], whose largest is the same; -1 if there was
  // none.
  double agreement() const;
  size_t rows() const { return rows_; }

 private:
  void add_tensor(const Tensor& exact, const Tensor& result);

  double signal_ = 0, error_ = 0;
  size_t rows_ = 0, same_ = 0;
};

}  // namespace torchlet::quant
