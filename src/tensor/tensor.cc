#include <torchlet/tensor.h>

#include "tensor/scalar.h"
#include "tensor/tensor_impl.h"

namespace torchlet {
namespace {

const TensorImpl& get(const Ref<TensorImpl>& impl) {
  if (!impl) fail(ErrorCode::kInvalidArgument, "an undefined tensor (None) was used as a tensor");
  return *impl;
}

const Quantizer& quantizer_of(const Tensor& tensor) {
  const TensorImpl& impl = *tensor.impl();
  TORCHLET_CHECK(impl.quantizer, "expected a quantized tensor, got %s", tensor.describe().c_str());
  return *impl.quantizer;
}

// The type that data_ptr<T> asks for when the tensor is quantized.
DType storage_dtype(DType dtype) {
  switch (dtype) {
    case DType::kQInt8:
      return DType::kInt8;
    case DType::kQUInt8:
    case DType::kQUInt4x2:
      return DType::kUInt8;
    case DType::kQInt32:
      return DType::kInt32;
    default:
      return dtype;
  }
}

}  // namespace

Tensor::Tensor() = default;
Tensor::Tensor(const Tensor&) = default;
Tensor::Tensor(Tensor&&) noexcept = default;
Tensor& Tensor::operator=(const Tensor&) = default;
Tensor& Tensor::operator=(Tensor&&) noexcept = default;
Tensor::~Tensor() = default;
Tensor::Tensor(Ref<TensorImpl> impl) : impl_(std::move(impl)) {}

DType Tensor::dtype() const { return get(impl_).dtype; }
int64_t Tensor::dim() const { return get(impl_).dim(); }
IntSpan Tensor::sizes() const { return get(impl_).sizes; }
IntSpan Tensor::strides() const { return get(impl_).strides; }
int64_t Tensor::size(int64_t d) const {
  TORCHLET_CHECK(dim() > 0, "Dimension specified as %lld but tensor has no dimensions",
                 static_cast<long long>(d));
  return impl_->sizes[static_cast<size_t>(wrap_dim(d, dim()))];
}
int64_t Tensor::stride(int64_t d) const {
  TORCHLET_CHECK(dim() > 0, "Dimension specified as %lld but tensor has no dimensions",
                 static_cast<long long>(d));
  return impl_->strides[static_cast<size_t>(wrap_dim(d, dim()))];
}
int64_t Tensor::numel() const { return get(impl_).numel; }
int64_t Tensor::storage_offset() const { return get(impl_).storage_offset; }

bool Tensor::is_contiguous(MemoryFormat format) const {
  const TensorImpl& impl = get(impl_);
  return is_contiguous_as(impl.sizes, impl.strides, format);
}

MemoryFormat Tensor::suggest_memory_format() const {
  const TensorImpl& impl = get(impl_);
  for (const MemoryFormat format : {MemoryFormat::kChannelsLast, MemoryFormat::kChannelsLast3d}) {
    if (has_channels_last_strides(impl.sizes, impl.strides, format)) return format;
  }
  return MemoryFormat::kContiguous;
}

void* Tensor::raw_data() const {
  const TensorImpl& impl = get(impl_);
  TORCHLET_CHECK(impl.storage, "this tensor has no dense memory (it is sparse or nested)");
  return impl.data();
}

void* Tensor::checked_data(DType dtype) const {
  const DType own = storage_dtype(get(impl_).dtype);
  if (own != dtype) {
    fail(ErrorCode::kInvalidArgument, "data_ptr asked for %s but the tensor holds %s",
         dtype_name(dtype).data(), dtype_name(impl_->dtype).data());
  }
  return raw_data();
}

template <typename T>
T Tensor::item() const {
  TORCHLET_CHECK(numel() == 1, "a Tensor with %lld elements cannot be converted to Scalar",
                 static_cast<long long>(numel()));
  return scalar_of(*this).to<T>();
}
template double Tensor::item<double>() const;
template float Tensor::item<float>() const;
template int64_t Tensor::item<int64_t>() const;
template int Tensor::item<int>() const;
template bool Tensor::item<bool>() const;

Tensor Tensor::to(DType dtype) const {
  if (dtype == this->dtype()) return *this;
  TORCHLET_CHECK(
      !torchlet::is_quantized(dtype) && !is_quantized(),
      "a tensor is quantized with quantize_per_tensor and back with dequantize, not with to()");
  Tensor result = empty_like(*this, dtype);
  result.copy_(*this);
  return result;
}

Tensor Tensor::contiguous(MemoryFormat format) const {
  TORCHLET_CHECK(format != MemoryFormat::kPreserve,
                 "preserve memory format is unsupported by the contiguous operator");
  if (is_contiguous(format)) return *this;
  Tensor result = empty(sizes(), dtype(), format);
  result.impl()->quantizer = impl_->quantizer;
  result.copy_(*this);
  return result;
}

Tensor Tensor::clone() const {
  Tensor result = empty_like(*this);
  result.copy_(*this);
  return result;
}

bool Tensor::is_quantized() const { return torchlet::is_quantized(dtype()); }
QScheme Tensor::qscheme() const { return quantizer_of(*this).qscheme; }
double Tensor::q_scale() const {
  TORCHLET_CHECK(quantizer_of(*this).per_tensor(), "q_scale needs a per-tensor quantized tensor");
  return impl_->quantizer->scale;
}
int64_t Tensor::q_zero_point() const {
  TORCHLET_CHECK(quantizer_of(*this).per_tensor(),
                 "q_zero_point needs a per-tensor quantized tensor");
  return impl_->quantizer->zero_point;
}
Tensor Tensor::q_per_channel_scales() const {
  TORCHLET_CHECK(!quantizer_of(*this).per_tensor(),
                 "q_per_channel_scales needs a per-channel quantized tensor");
  return impl_->quantizer->scales;
}
Tensor Tensor::q_per_channel_zero_points() const {
  TORCHLET_CHECK(!quantizer_of(*this).per_tensor(),
                 "q_per_channel_zero_points needs a per-channel quantized tensor");
  return impl_->quantizer->zero_points;
}
int64_t Tensor::q_per_channel_axis() const {
  TORCHLET_CHECK(!quantizer_of(*this).per_tensor(),
                 "q_per_channel_axis needs a per-channel quantized tensor");
  return impl_->quantizer->axis;
}

std::string Tensor::describe() const {
  if (!impl_) return "None";
  return shape_text(impl_->sizes) + " " + std::string(dtype_name(impl_->dtype));
}

Tensor from_blob(void* data, IntSpan sizes, DType dtype, IntSpan strides,
                 std::function<void(void*)> deleter) {
  const IntArray dense = contiguous_strides(sizes);
  if (strides.empty()) strides = dense;
  checked_numel(sizes);
  const int64_t extent = checked_extent(sizes, strides);
  std::shared_ptr<void> keep_alive;
  if (deleter) keep_alive = std::shared_ptr<void>(data, std::move(deleter));
  auto storage = make_ref<Storage>(data, static_cast<size_t>(extent) * element_size(dtype),
                                   std::move(keep_alive));
  return make_tensor(std::move(storage), dtype, sizes, strides, 0);
}

}  // namespace torchlet
