// Other calls that give what a segment's calls give, with less work for these shapes.
#pragma once

#include "device/specialise/specialised_segment.h"

namespace torchlet::device {

// Each rewrite says what it does in a file of its own. Builds without the operators that one looks
// for go without it.
void rewrite(SpecialisedSegment& segment);

}  // namespace torchlet::device
