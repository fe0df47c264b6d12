// The loops under Fourier transforms.
#pragma once

#include <cstdint>

namespace torchlet::kernels {

constexpr int64_t kMaxRadix = 31;

// One stage of Stockham's transform, of data [length, lanes] in parts: group p of `groups` takes
// the `radix` blocks at p, p + groups, p + 2 * groups, ..., each of `block` * `lanes` numbers, and
// makes the blocks at radix * p, radix * p + 1, ... of `to` of them.
template <typename T>
struct FftStage {
  int64_t radix;  // 2, 4, or odd and at most kMaxRadix
  int64_t groups, block, lanes, length;
  bool is_forward;
  const T *root_re, *root_im;  // [length]
  T *re, *im, *to_re, *to_im;
};

// T is float or double.
template <typename T>
void run_stage(const FftStage<T>& stage);

// Row r of [rows, lanes] times factor r. In place, too.
template <typename T>
struct RowProducts {
  const T *re, *im, *factor_re, *factor_im;
  int64_t rows, lanes;
  T *to_re, *to_im;
};
template <typename T>
void multiply_rows(const RowProducts<T>& rows);

// The parts of `count` complex numbers, each two numbers, apart; and together, times `scale`.
void split_complex(const float* from, float* re, float* im, int64_t count);
void split_complex(const double* from, double* re, double* im, int64_t count);
void join_complex(const float* re, const float* im, float scale, float* to, int64_t count);
void join_complex(const double* re, const double* im, double scale, double* to, int64_t count);

// Lines of real numbers two at a time: those of a and b, where line l of `re` and `im`, [lines, n],
// is the transform of a + ib. The first `count` values of their transforms, times 2 * half, become
// complex lines 2 l and 2 l + 1 of `to`, which are `to_step` floats apart.
struct RealPairs {
  const float *re, *im;
  int64_t lines, n, count;
  float half;
  float* to;
  int64_t to_step;
};
void split_pairs(const RealPairs& pairs);

}  // namespace torchlet::kernels
