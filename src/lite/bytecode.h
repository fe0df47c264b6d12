// The bytecode of a Lite Interpreter archive (torch/csrc/jit/mobile), read and verified.
#pragma once

#include <torchlet/value.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/schema.h"
#include "tensor/type.h"

namespace torchlet::lite {

// torch/csrc/jit/runtime/instruction.h. Pickles spell the names, flatbuffers hold the numbers.
enum class Opcode : uint8_t {
  kOp = 0,
  kOpN,
  kLoad,
  kMove,
  kStoreN,
  kStore,
  kDrop,
  kDropR,
  kLoadC,
  kJF,
  kJmp,
  kLoop,
  kRet,
  kWait,
  kCall,
  kInterfaceCall = 20,  // 15 to 19 never leave PyTorch's interpreter
  kGetAttr,
  kSetAttr,
  kListUnpack,
  kTupleConstruct,
  kNamedTupleConstruct,
  kListConstruct,
  kDictConstruct,
  kCreateObject,
  kIsInstance,
  kTupleSlice,
  kTupleIndex,
  kRaiseException,
  kDictIndex,
  kUncheckedCast,
  kIs,
  kUnInitialized,
  kIsNot,
  kFormat,
  kDevice,
  kDType,
  kDim,
  kNot,
  kToList,
  kNumToTensor,
  kIsCuda,
  kFork,
  kWarn,
  kEnter,
  kExit,
};

// As pickles spell it: "OP".
std::string_view name_of(Opcode opcode);
// Null if no file may hold an instruction of this number.
std::optional<Opcode> opcode_of_number(int64_t number);

// Of values on the stack, and of registers.
inline constexpr int64_t kMaxStack = int64_t{1} << 20;

struct Instruction {
  Opcode opcode;
  int64_t x, n;
};

struct OperatorName {
  std::string name, overload;
  std::optional<int64_t> num_args;  // how many arguments the code pushes; all of them if not there
};

inline constexpr int64_t kNoDebugHandle = -1;

struct BytecodeFunction {
  std::string name;  // "__torch__.Net.forward"
  std::vector<Instruction> instructions;
  std::vector<OperatorName> operators;
  std::vector<Value> constants;
  std::vector<TypePtr> types;
  int64_t register_size = 0;
  // For each instruction the number under which its DebugTable knows it; empty, or -1 for one, if
  // nothing is known.
  std::vector<int64_t> debug_handles = {};
  int64_t debug_handle(size_t at) const {
    return at < debug_handles.size() ? debug_handles[at] : kNoDebugHandle;
  }
  // From version 4 on: arguments and returns with their names and types. Files do not tell a
  // default of None from none at all; it is taken for one where None fits the type.
  std::optional<Schema> schema;
};

class DebugTable;

struct Bytecode {
  int64_t version = 3;
  std::vector<BytecodeFunction> functions;
  std::shared_ptr<const DebugTable> debug = nullptr;  // what the file tells of them; may be null
};

// The type of a name in TorchScript's spelling; throws an Error if there is none.
using TypeParser = std::function<TypePtr(const std::string&)>;

// OperatorName::num_args as files write it: this if the operator takes any number.
inline constexpr int64_t kAnyNumberOfArguments = -1;
std::optional<int64_t> number_of_arguments(int64_t number);

// An argument or a return of a schema as files describe it.
Argument make_argument(std::string name, TypePtr type, const Value& default_value);

// The content of bytecode.pkl. Error kFileFormat if it is not of that form, kUnsupported if its
// version is not 3 to 9.
Bytecode parse_bytecode(const Value& pickled, const TypeParser& parse_type);

struct Program {
  // The class of a qualified name, or null.
  std::function<const ClassType*(const std::string&)> find_class;
  // Does the program's source call an operator of this name that Torchlet does not have?
  std::function<bool(const std::string&)> is_known_missing;
};

// Error kFileFormat unless every instruction stays within its function: jumps, registers,
// constants, types, operators with their number of arguments, attributes of objects whose class is
// known, and what lies on the stack on every way that leads there.
void verify(const Bytecode& bytecode, const Program& program);

}  // namespace torchlet::lite
