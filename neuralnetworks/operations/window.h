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
// windows of these sizes. Takes strides and dilations from "stride_width", "dilation_width", ...,
// where the signature has them. Error if one of these numbers is out of range.
Padding padding_of(Emitter& emit, const Call& call, const Arg& window_height,
                   const Arg& window_width);

// "stride_width" and its like, in the order of PyTorch's lists: height, width. Error unless all are
// positive.
Arg strides_of(const Call& call);
Arg dilations_of(const Call& call);
// "filter_height" and "filter_width" of a pooling.
Arg window_of(const Call& call);

// The image NCHW with `value` around it, for what cannot pad so itself.
SsaValue* padded(Emitter& emit, SsaValue* nchw, const Padding& padding, double value = 0);

}  // namespace torchlet::nn
