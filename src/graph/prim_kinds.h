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

// The name of a kind here, and its contract. Defined in prim_kinds.cc, where this is another macro:
// every file that reads them would have 3 KB of code for making them, and be kept by the linker.
#ifndef TORCHLET_KIND
#define TORCHLET_KIND(kind, ...) extern const Symbol kind
#endif

// [name: string, reason: string]: a call of the operator `name`, which Torchlet does not have or
// not for these arguments, with the arguments as they were written; the last ones by the names in
// [keywords: string], separated by spaces, if that is there. The output is of type kUnknown.
// Running it is an error; listing such nodes is how a model is checked.
TORCHLET_KIND(kUnsupported, "prim::Unsupported(...) -> t", {"name", "reason"});

// [value: Value]
TORCHLET_KIND(kConstant, "prim::Constant() -> t", {"value"});
// Some value that no run reads, such as a variable behind a branch that raises.
TORCHLET_KIND(kUninitialized, "prim::Uninitialized() -> t");

// The blocks are for true and false, have no parameters and give the outputs.
TORCHLET_KIND(kIf, "prim::If(bool condition) -> ...", {}, 2);
// (most, first, T...) -> (T...). The block is (trip: int, T...) -> (again: bool, T...):
//   trip = 0; while (trip < most && first) { first, carried = block(trip, carried); ++trip; }
TORCHLET_KIND(kLoop, "prim::Loop(int most, bool first, ...) -> ...", {}, 1);

// [function: Function*]: with all arguments of the function's schema.
TORCHLET_KIND(kCallFunction, "prim::CallFunction(...) -> t", {"function"});
// [name: string, function: Function*](self, arguments...). "function" is there when the class of
// self is known. Without it self is an interface (the method is looked up in the class of
// the object), a C++ class (find_custom_class) or of unknown type (then the arguments are as they
// were written, as of kUnsupported).
TORCHLET_KIND(kCallMethod, "prim::CallMethod(t self, ...) -> t1", {"name"});
// The block has no parameters, gives T and sees all outer values. Running it when the node runs is
// right; what it raises is raised by aten::wait.
TORCHLET_KIND(kFork, "prim::fork() -> Future(t)", {}, 1);

// (values...) -> (T...), with a Segment (graph/segment.h) that takes the inputs and gives the
// outputs. One block without parameters that computes the same outputs; it sees all outer values,
// and those that it reads are the inputs, but for constants.
TORCHLET_KIND(kSegment, "prim::Segment(...) -> ...", {}, 1);

// [name: string]
TORCHLET_KIND(kGetAttr, "prim::GetAttr(t object) -> t1", {"name"});
// [name: string]
TORCHLET_KIND(kSetAttr, "prim::SetAttr(t object, t1 value) -> ()", {"name"});
// A new instance of the output's class, whose attributes are not set yet. A call of __init__
// follows.
TORCHLET_KIND(kCreateObject, "prim::CreateObject() -> t");

// (items...) -> (List[T])
TORCHLET_KIND(kListConstruct, "prim::ListConstruct(...) -> t");
// (items...) -> (Tuple[...]); the type says which NamedTuple, if any.
TORCHLET_KIND(kTupleConstruct, "prim::TupleConstruct(...) -> t");
// (key, value, key, value, ...) -> (Dict[K, V])
TORCHLET_KIND(kDictConstruct, "prim::DictConstruct(...) -> t");
// Raises "Expected 2 elements in a list but found 3".
TORCHLET_KIND(kListUnpack, "prim::ListUnpack(t list) -> ...");
// Of a value of unknown type: a list will do.
TORCHLET_KIND(kTupleUnpack, "prim::TupleUnpack(t tuple) -> ...");
// Does it only put values into lists and tuples, or take them out?
inline bool is_packing(Symbol kind) {
  return kind == kListConstruct || kind == kListUnpack || kind == kTupleConstruct ||
         kind == kTupleUnpack;
}
// Negative indices count from the end; raises when out of range.
TORCHLET_KIND(kTupleIndex, "prim::TupleIndex(t tuple, int index) -> t1");

// The submodule of that name (int or str); those of a ModuleList are "0", "1", ...
TORCHLET_KIND(kModuleContainerIndex, "prim::ModuleContainerIndex(t module, t1 key) -> t2");

// [types: Tuple[...]]: is it an instance of one of these types?
TORCHLET_KIND(kIsInstance, "prim::isinstance(t value) -> bool", {"types"});
// The same value, said to be of the output's type. Nothing checks that: whoever reads a value
// looks at what it is (the accessors of Value do), so that a wrong cast ends in an error.
TORCHLET_KIND(kUncheckedCast, "prim::unchecked_cast(t value) -> t1");
// T is a number or lists of lists of numbers, as deep as the tensor has
// dimensions.
TORCHLET_KIND(kToList, "prim::tolist(Tensor tensor) -> t");
TORCHLET_KIND(kEnumName, "prim::EnumName(AnyEnumType value) -> str");
TORCHLET_KIND(kEnumValue, "prim::EnumValue(AnyEnumType value) -> t");

// Calls object.__enter__(). Its prim::Exit is in the same block; pairs nest.
TORCHLET_KIND(kEnter, "prim::Enter(t object) -> t1");
// Calls object.__exit__(None, None, None); also when something was raised since
// Enter.
TORCHLET_KIND(kExit, "prim::Exit(t object) -> ()");
// The class is "builtins.ValueError" or None.
TORCHLET_KIND(kRaiseException, "prim::RaiseException(str message, str? class) -> ()");
TORCHLET_KIND(kPrint, "prim::Print(...) -> ()");

#undef TORCHLET_KIND

}  // namespace torchlet::prim
