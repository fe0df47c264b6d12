// Pooling of images.
#include <algorithm>

#include "base/checked.h"
#include "device/nnapi/lower/lowering.h"
#include "ops/core/common.h"

namespace torchlet::nnapi {
namespace {

struct PoolWindow {
  std::array<int64_t, 2> kernel, stride, before, after;  // height, width
};

void add_pool(ModelBuilder& model, const Call& call, int32_t code, OperandId input,
              const PoolWindow& w) {
  std::vector<OperandId> inputs = {input};
  for (const int64_t value : {w.before[1], w.after[1], w.before[0], w.after[0], w.stride[1],
                              w.stride[0], w.kernel[1], w.kernel[0]}) {
    inputs.push_back(model.scalar(to_int32(value)));
  }
  const int activation = static_cast<int>(inputs.size());
  inputs.push_back(model.scalar(int32_t{ANEURALNETWORKS_FUSED_NONE}));
  model.add_result(call, code, std::move(inputs), Layout::kNhwc, activation);
}

void require_pooled_numbers(ModelBuilder& model, const Call& call) {
  const TensorDescription x = model.describe(call, 0);
  if (!x.quantizer) require_float(x);
}

// What is added behind the image is as much as before it, as drivers like it best, or with
// ceil_mode as much as the last window reaches.
PoolWindow window_of(ModelBuilder& model, const Call& call) {
  const IntArray kernel = call.known_ints("kernel_size", 2);
  const IntArray padding = call.known_ints("padding", 2);
  const IntArray stride = call.known_ints("stride").empty() ? kernel : call.known_ints("stride", 2);
  const IntArray in = model.describe(call, 0).sizes, out = model.result(call).sizes;
  if (in.size() != 4) decline("no image");
  PoolWindow w;
  for (size_t d = 0; d < 2; ++d) {
    w.kernel[d] = kernel[d];
    w.stride[d] = stride[d];
    w.before[d] = padding[d];
    if (kernel[d] < 1 || stride[d] < 1 || padding[d] < 0) decline("an invalid window");
    const int64_t last = checked_mul(out[2 + d] - 1, stride[d]);
    const int64_t left = checked_add(in[2 + d], checked_mul(2, padding[d])) - kernel[d] - last;
    const bool is_even = left >= 0 && left < stride[d];
    const int64_t reach = checked_add(last, kernel[d]);
    w.after[d] = is_even ? padding[d] : std::max<int64_t>(0, reach - in[2 + d] - padding[d]);
  }
  return w;
}

void lower_max_pool(ModelBuilder& model, const Call& call) {
  require_pooled_numbers(model, call);
  const IntArray dilation = call.known_ints("dilation", 2);
  if (dilation[0] != 1 || dilation[1] != 1) decline("a dilated window");
  const PoolWindow window = window_of(model, call);
  add_pool(model, call, ANEURALNETWORKS_MAX_POOL_2D, model.operand(call, 0, Layout::kNhwc), window);
}

// NNAPI's mean is of what a window covers of the image.
void lower_avg_pool(ModelBuilder& model, const Call& call) {
  require_pooled_numbers(model, call);
  PoolWindow w = window_of(model, call);
  OperandId input = model.operand(call, 0, Layout::kNhwc);
  const bool is_padded = w.before[0] != 0 || w.before[1] != 0;
  if (!call.is_none("divisor_override") &&
      (is_padded || call.known_bool("ceil_mode") ||
       call.known_int("divisor_override") != checked_mul(w.kernel[0], w.kernel[1]))) {
    decline("a divisor that is not the size of the window");
  }
  if (call.known_bool("count_include_pad") && is_padded) {
    if (call.known_bool("ceil_mode")) decline("a mean of padding in windows that reach further");
    // The padding becomes part of the image.
    TensorDescription padded = model.describe(call, 0);
    if (padded.quantizer) {
      model.require_level(ANEURALNETWORKS_FEATURE_LEVEL_3, "padding of quantized tensors");
    }
    for (size_t d = 0; d < 2; ++d) {
      padded.sizes[2 + d] = checked_add(padded.sizes[2 + d], checked_mul(2, w.before[d]));
    }
    const int32_t y = to_int32(w.before[0]), x = to_int32(w.before[1]);
    const OperandId around = model.ints({0, 0, y, y, x, x, 0, 0}, {4, 2});
    input = model.add(ANEURALNETWORKS_PAD, {input, around}, model.type(padded, Layout::kNhwc));
    w.before = w.after = {0, 0};
  }
  add_pool(model, call, ANEURALNETWORKS_AVERAGE_POOL_2D, input, w);
}

// Where all windows are alike.
void lower_adaptive_avg_pool(ModelBuilder& model, const Call& call) {
  require_pooled_numbers(model, call);
  const IntArray in = model.describe(call, 0).sizes, out = model.result(call).sizes;
  if (in.size() != 4) decline("no image");
  PoolWindow w;
  for (size_t d = 0; d < 2; ++d) {
    if (out[2 + d] < 1 || in[2 + d] % out[2 + d] != 0) decline("windows of several sizes");
    w.kernel[d] = w.stride[d] = in[2 + d] / out[2 + d];
    w.before[d] = w.after[d] = 0;
  }
  add_pool(model, call, ANEURALNETWORKS_AVERAGE_POOL_2D, model.operand(call, 0, Layout::kNhwc), w);
}

}  // namespace

std::span<const Lowering> pooling_lowerings() {
  static constexpr Lowering kTable[] = {
      {"aten::max_pool2d", lower_max_pool, true},
      {"aten::avg_pool2d", lower_avg_pool, true},
      {"aten::adaptive_avg_pool2d", lower_adaptive_avg_pool, true},
      {"aten::_adaptive_avg_pool2d", lower_adaptive_avg_pool, true},
      {"quantized::max_pool2d", lower_max_pool, true},
  };
  return kTable;
}

}  // namespace torchlet::nnapi
