// The node kinds that are no operators: the contract between those who build graphs (script/,
// lite/) and those who run or change them (interp/, passes/).
//
// Every other node calls an operator: op() is set, its inputs are all the arguments of the schema
// in order (defaults filled in; more for a vararg schema) and its outputs are the returns of the
// schema.
//
// Each kind is declared with its contract, which Graph::verify() holds every node of it to: inputs
// and outputs in the words of schemas (t, t1, ... are any types), the names of the attributes that
// it must have, and the number of its blocks.
#pragma once

#include <string_view>
#include <vector>

#include "graph/schema.h"
#include "graph/symbol.h"

namespace torchlet::prim {

struct Contract {
  std::string_view schema;
  std::vector<std::string_view> attributes = {};
  size_t num_blocks = 0;
};

// The symbol of a kind, whose contract is found by it from now on.
Symbol declare(Contract contract);
// Null for what is no kind: operators. Thread-safe.
const Contract* contract_of(Symbol kind);
// Contract::schema, parsed.
const Schema& schema_of(Symbol kind);
// May a value of that type be where a contract declares the other one?
bool fits(const Type& type, const Type& declared);

// [name: string, reason: string]: a call of the operator `name`, which Torchlet does not have or
// not for these arguments, with the arguments as they were written; the last ones by the names in
// [keywords: string], separated by spaces, if that is there. The output is of type kUnknown.
// Running it is an error; listing such nodes is how a model is checked.
inline const Symbol kUnsupported = declare({"prim::Unsupported(...) -> t", {"name", "reason"}});

// [value: Value]
inline const Symbol kConstant = declare({"prim::Constant() -> t", {"value"}});
// Some value that no run reads, such as a variable behind a branch that raises.
inline const Symbol kUninitialized = declare({"prim::Uninitialized() -> t"});

// The blocks are for true and false, have no parameters and give the outputs.
inline const Symbol kIf = declare({"prim::If(bool condition) -> ...", {}, 2});
// (most, first, T...) -> (T...). The block is (trip: int, T...) -> (again: bool, T...):
//   trip = 0; while (trip < most && first) { first, carried = block(trip, carried); ++trip; }
inline const Symbol kLoop = declare({"prim::Loop(int most, bool first, ...) -> ...", {}, 1});

// [function: Function*]: with all arguments of the function's schema.
inline const Symbol kCallFunction = declare({"prim::CallFunction(...) -> t", {"function"}});
// [name: string, function: Function*](self, arguments...). "function" is there when the class of
// self is known. Without it self is an interface (the method is looked up in the class of
// the object), a C++ class (find_custom_class) or of unknown type (then the arguments are as they
// were written, as of kUnsupported).
inline const Symbol kCallMethod = declare({"prim::CallMethod(t self, ...) -> t1", {"name"}});
// The block has no parameters, gives T and sees all outer values. Running it when the node runs is
// right; what it raises is raised by aten::wait.
inline const Symbol kFork = declare({"prim::fork() -> Future(t)", {}, 1});

// (values...) -> (T...), with a Segment (graph/segment.h) that takes the inputs and gives the
// outputs. One block without parameters that computes the same outputs; it sees all outer values,
// and those that it reads are the inputs, but for constants.
inline const Symbol kSegment = declare({"prim::Segment(...) -> ...", {}, 1});

// [name: string]
inline const Symbol kGetAttr = declare({"prim::GetAttr(t object) -> t1", {"name"}});
// [name: string]
inline const Symbol kSetAttr = declare({"prim::SetAttr(t object, t1 value) -> ()", {"name"}});
// A new instance of the output's class, whose attributes are not set yet. A call of __init__
// follows.
inline const Symbol kCreateObject = declare({"prim::CreateObject() -> t"});

// (items...) -> (List[T])
inline const Symbol kListConstruct = declare({"prim::ListConstruct(...) -> t"});
// (items...) -> (Tuple[...]); the type says which NamedTuple, if any.
inline const Symbol kTupleConstruct = declare({"prim::TupleConstruct(...) -> t"});
// (key, value, key, value, ...) -> (Dict[K, V])
inline const Symbol kDictConstruct = declare({"prim::DictConstruct(...) -> t"});
// Raises "Expected 2 elements in a list but found 3".
inline const Symbol kListUnpack = declare({"prim::ListUnpack(t list) -> ..."});
// Of a value of unknown type: a list will do.
inline const Symbol kTupleUnpack = declare({"prim::TupleUnpack(t tuple) -> ..."});
// Does it only put values into lists and tuples, or take them out?
inline bool is_packing(Symbol kind) {
  return kind == kListConstruct || kind == kListUnpack || kind == kTupleConstruct ||
         kind == kTupleUnpack;
}
// Negative indices count from the end; raises when out of range.
inline const Symbol kTupleIndex = declare({"prim::TupleIndex(t tuple, int index) -> t1"});

// The submodule of that name (int or str); those of a ModuleList are "0", "1", ...
inline const Symbol kModuleContainerIndex =
    declare({"prim::ModuleContainerIndex(t module, t1 key) -> t2"});

// [types: Tuple[...]]: is it an instance of one of these types?
inline const Symbol kIsInstance = declare({"prim::isinstance(t value) -> bool", {"types"}});
// The same value, said to be of the output's type. Nothing checks that: whoever reads a value
// looks at what it is (the accessors of Value do), so that a wrong cast ends in an error.
inline const Symbol kUncheckedCast = declare({"prim::unchecked_cast(t value) -> t1"});
// T is a number or lists of lists of numbers, as deep as the tensor has
// dimensions.
inline const Symbol kToList = declare({"prim::tolist(Tensor tensor) -> t"});
inline const Symbol kEnumName = declare({"prim::EnumName(AnyEnumType value) -> str"});
inline const Symbol kEnumValue = declare({"prim::EnumValue(AnyEnumType value) -> t"});

// Calls object.__enter__(). Its prim::Exit is in the same block; pairs nest.
inline const Symbol kEnter = declare({"prim::Enter(t object) -> t1"});
// Calls object.__exit__(None, None, None); also when something was raised since
// Enter.
inline const Symbol kExit = declare({"prim::Exit(t object) -> ()"});
// The class is "builtins.ValueError" or None.
inline const Symbol kRaiseException =
    declare({"prim::RaiseException(str message, str? class) -> ()"});
inline const Symbol kPrint = declare({"prim::Print(...) -> ()"});

}  // namespace torchlet::prim
