// What factorisations do to a few contiguous vectors, which may not overlap.
#pragma once

#include <cstdint>

namespace torchlet::kernels {

// sum = y + factor x, where `sum` may be y.
void add_scaled(float factor, const float* x, const float* y, float* sum, int64_t count);
// y += factor x
inline void add_scaled(float factor, const float* x, float* y, int64_t count) {
  add_scaled(factor, x, y, y, count);
}
void add_scaled(double factor, const double* x, double* y, int64_t count);
// Row r of `y`, which are `stride` apart, -= factors[r * factor_step] x.
void subtract_outer(const float* factors, int64_t factor_step, const float* x, float* y,
                    int64_t stride, int64_t rows, int64_t count);
void subtract_outer(const double* factors, int64_t factor_step, const double* x, double* y,
                    int64_t stride, int64_t rows, int64_t count);
// The sum of x y.
float dot(const float* x, const float* y, int64_t count);
double dot(const double* x, const double* y, int64_t count);
// Of four vectors a that lie `stride` apart: y += the sum of factors[i] a[i], and sums[i] += the
// sum of a[i] x. Each is read once.
constexpr int64_t kVectorsAtOnce = 4;
void multiply_both_ways(const float* a, int64_t stride, const float* factors, const float* x,
                        float* y, float* sums, int64_t count);
void multiply_both_ways(const double* a, int64_t stride, const double* factors, const double* x,
                        double* y, double* sums, int64_t count);
// (x, y) = (c x + s y, c y - s x)
void rotate(double c, double s, double* x, double* y, int64_t count);
// (x, y, z) -= tau (x + p y + q z) (1, p, q): a reflection of three rows.
void reflect(float p, float q, float tau, float* x, float* y, float* z, int64_t count);
void reflect(double p, double q, double tau, double* x, double* y, double* z, int64_t count);

}  // namespace torchlet::kernels
