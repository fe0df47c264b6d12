#pragma once

namespace torchlet::kernels {

// Floating-point operations per second that one thread reaches with float32 multiply-adds in
// registers: the best of a few runs, 20 ms in all.
double measure_peak_flops();

}  // namespace torchlet::kernels
