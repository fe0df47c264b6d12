// A Python number: bool, int, float or complex (PyTorch's Scalar).
#pragma once

#include <torchlet/tensor.h>

#include <complex>

namespace torchlet {

class Scalar {
 public:
  Scalar() = default;
  Scalar(int64_t value) : kind_(Kind::kInt), int_(value) {}
  Scalar(int value) : Scalar(static_cast<int64_t>(value)) {}
  Scalar(double value) : kind_(Kind::kDouble), real_(value) {}
  Scalar(bool value) : kind_(Kind::kBool), int_(value) {}
  Scalar(std::complex<double> value)
      : kind_(Kind::kComplex), real_(value.real()), imag_(value.imag()) {}

  bool is_bool() const { return kind_ == Kind::kBool; }
  bool is_int() const { return kind_ == Kind::kInt; }  // false for bool
  bool is_integral() const { return kind_ == Kind::kInt || kind_ == Kind::kBool; }
  bool is_floating_point() const { return kind_ == Kind::kDouble; }
  bool is_complex() const { return kind_ == Kind::kComplex; }

  // int64, float64, complex128 or bool: the dtype before type promotion.
  DType dtype() const;

  // C++ conversion; Error if an imaginary part would be lost or a float does not fit the integer.
  template <typename T>
  T to() const;
  int64_t to_int() const;
  double to_double() const;
  bool to_bool() const { return is_integral() ? int_ != 0 : real_ != 0 || imag_ != 0; }
  std::complex<double> to_complex() const {
    return is_integral() ? std::complex<double>(static_cast<double>(int_))
                         : std::complex<double>(real_, imag_);
  }

 private:
  enum class Kind : uint8_t { kInt, kDouble, kBool, kComplex };
  Kind kind_ = Kind::kInt;
  int64_t int_ = 0;
  double real_ = 0;
  double imag_ = 0;
};

// The only element of a tensor (int64, double, bool or complex by its dtype; a quantized element is
// dequantized). The caller has checked numel() == 1.
Scalar scalar_of(const Tensor& tensor);
// A 0-d tensor with the scalar in `dtype`, cast as Tensor::to does it.
Tensor scalar_tensor(const Scalar& scalar, DType dtype);
// Error if the scalar is out of the range of the tensor's type, as torch.full and fill_ check it.
void fill(const Tensor& tensor, const Scalar& scalar);

}  // namespace torchlet
