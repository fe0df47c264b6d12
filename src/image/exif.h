// Which way up a picture is, as its camera noted it (Exif 2.3, TIFF 6.0).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "image/resample.h"

namespace torchlet::image {

// Of a block of TIFF with the tag Orientation (0x0112) in its first directory: 1 to 8, and 1 for
// anything that says nothing, damaged blocks included.
int exif_orientation(std::span<const uint8_t> tiff);

// What makes a picture of that orientation upright.
Turn turn_of_orientation(int orientation);

}  // namespace torchlet::image
