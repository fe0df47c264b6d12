// Element conversion between all dtypes, and the strided copy behind Tensor::copy_.
#include <complex>
#include <limits>
#include <optional>

#include "base/selection.h"
#include "base/sort.h"
#include "base/thread_pool.h"
#include "kernels/elementwise/convert.h"
#include "kernels/layout/transpose.h"
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

// False if it has no loop of its own.
[[maybe_unused]] bool convert_dense(const void* source, DType source_dtype, void* target,
                                    DType target_dtype, int64_t count) {
  using kernels::NumberType;
  const auto number_type = [](DType dtype) -> std::optional<NumberType> {
    switch (dtype) {
      case DType::kUInt8:
      case DType::kQUInt8:
        return NumberType::kU8;
      case DType::kInt8:
      case DType::kQInt8:
        return NumberType::kI8;
      case DType::kInt16:
        return NumberType::kI16;
      case DType::kInt32:
      case DType::kQInt32:
        return NumberType::kI32;
      case DType::kInt64:
        return NumberType::kI64;
      case DType::kFloat16:
        return NumberType::kF16;
      case DType::kBFloat16:
        return NumberType::kBF16;
      case DType::kFloat32:
        return NumberType::kF32;
      case DType::kFloat64:
        return NumberType::kF64;
      case DType::kBool:
        return NumberType::kBool;
      default:
        return std::nullopt;
    }
  };
  if (source_dtype == DType::kFloat32 && target_dtype == DType::kComplex64) {
    std::copy_n(static_cast<const float*>(source), count,
                static_cast<std::complex<float>*>(target));
    return true;
  }
  const auto from = number_type(source_dtype), to = number_type(target_dtype);
  return from && to && kernels::convert(*from, source, *to, target, count);
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

// One plane of a copy without conversion: element (row, i) lies at row * stride1 + i * stride0.
template <typename T>
struct Plane {
  const T* source;
  int64_t source0, source1;
  T* target;
  int64_t target0, target1;
};

// Elements that follow each other along rows in the target and along columns in the source: tiles
// keep the cache lines of both.
template <typename T>
void transpose_plane(const Plane<T>& p, int64_t count, int64_t rows) {
  constexpr int64_t kTile = 16;
  for (int64_t row = 0; row < rows; row += kTile) {
    const int64_t row_end = std::min(rows, row + kTile);
    for (int64_t at = 0; at < count; at += kTile) {
      const int64_t end = std::min(count, at + kTile);
      for (int64_t r = row; r < row_end; ++r) {
        const T* from = p.source + r;
        T* to = p.target + r * p.target1;
        for (int64_t i = at; i < end; ++i) to[i] = from[i * p.source0];
      }
    }
  }
}

// By what is there already, twice as much each time.
template <typename T>
void fill_run(T value, T* to, int64_t count) {
  constexpr int64_t kFirst = 64 / sizeof(T), kMost = 4096 / sizeof(T);
  int64_t done = std::min(count, kFirst);
  std::fill_n(to, done, value);
  for (int64_t more; done < count; done += more) {
    more = std::min({done, count - done, kMost});
    std::memcpy(to + done, to, static_cast<size_t>(more) * sizeof(T));
  }
}

// Rows of kHalf to 2 * kHalf bytes, as two pieces that may overlap: each is an instruction or two,
// where memcpy() of an unknown number is a call. Steps are bytes.
template <size_t kHalf>
void copy_halves(const std::byte* from, int64_t from_step, std::byte* to, int64_t to_step,
                 size_t size, int64_t rows) {
  for (int64_t r = 0; r < rows; ++r, from += from_step, to += to_step) {
    std::byte first[kHalf], last[kHalf];
    std::memcpy(first, from, kHalf);
    std::memcpy(last, from + size - kHalf, kHalf);
    std::memcpy(to, first, kHalf);
    std::memcpy(to + size - kHalf, last, kHalf);
  }
}

constexpr size_t kShortRow = 64;  // bytes

void copy_short_rows(const void* source, int64_t from_step, void* target, int64_t to_step,
                     size_t size, int64_t rows) {
  const auto* from = static_cast<const std::byte*>(source);
  auto* to = static_cast<std::byte*>(target);
  const auto copy = size <= 8    ? copy_halves<4>
                    : size <= 16 ? copy_halves<8>
                    : size <= 32 ? copy_halves<16>
                                 : copy_halves<32>;
  copy(from, from_step, to, to_step, size, rows);
}

template <typename T>
void copy_plane(const Plane<T>& p, int64_t count, int64_t rows) {
  const size_t row_size = static_cast<size_t>(count) * sizeof(T);
  if (selection::kHasConversions && p.source0 == 0 && p.target0 == 1) {
    for (int64_t r = 0; r < rows; ++r) {
      fill_run(p.source[r * p.source1], p.target + r * p.target1, count);
    }
  } else if (selection::kHasConversions && p.source0 == 1 && p.target0 == 1 && row_size >= 4 &&
             row_size <= kShortRow) {
    constexpr auto kSize = static_cast<int64_t>(sizeof(T));
    copy_short_rows(p.source, p.source1 * kSize, p.target, p.target1 * kSize, row_size, rows);
  } else if (p.source0 == 1 && p.target0 == 1) {
    for (int64_t r = 0; r < rows; ++r) {
      std::memcpy(p.target + r * p.target1, p.source + r * p.source1, row_size);
    }
  } else if (p.target0 == 1 && p.source1 == 1) {
    transpose_plane(p, count, rows);
  } else {
    for (int64_t r = 0; r < rows; ++r) {
      const T* from = p.source + r * p.source1;
      T* to = p.target + r * p.target1;
      for (int64_t i = 0; i < count; ++i) to[i * p.target0] = from[i * p.source0];
    }
  }
}

// Both views are walked with the same index; dimensions that are mergeable in both become one.
// Dimension 0 is the innermost. Elements that share memory are written in row-major order, so that
// the last one stays.
class CopyLoop {
 public:
  CopyLoop(const TensorImpl& source, const TensorImpl& target) : source_(source), target_(target) {}

  void add(int64_t size, int64_t source, int64_t target) {
    if (size == 1) return;
    sizes_.push_back(size);
    source_strides_.push_back(source);
    target_strides_.push_back(target);
  }

  void run() {
    coalesce();
    while (sizes_.size() < 2) {
      sizes_.push_back(1);
      source_strides_.push_back(1);
      target_strides_.push_back(1);
    }
    const int64_t count = sizes_[0], rows_per_plane = sizes_[1];
    int64_t rows = rows_per_plane;
    for (size_t d = 2; d < sizes_.size(); ++d) rows *= sizes_[d];
    if (!may_split()) return copy_rows(0, rows, 0, count);
    if constexpr (selection::kHasConversions) {
      if (reorders()) return copy_reordered();
    }
    if (rows == 1) {
      parallel_for(count, kParallelElements,
                   [&](int64_t begin, int64_t end) { copy_rows(0, 1, begin, end); });
      return;
    }
    parallel_for(rows, std::max<int64_t>(1, kParallelElements / count),
                 [&](int64_t begin, int64_t end) { copy_rows(begin, end, 0, count); });
  }

 private:
  static constexpr int64_t kParallelElements = 65536;

  // Innermost first by target stride, so that writes run along memory.
  void coalesce() {
    IntArray order;
    for (size_t i = sizes_.size(); i-- > 0;) order.push_back(static_cast<int64_t>(i));
    stable_sort(order, [&](int64_t a, int64_t b) {
      return target_strides_[static_cast<size_t>(a)] < target_strides_[static_cast<size_t>(b)];
    });
    IntArray sizes, from, to;
    for (int64_t d : order) {
      const size_t i = static_cast<size_t>(d);
      if (!sizes.empty() && from.back() * sizes.back() == source_strides_[i] &&
          to.back() * sizes.back() == target_strides_[i]) {
        sizes.back() *= sizes_[i];
      } else {
        sizes.push_back(sizes_[i]);
        from.push_back(source_strides_[i]);
        to.push_back(target_strides_[i]);
      }
    }
    sizes_ = std::move(sizes);
    source_strides_ = std::move(from);
    target_strides_ = std::move(to);
  }

  // No two elements of the target share memory: then threads may write them in any order.
  bool may_split() const {
    int64_t reach = 1;
    for (size_t d = 0; d < sizes_.size(); ++d) {
      if (sizes_[d] == 1) continue;
      if (target_strides_[d] < reach) return false;
      reach = target_strides_[d] * sizes_[d];
    }
    return true;
  }

  // Without conversion, and what follows in the target does not in the source, or few bytes do, or
  // planes are small.
  bool reorders() const {
    const auto width = static_cast<int64_t>(element_size(source_.dtype));
    constexpr int64_t kWidest = sizeof(int64_t), kSmallPlane = 16;
    const bool has_small_planes = sizes_.size() > 2 && sizes_[0] * sizes_[1] <= kSmallPlane;
    return source_.dtype == target_.dtype && width <= kWidest &&
           sizes_.size() <= kernels::kMaxCopyDims && target_strides_[0] == 1 &&
           (source_strides_[0] > 1 || (source_strides_[0] == 1 && sizes_[1] > 1 &&
                                       (has_small_planes || sizes_[0] * width <= kWidest)));
  }

  void copy_reordered() const {
    kernels::copy_strided(static_cast<int64_t>(element_size(source_.dtype)),
                          static_cast<int>(sizes_.size()), sizes_.data(), source_.data(),
                          source_strides_.data(), target_.data(), target_strides_.data());
  }

  // Elements [first, last) of the rows [begin, end), counted over all planes.
  void copy_rows(int64_t begin, int64_t end, int64_t first, int64_t last) const {
    while (begin < end) {
      const int64_t row = begin % sizes_[1];
      const int64_t rows = std::min(end - begin, sizes_[1] - row);
      int64_t from = row * source_strides_[1] + first * source_strides_[0];
      int64_t to = row * target_strides_[1] + first * target_strides_[0];
      int64_t plane = begin / sizes_[1];
      for (size_t d = 2; d < sizes_.size(); ++d) {
        from += plane % sizes_[d] * source_strides_[d];
        to += plane % sizes_[d] * target_strides_[d];
        plane /= sizes_[d];
      }
      copy_part(from, to, last - first, rows);
      begin += rows;
    }
  }

  void copy_part(int64_t from, int64_t to, int64_t count, int64_t rows) const {
    if (source_.dtype == target_.dtype) {
      switch (element_size(source_.dtype)) {
        case 1:
          return copy_plane(plane<uint8_t>(from, to), count, rows);
        case 2:
          return copy_plane(plane<uint16_t>(from, to), count, rows);
        case 4:
          return copy_plane(plane<uint32_t>(from, to), count, rows);
        case 8:
          return copy_plane(plane<uint64_t>(from, to), count, rows);
        default:
          return copy_plane(plane<std::complex<double>>(from, to), count, rows);
      }
    }
    const auto source_width = static_cast<int64_t>(element_size(source_.dtype));
    const auto target_width = static_cast<int64_t>(element_size(target_.dtype));
    for (int64_t r = 0; r < rows; ++r) {
      convert_elements(source_.data() + (from + r * source_strides_[1]) * source_width,
                       source_.dtype, source_strides_[0],
                       target_.data() + (to + r * target_strides_[1]) * target_width, target_.dtype,
                       target_strides_[0], count);
    }
  }

  template <typename T>
  Plane<T> plane(int64_t from, int64_t to) const {
    return {
        reinterpret_cast<const T*>(source_.data()) + from, source_strides_[0], source_strides_[1],
        reinterpret_cast<T*>(target_.data()) + to,         target_strides_[0], target_strides_[1]};
  }

  const TensorImpl& source_;
  const TensorImpl& target_;
  IntArray sizes_, source_strides_, target_strides_;
};

bool overlaps(const TensorImpl& a, const TensorImpl& b) {
  return a.storage.get() == b.storage.get();
}

}  // namespace

void convert_elements(const void* source, DType source_dtype, int64_t source_stride, void* target,
                      DType target_dtype, int64_t target_stride, int64_t count) {
  if (count == 0) return;  // then the pointers may be null
  if (source_dtype == target_dtype) {
    copy_same(source, source_stride, target, target_stride, count, element_size(source_dtype));
    return;
  }
  if constexpr (selection::kHasConversions) {
    constexpr int64_t kWorthALoop = 32;
    if (count >= kWorthALoop && source_stride == 1 && target_stride == 1 &&
        convert_dense(source, source_dtype, target, target_dtype, count)) {
      return;
    }
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
  if (!target.storage->is_meta() && overlaps(target, *source.impl()) && target.numel > 1 &&
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
  CopyLoop loop(in, target);
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
  if (target.numel == 0 || target.storage->is_meta()) return;
  loop.run();
}

}  // namespace torchlet
