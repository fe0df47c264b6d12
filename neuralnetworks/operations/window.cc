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

// An argument that has to be at least `least`; 1 if the signature has none of the name.
int64_t number(const Call& call, std::string_view name, int64_t least) {
  if (!call.takes(name)) return 1;
  const int64_t value = call.integer(name);
  if (value < least) {
    fail(ErrorCode::kInvalidArgument, "%s is %lld, and has to be at least %lld",
         std::string(name).c_str(), static_cast<long long>(value), static_cast<long long>(least));
  }
  return value;
}

}  // namespace

Arg strides_of(const Call& call) {
  return {number(call, "stride_height", 1), number(call, "stride_width", 1)};
}

Arg dilations_of(const Call& call) {
  return {number(call, "dilation_height", 1), number(call, "dilation_width", 1)};
}

Arg window_of(const Call& call) {
  return {number(call, "filter_height", 1), number(call, "filter_width", 1)};
}

bool Padding::is_symmetric() const { return same(left, right) && same(top, bottom); }

Padding padding_of(Emitter& emit, const Call& call, const Arg& window_height,
                   const Arg& window_width) {
  if (call.has("padding_left")) {
    return {number(call, "padding_left", 0), number(call, "padding_right", 0),
            number(call, "padding_top", 0), number(call, "padding_bottom", 0)};
  }
  if (call.integer("padding_scheme") == ANEURALNETWORKS_PADDING_VALID) return {};
  TORCHLET_CHECK(call.integer("padding_scheme") == ANEURALNETWORKS_PADDING_SAME,
                 "there is no padding scheme of number %lld",
                 static_cast<long long>(call.integer("padding_scheme")));
  const int64_t rows = call.boolean("nchw") ? 2 : 1;
  const uint32_t image = call.index("input");
  const Ends x = same_ends(emit, emit.size(image, rows + 1), window_width,
                           number(call, "stride_width", 1), number(call, "dilation_width", 1));
  const Ends y = same_ends(emit, emit.size(image, rows), window_height,
                           number(call, "stride_height", 1), number(call, "dilation_height", 1));
  return {x.before, x.after, y.before, y.after};
}

SsaValue* padded(Emitter& emit, SsaValue* nchw, const Padding& padding, double value) {
  return emit.call("aten::constant_pad_nd",
                   {nchw, {padding.left, padding.right, padding.top, padding.bottom}, value});
}

}  // namespace torchlet::nn
