// Gives a model inputs of its own, as PyTorch's torch.utils.bundled_inputs does: with the
// attributes and methods of PyTorch 1.9 and later, so that whatever knows those finds them.
// bundled_inputs.h reads them again.
//
//   const auto m = torchlet::load("model.pt");
//   torchlet::save(torchlet::bundle(m, "forward", {{{image}, "a cat"}}), "with_inputs.pt");
#pragma once

#include <torchlet/export.h>
#include <torchlet/module.h>
#include <torchlet/tensor.h>
#include <torchlet/value.h>

#include <string>
#include <variant>
#include <vector>

namespace torchlet {

// A tensor of pseudo-random numbers, of which the file keeps the seed alone: a method of the model
// makes it anew, the same here and in PyTorch, to the bit. Floating-point numbers are multiples of
// 2^-24 in [0, 1), integers 0 to 9; complex and quantized dtypes there are not.
struct RandomTensor {
  std::vector<int64_t> sizes;
  DType dtype = DType::kFloat32;
  int64_t seed = 1;
};

// The arguments of one call, and what people may be told about it.
struct BundledCall {
  std::vector<std::variant<Value, RandomTensor>> arguments;
  std::string info = {};
};

// A copy of the model with these calls for the method, in place of those that it had; other methods
// keep theirs. Arguments that are left out get their defaults. A tensor of equal elements, zeros
// say, is kept as one element; other tensors as they are, whatever their size.
//
// Error kNotFound if there is no such method; kInvalidArgument, with the call's number, if
// arguments do not fit its signature, if there are no calls, or if the method takes no arguments.
TORCHLET_API Module bundle(const Module& module, const std::string& method,
                           const std::vector<BundledCall>& calls);

// A copy of the model without bundled inputs.
TORCHLET_API Module unbundle(const Module& module);

}  // namespace torchlet
