#include <torchlet/dtype.h>

#include <bit>
#include <cstring>

namespace torchlet {
namespace {

struct DTypeInfo {
  const char* name;
  uint8_t size;
  bool floating, complex, integral, quantized;
};

constexpr DTypeInfo kInfo[kNumDTypes] = {
    {"uint8", 1, false, false, true, false},       {"int8", 1, false, false, true, false},
    {"int16", 2, false, false, true, false},       {"int32", 4, false, false, true, false},
    {"int64", 8, false, false, true, false},       {"float16", 2, true, false, false, false},
    {"float32", 4, true, false, false, false},     {"float64", 8, true, false, false, false},
    {"complex32", 4, false, true, false, false},   {"complex64", 8, false, true, false, false},
    {"complex128", 16, false, true, false, false}, {"bool", 1, false, false, false, false},
    {"qint8", 1, false, false, false, true},       {"quint8", 1, false, false, false, true},
    {"qint32", 4, false, false, false, true},      {"bfloat16", 2, true, false, false, false},
    {"quint4x2", 1, false, false, false, true},
};

const DTypeInfo& info(DType dtype) { return kInfo[static_cast<int>(dtype)]; }

}  // namespace

size_t element_size(DType dtype) { return info(dtype).size; }
std::string_view dtype_name(DType dtype) { return info(dtype).name; }
bool is_floating_point(DType dtype) { return info(dtype).floating; }
bool is_complex(DType dtype) { return info(dtype).complex; }
bool is_integral(DType dtype, bool include_bool) {
  return info(dtype).integral || (include_bool && dtype == DType::kBool);
}
bool is_quantized(DType dtype) { return info(dtype).quantized; }

// Round to nearest even, as IEEE 754 conversion does.
Half::Half(float value) {
  const uint32_t f = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (f >> 16) & 0x8000u;
  const uint32_t magnitude = f & 0x7fffffffu;
  if (magnitude > 0x7f800000u) {
    bits = static_cast<uint16_t>(sign | 0x7e00u);
  } else if (magnitude >= 0x47800000u) {  // 65536 and up, infinity
    bits = static_cast<uint16_t>(sign | 0x7c00u);
  } else if (magnitude >= 0x38800000u) {  // normal in binary16
    const uint32_t rebased = magnitude - 0x38000000u;
    const uint32_t rounded = rebased + 0xfffu + ((rebased >> 13) & 1u);
    bits = static_cast<uint16_t>(sign | (rounded >> 13));
  } else if (magnitude >= 0x33000000u) {  // subnormal in binary16
    const int exponent = static_cast<int>(magnitude >> 23);
    const uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u;
    const int shift = 126 - exponent;  // 14..24
    const uint32_t half = 1u << (shift - 1);
    const uint32_t rest = mantissa & ((1u << shift) - 1u);
    uint32_t result = mantissa >> shift;
    if (rest > half || (rest == half && (result & 1u))) ++result;
    bits = static_cast<uint16_t>(sign | result);
  } else {
    bits = static_cast<uint16_t>(sign);
  }
}

Half::operator float() const {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1fu;
  const uint32_t mantissa = bits & 0x3ffu;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  if (exponent != 0)
    return std::bit_cast<float>(sign | ((exponent + 112u) << 23) | (mantissa << 13));
  const float value = static_cast<float>(mantissa) * 0x1p-24f;
  return sign ? -value : value;
}

BFloat16::BFloat16(float value) {
  const uint32_t f = std::bit_cast<uint32_t>(value);
  if ((f & 0x7fffffffu) > 0x7f800000u) {
    bits = 0x7fc0u;
  } else {
    bits = static_cast<uint16_t>((f + 0x7fffu + ((f >> 16) & 1u)) >> 16);
  }
}

BFloat16::operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

}  // namespace torchlet
