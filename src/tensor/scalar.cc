#include "tensor/scalar.h"

#include <cmath>
#include <limits>

#include "tensor/meta.h"

namespace torchlet {

DType Scalar::dtype() const {
  switch (kind_) {
    case Kind::kInt:
      return DType::kInt64;
    case Kind::kDouble:
      return DType::kFloat64;
    case Kind::kBool:
      return DType::kBool;
    case Kind::kComplex:
      return DType::kComplex128;
  }
  return DType::kInt64;
}

template <>
double Scalar::to<double>() const {
  TORCHLET_CHECK(kind_ != Kind::kComplex || imag_ == 0,
                 "value cannot be converted to type double without overflow: it is complex");
  return is_integral() ? static_cast<double>(int_) : real_;
}
template <>
float Scalar::to<float>() const {
  return static_cast<float>(to<double>());
}
template <>
int64_t Scalar::to<int64_t>() const {
  if (is_integral()) return int_;
  const double value = to<double>();
  TORCHLET_CHECK(value >= -0x1p63 && value < 0x1p63,
                 "value %g cannot be converted to type int64_t without overflow", value);
  return static_cast<int64_t>(value);
}
template <>
int Scalar::to<int>() const {
  const int64_t value = to<int64_t>();
  TORCHLET_CHECK(
      value >= std::numeric_limits<int>::min() && value <= std::numeric_limits<int>::max(),
      "value %lld cannot be converted to type int without overflow", static_cast<long long>(value));
  return static_cast<int>(value);
}
template <>
bool Scalar::to<bool>() const {
  return to_bool();
}

int64_t Scalar::to_int() const { return to<int64_t>(); }
double Scalar::to_double() const { return to<double>(); }

Scalar scalar_of(const Tensor& tensor) {
  TORCHLET_CHECK(!is_meta(tensor), "a meta tensor has no elements");
  const TensorImpl& impl = *tensor.impl();
  const void* data = tensor.raw_data();
  if (impl.dtype == DType::kBool) return Scalar(*static_cast<const uint8_t*>(data) != 0);
  if (is_integral(impl.dtype, false)) {
    int64_t value;
    convert_elements(data, impl.dtype, 1, &value, DType::kInt64, 1, 1);
    return Scalar(value);
  }
  if (is_complex(impl.dtype)) {
    std::complex<double> value;
    convert_elements(data, impl.dtype, 1, &value, DType::kComplex128, 1, 1);
    return Scalar(value);
  }
  double value;
  convert_elements(data, impl.dtype, 1, &value, DType::kFloat64, 1, 1);
  if (is_quantized(impl.dtype)) {
    TORCHLET_CHECK(impl.quantizer, "a quantized tensor without scale and zero point");
    const Quantizer& quantizer = *impl.quantizer;
    TORCHLET_CHECK(quantizer.per_tensor(),
                   "item() of a per-channel quantized tensor is not defined");
    value =
        static_cast<float>((value - static_cast<double>(quantizer.zero_point)) * quantizer.scale);
  }
  return Scalar(value);
}

namespace {

const char* cpp_type_name(DType dtype) {
  switch (dtype) {
    case DType::kUInt8:
      return "uint8_t";
    case DType::kInt8:
      return "int8_t";
    case DType::kInt16:
      return "int16_t";
    case DType::kInt32:
      return "int";
    case DType::kInt64:
      return "int64_t";
    case DType::kFloat16:
      return "at::Half";
    case DType::kBFloat16:
      return "at::BFloat16";
    case DType::kFloat32:
      return "float";
    default:
      return "double";
  }
}

double largest(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return 65504;
    case DType::kBFloat16:
      return 0x1.fep127;
    case DType::kFloat32:
      return std::numeric_limits<float>::max();
    default:
      return std::numeric_limits<double>::max();
  }
}

// c10/util/TypeCast.h, overflows(): negative integers may wrap into unsigned ones, infinities and
// NaN go into every floating type, and everything is a bool.
bool fits(const Scalar& scalar, DType dtype) {
  if (dtype == DType::kBool || is_complex(dtype)) return true;
  const std::complex<double> value = scalar.to_complex();
  if (value.imag() != 0) return false;
  const double real = value.real();
  if (is_floating_point(dtype)) {
    return scalar.is_integral() || !std::isfinite(real) || std::fabs(real) <= largest(dtype);
  }
  if (!scalar.is_integral() && !(real > -0x1p63 - 1 && real < 0x1p63)) return false;
  if (dtype == DType::kInt64) return true;
  const int bits = static_cast<int>(8 * element_size(dtype));
  const bool is_signed = dtype != DType::kUInt8;
  const double top = is_signed ? std::ldexp(1, bits - 1) - 1 : std::ldexp(1, bits) - 1;
  const double bottom = is_signed ? -top - 1 : (scalar.is_integral() ? -top : 0);
  return real >= bottom && real <= top;
}

}  // namespace

void fill(const Tensor& tensor, const Scalar& scalar) {
  if (!is_quantized(tensor.dtype()) && !fits(scalar, tensor.dtype())) {
    fail(ErrorCode::kRuntime, "value cannot be converted to type %s without overflow",
         cpp_type_name(tensor.dtype()));
  }
  tensor.copy_(scalar_tensor(scalar, tensor.dtype()));
}

Tensor scalar_tensor(const Scalar& scalar, DType dtype) {
  Tensor result = empty({}, dtype);
  if (is_meta(result)) return result;
  if (is_complex(dtype)) {
    const std::complex<double> value = scalar.to_complex();
    convert_elements(&value, DType::kComplex128, 1, result.raw_data(), dtype, 1, 1);
  } else if (scalar.is_integral()) {
    const int64_t value = scalar.to<int64_t>();
    convert_elements(&value, DType::kInt64, 1, result.raw_data(), dtype, 1, 1);
  } else {
    const double value =
        dtype == DType::kBool ? (scalar.to_bool() ? 1.0 : 0.0) : scalar.to<double>();
    convert_elements(&value, DType::kFloat64, 1, result.raw_data(), dtype, 1, 1);
  }
  return result;
}

}  // namespace torchlet
