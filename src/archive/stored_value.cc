#include "archive/stored_value.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace torchlet::archive {
namespace {

void check_zero_point(int64_t zero_point, DType dtype) {
  int64_t lowest = 0, highest = 255;
  if (dtype == DType::kQInt8) lowest = -128, highest = 127;
  if (dtype == DType::kQUInt4x2) highest = 15;
  if (dtype == DType::kQInt32) {
    lowest = std::numeric_limits<int32_t>::min();
    highest = std::numeric_limits<int32_t>::max();
  }
  if (zero_point < lowest || zero_point > highest) {
    fail(ErrorCode::kFileFormat, "zero point %lld is outside the range of %s",
         static_cast<long long>(zero_point), dtype_name(dtype).data());
  }
}

bool is_device_name(std::string_view text) {
  const size_t colon = text.find(':');
  const std::string_view type = text.substr(0, colon);
  const auto is_type_char = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  if (type.empty() || type.size() > 16 || !std::ranges::all_of(type, is_type_char)) return false;
  if (colon == std::string_view::npos) return true;
  const std::string_view index = text.substr(colon + 1);
  return !index.empty() && index.size() <= 4 &&
         std::ranges::all_of(index, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

Tensor stored_tensor(const Ref<Storage>& storage, const std::string& name, DType dtype,
                     IntSpan sizes, IntSpan strides, int64_t offset) {
  if (std::ssize(sizes) > kMaxDims) {
    fail(ErrorCode::kFileFormat, "a tensor of %zu dimensions; at most %lld are possible",
         sizes.size(), static_cast<long long>(kMaxDims));
  }
  try {
    Tensor tensor = make_tensor(storage, dtype, sizes, strides, offset);
    int64_t nbytes;
    if (__builtin_mul_overflow(tensor.numel(), static_cast<int64_t>(element_size(dtype)),
                               &nbytes)) {
      fail(ErrorCode::kFileFormat, "the bytes of a tensor overflow");
    }
    return tensor;
  } catch (const Error& error) {
    fail(ErrorCode::kFileFormat, error.message() + " (storage '" + name + "')");
  }
}

bool repeats_storage(const Tensor& tensor) {
  const TensorImpl& impl = *tensor.impl();
  return !impl.storage ||
         static_cast<size_t>(impl.numel) > impl.storage->nbytes() / element_size(impl.dtype);
}

std::shared_ptr<const Quantizer> stored_quantizer(const Tensor& tensor, QScheme scheme,
                                                  double scale, int64_t zero_point) {
  if (!std::isfinite(scale)) {
    fail(ErrorCode::kFileFormat, "the scale of a quantized tensor is not finite");
  }
  check_zero_point(zero_point, tensor.dtype());
  auto quantizer = std::make_shared<Quantizer>();
  quantizer->qscheme = scheme;
  quantizer->scale = scale;
  quantizer->zero_point = zero_point;
  return quantizer;
}

std::shared_ptr<const Quantizer> stored_quantizer(const Tensor& tensor, QScheme scheme,
                                                  const Tensor& scales, const Tensor& zero_points,
                                                  int64_t axis) {
  if (axis < 0 || axis >= tensor.dim() || scales.dim() != 1 || zero_points.dim() != 1 ||
      scales.numel() != tensor.sizes()[static_cast<size_t>(axis)] ||
      zero_points.numel() != scales.numel() || repeats_storage(scales) ||
      repeats_storage(zero_points)) {
    fail(ErrorCode::kFileFormat,
         "the quantizer of a tensor %s has scales %s and zero points %s for axis %lld",
         tensor.describe().c_str(), scales.describe().c_str(), zero_points.describe().c_str(),
         static_cast<long long>(axis));
  }
  const bool float_params = scheme == QScheme::kPerChannelAffineFloatQParams;
  auto quantizer = std::make_shared<Quantizer>();
  quantizer->qscheme = scheme;
  quantizer->axis = axis;
  quantizer->scales = scales.to(float_params ? DType::kFloat32 : DType::kFloat64).contiguous();
  quantizer->zero_points =
      zero_points.to(float_params ? DType::kFloat32 : DType::kInt64).contiguous();
  if (!float_params) {
    const auto* zero_point = quantizer->zero_points.data_ptr<int64_t>();
    for (int64_t i = 0; i < zero_points.numel(); ++i) {
      check_zero_point(zero_point[i], tensor.dtype());
    }
  }
  return quantizer;
}

Value stored_device(std::string name) {
  if (!is_device_name(name)) {
    fail(ErrorCode::kFileFormat,
         "expected a device such as 'cpu' or 'cuda:0', got " + name.substr(0, 100));
  }
  return Value::device(std::move(name));
}

}  // namespace torchlet::archive
