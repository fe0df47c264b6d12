#include "ops/nn/norm.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/thread_pool.h"
#include "kernels/elementwise/elementwise_nhwc.h"
#include "kernels/elementwise/normalize.h"
#include "ops/engines/compute.h"
#include "tensor/meta.h"

namespace torchlet::ops {
namespace {

constexpr int64_t kParallelGrain = 32768;  // elements worth a hand-off to another thread
constexpr int64_t kShortRow = 16;          // shorter rows are not worth a vector kernel

long long ll(int64_t value) { return value; }

int64_t grain_of(int64_t elements) {
  return std::max<int64_t>(1, kParallelGrain / std::max<int64_t>(1, elements));
}

// The sum of f(x[i]) in several independent chains, so that the processor is not bound by the
// latency of one addition.
template <typename T, typename F>
double sum_of(const T* x, int64_t count, F f) {
  constexpr int64_t kLanes = 8;
  double lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      lanes[lane] += f(static_cast<double>(x[i + lane]));
    }
  }
  for (; i < count; ++i) lanes[0] += f(static_cast<double>(x[i]));
  double sum = 0;
  for (double lane : lanes) sum += lane;
  return sum;
}

struct Moments {
  double mean, variance;  // biased
};

// Of `runs` stretches of `length` elements, `step` apart. NaN if there are none.
template <typename T>
Moments moments(const T* x, int64_t runs, int64_t length, int64_t step) {
  const double count = static_cast<double>(runs * length);
  double sum = 0, squares = 0;
  for (int64_t r = 0; r < runs; ++r)
    sum += sum_of(x + r * step, length, [](double v) { return v; });
  const double mean = sum / count;
  for (int64_t r = 0; r < runs; ++r) {
    squares += sum_of(x + r * step, length, [mean](double v) { return (v - mean) * (v - mean); });
  }
  return {mean, squares / count};
}

// Of each row, in float32, whose sums lose too much where they are long: pieces have their own, and
// those are merged (Chan, Golub, LeVeque, "Algorithms for computing the sample variance", 1983).
void row_moments(const float* x, float* mean, float* variance, int64_t rows, int64_t length) {
  constexpr int64_t kPiece = 1 << 14, kLongRow = 1 << 16;
  if (length <= kLongRow) return kernels::row_moments_f32(x, mean, variance, rows, length);
  const int64_t pieces = length / kPiece, rest = length % kPiece;
  std::vector<float> means(static_cast<size_t>(pieces) + 1), variances(means.size());
  for (int64_t r = 0; r < rows; ++r, x += length) {
    kernels::row_moments_f32(x, means.data(), variances.data(), pieces, kPiece);
    if (rest > 0) {
      kernels::row_moments_f32(x + pieces * kPiece, &means.back(), &variances.back(), 1, rest);
    }
    double count = 0, all_mean = 0, squares = 0;
    for (size_t i = 0; i < means.size(); ++i) {
      const auto more = static_cast<double>(i + 1 < means.size() ? kPiece : rest);
      if (more == 0) break;
      const double delta = static_cast<double>(means[i]) - all_mean;
      squares +=
          static_cast<double>(variances[i]) * more + delta * delta * count * more / (count + more);
      count += more;
      all_mean += delta * more / count;
    }
    mean[r] = static_cast<float>(all_mean);
    variance[r] = static_cast<float>(squares / count);
  }
}

template <typename T>
Tensor optional_dense(const Tensor& tensor) {
  return tensor.defined() ? dense_as<T>(tensor) : Tensor();
}

void check_length(const Tensor& tensor, int64_t length, const char* what) {
  TORCHLET_CHECK(!tensor.defined() || tensor.numel() == length,
                 "%s should contain %lld elements not %lld", what, ll(length), ll(tensor.numel()));
}

// Parameters have the input's dtype; those of a 16-bit input may also be float32.
void check_parameter_dtype(const Tensor& input, const Tensor& parameter) {
  const bool mixed = is_half(input.dtype());
  if (parameter.defined() && mixed && parameter.dtype() == DType::kFloat32) return;
  expect_dtype(parameter, input.dtype());
}

// running = (1 - momentum) * running + momentum * now
void update_running(const Tensor& running, const std::vector<double>& now, double momentum) {
  if (!running.defined()) return;
  const Tensor old = dense_as<double>(running);
  const Tensor updated = empty(running.sizes(), DTypeOf<double>::value);
  const double* from = old.data_ptr<double>();
  double* to = updated.data_ptr<double>();
  for (size_t c = 0; c < now.size(); ++c) to[c] = (1 - momentum) * from[c] + momentum * now[c];
  running.copy_(updated);
}

struct ChannelStatistics {
  std::vector<double> mean, variance;
};

template <typename T>
ChannelStatistics batch_statistics(const T* x, int64_t batch, int64_t channels, int64_t plane) {
  ChannelStatistics s{std::vector<double>(static_cast<size_t>(channels)),
                      std::vector<double>(static_cast<size_t>(channels))};
  parallel_for(channels, grain_of(batch * plane), [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      const Moments m = moments(x + c * plane, batch, plane, channels * plane);
      s.mean[static_cast<size_t>(c)] = m.mean;
      s.variance[static_cast<size_t>(c)] = m.variance;
    }
  });
  return s;
}

ChannelStatistics running_statistics(const Tensor& mean, const Tensor& variance) {
  const Tensor m = dense_as<double>(mean), v = dense_as<double>(variance);
  const double *m_data = m.data_ptr<double>(), *v_data = v.data_ptr<double>();
  return {std::vector<double>(m_data, m_data + m.numel()),
          std::vector<double>(v_data, v_data + v.numel())};
}

// out = x * scale[c] + shift[c] over [outer, channels, plane].
template <typename T>
void scale_planes(const T* x, const std::vector<T>& scale, const std::vector<T>& shift, T* out,
                  int64_t outer, int64_t plane) {
  const int64_t channels = static_cast<int64_t>(scale.size());
  if constexpr (std::is_same_v<T, float>) {
    if (plane == 1) {
      kernels::scale_shift_rows_f32(outer, channels, x, channels, scale.data(), shift.data(), {},
                                    out, channels);
      return;
    }
    return kernels::scale_shift_planes_f32(outer, channels, plane, x, scale.data(), shift.data(),
                                           {}, out);
  }
  parallel_for(outer * channels, grain_of(plane), [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      const size_t c = static_cast<size_t>(p % channels);
      for (int64_t i = p * plane; i < (p + 1) * plane; ++i) out[i] = x[i] * scale[c] + shift[c];
    }
  });
}

Tensor vector_as(const std::vector<double>& values, DType dtype) {
  const Tensor result = empty({{static_cast<int64_t>(values.size())}}, DTypeOf<double>::value);
  std::ranges::copy(values, result.data_ptr<double>());
  return result.to(dtype);
}

}  // namespace

BatchNormResult batch_norm(const Tensor& input, const Tensor& weight, const Tensor& bias,
                           const Tensor& running_mean, const Tensor& running_var, bool training,
                           double momentum, double eps) {
  TORCHLET_CHECK(input.dim() >= 2, "batch_norm: expected at least 2 dimensions, got %s",
                 input.describe().c_str());
  const int64_t batch = input.size(0), channels = input.size(1);
  TORCHLET_CHECK(training || (running_mean.defined() && running_var.defined()),
                 "running_mean and running_var must be defined in evaluation mode");
  check_length(running_mean, channels, "running_mean");
  check_length(running_var, channels, "running_var");
  check_length(weight, channels, "weight");
  check_length(bias, channels, "bias");
  for (const Tensor* parameter : {&weight, &bias, &running_mean, &running_var}) {
    check_parameter_dtype(input, *parameter);
  }
  int64_t plane = 1;
  for (int64_t size : input.sizes().subspan(2)) plane *= size;

  return compute_as<kMapReal>(input.dtype(), "batch_norm", [&](auto zero) -> BatchNormResult {
    using T = decltype(zero);
    const Tensor out = empty(input.sizes(), DTypeOf<T>::value);
    if (is_meta(out)) {
      return {out.to(input.dtype()).contiguous(input.suggest_memory_format()), {}, {}};
    }
    const Tensor x = dense_as<T>(input);
    const ChannelStatistics s = training
                                    ? batch_statistics(const_data<T>(x), batch, channels, plane)
                                    : running_statistics(running_mean, running_var);
    std::vector<double> invstd;
    for (double variance : s.variance) invstd.push_back(1 / std::sqrt(variance + eps));

    const Tensor w = optional_dense<T>(weight), b = optional_dense<T>(bias);
    const T *w_data = const_data<T>(w), *b_data = const_data<T>(b);
    std::vector<T> scale, shift;
    for (size_t c = 0; c < invstd.size(); ++c) {
      scale.push_back(static_cast<T>(invstd[c]) * (w_data ? w_data[c] : T(1)));
      shift.push_back((b_data ? b_data[c] : T(0)) - static_cast<T>(s.mean[c]) * scale[c]);
    }
    scale_planes(const_data<T>(x), scale, shift, out.data_ptr<T>(), batch, plane);
    const Tensor output = out.to(input.dtype()).contiguous(input.suggest_memory_format());
    const DType stats_dtype = weight.defined() ? weight.dtype() : input.dtype();
    if (!training) return {output, empty({{0}}, stats_dtype), empty({{0}}, stats_dtype)};

    const double count = static_cast<double>(batch * plane);
    std::vector<double> unbiased;
    for (double variance : s.variance) unbiased.push_back(variance * count / (count - 1));
    update_running(running_mean, s.mean, momentum);
    update_running(running_var, unbiased, momentum);
    return {output, vector_as(s.mean, stats_dtype), vector_as(invstd, stats_dtype)};
  });
}

namespace {

// Returns how many rows of how many elements are normalised.
std::pair<int64_t, int64_t> layer_norm_shape(const Tensor& input, IntSpan normalized_shape,
                                             const Tensor& weight, const Tensor& bias) {
  const size_t count = normalized_shape.size();
  TORCHLET_CHECK(
      count > 0,
      "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least "
      "one element");
  TORCHLET_CHECK(input.sizes().size() >= count &&
                     std::ranges::equal(input.sizes().last(count), normalized_shape),
                 "layer_norm: the last dimensions of the input %s do not have the normalized shape",
                 input.describe().c_str());
  for (const Tensor* parameter : {&weight, &bias}) {
    TORCHLET_CHECK(
        !parameter->defined() || std::ranges::equal(parameter->sizes(), normalized_shape),
        "Expected weight and bias to be of same shape as normalized_shape, but got %s",
        parameter->describe().c_str());
    check_parameter_dtype(input, *parameter);
  }
  int64_t rows = 1, length = 1;
  for (int64_t size : input.sizes().first(input.sizes().size() - count)) rows *= size;
  for (int64_t size : normalized_shape) length *= size;
  return {rows, length};
}

}  // namespace

Tensor layer_norm(const Tensor& input, IntSpan normalized_shape, const Tensor& weight,
                  const Tensor& bias, double eps) {
  const auto [rows, length] = layer_norm_shape(input, normalized_shape, weight, bias);
  if (input.dtype() != DType::kFloat32 || length < kShortRow) {
    return layer_norm_statistics(input, normalized_shape, weight, bias, eps).output;
  }
  const Tensor x = input.contiguous(), w = optional_dense<float>(weight),
               b = optional_dense<float>(bias);
  const Tensor out = empty(input.sizes(), DType::kFloat32);
  if (out.numel() == 0 || is_meta(out)) return out;
  kernels::layer_norm_f32(x.data_ptr<float>(), const_data<float>(w), const_data<float>(b),
                          out.data_ptr<float>(), rows, length, static_cast<float>(eps));
  return out;
}

NormResult layer_norm_statistics(const Tensor& input, IntSpan normalized_shape,
                                 const Tensor& weight, const Tensor& bias, double eps) {
  const auto [rows, length] = layer_norm_shape(input, normalized_shape, weight, bias);
  IntArray stat_shape(input.sizes().first(input.sizes().size() - normalized_shape.size()));
  stat_shape.resize(input.sizes().size(), 1);
  return compute_as<kMapReal>(
      input.dtype(), "layer_norm", [&, rows = rows, length = length](auto zero) -> NormResult {
        using T = decltype(zero);
        constexpr DType kType = DTypeOf<T>::value;
        const Tensor x = dense_as<T>(input), w = optional_dense<T>(weight),
                     b = optional_dense<T>(bias);
        const Tensor out = empty(input.sizes(), kType);
        const Tensor means = empty(stat_shape, kType), rstds = empty(stat_shape, kType);
        const auto result = [&]() -> NormResult {
          return {out.to(input.dtype()), means.to(input.dtype()), rstds.to(input.dtype())};
        };
        if (is_meta(out)) return result();
        const T *x_data = const_data<T>(x), *w_data = const_data<T>(w), *b_data = const_data<T>(b);
        T *out_data = out.data_ptr<T>(), *mean_data = means.data_ptr<T>(),
          *rstd_data = rstds.data_ptr<T>();
        parallel_for(rows, grain_of(length), [&](int64_t begin, int64_t end) {
          for (int64_t r = begin; r < end; ++r) {
            const T* from = x_data + r * length;
            T* to = out_data + r * length;
            const Moments m = moments(from, 1, length, 0);
            const T rstd = 1 / std::sqrt(static_cast<T>(m.variance) + static_cast<T>(eps));
            const T mean = static_cast<T>(m.mean);
            const T shift = -rstd * mean;
            mean_data[r] = mean;
            rstd_data[r] = rstd;
            // A product of floats is exact in double precision.
            for (int64_t i = 0; i < length; ++i) {
              to[i] = static_cast<T>(static_cast<double>(from[i]) * rstd + shift);
            }
            for (int64_t i = 0; w_data && i < length; ++i) to[i] *= w_data[i];
            for (int64_t i = 0; b_data && i < length; ++i) to[i] += b_data[i];
          }
        });
        return result();
      });
}

NormResult group_norm(const Tensor& input, int64_t groups, const Tensor& weight, const Tensor& bias,
                      double eps) {
  TORCHLET_CHECK(input.dim() >= 2, "group_norm: expected at least 2 dimensions, got %s",
                 input.describe().c_str());
  const int64_t batch = input.size(0), channels = input.size(1);
  TORCHLET_CHECK(
      groups > 0 && channels % groups == 0,
      "Expected number of channels in input to be divisible by num_groups, but got input "
      "of shape %s and num_groups=%lld",
      input.describe().c_str(), ll(groups));
  for (const Tensor* parameter : {&weight, &bias}) {
    TORCHLET_CHECK(
        !parameter->defined() || (parameter->dim() == 1 && parameter->numel() == channels),
        "Expected weight and bias to be vectors of size equal to the number of channels "
        "in input (%lld), but got %s",
        ll(channels), parameter->describe().c_str());
  }
  int64_t plane = 1;
  for (int64_t size : input.sizes().subspan(2)) plane *= size;
  const int64_t group_channels = channels / groups;

  return compute_as<kMapReal>(input.dtype(), "group_norm", [&](auto zero) -> NormResult {
    using T = decltype(zero);
    constexpr DType kType = DTypeOf<T>::value;
    const Tensor out = empty(input.sizes(), kType);
    const Tensor means = empty({{batch, groups}}, kType), rstds = empty({{batch, groups}}, kType);
    const auto result = [&]() -> NormResult {
      return {out.to(input.dtype()).contiguous(input.suggest_memory_format()),
              means.to(input.dtype()), rstds.to(input.dtype())};
    };
    if (is_meta(out)) return result();
    const Tensor x = dense_as<T>(input), w = optional_dense<T>(weight), b = optional_dense<T>(bias);
    const T *x_data = const_data<T>(x), *w_data = const_data<T>(w), *b_data = const_data<T>(b);
    T *mean_data = means.data_ptr<T>(), *rstd_data = rstds.data_ptr<T>();
    const int64_t length = group_channels * plane;
    const auto find_moments = [&] {
      if constexpr (std::is_same_v<T, float>) {
        if (length > 0) return row_moments(x_data, mean_data, rstd_data, batch * groups, length);
      }
      parallel_for(batch * groups, grain_of(length), [&](int64_t begin, int64_t end) {
        for (int64_t g = begin; g < end; ++g) {
          const Moments m = moments(x_data + g * length, 1, length, 0);
          mean_data[g] = static_cast<T>(m.mean);
          rstd_data[g] = static_cast<T>(m.variance);
        }
      });
    };
    find_moments();
    for (int64_t g = 0; g < batch * groups; ++g) {
      rstd_data[g] = 1 / std::sqrt(rstd_data[g] + static_cast<T>(eps));
    }
    // Of each channel of the batch, or of each group where its channels are alike.
    const int64_t alike = w_data || b_data ? 1 : group_channels;
    std::vector<T> scale, shift;
    for (int64_t p = 0; p < batch * channels; p += alike) {
      const int64_t c = p % channels, g = p / group_channels;
      scale.push_back(rstd_data[g] * (w_data ? w_data[c] : T(1)));
      shift.push_back((b_data ? b_data[c] : T(0)) - mean_data[g] * scale.back());
    }
    scale_planes(x_data, scale, shift, out.data_ptr<T>(), 1, alike * plane);
    return result();
  });
}

}  // namespace torchlet::ops
