// Resizes, turns and cuts a picture while its rows are read.
#pragma once

#include <torchlet/image.h>

#include <array>
#include <vector>

#include "base/function_ref.h"
#include "image/rows.h"

namespace torchlet::image {

// How a picture is turned to be upright: columns and rows reversed first, then exchanged.
struct Turn {
  bool columns_reversed = false, rows_reversed = false, exchanged = false;
};
Turn turn_of(Rotation rotation);

// A part of an upright, resized picture: rows [top, top + height) and columns [left, left + width).
struct Part {
  std::array<int64_t, 2> size;  // of the whole, {height, width}
  Interpolation interpolation = Interpolation::kBilinear;
  bool antialias = true;
  int64_t top = 0, left = 0, height = 0, width = 0;
};

// Where the pixels go: `count` of them, whose places in the part are (row, column) and then (row +
// row_step, column + column_step), ...
struct Run {
  int64_t row, column, row_step, column_step, count;
  const uint8_t* rgbx;
};

// Gives the part's pixels, each once. Error kInvalidArgument for a size of no or too many pixels.
void resample(Rows& rows, Turn turn, const Part& part, FunctionRef<void(const Run&)> emit);

// All of it, in its size.
Image turned(Rows& rows, Turn turn);

// Where the middle `want` of `have` pixels begins, below 0 if there are not as many: torchvision's
// CenterCrop.
int64_t center_offset(int64_t have, int64_t want);

// What a part that begins at `first` and is `size` long has of `have` pixels.
struct Overlap {
  int64_t from, to, count;  // in the picture, in the part
};
Overlap overlap(int64_t first, int64_t size, int64_t have);

}  // namespace torchlet::image
