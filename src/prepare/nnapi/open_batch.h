// Parts that run by NNAPI for any number of images at a time.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "prepare/nnapi/cut.h"
#include "prepare/nnapi/nnapi_module.h"

namespace torchlet::prepare {

// The batch of the arguments: the first dimension of their first tensor, and of all that have as
// many there. Error kInvalidArgument if there is none.
int64_t batch_of(const std::vector<Value>& arguments);
// The arguments with another batch, of the same rows again and again.
std::vector<Value> with_batch(const std::vector<Value>& arguments, int64_t batch);

struct OpenBatch {
  std::vector<nnapi::LoweredSegment> lowered;  // by kOpenSizes
  std::vector<InputDim> open;                  // of the model's inputs
  std::string why_not;  // if it cannot be left open; the rest counts for nothing then
};

// The sizes of the batch for which models are written. One is none of them, since much that is
// written for one image is not what it is for more.
inline constexpr int64_t kOpenSizes[] = {2, 3, 5};

// Of each segment of the cut. The graph is run for several batches.
std::vector<OpenBatch> open_batches(Graph& graph, Function& method,
                                    const std::vector<Value>& arguments, const Cut& cut,
                                    const nnapi::ModelLimits& limits);

}  // namespace torchlet::prepare
