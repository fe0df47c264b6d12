#include "kernels/gemm/gemm_driver.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

#include "base/selection.h"
#include "base/thread_pool.h"
#include "kernels/layout/transpose.h"
#include "kernels/simd/caches.h"
#include "kernels/simd/scratch.h"
#include "kernels/simd/split.h"

namespace torchlet::kernels {
namespace {

// A slice of kMaxDepth rows of B is cut into blocks of panels that fit the second-level cache,
// together with the rows of A that meet them.
constexpr int64_t kMaxDepth = 256;
constexpr int64_t kABlockBytes = int64_t{512} << 10;
constexpr int64_t kBBlockBytes = int64_t{128} << 10;
// Multiply-adds that are worth waking a thread for, about 20 microseconds.
constexpr int64_t kOpsPerTask = int64_t{1} << 20;

// What products of few columns or of long sums have ways of their own for; doubles are rare.
template <typename T>
constexpr bool kHasRareWays = selection::kHasConversions && !std::is_same_v<T, double>;

// The cut of one product of a batch: `row_blocks` by `panel_groups` tasks.
struct Cut {
  int64_t row_blocks, rows;      // rows per block, a multiple of the micro-kernel's
  int64_t panel_groups, panels;  // panels per group
  int64_t panel_columns;         // columns of all panels; the rest are dot products
  int64_t depth;                 // of a slice of k
  int64_t block_panels;          // panels per block
};

// A last vector that is almost empty costs as much as a full one. Its few columns are cheaper as
// dot products, if A is contiguous along k.
template <typename T>
int64_t columns_for_dots(const GemmBatch<T>& batch, const PanelShape& shape) {
  const int64_t rest = batch.n % shape.lanes;
  return batch.n > shape.lanes && rest <= shape.lanes / 4 && batch.a.col_stride == 1 ? rest : 0;
}

template <typename T>
Cut cut_product(const GemmBatch<T>& batch, const PanelShape& shape) {
  Cut cut;
  cut.panel_columns = batch.n - columns_for_dots(batch, shape);
  const int64_t panels = ceil_div(cut.panel_columns, shape.width);
  const int64_t threads = num_threads();
  const int64_t ops = batch.count * batch.m * batch.n * batch.k;
  const int64_t tasks =
      threads == 1 ? 1
                   : std::clamp<int64_t>(ops / kOpsPerTask, 1, ceil_div(4 * threads, batch.count));

  const int64_t k = std::max<int64_t>(1, batch.k);
  cut.depth = ceil_div(k, ceil_div(k, kMaxDepth));
  cut.block_panels = std::max<int64_t>(
      1, cached(kBBlockBytes) / (cut.depth * shape.width * static_cast<int64_t>(sizeof(T))));
  cut.panels = ceil_div(panels, std::min(panels, tasks));
  cut.panel_groups = ceil_div(panels, cut.panels);
  cut.block_panels = std::min(cut.block_panels, cut.panels);
  const int64_t cache_rows = cached(kABlockBytes) / (cut.depth * static_cast<int64_t>(sizeof(T)));
  const int64_t rows = std::min(cache_rows, ceil_div(batch.m, ceil_div(tasks, cut.panel_groups)));
  cut.rows = std::max<int64_t>(1, ceil_div(rows, shape.rows)) * shape.rows;
  cut.row_blocks = ceil_div(batch.m, cut.rows);
  return cut;
}

void transpose(int64_t rows, int64_t cols, const float* from, int64_t from_stride, float* to,
               int64_t to_stride) {
  transpose_f32(rows, cols, from, from_stride, to, to_stride);
}

template <typename T>
void transpose(int64_t rows, int64_t cols, const T* from, int64_t from_stride, T* to,
               int64_t to_stride) {
  if constexpr (selection::kHasConversions) {
    return kernels::transpose(sizeof(T), rows, cols, from, from_stride, to, to_stride);
  }
  for (int64_t j = 0; j < cols; ++j) {
    for (int64_t i = 0; i < rows; ++i) to[j * to_stride + i] = from[i * from_stride + j];
  }
}

// Columns that leave half of a vector empty, or more, become rows of the transposed product where
// each value of C is a short sum, so that storing it is most of the work.
template <typename T>
bool has_few_columns(const GemmBatch<T>& batch, const PanelShape& shape) {
  constexpr int64_t kShortSum = 32, kShortestSum = 8;
  return kHasRareWays<T> && 2 * batch.n <= shape.lanes && batch.m >= shape.width &&
         batch.k <= (batch.n > 1 ? kShortSum : kShortestSum) &&
         (batch.a.row_stride == 1 || batch.a.col_stride == 1);
}

// The work of one task on one slice of k: rows of A and C, all columns.
template <typename T>
struct Slice {
  int64_t index;  // of the product in the batch
  int64_t k0, k, rows;
  ConstMatrix<T> a;
  T* c;
  int64_t c_stride;
  GemmEpilogue<T> epilogue;
};

template <typename T>
GemmEpilogue<T> epilogue_at_column(const GemmEpilogue<T>& epilogue, int64_t column) {
  GemmEpilogue<T> moved = epilogue;
  if (moved.col_bias) moved.col_bias += column;
  return moved;
}

// Columns [first, last), which are panels.
template <typename T>
void multiply_panels(const Slice<T>& s, const PanelSource<T>& panels, const PanelShape& shape,
                     const Cut& cut, int64_t first, int64_t last) {
  const int64_t block_width = cut.block_panels * shape.width;
  const Scratch<T> scratch(cut.depth * block_width);
  const Scratch<Panel<T>> block(cut.block_panels);
  for (int64_t n0 = first; n0 < last; n0 += block_width) {
    const int64_t n = std::min(block_width, last - n0);
    for (int64_t j = 0; j < n; j += shape.width) {
      const int64_t columns = std::min<int64_t>(shape.width, n - j);
      block[j / shape.width] =
          panels(s.index, s.k0, s.k, n0 + j, columns, scratch.data() + j * cut.depth);
    }
    multiply_block({s.rows, n, s.k, s.a, block.data(), s.c + n0, s.c_stride,
                    epilogue_at_column(s.epilogue, n0)});
  }
}

// Columns [first, first + count), as the transposed product of `count` rows.
template <typename T>
void multiply_rest(const Slice<T>& s, const PanelSource<T>& panels, const PanelShape& shape,
                   int64_t first, int64_t count) {
  const Scratch<T> scratch(s.k * shape.width), columns(s.k * count);
  const Panel<T> panel = panels(s.index, s.k0, s.k, first, count, scratch.data());
  transpose(s.k, count, panel.data, panel.stride, columns.data(), s.k);
  GemmEpilogue<T> epilogue = epilogue_at_column(s.epilogue, first);
  std::swap(epilogue.row_bias, epilogue.col_bias);
  const ConstMatrix<T> a_transposed{s.a.data, s.a.col_stride, s.a.row_stride};
  multiply_thin({s.k, {columns.data(), s.k, 1}, a_transposed, s.c + first, 1, s.c_stride, epilogue},
                count, 0, s.rows);
}

// All columns, in pieces of rows that the first-level cache holds.
template <typename T>
void multiply_transposed(const Slice<T>& s, const PanelSource<T>& panels, const PanelShape& shape,
                         int64_t n) {
  constexpr int64_t kPieceElements = 4096, kMostPanels = 8;
  const int64_t panel_elements = (s.k + n) * shape.width;
  const int64_t count = std::clamp<int64_t>(kPieceElements / panel_elements, 1, kMostPanels);
  const int64_t piece = count * shape.width;
  const Scratch<T> scratch(s.k * shape.width), columns(s.k * piece), product(n * piece);
  const Panel<T> b = panels(s.index, s.k0, s.k, 0, n, scratch.data());
  Panel<T> block[kMostPanels];
  GemmEpilogue<T> epilogue = s.epilogue;
  std::swap(epilogue.row_bias, epilogue.col_bias);
  for (int64_t i = 0; i < s.rows; i += piece) {
    const int64_t rows = std::min(piece, s.rows - i);
    Panel<T> a{s.a.data + i * s.a.row_stride, s.a.col_stride};
    if (s.a.row_stride != 1) {
      transpose(rows, s.k, a.data, s.a.row_stride, columns.data(), piece);
      a = {columns.data(), piece};
    } else if (rows < piece) {
      for (int64_t l = 0; l < s.k; ++l) {
        std::copy_n(a.data + l * a.stride, rows, columns.data() + l * piece);
      }
      a = {columns.data(), piece};
    }
    for (int64_t p = 0; p < count; ++p) block[p] = {a.data + p * shape.width, a.stride};
    T* const c = s.c + i * s.c_stride;
    if (epilogue.accumulate) transpose(rows, n, c, s.c_stride, product.data(), piece);
    multiply_block({n,
                    rows,
                    s.k,
                    {b.data, 1, b.stride},
                    block,
                    product.data(),
                    piece,
                    epilogue_at_column(epilogue, i)});
    transpose(n, rows, product.data(), piece, c, s.c_stride);
  }
}

template <typename T>
void run_task(const GemmBatch<T>& batch, const PanelSource<T>& panels, const PanelShape& shape,
              const Cut& cut, int64_t index, int64_t row_block, int64_t panel_group) {
  const int64_t row = row_block * cut.rows;
  const int64_t first = panel_group * cut.panels * shape.width;
  const int64_t last = std::min(cut.panel_columns, first + cut.panels * shape.width);
  const int64_t a_index = index % batch.a_count;
  const T* a = batch.a.data + a_index * batch.a_batch_stride + row * batch.a.row_stride;

  for (int64_t k0 = 0; k0 == 0 || k0 < batch.k; k0 += cut.depth) {
    GemmEpilogue<T> epilogue;
    if (k0 + cut.depth >= batch.k) {  // after the last slice
      epilogue = batch.epilogue;
      if (epilogue.row_bias) epilogue.row_bias += a_index * batch.m + row;
    }
    epilogue.accumulate = batch.epilogue.accumulate || k0 > 0;
    const Slice<T> slice{.index = index,
                         .k0 = k0,
                         .k = std::min(cut.depth, batch.k - k0),
                         .rows = std::min(cut.rows, batch.m - row),
                         .a = {a + k0 * batch.a.col_stride, batch.a.row_stride, batch.a.col_stride},
                         .c = batch.c + index * batch.c_batch_stride + row * batch.c_stride,
                         .c_stride = batch.c_stride,
                         .epilogue = epilogue};
    if (has_few_columns(batch, shape)) return multiply_transposed(slice, panels, shape, batch.n);
    multiply_panels(slice, panels, shape, cut, first, last);
    if (last == cut.panel_columns && last < batch.n) {
      multiply_rest(slice, panels, shape, last, batch.n - last);
    }
  }
}

}  // namespace

template <typename T>
void run_gemm(const GemmBatch<T>& batch, PanelSource<T> panels) {
  if (batch.count <= 0 || batch.m <= 0 || batch.n <= 0) return;
  const PanelShape shape = panel_shape(static_cast<const T*>(nullptr));
  const Cut cut = cut_product(batch, shape);
  const int64_t tasks_per_product = cut.row_blocks * cut.panel_groups;
  const int64_t ops_per_task = cut.rows * cut.panels * shape.width * batch.k;
  const int64_t grain = std::max<int64_t>(1, kOpsPerTask / std::max<int64_t>(1, ops_per_task));
  parallel_for(batch.count * tasks_per_product, grain, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t within = task % tasks_per_product;
      run_task(batch, panels, shape, cut, task / tasks_per_product, within / cut.panel_groups,
               within % cut.panel_groups);
    }
  });
}

namespace {

// Up to this many rows or columns, dot products beat the packing of panels.
constexpr int64_t kThin = 16;
// Up to this many rows or columns, sums of B's rows do, if there are so many of these.
constexpr int64_t kThinRows = 3, kThinColumns = 8, kManySums = 16;
// Vectors of this length are worth laying out for dot products.
constexpr int64_t kLongDots = 128;
// Rows of a tile that keep the multiplier busy with a single vector of columns.
constexpr int kTallTile = 8;

// Rows of C, without clamping, as sums of the rows of B, which are contiguous.
[[maybe_unused]] void sum_rows(const ThinProduct<float>& p, int64_t rows, int64_t begin,
                               int64_t end) {
  constexpr int64_t kColumns = 512;
  const Scratch<float> sums(2 * kColumns);
  const GemmEpilogue<float>& e = p.epilogue;
  for (int64_t j = begin; j < end; j += kColumns) {
    const int64_t n = std::min(kColumns, end - j);
    for (int64_t i = 0; i < rows; i += 2) {
      const int64_t count = std::min<int64_t>(2, rows - i);
      std::fill_n(sums.data(), 2 * kColumns, 0.0f);
      add_rows({.n = n,
                .k = p.k,
                .a = {p.a.data + i * p.a.row_stride, p.a.row_stride, p.a.col_stride},
                .b = {p.b.data + j, p.b.row_stride},
                .c = sums.data(),
                .c_stride = kColumns},
               count);
      for (int64_t r = i; r < i + count; ++r) {
        const float row_bias = e.row_bias ? e.row_bias[r] : 0;
        float* const to = p.c + r * p.c_row_stride + j * p.c_col_stride;
        for (int64_t x = 0; x < n; ++x) {
          float value = sums[(r - i) * kColumns + x];
          if (e.accumulate) value += to[x * p.c_col_stride];
          if (e.row_bias) value += row_bias;
          if (e.col_bias) value += e.col_bias[j + x];
          to[x * p.c_col_stride] = value;
        }
      }
    }
  }
}

// `count` vectors of `k` elements, which are contiguous in what is returned: in place if they are
// so already, else in `to`, `stride` apart.
template <typename T>
ConstMatrix<T> laid_out(ConstMatrix<T> vectors, int64_t count, int64_t k, T* to, int64_t stride) {
  if (vectors.col_stride == 1) return vectors;
  if (vectors.row_stride == 1) {
    transpose(k, count, vectors.data, vectors.col_stride, to, stride);
  } else {
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t l = 0; l < k; ++l) {
        to[i * stride + l] = vectors.data[i * vectors.row_stride + l * vectors.col_stride];
      }
    }
  }
  return {to, stride, 1};
}

// A few values of C, each a long sum, as dot products of pieces that the first-level cache holds.
template <typename T>
void sum_pieces(int64_t m, int64_t n, const ThinProduct<T>& p) {
  constexpr int64_t kPiece = 256;
  const Scratch<T> rows(m * kPiece), columns(n * kPiece);
  const ConstMatrix<T> b_transposed{p.b.data, p.b.col_stride, p.b.row_stride};
  for (int64_t l = 0; l < p.k; l += kPiece) {
    ThinProduct<T> piece = p;
    piece.k = std::min(kPiece, p.k - l);
    const auto at = [&](ConstMatrix<T> x) {
      x.data += l * x.col_stride;
      return x;
    };
    piece.a = laid_out(at(p.a), m, piece.k, rows.data(), kPiece);
    const ConstMatrix<T> b = laid_out(at(b_transposed), n, piece.k, columns.data(), kPiece);
    piece.b = {b.data, b.col_stride, b.row_stride};
    if (l + kPiece < p.k) piece.epilogue = {};
    piece.epilogue.accumulate = p.epilogue.accumulate || l > 0;
    multiply_thin(piece, m, 0, n);
  }
}

// Products of so few numbers are worth neither vectors nor the choice of a way.
constexpr int64_t kTiny = 64;

template <typename T>
void multiply_tiny(int64_t m, int64_t n, int64_t k, ConstMatrix<T> a, ConstMatrix<T> b, T* c,
                   int64_t c_stride, const GemmEpilogue<T>& epilogue) {
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      T sum = 0;
      for (int64_t l = 0; l < k; ++l) {
        sum += a.data[i * a.row_stride + l * a.col_stride] *
               b.data[l * b.row_stride + j * b.col_stride];
      }
      T& to = c[i * c_stride + j];
      if (epilogue.accumulate) sum += to;
      if (epilogue.row_bias) sum += epilogue.row_bias[i];
      if (epilogue.col_bias) sum += epilogue.col_bias[j];
      if constexpr (std::is_floating_point_v<T>) {
        if (sum < epilogue.min) sum = epilogue.min;
        if (sum > epilogue.max) sum = epilogue.max;
      }
      to = sum;
    }
  }
}

}  // namespace

template <typename T>
void run_plain_gemm(int64_t m, int64_t n, int64_t k, ConstMatrix<T> a, ConstMatrix<T> b, T* c,
                    int64_t c_stride, const GemmEpilogue<T>& epilogue) {
  constexpr bool kHasMoreWays = std::is_same_v<T, float> && selection::kHasConversions;
  if (m <= 0 || n <= 0) return;
  if constexpr (kHasMoreWays) {
    if (m <= kTiny && n <= kTiny && k <= kTiny && m * n * k <= kTiny) {
      return multiply_tiny(m, n, k, a, b, c, c_stride, epilogue);
    }
  }
  static constexpr T kNothing = 0;  // is never read; the pointers to empty matrices may be null
  if (k == 0) a = b = {&kNothing, 0, 0};
  ThinProduct<T> thin{k, a, b, c, c_stride, 1, epilogue};
  int64_t few = m, many = n;
  if (n < m) {  // C^T = B^T A^T
    thin.a = {b.data, b.col_stride, b.row_stride};
    thin.b = {a.data, a.col_stride, a.row_stride};
    std::swap(thin.c_row_stride, thin.c_col_stride);
    std::swap(thin.epilogue.row_bias, thin.epilogue.col_bias);
    std::swap(few, many);
  }
  const GemmBatch<T> batch{
      .m = m, .n = n, .k = k, .a = a, .c = c, .c_stride = c_stride, .epilogue = epilogue};
  const PanelShape shape = panel_shape(static_cast<const T*>(nullptr));
  if (has_few_columns(batch, shape)) {
    return run_gemm<T>(batch, MatrixPanels<T>(b, m));
  }
  const int64_t ops_per_column = std::max<int64_t>(1, few * k);
  const int64_t grain = (kOpsPerTask / ops_per_column + 3) / 4 * 4 + 4;
  if constexpr (kHasMoreWays) {
    if (few <= (n < m ? kThinColumns : kThinRows) && k >= kManySums && thin.b.row_stride != 1 &&
        thin.b.col_stride == 1 && epilogue.min == -epilogue.max && std::isinf(epilogue.max)) {
      return parallel_for(many, grain,
                          [&](int64_t begin, int64_t end) { sum_rows(thin, few, begin, end); });
    }
  }
  if (n == 1 && m > 1 && a.col_stride != 1 && c_stride == 1) {  // a row is better than a column
    return run_plain_gemm<T>(1, m, k, thin.a, thin.b, c, m, thin.epilogue);
  }
  const auto multiply_dots = [&] {
    parallel_for(many, grain,
                 [&](int64_t begin, int64_t end) { multiply_thin(thin, few, begin, end); });
  };
  const bool is_thin = few <= kThin && thin.b.row_stride == 1;
  if (is_thin && thin.a.col_stride == 1) return multiply_dots();
  if constexpr (kHasMoreWays) {
    // Whole vectors of B's columns are as cheap as they are, but need no sums across vectors.
    const bool fills_vectors =
        n < m && b.col_stride == 1 && shape.rows >= kTallTile && n % shape.lanes == 0;
    if (is_thin && many > kThin && k >= kLongDots && !fills_vectors) {
      const Scratch<T> rows(few * k);
      for (int64_t i = 0; i < few; ++i) {
        for (int64_t l = 0; l < k; ++l) {
          rows[i * k + l] = thin.a.data[i * thin.a.row_stride + l * thin.a.col_stride];
        }
      }
      thin.a = {rows.data(), k, 1};
      return multiply_dots();
    }
  }
  if constexpr (kHasRareWays<T>) {
    if (many <= kThin && k >= kLongDots) {
      return sum_pieces<T>(m, n, {k, a, b, c, c_stride, 1, epilogue});
    }
  }
  run_gemm<T>(batch, MatrixPanels<T>(b, m));
}

// A panel that few rows read is not worth a copy.
constexpr int64_t kRowsWorthPacking = 32;

template <typename T>
MatrixPanels<T>::MatrixPanels(ConstMatrix<T> b, int64_t m, int64_t batch_stride)
    : b_(b),
      batch_stride_(batch_stride),
      width_(panel_shape(static_cast<const T*>(nullptr)).width),
      in_place_(b.col_stride == 1 && m <= kRowsWorthPacking) {}

template <typename T>
Panel<T> MatrixPanels<T>::operator()(int64_t index, int64_t k0, int64_t k, int64_t n0, int64_t n,
                                     T* scratch) const {
  const T* b = b_.data + index * batch_stride_ + k0 * b_.row_stride + n0 * b_.col_stride;
  if (in_place_ && n == width_) return {b, b_.row_stride};
  if (b_.col_stride == 1) {
    for (int64_t i = 0; i < k; ++i) {
      std::memcpy(scratch + i * width_, b + i * b_.row_stride, static_cast<size_t>(n) * sizeof(T));
    }
  } else if (b_.row_stride == 1) {
    transpose(n, k, b, b_.col_stride, scratch, width_);
  } else {
    for (int64_t i = 0; i < k; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        scratch[i * width_ + j] = b[i * b_.row_stride + j * b_.col_stride];
      }
    }
  }
  if (n < width_) {
    const size_t rest = static_cast<size_t>(width_ - n) * sizeof(T);
    for (int64_t i = 0; i < k; ++i) std::memset(scratch + i * width_ + n, 0, rest);
  }
  return {scratch, width_};
}

template void run_plain_gemm(int64_t, int64_t, int64_t, ConstMatrix<float>, ConstMatrix<float>,
                             float*, int64_t, const GemmEpilogue<float>&);
template void run_gemm<float>(const GemmBatch<float>&, PanelSource<float>);
template void run_plain_gemm(int64_t, int64_t, int64_t, ConstMatrix<double>, ConstMatrix<double>,
                             double*, int64_t, const GemmEpilogue<double>&);
template void run_gemm<double>(const GemmBatch<double>&, PanelSource<double>);
template void run_plain_gemm(int64_t, int64_t, int64_t, ConstMatrix<uint64_t>,
                             ConstMatrix<uint64_t>, uint64_t*, int64_t,
                             const GemmEpilogue<uint64_t>&);
template void run_gemm<uint64_t>(const GemmBatch<uint64_t>&, PanelSource<uint64_t>);
template class MatrixPanels<float>;
template class MatrixPanels<double>;
template class MatrixPanels<uint64_t>;

}  // namespace torchlet::kernels
