#include "prepare/nnapi/nnapi_module_source.h"

#include "base/error.h"

namespace torchlet::prepare {
namespace {

constexpr char kModule[] =
    "(Module):\n"
    "  __parameters__ = []\n"
    "  __buffers__ = []\n"
    "  training : bool\n";

// prepare() gives the tensors that outputs are made like, and writes what depends on an open size
// into the model.
std::string shape_class(const std::vector<std::string>& templates, const OpenSize* open) {
  std::string text = std::string("class ShapeComputeModule") + kModule;
  if (open) {
    text +=
        "  base : Tensor\n"
        "  step : Tensor\n";
  }
  text += "  def prepare(self, ser_model: Tensor, args: List[Tensor]) -> List[Tensor]:\n";
  if (open) {
    text += format(
        "    size = torch.size(args[%zu], %d)\n"
        "    words = torch.add(self.base, self.step, alpha=size)\n"
        "    torch.copy_(ser_model, words)\n",
        open->dim.input, static_cast<int>(open->dim.dim));
  }
  std::string list;
  for (const std::string& made : templates) list += (list.empty() ? "" : ", ") + made;
  return text + "    return [" + list + "]\n";
}

constexpr char kAttributes[] =
    "  ser_model : Tensor\n"
    "  weights : List[Tensor]\n"
    "  inp_mem_fmts : List[int]\n"
    "  out_mem_fmts : List[int]\n"
    "  out_templates : List[Tensor]\n"
    "  comp : Optional[__torch__.torch.classes._nnapi.Compilation]\n"
    "  compilation_preference : int\n"
    "  relax_f32_to_f16 : bool\n";

constexpr char kInit[] =
    "  def init(self, args: List[Tensor]) -> NoneType:\n"
    "    assert self.comp is None, \"the NNAPI model is compiled already\"\n"
    "    self.out_templates = self.shape_compute_module.prepare(self.ser_model, args)\n";

// They are not quantized any more when the model is compiled again.
constexpr char kDequantize[] =
    "    self.weights = [torch.dequantize(w) if w.is_quantized else w for w in self.weights]\n";

constexpr char kCompile[] =
    "    comp = __torch__.torch.classes._nnapi.Compilation()\n"
    "    comp.init2(self.ser_model, self.weights, self.compilation_preference, "
    "self.relax_f32_to_f16)\n"
    "    self.comp = comp\n"
    "    return None\n";

constexpr char kForward[] =
    "    if self.comp is None:\n"
    "      self.init(args)\n"
    "    comp = self.comp\n"
    "    assert comp is not None, \"the NNAPI model is not compiled\"\n"
    "    assert len(args) == len(self.inp_mem_fmts), \"the NNAPI model has other inputs\"\n"
    "    inputs = annotate(List[Tensor], [])\n"
    "    for i in range(len(args)):\n"
    "      if self.inp_mem_fmts[i] == 1:\n"
    "        inputs.append(torch.contiguous(torch.permute(args[i], [0, 2, 3, 1])))\n"
    "      else:\n"
    "        inputs.append(torch.contiguous(args[i]))\n"
    "    outputs = [torch.empty_like(template) for template in self.out_templates]\n"
    "    comp.run(inputs, outputs)\n"
    "    for i in range(len(outputs)):\n"
    "      if self.out_mem_fmts[i] == 1:\n"
    "        outputs[i] = torch.permute(outputs[i], [0, 3, 1, 2])\n"
    "    return outputs\n";

}  // namespace

std::string nnapi_module_source(const std::string& package, const NnapiModuleParts& parts) {
  const OpenSize* const open = parts.open;
  std::string text = shape_class(parts.templates, open) + "class NnapiModule" + kModule +
                     kAttributes + "  shape_compute_module : " + package + ".ShapeComputeModule\n";
  if (open) text += "  open_size : int\n";
  text += kInit;
  if (parts.has_quantized_weights) text += kDequantize;
  text += kCompile;
  text += "  def forward(self, args: List[Tensor]) -> List[Tensor]:\n";
  if (open) {
    text += format(
        "    size = torch.size(args[%zu], %d)\n"
        "    if size != self.open_size:\n"
        "      self.comp = None\n"
        "      self.open_size = size\n",
        open->dim.input, static_cast<int>(open->dim.dim));
  }
  return text + kForward;
}

}  // namespace torchlet::prepare
