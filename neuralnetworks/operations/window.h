// The padding of windows that slide over images: of convolutions and poolings.
#pragma once

#include "neuralnetworks/translate/emitter.h"

namespace torchlet::nn {

struct Padding {
  Arg left = 0, right = 0, top = 0, bottom = 0;

  // The same on opposite sides, and known.
  bool is_symmetric() const;
};

// Of the call's image "input": what "padding_left" and its like say, or "padding_scheme" for
// windows of these sizes. Takes strides and dilations from "stride_width", "dilation_width_factor",
// ..., where the signature has them.
Padding padding_of(Emitter& emit, const Call& call, const Arg& window_height,
                   const Arg& window_width);

// The image NCHW with zeros around it, for what cannot pad so itself.
SsaValue* padded(Emitter& emit, SsaValue* nchw, const Padding& padding);

}  // namespace torchlet::nn
