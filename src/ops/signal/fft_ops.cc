// torch.fft.*, stft and istft.
#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "ops/core/op.h"
#include "ops/engines/elementwise.h"
#include "ops/signal/fft.h"

namespace torchlet::ops {
namespace {

using OptInt = std::optional<int64_t>;
using OptInts = std::optional<IntArray>;
using Norm = std::optional<std::string>;

// "backward" scales the inverse by 1/n, "forward" the forward transform, "ortho" both by its root.
FftScale scale_for(const Norm& norm, bool forward) {
  if (!norm || *norm == "backward") return forward ? FftScale::kNone : FftScale::kN;
  if (*norm == "forward") return forward ? FftScale::kN : FftScale::kNone;
  TORCHLET_CHECK(*norm == "ortho", "Invalid normalization mode: \"%s\"", norm->c_str());
  return FftScale::kRootN;
}

Tensor promoted(const Tensor& self, bool to_complex) {
  const DType dtype = to_float_type(self.dtype());
  TORCHLET_CHECK(dtype != DType::kFloat16 && dtype != DType::kBFloat16,
                 "Unsupported dtype %s for an FFT", dtype_name(dtype).data());
  if (!to_complex || is_complex(dtype)) return self.to(dtype);
  return self.to(dtype == DType::kFloat64 ? DType::kComplex128 : DType::kComplex64);
}

// Zeros at the end, or a cut, so that `dim` has n values.
Tensor resized(const Tensor& self, int64_t dim, int64_t n) {
  TORCHLET_CHECK(n >= 1, "Invalid number of data points (%lld) specified",
                 static_cast<long long>(n));
  const int64_t size = self.size(dim);
  if (n == size) return self;
  if (n < size) return narrow(self, dim, 0, n);
  IntArray shape(self.sizes());
  shape[static_cast<size_t>(wrap_dim(dim, self.dim()))] = n;
  const Tensor result = zeros(shape, self.dtype());
  narrow(result, dim, 0, size).copy_(self);
  return result;
}

struct Shape {
  IntArray dims, sizes;
};

// numpy's rules for `s` and `dim` of the n-dimensional transforms.
Shape shape_of(const Tensor& self, const OptInts& s, const OptInts& dim) {
  Shape shape;
  const int64_t rank = self.dim();
  if (dim) {
    for (const int64_t d : *dim) shape.dims.push_back(wrap_dim(d, rank));
    normalize_dims(shape.dims, rank);  // no dim twice
    TORCHLET_CHECK(!s || s->size() == dim->size(),
                   "When given, dim and shape arguments must have the same length");
  } else {
    const int64_t count = s ? static_cast<int64_t>(s->size()) : rank;
    TORCHLET_CHECK(count <= rank,
                   "Got shape with %lld values but input tensor only has %lld dimensions.",
                   static_cast<long long>(count), static_cast<long long>(rank));
    for (int64_t d = rank - count; d < rank; ++d) shape.dims.push_back(d);
  }
  for (size_t i = 0; i < shape.dims.size(); ++i) {
    const int64_t n = s && (*s)[i] != -1 ? (*s)[i] : self.size(shape.dims[i]);
    TORCHLET_CHECK(n >= 1, "Invalid number of data points (%lld) specified",
                   static_cast<long long>(n));
    shape.sizes.push_back(n);
  }
  return shape;
}

Tensor resized(Tensor self, const Shape& shape, size_t count) {
  for (size_t i = 0; i < count; ++i) self = resized(self, shape.dims[i], shape.sizes[i]);
  return self;
}

// ---- one dimension ----

template <bool kForward>
Tensor fft(const Tensor& self, OptInt n, int64_t dim, const Norm& norm) {
  const Tensor input = resized(promoted(self, false), dim, n.value_or(self.size(dim)));
  return fft_c2c(input, IntArray{wrap_dim(dim, self.dim())}, scale_for(norm, kForward), kForward);
}

// rfft and ihfft
template <bool kForward>
Tensor real_fft(const Tensor& self, OptInt n, int64_t dim, const Norm& norm) {
  TORCHLET_CHECK(!is_complex(self.dtype()), "expects a real input tensor, but got %s",
                 dtype_name(self.dtype()).data());
  const Tensor input = resized(promoted(self, false), dim, n.value_or(self.size(dim)));
  return fft_r2c(input, IntArray{wrap_dim(dim, self.dim())}, scale_for(norm, kForward), kForward,
                 true);
}

// irfft and hfft
template <bool kForward>
Tensor hermitian_fft(const Tensor& self, OptInt n, int64_t dim, const Norm& norm) {
  const Tensor values = promoted(self, true);
  const int64_t size = n ? *n : checked_mul(2, values.size(dim) - 1);
  TORCHLET_CHECK(size >= 1, "Invalid number of data points (%lld) specified",
                 static_cast<long long>(size));
  const Tensor input = resized(values, dim, size / 2 + 1);
  return fft_c2r(input, IntArray{wrap_dim(dim, self.dim())}, scale_for(norm, kForward), kForward,
                 size);
}

// ---- several dimensions ----

template <bool kForward>
Tensor fftn(const Tensor& self, const OptInts& s, const OptInts& dim, const Norm& norm) {
  const Shape shape = shape_of(self, s, dim);
  if (shape.dims.empty()) return promoted(self, true).clone();
  const Tensor input = resized(promoted(self, false), shape, shape.dims.size());
  return fft_c2c(input, shape.dims, scale_for(norm, kForward), kForward);
}

template <bool kForward>
Tensor real_fftn(const Tensor& self, const OptInts& s, const OptInts& dim, const Norm& norm) {
  TORCHLET_CHECK(!is_complex(self.dtype()), "expects a real-valued input tensor, but got %s",
                 dtype_name(self.dtype()).data());
  const Shape shape = shape_of(self, s, dim);
  TORCHLET_CHECK(!shape.dims.empty(), "must transform at least one axis");
  const Tensor input = resized(promoted(self, false), shape, shape.dims.size());
  return fft_r2c(input, shape.dims, scale_for(norm, kForward), kForward, true);
}

template <bool kForward>
Tensor hermitian_fftn(const Tensor& self, const OptInts& s, const OptInts& dim, const Norm& norm) {
  Shape shape = shape_of(self, s, dim);
  TORCHLET_CHECK(!shape.dims.empty(), "must transform at least one axis");
  const int64_t last = shape.dims.back();
  const int64_t size = s && s->back() != -1 ? s->back() : checked_mul(2, self.size(last) - 1);
  TORCHLET_CHECK(size >= 1, "Invalid number of data points (%lld) specified",
                 static_cast<long long>(size));
  shape.sizes.back() = size / 2 + 1;
  const Tensor input = resized(promoted(self, true), shape, shape.dims.size());
  return fft_c2r(input, shape.dims, scale_for(norm, kForward), kForward, size);
}

// ---- helpers around the transforms ----

Tensor call(const char* name, const char* overload, std::vector<Value> args) {
  const Operator* op = find_operator(name, overload);
  TORCHLET_ASSERT(op);
  Value result;
  op->call(args, {&result, 1});
  return result.to_tensor();
}

Tensor rolled(const Tensor& self, const OptInts& dim, bool inverse) {
  const IntArray dims = normalize_dims(dim ? IntSpan(*dim) : IntSpan(), self.dim());
  if (dims.empty()) return self.clone();
  IntArray shifts;
  for (const int64_t d : dims) shifts.push_back((self.size(d) + (inverse ? 1 : 0)) / 2);
  return call("aten::roll", "", {self, make_int_list(shifts), make_int_list(dims)});
}

Tensor frequencies(int64_t n, double d, std::optional<DType> dtype, bool onesided) {
  const Tensor result = empty(IntArray{onesided ? n / 2 + 1 : n}, DType::kFloat64);
  double* out = result.data_ptr<double>();
  for (int64_t i = 0; i < result.numel(); ++i) {
    const int64_t k = onesided || i < (n + 1) / 2 ? i : i - n;
    out[i] = static_cast<double>(k) / (static_cast<double>(n) * d);
  }
  return result.to(dtype.value_or(default_dtype()));
}

Tensor product(const Tensor& a, const Tensor& b) {
  return map<kMapReal | kMapComplex, 2>({a, b}, result_type(a, b),
                                        [](auto x, auto y) { return x * y; });
}

// The window, centred in n_fft values; all ones if there is none.
Tensor window_of(const Tensor& window, int64_t n_fft, int64_t win_length, DType dtype) {
  TORCHLET_CHECK(win_length > 0 && win_length <= n_fft,
                 "expected 0 < win_length <= n_fft, but got win_length=%lld",
                 static_cast<long long>(win_length));
  TORCHLET_CHECK(
      !window.defined() || (window.dim() == 1 && window.size(0) == win_length),
      "expected a 1D window tensor of size equal to win_length=%lld, but got window with size %s",
      static_cast<long long>(win_length), window.describe().c_str());
  if (window.defined() && win_length == n_fft) return window;
  const Tensor result = zeros(IntArray{n_fft}, window.defined() ? window.dtype() : dtype);
  const Tensor middle = narrow(result, 0, (n_fft - win_length) / 2, win_length);
  if (window.defined()) {
    middle.copy_(window);
  } else {
    fill(middle, Scalar(1));
  }
  return result;
}

Tensor as_real_pairs(const Tensor& z) { return call("aten::view_as_real", "", {z}); }

Tensor stft(const Tensor& self, int64_t n_fft, OptInt hop_length, OptInt win_length,
            const Tensor& window, bool center, const std::string& pad_mode, bool normalized,
            std::optional<bool> onesided, std::optional<bool> return_complex) {
  const int64_t hop = hop_length.value_or(n_fft / 4), length = win_length.value_or(n_fft);
  TORCHLET_CHECK(is_floating_point(self.dtype()) || is_complex(self.dtype()),
                 "stft expected a tensor of floating point or complex values");
  TORCHLET_CHECK(self.dim() == 1 || self.dim() == 2, "stft expected a 1D or 2D tensor");
  TORCHLET_CHECK(hop > 0, "stft expected hop_length > 0, but got %lld",
                 static_cast<long long>(hop));
  Tensor signal = self.dim() == 1 ? unsqueeze(self, 0) : self;
  if (center) {
    const int64_t pad = n_fft / 2;
    signal =
        squeeze(call("aten::pad", "",
                     {unsqueeze(signal, 1), make_int_list(IntArray{pad, pad}), pad_mode, Value()}),
                1);
  }
  const int64_t samples = signal.size(1);
  TORCHLET_CHECK(n_fft > 0 && n_fft <= samples,
                 "stft expected 0 < n_fft <= %lld, but got n_fft=%lld",
                 static_cast<long long>(samples), static_cast<long long>(n_fft));
  const Tensor shape = window_of(window, n_fft, length, self.dtype());
  const int64_t frames = 1 + (samples - n_fft) / hop;
  const Tensor views =
      make_view(signal, IntArray{signal.size(0), frames, n_fft},
                IntArray{signal.stride(0), frames > 1 ? checked_mul(hop, signal.stride(1)) : 1,
                         signal.stride(1)},
                signal.storage_offset());
  const Tensor framed = window.defined() || length < n_fft ? product(views, shape) : views;
  const bool complex_input = is_complex(framed.dtype());
  const FftScale scale = normalized ? FftScale::kRootN : FftScale::kNone;
  TORCHLET_CHECK(!complex_input || !onesided.value_or(false),
                 "Cannot have onesided output if window or input is complex");
  Tensor spectrum = complex_input
                        ? fft_c2c(framed, IntArray{2}, scale, true)
                        : fft_r2c(framed, IntArray{2}, scale, true, onesided.value_or(true));
  spectrum = transpose(spectrum, 1, 2);
  if (self.dim() == 1) spectrum = squeeze(spectrum, 0);
  return return_complex.value_or(complex_input) ? spectrum : as_real_pairs(spectrum);
}

// frames [batch, count, n] times a real window [n] -> their sums [batch, n + hop * (count - 1)],
// each frame `hop` behind the one before.
Tensor overlapped(const Tensor& frames, const Tensor& window, int64_t hop) {
  const DType dtype = promote_types(result_type(frames, window), DType::kFloat32);
  const int64_t count = frames.size(1), n = frames.size(2), samples = n + hop * (count - 1);
  const Tensor total = zeros(IntArray{frames.size(0), samples}, dtype);
  Tensor from = frames.to(dtype);
  if (from.stride(2) != 1) from = from.contiguous();
  const IntSpan strides = from.strides();
  const auto add = [&]<typename T, typename Real>(T, Real) {
    const Tensor factors = window.to(DTypeOf<Real>::value).contiguous();
    const Real* factor = factors.data_ptr<Real>();
    for (int64_t b = 0; b < frames.size(0); ++b) {
      const T* frame = from.data_ptr<T>() + b * strides[0];
      T* to = total.data_ptr<T>() + b * samples;
      for (int64_t f = 0; f < count; ++f, frame += strides[1], to += hop) {
        for (int64_t i = 0; i < n; ++i) to[i] += frame[i] * factor[i];
      }
    }
  };
  switch (dtype) {
    case DType::kComplex128:
      add(std::complex<double>(), double());
      break;
    case DType::kComplex64:
      add(std::complex<float>(), float());
      break;
    case DType::kFloat64:
      add(double(), double());
      break;
    default:
      add(float(), float());
  }
  return total;
}

Tensor istft(const Tensor& self, int64_t n_fft, OptInt hop_length, OptInt win_length,
             const Tensor& window, bool center, bool normalized, std::optional<bool> onesided,
             OptInt length, bool return_complex) {
  const int64_t hop = hop_length.value_or(n_fft / 4), width = win_length.value_or(n_fft);
  Tensor input =
      is_complex(self.dtype()) ? self : call("aten::view_as_complex", "", {self.contiguous()});
  TORCHLET_CHECK(input.numel() > 0, "istft: input tensor cannot be empty.");
  TORCHLET_CHECK(input.dim() == 2 || input.dim() == 3,
                 "istft: expected a tensor with 2 or 3 dimensions");
  const bool batched = input.dim() == 3;
  if (!batched) input = unsqueeze(input, 0);
  const bool half = onesided.value_or(input.size(1) != n_fft);
  TORCHLET_CHECK(input.size(1) == (half ? n_fft / 2 + 1 : n_fft),
                 "istft: expected the frequency dimension (3rd to the last) of the input tensor to "
                 "match n_fft");
  TORCHLET_CHECK(hop > 0 && hop <= width, "istft: expected 0 < hop_length <= win_length");
  const DType real = input.dtype() == DType::kComplex128 ? DType::kFloat64 : DType::kFloat32;
  const Tensor shape = window_of(window, n_fft, width, real);
  const int64_t frames = input.size(2), samples = n_fft + hop * (frames - 1);
  const FftScale scale = normalized ? FftScale::kRootN : FftScale::kN;
  const Tensor columns = transpose(input, 1, 2);
  // A real result comes from the first half of the spectrum alone, also where all of it is given.
  Tensor pieces = return_complex ? fft_c2c(columns, IntArray{2}, scale, false)
                                 : fft_c2r(narrow(columns, 2, 0, n_fft / 2 + 1), IntArray{2}, scale,
                                           false, n_fft);
  Tensor powers = shape, factors = shape;
  if (is_complex(shape.dtype())) {
    pieces = product(pieces, shape);
    powers = product(shape, shape);
    factors = full(IntArray{n_fft}, Scalar(1), real);
  }
  const Tensor total = overlapped(pieces, factors, hop);
  const Tensor envelope =
      select(overlapped(expand(powers, IntArray{1, frames, n_fft}), factors, hop), 0, 0);
  const int64_t start = center ? n_fft / 2 : 0;
  const int64_t natural_end = center ? samples - n_fft / 2 : samples;
  const int64_t end = length ? start + *length : natural_end;
  const int64_t known = std::min(end, samples);
  const Tensor weights = narrow(envelope, 0, start, known - start);
  TORCHLET_CHECK(call("aten::min", "", {call("aten::abs", "", {weights})}).item<double>() > 1e-11,
                 "window overlap add min: 1");
  const Tensor kept = narrow(total, 1, start, known - start);
  Tensor result = map<kMapReal | kMapComplex, 2>({kept, weights}, result_type(kept, weights),
                                                 [](auto a, auto b) { return a / b; });
  if (end > known) result = resized(result, 1, end - start);
  return batched ? result : squeeze(result, 0);
}

}  // namespace

#define TORCHLET_FFT(id, ...)                                                          \
  TORCHLET_OP_WITH(fft_##id, out("out"),                                               \
                   "aten::fft_" #id                                                    \
                   "(Tensor self, int? n=None, int dim=-1, str? norm=None) -> Tensor", \
                   __VA_ARGS__)
TORCHLET_FFT(fft, fft<true>);
TORCHLET_FFT(ifft, fft<false>);
TORCHLET_FFT(rfft, real_fft<true>);
TORCHLET_FFT(ihfft, real_fft<false>);
TORCHLET_FFT(irfft, hermitian_fft<false>);
TORCHLET_FFT(hfft, hermitian_fft<true>);
#undef TORCHLET_FFT

#define TORCHLET_FFTN(id, fn)                                                          \
  TORCHLET_OP_WITH(fft_##id##n, out("out"),                                            \
                   "aten::fft_" #id                                                    \
                   "n(Tensor self, int[1]? s=None, int[1]? dim=None, str? norm=None) " \
                   "-> Tensor",                                                        \
                   fn);                                                                \
  TORCHLET_OP_WITH(fft_##id##2, out("out"),                                            \
                   "aten::fft_" #id                                                    \
                   "2(Tensor self, int[1]? s=None, int[1] dim=[-2, -1], str? "         \
                   "norm=None) -> Tensor",                                             \
                   fn)
TORCHLET_FFTN(fft, fftn<true>);
TORCHLET_FFTN(ifft, fftn<false>);
TORCHLET_FFTN(rfft, real_fftn<true>);
TORCHLET_FFTN(ihfft, real_fftn<false>);
TORCHLET_FFTN(irfft, hermitian_fftn<false>);
TORCHLET_FFTN(hfft, hermitian_fftn<true>);
#undef TORCHLET_FFTN

TORCHLET_OP_WITH(fft_fftshift, may_alias(),
                 "aten::fft_fftshift(Tensor self, int[1]? dim=None) -> Tensor",
                 [](const Tensor& self, const OptInts& dim) { return rolled(self, dim, false); });
TORCHLET_OP_WITH(fft_ifftshift, may_alias(),
                 "aten::fft_ifftshift(Tensor self, int[1]? dim=None) -> Tensor",
                 [](const Tensor& self, const OptInts& dim) { return rolled(self, dim, true); });
#define TORCHLET_FREQUENCIES(id, onesided)                                                    \
  TORCHLET_OP(fft_##id,                                                                       \
              "aten::fft_" #id                                                                \
              "(int n, float d=1., *, ScalarType? dtype=None, Layout? layout=None, "          \
              "Device? device=None, bool? pin_memory=None) -> Tensor",                        \
              [](int64_t n, double d, std::optional<DType> dtype, const Value&, const Value&, \
                 const Value&) { return frequencies(n, d, dtype, onesided); })
TORCHLET_FREQUENCIES(fftfreq, false);
TORCHLET_FREQUENCIES(rfftfreq, true);
#undef TORCHLET_FREQUENCIES

TORCHLET_OP(fft_c2c,
            "aten::_fft_c2c(Tensor self, int[] dim, int normalization, bool forward) -> Tensor",
            [](const Tensor& self, const IntArray& dim, int64_t scale, bool forward) {
              return fft_c2c(self, dim, static_cast<FftScale>(scale), forward);
            });
TORCHLET_OP(fft_r2c,
            "aten::_fft_r2c(Tensor self, int[] dim, int normalization, bool onesided) -> Tensor",
            [](const Tensor& self, const IntArray& dim, int64_t scale, bool onesided) {
              return fft_r2c(self, dim, static_cast<FftScale>(scale), true, onesided);
            });
TORCHLET_OP(
    fft_c2r,
    "aten::_fft_c2r(Tensor self, int[] dim, int normalization, int last_dim_size) -> Tensor",
    [](const Tensor& self, const IntArray& dim, int64_t scale, int64_t last) {
      return fft_c2r(self, dim, static_cast<FftScale>(scale), false, last);
    });

TORCHLET_OP(stft,
            "aten::stft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, "
            "Tensor? window=None, "
            "bool normalized=False, bool? onesided=None, bool? return_complex=None) -> Tensor",
            [](const Tensor& self, int64_t n_fft, OptInt hop, OptInt width, const Tensor& window,
               bool normalized, std::optional<bool> onesided, std::optional<bool> return_complex) {
              return stft(self, n_fft, hop, width, window, false, "reflect", normalized, onesided,
                          return_complex);
            });
TORCHLET_OP(
    stft_center,
    "aten::stft.center(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? "
    "window=None, bool center=True, str pad_mode=\"reflect\", bool normalized=False, bool? "
    "onesided=None, "
    "bool? return_complex=None) -> Tensor",
    stft);
TORCHLET_OP(istft,
            "aten::istft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, "
            "Tensor? window=None, "
            "bool center=True, bool normalized=False, bool? onesided=None, int? length=None, bool "
            "return_complex=False) -> Tensor",
            istft);

}  // namespace torchlet::ops
