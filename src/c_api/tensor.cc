#include <cmath>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "c_api/handles.h"
#include "tensor/tensor_impl.h"

using namespace torchlet;
using namespace torchlet::c_api;

static_assert(static_cast<int>(DType::kUInt8) == TORCHLET_UINT8);
static_assert(static_cast<int>(DType::kInt8) == TORCHLET_INT8);
static_assert(static_cast<int>(DType::kInt16) == TORCHLET_INT16);
static_assert(static_cast<int>(DType::kInt32) == TORCHLET_INT32);
static_assert(static_cast<int>(DType::kInt64) == TORCHLET_INT64);
static_assert(static_cast<int>(DType::kFloat16) == TORCHLET_FLOAT16);
static_assert(static_cast<int>(DType::kFloat32) == TORCHLET_FLOAT32);
static_assert(static_cast<int>(DType::kFloat64) == TORCHLET_FLOAT64);
static_assert(static_cast<int>(DType::kComplex32) == TORCHLET_COMPLEX32);
static_assert(static_cast<int>(DType::kComplex64) == TORCHLET_COMPLEX64);
static_assert(static_cast<int>(DType::kComplex128) == TORCHLET_COMPLEX128);
static_assert(static_cast<int>(DType::kBool) == TORCHLET_BOOL);
static_assert(static_cast<int>(DType::kQInt8) == TORCHLET_QINT8);
static_assert(static_cast<int>(DType::kQUInt8) == TORCHLET_QUINT8);
static_assert(static_cast<int>(DType::kQInt32) == TORCHLET_QINT32);
static_assert(static_cast<int>(DType::kBFloat16) == TORCHLET_BFLOAT16);
static_assert(static_cast<int>(DType::kQUInt4x2) == TORCHLET_QUINT4X2);
static_assert(kNumDTypes == TORCHLET_QUINT4X2 + 1);
static_assert(static_cast<int>(MemoryFormat::kContiguous) == TORCHLET_CONTIGUOUS);
static_assert(static_cast<int>(MemoryFormat::kChannelsLast) == TORCHLET_CHANNELS_LAST);
static_assert(static_cast<int>(MemoryFormat::kChannelsLast3d) == TORCHLET_CHANNELS_LAST_3D);

namespace {

// What a tensor over the caller's memory calls when it goes.
struct Release {
  void (*function)(void*) = nullptr;
  void* context = nullptr;
};

IntSpan given_sizes(const int64_t* sizes, size_t dims) {
  if (dims > static_cast<size_t>(kMaxDims)) {
    fail(ErrorCode::kInvalidArgument, "a tensor of %zu dimensions; %lld are the most", dims,
         static_cast<long long>(kMaxDims));
  }
  return dims ? IntSpan(&given(sizes, "sizes"), dims) : IntSpan();
}

// Of a tensor that is more than its memory: sparse and nested ones are not.
const Tensor& dense(const Tensor& tensor) {
  if (!tensor.impl()->storage) {
    fail(ErrorCode::kInvalidArgument, "the tensor is sparse or nested: it has no dense memory");
  }
  return tensor;
}

DType unquantized(torchlet_dtype dtype) {
  const DType own = dtype_of(dtype);
  if (is_quantized(own)) {
    fail(ErrorCode::kInvalidArgument,
         "a tensor of %s needs a scale: make it of integers with torchlet_tensor_quantized()",
         dtype_name(own).data());
  }
  return own;
}

// The quantized dtype that holds such integers, and the range of its zero points.
struct QuantizedAs {
  DType dtype;
  int64_t least, most;
};
QuantizedAs quantized_as(DType integers) {
  switch (integers) {
    case DType::kUInt8:
      return {DType::kQUInt8, 0, 255};
    case DType::kInt8:
      return {DType::kQInt8, -128, 127};
    case DType::kInt32:
      return {DType::kQInt32, std::numeric_limits<int32_t>::min(),
              std::numeric_limits<int32_t>::max()};
    default:
      fail(ErrorCode::kInvalidArgument,
           "quantized tensors are made of uint8, int8 or int32, not of %s",
           dtype_name(integers).data());
  }
}

}  // namespace

namespace torchlet::c_api {

DType dtype_of(torchlet_dtype dtype) {
  if (dtype < 0 || dtype >= kNumDTypes) {
    fail(ErrorCode::kInvalidArgument, "there is no dtype %d", static_cast<int>(dtype));
  }
  return static_cast<DType>(dtype);
}

MemoryFormat format_of(torchlet_memory_format format, size_t dims) {
  switch (format) {
    case TORCHLET_CONTIGUOUS:
      return MemoryFormat::kContiguous;
    case TORCHLET_CHANNELS_LAST:
      if (dims == 4) return MemoryFormat::kChannelsLast;
      fail(ErrorCode::kInvalidArgument, "channels last needs 4 dimensions, not %zu", dims);
    case TORCHLET_CHANNELS_LAST_3D:
      if (dims == 5) return MemoryFormat::kChannelsLast3d;
      fail(ErrorCode::kInvalidArgument, "channels last in 3D needs 5 dimensions, not %zu", dims);
  }
  fail(ErrorCode::kInvalidArgument, "there is no memory format %d", static_cast<int>(format));
}

}  // namespace torchlet::c_api

torchlet_status torchlet_tensor_new(torchlet_dtype dtype, const int64_t* sizes, size_t dims,
                                    torchlet_memory_format format, torchlet_tensor** tensor) {
  return guarded([&] {
    torchlet_tensor*& result = given(tensor, "tensor");
    const Tensor made =
        empty(given_sizes(sizes, dims), unquantized(dtype), format_of(format, dims));
    std::memset(made.raw_data(), 0, static_cast<size_t>(made.numel()) * element_size(made.dtype()));
    result = new torchlet_tensor{made};
  });
}

torchlet_status torchlet_tensor_from_memory(void* data, torchlet_dtype dtype, const int64_t* sizes,
                                            const int64_t* strides, size_t dims,
                                            void (*release)(void* context), void* context,
                                            torchlet_tensor** tensor) {
  return guarded([&] {
    torchlet_tensor*& result = given(tensor, "tensor");
    const IntSpan shape = given_sizes(sizes, dims);
    const DType own = unquantized(dtype);
    if (!data && checked_numel(shape)) fail_null("data");
    const size_t alignment = element_size(own) / (is_complex(own) ? 2 : 1);
    if (reinterpret_cast<uintptr_t>(data) % alignment) {
      fail(ErrorCode::kInvalidArgument, "data of dtype %s is not aligned to %zu bytes",
           dtype_name(own).data(), alignment);
    }
    // Armed at last: what fails before leaves the memory to the caller.
    const auto at_end = std::make_shared<Release>();
    const auto deleter = [at_end](void*) {
      if (at_end->function) at_end->function(at_end->context);
    };
    result = new torchlet_tensor{
        from_blob(data, shape, own, strides ? IntSpan(strides, dims) : IntSpan(), deleter)};
    *at_end = {release, context};
  });
}

torchlet_status torchlet_tensor_quantized(const torchlet_tensor* integers, double scale,
                                          int64_t zero_point, torchlet_tensor** tensor) {
  return guarded([&] {
    torchlet_tensor*& result = given(tensor, "tensor");
    const Tensor& of = dense(given(integers, "integers").tensor);
    const QuantizedAs quantized = quantized_as(of.dtype());
    if (!(scale > 0) || std::isinf(scale)) {
      fail(ErrorCode::kInvalidArgument, "the scale of a quantized tensor is positive, not %g",
           scale);
    }
    if (zero_point < quantized.least || zero_point > quantized.most) {
      fail(ErrorCode::kInvalidArgument, "the zero point %lld is no %s",
           static_cast<long long>(zero_point), dtype_name(of.dtype()).data());
    }
    const Tensor made = make_view(of, of.sizes(), of.strides(), of.storage_offset());
    made.impl()->dtype = quantized.dtype;
    made.impl()->quantizer = per_tensor_quantizer(scale, zero_point);
    result = new torchlet_tensor{made};
  });
}

void torchlet_tensor_free(torchlet_tensor* tensor) { delete tensor; }

torchlet_dtype torchlet_tensor_dtype(const torchlet_tensor* tensor) {
  return answered(
      [&] { return static_cast<torchlet_dtype>(given(tensor, "tensor").tensor.dtype()); });
}

size_t torchlet_tensor_dims(const torchlet_tensor* tensor) {
  return answered([&] { return given(tensor, "tensor").tensor.sizes().size(); });
}

const int64_t* torchlet_tensor_sizes(const torchlet_tensor* tensor) {
  return answered([&] { return given(tensor, "tensor").tensor.sizes().data(); });
}

const int64_t* torchlet_tensor_strides(const torchlet_tensor* tensor) {
  return answered([&] { return dense(given(tensor, "tensor").tensor).strides().data(); });
}

int64_t torchlet_tensor_numel(const torchlet_tensor* tensor) {
  return answered([&] { return given(tensor, "tensor").tensor.numel(); });
}

size_t torchlet_tensor_element_size(const torchlet_tensor* tensor) {
  return answered([&] { return element_size(given(tensor, "tensor").tensor.dtype()); });
}

void* torchlet_tensor_data(const torchlet_tensor* tensor) {
  return answered([&] { return dense(given(tensor, "tensor").tensor).raw_data(); });
}

int torchlet_tensor_is_contiguous(const torchlet_tensor* tensor, torchlet_memory_format format) {
  return answered([&] {
    const Tensor& own = given(tensor, "tensor").tensor;
    const MemoryFormat wanted = format_of(format, own.sizes().size());
    return own.impl()->storage && own.is_contiguous(wanted) ? 1 : 0;
  });
}

torchlet_status torchlet_tensor_quantizer(const torchlet_tensor* tensor, double* scale,
                                          int64_t* zero_point) {
  return guarded([&] {
    double& own_scale = given(scale, "scale");
    int64_t& own_zero_point = given(zero_point, "zero_point");
    const Tensor& own = given(tensor, "tensor").tensor;
    const Quantizer* quantizer = own.impl()->quantizer.get();
    if (!quantizer || !quantizer->per_tensor()) {
      fail(ErrorCode::kInvalidArgument,
           "expected a tensor that is quantized with one scale, got " + own.describe());
    }
    own_scale = quantizer->scale;
    own_zero_point = quantizer->zero_point;
  });
}

torchlet_status torchlet_tensor_to(const torchlet_tensor* tensor, torchlet_dtype dtype,
                                   torchlet_memory_format format, torchlet_tensor** result) {
  return guarded([&] {
    torchlet_tensor*& converted = given(result, "result");
    const Tensor& own = dense(given(tensor, "tensor").tensor);
    const DType wanted = dtype_of(dtype);
    const MemoryFormat order = format_of(format, own.sizes().size());
    if (wanted != own.dtype() && (is_quantized(wanted) || own.is_quantized())) {
      fail(ErrorCode::kInvalidArgument, "%s cannot be converted to %s: one of them needs a scale",
           dtype_name(own.dtype()).data(), dtype_name(wanted).data());
    }
    converted = new torchlet_tensor{own.to(wanted).contiguous(order)};
  });
}

const char* torchlet_dtype_name(torchlet_dtype dtype) {
  return dtype >= 0 && dtype < kNumDTypes ? dtype_name(static_cast<DType>(dtype)).data() : "?";
}
