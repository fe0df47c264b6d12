#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "ops/core/testing.h"
#include "ops/shape/shape.h"

namespace torchlet::ops {
namespace {

// What many channels of many regions take from pixels with all their channels is what each channel
// takes from its plane alone. 40 x 40 samples of a bin are more than are gathered at once.
TEST(RoiAlign, ManyChannelsAreAsSingleOnes) {
  const int64_t channels = 19, height = 9, width = 11;
  const Tensor input = ramp({2, channels, height, width});
  std::vector<double> regions;
  for (int i = 0; i < 40; ++i) {  // within the image, across its border, beside it, and very large
    const double x = i % 9 * 3 - 5, y = i % 7 * 3 - 4, size = i % 5 == 4 ? 900 : i % 4 * 5 + 0.5;
    regions.insert(regions.end(), {static_cast<double>(i % 2), x, y, x + size, y + 0.75 * size});
  }
  const Tensor rois = make(regions, DType::kFloat32, {40, 5});
  for (const int64_t sampling : {-1, 2, 40}) {
    const double bound = sampling == 40 ? 1e-5 : 2e-6;  // 6400 products are summed in another order
    for (const bool aligned : {false, true}) {
      for (const MemoryFormat format : {MemoryFormat::kContiguous, MemoryFormat::kChannelsLast}) {
        const Tensor all = result_of(
            "torchvision::roi_align", "",
            {input.contiguous(format), rois, 0.5, int64_t{3}, int64_t{2}, sampling, aligned});
        ASSERT_EQ(all.size(1), channels);
        for (int64_t c = 0; c < channels; ++c) {
          const Tensor one = result_of("torchvision::roi_align", "",
                                       {slice(input, 1, c, c + 1, 1).contiguous(), rois, 0.5,
                                        int64_t{3}, int64_t{2}, sampling, aligned});
          const std::vector<double> expected = elements_of(one),
                                    found = elements_of(slice(all, 1, c, c + 1, 1).contiguous());
          ASSERT_EQ(found.size(), expected.size());
          for (size_t i = 0; i < found.size(); ++i) {
            ASSERT_NEAR(found[i], expected[i], bound) << "channel " << c << ", element " << i;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace torchlet::ops
