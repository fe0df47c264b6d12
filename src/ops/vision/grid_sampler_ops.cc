// Sampling of images at arbitrary positions, and grids of such positions.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <type_traits>
#include <vector>

#include "base/counted_vector.h"
#include "base/thread_pool.h"
#include "ops/core/op.h"
#include "ops/engines/compute.h"

namespace torchlet::ops {
namespace {

enum class Sampling { kBilinear = 0, kNearest = 1, kBicubic = 2 };
enum class Border { kZeros = 0, kBorder = 1, kReflection = 2 };

// Reflects until the position lies in [low, high] (both given times two).
template <typename T>
T reflect(T x, int64_t low2, int64_t high2) {
  if (low2 == high2) return T(0);
  const T low = static_cast<T>(low2) / 2, span = static_cast<T>(high2 - low2) / 2;
  x = std::abs(x - low);
  if (x < span) return x + low;
  if (x < 2 * span) return span - (x - span) + low;
  const T rest = std::fmod(x, span);
  const bool odd = std::fmod(std::floor(x / span), T(2)) != 0;
  return odd ? span - rest + low : rest + low;
}

// aten/src/ATen/native/GridSampler.h: from [-1, 1] to pixels, and back into the image if the border
// asks for it.
template <typename T>
T unnormalize(T x, int64_t size, bool align_corners) {
  return align_corners ? (x + 1) / 2 * static_cast<T>(size - 1)
                       : ((x + 1) * static_cast<T>(size) - 1) / 2;
}

template <typename T>
T into_image(T x, int64_t size, Border border, bool align_corners) {
  if (border == Border::kZeros) return x;
  if (border == Border::kReflection) {
    x = align_corners ? reflect(x, 0, 2 * (size - 1)) : reflect(x, -1, 2 * size - 1);
  }
  return std::min(static_cast<T>(size - 1), std::max(x, T(0)));
}

// Up to four taps along one dimension: those inside of the image.
template <typename T>
struct AxisTaps {
  int count = 0;
  int64_t index[4];  // times the stride
  T weight[4];

  void add(int64_t i, int64_t size, int64_t stride, T w) {
    // Without a jump, which nobody could foresee; what is outside is written over, and may wrap.
    index[count] = static_cast<int64_t>(static_cast<uint64_t>(i) * static_cast<uint64_t>(stride));
    weight[count] = w;
    count += static_cast<uint64_t>(i) < static_cast<uint64_t>(size);
  }
};

// A position as an integer, rounded towards 0; NaN and what no image reaches become -2, which is
// never inside, and neither is what follows it.
template <typename T>
int64_t to_index(T x) {
  return x > T(-0x1p62) && x < T(0x1p62) ? static_cast<int64_t>(x) : -2;
}
template <typename T>
int64_t floor_index(T x) {
  const int64_t i = to_index(x);
  return static_cast<T>(i) > x ? i - 1 : i;
}

// The nearest, of two the even one.
template <typename T>
int64_t nearest_index(T x) {
  return x > T(-0x1p62) && x < T(0x1p62) ? std::llrint(x) : -2;
}

// How one dimension of the image is sampled.
struct SampledAxis {
  int64_t size, stride;
  Sampling sampling;
  Border border;
  bool align_corners, is_volume;

  template <typename T>
  AxisTaps<T> taps(T x) const {
    AxisTaps<T> taps;
    const T position = unnormalize(x, size, align_corners);
    if (sampling == Sampling::kBicubic) {
      constexpr T a = T(-0.75);
      const T base = std::floor(position), t = position - base;
      auto near = [](T d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
      auto far = [](T d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
      const T weight[] = {far(t + 1), near(t), near(1 - t), far(2 - t)};
      for (int k = 0; k < 4; ++k) {
        const T at = into_image(base + static_cast<T>(k - 1), size, border, align_corners);
        taps.add(to_index(at), size, stride, weight[k]);
      }
      return taps;
    }
    const T at = into_image(position, size, border, align_corners);
    if (sampling == Sampling::kNearest) {
      // PyTorch rounds a half to the even pixel of an image, but away from zero in a volume.
      taps.add(is_volume ? to_index(std::round(at)) : nearest_index(at), size, stride, T(1));
      return taps;
    }
    const int64_t first = floor_index(at);
    const T base = static_cast<T>(first);
    taps.add(first, size, stride, base + 1 - at);
    taps.add(first + 1, size, stride, at - base);
    return taps;
  }
};

// The pixels of a plane that one position is made of, those outside left out.
template <typename T>
struct PixelTaps {
  int count = 0;
  int64_t index[16];
  T weight[16];

  void set(const AxisTaps<T>& z, const AxisTaps<T>& y, const AxisTaps<T>& x) {
    for (int k = 0; k < z.count; ++k) {
      for (int j = 0; j < y.count; ++j) {
        const int64_t row = z.index[k] + y.index[j];
        const T row_weight = z.weight[k] * y.weight[j];
        for (int l = 0; l < x.count; ++l) {
          index[count] = row + x.index[l];
          weight[count++] = row_weight * x.weight[l];
        }
      }
    }
  }
};

constexpr int64_t kBlock = 64;  // positions whose taps are kept at a time

// Of some positions in an image or a volume.
template <typename T>
class AnyTaps {
 public:
  explicit AnyTaps(size_t spatial) : spatial_(spatial), taps_(kBlock) {}

  void set(const SampledAxis (&axes)[3], const T* where, int64_t count) {
    for (size_t p = 0; p < static_cast<size_t>(count); ++p, where += spatial_) {
      // Many positions may be outside, which any dimension can tell.
      taps_[p].count = 0;
      const AxisTaps<T> x = axes[0].taps(where[0]);
      if (x.count == 0) continue;
      const AxisTaps<T> y = axes[1].taps(where[1]);
      if (y.count == 0) continue;
      taps_[p].set(spatial_ == 3 ? axes[2].taps(where[2]) : AxisTaps<T>{1, {0}, {T(1)}}, y, x);
    }
  }
  // to[p], of the elements of a channel.
  void sum(const T* plane, int64_t count, T* to) const {
    for (size_t p = 0; p < static_cast<size_t>(count); ++p) {
      const PixelTaps<T>& pixel = taps_[p];
      T sum = 0;
      for (int k = 0; k < pixel.count; ++k) sum += plane[pixel.index[k]] * pixel.weight[k];
      to[p] = sum;
    }
  }

 private:
  size_t spatial_;
  CountedVector<PixelTaps<T>> taps_;
};

// The same for images and kAxis by kAxis pixels around each position: two, or only the nearest.
// Those outside are pixel 0, of which no bit counts: without a jump, and without a product of 0 and
// infinity.
template <typename T, int kAxis>
class ImageTaps {
 public:
  void set(const SampledAxis (&axes)[3], const T* where, int64_t count) {
    for (int64_t p = 0; p < count; ++p, where += 2) {
      const Taps x(axes[0], where[0]), y(axes[1], where[1]);
      for (int j = 0; j < kAxis; ++j) {
        for (int l = 0; l < kAxis; ++l) {
          const int k = kAxis * j + l;
          const auto inside = -static_cast<int64_t>(y.inside[j] & x.inside[l]);
          bits_[k][p] = static_cast<Bits>(inside);
          index_[k][p] = (y.index[j] + x.index[l]) & inside;
          if constexpr (kAxis > 1) weight_[k][p] = y.weight[j] * x.weight[l];
        }
      }
    }
  }
  void sum(const T* plane, int64_t count, T* to) const {
    for (int64_t p = 0; p < count; ++p) {
      const auto pixel = [&](int k) {
        return std::bit_cast<T>(std::bit_cast<Bits>(plane[index_[k][p]]) & bits_[k][p]);
      };
      if constexpr (kAxis == 1) {
        to[p] = pixel(0);
      } else {
        T sum = pixel(0) * weight_[0][p];
        for (int k = 1; k < kTaps; ++k) sum += pixel(k) * weight_[k][p];
        to[p] = sum;
      }
    }
  }

 private:
  static constexpr int kTaps = kAxis * kAxis;
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  struct Taps {
    Taps(const SampledAxis& axis, T x) {
      const T at = into_image(unnormalize(x, axis.size, axis.align_corners), axis.size, axis.border,
                              axis.align_corners);
      const int64_t first = kAxis == 1 ? nearest_index(at) : floor_index(at);
      if constexpr (kAxis > 1) {
        weight[1] = at - static_cast<T>(first);
        weight[0] = static_cast<T>(first) + 1 - at;
      }
      for (int k = 0; k < kAxis; ++k) {
        inside[k] = static_cast<uint64_t>(first + k) < static_cast<uint64_t>(axis.size);
        index[k] = (inside[k] ? first + k : 0) * axis.stride;
      }
    }
    bool inside[kAxis];
    int64_t index[kAxis];
    T weight[kAxis];
  };

  int64_t index_[kTaps][kBlock];
  Bits bits_[kTaps][kBlock];
  T weight_[kAxis > 1 ? kTaps : 1][kBlock];
};

// input [N, C, (D,) H, W], grid [N, (OD,) OH, OW, 2 or 3] with x first.
template <typename T>
Tensor sample(const Tensor& input, const Tensor& grid, Sampling sampling, Border border,
              bool align_corners) {
  const size_t spatial = input.sizes().size() - 2;
  IntArray shape(input.sizes().first(2));
  int64_t positions = 1;
  for (size_t d = 0; d < spatial; ++d) {
    shape.push_back(grid.sizes()[d + 1]);
    positions *= grid.sizes()[d + 1];
  }
  const int64_t batch = shape[0], channels = shape[1];
  // Few pixels may be looked at, so the input is read where it lies.
  const Tensor in = input.to(DTypeOf<T>::value), at = dense_as<T>(grid);
  const Tensor out = empty(shape, DTypeOf<T>::value);
  if (out.numel() == 0) return out;
  SampledAxis axes[3];
  for (size_t i = 0; i < spatial; ++i) {
    axes[i] = {in.sizes()[spatial + 1 - i],
               in.strides()[spatial + 1 - i],
               sampling,
               border,
               align_corners,
               spatial == 3};
  }
  const int64_t blocks = (positions + kBlock - 1) / kBlock;
  const auto run = [&](const auto& make_taps) {
    parallel_for(batch * blocks, 1, [&](int64_t begin, int64_t end) {
      auto taps = make_taps();
      for (int64_t b = begin; b < end; ++b) {
        const int64_t n = b / blocks, first = b % blocks * kBlock;
        const int64_t count = std::min(kBlock, positions - first);
        taps.set(axes, const_data<T>(at) + (n * positions + first) * static_cast<int64_t>(spatial),
                 count);
        const T* image = const_data<T>(in) + n * in.stride(0);
        T* place = out.data_ptr<T>() + n * channels * positions + first;
        for (int64_t c = 0; c < channels; ++c, image += in.stride(1), place += positions) {
          taps.sum(image, count, place);
        }
      }
    });
  };
  if (spatial == 2 && sampling == Sampling::kBilinear) {
    run([] { return ImageTaps<T, 2>(); });
  } else if (spatial == 2 && sampling == Sampling::kNearest) {
    run([] { return ImageTaps<T, 1>(); });
  } else {
    run([spatial] { return AnyTaps<T>(spatial); });
  }
  return out;
}

template <size_t Spatial>  // 0: 2 or 3, by the input
Tensor grid_sampler(const Tensor& input, const Tensor& grid, int64_t mode, int64_t padding,
                    bool align_corners) {
  const size_t rank = input.sizes().size();
  TORCHLET_CHECK(
      (Spatial == 0 ? rank == 4 || rank == 5 : rank == Spatial + 2) && grid.sizes().size() == rank,
      "grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, "
      "but got input %s and grid %s",
      input.describe().c_str(), grid.describe().c_str());
  TORCHLET_CHECK(
      input.size(0) == grid.size(0),
      "grid_sampler(): expected grid and input to have same batch size, but got input %s "
      "and grid %s",
      input.describe().c_str(), grid.describe().c_str());
  TORCHLET_CHECK(grid.size(-1) == input.dim() - 2,
                 "grid_sampler(): expected grid to have size %lld in last dimension, but got grid "
                 "%s",
                 static_cast<long long>(input.dim() - 2), grid.describe().c_str());
  for (int64_t size : input.sizes().subspan(2)) {
    TORCHLET_CHECK(
        size > 0, "grid_sampler(): expected input to have non-empty spatial dimensions, but got %s",
        input.describe().c_str());
  }
  TORCHLET_CHECK(
      input.dtype() == grid.dtype(),
      "grid_sampler(): expected input and grid to have the same dtype, but got %s and %s",
      dtype_name(input.dtype()).data(), dtype_name(grid.dtype()).data());
  TORCHLET_CHECK(mode >= 0 && mode <= 2 && padding >= 0 && padding <= 2,
                 "grid_sampler(): unknown interpolation mode %lld or padding mode %lld",
                 static_cast<long long>(mode), static_cast<long long>(padding));
  TORCHLET_CHECK(mode != 2 || rank == 4,
                 "grid_sampler(): bicubic interpolation only supports 4D input");
  return compute_as<kMapReal>(input.dtype(), "grid_sampler", [&](auto zero) {
    return sample<decltype(zero)>(input, grid, static_cast<Sampling>(mode),
                                  static_cast<Border>(padding), align_corners)
        .to(input.dtype());
  });
}

// Positions of the pixels of one dimension in [-1, 1].
template <typename T>
T grid_position(int64_t i, int64_t size, bool align_corners) {
  if (size <= 1) return T(0);
  const T step = T(2) / static_cast<T>(size - 1);
  // From both ends, as torch.linspace.
  const T x =
      i < size / 2 ? T(-1) + step * static_cast<T>(i) : T(1) - step * static_cast<T>(size - 1 - i);
  return align_corners ? x : x * static_cast<T>(size - 1) / static_cast<T>(size);
}

// theta [N, 2, 3] and size (N, C, H, W) -> [N, H, W, 2]; [N, 3, 4] and (N, C, D, H, W) -> [N, D, H,
// W, 3].
Tensor affine_grid(const Tensor& theta, const IntArray& size, bool align_corners) {
  TORCHLET_CHECK(size.size() == 4 || size.size() == 5,
                 "AffineGridGenerator needs 4d (spatial) or 5d (volumetric) inputs.");
  const int64_t spatial = static_cast<int64_t>(size.size()) - 2;
  TORCHLET_CHECK(theta.dim() == 3 && theta.size(0) == size[0] && theta.size(1) == spatial &&
                     theta.size(2) == spatial + 1,
                 "affine_grid_generator: expected theta of shape [%lld, %lld, %lld], got %s",
                 static_cast<long long>(size[0]), static_cast<long long>(spatial),
                 static_cast<long long>(spatial + 1), theta.describe().c_str());
  return compute_as<kMapReal>(theta.dtype(), "affine_grid_generator", [&](auto zero) {
    using T = decltype(zero);
    int64_t positions = 1;
    IntArray shape{size[0]};
    for (size_t d = 2; d < size.size(); ++d) {
      TORCHLET_CHECK(size[d] > 0, "Expected non-zero, positive output size");
      shape.push_back(size[d]);
      TORCHLET_CHECK(!__builtin_mul_overflow(positions, size[d], &positions),
                     "affine_grid_generator: the size overflows");
    }
    shape.push_back(spatial);
    const Tensor matrices = dense_as<T>(theta), grid = empty(shape, DTypeOf<T>::value);
    const int64_t width = size.back(), lines = positions / width;
    std::vector<T> across;  // positions in a line
    for (int64_t x = 0; x < width; ++x) across.push_back(grid_position<T>(x, width, align_corners));
    const int64_t grain = std::max<int64_t>(1, 4096 / width);
    parallel_for(size[0] * lines, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T* const matrix = const_data<T>(matrices) + i / lines * spatial * (spatial + 1);
        T offset[3];  // what all of the line have in common
        for (int64_t s = 0; s < spatial; ++s) {
          const T* const row = matrix + s * (spatial + 1);
          offset[s] = row[spatial];
          int64_t rest = i % lines;
          for (int64_t d = 1; d < spatial; ++d) {
            const int64_t length = size[size.size() - 1 - static_cast<size_t>(d)];
            offset[s] += row[d] * grid_position<T>(rest % length, length, align_corners);
            rest /= length;
          }
        }
        T* to = grid.data_ptr<T>() + i * width * spatial;
        for (const T x : across) {
          for (int64_t s = 0; s < spatial; ++s) *to++ = matrix[s * (spatial + 1)] * x + offset[s];
        }
      }
    });
    return grid.to(theta.dtype());
  });
}

}  // namespace

#define TORCHLET_GRID_SAMPLER(id, spatial)                                    \
  TORCHLET_OP_WITH(id, out("out"),                                            \
                   "aten::" #id                                               \
                   "(Tensor input, Tensor grid, int interpolation_mode, int " \
                   "padding_mode, bool align_corners) -> Tensor",             \
                   grid_sampler<spatial>)
TORCHLET_OP(grid_sampler,
            "aten::grid_sampler(Tensor input, Tensor grid, int interpolation_mode, int "
            "padding_mode, bool align_corners) -> Tensor",
            grid_sampler<0>);
TORCHLET_GRID_SAMPLER(grid_sampler_2d, 2);
TORCHLET_GRID_SAMPLER(grid_sampler_3d, 3);
TORCHLET_GRID_SAMPLER(_grid_sampler_2d_cpu_fallback, 2);
#undef TORCHLET_GRID_SAMPLER
TORCHLET_OP_WITH(
    affine_grid_generator, out("out"),
    "aten::affine_grid_generator(Tensor theta, int[] size, bool align_corners) -> Tensor",
    affine_grid);

}  // namespace torchlet::ops
