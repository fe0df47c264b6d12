// Pixels that differ are multiplied, not their enlargements.
#pragma once

#include "device/specialise/specialised_segment.h"

namespace torchlet::device {

// A 1 x 1 convolution of joined images of which some were enlarged, as heads of segmentation
// networks have it (SegFormer, HRNet, PSPNet, the pooled branch of DeepLab), multiplies each pixel
// of the small ones many times. Enlarging is linear and treats channels alike, so such images are
// convolved by their part of the weights first, enlarged then, and added to the convolution of the
// others: the same but for rounding. Nothing changes where what is saved is less than the additions
// cost, where something else reads the joined or the enlarged image, or where those that stay are
// not side by side. Enlarging is by nearest pixels or bilinear.
void resize_last(SpecialisedSegment& segment);

}  // namespace torchlet::device
