#include "script/upgraders.h"

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "script/builtins.h"
#include "script/compilation_unit.h"

namespace torchlet::script {
namespace {

constexpr std::string_view kSource = R"(
def div_Tensor(self: Tensor, other: Tensor) -> Tensor:
  if torch.is_floating_point(self) or torch.is_floating_point(other):
    return torch.div(self, other)
  return torch.div(self, other, rounding_mode="trunc")

def div_Scalar(self: Tensor, other: number) -> Tensor:
  if torch.is_floating_point(self) or isinstance(other, float):
    return torch.div(self, other)
  return torch.div(self, other, rounding_mode="trunc")

def div_out(self: Tensor, other: Tensor, out: Tensor) -> Tensor:
  if (torch.is_floating_point(self) or torch.is_floating_point(other)
      or torch.is_floating_point(out)):
    return torch.div(self, other, out=out)
  return torch.div(self, other, rounding_mode="trunc", out=out)

def div__Tensor(self: Tensor, other: Tensor) -> Tensor:
  if torch.is_floating_point(self) or torch.is_floating_point(other):
    return torch.div_(self, other)
  return torch.div_(self, other, rounding_mode="trunc")

def div__Scalar(self: Tensor, other: number) -> Tensor:
  if torch.is_floating_point(self) or isinstance(other, float):
    return torch.div_(self, other)
  return torch.div_(self, other, rounding_mode="trunc")

def full(size: List[int], fill_value: number, dtype: Optional[int], layout: Optional[int],
         device: Optional[Device], pin_memory: Optional[bool]) -> Tensor:
  if dtype is None:
    return torch.full(size, float(fill_value), dtype=dtype, layout=layout, device=device,
                      pin_memory=pin_memory)
  return torch.full(size, fill_value, dtype=dtype, layout=layout, device=device,
                    pin_memory=pin_memory)

def full_out(size: List[int], fill_value: number, out: Tensor) -> Tensor:
  return torch.full(size, fill_value, out=out)

def linspace(start: number, end: number, steps: Optional[int], dtype: Optional[int],
             layout: Optional[int], device: Optional[Device],
             pin_memory: Optional[bool]) -> Tensor:
  return torch.linspace(start, end, 100 if steps is None else steps, dtype=dtype, layout=layout,
                        device=device, pin_memory=pin_memory)

def linspace_out(start: number, end: number, steps: Optional[int], out: Tensor) -> Tensor:
  return torch.linspace(start, end, 100 if steps is None else steps, out=out)

def logspace(start: number, end: number, steps: Optional[int], base: float, dtype: Optional[int],
             layout: Optional[int], device: Optional[Device],
             pin_memory: Optional[bool]) -> Tensor:
  return torch.logspace(start, end, 100 if steps is None else steps, base, dtype=dtype,
                        layout=layout, device=device, pin_memory=pin_memory)

def logspace_out(start: number, end: number, steps: Optional[int], base: float,
                 out: Tensor) -> Tensor:
  return torch.logspace(start, end, 100 if steps is None else steps, base, out=out)

def gelu(self: Tensor) -> Tensor:
  return torch.gelu(self, approximate="none")

def gelu_out(self: Tensor, out: Tensor) -> Tensor:
  return torch.gelu(self, approximate="none", out=out)
)";

#define TENSOR_OPTIONS \
  "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"

constexpr Upgrader kUpgraders[] = {
    {"aten::div.Tensor", 4, "aten::div.Tensor(Tensor self, Tensor other) -> Tensor", "div_Tensor"},
    {"aten::div.Scalar", 4, "aten::div.Scalar(Tensor self, Scalar other) -> Tensor", "div_Scalar"},
    {"aten::div.out", 4,
     "aten::div.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)", "div_out"},
    {"aten::div_.Tensor", 4, "aten::div_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
     "div__Tensor"},
    {"aten::div_.Scalar", 4, "aten::div_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)",
     "div__Scalar"},
    {"aten::full", 5, "aten::full(int[] size, Scalar fill_value, *, " TENSOR_OPTIONS ") -> Tensor",
     "full"},
    {"aten::full.out", 5,
     "aten::full.out(int[] size, Scalar fill_value, *, Tensor(a!) out) -> Tensor(a!)", "full_out"},
    {"aten::linspace", 8,
     "aten::linspace(Scalar start, Scalar end, int? steps=None, *, " TENSOR_OPTIONS ") -> Tensor",
     "linspace"},
    {"aten::linspace.out", 8,
     "aten::linspace.out(Scalar start, Scalar end, int? steps=None, *, Tensor(a!) out) -> "
     "Tensor(a!)",
     "linspace_out"},
    {"aten::logspace", 9,
     "aten::logspace(Scalar start, Scalar end, int? steps=None, float base=10.0, "
     "*, " TENSOR_OPTIONS ") -> Tensor",
     "logspace"},
    {"aten::logspace.out", 9,
     "aten::logspace.out(Scalar start, Scalar end, int? steps=None, float base=10.0, *, "
     "Tensor(a!) out) -> Tensor(a!)",
     "logspace_out"},
    {"aten::gelu", 10, "aten::gelu(Tensor self) -> Tensor", "gelu"},
    {"aten::gelu.out", 10, "aten::gelu.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
     "gelu_out"},
};

#undef TENSOR_OPTIONS

}  // namespace

const Schema& Upgrader::old_schema() const {
  static std::mutex mutex;
  static std::unordered_map<const Upgrader*, std::unique_ptr<const Schema>> parsed;
  const std::lock_guard lock(mutex);
  std::unique_ptr<const Schema>& schema = parsed[this];
  if (!schema) schema = std::make_unique<const Schema>(parse_schema(old_text));
  return *schema;
}

Function* Upgrader::function() const {
  static const auto* const functions = new OwnFunctions("__torch__.upgraders", kSource);
  return functions->find(body_name);
}

const Upgrader* find_upgrader(const Schema& op, int version) {
  if (version >= kCurrentOperatorVersion) return nullptr;
  for (const Upgrader& upgrader : kUpgraders) {
    if (version < upgrader.until && upgrader.op.starts_with(op.name) &&
        upgrader.op == op.full_name()) {
      return &upgrader;
    }
  }
  return nullptr;
}

int version_of_meaning(const Schema& op) {
  for (const Upgrader& upgrader : kUpgraders) {
    if (upgrader.op.starts_with(op.name) && upgrader.op == op.full_name()) return upgrader.until;
  }
  return 0;
}

}  // namespace torchlet::script
