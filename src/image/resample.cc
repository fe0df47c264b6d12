#include "image/resample.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <type_traits>

#include "base/error.h"
#include "image/taps.h"

namespace torchlet::image {
namespace {

using kernels::Window;

// Where a run of the picture as it lies in memory goes.
struct Places {
  Turn turn;
  int64_t height, width;  // of the part, upright

  // Of `count` pixels of memory's row `y` from column `x` on.
  Run run(int64_t y, int64_t x, int64_t count, const uint8_t* rgbx) const {
    const int64_t rows = turn.exchanged ? width : height, columns = turn.exchanged ? height : width;
    const int64_t row = turn.rows_reversed ? rows - 1 - y : y;
    const int64_t column = turn.columns_reversed ? columns - 1 - x : x;
    const int64_t step = turn.columns_reversed ? -1 : 1;
    return turn.exchanged ? Run{column, row, step, 0, count, rgbx}
                          : Run{row, column, 0, step, count, rgbx};
  }
};

// Columns that windows reach: [begin, end), where `begin` is even.
template <typename Weight>
std::pair<int64_t, int64_t> reach(const Taps<Weight>& taps) {
  const Window& last = taps.windows.back();
  int64_t end = last.first + last.count;
  for (const Window& window : taps.windows) end = std::max(end, window.first + window.count);
  int64_t begin = taps.windows.front().first;
  for (const Window& window : taps.windows) begin = std::min(begin, window.first);
  return {begin & ~int64_t{1}, end};
}

// Weights as resample_row() takes them for bytes: each four times, and an even count of them.
Taps<int32_t> spread(const Taps<int32_t>& taps) {
  Taps<int32_t> result;
  result.is_identity = taps.is_identity;
  for (const Window& window : taps.windows) {
    const auto begin = static_cast<int64_t>(result.weights.size());
    for (int64_t i = 0; i < window.count; ++i) {
      result.weights.insert(result.weights.end(), 4,
                            taps.weights[static_cast<size_t>(window.weights + i)]);
    }
    const int64_t even = window.count + window.count % 2;
    result.weights.resize(static_cast<size_t>(begin + 4 * even));
    result.windows.push_back({window.first, even, begin});
  }
  return result;
}
const Taps<float>& spread(const Taps<float>& taps) { return taps; }

// The picture goes through two passes, along its rows and across them; the rows that are read, and
// resized if that is first, are kept as long as windows reach them. `Element` is what passes give:
// uint8_t, rounded after each, or float.
template <typename Weight>
class Resampler {
 public:
  using Element = std::conditional_t<std::is_same_v<Weight, float>, float, uint8_t>;

  // `columns` and `lines` lie as the picture does in memory.
  Resampler(Rows& rows, const Taps<Weight>& columns, const Taps<Weight>& lines, bool columns_first)
      : rows_(rows),
        lines_(lines),
        columns_(spread(columns)),
        columns_first_(columns_first),
        out_width_(static_cast<int64_t>(columns.windows.size())) {
    std::tie(begin_, end_) = reach(columns);
    for (Window& window : columns_.windows) window.first -= begin_;
    for (const Window& window : lines.windows) depth_ = std::max(depth_, window.count);
    const int64_t in_width = end_ - begin_ + kernels::kRowSlack;
    bytes_.resize(static_cast<size_t>(kPixelBytes * in_width));
    elements_.resize(static_cast<size_t>(kPixelBytes * in_width));
    kept_width_ = columns_first ? out_width_ : end_ - begin_;
    kept_.resize(static_cast<size_t>(depth_ * kPixelBytes * kept_width_));
    blended_.resize(static_cast<size_t>(kPixelBytes * (kept_width_ + kernels::kRowSlack)));
    result_.resize(static_cast<size_t>(kPixelBytes * out_width_));
    output_.resize(static_cast<size_t>(kPixelBytes * out_width_));
  }

  void run(const Places& places, FunctionRef<void(const Run&)> emit) {
    std::vector<const Element*> rows(static_cast<size_t>(depth_));
    int64_t next = lines_.windows.front().first;  // not read yet
    for (size_t y = 0; y < lines_.windows.size(); ++y) {
      const Window& window = lines_.windows[y];
      next = std::max(next, window.first);
      for (; next < window.first + window.count; ++next) read(next);
      for (int64_t i = 0; i < window.count; ++i) {
        rows[static_cast<size_t>(i)] = kept(window.first + i);
      }
      kernels::blend_rows(rows.data(), lines_.weights.data() + window.weights, window.count,
                          kPixelBytes * kept_width_, blended_.data());
      const Element* row = blended_.data();
      if (!columns_first_) row = resized(row, result_.data());
      emit(places.run(static_cast<int64_t>(y), 0, out_width_, bytes(row)));
    }
  }

 private:
  Element* kept(int64_t y) { return kept_.data() + y % depth_ * kPixelBytes * kept_width_; }

  // Along the row; the row itself if nothing is to be done.
  const Element* resized(const Element* row, Element* target) {
    if (columns_.is_identity) return row + kPixelBytes * columns_.windows.front().first;
    kernels::resample_row(row, columns_.windows.data(), out_width_, columns_.weights.data(),
                          target);
    return target;
  }

  void read(int64_t y) {
    rows_.read(y, begin_, end_, bytes_.data());
    const Element* row;
    if constexpr (std::is_same_v<Element, float>) {
      kernels::floats_from_bytes(bytes_.data(), kPixelBytes * (end_ - begin_), elements_.data());
      row = elements_.data();
    } else {
      row = bytes_.data();
    }
    Element* target = kept(y);
    if (columns_first_) row = resized(row, target);
    if (row != target) std::copy_n(row, kPixelBytes * kept_width_, target);
  }

  const uint8_t* bytes(const Element* row) {
    if constexpr (std::is_same_v<Element, float>) {
      kernels::bytes_from_floats(row, kPixelBytes * out_width_, output_.data());
      return output_.data();
    } else {
      return row;
    }
  }

  Rows& rows_;
  const Taps<Weight>& lines_;
  Taps<Weight> columns_;
  bool columns_first_;
  int64_t out_width_, begin_, end_, kept_width_, depth_ = 1;
  std::vector<uint8_t> bytes_, output_;
  std::vector<Element> elements_, kept_, blended_, result_;
};

// Strips of a picture that is exchanged, so that what lies together is written together.
void copy(Rows& rows, const Places& places, int64_t top, int64_t left, int64_t height,
          int64_t width, FunctionRef<void(const Run&)> emit) {
  const int64_t strip = places.turn.exchanged ? 64 : width;
  std::vector<uint8_t> row(static_cast<size_t>(kPixelBytes * (strip + 1)));
  for (int64_t x = 0; x < width; x += strip) {
    const int64_t count = std::min(strip, width - x);
    const int64_t begin = (left + x) & ~int64_t{1};
    for (int64_t y = 0; y < height; ++y) {
      rows.read(top + y, begin, left + x + count, row.data());
      emit(places.run(y, x, count, row.data() + kPixelBytes * (left + x - begin)));
    }
  }
}

template <typename Weight, typename MakeTaps>
void resample_with(Rows& rows, Turn turn, const Part& part, const MakeTaps& make_taps,
                   FunctionRef<void(const Run&)> emit) {
  const auto [height, width] = part.size;
  const int64_t in_height = turn.exchanged ? rows.width() : rows.height();
  const int64_t in_width = turn.exchanged ? rows.height() : rows.width();
  Taps<Weight> down =
      make_taps(in_height, height, part.top, part.top + part.height, part.interpolation);
  Taps<Weight> across =
      make_taps(in_width, width, part.left, part.left + part.width, part.interpolation);
  if (turn.exchanged ? turn.columns_reversed : turn.rows_reversed) reverse(down, in_height);
  if (turn.exchanged ? turn.rows_reversed : turn.columns_reversed) reverse(across, in_width);
  const Taps<Weight>& lines = turn.exchanged ? across : down;
  const Taps<Weight>& columns = turn.exchanged ? down : across;
  const Places places{turn, part.height, part.width};
  if (lines.is_identity && columns.is_identity) {
    return copy(rows, places, lines.windows.front().first, columns.windows.front().first,
                static_cast<int64_t>(lines.windows.size()),
                static_cast<int64_t>(columns.windows.size()), emit);
  }
  Resampler<Weight>(rows, columns, lines, !turn.exchanged).run(places, emit);
}

}  // namespace

Turn turn_of(Rotation rotation) {
  switch (rotation) {
    case Rotation::k0:
      return {};
    case Rotation::k90:
      return {.columns_reversed = false, .rows_reversed = true, .exchanged = true};
    case Rotation::k180:
      return {.columns_reversed = true, .rows_reversed = true, .exchanged = false};
    case Rotation::k270:
      return {.columns_reversed = true, .rows_reversed = false, .exchanged = true};
  }
  fail(ErrorCode::kInvalidArgument, "a picture is turned by 0, 90, 180 or 270 degrees, not %d",
       static_cast<int>(rotation));
}

// Python's round: halves go to the even neighbour. Padding is split towards the top and left.
int64_t center_offset(int64_t have, int64_t want) {
  return have >= want ? static_cast<int64_t>(std::nearbyint(static_cast<double>(have - want) / 2))
                      : -((want - have) / 2);
}

Overlap overlap(int64_t first, int64_t size, int64_t have) {
  if (first >= have || first <= -size) return {0, 0, 0};
  const int64_t from = std::max<int64_t>(first, 0), to = from - first;
  return {from, to, std::min(size - to, have - from)};
}

void resample(Rows& rows, Turn turn, const Part& part, FunctionRef<void(const Run&)> emit) {
  const auto [height, width] = part.size;
  if (height < 1 || width < 1 || height > kMaxPixels / width) {
    fail(ErrorCode::kInvalidArgument,
         "a picture cannot be resized to %lld x %lld pixels: none or too many",
         static_cast<long long>(width), static_cast<long long>(height));
  }
  if (part.height < 1 || part.width < 1) return;
  if (part.antialias) {
    resample_with<int32_t>(rows, turn, part, antialiased_taps, emit);
  } else {
    resample_with<float>(rows, turn, part, plain_taps, emit);
  }
}

}  // namespace torchlet::image
