// Products of matrices with a factor and a term become products, factors and terms.
#pragma once

#include "device/specialise/specialised_segment.h"

namespace torchlet::device {

// baddbmm of float32, as attention in diffusers' networks, BLOOM and GPT-NeoX has it, with a known
// alpha and beta becomes bmm, mul and add, which have kernels and are recognised as part of an
// attention. What beta = 0 ignores and zeros are not added, nor made if nothing else reads them.
void write_plain_products(SpecialisedSegment& segment);

}  // namespace torchlet::device
