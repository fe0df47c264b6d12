#include "kernels/signal/fft.h"

#include <algorithm>
#include <cmath>
#include <mutex>

#include "base/limits.h"
#include "kernels/signal/fft_stages.h"
#include "kernels/simd/scratch.h"

namespace torchlet::kernels {
namespace {

std::complex<double> root(int64_t k, int64_t n, bool forward) {
  const double angle = 2 * M_PI * static_cast<double>(k) / static_cast<double>(n);
  return {std::cos(angle), forward ? -std::sin(angle) : std::sin(angle)};
}

}  // namespace

template <typename T>
void Fft<T>::Factors::resize(size_t size) {
  re.resize(size);
  im.resize(size);
}
template <typename T>
void Fft<T>::Factors::set(size_t i, std::complex<double> value) {
  re[i] = static_cast<T>(value.real());
  im[i] = static_cast<T>(value.imag());
}

template <typename T>
Fft<T>::Fft(int64_t n, bool forward) : n_(n), forward_(forward) {
  int64_t rest = n;
  for (; rest % 4 == 0; rest /= 4) radices_.push_back(4);
  // Above kMaxRadix a prime factor costs more than a detour over powers of two.
  for (int64_t radix = 2; radix <= kMaxRadix && rest > 1; ++radix) {
    for (; rest % radix == 0; rest /= radix) radices_.push_back(radix);
  }
  if (rest <= 1) {
    // And what transform() works in.
    require_memory(n, 6 * sizeof(T), "values of a Fourier transform");
    roots_.resize(static_cast<size_t>(n));
    for (int64_t k = 0; k < n; ++k) roots_.set(static_cast<size_t>(k), root(k, n, forward));
    return;
  }
  int64_t size = 1;
  while (size < 2 * n - 1) size *= 2;
  require_memory(size, 12 * sizeof(T), "values of a Fourier transform");
  inner_.emplace_back(size, true);
  inner_.emplace_back(size, false);
  chirp_.resize(static_cast<size_t>(n));
  filter_.resize(static_cast<size_t>(size));
  std::vector<double> re(filter_.re.size()), im(filter_.re.size());
  int64_t square = 0;  // k^2 modulo 2n, which keeps the angle small, and so exact
  for (int64_t k = 0; k < n; ++k) {
    const std::complex<double> value = root(square, 2 * n, forward);
    chirp_.set(static_cast<size_t>(k), value);
    for (const int64_t place : {k, (size - k) % size}) {
      re[static_cast<size_t>(place)] = value.real();
      im[static_cast<size_t>(place)] = -value.imag();
    }
    square = (square + 2 * k + 1) % (2 * n);
  }
  Fft<double>(size, true).transform(re.data(), im.data(), 1);
  for (size_t i = 0; i < re.size(); ++i) {
    filter_.set(i, std::complex(re[i], im[i]) / static_cast<double>(size));
  }
}

template <typename T>
void Fft<T>::transform(T* re, T* im, int64_t lanes) const {
  if (n_ <= 1) return;
  if (!inner_.empty()) return bluestein(re, im, lanes);
  const Scratch<T> work(2 * n_ * lanes);
  FftStage<T> stage{.radix = 0,
                    .groups = n_,
                    .block = 1,
                    .lanes = lanes,
                    .length = n_,
                    .is_forward = forward_,
                    .root_re = roots_.re.data(),
                    .root_im = roots_.im.data(),
                    .re = re,
                    .im = im,
                    .to_re = work.data(),
                    .to_im = work.data() + n_ * lanes};
  for (const int64_t radix : radices_) {
    stage.radix = radix;
    stage.groups /= radix;
    run_stage(stage);
    stage.block *= radix;
    std::swap(stage.re, stage.to_re);
    std::swap(stage.im, stage.to_im);
  }
  if (stage.re != re) {
    std::copy_n(stage.re, n_ * lanes, re);
    std::copy_n(stage.im, n_ * lanes, im);
  }
}

template <typename T>
void Fft<T>::bluestein(T* re, T* im, int64_t lanes) const {
  const auto size = static_cast<int64_t>(filter_.re.size());
  const Scratch<T> work(2 * size * lanes);
  T *work_re = work.data(), *work_im = work.data() + size * lanes;
  const T *chirp_re = chirp_.re.data(), *chirp_im = chirp_.im.data();
  multiply_rows<T>({re, im, chirp_re, chirp_im, n_, lanes, work_re, work_im});
  std::fill(work_re + n_ * lanes, work_re + size * lanes, T(0));
  std::fill(work_im + n_ * lanes, work_im + size * lanes, T(0));
  inner_[0].transform(work_re, work_im, lanes);
  multiply_rows<T>(
      {work_re, work_im, filter_.re.data(), filter_.im.data(), size, lanes, work_re, work_im});
  inner_[1].transform(work_re, work_im, lanes);
  multiply_rows<T>({work_re, work_im, chirp_re, chirp_im, n_, lanes, re, im});
}

template <typename T>
std::shared_ptr<const Fft<T>> fft_plan(int64_t n, bool forward) {
  constexpr size_t kMostPlans = 8;
  constexpr int64_t kMostValues = 1 << 16;  // so that they take a few MB at most
  struct Entry {
    bool forward;
    std::shared_ptr<const Fft<T>> plan;
  };
  static std::mutex mutex;
  static std::vector<Entry> lately;  // the last one that was asked for comes first
  const std::lock_guard lock(mutex);
  const auto found = std::ranges::find_if(lately, [&](const Entry& entry) {
    return entry.plan->size() == n && entry.forward == forward;
  });
  if (found != lately.end()) {
    std::rotate(lately.begin(), found, found + 1);
    return lately.front().plan;
  }
  auto plan = std::make_shared<const Fft<T>>(n, forward);
  if (n <= kMostValues) {
    if (lately.size() == kMostPlans) lately.pop_back();
    lately.insert(lately.begin(), {forward, plan});
  }
  return plan;
}

template class Fft<float>;
template class Fft<double>;
template std::shared_ptr<const Fft<float>> fft_plan(int64_t n, bool forward);
template std::shared_ptr<const Fft<double>> fft_plan(int64_t n, bool forward);

}  // namespace torchlet::kernels
