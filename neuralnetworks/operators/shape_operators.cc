#include "neuralnetworks/operators/shape_operators.h"

#include <algorithm>

#include "base/checked.h"
#include "base/limits.h"
#include "ops/core/op.h"
#include "ops/shape/shape.h"

namespace torchlet::nn {
namespace {

long long ll(int64_t value) { return value; }

[[noreturn]] void wrong(const char* what, IntSpan numbers, IntSpan sizes) {
  fail(ErrorCode::kInvalidArgument, "%s %s of a tensor of sizes %s", what,
       shape_text(numbers).c_str(), shape_text(sizes).c_str());
}

bool has_bit(int64_t mask, size_t i) { return i < 32 && (mask >> i & 1) != 0; }

// Where a position is: in [0, size] for a positive stride, in [-1, size) for a negative one.
int64_t clamped_position(int64_t position, int64_t size, bool is_forward) {
  const int64_t from_start = position < 0 ? position + size : position;
  return is_forward ? std::clamp<int64_t>(from_start, 0, size)
                    : std::clamp<int64_t>(from_start, -1, size - 1);
}

}  // namespace

std::vector<Range> slice_ranges(IntSpan sizes, IntSpan begin, IntSpan size) {
  if (begin.size() != sizes.size()) wrong("a slice begins at", begin, sizes);
  if (size.size() != sizes.size()) wrong("a slice has sizes", size, sizes);
  std::vector<Range> ranges;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (begin[i] < 0 || begin[i] > sizes[i]) wrong("a slice begins at", begin, sizes);
    const int64_t rest = sizes[i] - begin[i];
    const int64_t count = size[i] == -1 ? rest : size[i];
    if (count < 0 || count > rest) wrong("a slice has sizes", size, sizes);
    ranges.push_back({begin[i], count, 1});
  }
  return ranges;
}

std::vector<Range> strided_ranges(IntSpan sizes, IntSpan begins, IntSpan ends, IntSpan strides,
                                  int64_t begin_mask, int64_t end_mask, int64_t shrink_mask) {
  if (begins.size() != sizes.size()) wrong("a slice begins at", begins, sizes);
  if (ends.size() != sizes.size()) wrong("a slice ends at", ends, sizes);
  if (strides.size() != sizes.size()) wrong("a slice has strides", strides, sizes);
  std::vector<Range> ranges;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int64_t size = sizes[i], stride = strides[i];
    if (stride == 0) wrong("a slice has strides", strides, sizes);
    const bool is_forward = stride > 0;
    const int64_t begin = has_bit(begin_mask, i) ? (is_forward ? 0 : size - 1)
                                                 : clamped_position(begins[i], size, is_forward);
    const int64_t end = has_bit(end_mask, i) ? (is_forward ? size : -1)
                                             : clamped_position(ends[i], size, is_forward);
    const int64_t reach = is_forward ? end - begin : begin - end;
    const int64_t step = is_forward ? stride : -stride;
    const int64_t count = reach <= 0 ? 0 : (reach + step - 1) / step;
    if (has_bit(shrink_mask, i) && (count != 1 || !is_forward)) {
      fail(ErrorCode::kInvalidArgument, "dimension %zu of a slice goes, but has %lld elements", i,
           ll(count));
    }
    ranges.push_back({begin, count, stride});
  }
  return ranges;
}

IntArray shrunk_sizes(IntSpan sizes, int64_t mask) {
  IntArray kept;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (!has_bit(mask, i)) kept.push_back(sizes[i]);
  }
  if (kept.empty()) kept.push_back(1);
  return kept;
}

int64_t squeeze_mask(IntSpan sizes, IntSpan dims) {
  int64_t mask = 0;
  const auto rank = static_cast<int64_t>(sizes.size());
  for (const int64_t dim : dims) {
    const int64_t at = dim < 0 ? dim + rank : dim;
    if (at < 0 || at >= std::min<int64_t>(rank, 32) || sizes[static_cast<size_t>(at)] != 1) {
      wrong("there is no squeezing of dimensions", dims, sizes);
    }
    mask |= int64_t{1} << at;
  }
  return mask;
}

int64_t squeeze_mask(IntSpan sizes) {
  int64_t mask = 0;
  for (size_t i = 0; i < std::min<size_t>(sizes.size(), 32); ++i) {
    if (sizes[i] == 1) mask |= int64_t{1} << i;
  }
  return mask;
}

}  // namespace torchlet::nn

namespace torchlet::ops {
namespace {

using nn::Range;

// The numbers of a vector of int32.
IntArray list(const Tensor& tensor) {
  TORCHLET_CHECK(tensor.dim() == 1, "a list of numbers has %lld dimensions in place of 1",
                 static_cast<long long>(tensor.dim()));
  require_memory(tensor.numel(), sizeof(int64_t), "numbers of a list");
  IntArray numbers(static_cast<size_t>(tensor.numel()));
  convert_elements(tensor.impl()->data(), tensor.dtype(), tensor.impl()->strides[0], numbers.data(),
                   DType::kInt64, 1, tensor.numel());
  return numbers;
}

// The same memory as plain integers, or back.
Tensor retyped(const Tensor& tensor, DType dtype) {
  return make_tensor(tensor.impl()->storage, dtype, tensor.sizes(), tensor.impl()->strides,
                     tensor.impl()->storage_offset);
}

Tensor integers(const Tensor& quantized) {
  TORCHLET_CHECK(quantized.dtype() == DType::kQUInt8, "got %s", quantized.describe().c_str());
  return retyped(quantized, DType::kUInt8);
}

Tensor of_integers(const Tensor& integers, double scale, int64_t zero_point) {
  TORCHLET_CHECK(integers.dtype() == DType::kUInt8, "got %s", integers.describe().c_str());
  Tensor result = retyped(integers, DType::kQUInt8);
  result.impl()->quantizer = per_tensor_quantizer(scale, zero_point);
  return result;
}

Tensor flip(const Tensor& tensor, int64_t dim) {
  static const Operator* const op = find_operator("aten::flip", "");
  Value args[] = {Value(tensor), make_int_list(IntArray{dim})}, result;
  op->call(args, {&result, 1});
  return result.to_tensor();
}

Tensor in_ranges(const Tensor& input, std::span<const Range> ranges) {
  Tensor result = input;
  for (size_t i = 0; i < ranges.size(); ++i) {
    const auto dim = static_cast<int64_t>(i);
    const auto [begin, count, stride] = ranges[i];
    const int64_t reach = count == 0 ? 0 : (count - 1) * stride;
    if (stride > 0) {
      result = slice(result, dim, begin, begin + (count == 0 ? 0 : reach + 1), stride);
    } else if (count == 0) {
      result = narrow(result, dim, 0, 0);
    } else {
      result = flip(slice(result, dim, begin + reach, begin + 1, -stride), dim);
    }
  }
  return result;
}

Tensor slice_of(const Tensor& input, const IntArray& begin, const IntArray& size) {
  return in_ranges(input, nn::slice_ranges(input.sizes(), begin, size));
}

Tensor strided_slice(const Tensor& input, const IntArray& begins, const IntArray& ends,
                     const IntArray& strides, int64_t begin_mask, int64_t end_mask,
                     int64_t shrink_mask) {
  const Tensor result = in_ranges(input, nn::strided_ranges(input.sizes(), begins, ends, strides,
                                                            begin_mask, end_mask, shrink_mask));
  return shrink_mask ? view(result, nn::shrunk_sizes(result.sizes(), shrink_mask)) : result;
}

IntArray squeezed_sizes(const IntArray& sizes, const std::optional<IntArray>& dims) {
  return nn::shrunk_sizes(sizes, dims ? nn::squeeze_mask(sizes, *dims) : nn::squeeze_mask(sizes));
}

int64_t part_size(int64_t size, int64_t parts) {
  TORCHLET_CHECK(parts > 0 && size % parts == 0, "%lld elements do not make %lld equal parts",
                 static_cast<long long>(size), static_cast<long long>(parts));
  return size / parts;
}

// Those of `sizes` with dimension `axis` replaced by all of `index_sizes`.
IntArray gathered_sizes(const IntArray& sizes, int64_t axis, const IntArray& index_sizes) {
  const int64_t at = wrap_dim(axis, static_cast<int64_t>(sizes.size()));
  IntArray result(sizes.begin(), sizes.begin() + at);
  for (const int64_t size : index_sizes) result.push_back(size);
  for (size_t i = static_cast<size_t>(at) + 1; i < sizes.size(); ++i) result.push_back(sizes[i]);
  return result;
}

// One number for each dimension.
void require_rank(const IntArray& numbers, int64_t rank, const char* what) {
  TORCHLET_CHECK(static_cast<int64_t>(numbers.size()) == rank,
                 "%zu %s for a tensor of %lld dimensions", numbers.size(), what,
                 static_cast<long long>(rank));
}

IntArray permutation(const IntArray& dims, int64_t rank) {
  require_rank(dims, rank, "numbers of an order");
  for (const int64_t dim : dims) {
    TORCHLET_CHECK(dim >= 0 && dim < rank, "dimension %lld of %lld in an order",
                   static_cast<long long>(dim), static_cast<long long>(rank));
  }
  return dims;
}

IntArray reversed_dims(int64_t rank) {
  IntArray dims;
  for (int64_t dim = rank - 1; dim >= 0; --dim) dims.push_back(dim);
  return dims;
}

IntArray multiples(const IntArray& multiples, int64_t rank) {
  require_rank(multiples, rank, "multiples");
  return multiples;
}

int64_t reversed_dim(const IntArray& axis, int64_t rank) {
  TORCHLET_CHECK(axis.size() == 1 && axis[0] >= 0 && axis[0] < rank,
                 "no one axis of %lld to reverse", static_cast<long long>(rank));
  return axis[0];
}

}  // namespace

TORCHLET_OP(nnapi_list, "nnapi::list(Tensor tensor) -> int[]", list);
TORCHLET_OP(nnapi_integers, "nnapi::integers(Tensor(a) quantized) -> Tensor(a)", integers);
TORCHLET_OP(nnapi_of_integers,
            "nnapi::of_integers(Tensor(a) integers, float scale, int zero_point) -> Tensor(a)",
            of_integers);
TORCHLET_OP(nnapi_slice, "nnapi::slice(Tensor(a) input, int[] begin, int[] size) -> Tensor(a)",
            slice_of);
TORCHLET_OP(nnapi_strided_slice,
            "nnapi::strided_slice(Tensor(a) input, int[] begins, int[] ends, int[] strides, int "
            "begin_mask, int end_mask, int shrink_mask) -> Tensor(a)",
            strided_slice);
TORCHLET_OP(nnapi_squeezed_sizes, "nnapi::squeezed_sizes(int[] sizes, int[]? dims) -> int[]",
            squeezed_sizes);
TORCHLET_OP(nnapi_part_size, "nnapi::part_size(int size, int parts) -> int", part_size);
TORCHLET_OP(nnapi_gathered_sizes,
            "nnapi::gathered_sizes(int[] sizes, int axis, int[] index_sizes) -> int[]",
            gathered_sizes);
TORCHLET_OP(nnapi_permutation, "nnapi::permutation(int[] dims, int rank) -> int[]", permutation);
TORCHLET_OP(nnapi_reversed_dims, "nnapi::reversed_dims(int rank) -> int[]", reversed_dims);
TORCHLET_OP(nnapi_multiples, "nnapi::multiples(int[] multiples, int rank) -> int[]", multiples);
TORCHLET_OP(nnapi_reversed_dim, "nnapi::reversed_dim(int[] axis, int rank) -> int", reversed_dim);

}  // namespace torchlet::ops
