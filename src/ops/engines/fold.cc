#include "ops/engines/fold.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "base/sort.h"
#include "base/thread_pool.h"
#include "kernels/layout/transpose.h"
#include "kernels/simd/scratch.h"
#include "ops/core/dense_order.h"
#include "ops/engines/elementwise.h"
#include "ops/engines/reduce.h"
#include "tensor/meta.h"
#include "tensor/tensor_impl.h"

namespace torchlet::ops {
namespace {

using kernels::Fold;

constexpr int64_t kTileColumns = 1024;  // 4 to 8 KB of sums stay in the first cache
constexpr int64_t kWide = 64;       // narrower rows that lie one after the other are read as one
constexpr int64_t kShortRun = 512;  // runs below are read across, not along,
constexpr int64_t kAcross = 16;     // if there are as many; else those below this
constexpr int64_t kAcrossElements = 4096;  // at a time
constexpr int64_t kLeastRun = 16;          // floats of a result that are folded along
constexpr int64_t kMostRun = 4096;         // at once, or else in chunks
constexpr int64_t kChunk = 1024, kChunksOfPiece = 32;
constexpr int64_t kCascade = 64;             // sums that one sum is made of, at most
constexpr int64_t kPieceElements = 1 << 18;  // one result of more is folded in pieces
constexpr int64_t kMostPieces = 64;
constexpr int64_t kParallelGrain = 32768;

struct Dim {
  int64_t size, stride;
  int64_t output_stride;  // of a kept one
  bool is_reduced;
};

bool is_sum(Fold fold) {
  return fold != Fold::kProduct && fold != Fold::kMax && fold != Fold::kMin;
}

// What is left to do with numbers that are folded themselves.
Fold fold_of_results(Fold fold) { return is_sum(fold) ? Fold::kSum : fold; }

// What a number is folded with without a change.
double identity(Fold fold) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return fold == Fold::kProduct ? 1
         : fold == Fold::kMax   ? -kInfinity
         : fold == Fold::kMin   ? kInfinity
                                : 0;
}

// The type that numbers are folded in.
struct Numbers {
  kernels::FoldType type;
  DType dtype;
  int64_t width;  // bytes

  explicit Numbers(DType compute) {
    switch (compute_kind(compute)) {
      case Compute::kInt:
        type = kernels::FoldType::kInt64;
        dtype = DType::kInt64;
        break;
      case Compute::kFloat:
        type = kernels::FoldType::kFloat32;
        dtype = DType::kFloat32;
        break;
      case Compute::kDouble:
        type = kernels::FoldType::kFloat64;
        dtype = DType::kFloat64;
        break;
      default:
        detail::fail_not_implemented(compute);
    }
    width = static_cast<int64_t>(element_size(dtype));
  }

  void fill(std::byte* to, int64_t count, double value) const {
    if (value == 0) {
      std::memset(to, 0, static_cast<size_t>(count * width));
    } else if (dtype == DType::kFloat32) {
      std::fill_n(reinterpret_cast<float*>(to), count, static_cast<float>(value));
    } else if (dtype == DType::kFloat64) {
      std::fill_n(reinterpret_cast<double*>(to), count, value);
    } else {
      using Limits = std::numeric_limits<int64_t>;
      std::fill_n(reinterpret_cast<int64_t*>(to), count,
                  std::isfinite(value) ? static_cast<int64_t>(value)
                  : value < 0          ? Limits::min()
                                       : Limits::max());
    }
  }
  void copy(const std::byte* from, int64_t from_stride, std::byte* to, int64_t to_stride,
            int64_t count) const {
    convert_elements(from, dtype, from_stride, to, dtype, to_stride, count);
  }
};

// Sets `into` to what the matrices are folded to, of at least one row.
void fold_anew(Fold fold, const Numbers& numbers, kernels::FoldRows m, std::byte* into) {
  if (fold_of_results(fold) == fold && m.rows > 1) {
    m.first = m.x;
    m.x = static_cast<const std::byte*>(m.x) + m.stride * numbers.width;
    --m.rows;
  } else {
    for (int64_t i = 0; i < m.matrices; ++i) {
      numbers.fill(into + i * m.into_stride * numbers.width, m.cols, identity(fold));
    }
  }
  kernels::fold_rows(fold, m, into);
}

// How memory is walked: for each index of `kept` and each column, the elements at each index of
// `reduced`, of which the last are the rows of a matrix.
struct Walk {
  std::vector<Dim> kept, reduced;
  Dim columns{1, 1, 0, false};
  bool is_short = false;  // columns are runs of the last reduced dimension
  bool is_runs = false;   // contiguous, one for each result

  Walk(const Tensor& self, const IntArray& dims, bool may_be_runs) {
    std::vector<Dim> all;
    int64_t output_stride = 1;
    for (size_t d = self.sizes().size(); d-- > 0;) {
      const bool is_reduced = std::ranges::find(dims, static_cast<int64_t>(d)) != dims.end();
      const int64_t size = self.sizes()[d];
      if (size != 1) all.push_back({size, self.strides()[d], output_stride, is_reduced});
      if (!is_reduced) output_stride *= size;
    }
    // The widest stride first; what is repeated (stride 0) outermost.
    const auto reach = [](const Dim& dim) {
      return dim.stride == 0 ? std::numeric_limits<int64_t>::max() : dim.stride;
    };
    for (size_t i = 1; i < all.size(); ++i) {
      for (size_t j = i; j > 0 && reach(all[j]) > reach(all[j - 1]); --j) {
        std::swap(all[j], all[j - 1]);
      }
    }
    all = merged(all);
    const size_t count = all.size();
    is_runs = may_be_runs && count > 1 && all.back().is_reduced && all.back().stride == 1 &&
              std::ranges::count_if(all, &Dim::is_reduced) == 1 && all.back().size >= kLeastRun &&
              (selection::kHasConversions || all.back().size <= kMostRun);
    is_short = !is_runs && count > 1 && all[count - 1].is_reduced && !all[count - 2].is_reduced &&
               all[count - 1].size < (all[count - 2].size < kAcross ? kAcross : kShortRun);
    if (is_short) std::swap(all[count - 1], all[count - 2]);
    if (!all.empty() && !all.back().is_reduced) {
      columns = all.back();
      all.pop_back();
    }
    for (const Dim& dim : all) (dim.is_reduced ? reduced : kept).push_back(dim);
    if (reduced.empty()) reduced.push_back({1, columns.size, 0, true});
  }

  // Where the elements of the column at an index of the kept dimensions begin, and its result.
  std::pair<int64_t, int64_t> place_of(int64_t index, int64_t column) const {
    int64_t offset = column * columns.stride, output = column * columns.output_stride;
    for (size_t d = kept.size(); d-- > 0; index /= kept[d].size) {
      offset += index % kept[d].size * kept[d].stride;
      output += index % kept[d].size * kept[d].output_stride;
    }
    return {offset, output};
  }

  // Whether the last of several reduced dimensions is one that can be read along.
  bool ends_with_run() const {
    const Dim& last = reduced.back();
    return !is_short && columns.size == 1 && reduced.size() > 1 && last.stride == 1 &&
           last.size >= kLeastRun;
  }

  static std::vector<Dim> merged(const std::vector<Dim>& dims) {
    std::vector<Dim> result;
    for (const Dim& dim : dims) {
      Dim* last = result.empty() ? nullptr : &result.back();
      if (last && last->is_reduced == dim.is_reduced && last->stride == dim.stride * dim.size &&
          (dim.is_reduced || last->output_stride == dim.output_stride * dim.size)) {
        *last = {last->size * dim.size, dim.stride, dim.output_stride, dim.is_reduced};
      } else {
        result.push_back(dim);
      }
    }
    return result;
  }
};

// One row of results; sums of sums keep the error small.
class Cascade {
 public:
  // Of `rows` rows, or a little more. The last level is at `out`, unless that is null.
  Cascade(Fold fold, const Numbers& numbers, int64_t rows, int64_t cols, std::byte* out)
      : fold_(fold),
        numbers_(numbers),
        cols_(cols),
        levels_(is_sum(fold) && rows > kCascade ? 3 : 1),
        own_levels_(levels_ - (out ? 1 : 0)),
        rows_(own_levels_ * cols * numbers.width),
        out_(out) {}

  // `matrix` may have fewer columns than there are results.
  void add(kernels::FoldRows matrix) {
    const int64_t most = levels_ > 1 ? kCascade : std::numeric_limits<int64_t>::max();
    for (int64_t left = matrix.rows; left > 0; left -= matrix.rows) {
      matrix.rows = std::min(left, most - counts_[0]);
      add_rows(matrix);
      matrix.x =
          static_cast<const std::byte*>(matrix.x) + matrix.rows * matrix.stride * numbers_.width;
      if (counts_[0] == most) carry(0);
    }
  }

  // Nothing can be added afterwards.
  std::byte* result() {
    for (int64_t level = 0; level + 1 < levels_; ++level) {
      if (counts_[level] > 0) carry(level);
    }
    std::byte* const last = row(levels_ - 1);
    if (counts_[levels_ - 1] == 0) numbers_.fill(last, cols_, identity(fold_));
    return last;
  }

 private:
  std::byte* row(int64_t level) const {
    return level == own_levels_ ? out_ : rows_.data() + level * cols_ * numbers_.width;
  }

  // A level without a count has nothing in its row.
  void add_rows(const kernels::FoldRows& matrix) {
    const bool begins = counts_[0] == 0;
    counts_[0] += matrix.rows;
    if (begins && matrix.cols == cols_) return fold_anew(fold_, numbers_, matrix, row(0));
    if (begins) numbers_.fill(row(0), cols_, identity(fold_));
    kernels::fold_rows(fold_, matrix, row(0));
  }

  void carry(int64_t level) {
    if (counts_[level + 1]++ == 0) {
      std::memcpy(row(level + 1), row(level), static_cast<size_t>(cols_ * numbers_.width));
    } else {
      kernels::fold_rows(Fold::kSum, {numbers_.type, row(level), cols_, 1, cols_}, row(level + 1));
    }
    counts_[level] = 0;
    if (level + 2 < levels_ && counts_[level + 1] == kCascade) carry(level + 1);
  }

  Fold fold_;
  const Numbers& numbers_;
  int64_t cols_, levels_, own_levels_;
  int64_t counts_[3] = {};
  kernels::Scratch<std::byte> rows_;
  std::byte* out_;
};

class Folder {
 public:
  Folder(Fold fold, const Numbers& numbers, const Tensor& self, const Walk& walk,
         const std::byte* center)
      : fold_(fold),
        numbers_(numbers),
        walk_(walk),
        data_(static_cast<const std::byte*>(self.raw_data())),
        dtype_(self.dtype()),
        width_(static_cast<int64_t>(element_size(self.dtype()))),
        center_(center),
        rows_stride_(walk.reduced.back().stride),
        in_place_(dtype_ == numbers.dtype && walk.columns.stride == 1 &&
                  (!is_narrow(walk.columns.size) || rows_stride_ == walk.columns.size)),
        is_few_rows_(in_place_ && walk.columns.output_stride == 1 && walk.columns.size >= kAcross &&
                     walk.reduced.size() == 1 && walk.reduced[0].size > 1 &&
                     walk.reduced[0].size <= kCascade && !center) {}

  bool is_few_rows() const { return is_few_rows_; }

  // Results of columns [begin, end), of few rows, at indices [index, last) of the kept dimensions.
  void run_few_rows(int64_t index, int64_t last, int64_t begin, int64_t end, std::byte* out) const {
    const Dim inner = walk_.kept.empty() ? Dim{1, 0, 0, false} : walk_.kept.back();
    kernels::FoldRows rows{numbers_.type, nullptr, rows_stride_, walk_.reduced[0].size,
                           end - begin};
    rows.matrix_stride = inner.stride;
    rows.into_stride = inner.output_stride;
    for (; index < last; index += rows.matrices) {
      rows.matrices = std::min(last - index, inner.size - index % inner.size);
      const auto [offset, output] = walk_.place_of(index, begin);
      rows.x = data_ + offset * width_;
      fold_anew(fold_, numbers_, rows, out + output * numbers_.width);
    }
  }

  // Results of columns [begin, end) at an index of the kept dimensions, of the elements at indices
  // [first, last) of the outermost reduced dimension.
  void run(int64_t index, int64_t begin, int64_t end, int64_t first, int64_t last,
           std::byte* out) const {
    const auto [offset, output] = walk_.place_of(index, begin);
    const int64_t width = numbers_.width, step = walk_.columns.output_stride;
    Block block{.cols = end - begin, .repeats = 1, .center = nullptr};
    if (is_narrow(block.cols) && (!in_place_ || rows_stride_ == block.cols)) {
      block.repeats = kWide / block.cols;
    }
    const int64_t wide = block.repeats * block.cols;
    const kernels::Scratch<std::byte> centers(center_ ? wide * width : 0);
    if (center_) {
      for (int64_t i = 0; i < block.repeats; ++i) {
        numbers_.copy(center_ + output * width, step, centers.data() + i * block.cols * width, 1,
                      block.cols);
      }
      block.center = centers.data();
    }
    int64_t rows = last - first;
    for (size_t d = 1; d < walk_.reduced.size(); ++d) rows *= walk_.reduced[d].size;
    std::byte* const place = out + output * width;
    const bool is_in_place = step == 1 && block.repeats == 1;
    Cascade sums(fold_, numbers_, rows / block.repeats, wide, is_in_place ? place : nullptr);
    add_outer(0, offset, first, last, block, sums);
    std::byte* result = sums.result();
    if (is_in_place) return;
    kernels::fold_rows(
        fold_of_results(fold_),
        {numbers_.type, result + block.cols * width, block.cols, block.repeats - 1, block.cols},
        result);
    numbers_.copy(result, 1, place, step, block.cols);
  }

 private:
  // Columns that are folded together; of `repeats` rows at a time, if these lie one after the other
  // or will where they are gathered.
  struct Block {
    int64_t cols, repeats;
    const std::byte* center;  // [repeats * cols]
  };

  static bool is_narrow(int64_t cols) { return 2 * cols <= kWide; }

  void add_outer(size_t d, int64_t offset, int64_t first, int64_t last, const Block& block,
                 Cascade& sums) const {
    const Dim& dim = walk_.reduced[d];
    offset += first * dim.stride;
    if (d + 1 == walk_.reduced.size()) return add_rows(offset, last - first, block, sums);
    for (int64_t i = first; i < last; ++i, offset += dim.stride) {
      add_outer(d + 1, offset, 0, walk_.reduced[d + 1].size, block, sums);
    }
  }

  void add_rows(int64_t offset, int64_t rows, const Block& block, Cascade& sums) const {
    const std::byte* from = data_ + offset * width_;
    if (in_place_) return add_matrix(from, rows_stride_, rows, block, sums);
    const int64_t most =
        walk_.is_short ? rows : std::max<int64_t>(1, 4 * kTileColumns / block.cols / kWide * kWide);
    const kernels::Scratch<std::byte> buffer(std::min(rows, most) * block.cols * numbers_.width);
    for (int64_t r = 0; r < rows; r += most) {
      const int64_t count = std::min(most, rows - r);
      gather(from + r * rows_stride_ * width_, count, block.cols, buffer.data());
      add_matrix(buffer.data(), block.cols, count, block, sums);
    }
  }

  // A matrix [rows, cols] as contiguous numbers.
  void gather(const std::byte* from, int64_t rows, int64_t cols, std::byte* to) const {
    const int64_t column = walk_.columns.stride;
    if (walk_.is_short && rows_stride_ == 1) {
      const bool is_number = dtype_ == numbers_.dtype;
      const kernels::Scratch<std::byte> numbers(is_number ? 0 : rows * cols * numbers_.width);
      if (!is_number) {
        const bool is_dense = column == rows;
        const int64_t runs = is_dense ? 1 : cols, count = is_dense ? rows * cols : rows;
        for (int64_t i = 0; i < runs; ++i) {
          convert_elements(from + i * column * width_, dtype_, 1,
                           numbers.data() + i * rows * numbers_.width, numbers_.dtype, 1, count);
        }
      }
      kernels::transpose(numbers_.width, cols, rows, is_number ? from : numbers.data(),
                         is_number ? column : rows, to, cols);
    } else if (cols <= rows) {
      for (int64_t c = 0; c < cols; ++c) {
        convert_elements(from + c * column * width_, dtype_, rows_stride_, to + c * numbers_.width,
                         numbers_.dtype, cols, rows);
      }
    } else {
      for (int64_t r = 0; r < rows; ++r) {
        convert_elements(from + r * rows_stride_ * width_, dtype_, column,
                         to + r * cols * numbers_.width, numbers_.dtype, 1, cols);
      }
    }
  }

  void add_matrix(const std::byte* x, int64_t stride, int64_t rows, const Block& block,
                  Cascade& sums) const {
    const int64_t wide_rows = rows / block.repeats, rest = rows % block.repeats;
    sums.add({numbers_.type, x, block.repeats * stride, wide_rows, block.repeats * block.cols,
              block.center});
    if (rest == 0) return;
    x += wide_rows * block.repeats * stride * numbers_.width;
    sums.add({numbers_.type, x, 0, 1, rest * block.cols, block.center});
  }

  Fold fold_;
  const Numbers& numbers_;
  const Walk& walk_;
  const std::byte* data_;
  DType dtype_;
  int64_t width_;
  const std::byte* center_;
  int64_t rows_stride_;
  bool in_place_;
  bool is_few_rows_;  // that a kernel folds at once, of any number of elements
};

// Of T, contiguous runs.
template <typename T>
void fold_along_runs(Fold fold, const Tensor& self, const Walk& walk, const std::byte* centers,
                     std::byte* results, int64_t outputs) {
  const auto* center = reinterpret_cast<const T*>(centers);
  const Dim runs = walk.kept.back();
  const int64_t count = walk.reduced[0].size;
  const int64_t grain = std::max<int64_t>(1, kParallelGrain / (runs.size * count));
  parallel_for(outputs / runs.size, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t index = i, offset = 0, output = 0;
      for (size_t d = walk.kept.size() - 1; d-- > 0; index /= walk.kept[d].size) {
        offset += index % walk.kept[d].size * walk.kept[d].stride;
        output += index % walk.kept[d].size * walk.kept[d].output_stride;
      }
      const kernels::FoldRuns<T> matrix{static_cast<const T*>(self.raw_data()) + offset,
                                        runs.stride, runs.size, count,
                                        center ? center + output : nullptr};
      kernels::fold_runs(fold, matrix, reinterpret_cast<T*>(results) + output, runs.output_stride);
    }
  });
}

// At most this many chunks, the last of which may be shorter.
template <typename T>
T fold_piece(Fold fold, const T* x, int64_t count, T center) {
  T results[kChunksOfPiece], centers[kChunksOfPiece];
  std::fill_n(centers, kChunksOfPiece, center);
  const int64_t chunks = count / kChunk, rest = count % kChunk;
  kernels::fold_runs(fold, kernels::FoldRuns<T>{x, kChunk, chunks, kChunk, centers}, results, 1);
  if (rest > 0) {
    kernels::fold_runs(fold, kernels::FoldRuns<T>{x + chunks * kChunk, rest, 1, rest, centers},
                       results + chunks, 1);
  }
  const int64_t all = chunks + (rest > 0 ? 1 : 0);
  T result;
  kernels::fold_runs(fold_of_results(fold), kernels::FoldRuns<T>{results, all, 1, all}, &result, 1);
  return result;
}

// The same of long runs, piece by piece.
template <typename T>
void fold_along_long_runs(Fold fold, const Tensor& self, const Walk& walk, const std::byte* centers,
                          std::byte* results, int64_t outputs) {
  constexpr int64_t kPiece = kChunk * kChunksOfPiece;
  const auto* center = reinterpret_cast<const T*>(centers);
  const T* const data = static_cast<const T*>(self.raw_data());
  T* const to = reinterpret_cast<T*>(results);
  const int64_t count = walk.reduced[0].size, pieces = (count + kPiece - 1) / kPiece;
  const kernels::Scratch<T> partial(pieces == 1 ? 0 : outputs * pieces);
  const int64_t grain = std::max<int64_t>(1, kParallelGrain * pieces / count);
  parallel_for(outputs * pieces, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto [offset, output] = walk.place_of(i / pieces, 0);
      const int64_t first = i % pieces * kPiece;
      T& result = pieces == 1 ? to[output] : partial[i];
      result = fold_piece(fold, data + offset + first, std::min(kPiece, count - first),
                          center ? center[output] : T(0));
    }
  });
  for (int64_t i = 0; pieces > 1 && i < outputs; ++i) {
    kernels::fold_runs(fold_of_results(fold),
                       kernels::FoldRuns<T>{partial.data() + i * pieces, pieces, 1, pieces},
                       to + walk.place_of(i, 0).second, 1);
  }
}

// All of dense memory as runs, and their results again: what is read in order is read fastest.
template <typename T>
void fold_all(Fold fold, const T* x, int64_t count, T* into) {
  constexpr int64_t kRun = 1024, kRunsPerTask = 64;
  const kernels::Scratch<T> results((count + kRun - 1) / kRun);
  do {
    const int64_t runs = count / kRun, rest = count % kRun;
    const auto fold_some = [&](int64_t begin, int64_t end) {
      const kernels::FoldRuns<T> some{x + begin * kRun, kRun, end - begin, kRun};
      kernels::fold_runs(fold, some, results.data() + begin, 1);
    };
    if (x != results.data()) {
      parallel_for(runs, kRunsPerTask, fold_some);
    } else {  // in place, one after the other
      fold_some(0, runs);
    }
    if (rest > 0) {
      const kernels::FoldRuns<T> last{x + runs * kRun, rest, 1, rest};
      kernels::fold_runs(fold, last, results.data() + runs, 1);
    }
    count = runs + (rest > 0 ? 1 : 0);
    x = results.data();
    fold = fold_of_results(fold);
  } while (count > 1);
  *into = results[0];
}

// Contiguous [outer, count, inner] is folded to [outer, inner].
struct Matrices {
  int64_t outer = 1, count = 1, inner = 1;
};

// These, if they are so many and small that each would cost more than its elements.
[[maybe_unused]] std::optional<Matrices> many_small(const Tensor& self, const IntArray& dims) {
  constexpr int64_t kMany = 64, kNarrow = 16, kSmall = 256;
  if (!self.is_contiguous() || dims.empty()) return std::nullopt;
  const auto [first, last] = std::ranges::minmax(dims);
  if (last - first + 1 != std::ssize(dims)) return std::nullopt;
  Matrices m;
  for (int64_t d = 0; d < self.dim(); ++d) {
    (d < first ? m.outer : d > last ? m.inner : m.count) *= self.size(d);
  }
  const bool is_so = m.outer >= kMany && m.inner > 1 && m.inner <= kNarrow && m.count <= kCascade &&
                     m.count * m.inner <= kSmall;
  return is_so ? std::optional(m) : std::nullopt;
}

// Some at a time lie side by side, as one with long rows.
[[maybe_unused]] void fold_side_by_side(Fold fold, const Numbers& numbers, const std::byte* x,
                                        const Matrices& m, std::byte* out) {
  const int64_t width = numbers.width, elements = m.count * m.inner;
  const int64_t most = kAcrossElements / elements;
  parallel_for(m.outer, most, [&](int64_t begin, int64_t end) {
    const kernels::Scratch<std::byte> rows(most * elements * width);
    const kernels::Scratch<std::byte> results(most * m.inner * width);
    for (int64_t o = begin; o < end; o += most) {
      const int64_t some = std::min(most, end - o), cols = m.inner * some;
      kernels::transpose(width, some, elements, x + o * elements * width, elements, rows.data(),
                         some);
      fold_anew(fold, numbers, {numbers.type, rows.data(), cols, m.count, cols}, results.data());
      kernels::transpose(width, m.inner, some, results.data(), some, out + o * m.inner * width,
                         m.inner);
    }
  });
}

void fold_elements(Fold fold, const Numbers& numbers, const Tensor& self, const IntArray& dims,
                   const std::byte* center, std::byte* out, int64_t outputs) {
  const bool may_be_runs =
      self.dtype() == numbers.dtype &&
      (numbers.dtype == DType::kFloat32 ||
       (selection::kHasConversions && numbers.dtype == DType::kInt64 && fold != Fold::kProduct));
  if constexpr (selection::kHasConversions) {
    constexpr int64_t kLarge = 1 << 16;
    if (may_be_runs && outputs == 1 && !center && self.numel() >= kLarge &&
        is_non_overlapping_and_dense(self.sizes(), self.strides())) {
      if (numbers.dtype == DType::kInt64) {
        return fold_all(fold, self.data_ptr<int64_t>(), self.numel(),
                        reinterpret_cast<int64_t*>(out));
      }
      return fold_all(fold, self.data_ptr<float>(), self.numel(), reinterpret_cast<float*>(out));
    }
  }
  if constexpr (selection::kHasConversions) {
    const bool may_turn = self.dtype() == numbers.dtype && !center;
    if (const auto matrices = may_turn ? many_small(self, dims) : std::nullopt) {
      const auto* x = static_cast<const std::byte*>(self.raw_data());
      return fold_side_by_side(fold, numbers, x, *matrices, out);
    }
  }
  const Walk walk(self, dims, may_be_runs);
  if (may_be_runs && !center && walk.ends_with_run()) {
    // Along the runs first; what they give lies together, and is folded along the other dimensions.
    IntArray sizes(self.sizes()), along, others;
    int64_t run = 1;
    for (size_t d = sizes.size(); d-- > 0;) {
      const bool is_reduced = std::ranges::find(dims, static_cast<int64_t>(d)) != dims.end();
      const bool follows =
          self.strides()[d] == run && (selection::kHasConversions || run * sizes[d] <= kMostRun);
      if (is_reduced && follows) {
        run *= std::exchange(sizes[d], 1);
        along.push_back(static_cast<int64_t>(d));
      } else if (is_reduced) {
        others.push_back(static_cast<int64_t>(d));
      }
    }
    if (run >= kLeastRun && !others.empty()) {
      const Tensor folded = empty(sizes, numbers.dtype);
      auto* const to = static_cast<std::byte*>(folded.raw_data());
      fold_elements(fold, numbers, self, along, nullptr, to, folded.numel());
      return fold_elements(fold_of_results(fold), numbers, folded, others, nullptr, out, outputs);
    }
  }
  if (walk.is_runs) {
    if constexpr (selection::kHasConversions) {
      const bool is_long = walk.reduced[0].size > kMostRun;
      if (numbers.dtype == DType::kInt64) {
        return (is_long ? fold_along_long_runs<int64_t>
                        : fold_along_runs<int64_t>)(fold, self, walk, center, out, outputs);
      }
      if (is_long) return fold_along_long_runs<float>(fold, self, walk, center, out, outputs);
    }
    return fold_along_runs<float>(fold, self, walk, center, out, outputs);
  }
  const Folder folder(fold, numbers, self, walk, center);
  const int64_t widest =
      walk.is_short ? std::max(kAcross, kAcrossElements / walk.reduced.back().size) : kTileColumns;
  const int64_t parts = (walk.columns.size + widest - 1) / widest;
  const int64_t tile = ((walk.columns.size + parts - 1) / parts + kWide - 1) / kWide * kWide;
  const int64_t tiles = (walk.columns.size + tile - 1) / tile;
  const int64_t places = outputs / walk.columns.size * tiles, outermost = walk.reduced[0].size;
  const int64_t per_place = std::max<int64_t>(1, self.numel() / places);
  const int64_t pieces = std::min(
      {std::max<int64_t>(1, self.numel() / kPieceElements / places), kMostPieces, outermost});
  // The results of each piece, folded at the end.
  const int64_t result_bytes = outputs * numbers.width;
  const kernels::Scratch<std::byte> partial(pieces == 1 ? 0 : pieces * result_bytes);
  std::byte* to = pieces == 1 ? out : partial.data();
  const int64_t grain = std::max<int64_t>(1, kParallelGrain * pieces / per_place);
  parallel_for(places * pieces, grain, [&](int64_t begin, int64_t end) {
    if (folder.is_few_rows() && tiles == 1) {
      return folder.run_few_rows(begin, end, 0, walk.columns.size, out);
    }
    for (int64_t i = begin; i < end; ++i) {
      const int64_t piece = i / places, index = i % places / tiles;
      const int64_t column = i % places % tiles * tile;
      const int64_t last_column = std::min(walk.columns.size, column + tile);
      if (folder.is_few_rows()) {
        folder.run_few_rows(index, index + 1, column, last_column, out);
        continue;
      }
      folder.run(index, column, last_column, outermost * piece / pieces,
                 outermost * (piece + 1) / pieces, to + piece * result_bytes);
    }
  });
  if (pieces == 1) return;
  std::copy_n(to, result_bytes, out);
  kernels::fold_rows(fold_of_results(fold),
                     {numbers.type, to + result_bytes, outputs, pieces - 1, outputs}, out);
}

}  // namespace

void fold_into(Fold fold, const Tensor& self, IntSpan dims, const Tensor& out,
               const Tensor& center) {
  if (out.numel() == 0) return;
  const Numbers numbers(out.dtype());
  auto* values = static_cast<std::byte*>(out.raw_data());
  if (self.numel() == 0) return numbers.fill(values, out.numel(), identity(fold));
  // What lies dense is converted at once: results of few elements are many short pieces.
  const bool is_converted = self.dtype() != numbers.dtype && out.numel() > 1 &&
                            is_non_overlapping_and_dense(self.sizes(), self.strides());
  fold_elements(fold, numbers, is_converted ? self.to(numbers.dtype) : self,
                normalize_dims(dims, self.dim()),
                center.defined() ? static_cast<const std::byte*>(center.raw_data()) : nullptr,
                values, out.numel());
}

namespace {

// The order of memory, if the kept dimensions are not in theirs there: results that lie side by
// side are those of elements that do.
[[maybe_unused]] std::optional<IntArray> order_of_results(const Tensor& self,
                                                          const IntArray& dims) {
  if (self.is_contiguous()) return std::nullopt;
  IntArray order;
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (self.stride(d) == 0 && self.size(d) > 1) return std::nullopt;
    order.push_back(d);
  }
  stable_sort(order, [&](int64_t x, int64_t y) { return self.stride(x) > self.stride(y); });
  int64_t last = -1;
  for (int64_t d : order) {
    if (self.size(d) == 1 || std::ranges::find(dims, d) != dims.end()) continue;
    if (d < last) return order;
    last = d;
  }
  return std::nullopt;
}

}  // namespace

Tensor fold(Fold fold, const Tensor& self, IntSpan dims, bool keepdim, DType compute,
            const Tensor& center) {
  const IntArray reduced = normalize_dims(dims, self.dim());
  const IntArray sizes = reduced_shape(self.sizes(), reduced, keepdim);
  if constexpr (selection::kHasConversions) {
    const bool may_reorder = !center.defined() && !is_meta(self) && self.numel() > 0;
    if (const auto order = may_reorder ? order_of_results(self, reduced) : std::nullopt) {
      const IntArray places = inverse_order(*order);
      IntArray there;
      for (int64_t d : reduced) there.push_back(places[static_cast<size_t>(d)]);
      const Tensor folded = ops::fold(fold, permute(self, *order), there, true, compute);
      return view(permute(folded, places).contiguous(), sizes);
    }
  }
  const Tensor out = empty(sizes, Numbers(compute).dtype);
  if (!is_meta(out)) fold_into(fold, self, dims, out, center);
  return out;
}

}  // namespace torchlet::ops
