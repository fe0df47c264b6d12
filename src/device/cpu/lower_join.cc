// Concatenation: parts are computed where they belong if they can be, else copied there.
#include "device/cpu/lowering.h"
#include "ops/common.h"

namespace torchlet::cpu {
namespace {

void lower_cat(PlanBuilder& plan, const Node& node) {
  const std::vector<TensorId> parts = plan.tensors(node, 0);
  if (parts.empty()) decline("nothing to join");
  const PlanTensor first = plan.info(parts[0]);
  if (first.dim() == 0) decline("0-d tensors");
  const size_t dim = static_cast<size_t>(wrap_dim(plan.known_int(node, 1), first.dim()));
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
  const IntArray strides = first.dim() == 4 && plan.image_view(parts[0])
                               ? strides_for(sizes, MemoryFormat::kChannelsLast)
                               : contiguous_strides(sizes);
  const TensorId whole = plan.new_tensor(first.dtype, sizes, strides);
  int64_t start = 0;
  for (const TensorId part : parts) {
    const IntArray part_sizes = plan.info(part).sizes;
    const TensorId place = plan.new_view(whole, part_sizes, strides, start * strides[dim]);
    if (!plan.place(part, place)) plan.copy(part, place);
    start += part_sizes[dim];
  }
  plan.define(node, whole);
}

}  // namespace

std::span<const Lowering> join_lowerings() {
  static constexpr Lowering kTable[] = {{"aten::cat", lower_cat}};
  return kTable;
}

}  // namespace torchlet::cpu
