// NNAPI models as submodules of a program, in the form of PyTorch's converter
// (torch/backends/_nnapi/prepare.py): `NnapiModule` holds the model as data and compiles it when it
// is first called. PyTorch Mobile runs it on Android, and any PyTorch where libneuralnetworks.so is
// found; so does Torchlet.
#pragma once

#include <android/NeuralNetworks.h>
#include <torchlet/value.h>

#include <cstdint>
#include <span>
#include <vector>

#include "api/loaded_model.h"
#include "graph/graph.h"
#include "nnapi/model.h"
#include "script/compilation_unit.h"

namespace torchlet::prepare {

struct NnapiModel {
  nnapi::Model model;
  // Of each input and output: has the operand the dimensions [n, h, w, c] of a tensor [n, c, h, w]?
  // All others have the dimensions of the tensor, in order: a tensor without any is not possible.
  std::vector<bool> nhwc_inputs, nhwc_outputs;
  int32_t preference = ANEURALNETWORKS_PREFER_SUSTAINED_SPEED;
  bool relax_float32_to_float16 = false;
};

// Dimension `dim` (of the tensor) of input `input`.
struct InputDim {
  size_t input;
  int64_t dim;
};

// Makes modules of classes of their own, __torch__.torch.backends._nnapi.prepare.NnapiModule and so
// on. The classes live as long as this: until the program that the modules are put into has been
// written (Draft::finish).
class NnapiModules {
 public:
  // None of the classes has a name that is taken in `program`.
  explicit NnapiModules(script::CompilationUnit& program);

  // An object whose forward(List[Tensor]) -> List[Tensor] runs the model. Inputs are float32, int32
  // or quint8 (of any scale and zero point: what counts are the operand's); outputs bool, too.
  //
  // It runs tensors of the model's sizes alone. Others are refused by NNAPI when it runs, in
  // Torchlet
  // ("NNAPI cannot set an input") and in PyTorch: who takes any sizes asks before it calls, with
  // sizes_fit().
  //
  // Error kUnsupported, naming the input, output or operand, for what PyTorch cannot pass on.
  Value make(const NnapiModel& model);

  // The same with one size left open, that of all `open` dimensions: the first call decides. Given
  // are the models for several values of the size, at least three; what they differ in has to be a
  // linear function of it. Error kUnsupported if it is not.
  Value make(std::span<const NnapiModel> models, std::span<const int64_t> sizes,
             std::span<const InputDim> open);

 private:
  Value make_object(const NnapiModel& model, const std::string& prepare);

  script::CompilationUnit& program_;
  std::vector<std::unique_ptr<script::CompilationUnit>> units_;  // one a module
  size_t next_name_ = 0;
};

// Puts a call of forward() before `place`. `module` is the object as a value of the graph (of
// prim::GetAttr), of the class of the object that was made. Gives the outputs.
std::vector<SsaValue*> call_nnapi_module(Node* place, SsaValue* module,
                                         std::span<SsaValue* const> inputs, size_t num_outputs);

// Puts the question before `place` whether the tensors have the sizes that the operands of the
// inputs have: gives a bool.
SsaValue* sizes_fit(Node* place, const NnapiModel& model, std::span<SsaValue* const> inputs);

}  // namespace torchlet::prepare
