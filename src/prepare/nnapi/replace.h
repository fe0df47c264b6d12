// Segments of a graph that become calls of NNAPI modules.
#pragma once

#include "prepare/draft.h"
#include "prepare/nnapi/cut.h"
#include "prepare/nnapi/nnapi_module.h"
#include "prepare/nnapi/open_batch.h"

namespace torchlet::prepare {

struct ReplacementOptions {
  int32_t preference;
  bool relax_fp16;
  // False: the segment stays as a branch, for other shapes than the example's.
  bool fixed_shapes;
};

class Replacement {
 public:
  // `modules` makes what the draft is given; `root` is the model's class.
  Replacement(const ClassType& root, NnapiModules& modules, const ReplacementOptions& options)
      : root_(root), modules_(modules), options_(options) {}

  // The module becomes an attribute of the root, "nnapi_0", "nnapi_1", ... Error kUnsupported as of
  // NnapiModules::make, which has changed nothing.
  void replace(const CutSegment& segment, Draft& draft) { replace(segment, nullptr, draft); }
  // For any batch.
  void replace(const CutSegment& segment, const OpenBatch& batch, Draft& draft) {
    replace(segment, &batch, draft);
  }
  // Of all modules.
  const std::vector<Tensor>& weights() const { return weights_; }

 private:
  void replace(const CutSegment& segment, const OpenBatch* batch, Draft& draft);
  NnapiModel model_of(const nnapi::LoweredSegment& lowered) const;
  std::string new_name();

  const ClassType& root_;
  NnapiModules& modules_;
  const ReplacementOptions options_;
  std::vector<Tensor> weights_;
  size_t next_ = 0;
};

}  // namespace torchlet::prepare
