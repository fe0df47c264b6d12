#include "neuralnetworks/operations/window.h"

#include "base/error.h"
#include "neuralnetworks/operators/window_operators.h"

namespace torchlet::nn {
namespace {

bool same(const Arg& a, const Arg& b) { return a.number() && a.number() == b.number(); }

struct Ends {
  Arg before, after;
};

// PADDING_SAME: as many outputs as the input has strides.
Ends same_ends(Emitter& emit, const Arg& size, const Arg& window, int64_t stride,
               int64_t dilation) {
  if (size.number() && window.number()) {
    const auto [before, after] =
        nn::same_padding(*size.number(), *window.number(), stride, dilation);
    return {before, after};
  }
  const std::vector<SsaValue*> ends =
      emit.call_all("nnapi::same_padding", {size, window, stride, dilation});
  return {ends[0], ends[1]};
}

}  // namespace

bool Padding::is_symmetric() const { return same(left, right) && same(top, bottom); }

Padding padding_of(Emitter& emit, const Call& call, const Arg& window_height,
                   const Arg& window_width) {
  if (call.has("padding_left")) {
    return {call.integer("padding_left"), call.integer("padding_right"),
            call.integer("padding_top"), call.integer("padding_bottom")};
  }
  if (call.integer("padding_scheme") == ANEURALNETWORKS_PADDING_VALID) return {};
  TORCHLET_CHECK(call.integer("padding_scheme") == ANEURALNETWORKS_PADDING_SAME,
                 "there is no padding scheme of number %lld",
                 static_cast<long long>(call.integer("padding_scheme")));
  const int64_t rows = call.boolean("nchw") ? 2 : 1;
  const uint32_t image = call.index("input");
  const Ends x = same_ends(emit, emit.size(image, rows + 1), window_width,
                           call.integer("stride_width"), call.integer("dilation_width"));
  const Ends y = same_ends(emit, emit.size(image, rows), window_height,
                           call.integer("stride_height"), call.integer("dilation_height"));
  return {x.before, x.after, y.before, y.after};
}

SsaValue* padded(Emitter& emit, SsaValue* nchw, const Padding& padding) {
  return emit.call("aten::constant_pad_nd",
                   {nchw, {padding.left, padding.right, padding.top, padding.bottom}});
}

}  // namespace torchlet::nn
