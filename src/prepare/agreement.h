// How far answers are from others that ought to be the same.
#pragma once

#include <torchlet/value.h>

#include <string>

namespace torchlet::prepare {

class Agreement {
 public:
  // Compares two values of the same structure, inside containers and objects too. Floating-point,
  // complex and quantized tensors, and floats, may differ; what else differs is a mismatch.
  void add(const Value& exact, const Value& result);

  // The largest difference, as a part of the largest exact number of the same tensor. Infinite if a
  // number is lost to infinity or NaN.
  double error() const { return error_; }
  double max_abs() const { return max_abs_; }
  // In dB; infinite if all is equal.
  double sqnr() const;
  // What differs that must not, "a list of 3 items became one of 2"; empty if nothing does.
  const std::string& mismatch() const { return mismatch_; }

 private:
  void tensors(const Tensor& exact, const Tensor& result);
  void numbers(const double* exact, const double* result, size_t count);
  void differ(const Value& exact, const Value& result);

  double error_ = 0, max_abs_ = 0, signal_ = 0, noise_ = 0;
  std::string mismatch_;
};

}  // namespace torchlet::prepare
