#include "device/cpu/lower/lowering.h"

#include <initializer_list>
#include <unordered_map>

#include "ops/core/common.h"

namespace torchlet::cpu {
namespace {

class Table {
 public:
  explicit Table(std::initializer_list<std::span<const Lowering>> parts) {
    for (const auto& part : parts) {
      for (const Lowering& lowering : part) all_.emplace(&Symbol(lowering.op).str(), &lowering);
    }
  }
  const Lowering* find(Symbol op) const {
    const auto found = all_.find(&op.str());  // symbols are interned
    return found == all_.end() ? nullptr : found->second;
  }

 private:
  std::unordered_map<const std::string*, const Lowering*> all_;
};

}  // namespace

TensorId permuted(PlanBuilder& plan, TensorId id, IntSpan order) {
  if (order.empty()) return id;
  if (static_cast<int64_t>(order.size()) != plan.info(id).dim()) decline("labels that do not fit");
  return plan.viewed(id, ops::permute(plan.shape_of(id), order));
}

NhwcImage line_image(PlanBuilder& plan, TensorId line) {
  if (plan.info(line).dim() != 3) decline("not a line");
  const auto image = plan.image_view(plan.viewed(line, ops::unsqueeze(plan.shape_of(line), 2)));
  if (!image) decline("a line whose channels do not lie together");
  return *image;
}

void define_image(PlanBuilder& plan, const Call& call, TensorId image) {
  if (!is_of_lines(call)) return plan.define(call, image);
  plan.define(call, plan.viewed(image, ops::squeeze(plan.shape_of(image), 2)));
}

const Lowering* find_lowering(Symbol op, bool is_quantized) {
  static const Table real({convolution_lowerings(), dynamic_lowerings(), einsum_lowerings(),
                           elementwise_lowerings(), join_lowerings(), matmul_lowerings(),
                           norm_lowerings(), padding_lowerings(), pooling_lowerings(),
                           reduction_lowerings(), resize_lowerings(), rnn_lowerings(),
                           transformer_lowerings(), view_lowerings(), volume_lowerings()});
  if constexpr (!selection::kHasQuantized) return real.find(op);
  static const Table quantized({quantized_elementwise_lowerings(), quantized_layer_lowerings()});
  const Lowering* first = (is_quantized ? quantized : real).find(op);
  return first ? first : (is_quantized ? real : quantized).find(op);
}

}  // namespace torchlet::cpu
