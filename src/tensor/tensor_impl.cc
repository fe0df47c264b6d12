#include "tensor/tensor_impl.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/checked.h"
#include "base/selection.h"
#include "tensor/meta.h"
#include "tensor/result_place.h"

namespace torchlet {

int64_t checked_extent(IntSpan sizes, IntSpan strides) {
  if (sizes.size() != strides.size()) {
    fail(ErrorCode::kInvalidArgument, "a tensor has %zu sizes but %zu strides", sizes.size(),
         strides.size());
  }
  int64_t extent = 1, beyond = 1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    // One step more, so that the ends of ranges can be computed too.
    int64_t reach;
    if (strides[i] < 0 ||
        __builtin_mul_overflow(std::max<int64_t>(sizes[i], 1), strides[i], &reach) ||
        __builtin_add_overflow(beyond, reach, &beyond)) {
      fail(ErrorCode::kInvalidArgument, "tensor strides are negative or overflow");
    }
    extent += reach - strides[i];
  }
  return std::ranges::find(sizes, 0) == sizes.end() ? extent : 0;
}

namespace {

void check_bounds(const Storage& storage, DType dtype, IntSpan sizes, IntSpan strides,
                  int64_t storage_offset) {
  const int64_t extent = checked_extent(sizes, strides);
  // Of an empty view as well, so that its offset can be moved by its strides.
  int64_t reach = storage_offset, end;
  for (size_t i = 0; i < sizes.size(); ++i) {
    reach = checked_add(reach, std::max<int64_t>(sizes[i], 1) * strides[i]);
  }
  if (storage_offset < 0 || __builtin_add_overflow(storage_offset, extent, &end) ||
      static_cast<uint64_t>(extent == 0 ? 0 : end) > storage.nbytes() / element_size(dtype)) {
    fail(ErrorCode::kInvalidArgument,
         "a tensor view (offset %lld, %lld elements on) "
         "reaches outside its storage of %zu bytes",
         static_cast<long long>(storage_offset), static_cast<long long>(extent), storage.nbytes());
  }
}

}  // namespace

std::string shape_text(IntSpan sizes) {
  std::string text = "[";
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (i) text += ", ";
    text += std::to_string(sizes[i]);
  }
  return text + "]";
}

int64_t checked_numel(IntSpan sizes) {
  int64_t product = 1;
  bool empty = false;
  for (int64_t size : sizes) {
    if (size < 0) {
      fail(ErrorCode::kInvalidArgument, "negative dimension %lld in a tensor's shape",
           static_cast<long long>(size));
    }
    empty |= size == 0;
    if (__builtin_mul_overflow(product, std::max<int64_t>(size, 1), &product)) {
      fail(ErrorCode::kInvalidArgument, "the number of elements of a tensor overflows: %s",
           shape_text(sizes).c_str());
    }
  }
  return empty ? 0 : product;
}

void TensorImpl::update_numel() { numel = checked_numel(sizes); }

namespace {

// Dimensions from the innermost outwards; for channels last C is the innermost, then W, H, (D,) N.
IntArray dimension_order(size_t rank, bool channels_last) {
  IntArray order;
  if (channels_last) order.push_back(1);
  for (size_t dim = rank; dim-- > 0;) {
    if (!channels_last || dim != 1) order.push_back(static_cast<int64_t>(dim));
  }
  return order;
}

bool is_channels_last(MemoryFormat format) {
  return format == MemoryFormat::kChannelsLast || format == MemoryFormat::kChannelsLast3d;
}

size_t channels_last_rank(MemoryFormat format) {
  return format == MemoryFormat::kChannelsLast ? 4 : 5;
}

}  // namespace

IntArray contiguous_strides(IntSpan sizes) {
  IntArray strides(sizes.size());
  int64_t stride = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = stride;
    stride = checked_mul(stride, std::max<int64_t>(sizes[i], 1));
  }
  return strides;
}

IntArray strides_for(IntSpan sizes, MemoryFormat format) {
  if (!is_channels_last(format)) return contiguous_strides(sizes);
  const size_t rank = channels_last_rank(format);
  TORCHLET_CHECK(sizes.size() == rank, "required rank %zu tensor to use channels_last format",
                 rank);
  IntArray strides(rank);
  int64_t stride = 1;
  for (const int64_t dim : dimension_order(rank, true)) {
    strides[static_cast<size_t>(dim)] = stride;
    stride = checked_mul(stride, sizes[static_cast<size_t>(dim)]);
  }
  return strides;
}

bool is_contiguous_as(IntSpan sizes, IntSpan strides, MemoryFormat format) {
  if (is_channels_last(format)) {
    if (sizes.size() != channels_last_rank(format)) return false;
  } else if (std::ranges::find(sizes, 0) != sizes.end()) {
    return true;
  }
  const IntArray expected = strides_for(sizes, format);
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] != 1 && strides[i] != expected[i]) return false;
  }
  return true;
}

// c10/core/MemoryFormat.h, is_channels_last_strides_2d_s4.
bool has_channels_last_strides(IntSpan sizes, IntSpan strides, MemoryFormat format) {
  const size_t rank = channels_last_rank(format);
  if (sizes.size() != rank || strides[1] == 0) return false;
  int64_t least = 0;
  for (const int64_t d : dimension_order(rank, true)) {
    const size_t dim = static_cast<size_t>(d);
    if (sizes[dim] == 0 || strides[dim] < least) return false;
    // N111 with the strides of NCHW: both formats fit, and PyTorch calls it NCHW.
    if (dim == 0 && least == strides[1]) return false;
    least = strides[dim];
    if (sizes[dim] > 1) least = checked_mul(least, sizes[dim]);
  }
  return true;
}

bool is_non_overlapping_and_dense(IntSpan sizes, IntSpan strides) {
  IntArray order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    if (sizes[static_cast<size_t>(a)] < 2) return false;
    if (sizes[static_cast<size_t>(b)] < 2) return true;
    return strides[static_cast<size_t>(a)] < strides[static_cast<size_t>(b)];
  });
  int64_t expected = 1;
  for (int64_t dim : order) {
    const size_t i = static_cast<size_t>(dim);
    if (sizes[i] < 2) return true;  // the rest are 0 or 1 too
    if (strides[i] != expected) return false;
    expected = checked_mul(expected, sizes[i]);
  }
  return true;
}

Tensor make_tensor(Ref<Storage> storage, DType dtype, IntSpan sizes, IntSpan strides,
                   int64_t storage_offset) {
  TORCHLET_CHECK(storage, "a view needs a strided tensor, this one is sparse or nested");
  const int64_t numel = checked_numel(sizes);
  check_bounds(*storage, dtype, sizes, strides, storage_offset);
  auto impl = make_ref<TensorImpl>();
  impl->storage = std::move(storage);
  impl->dtype = dtype;
  impl->storage_offset = storage_offset;
  impl->sizes = sizes;
  impl->strides = strides;
  impl->numel = numel;
  return Tensor(std::move(impl));
}

Tensor make_view(const Tensor& base, IntSpan sizes, IntSpan strides, int64_t storage_offset) {
  const TensorImpl& from = *base.impl();
  Tensor view = make_tensor(from.storage, from.dtype, sizes, strides, storage_offset);
  view.impl()->quantizer = from.quantizer;
  view.impl()->requires_grad = from.requires_grad;
  return view;
}

namespace {

thread_local const Tensor* result_place = nullptr;

}  // namespace

ResultPlace::ResultPlace(const Tensor& result) { result_place = &result; }
ResultPlace::~ResultPlace() { result_place = nullptr; }

Tensor empty_strided(IntSpan sizes, IntSpan strides, DType dtype) {
  if (selection::kIsWhole && result_place && result_place->dtype() == dtype &&
      std::ranges::equal(result_place->sizes(), sizes) &&
      std::ranges::equal(result_place->strides(), strides)) {
    return *std::exchange(result_place, nullptr);
  }
  checked_numel(sizes);
  size_t nbytes;
  if (__builtin_mul_overflow(checked_extent(sizes, strides), element_size(dtype), &nbytes)) {
    fail(ErrorCode::kOutOfMemory, "the bytes of a tensor overflow");
  }
  return make_tensor(make_ref<Storage>(nbytes), dtype, sizes, strides, 0);
}

Tensor empty(IntSpan sizes, DType dtype, MemoryFormat format) {
  if (selection::kIsWhole && result_place) {
    return empty_strided(sizes, strides_for(sizes, format), dtype);
  }
  const int64_t numel = checked_numel(sizes);
  size_t nbytes;
  if (__builtin_mul_overflow(numel, element_size(dtype), &nbytes)) {
    fail(ErrorCode::kOutOfMemory, "the bytes of a tensor overflow");
  }
  return make_tensor(make_ref<Storage>(nbytes), dtype, sizes, strides_for(sizes, format), 0);
}

Tensor zeros(IntSpan sizes, DType dtype) {
  Tensor result = empty(sizes, dtype);
  if (result.numel() > 0 && !is_meta(result)) {
    std::memset(result.raw_data(), 0, result.impl()->storage->nbytes());
  }
  return result;
}

namespace {

// Dimensions from the smallest stride to the largest. A stride of 0 compares with nothing, which is
// why the order depends on the algorithm: this is the insertion sort of at::infer_dense_strides.
IntArray stride_order(IntSpan sizes, IntSpan strides) {
  IntArray order = dimension_order(sizes.size(), false);
  const auto compare = [&](int64_t a, int64_t b) {
    const size_t i = static_cast<size_t>(a), j = static_cast<size_t>(b);
    if (strides[i] == 0 || strides[j] == 0) return 0;
    if (strides[i] != strides[j]) return strides[i] < strides[j] ? -1 : 1;
    return sizes[i] > sizes[j] ? 1 : 0;
  };
  for (size_t i = 1; i < order.size(); ++i) {
    size_t moving = i;
    for (size_t before = i; before-- > 0;) {
      const int comparison = compare(order[before], order[moving]);
      if (comparison < 0) break;
      if (comparison == 0) continue;
      std::swap(order[before], order[moving]);
      moving = before;
    }
  }
  return order;
}

}  // namespace

Tensor empty_like(const Tensor& like, DType dtype) {
  const TensorImpl& from = *like.impl();
  // Dense layouts are kept; a broken one (expanded, sliced) keeps only the order of its dimensions,
  // as at::infer_dense_strides does.
  IntArray strides;
  if (is_non_overlapping_and_dense(from.sizes, from.strides)) {
    strides = from.strides;
  } else {
    const IntArray order = stride_order(from.sizes, from.strides);
    strides.resize(from.sizes.size());
    int64_t stride = 1;
    for (int64_t dim : order) {
      strides[static_cast<size_t>(dim)] = stride;
      stride *= std::max<int64_t>(from.sizes[static_cast<size_t>(dim)], 1);
    }
  }
  Tensor result = empty_strided(from.sizes, strides, dtype);
  if (dtype == from.dtype) result.impl()->quantizer = from.quantizer;
  return result;
}

Tensor empty_like(const Tensor& like) { return empty_like(like, like.dtype()); }

Tensor empty_quantized(IntSpan sizes, DType dtype, std::shared_ptr<const Quantizer> quantizer,
                       MemoryFormat format) {
  Tensor result = empty(sizes, dtype, format);
  result.impl()->quantizer = std::move(quantizer);
  return result;
}

std::shared_ptr<const Quantizer> per_tensor_quantizer(double scale, int64_t zero_point) {
  TORCHLET_CHECK(zero_point >= INT32_MIN && zero_point <= INT32_MAX,
                 "the zero_point %lld of a quantized tensor does not fit into 32 bits",
                 static_cast<long long>(zero_point));
  auto quantizer = std::make_shared<Quantizer>();
  quantizer->scale = scale;
  quantizer->zero_point = zero_point;
  return quantizer;
}

int64_t wrap_dim(int64_t dim, int64_t rank) {
  const int64_t limit = std::max<int64_t>(rank, 1);
  TORCHLET_CHECK(dim >= -limit && dim < limit,
                 "Dimension out of range (expected to be in range of [%lld, %lld], but got %lld)",
                 static_cast<long long>(-limit), static_cast<long long>(limit - 1),
                 static_cast<long long>(dim));
  return dim < 0 ? dim + limit : dim;
}

}  // namespace torchlet
