// Special functions of real arguments in double precision, accurate to about 1e-13 unless a comment
// says otherwise. Poles, domains and limits are as PyTorch's functions of the same names. Formula
// numbers are of the NIST Digital Library of Mathematical Functions (https://dlmf.nist.gov).
#pragma once

#include <cstdint>

#include "ops/core/common.h"

namespace torchlet::ops {

// f of every element: float for integers. For functions that are worth no code of their own per
// type.
Tensor unary_double(const Tensor& self, double (*f)(double));

}  // namespace torchlet::ops

namespace torchlet::ops::special {

// ---- gamma and zeta (special_gamma.cc) ----

double lgamma(double x);  // log|gamma(x)|
float lgamma(float x);
double digamma(double x);
double polygamma(int64_t n, double x);  // n-th derivative of digamma, n >= 0
double zeta(double s, double q);        // Hurwitz: sum over k >= 0 of (q + k)^-s
// The regularised lower incomplete gamma function P(a, x), and 1 - P(a, x), with a relative error
// of about epsilon.
double igamma(double a, double x, double epsilon);
double igammac(double a, double x, double epsilon);

// ---- error function (special_erf.cc) ----

double erfinv(double x);
double erfcx(double x);  // exp(x^2) erfc(x)
double log_ndtr(double x);
double ndtri(double p);

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
double airy_ai(double x);

}  // namespace torchlet::ops::special
