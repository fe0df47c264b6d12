// Concatenation: parts are computed where they belong if they can be, else copied there. Rolling is
// the concatenation of two parts of one tensor.
#include "device/cpu/lower/lowering.h"
#include "ops/core/common.h"

namespace torchlet::cpu {
namespace {

// How many of the first images are, one after the other, all channels of a buffer that an earlier
// concatenation made: it then grows, as the features of a DenseNet's block do.
size_t leading_whole(const PlanBuilder& plan, const std::vector<TensorId>& parts) {
  const PlanTensor& first = plan.info(parts[0]);
  int64_t channels = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    const PlanTensor& part = plan.info(parts[i]);
    if (part.buffer != first.buffer || part.strides != first.strides || part.offset != channels) {
      return 0;
    }
    channels += part.sizes[1];
    if (channels == first.strides.back()) return i + 1;
  }
  return 0;
}

// Whether most of what is joined lies as images, and not as contiguous planes; a plane by itself is
// both.
bool are_images(const PlanBuilder& plan, std::span<const TensorId> parts) {
  int64_t balance = 0;
  for (const TensorId part : parts) {
    const PlanTensor& t = plan.info(part);
    const bool is_image = plan.image_view(part).has_value();
    const bool is_planes = is_contiguous_as(t.sizes, t.strides, MemoryFormat::kContiguous);
    if (is_image != is_planes) balance += is_image ? t.numel() : -t.numel();
  }
  return balance > 0;
}

void lower_cat(PlanBuilder& plan, const Call& call) {
  std::vector<TensorId> parts = plan.tensors(call, 0);
  if (parts.empty()) decline("nothing to join");
  plan.in_same_type(parts);
  const PlanTensor first = plan.info(parts[0]);
  if (first.dim() == 0) decline("0-d tensors");
  const size_t dim = static_cast<size_t>(wrap_dim(call.known_int("dim"), first.dim()));
  IntArray sizes = first.sizes;
  sizes[dim] = 0;
  for (const TensorId part : parts) {
    const PlanTensor& t = plan.info(part);
    if (t.dtype != first.dtype || t.quantizer || t.dim() != first.dim()) decline("unlike parts");
    for (size_t d = 0; d < sizes.size(); ++d) {
      if (d != dim && t.sizes[d] != sizes[d]) decline("unlike parts");
    }
    sizes[dim] += t.sizes[dim];
  }
  const bool is_image = are_images(plan, parts);
  const IntArray strides = is_image ? image_strides(sizes) : contiguous_strides(sizes);
  TensorId whole = kNoTensor;
  size_t joined = is_image && dim == 1 ? leading_whole(plan, parts) : 0;
  if (joined > 0) whole = plan.widened(parts[0], plan.info(parts[0]).strides.back(), sizes[1]);
  if (whole == kNoTensor) {
    whole = plan.new_tensor(first.dtype, sizes, strides);
    joined = 0;
  }
  int64_t start = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    const IntArray part_sizes = plan.info(parts[i]).sizes;
    if (i >= joined) {
      const TensorId place = plan.new_view(whole, part_sizes, strides, start * strides[dim]);
      if (!plan.place(parts[i], place)) plan.copy(parts[i], place);
    }
    start += part_sizes[dim];
  }
  plan.define(call, whole);
}

void lower_stack(PlanBuilder& plan, const Call& call) {
  std::vector<TensorId> parts = plan.tensors(call, 0);
  if (parts.empty()) decline("nothing to join");
  plan.in_same_type(parts);
  const PlanTensor first = plan.info(parts[0]);
  for (const TensorId part : parts) {
    const PlanTensor& t = plan.info(part);
    if (t.dtype != first.dtype || t.quantizer || !(t.sizes == first.sizes)) decline("unlike parts");
  }
  const auto dim = static_cast<size_t>(wrap_dim(call.known_int("dim"), first.dim() + 1));
  const bool is_last = dim == first.sizes.size();
  // Where the parts are joined along dimension `dim`, which then falls apart into theirs and its
  // own.
  IntArray joined = first.sizes;
  if (is_last) joined.push_back(1);
  const int64_t size = joined[dim];
  joined[dim] *= std::ssize(parts);
  const bool is_image = !is_last && are_images(plan, parts);
  IntArray strides = is_image ? image_strides(joined) : contiguous_strides(joined);
  IntArray part_strides = strides, sizes = first.sizes;
  if (is_last) part_strides.pop_back();
  const int64_t step = size * strides[dim];
  const auto at = static_cast<std::ptrdiff_t>(dim);
  sizes.insert(sizes.begin() + at, std::ssize(parts));
  if (!is_last) strides.insert(strides.begin() + at, step);
  const TensorId whole = plan.new_tensor(first.dtype, sizes, strides);
  for (size_t i = 0; i < parts.size(); ++i) {
    const TensorId place =
        plan.new_view(whole, first.sizes, part_strides, static_cast<int64_t>(i) * step);
    if (!plan.place(parts[i], place)) plan.copy(parts[i], place);
  }
  plan.define(call, whole);
}

struct RolledDim {
  int64_t dim, shift;  // 0 <= shift < size
};

void copy_rolled(PlanBuilder& plan, TensorId from, TensorId to, std::span<const RolledDim> dims) {
  if (dims.empty()) return plan.copy(from, to);
  const int64_t dim = dims[0].dim, shift = dims[0].shift;
  const int64_t kept = plan.info(from).sizes[static_cast<size_t>(dim)] - shift;
  const auto part = [&](TensorId id, int64_t start, int64_t size) {
    return plan.viewed(id, ops::narrow(plan.shape_of(id), dim, start, size));
  };
  copy_rolled(plan, part(from, 0, kept), part(to, shift, kept), dims.subspan(1));
  if (shift > 0) copy_rolled(plan, part(from, kept, shift), part(to, 0, shift), dims.subspan(1));
}

void lower_roll(PlanBuilder& plan, const Call& call) {
  const TensorId input = plan.tensor(call, 0);
  const PlanTensor t = plan.info(input);
  const IntArray shifts = call.known_ints("shifts"), dims = call.known_ints("dims");
  if (t.quantizer || t.numel() == 0) decline("a tensor that it does not take");
  if (dims.empty() || dims.size() != shifts.size()) decline("the tensor as one row");
  std::vector<RolledDim> rolled;
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t dim = wrap_dim(dims[i], t.dim()), size = t.sizes[static_cast<size_t>(dim)];
    for (const RolledDim& other : rolled) {
      if (other.dim == dim) decline("a dimension twice");
    }
    rolled.push_back({dim, (shifts[i] % size + size) % size});
  }
  const TensorId result = plan.new_contiguous(t.dtype, t.sizes);
  copy_rolled(plan, input, result, rolled);
  plan.define(call, result);
}

}  // namespace

std::span<const Lowering> join_lowerings() {
  static constexpr Lowering kTable[] = {
      {"aten::cat", lower_cat}, {"aten::stack", lower_stack}, {"aten::roll", lower_roll}};
  return present<kTable>();
}

}  // namespace torchlet::cpu
