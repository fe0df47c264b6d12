// Element types, memory formats and quantization schemes, numbered as PyTorch numbers them
// (c10/core/ScalarType.h, MemoryFormat.h, QScheme.h).
#pragma once

#include <torchlet/export.h>

#include <complex>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace torchlet {

enum class DType : int8_t {
  kUInt8 = 0,
  kInt8 = 1,
  kInt16 = 2,
  kInt32 = 3,
  kInt64 = 4,
  kFloat16 = 5,
  kFloat32 = 6,
  kFloat64 = 7,
  kComplex32 = 8,
  kComplex64 = 9,
  kComplex128 = 10,
  kBool = 11,
  kQInt8 = 12,
  kQUInt8 = 13,
  kQInt32 = 14,
  kBFloat16 = 15,
  kQUInt4x2 = 16,  // two 4-bit values a byte; only inside packed embeddings
};
inline constexpr int kNumDTypes = 17;

// IEEE binary16 and bfloat16 as bits; arithmetic is done in float.
struct TORCHLET_API Half {
  uint16_t bits = 0;
  Half() = default;
  explicit Half(float value);
  explicit operator float() const;
};
struct TORCHLET_API BFloat16 {
  uint16_t bits = 0;
  BFloat16() = default;
  explicit BFloat16(float value);
  explicit operator float() const;
};

// Bytes of one element (kQUInt4x2: 1, holding two).
TORCHLET_API size_t element_size(DType dtype);
// "float32", "int64", "bool", "quint8": as in torch.float32. data() ends with a null character.
TORCHLET_API std::string_view dtype_name(DType dtype);
TORCHLET_API bool is_floating_point(DType dtype);  // float16, bfloat16, float32, float64
TORCHLET_API bool is_complex(DType dtype);
TORCHLET_API bool is_integral(DType dtype, bool include_bool);  // quantized types are not integral
TORCHLET_API bool is_quantized(DType dtype);

template <typename T>
struct DTypeOf;
#define TORCHLET_DTYPE_OF(type, dtype)           \
  template <>                                    \
  struct DTypeOf<type> {                         \
    static constexpr DType value = DType::dtype; \
  }
TORCHLET_DTYPE_OF(uint8_t, kUInt8);
TORCHLET_DTYPE_OF(int8_t, kInt8);
TORCHLET_DTYPE_OF(int16_t, kInt16);
TORCHLET_DTYPE_OF(int32_t, kInt32);
TORCHLET_DTYPE_OF(int64_t, kInt64);
TORCHLET_DTYPE_OF(Half, kFloat16);
TORCHLET_DTYPE_OF(BFloat16, kBFloat16);
TORCHLET_DTYPE_OF(float, kFloat32);
TORCHLET_DTYPE_OF(double, kFloat64);
TORCHLET_DTYPE_OF(std::complex<float>, kComplex64);
TORCHLET_DTYPE_OF(std::complex<double>, kComplex128);
TORCHLET_DTYPE_OF(bool, kBool);
#undef TORCHLET_DTYPE_OF

enum class MemoryFormat : int8_t {
  kContiguous = 0,
  kPreserve = 1,
  kChannelsLast = 2,    // NHWC for 4-d tensors
  kChannelsLast3d = 3,  // NDHWC for 5-d tensors
};

enum class QScheme : int8_t {
  kPerTensorAffine = 0,
  kPerChannelAffine = 1,
  kPerTensorSymmetric = 2,
  kPerChannelSymmetric = 3,
  kPerChannelAffineFloatQParams = 4,
};

enum class Layout : int8_t { kStrided = 0, kSparse = 1, kSparseCsr = 2 };

}  // namespace torchlet
