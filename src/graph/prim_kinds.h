// The node kinds that are no operators: the contract between those who build graphs (script/,
// lite/) and those who run or change them (interp/, passes/).
//
// Every other node calls an operator: op() is set, its inputs are all the arguments of the schema
// in order (defaults filled in; more for a vararg schema) and its outputs are the returns of the
// schema. If op() is null there, Torchlet does not have the operator: the inputs are the arguments
// as they were written, the attribute "reason" (string) says what is missing, and the only output
// is of type kUnknown. Running such a node is an error; listing such nodes is how a model is
// checked.
//
// In the list: kind [attributes](inputs) -> (outputs).
#pragma once

#include "graph/symbol.h"

namespace torchlet::prim {

// [value: Value]() -> (T)
inline const Symbol kConstant("prim::Constant");
// () -> (T): some value of type T that no run reads, such as a variable behind a branch that
// raises.
inline const Symbol kUninitialized("prim::Uninitialized");

// (condition: bool) -> (T...). Two blocks without parameters, for true and false; each gives T... .
inline const Symbol kIf("prim::If");
// (most: int, first: bool, T...) -> (T...). One block (trip: int, T...) -> (again: bool, T...):
//   trip = 0; while (trip < most && first) { first, carried = block(trip, carried); ++trip; }
inline const Symbol kLoop("prim::Loop");

// [function: Function*](arguments...) -> (T). All arguments of the function's schema.
inline const Symbol kCallFunction("prim::CallFunction");
// [name: string, function: Function*](self, arguments...) -> (T). "function" is there when the
// class of self is known. Without it self is an interface (the method is looked up in the class of
// the object), a C++ class (find_custom_class) or of unknown type (then the arguments are as they
// were written).
inline const Symbol kCallMethod("prim::CallMethod");
// () -> (Future[T]). One block without parameters that gives T and sees all outer values. Running
// it when the node runs is right; what it raises is raised by aten::wait.
inline const Symbol kFork("prim::fork");

// (values...) -> (T...), with a Segment (graph/segment.h) that takes the inputs and gives the outputs.
// One block without parameters that computes the same outputs; it sees all outer values, and those
// that it reads are the inputs, but for constants.
inline const Symbol kSegment("prim::Segment");

// [name: string](object) -> (T)
inline const Symbol kGetAttr("prim::GetAttr");
// [name: string](object, value) -> ()
inline const Symbol kSetAttr("prim::SetAttr");
// () -> (T): a new instance of class T whose attributes are not set yet. A call of __init__
// follows.
inline const Symbol kCreateObject("prim::CreateObject");

// (items...) -> (List[T])
inline const Symbol kListConstruct("prim::ListConstruct");
// (items...) -> (Tuple[...]); the type says which NamedTuple, if any.
inline const Symbol kTupleConstruct("prim::TupleConstruct");
// (key, value, key, value, ...) -> (Dict[K, V])
inline const Symbol kDictConstruct("prim::DictConstruct");
// (list) -> (T...). Raises "Expected 2 elements in a list but found 3".
inline const Symbol kListUnpack("prim::ListUnpack");
// (tuple) -> (T...). Of a value of unknown type: a list will do.
inline const Symbol kTupleUnpack("prim::TupleUnpack");
// (tuple, index: int) -> (T). Negative indices count from the end; raises when out of range.
inline const Symbol kTupleIndex("prim::TupleIndex");

// (module, key: int or str) -> (T): the submodule of that name; those of a ModuleList are "0", "1",
// ...
inline const Symbol kModuleContainerIndex("prim::ModuleContainerIndex");

// [types: Tuple[...]](value) -> (bool): is it an instance of one of these types?
inline const Symbol kIsInstance("prim::isinstance");
// (value) -> (T): the same value, known to be a T.
inline const Symbol kUncheckedCast("prim::unchecked_cast");
// (tensor) -> (T): T is a number or lists of lists of numbers, as deep as the tensor has
// dimensions.
inline const Symbol kToList("prim::tolist");
// (enum value) -> (str), (enum value) -> (T)
inline const Symbol kEnumName("prim::EnumName");
inline const Symbol kEnumValue("prim::EnumValue");

// (object) -> (T): calls object.__enter__(). Its prim::Exit is in the same block.
inline const Symbol kEnter("prim::Enter");
// (object) -> (): calls object.__exit__(None, None, None); also when something was raised since
// Enter.
inline const Symbol kExit("prim::Exit");
// (message: str, class: Optional[str]) -> (). The class is "builtins.ValueError" or None.
inline const Symbol kRaiseException("prim::RaiseException");
// (values...) -> ()
inline const Symbol kPrint("prim::Print");

}  // namespace torchlet::prim
