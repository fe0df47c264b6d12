#include "script/builtins.h"

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "base/selection.h"
#include "script/compilation_unit.h"

namespace torchlet::script {
namespace {

constexpr std::string_view kSource = R"(
def add(a: number, b: Tensor) -> Tensor:
  return torch.add(b, a)

def sub(a: number, b: Tensor) -> Tensor:
  return torch.add(torch.neg(b), a)

def mul(a: number, b: Tensor) -> Tensor:
  return torch.mul(b, a)

def div(a: number, b: Tensor) -> Tensor:
  return torch.mul(torch.reciprocal(b), a)

def eq(a: number, b: Tensor) -> Tensor:
  return torch.eq(b, a)

def ne(a: number, b: Tensor) -> Tensor:
  return torch.ne(b, a)

def lt(a: number, b: Tensor) -> Tensor:
  return torch.gt(b, a)

def le(a: number, b: Tensor) -> Tensor:
  return torch.ge(b, a)

def gt(a: number, b: Tensor) -> Tensor:
  return torch.lt(b, a)

def ge(a: number, b: Tensor) -> Tensor:
  return torch.le(b, a)

def shape(a: Tensor) -> List[int]:
  return torch.size(a)

def ndim(a: Tensor) -> int:
  return torch.dim(a)

def T(a: Tensor) -> Tensor:
  return torch.numpy_T(a)

def _record_function_enter(name: str, args: Optional[str]=None) -> Tensor:
  return torch.zeros([1])

def _record_function_exit(handle: Tensor) -> NoneType:
  return None

def _call_end_callbacks_on_jit_fut(handle: Tensor, future: Future[Any]) -> Future[Any]:
  return future

def _test_serialization_subcmul(self: Tensor, other: Tensor, alpha: number=2) -> Tensor:
  return torch.sub(other, torch.mul(self, alpha))
)";

struct Builtin {
  const char* op;
  const char* function;
};

constexpr Builtin kBuiltins[] = {
    {"aten::add", "add"},
    {"aten::sub", "sub"},
    {"aten::mul", "mul"},
    {"aten::div", "div"},
    {"aten::eq", "eq"},
    {"aten::ne", "ne"},
    {"aten::lt", "lt"},
    {"aten::le", "le"},
    {"aten::gt", "gt"},
    {"aten::ge", "ge"},
    {"prim::shape", "shape"},
    {"prim::ndim", "ndim"},
    {"prim::T", "T"},
    // torch.autograd.profiler.record_function: marks that nobody looks at.
    {"profiler::_record_function_enter", "_record_function_enter"},
    {"profiler::_record_function_exit", "_record_function_exit"},
    {"profiler::_call_end_callbacks_on_jit_fut", "_call_end_callbacks_on_jit_fut"},
    // The operator by which PyTorch tests the loading of version 2.
    {"aten::_test_serialization_subcmul", "_test_serialization_subcmul"},
};

std::unordered_map<std::string, Function*>* make_table() {
  const OwnFunctions functions("__torch__.builtins", kSource);
  auto* table = new std::unordered_map<std::string, Function*>;
  for (const Builtin& builtin : kBuiltins) {
    table->emplace(builtin.op, functions.find(builtin.function));
  }
  return table;
}

}  // namespace

std::span<Function* const> find_builtin_functions(Symbol op) {
  static const auto* const table = make_table();
  const auto found = table->find(op.str());
  if (found == table->end()) return {};
  return {&found->second, 1};
}

std::string_view builtin_operator(const Function* function) {
  for (const Builtin& builtin : kBuiltins) {
    if (find_builtin_functions(Symbol(builtin.op))[0] == function) return builtin.op;
  }
  return "";
}

OwnFunctions::OwnFunctions(const char* package, std::string_view source)
    : package_(package),
      unit_(new CompilationUnit({
          [package = std::string(package),
           source](const std::string& wanted) -> std::shared_ptr<const Source> {
            if (wanted != package) return nullptr;
            return std::make_shared<Source>(
                Source{"<" + package + ">", std::string(source), 1, nullptr});
          },
          {},
          kCurrentOperatorVersion,
      })) {}

Function* OwnFunctions::find(std::string_view name) const {
  if constexpr (!selection::kHasCompiler) {
    fail(ErrorCode::kUnsupported,
         "the model calls '" + std::string(name) +
             "', which is written in TorchScript, and this libtorchlet was built without its "
             "compiler; build with TORCHLET_CONTAINERS=\"pt;ptl\"");
  }
  Function* function = unit_->find_function(package_ + "." + std::string(name));
  TORCHLET_ASSERT(function);
  return function;
}

}  // namespace torchlet::script
