// Images in other sizes.
#include "device/nnapi/lower/lowering.h"

namespace torchlet::nnapi {
namespace {

// A scale that was given counts in the program, and only the sizes do in NNAPI.
void require_scale_of_sizes(const Call& call, const TensorDescription& x,
                            const TensorDescription& y) {
  const auto check = [&](size_t d, double scale) {
    if (static_cast<double>(x.sizes[2 + d]) * scale != static_cast<double>(y.sizes[2 + d])) {
      decline("a scale that is not that of the sizes");
    }
  };
  if (call.has_argument("scale_factors")) {
    if (call.is_none("scale_factors")) return;
    const std::vector<Value> factors = call.known("scale_factors").to_list();
    for (size_t d = 0; d < factors.size() && d < 2; ++d) check(d, factors[d].to_double());
    return;
  }
  if (!call.is_none("scales_h")) check(0, call.known_double("scales_h"));
  if (!call.is_none("scales_w")) check(1, call.known_double("scales_w"));
}

void add_resize(ModelBuilder& model, const Call& call, int32_t code, bool aligns_corners,
                bool is_centered) {
  const TensorDescription x = model.describe(call, 0), y = model.result(call);
  if (!x.quantizer) require_float(x);
  require_scale_of_sizes(call, x, y);
  const OperandId input = model.operand(call, 0, Layout::kNhwc);
  std::vector<OperandId> inputs = {input, model.scalar(to_int32(y.sizes[3])),
                                   model.scalar(to_int32(y.sizes[2])), model.scalar(false)};
  if (aligns_corners || is_centered) {
    model.require_level(ANEURALNETWORKS_FEATURE_LEVEL_4, "this way of resizing");
    inputs.push_back(model.scalar(aligns_corners));
    inputs.push_back(model.scalar(is_centered));
  }
  model.add_result(call, code, std::move(inputs), Layout::kNhwc);
}

void lower_nearest(ModelBuilder& model, const Call& call) {
  add_resize(model, call, ANEURALNETWORKS_RESIZE_NEAREST_NEIGHBOR, false, false);
}

void lower_bilinear(ModelBuilder& model, const Call& call) {
  const bool aligns_corners = call.known_bool("align_corners");
  add_resize(model, call, ANEURALNETWORKS_RESIZE_BILINEAR, aligns_corners, !aligns_corners);
}

}  // namespace

std::span<const Lowering> resize_lowerings() {
  static constexpr Lowering kTable[] = {
      {"aten::upsample_nearest2d", lower_nearest, true},
      {"aten::upsample_bilinear2d", lower_bilinear, true},
  };
  return kTable;
}

}  // namespace torchlet::nnapi
