// NNAPI models as submodules of a program, in the form of PyTorch's converter
// (torch/backends/_nnapi/prepare.py): an `NnapiModule` holds the model as data, and compiles it
// when it is first called. PyTorch Mobile runs it on Android, and any PyTorch where
// libneuralnetworks.so is found; so does Torchlet.
#pragma once

#include <android/NeuralNetworks.h>
#include <torchlet/value.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "device/nnapi/model_builder.h"
#include "graph/graph.h"
#include "nnapi/model.h"
#include "prepare/nnapi/channel_scales.h"
#include "prepare/nnapi/serialized_model_writer.h"
#include "script/compilation_unit.h"

namespace torchlet::prepare {

struct NnapiModel {
  nnapi::Model model;
  // Of each input and output: has the operand the dimensions [n, h, w, c] of a tensor [n, c, h, w]?
  // All others have those of the tensor, in order.
  std::vector<bool> nhwc_inputs, nhwc_outputs;
  // Of each input: is it for tensors without dimensions, which come as [1]? None is if this is
  // empty.
  std::vector<bool> scalar_inputs;
  // Constants that the file holds as quantized tensors, since these are smaller.
  std::vector<DequantizedConstant> dequantized;
  int32_t preference = ANEURALNETWORKS_PREFER_SUSTAINED_SPEED;
  bool relax_float32_to_float16 = false;
};

// The model with the layouts that its bindings tell; inputs are those of the model, in its order.
NnapiModel nnapi_model_of(const nnapi::LoweredSegment& lowered);

// Dimension `dim` of the tensor that is input `input`.
struct InputDim {
  size_t input;
  int64_t dim;
};

struct OpenSize;  // prepare/nnapi/nnapi_module_source.h

// Makes such modules, of classes of their own: __torch__.torch.backends._nnapi.prepare.NnapiModule
// and so on. The classes live as long as this, so it has to be there until the program that the
// modules are put into has been written (Draft::finish).
class NnapiModules {
 public:
  // The classes have names that are not taken in `program`.
  // Nor of these, if they are given: of classes that were made since.
  explicit NnapiModules(script::CompilationUnit& program,
                        std::function<bool(std::string_view)> is_taken = {})
      : program_(program), is_taken_(std::move(is_taken)) {}

  // An object whose forward(List[Tensor]) -> List[Tensor] runs the model on tensors of exactly its
  // sizes, dtypes and quantization (sizes_fit). Of another size NNAPI refuses them when they come,
  // in PyTorch and in Torchlet.
  //
  // Error kUnsupported, naming the input, output or operand, for what PyTorch cannot pass on:
  // inputs are float32, int32 or quint8, outputs bool, too.
  Value make(const NnapiModel& model);

  // The same with one size left open, which all `open` dimensions have. Given are the models for
  // three or more `sizes`; what they differ in has to be a linear function of it. The module
  // compiles itself again when the size changes, so it is for one thread at a time. Error
  // kUnsupported if the models differ otherwise.
  Value make(std::span<const NnapiModel> models, std::span<const int64_t> sizes,
             std::span<const InputDim> open);

 private:
  Value add(const NnapiModel& model, WrittenNnapiModel written, const OpenSize* open);
  std::string free_package();

  script::CompilationUnit& program_;
  const std::function<bool(std::string_view)> is_taken_;
  std::vector<std::unique_ptr<script::CompilationUnit>> units_;  // one a module
};

// A call of forward() before `place`. `module` is a value of the graph, of the class of an object
// that was made. Gives the outputs.
std::vector<SsaValue*> call_nnapi_module(Node* place, SsaValue* module,
                                         std::span<SsaValue* const> inputs, size_t num_outputs);

// The question before `place` whether the tensors have the sizes, dtypes and quantization that the
// model takes: a bool. The `open` dimensions may have any size above 0, but the same one.
SsaValue* sizes_fit(Node* place, const NnapiModel& model, std::span<SsaValue* const> inputs,
                    std::span<const InputDim> open = {});

}  // namespace torchlet::prepare
