#include "device/specialise/rewrites.h"

#include "base/selection.h"
#include "device/specialise/needed_rows.h"
#include "device/specialise/plain_products.h"
#include "device/specialise/resize_last.h"

namespace torchlet::device {

void rewrite(SpecialisedSegment& segment) {
  using selection::has_operator;
  if constexpr (has_operator("aten::baddbmm")) write_plain_products(segment);
  if constexpr (has_operator("aten::select") || has_operator("aten::slice")) {
    compute_needed_rows(segment);
  }
  if constexpr (has_operator("aten::cat") && has_operator("aten::add") &&
                (has_operator("aten::upsample_bilinear2d") ||
                 has_operator("aten::upsample_nearest2d"))) {
    resize_last(segment);
  }
}

}  // namespace torchlet::device
