// Rows that nobody reads are not computed.
#pragma once

#include "device/specialise/specialised_segment.h"

namespace torchlet::device {

// All that reads a tensor may take the same few places of one dimension of it, as who classifies
// reads the one token of a transformer's last block. The calls that give each place of that
// dimension by itself (pointwise, linear layers, layer norms, products of the rows of a matrix,
// softmax along another dimension, views) then compute those places alone, up to tensors of which
// others read more: of these a slice is taken. The results are the same numbers; what leaves the
// segment stays as it is in the program. Nothing changes where no product gets smaller.
void compute_needed_rows(SpecialisedSegment& segment);

}  // namespace torchlet::device
