// Type expressions -> Type ("Dict[str, List[__torch__.m.Point]]").
#pragma once

#include <string>
#include <string_view>

#include "base/function_ref.h"
#include "script/ast.h"
#include "script/source.h"
#include "tensor/type.h"

namespace torchlet::script {

// Finds the class, NamedTuple, enum or interface of a qualified name; null if there is none.
using NamedTypes = FunctionRef<TypePtr(const std::string& qualified_name)>;

// Throws kFileFormat, naming the place, for what is no type. `BroadcastingList2[int]` is List[int]
// and `Final[T]` is T.
TypePtr parse_type(const Source& source, const Expr& expr, NamedTypes named_types);

// The same for a type that stands alone, as in a pickle's type tags and in bytecode. `where` names
// the record in messages.
TypePtr parse_type(const std::string& where, std::string_view text, NamedTypes named_types);

// "torch.nn.Linear" of a chain of names, or empty if `expr` is none.
std::string dotted_name(const Expr& expr);

}  // namespace torchlet::script
