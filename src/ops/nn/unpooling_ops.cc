// Max unpooling and fractional max pooling.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/checked.h"
#include "base/thread_pool.h"
#include "ops/core/op.h"
#include "ops/engines/compute.h"

namespace torchlet::ops {
namespace {

long long ll(int64_t value) { return value; }

int64_t product(IntSpan sizes) { return checked_product(sizes); }

// Puts every value at its index in a plane of zeros of `output_size`.
template <size_t Spatial>
Tensor max_unpool(const Tensor& self, const Tensor& indices, const IntArray& output_size) {
  const size_t rank = self.sizes().size();
  TORCHLET_CHECK(indices.dtype() == DType::kInt64,
                 "elements in indices should be type int64 but got: %s",
                 dtype_name(indices.dtype()).data());
  TORCHLET_CHECK(output_size.size() == Spatial,
                 "max_unpool: there should be exactly %zu elements in output_size, but got %zu",
                 Spatial, output_size.size());
  TORCHLET_CHECK(rank == Spatial + 1 || rank == Spatial + 2,
                 "max_unpool: expected an input of %zu or %zu dimensions, got %s", Spatial + 1,
                 Spatial + 2, self.describe().c_str());
  TORCHLET_CHECK(
      std::ranges::equal(self.sizes(), indices.sizes()),
      "Expected shape of indices to be the same as that of the input tensor (%s), got %s",
      self.describe().c_str(), indices.describe().c_str());
  IntArray shape(self.sizes().first(rank - Spatial));
  for (int64_t size : output_size) shape.push_back(size);
  const int64_t in_plane = product(self.sizes().last(Spatial)), out_plane = product(output_size);
  return compute_as<kMapReal | kMapInt>(self.dtype(), "max_unpool", [&](auto zero) {
    using T = decltype(zero);
    const Tensor in = dense_as<T>(self), at = indices.contiguous();
    const Tensor out = zeros(shape, DTypeOf<T>::value);
    const T* values = const_data<T>(in);
    const int64_t* index = at.data_ptr<int64_t>();
    T* to = out.data_ptr<T>();
    const int64_t planes = in_plane == 0 ? 0 : in.numel() / in_plane;
    for (int64_t p = 0; p < planes; ++p, values += in_plane, index += in_plane, to += out_plane) {
      for (int64_t i = 0; i < in_plane; ++i) {
        TORCHLET_CHECK(index[i] >= 0 && index[i] < out_plane,
                       "Found an invalid max index: %lld (output volumes are of size %lld)",
                       ll(index[i]), ll(out_plane));
        to[index[i]] = values[i];
      }
    }
    return out.to(self.dtype()).contiguous(self.suggest_memory_format());
  });
}

// Where the windows of one dimension begin, in pseudo-random steps: Graham, "Fractional
// Max-Pooling" (2014), as aten/src/ATen/native/FractionalMaxPool2d.cpp computes it.
template <typename T>
std::vector<int64_t> window_starts(T sample, int64_t in, int64_t out, int64_t kernel) {
  TORCHLET_CHECK(sample >= 0 && sample < 1,
                 "fractional_max_pool: expected random samples in [0, 1), got %g",
                 static_cast<double>(sample));
  std::vector<int64_t> starts;
  if (out > 1) {
    const T alpha = static_cast<T>(in - kernel) / static_cast<T>(out - 1);
    for (int64_t i = 0; i + 1 < out; ++i) {
      const int64_t start = static_cast<int64_t>((static_cast<T>(i) + sample) * alpha) -
                            static_cast<int64_t>(sample * alpha);
      starts.push_back(std::clamp<int64_t>(start, 0, in - kernel));
    }
  }
  if (out > 0) starts.push_back(in - kernel);
  return starts;
}

template <typename T>
void fractional_plane(const T* in, const IntArray& in_size, const IntArray& kernel,
                      const std::vector<std::vector<int64_t>>& starts, T* out, int64_t* indices) {
  for (int64_t z0 : starts[0]) {
    for (int64_t y0 : starts[1]) {
      for (int64_t x0 : starts[2]) {
        T best = -std::numeric_limits<T>::infinity();
        int64_t index = (z0 * in_size[1] + y0) * in_size[2] + x0;
        for (int64_t z = z0; z < z0 + kernel[0]; ++z) {
          for (int64_t y = y0; y < y0 + kernel[1]; ++y) {
            const int64_t row = (z * in_size[1] + y) * in_size[2];
            for (int64_t x = x0; x < x0 + kernel[2]; ++x) {
              if (in[row + x] > best || std::isnan(in[row + x])) {
                best = in[row + x];
                index = row + x;
              }
            }
          }
        }
        *out++ = best;
        *indices++ = index;
      }
    }
  }
}

// random_samples [N, C, Spatial] in [0, 1).
template <size_t Spatial>
std::tuple<Tensor, Tensor> fractional_max_pool(const Tensor& self, const IntArray& kernel_size,
                                               const IntArray& output_size,
                                               const Tensor& random_samples) {
  const size_t rank = self.sizes().size();
  TORCHLET_CHECK(rank == Spatial + 1 || rank == Spatial + 2,
                 "fractional_max_pool: expected an input of %zu or %zu dimensions, got %s",
                 Spatial + 1, Spatial + 2, self.describe().c_str());
  IntArray kernel = expand_param(kernel_size, Spatial, "kernel_size");
  IntArray out_size = expand_param(output_size, Spatial, "output_size");
  IntArray in_size(self.sizes().last(Spatial));
  IntArray shape(self.sizes().first(rank - Spatial));
  const int64_t planes = product(shape);
  for (size_t d = 0; d < Spatial; ++d) {
    TORCHLET_CHECK(in_size[d] > 0 && kernel[d] > 0 && out_size[d] >= 0 &&
                       out_size[d] <= in_size[d] && kernel[d] <= in_size[d] &&
                       out_size[d] + kernel[d] - 1 <= in_size[d] - (Spatial == 3 ? 1 : 0),
                   "fractional_max_pool: pool size (%lld) is too large relative to input size "
                   "(%lld) for an output of %lld",
                   ll(kernel[d]), ll(in_size[d]), ll(out_size[d]));
    shape.push_back(out_size[d]);
  }
  TORCHLET_CHECK(random_samples.dim() == 3 && random_samples.dtype() == self.dtype() &&
                     random_samples.size(0) * random_samples.size(1) >= planes &&
                     random_samples.size(2) == static_cast<int64_t>(Spatial),
                 "fractional_max_pool: expected random samples [batch, channels, %zu] of the "
                 "input's dtype, got %s",
                 Spatial, random_samples.describe().c_str());
  for (size_t d = Spatial; d < 3; ++d) {
    in_size.insert(in_size.begin(), 1);
    kernel.insert(kernel.begin(), 1);
  }
  return compute_as<kMapReal>(self.dtype(), "fractional_max_pool", [&](auto zero) {
    using T = decltype(zero);
    const Tensor in = dense_as<T>(self), samples = dense_as<T>(random_samples);
    const Tensor values = empty(shape, DTypeOf<T>::value), indices = empty(shape, DType::kInt64);
    const int64_t in_plane = product(in_size), out_plane = product(out_size);
    parallel_for(planes, 1, [&](int64_t begin, int64_t end) {
      for (int64_t plane = begin; plane < end; ++plane) {
        // In 2d the first sample is for the width, in 3d for the depth.
        const T* sample = samples.data_ptr<T>() + plane * static_cast<int64_t>(Spatial);
        std::vector<std::vector<int64_t>> starts;
        for (size_t d = 0; d < Spatial; ++d) {
          starts.push_back(window_starts(sample[Spatial == 2 ? 1 - d : d], in_size[3 - Spatial + d],
                                         out_size[d], kernel[3 - Spatial + d]));
        }
        if (Spatial == 2) starts.insert(starts.begin(), std::vector<int64_t>{0});
        fractional_plane(const_data<T>(in) + plane * in_plane, in_size, kernel, starts,
                         values.data_ptr<T>() + plane * out_plane,
                         indices.data_ptr<int64_t>() + plane * out_plane);
      }
    });
    return std::tuple(values.to(self.dtype()), indices);
  });
}

}  // namespace

TORCHLET_OP_WITH(max_unpool2d, out("out"),
                 "aten::max_unpool2d(Tensor self, Tensor indices, int[2] output_size) -> Tensor",
                 max_unpool<2>);
TORCHLET_OP_WITH(
    max_unpool3d, out("out"),
    "aten::max_unpool3d(Tensor self, Tensor indices, int[3] output_size, int[3] stride, int[3] "
    "padding) -> Tensor",
    [](const Tensor& self, const Tensor& indices, const IntArray& output_size, const IntArray&,
       const IntArray&) { return max_unpool<3>(self, indices, output_size); });
TORCHLET_OP_WITH(
    fractional_max_pool2d, out("output(output, indices)"),
    "aten::fractional_max_pool2d(Tensor self, int[2] kernel_size, int[2] output_size, Tensor "
    "random_samples) -> (Tensor, Tensor)",
    fractional_max_pool<2>);
TORCHLET_OP_WITH(
    fractional_max_pool3d, out("output(output, indices)"),
    "aten::fractional_max_pool3d(Tensor self, int[3] kernel_size, int[3] output_size, Tensor "
    "random_samples) -> (Tensor, Tensor)",
    fractional_max_pool<3>);

}  // namespace torchlet::ops
