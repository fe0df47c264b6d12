// Models whose parts run by Android's NNAPI, as files that PyTorch Mobile runs
// (docs/convert_nnapi.md): what torch.backends._nnapi.prepare.convert_model_to_nnapi does, without
// PyTorch.
#pragma once

#include <torchlet/export.h>
#include <torchlet/module.h>
#include <torchlet/optimize.h>
#include <torchlet/value.h>

#include <cstdint>
#include <string>
#include <vector>

namespace torchlet {

enum class NnapiPreference : uint8_t { kLowPower, kFastSingleAnswer, kSustainedSpeed };

struct NnapiOptions {
  std::string method = "forward";
  // An example of what it is called with: NNAPI gets the parts for these shapes.
  std::vector<Value> inputs;

  // Images go into NNAPI and come out of it as [n, h, w, c]: tensors that lie channels last are
  // handed over as they are, and what comes out lies so. Otherwise NNAPI gets [n, c, h, w] and
  // transposes them itself.
  bool nhwc = false;
  NnapiPreference preference = NnapiPreference::kSustainedSpeed;
  bool relax_fp16 = false;  // NNAPI may compute float32 in float16
  // Of the NNAPI that will run it, 1 to 7: 4 is that of Android 11.
  int feature_level = 4;
  // A part of fewer operators that compute tensors stays on the processor.
  size_t min_operators = 1;
  // True: for the example's shapes alone, which is PyTorch's own form. Otherwise the file holds the
  // parts as TorchScript, too, and other shapes run by that.
  bool fixed_shapes = false;
  // The parts take any batch: any size of the first dimension of the example's first tensor, and of
  // all its tensors that have the same one. A part compiles itself again when the batch changes, so
  // such a module is for one thread at a time.
  bool any_batch = false;

  bool eval = false;  // as OptimizeOptions::eval
  // What answers may differ by, as a part of the largest number of the tensor; 0: 1e-3 in float32,
  // 5e-2 in float16 and of 8-bit integers, whose roundings are NNAPI's own.
  double tolerance = 0;
  bool prove = true;
};

struct NnapiReport {
  struct Part {
    std::string what, place;  // "aten::conv2d to aten::linear", "model.py:57, in features.3.conv"
    size_t operators;
    size_t operations;      // of NNAPI
    std::string one_batch;  // with any_batch: why it takes the example's alone; else empty
  };
  struct Stays {
    std::string what;    // "aten::nonzero"
    std::string place;   // "model.py:57"; empty if it is not known
    std::string module;  // "features.3.conv"; empty for the model itself
    std::string reason;
  };
  std::vector<Part> parts;   // that go to NNAPI
  std::vector<Stays> stays;  // operators that do not, in the order of the program
  size_t operators() const;  // that compute tensors, all
  size_t operators_in_parts() const;
  std::vector<OptimizeReport::Proof> proofs;
  std::string not_proved;  // why not; empty if it was proved
};

struct NnapiModule {
  Module module;  // as a file of it will be read: save() writes it
  NnapiReport report;
};

// Optimises the model, and makes modules of PyTorch's class NnapiModule of the parts of the method
// that NNAPI takes. Then compares the answers for the example, if this process finds an NNAPI. The
// module itself stays as it is.
//
// Error kUnsupported, naming the first reasons, if no part can go to NNAPI; kInvalidArgument for a
// method that there is not and for inputs that it does not take; kRuntime if the answers differ by
// more than the tolerance; and as save().
TORCHLET_API NnapiModule to_nnapi(const Module& module, const NnapiOptions& options);

}  // namespace torchlet
