// A model as PyTorch's loader reads it; the form is told in nnapi/serialized_model.h.
#pragma once

#include <torchlet/tensor.h>

#include <optional>
#include <vector>

#include "nnapi/model.h"

namespace torchlet::prepare {

struct WrittenNnapiModel {
  Tensor words;                  // int32, of one dimension
  std::vector<Tensor> weights;   // the buffers that values are in, contiguous
  std::vector<size_t> sizes_of;  // by operand: where among the words its sizes begin
  // By operand: its place among the weights, if it has one.
  std::vector<std::optional<size_t>> weight_of;
};

// What an operand has as bytes becomes immediate values, and its tensors become buffers: equal
// memory is one buffer. Error kUnsupported, naming it, for an operand that PyTorch 1.13 cannot tell
// NNAPI of: it has no scales per channel (see without_channel_scales).
WrittenNnapiModel write_serialized_model(const nnapi::Model& model);

}  // namespace torchlet::prepare
