// Special functions of real arguments in double precision, accurate to about 1e-13 unless a comment
// says otherwise. Poles, domains and limits are as PyTorch's functions of the same names. Formula
// numbers are of the NIST Digital Library of Mathematical Functions (https://dlmf.nist.gov).
//
// Those of many floats, y[i] = f(x[i]), are as accurate as floats computed with are: a few units in
// the last place, more where large terms cancel, as near a zero.
#pragma once

#include <cstdint>

namespace torchlet::ops::special {

// ---- gamma and zeta (special_gamma.cc) ----

double lgamma(double x);  // log|gamma(x)|
double digamma(double x);
double polygamma(int64_t n, double x);  // n-th derivative of digamma, n >= 0
double zeta(double s, double q);        // Hurwitz: sum over k >= 0 of (q + k)^-s
float zeta(float s, float q);
double igamma(double a, double x);      // regularised lower incomplete gamma function P(a, x)
double igammac(double a, double x);     // 1 - P(a, x)
float igamma(float a, float x);
float igammac(float a, float x);
void lgamma(const float* x, float* y, int64_t count);
void lgamma(const double* x, double* y, int64_t count);
void digamma(const float* x, float* y, int64_t count);

// ---- error function (special_erf.cc) ----

double erfinv(double x);
double erfcx(double x);  // exp(x^2) erfc(x)
double ndtr(double x);   // normal distribution: its integral, the logarithm, the inverse
double log_ndtr(double x);
double ndtri(double p);
void erfinv(const float* x, float* y, int64_t count);
void erfcx(const float* x, float* y, int64_t count);
void ndtr(const float* x, float* y, int64_t count);
void ndtri(const float* x, float* y, int64_t count);

// ---- Bessel and Airy functions (special_bessel.cc) ----

double bessel_j0(double x);
double bessel_j1(double x);
double bessel_y0(double x);
double bessel_y1(double x);
double i0(double x);
double i0e(double x);  // exp(-|x|) i0(x)
double i1(double x);
double i1e(double x);
double modified_bessel_k0(double x);
double modified_bessel_k1(double x);
double scaled_modified_bessel_k0(double x);  // exp(x) k0(x)
double scaled_modified_bessel_k1(double x);
double spherical_bessel_j0(double x);
double airy_ai(double x);
void bessel_j0(const float* x, float* y, int64_t count);
void bessel_j1(const float* x, float* y, int64_t count);
void bessel_y0(const float* x, float* y, int64_t count);
void bessel_y1(const float* x, float* y, int64_t count);
void spherical_bessel_j0(const float* x, float* y, int64_t count);
void i0(const float* x, float* y, int64_t count);
void i0e(const float* x, float* y, int64_t count);
void i1(const float* x, float* y, int64_t count);
void i1e(const float* x, float* y, int64_t count);
void modified_bessel_k0(const float* x, float* y, int64_t count);
void modified_bessel_k1(const float* x, float* y, int64_t count);
void scaled_modified_bessel_k0(const float* x, float* y, int64_t count);
void scaled_modified_bessel_k1(const float* x, float* y, int64_t count);
void airy_ai(const float* x, float* y, int64_t count);

}  // namespace torchlet::ops::special
