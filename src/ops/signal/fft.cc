#include "ops/signal/fft.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <type_traits>

#include "base/thread_pool.h"
#include "kernels/layout/transpose.h"
#include "kernels/signal/fft.h"
#include "kernels/signal/fft_stages.h"
#include "kernels/simd/scratch.h"

namespace torchlet::ops {
namespace {

constexpr int64_t kLanes = 16;            // lines that are transformed together
constexpr int64_t kTileValues = 1 << 16;  // at most, of longer ones fewer
constexpr int64_t kParallelGrain = 16384;

DType complex_of(DType dtype) {
  TORCHLET_CHECK(dtype != DType::kFloat16 && dtype != DType::kBFloat16,
                 "Unsupported dtype %s for an FFT", dtype_name(dtype).data());
  return dtype == DType::kFloat64 || dtype == DType::kComplex128 ? DType::kComplex128
                                                                 : DType::kComplex64;
}
DType real_of(DType dtype) {
  return complex_of(dtype) == DType::kComplex128 ? DType::kFloat64 : DType::kFloat32;
}

// The lines of a tensor along a dimension: groups of them with the same step from one to the next.
// The tensor is contiguous, or [batch, count, size] with any strides and lines in the last
// dimension.
template <typename Value>
struct Lines {
  Lines(const Tensor& tensor, int64_t dim)
      : data(tensor.data_ptr<Value>()), size(tensor.size(dim)), stride(tensor.stride(dim)) {
    count = size == 0 ? 0 : tensor.numel() / size;
    if (!tensor.is_contiguous()) {
      group = tensor.size(1), step = tensor.stride(1), group_step = tensor.stride(0);
    } else if (stride > 1) {
      group = stride, step = 1, group_step = stride * size;
    } else {
      group = count, step = size;
    }
  }
  Value* line(int64_t i) const { return data + i / group * group_step + i % group * step; }
  // Whether lines [i, i + lanes) are the rows of a matrix, `step` elements apart.
  bool are_rows(int64_t i, int64_t lanes) const {
    return stride == 1 && i % group + lanes <= group;
  }
  // Whether lines [i, i + lanes) begin one after the other.
  bool are_neighbours(int64_t i, int64_t lanes) const {
    return step == 1 && i % group + lanes <= group;
  }

  Value* data;
  int64_t size, stride, count;
  int64_t group, step, group_step = 0;  // lines of a group; distances of lines and of groups
};

// Where some lines begin.
template <typename Value>
struct LinesAt {
  [[gnu::noinline]] LinesAt(const Lines<Value>& lines, int64_t first, int64_t count) {
    int64_t left = lines.group - first % lines.group;
    line[0] = lines.line(first);
    for (int64_t i = 1; i < count; ++i) {
      const bool is_next = --left > 0;
      line[i] = is_next ? line[i - 1] + lines.step : lines.line(first + i);
      if (!is_next) left = lines.group;
    }
  }
  Value* line[2 * kLanes];
};

// [n, lanes], real and imaginary parts apart.
template <typename T>
struct Tile {
  Tile(int64_t n, int64_t lanes) : memory(2 * n * lanes) {
    re = memory.data();
    im = re + n * lanes;
  }
  kernels::Scratch<T> memory;
  T *re, *im;
};

// [rows, cols] of `from` as [cols, rows] of `to`.
template <typename T>
void turn(const Tile<T>& from, int64_t rows, int64_t cols, const Tile<T>& to) {
  kernels::transpose(sizeof(T), rows, cols, from.re, cols, to.re, rows);
  kernels::transpose(sizeof(T), rows, cols, from.im, cols, to.im, rows);
}

template <typename T>
void read_tile(const Lines<std::complex<T>>& lines, int64_t first, int64_t lanes,
               const Tile<T>& tile) {
  if (lines.are_neighbours(first, lanes)) {
    const std::complex<T>* from = lines.line(first);
    for (int64_t k = 0; k < lines.size; ++k, from += lines.stride) {
      kernels::split_complex(reinterpret_cast<const T*>(from), tile.re + k * lanes,
                             tile.im + k * lanes, lanes);
    }
    return;
  }
  if (lines.are_rows(first, lanes)) {
    const Tile<T> rows(lines.size, lanes);
    for (int64_t l = 0; l < lanes; ++l) {
      kernels::split_complex(reinterpret_cast<const T*>(lines.line(first + l)),
                             rows.re + l * lines.size, rows.im + l * lines.size, lines.size);
    }
    return turn(rows, lanes, lines.size, tile);
  }
  for (int64_t l = 0; l < lanes; ++l) {
    const std::complex<T>* from = lines.line(first + l);
    for (int64_t k = 0; k < lines.size; ++k, from += lines.stride) {
      tile.re[k * lanes + l] = from->real();
      tile.im[k * lanes + l] = from->imag();
    }
  }
}

template <typename T>
void write_tile(const Tile<T>& tile, T scale, int64_t first, int64_t lanes,
                const Lines<std::complex<T>>& lines) {
  if (lines.are_neighbours(first, lanes)) {
    std::complex<T>* to = lines.line(first);
    for (int64_t k = 0; k < lines.size; ++k, to += lines.stride) {
      kernels::join_complex(tile.re + k * lanes, tile.im + k * lanes, scale,
                            reinterpret_cast<T*>(to), lanes);
    }
    return;
  }
  if (lines.are_rows(first, lanes)) {
    const Tile<T> rows(lines.size, lanes);
    turn(tile, lines.size, lanes, rows);
    for (int64_t l = 0; l < lanes; ++l) {
      kernels::join_complex(rows.re + l * lines.size, rows.im + l * lines.size, scale,
                            reinterpret_cast<T*>(lines.line(first + l)), lines.size);
    }
    return;
  }
  for (int64_t l = 0; l < lanes; ++l) {
    std::complex<T>* to = lines.line(first + l);
    for (int64_t k = 0; k < lines.size; ++k, to += lines.stride) {
      *to = {tile.re[k * lanes + l] * scale, tile.im[k * lanes + l] * scale};
    }
  }
}

// Calls fn(k, l) for k < n, l < lanes in the order in which their places lie in memory.
template <typename F>
void for_each_value(int64_t n, int64_t lanes, bool are_neighbours, const F& fn) {
  if (are_neighbours) {
    for (int64_t k = 0; k < n; ++k) {
      for (int64_t l = 0; l < lanes; ++l) fn(k, l);
    }
  } else {
    for (int64_t l = 0; l < lanes; ++l) {
      for (int64_t k = 0; k < n; ++k) fn(k, l);
    }
  }
}

int64_t lanes_of(int64_t n) { return std::clamp<int64_t>(kTileValues / n, 1, kLanes); }

// Calls fn(first, lanes) for all of `count` lines of `n` values.
template <typename F>
void for_each_tile(int64_t count, int64_t n, int64_t lanes, const F& fn) {
  const int64_t tiles = (count + lanes - 1) / lanes;
  const int64_t grain = std::max<int64_t>(1, kParallelGrain / (n * lanes));
  parallel_for(tiles, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) fn(i * lanes, std::min(lanes, count - i * lanes));
  });
}

// Complex lines, in place.
template <typename T>
void transform(const Tensor& data, int64_t dim, bool forward, double scale) {
  const Lines<std::complex<T>> lines(data, dim);
  const auto plan = kernels::fft_plan<T>(lines.size, forward);
  for_each_tile(lines.count, lines.size, lanes_of(lines.size), [&](int64_t first, int64_t lanes) {
    const Tile<T> tile(lines.size, lanes);
    read_tile(lines, first, lanes, tile);
    plan->transform(tile.re, tile.im, lanes);
    write_tile(tile, static_cast<T>(scale), first, lanes, lines);
  });
}

// What transform_real() writes, for lines that are the rows of a matrix.
void write_pairs(const Tile<float>& tile, int64_t n, int64_t lanes, float half,
                 const Lines<std::complex<float>>& to, int64_t first) {
  const Tile<float> lines(n, lanes);  // [lanes, n]
  turn(tile, n, lanes, lines);
  kernels::split_pairs({lines.re, lines.im, lanes, n, to.size, half,
                        reinterpret_cast<float*>(to.line(first)), 2 * to.step});
}

// Real lines to complex ones of the first values, two at a time: those of a and b are the parts of
// the transform z of a + ib that z[n - k] mirrors and does not.
template <typename T>
void transform_real(const Tensor& in, const Tensor& out, int64_t dim, bool forward, double scale) {
  const Lines<T> from(in, dim);
  const Lines<std::complex<T>> to(out, dim);
  const int64_t n = from.size, pairs = lanes_of(n);
  const auto plan = kernels::fft_plan<T>(n, forward);
  const T half = static_cast<T>(scale / 2);
  for_each_tile(from.count, n, 2 * pairs, [&](int64_t first, int64_t count) {
    const int64_t lanes = (count + 1) / 2;
    const Tile<T> tile(n, lanes);
    if (count == 2 * lanes && from.are_neighbours(first, count)) {
      for (int64_t k = 0; k < n; ++k) {  // as a + ib they lie in memory
        kernels::split_complex(from.line(first) + k * from.stride, tile.re + k * lanes,
                               tile.im + k * lanes, lanes);
      }
    } else if (count == 2 * lanes && from.are_rows(first, count)) {
      kernels::transpose(sizeof(T), lanes, n, from.line(first), 2 * from.step, tile.re, lanes);
      kernels::transpose(sizeof(T), lanes, n, from.line(first + 1), 2 * from.step, tile.im, lanes);
    } else {
      for (int64_t l = 0; l < 2 * lanes; ++l) {
        T* part = (l % 2 == 0 ? tile.re : tile.im) + l / 2;
        if (l == count) {
          for (int64_t k = 0; k < n; ++k) part[k * lanes] = 0;
          continue;
        }
        const T* values = from.line(first + l);
        for (int64_t k = 0; k < n; ++k) part[k * lanes] = values[k * from.stride];
      }
    }
    plan->transform(tile.re, tile.im, lanes);
    if constexpr (std::is_same_v<T, float>) {
      if (count == 2 * lanes && to.are_rows(first, count)) {
        return write_pairs(tile, n, lanes, half, to, first);
      }
    }
    const LinesAt<std::complex<T>> at(to, first, count);
    for_each_value(to.size, lanes, to.are_neighbours(first, count), [&](int64_t k, int64_t l) {
      const int64_t here = k * lanes + l, there = (k == 0 ? 0 : n - k) * lanes + l;
      const T re = tile.re[here], im = tile.im[here];
      const T mirrored_re = tile.re[there], mirrored_im = -tile.im[there];
      at.line[2 * l][k * to.stride] = {(re + mirrored_re) * half, (im + mirrored_im) * half};
      if (2 * l + 1 < count) {
        at.line[2 * l + 1][k * to.stride] = {(im - mirrored_im) * half, (mirrored_re - re) * half};
      }
    });
  });
}

// The way back: of lines whose second half would mirror the first, so that x[0] and x[n / 2] are
// real.
template <typename T>
void transform_to_real(const Tensor& in, const Tensor& out, int64_t dim, bool forward,
                       double scale) {
  const Lines<std::complex<T>> from(in, dim);
  const Lines<T> to(out, dim);
  const int64_t n = to.size, pairs = lanes_of(n);
  const auto plan = kernels::fft_plan<T>(n, forward);
  const T factor = static_cast<T>(scale);
  for_each_tile(to.count, n, 2 * pairs, [&](int64_t first, int64_t count) {
    const int64_t lanes = (count + 1) / 2;
    const Tile<T> tile(n, lanes);
    const LinesAt<std::complex<T>> at(from, first, count);
    for_each_value(n / 2 + 1, lanes, from.are_neighbours(first, count), [&](int64_t k, int64_t l) {
      const bool is_real = k == 0 || 2 * k == n;
      const std::complex<T> x = factor * at.line[2 * l][k * from.stride];
      const std::complex<T> y =
          2 * l + 1 < count ? factor * at.line[2 * l + 1][k * from.stride] : std::complex<T>();
      const T x_im = is_real ? 0 : x.imag(), y_im = is_real ? 0 : y.imag();
      const int64_t here = k * lanes + l, there = (k == 0 ? 0 : n - k) * lanes + l;
      tile.re[here] = x.real() - y_im;
      tile.im[here] = x_im + y.real();
      tile.re[there] = x.real() + y_im;
      tile.im[there] = y.real() - x_im;
    });
    plan->transform(tile.re, tile.im, lanes);
    if (count == 2 * lanes && to.are_neighbours(first, count)) {
      for (int64_t k = 0; k < n; ++k) {
        kernels::join_complex(tile.re + k * lanes, tile.im + k * lanes, T(1),
                              to.line(first) + k * to.stride, lanes);
      }
      return;
    }
    if (count == 2 * lanes && to.are_rows(first, count)) {
      kernels::transpose(sizeof(T), n, lanes, tile.re, lanes, to.line(first), 2 * to.step);
      kernels::transpose(sizeof(T), n, lanes, tile.im, lanes, to.line(first + 1), 2 * to.step);
      return;
    }
    for (int64_t l = 0; l < count; ++l) {
      const T* part = (l % 2 == 0 ? tile.re : tile.im) + l / 2;
      T* values = to.line(first + l);
      for (int64_t k = 0; k < n; ++k) values[k * to.stride] = part[k * lanes];
    }
  });
}

// `fn` of a number of the type that `dtype` is computed in.
template <typename F>
void with_real(DType dtype, const F& fn) {
  if (real_of(dtype) == DType::kFloat64) {
    fn(double());
  } else {
    fn(float());
  }
}

double factor_of(FftScale scale, int64_t n) {
  const double count = static_cast<double>(n);
  return scale == FftScale::kNone ? 1 : scale == FftScale::kN ? 1 / count : 1 / std::sqrt(count);
}

int64_t points(const Tensor& self, IntSpan dims) {
  int64_t n = 1;
  for (const int64_t dim : dims) n *= self.size(dim);
  return n;
}

IntArray with_size(IntSpan sizes, int64_t dim, int64_t size) {
  IntArray result(sizes);
  result[static_cast<size_t>(wrap_dim(dim, static_cast<int64_t>(sizes.size())))] = size;
  return result;
}

// A contiguous copy to work in.
Tensor workspace(const Tensor& self) {
  const Tensor copy = empty(self.sizes(), complex_of(self.dtype()));
  copy.copy_(self);
  return copy;
}

// All of `dims`, in place; the scale is that of the last transform.
void transform_all(const Tensor& data, IntSpan dims, bool forward, double scale) {
  if (data.numel() == 0) return;
  for (size_t i = 0; i < dims.size(); ++i) {
    with_real(data.dtype(), [&](auto zero) {
      transform<decltype(zero)>(data, dims[i], forward, i + 1 == dims.size() ? scale : 1);
    });
  }
}

}  // namespace

Tensor fft_c2c(const Tensor& self, IntSpan dims, FftScale scale, bool forward) {
  if (!is_complex(self.dtype()) && !dims.empty()) {
    return fft_r2c(self, dims, scale, forward, false);
  }
  const Tensor work = workspace(self);
  transform_all(work, dims, forward, factor_of(scale, points(self, dims)));
  return work;
}

Tensor fft_r2c(const Tensor& self, IntSpan dims, FftScale scale, bool forward, bool onesided) {
  TORCHLET_CHECK(!is_complex(self.dtype()), "expects a real input tensor, but got %s",
                 dtype_name(self.dtype()).data());
  if (dims.empty()) return fft_c2c(self, dims, scale, forward);
  const int64_t last = dims.back(), n = self.size(last);
  Tensor in = self.to(real_of(self.dtype()));
  if (in.dim() != 3 || last != 2) in = in.contiguous();  // frames of a signal may overlap
  const Tensor out =
      empty(with_size(self.sizes(), last, onesided ? n / 2 + 1 : n), complex_of(self.dtype()));
  const double factor = factor_of(scale, points(self, dims));
  if (in.numel() > 0) {
    with_real(in.dtype(), [&](auto zero) {
      transform_real<decltype(zero)>(in, out, last, forward, dims.size() == 1 ? factor : 1);
    });
  }
  transform_all(out, dims.first(dims.size() - 1), forward, factor);
  return out;
}

Tensor fft_c2r(const Tensor& self, IntSpan dims, FftScale scale, bool forward, int64_t last_size) {
  const int64_t last = dims.back();
  TORCHLET_CHECK(last_size >= 1 && self.size(last) > last_size / 2,
                 "an inverse real FFT of %lld values takes %lld of the input, which has %lld",
                 static_cast<long long>(last_size), static_cast<long long>(last_size / 2 + 1),
                 static_cast<long long>(self.size(last)));
  const Tensor read = narrow(self, last, 0, last_size / 2 + 1);
  // One transform only reads its input.
  const Tensor half =
      dims.size() == 1 ? read.to(complex_of(read.dtype())).contiguous() : workspace(read);
  transform_all(half, dims.first(dims.size() - 1), forward, 1);
  const Tensor out = empty(with_size(self.sizes(), last, last_size), real_of(self.dtype()));
  if (out.numel() == 0) return out;
  with_real(half.dtype(), [&](auto zero) {
    transform_to_real<decltype(zero)>(half, out, last, forward,
                                      factor_of(scale, points(out, dims)));
  });
  return out;
}

}  // namespace torchlet::ops
