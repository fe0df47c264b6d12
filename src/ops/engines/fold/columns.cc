#include "ops/engines/fold/columns.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/thread_pool.h"
#include "kernels/layout/transpose.h"
#include "kernels/simd/scratch.h"
#include "tensor/tensor_impl.h"

namespace torchlet::ops::folding {
namespace {

using kernels::Fold;

constexpr int64_t kTileColumns = 1024;  // 4 to 8 KB of sums stay in the first cache
constexpr int64_t kWide = 64;  // narrower rows that lie one after the other are read as one
constexpr int64_t kPieceElements = 1 << 18;  // one result of more is folded in pieces
constexpr int64_t kMostPieces = 64;

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
                  (!is_narrow(walk.columns.size) || rows_stride_ == walk.columns.size)) {}

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
};

// Columns are folded some at a time.
struct Tiles {
  int64_t columns, count;

  explicit Tiles(const Walk& walk) {
    const int64_t widest = walk.is_short
                               ? std::max(kAcross, kAcrossElements / walk.reduced.back().size)
                               : kTileColumns;
    const int64_t parts = (walk.columns.size + widest - 1) / widest;
    columns = ((walk.columns.size + parts - 1) / parts + kWide - 1) / kWide * kWide;
    count = (walk.columns.size + columns - 1) / columns;
  }
};

// Whether a kernel folds all rows of a result at once, and those of many matrices.
bool is_few_rows(const Numbers& numbers, const Tensor& self, const Walk& walk) {
  const int64_t cols = walk.columns.size;
  return self.dtype() == numbers.dtype && walk.columns.stride == 1 &&
         walk.columns.output_stride == 1 && cols >= kAcross && walk.reduced.size() == 1 &&
         walk.reduced[0].size > 1 && walk.reduced[0].size <= kCascade &&
         (2 * cols > kWide || walk.reduced[0].stride == cols);
}

void fold_few_rows(Fold fold, const Numbers& numbers, const Tensor& self, const Walk& walk,
                   std::byte* out, int64_t outputs) {
  const Tiles tiles(walk);
  const Dim rows = walk.reduced[0];
  const Dim inner = walk.kept.empty() ? Dim{1, 0, 0, false} : walk.kept.back();
  const auto* const data = static_cast<const std::byte*>(self.raw_data());
  const int64_t grain = std::max<int64_t>(
      1, kParallelGrain / (rows.size * std::min(tiles.columns, walk.columns.size)));
  parallel_for(outputs / walk.columns.size * tiles.count, grain, [&](int64_t begin, int64_t end) {
    kernels::FoldRows m{numbers.type, nullptr, rows.stride, rows.size, 0};
    m.matrix_stride = inner.stride;
    m.into_stride = inner.output_stride;
    for (int64_t i = begin; i < end; i += m.matrices) {
      const int64_t index = i / tiles.count, column = i % tiles.count * tiles.columns;
      m.matrices = tiles.count > 1 ? 1 : std::min(end - i, inner.size - index % inner.size);
      m.cols = std::min(tiles.columns, walk.columns.size - column);
      const auto [offset, output] = walk.place_of(index, column);
      m.x = data + offset * numbers.width;
      fold_anew(fold, numbers, m, out + output * numbers.width);
    }
  });
}

}  // namespace

void fold_columns(Fold fold, const Numbers& numbers, const Tensor& self, const Walk& walk,
                  const std::byte* center, std::byte* out, int64_t outputs) {
  if (!center && is_few_rows(numbers, self, walk)) {
    return fold_few_rows(fold, numbers, self, walk, out, outputs);
  }
  const Folder folder(fold, numbers, self, walk, center);
  const Tiles tiles(walk);
  const int64_t places = outputs / walk.columns.size * tiles.count,
                outermost = walk.reduced[0].size;
  const int64_t per_place = std::max<int64_t>(1, self.numel() / places);
  const int64_t pieces = std::min(
      {std::max<int64_t>(1, self.numel() / kPieceElements / places), kMostPieces, outermost});
  // The results of each piece, folded at the end.
  const int64_t result_bytes = outputs * numbers.width;
  const kernels::Scratch<std::byte> partial(pieces == 1 ? 0 : pieces * result_bytes);
  std::byte* to = pieces == 1 ? out : partial.data();
  const int64_t grain = std::max<int64_t>(1, kParallelGrain * pieces / per_place);
  parallel_for(places * pieces, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t piece = i / places, index = i % places / tiles.count;
      const int64_t column = i % places % tiles.count * tiles.columns;
      folder.run(index, column, std::min(walk.columns.size, column + tiles.columns),
                 outermost * piece / pieces, outermost * (piece + 1) / pieces,
                 to + piece * result_bytes);
    }
  });
  if (pieces == 1) return;
  std::copy_n(to, result_bytes, out);
  kernels::fold_rows(fold_of_results(fold),
                     {numbers.type, to + result_bytes, outputs, pieces - 1, outputs}, out);
}

}  // namespace torchlet::ops::folding
