// What factorisations do to two contiguous vectors, which may not overlap.
#pragma once

#include <cstdint>

namespace torchlet::kernels {

// y += factor x
void add_scaled(float factor, const float* x, float* y, int64_t count);
void add_scaled(double factor, const double* x, double* y, int64_t count);
// The sum of x y.
float dot(const float* x, const float* y, int64_t count);
double dot(const double* x, const double* y, int64_t count);
// (x, y) = (c x + s y, c y - s x)
void rotate(double c, double s, double* x, double* y, int64_t count);

}  // namespace torchlet::kernels
