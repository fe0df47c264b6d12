// The loops of fft.cc, for float and double.

#if defined(TORCHLET_KERNELS_FFT_STAGES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TORCHLET_KERNELS_FFT_STAGES_INL_H_
#undef TORCHLET_KERNELS_FFT_STAGES_INL_H_
#else
#define TORCHLET_KERNELS_FFT_STAGES_INL_H_
#endif

#include <hwy/highway.h>

#include <complex>

#include "kernels/signal/fft_stages.h"
#include "kernels/simd/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace torchlet::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class V>
struct Complex {
  // Written out, since an implicit one is compiled for no instruction set of vectors.
  HWY_INLINE Complex() {}  // NOLINT(modernize-use-equals-default)
  HWY_INLINE Complex(V real, V imaginary) : re(real), im(imaginary) {}

  V re, im;
  HWY_INLINE Complex operator+(const Complex& b) const {
    return {hn::Add(re, b.re), hn::Add(im, b.im)};
  }
  HWY_INLINE Complex operator-(const Complex& b) const {
    return {hn::Sub(re, b.re), hn::Sub(im, b.im)};
  }
  HWY_INLINE Complex operator*(const Complex& b) const {
    return {hn::NegMulAdd(im, b.im, hn::Mul(re, b.re)), hn::MulAdd(im, b.re, hn::Mul(re, b.im))};
  }
  // Times -i.
  HWY_INLINE Complex turned() const { return {im, hn::Neg(re)}; }
};

template <typename T>
struct Stage : FftStage<T> {
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;
  using C = Complex<V>;
  static constexpr int64_t kLanes = static_cast<int64_t>(HWY_LANES(T));

  HWY_INLINE C root(int64_t k) const {
    const D d;
    return {hn::Set(d, this->root_re[k]), hn::Set(d, this->root_im[k])};
  }
  HWY_INLINE C load(int64_t at, int64_t count) const {
    const D d;
    return {load_first(d, this->re + at, count), load_first(d, this->im + at, count)};
  }
  HWY_INLINE void store(const C& value, int64_t at, int64_t count) const {
    const D d;
    store_first(value.re, d, this->to_re + at, count);
    store_first(value.im, d, this->to_im + at, count);
  }

  void radix2() const {
    const int64_t size = this->block * this->lanes;
    for (int64_t p = 0; p < this->groups; ++p) {
      const C w = root(p * this->block);
      for (int64_t c = 0; c < size; c += kLanes) {
        const int64_t count = size - c;
        const C a = load(p * size + c, count), b = load((p + this->groups) * size + c, count);
        store(a + b, 2 * p * size + c, count);
        store((a - b) * w, (2 * p + 1) * size + c, count);
      }
    }
  }

  void radix4() const {
    const int64_t size = this->block * this->lanes, next = this->groups * size;
    for (int64_t p = 0; p < this->groups; ++p) {
      const C w1 = root(p * this->block), w2 = root(2 * p * this->block),
              w3 = root(3 * p * this->block);
      for (int64_t c = 0; c < size; c += kLanes) {
        const int64_t count = size - c, from = p * size + c, to = 4 * p * size + c;
        const C x0 = load(from, count), x1 = load(from + next, count),
                x2 = load(from + 2 * next, count), x3 = load(from + 3 * next, count);
        const C even = x0 + x2, even_apart = x0 - x2, odd = x1 + x3;
        const C odd_apart = (this->is_forward ? x1 - x3 : x3 - x1).turned();
        store(even + odd, to, count);
        store((even_apart + odd_apart) * w1, to + size, count);
        store((even - odd) * w2, to + 2 * size, count);
        store((even_apart - odd_apart) * w3, to + 3 * size, count);
      }
    }
  }

  // Values j and radix - j come with conjugate roots, so that their sums and differences do.
  void odd_radix() const {
    const int64_t size = this->block * this->lanes, width = this->radix, half = width / 2;
    const int64_t root_step = this->length / width;
    const D d;
    for (int64_t p = 0; p < this->groups; ++p) {
      for (int64_t c = 0; c < size; c += kLanes) {
        const int64_t count = size - c, to = width * p * size + c;
        C sums[kMaxRadix / 2], apart[kMaxRadix / 2];
        const C first = load(p * size + c, count);
        C all = first;
        for (int64_t j = 0; j < half; ++j) {
          const C a = load((p + (j + 1) * this->groups) * size + c, count);
          const C b = load((p + (width - 1 - j) * this->groups) * size + c, count);
          sums[j] = a + b;
          apart[j] = a - b;
          all = all + sums[j];
        }
        store(all, to, count);
        for (int64_t k = 1; k <= half; ++k) {
          C along = first, across = {hn::Zero(d), hn::Zero(d)};
          for (int64_t j = 0; j < half; ++j) {
            const C w = root((j + 1) * k % width * root_step);
            along = {hn::MulAdd(sums[j].re, w.re, along.re),
                     hn::MulAdd(sums[j].im, w.re, along.im)};
            across = {hn::NegMulAdd(apart[j].im, w.im, across.re),
                      hn::MulAdd(apart[j].re, w.im, across.im)};
          }
          store((along + across) * root(p * k * this->block), to + k * size, count);
          store((along - across) * root(p * (width - k) * this->block), to + (width - k) * size,
                count);
        }
      }
    }
  }
};

template <typename T>
void any_stage(const FftStage<T>& given) {
  const Stage<T> stage{given};
  if (stage.radix == 2) {
    stage.radix2();
  } else if (stage.radix == 4) {
    stage.radix4();
  } else {
    stage.odd_radix();
  }
}

template <typename T>
void multiply_any(const RowProducts<T>& m) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  for (int64_t r = 0; r < m.rows; ++r) {
    const Complex<V> factor{hn::Set(d, m.factor_re[r]), hn::Set(d, m.factor_im[r])};
    for (int64_t l = 0; l < m.lanes; l += static_cast<int64_t>(HWY_LANES(T))) {
      const int64_t at = r * m.lanes + l, count = m.lanes - l;
      const Complex<V> product =
          Complex<V>{load_first(d, m.re + at, count), load_first(d, m.im + at, count)} * factor;
      store_first(product.re, d, m.to_re + at, count);
      store_first(product.im, d, m.to_im + at, count);
    }
  }
}

template <typename T>
void split_any(const T* from, T* re, T* im, int64_t count) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kLanes = static_cast<int64_t>(HWY_LANES(T));
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    hn::Vec<decltype(d)> real, imaginary;
    hn::LoadInterleaved2(d, from + 2 * i, real, imaginary);
    hn::StoreU(real, d, re + i);
    hn::StoreU(imaginary, d, im + i);
  }
  for (; i < count; ++i) {
    re[i] = from[2 * i];
    im[i] = from[2 * i + 1];
  }
}

template <typename T>
void join_any(const T* re, const T* im, T scale, T* to, int64_t count) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kLanes = static_cast<int64_t>(HWY_LANES(T));
  const auto factor = hn::Set(d, scale);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    hn::StoreInterleaved2(hn::Mul(hn::LoadU(d, re + i), factor),
                          hn::Mul(hn::LoadU(d, im + i), factor), d, to + 2 * i);
  }
  for (; i < count; ++i) {
    to[2 * i] = re[i] * scale;
    to[2 * i + 1] = im[i] * scale;
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace torchlet::kernels
HWY_AFTER_NAMESPACE();

#endif  // TORCHLET_KERNELS_FFT_STAGES_INL_H_
