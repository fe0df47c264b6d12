// Which pixels each pixel of a resized picture is made of, along one direction.
#pragma once

#include <torchlet/image.h>

#include <vector>

#include "kernels/image/pixels.h"

namespace torchlet::image {

template <typename Weight>
struct Taps {
  std::vector<kernels::Window> windows;  // `weights` is an index into `weights`
  std::vector<Weight> weights;
  bool is_identity = false;  // window i is pixel `first` + i alone
};

// Of the outputs [begin, end) of `out`, as PIL's Image.resize() has them.
Taps<int32_t> antialiased_taps(int64_t in, int64_t out, int64_t begin, int64_t end,
                               Interpolation interpolation);
// The same as torch.nn.functional.interpolate() has them.
Taps<float> plain_taps(int64_t in, int64_t out, int64_t begin, int64_t end,
                       Interpolation interpolation);

// Of a line of `in` pixels that is read from its end: windows in ascending order.
template <typename Weight>
void reverse(Taps<Weight>& taps, int64_t in);

}  // namespace torchlet::image
