#include "kernels/spatial/window_size.h"

#include "base/checked.h"

namespace torchlet::kernels {
namespace {

void check_most(int64_t value, const char* what) {
  if (value > kMostOfWindow || value < -kMostOfWindow) {
    fail(ErrorCode::kInvalidArgument, "a window's %s of %lld is too large", what,
         static_cast<long long>(value));
  }
}

// How far a window can move: negative if it does not fit.
int64_t room_of(int64_t in, int64_t kernel, int64_t stride, int64_t pad, int64_t dilation) {
  check_most(stride, "stride");
  check_most(pad, "padding");
  return checked_sub(checked_add(in, 2 * pad), window_reach(kernel, dilation));
}

}  // namespace

int64_t window_reach(int64_t kernel, int64_t dilation) {
  check_most(kernel, "size");
  check_most(dilation, "dilation");
  return dilation * (kernel - 1) + 1;
}

int64_t sliding_output_size(int64_t in, int64_t kernel, int64_t stride, int64_t pad,
                            int64_t dilation) {
  const int64_t room = room_of(in, kernel, stride, pad, dilation);
  return room < 0 ? 0 : room / stride + 1;
}

int64_t pooled_output_size(int64_t in, int64_t kernel, int64_t stride, int64_t pad,
                           int64_t dilation, bool ceil_mode) {
  const int64_t room =
      checked_add(room_of(in, kernel, stride, pad, dilation), ceil_mode ? stride - 1 : 0);
  const int64_t out = (room >= 0 ? room / stride : -((-room + stride - 1) / stride)) + 1;
  return ceil_mode && (out - 1) * stride >= in + pad ? out - 1 : out;
}

int64_t transposed_output_size(int64_t in, int64_t kernel, int64_t stride, int64_t pad,
                               int64_t dilation, int64_t output_padding) {
  check_most(stride, "stride");
  check_most(pad, "padding");
  check_most(output_padding, "output padding");
  return checked_add(checked_mul(in - 1, stride),
                     window_reach(kernel, dilation) - 2 * pad + output_padding);
}

}  // namespace torchlet::kernels
