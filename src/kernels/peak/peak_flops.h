#pragma once

namespace torchlet::kernels {

// Floating-point operations per second that one thread reaches with float32 multiply-adds in
// registers: the best of a few runs, 20 ms in all.
double measure_peak_flops();
// Operations on bytes per second that one thread reaches with the products of unsigned and signed
// bytes that the quantized kernels take on this processor, from the first-level cache.
double measure_peak_int8();

}  // namespace torchlet::kernels
