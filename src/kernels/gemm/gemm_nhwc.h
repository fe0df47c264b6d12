#pragma once

// Inside of the NHWC convolutions: the micro-kernel, a few rows of A times panels of packed
// weights.
//
// B is packed as panels of TileShape::width columns, each [k, width] and 64-byte aligned; a last
// panel of at most TileShape::lanes columns has that width instead. Columns that do not exist are
// zero. In Float16, where one lane of a vector sums over the even k and its neighbour over the odd
// ones, the order inside two steps of k is another (panel_index). Panels of a product in float32
// may lie in memory as Float16, in the order of float32, or as bfloat16 (kernels/half/bfloat16.h).

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/pages.h"
#include "base/selection.h"
#include "kernels/half/bfloat16.h"
#include "kernels/half/float16.h"
#include "kernels/nhwc.h"
#include "kernels/simd/scratch.h"

namespace torchlet::kernels {

struct TileShape {
  int rows;        // of the micro-kernel, at most kMaxTileRows
  int width;       // columns of a panel
  int lanes;       // columns of a vector
  int depth_unit;  // k that are packed together: what a pixel has is filled up with zeros

  int64_t panel_width(int64_t columns) const { return columns <= lanes ? lanes : width; }
  int64_t packed_columns(int64_t columns) const { return (columns + lanes - 1) / lanes * lanes; }
  int64_t packed_depth(int64_t depth) const {
    return (depth + depth_unit - 1) / depth_unit * depth_unit;
  }
  // Where (k, column) is in a panel of that width.
  int64_t panel_index(int64_t k, int64_t column, int64_t panel) const {
    if (depth_unit == 1) return k * panel + column;
    const int64_t pair = k / 2 * 2 * panel, odd = k % 2;
    if (panel == lanes) return pair + column * 2 + odd;
    return pair + column % 2 * 2 * lanes + column / 2 * 2 + odd;  // two vectors in turns
  }
};
constexpr int kMaxTileRows = 14;
template <typename T>
TileShape tile_shape();
template <>
TileShape tile_shape<float>();
template <>
TileShape tile_shape<Float16>();

template <int kRows>
using RowCount = std::integral_constant<int, kRows>;

// Covers `rows` by tiles of at most `kMostRows`: calls tile(row, R) with R rows, an integral
// constant of kMostRows, 8, 7, 4, 2 or 1. Sums of tiles of 2 and 1 rows wait for each other, so the
// last rows are cut such that few are left to those.
template <int kMostRows, class Tile>
void for_each_tile(int64_t rows, const Tile& tile) {
  int64_t row = 0;
  const auto take = [&](auto count) {
    tile(row, count);
    row += count;
  };
  const auto takes_full_tile = [](int64_t left) {
    if (kMostRows <= 8 || left >= 2 * kMostRows || left <= kMostRows) return left >= kMostRows;
    return left % 4 != 0 && left % 4 != 3;
  };
  while (takes_full_tile(rows - row)) take(RowCount<kMostRows>());
  if constexpr (kMostRows > 8) {
    while (rows - row >= 8 && rows - row != 11) take(RowCount<8>());
    if (rows - row == 7 || rows - row == 11) take(RowCount<7>());
  }
  while (rows - row >= 4) take(RowCount<4>());
  if (rows - row >= 2) take(RowCount<2>());
  if (row < rows) take(RowCount<1>());
}

// Whether panels in Float16 can be read as floats, which the processor converts.
bool has_half_panels();

// Panels for a product in T. Of float they may be rounded (WeightFormat).
template <typename T>
class Panels {
 public:
  Panels(const T* panels = nullptr) : data_(panels) {}
  static Panels of(const void* packed, WeightFormat format) {
    Panels panels(static_cast<const T*>(packed));
    if constexpr (selection::kHasFloat16) panels.format_ = format;
    return panels;
  }
  WeightFormat format() const {
    if constexpr (selection::kHasFloat16) return format_;
    return WeightFormat::kFloat32;
  }
  const T* data() const { return as<T>(WeightFormat::kFloat32); }
  const Float16* half() const { return as<Float16>(WeightFormat::kFloat16); }
  const BFloat16* bfloat16() const { return as<BFloat16>(WeightFormat::kBFloat16); }
  // For who only fetches them: where they begin, and `count` elements of them in units of T.
  const T* fetched() const { return static_cast<const T*>(data_); }
  int64_t fetched_count(int64_t count) const {
    return count * element_size() / static_cast<int64_t>(sizeof(T));
  }
  Panels operator+(int64_t count) const {
    return of(static_cast<const std::byte*>(data_) + count * element_size(), format());
  }

 private:
  template <typename Element>
  const Element* as(WeightFormat format) const {
    return this->format() == format ? static_cast<const Element*>(data_) : nullptr;
  }
  int64_t element_size() const {
    return format() == WeightFormat::kFloat32 ? sizeof(T) : sizeof(Float16);
  }

  struct Nothing {};
  const void* data_;
  [[no_unique_address]] std::conditional_t<selection::kHasFloat16, WeightFormat, Nothing> format_{};
};
// `count` elements, whole rows of panels, widened or rounded to nearest even on the calling thread.
void widen_panels(Panels<float> from, int64_t count, float* to);
void round_panels(const float* from, int64_t count, Float16* to);

// How many panels, of so many weights each, are packed at once: what those are read from stays in
// a cache of each thread.
int64_t panels_at_once(int64_t panel_weights, int64_t panels);

// Where panels are packed to, as Panels::of() reads them.
template <typename T>
class PackingTarget {
 public:
  explicit PackingTarget(void* packed, WeightFormat format = WeightFormat::kFloat32)
      : packed_(static_cast<std::byte*>(packed)), format_(format) {}
  void move(int64_t count) { packed_ += bytes(count); }
  // fill(to) writes the `rows` of a panel that begins at element `first`.
  template <typename Fill>
  void pack(int64_t first, int64_t rows, int64_t width, const Fill& fill) const {
    std::byte* const to = packed_ + bytes(first);
    if constexpr (selection::kIsWhole) {
      const auto nbytes = static_cast<size_t>(bytes(rows * width));
      if (nbytes >= kTakenAtOnce) take_pages(to, nbytes);
    }
    if constexpr (selection::kHasFloat16 && std::is_same_v<T, float>) {
      if (format_ != WeightFormat::kFloat32) {
        const Scratch<float> floats(rows * width);
        fill(floats.data());
        if (format_ == WeightFormat::kBFloat16) {
          return pack_bfloat16(floats.data(), rows, width, reinterpret_cast<BFloat16*>(to));
        }
        return round_panels(floats.data(), rows * width, reinterpret_cast<Float16*>(to));
      }
    }
    fill(reinterpret_cast<T*>(to));
  }

 private:
  // Pages of smaller panels are found as they are written.
  static constexpr size_t kTakenAtOnce = size_t{16} << 10;

  int64_t bytes(int64_t count) const {
    const bool is_rounded = selection::kHasFloat16 && format_ != WeightFormat::kFloat32;
    return count * static_cast<int64_t>(is_rounded ? sizeof(Float16) : sizeof(T));
  }

  std::byte* packed_;
  WeightFormat format_;
};

// Columns [b_row, b_row + k) of A, where they lie: row r begins at a + r * a_row_stride.
template <typename T>
struct TileSegment {
  const T* a;
  int64_t a_row_stride;
  int64_t k;
  int64_t b_row;
};

// C = clamp(x), or x clamp(x / 6 + 1 / 2), of x = sum over the segments of A B + bias + residual,
// for some rows and one panel of B. The sum starts from `partial` instead of the bias if that is
// given.
struct TileJob {
  const TileSegment<float>* segments = nullptr;
  int64_t segment_count = 0;
  Panels<float> b = nullptr;  // the panel
  int64_t columns = 0;        // of the panel that exist
  const float* bias = nullptr;
  const float* partial = nullptr;
  int64_t partial_stride = 0;
  const float* residual = nullptr;
  int64_t residual_stride = 0;
  float low = 0, high = 0;
  bool is_gated = false;  // the latter, which with [0, 1] is hardswish
  float* c = nullptr;
  int64_t c_stride = 0;
  // Whether result and residual are fetched while the rows are multiplied.
  bool is_far = false;
  // What is wanted next: `ahead_count` floats are brought to the second-level cache, at most a
  // cache line with every step of k of a tile of at least 7 rows.
  const float* ahead = nullptr;
  int64_t ahead_count = 0;
};
void multiply_panel(const TileJob& job, int64_t rows);

// Some rows, at most TileShape::rows of them if the residual comes last, times some columns, and
// the whole epilogue.
template <typename T>
struct StripJob {
  const TileSegment<T>* segments;
  int64_t segment_count;
  Panels<T> b;    // column 0
  int64_t depth;  // of B
  int64_t first_column, last_column;
  int64_t rows;
  // Where sums of [rows, columns] wait if the segments are a part of k only; or null.
  float* partial = nullptr;
  int64_t partial_stride = 0;
  bool is_first = true, is_last = true;  // part of k
  // The image of the result; column 0 is its channel `channel`, row 0 its pixel `pixel`.
  const Epilogue<T>* epilogue;
  T* output;
  int64_t output_stride;
  int64_t pixel, channel;
  // Whether that image is larger than the second-level cache (is_far_image()).
  bool is_far = false;
  // What is wanted next, as in TileJob: with the first panel these elements, or with every panel
  // these of its rows; row `depth` is the first one of the next panel.
  const T* ahead = nullptr;
  int64_t ahead_count = 0;
  int64_t ahead_row = 0, ahead_rows = 0;
};
void multiply_strip(const StripJob<float>& job);
// Results that have to come from beyond the second-level cache before they can be written hold up
// the tiles of shallow layers.
bool is_far_image(int64_t pixels, int64_t channels);
// With panels in bfloat16.
void multiply_strip_bf16(const StripJob<float>& job);
// Sums in Float16 over parts of k, and those sums in float32.
void multiply_strip(const StripJob<Float16>& job);

}  // namespace torchlet::kernels
