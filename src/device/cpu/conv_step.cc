#include "device/cpu/conv_step.h"

namespace torchlet::cpu {
namespace {

double taps(const kernels::Window2dShape& w) {
  return static_cast<double>(w.out_h * w.out_w * w.kernel_h * w.kernel_w);
}

}  // namespace

double conv_flops(const kernels::ConvNhwcShape& s) {
  return 2 * taps(s.window) *
         static_cast<double>(s.batch * s.out_channels * (s.in_channels / s.groups));
}
double conv_flops(const kernels::DwConvShape& s) {
  return 2 * taps(s.window) * static_cast<double>(s.batch * s.channels);
}

}  // namespace torchlet::cpu
