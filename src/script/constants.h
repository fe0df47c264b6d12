// Expressions that are known without running anything: default arguments, Final[...] constants and
// the members of enums.
#pragma once

#include "script/ast.h"
#include "script/compilation_unit.h"
#include "script/source.h"

namespace torchlet::script {

// `hint` is the declared type, or null; it gives lists, dicts and None their types. Throws
// kFileFormat for an expression that is no constant.
Value evaluate_constant(CompilationUnit& unit, const Source& source, const Expr& expr,
                        const TypePtr& hint);

}  // namespace torchlet::script
