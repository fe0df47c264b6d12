#include "tensor/tensor_impl.h"

#include <numeric>

namespace torchlet {
namespace {

// Elements that a view reaches past its offset, plus one; 0 if it is empty.
int64_t checked_extent(IntSpan sizes, IntSpan strides) {
  int64_t last = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) return 0;
    int64_t reach;
    if (strides[i] < 0 || __builtin_mul_overflow(sizes[i] - 1, strides[i], &reach) ||
        __builtin_add_overflow(last, reach, &last)) {
      fail(ErrorCode::kInvalidArgument, "tensor strides are negative or overflow");
    }
  }
  return last + 1;
}

void check_bounds(const Storage& storage, DType dtype, IntSpan sizes, IntSpan strides,
                  int64_t storage_offset) {
  if (sizes.size() != strides.size()) {
    fail(ErrorCode::kInvalidArgument,
         format("a tensor has %zu sizes but %zu strides", sizes.size(), strides.size()));
  }
  const int64_t extent = checked_extent(sizes, strides);
  int64_t end;
  if (storage_offset < 0 || __builtin_add_overflow(storage_offset, extent, &end) ||
      static_cast<uint64_t>(extent == 0 ? 0 : end) > storage.nbytes() / element_size(dtype)) {
    fail(ErrorCode::kInvalidArgument, format("a tensor view (offset %lld, %lld elements on) "
                                             "reaches outside its storage of %zu bytes",
                                             static_cast<long long>(storage_offset),
                                             static_cast<long long>(extent), storage.nbytes()));
  }
}

}  // namespace

int64_t checked_numel(IntSpan sizes) {
  int64_t numel = 1;
  bool overflow = false;
  bool empty = false;
  for (int64_t size : sizes) {
    if (size < 0) {
      fail(ErrorCode::kInvalidArgument,
           format("negative dimension %lld in a tensor's shape", static_cast<long long>(size)));
    }
    empty |= size == 0;
    overflow |= __builtin_mul_overflow(numel, size, &numel);
  }
  if (empty) return 0;
  if (overflow) fail(ErrorCode::kInvalidArgument, "the number of elements of a tensor overflows");
  return numel;
}

void TensorImpl::update_numel() { numel = checked_numel(sizes); }

IntArray contiguous_strides(IntSpan sizes) {
  IntArray strides(sizes.size());
  int64_t stride = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<int64_t>(sizes[i], 1);
  }
  return strides;
}

IntArray strides_for(IntSpan sizes, MemoryFormat format) {
  const bool channels_last =
      format == MemoryFormat::kChannelsLast || format == MemoryFormat::kChannelsLast3d;
  if (!channels_last) return contiguous_strides(sizes);
  const size_t rank = format == MemoryFormat::kChannelsLast ? 4 : 5;
  TORCHLET_CHECK(sizes.size() == rank, "required rank %zu tensor to use channels_last format",
                 rank);
  IntArray strides(rank);
  int64_t stride = 1;
  auto place = [&](size_t dim) {
    strides[dim] = stride;
    stride *= std::max<int64_t>(sizes[dim], 1);
  };
  place(1);
  for (size_t dim = rank - 1; dim >= 2; --dim) place(dim);
  place(0);
  return strides;
}

bool is_contiguous_as(IntSpan sizes, IntSpan strides, MemoryFormat format) {
  const bool channels_last =
      format == MemoryFormat::kChannelsLast || format == MemoryFormat::kChannelsLast3d;
  if (channels_last && sizes.size() != (format == MemoryFormat::kChannelsLast ? 4u : 5u))
    return false;
  for (int64_t size : sizes) {
    if (size == 0) return true;
  }
  const IntArray expected = strides_for(sizes, format);
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] != 1 && strides[i] != expected[i]) return false;
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
    expected *= sizes[i];
  }
  return true;
}

Tensor make_tensor(Ref<Storage> storage, DType dtype, IntSpan sizes, IntSpan strides,
                   int64_t storage_offset) {
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
  TORCHLET_CHECK(from.storage, "a view needs a strided tensor, this one is sparse or nested");
  Tensor view = make_tensor(from.storage, from.dtype, sizes, strides, storage_offset);
  view.impl()->quantizer = from.quantizer;
  view.impl()->requires_grad = from.requires_grad;
  return view;
}

Tensor empty_strided(IntSpan sizes, IntSpan strides, DType dtype) {
  checked_numel(sizes);
  TORCHLET_CHECK(sizes.size() == strides.size(), "%zu sizes but %zu strides", sizes.size(),
                 strides.size());
  size_t nbytes;
  if (__builtin_mul_overflow(static_cast<size_t>(checked_extent(sizes, strides)),
                             element_size(dtype), &nbytes)) {
    fail(ErrorCode::kOutOfMemory, "the bytes of a tensor overflow");
  }
  return make_tensor(make_ref<Storage>(nbytes), dtype, sizes, strides, 0);
}

Tensor empty(IntSpan sizes, DType dtype, MemoryFormat format) {
  const int64_t numel = checked_numel(sizes);
  size_t nbytes;
  if (__builtin_mul_overflow(static_cast<size_t>(numel), element_size(dtype), &nbytes)) {
    fail(ErrorCode::kOutOfMemory, "the bytes of a tensor overflow");
  }
  return make_tensor(make_ref<Storage>(nbytes), dtype, sizes, strides_for(sizes, format), 0);
}

Tensor zeros(IntSpan sizes, DType dtype) {
  Tensor result = empty(sizes, dtype);
  if (result.numel() > 0) {
    std::memset(result.raw_data(), 0, result.impl()->storage->nbytes());
  }
  return result;
}

Tensor empty_like(const Tensor& like, DType dtype) {
  const TensorImpl& from = *like.impl();
  // Dense layouts are kept; a broken one (expanded, sliced) keeps only the order of its dimensions,
  // as at::infer_dense_strides does.
  IntArray strides;
  if (is_non_overlapping_and_dense(from.sizes, from.strides)) {
    strides = from.strides;
  } else {
    IntArray order(from.sizes.size());
    std::iota(order.begin(), order.end(), 0);
    std::reverse(order.begin(), order.end());
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      const int64_t sa = from.strides[static_cast<size_t>(a)],
                    sb = from.strides[static_cast<size_t>(b)];
      if (sa == 0 || sb == 0) return false;
      return sa < sb;
    });
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
