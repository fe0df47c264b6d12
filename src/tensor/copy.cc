// Element conversion between all dtypes, and the strided copy behind Tensor::copy_.
#include <complex>
#include <limits>

#include "tensor/tensor_impl.h"

namespace torchlet {
namespace {

// Every conversion goes through one of three wide types, so that 16 x 16 pairs need 16 x 3 loops.
constexpr int64_t kBlock = 512;

template <typename Wide, typename T>
Wide widen(T value) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    return static_cast<Wide>(static_cast<float>(value));
  } else {
    return static_cast<Wide>(value);
  }
}

// As PyTorch's casts on x86: a float out of range (or NaN) becomes the lowest integer, of 32 bits
// for the types up to int32, of which narrower ones keep the low bits.
template <typename T>
T truncate(double value) {
  if constexpr (sizeof(T) == sizeof(int64_t)) {
    const bool fits = value >= -0x1p63 && value < 0x1p63;
    return fits ? static_cast<T>(value) : std::numeric_limits<T>::min();
  } else {
    const bool fits = value > -0x1p31 - 1 && value < 0x1p31;
    return static_cast<T>(fits ? static_cast<int32_t>(value) : std::numeric_limits<int32_t>::min());
  }
}

template <typename T, typename Wide>
T narrow(Wide value) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    return T(static_cast<float>(value));
  } else if constexpr (std::is_same_v<T, bool>) {
    return value != Wide(0);
  } else if constexpr (std::is_integral_v<T> && std::is_floating_point_v<Wide>) {
    return truncate<T>(static_cast<double>(value));
  } else {
    return static_cast<T>(value);
  }
}

template <typename T, typename Wide>
void load_run(const void* source, int64_t stride, Wide* out, int64_t count) {
  const T* in = static_cast<const T*>(source);
  for (int64_t i = 0; i < count; ++i) out[i] = widen<Wide>(in[i * stride]);
}

template <typename T, typename Wide>
void store_run(const Wide* in, void* target, int64_t stride, int64_t count) {
  T* out = static_cast<T*>(target);
  for (int64_t i = 0; i < count; ++i) out[i * stride] = narrow<T>(in[i]);
}

template <typename Wide>
void load_real(const void* source, DType dtype, int64_t stride, Wide* out, int64_t count) {
  switch (dtype) {
    case DType::kUInt8:
    case DType::kQUInt8:
    case DType::kQUInt4x2:
    case DType::kBool:
      return load_run<uint8_t>(source, stride, out, count);
    case DType::kInt8:
    case DType::kQInt8:
      return load_run<int8_t>(source, stride, out, count);
    case DType::kInt16:
      return load_run<int16_t>(source, stride, out, count);
    case DType::kInt32:
    case DType::kQInt32:
      return load_run<int32_t>(source, stride, out, count);
    case DType::kInt64:
      return load_run<int64_t>(source, stride, out, count);
    case DType::kFloat16:
      return load_run<Half>(source, stride, out, count);
    case DType::kBFloat16:
      return load_run<BFloat16>(source, stride, out, count);
    case DType::kFloat32:
      return load_run<float>(source, stride, out, count);
    case DType::kFloat64:
      return load_run<double>(source, stride, out, count);
    default:
      fail(ErrorCode::kInternal, "load of a complex element as a real number");
  }
}

template <typename Wide>
void store_real(const Wide* in, void* target, DType dtype, int64_t stride, int64_t count) {
  switch (dtype) {
    case DType::kUInt8:
    case DType::kQUInt8:
    case DType::kQUInt4x2:
      return store_run<uint8_t>(in, target, stride, count);
    case DType::kBool:
      return store_run<bool>(in, target, stride, count);
    case DType::kInt8:
    case DType::kQInt8:
      return store_run<int8_t>(in, target, stride, count);
    case DType::kInt16:
      return store_run<int16_t>(in, target, stride, count);
    case DType::kInt32:
    case DType::kQInt32:
      return store_run<int32_t>(in, target, stride, count);
    case DType::kInt64:
      return store_run<int64_t>(in, target, stride, count);
    case DType::kFloat16:
      return store_run<Half>(in, target, stride, count);
    case DType::kBFloat16:
      return store_run<BFloat16>(in, target, stride, count);
    case DType::kFloat32:
      return store_run<float>(in, target, stride, count);
    case DType::kFloat64:
      return store_run<double>(in, target, stride, count);
    default:
      fail(ErrorCode::kInternal, "store of a real number as a complex element");
  }
}

void load_complex(const void* source, DType dtype, int64_t stride, std::complex<double>* out,
                  int64_t count) {
  if (dtype == DType::kComplex128) {
    const auto* in = static_cast<const std::complex<double>*>(source);
    for (int64_t i = 0; i < count; ++i) out[i] = in[i * stride];
  } else if (dtype == DType::kComplex64) {
    const auto* in = static_cast<const std::complex<float>*>(source);
    for (int64_t i = 0; i < count; ++i) out[i] = std::complex<double>(in[i * stride]);
  } else if (dtype == DType::kComplex32) {
    const auto* in = static_cast<const Half*>(source);
    for (int64_t i = 0; i < count; ++i) {
      out[i] = {static_cast<float>(in[2 * i * stride]), static_cast<float>(in[2 * i * stride + 1])};
    }
  } else {
    double block[kBlock];
    load_real(source, dtype, stride, block, count);
    for (int64_t i = 0; i < count; ++i) out[i] = block[i];
  }
}

void store_complex(const std::complex<double>* in, void* target, DType dtype, int64_t stride,
                   int64_t count) {
  if (dtype == DType::kComplex128) {
    auto* out = static_cast<std::complex<double>*>(target);
    for (int64_t i = 0; i < count; ++i) out[i * stride] = in[i];
  } else if (dtype == DType::kComplex64) {
    auto* out = static_cast<std::complex<float>*>(target);
    for (int64_t i = 0; i < count; ++i) out[i * stride] = std::complex<float>(in[i]);
  } else if (dtype == DType::kComplex32) {
    auto* out = static_cast<Half*>(target);
    for (int64_t i = 0; i < count; ++i) {
      out[2 * i * stride] = Half(static_cast<float>(in[i].real()));
      out[2 * i * stride + 1] = Half(static_cast<float>(in[i].imag()));
    }
  } else {
    double block[kBlock];
    for (int64_t i = 0; i < count; ++i) block[i] = in[i].real();
    store_real(block, target, dtype, stride, count);
  }
}

template <typename T>
void copy_run(const void* source, int64_t source_stride, void* target, int64_t target_stride,
              int64_t count) {
  const T* in = static_cast<const T*>(source);
  T* out = static_cast<T*>(target);
  for (int64_t i = 0; i < count; ++i) out[i * target_stride] = in[i * source_stride];
}

void copy_same(const void* source, int64_t source_stride, void* target, int64_t target_stride,
               int64_t count, size_t width) {
  if (source_stride == 1 && target_stride == 1) {
    std::memmove(target, source, static_cast<size_t>(count) * width);
    return;
  }
  switch (width) {
    case 1:
      return copy_run<uint8_t>(source, source_stride, target, target_stride, count);
    case 2:
      return copy_run<uint16_t>(source, source_stride, target, target_stride, count);
    case 4:
      return copy_run<uint32_t>(source, source_stride, target, target_stride, count);
    case 8:
      return copy_run<uint64_t>(source, source_stride, target, target_stride, count);
    default:
      return copy_run<std::complex<double>>(source, source_stride, target, target_stride, count);
  }
}

// Both views are walked with the same index; dimensions that are mergeable in both become one.
struct CopyLoop {
  IntArray sizes, source_strides, target_strides;

  void add(int64_t size, int64_t source, int64_t target) {
    if (size == 1) return;
    sizes.push_back(size);
    source_strides.push_back(source);
    target_strides.push_back(target);
  }
  void coalesce() {
    // Innermost first by target stride, so that writes run along memory.
    IntArray order(sizes.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return target_strides[static_cast<size_t>(a)] < target_strides[static_cast<size_t>(b)];
    });
    CopyLoop merged;
    for (int64_t d : order) {
      const size_t i = static_cast<size_t>(d);
      if (!merged.sizes.empty() &&
          merged.source_strides.back() * merged.sizes.back() == source_strides[i] &&
          merged.target_strides.back() * merged.sizes.back() == target_strides[i]) {
        merged.sizes.back() *= sizes[i];
      } else {
        merged.add(sizes[i], source_strides[i], target_strides[i]);
      }
    }
    *this = std::move(merged);
    if (sizes.empty()) {
      sizes.push_back(1);
      source_strides.push_back(1);
      target_strides.push_back(1);
    }
  }
};

bool overlaps(const TensorImpl& a, const TensorImpl& b) {
  return a.storage.get() == b.storage.get();
}

}  // namespace

void convert_elements(const void* source, DType source_dtype, int64_t source_stride, void* target,
                      DType target_dtype, int64_t target_stride, int64_t count) {
  if (source_dtype == target_dtype) {
    copy_same(source, source_stride, target, target_stride, count, element_size(source_dtype));
    return;
  }
  const auto* in = static_cast<const std::byte*>(source);
  auto* out = static_cast<std::byte*>(target);
  const int64_t in_step = source_stride * static_cast<int64_t>(element_size(source_dtype));
  const int64_t out_step = target_stride * static_cast<int64_t>(element_size(target_dtype));
  const bool complex = is_complex(source_dtype) || is_complex(target_dtype);
  const bool floating = is_floating_point(source_dtype) || is_floating_point(target_dtype);
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t n = std::min(kBlock, count - begin);
    const void* from = in + begin * in_step;
    void* to = out + begin * out_step;
    if (complex) {
      std::complex<double> block[kBlock];
      load_complex(from, source_dtype, source_stride, block, n);
      store_complex(block, to, target_dtype, target_stride, n);
    } else if (floating && source_dtype != DType::kInt64) {
      double block[kBlock];
      load_real(from, source_dtype, source_stride, block, n);
      store_real(block, to, target_dtype, target_stride, n);
    } else {  // integers keep all 64 bits; int64 -> float rounds once
      int64_t block[kBlock];
      load_real(from, source_dtype, source_stride, block, n);
      store_real(block, to, target_dtype, target_stride, n);
    }
  }
}

void Tensor::copy_(const Tensor& source) const {
  const TensorImpl& target = *impl_;
  TORCHLET_CHECK(target.storage && source.impl() && source.impl()->storage,
                 "copy_ needs two dense tensors");
  Tensor from = source;
  if (overlaps(target, *source.impl()) && target.numel > 1 &&
      !(target.storage_offset == source.storage_offset() && dtype() == source.dtype() &&
        std::ranges::equal(sizes(), source.sizes()) &&
        std::ranges::equal(strides(), source.strides()))) {
    from = source.clone();  // reading and writing the same memory in different orders
  }
  const TensorImpl& in = *from.impl();
  const size_t rank = target.sizes.size();
  const auto refuse_shape = [&] {
    fail(ErrorCode::kRuntime, "output with shape " + shape_text(target.sizes) +
                                  " doesn't match the broadcast shape " + shape_text(in.sizes));
  };
  if (in.sizes.size() > rank) refuse_shape();
  CopyLoop loop;
  const size_t lead = rank - in.sizes.size();
  for (size_t i = 0; i < rank; ++i) {
    const int64_t size = i < lead ? 1 : in.sizes[i - lead];
    if (target.sizes[i] == 1 && size != 1) refuse_shape();
    TORCHLET_CHECK(
        size == target.sizes[i] || size == 1,
        "The size of tensor a (%lld) must match the size of tensor b (%lld) at non-singleton "
        "dimension %zu",
        static_cast<long long>(target.sizes[i]), static_cast<long long>(size), i);
    const int64_t stride = size == 1 ? 0 : in.strides[i - lead];
    loop.add(target.sizes[i], stride, target.strides[i]);
  }
  if (target.numel == 0) return;
  loop.coalesce();

  const auto* source_data = static_cast<const std::byte*>(from.raw_data());
  auto* target_data = static_cast<std::byte*>(raw_data());
  const int64_t source_width = static_cast<int64_t>(element_size(in.dtype));
  const int64_t target_width = static_cast<int64_t>(element_size(target.dtype));
  IntArray index(loop.sizes.size());
  for (;;) {
    int64_t source_offset = 0, target_offset = 0;
    for (size_t d = 1; d < index.size(); ++d) {
      source_offset += index[d] * loop.source_strides[d];
      target_offset += index[d] * loop.target_strides[d];
    }
    convert_elements(source_data + source_offset * source_width, in.dtype, loop.source_strides[0],
                     target_data + target_offset * target_width, target.dtype,
                     loop.target_strides[0], loop.sizes[0]);
    size_t d = 1;
    while (d < index.size() && ++index[d] == loop.sizes[d]) index[d++] = 0;
    if (d >= index.size()) return;
  }
}

}  // namespace torchlet
