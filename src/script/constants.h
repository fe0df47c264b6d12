// Expressions that are known without running anything: default arguments, Final[...] constants and
// the members of enums.
#pragma once

#include <optional>
#include <string_view>

#include "script/ast.h"
#include "script/compilation_unit.h"
#include "script/source.h"

namespace torchlet::script {

// Which constant of the program `name` ("c3") is; nothing if there is none.
std::optional<size_t> constant_index(const Program& program, std::string_view name);

// `hint` is the declared type, or null; it gives lists, dicts and None their types. Throws
// kFileFormat for an expression that is no constant.
Value evaluate_constant(CompilationUnit& unit, const Source& source, const Expr& expr,
                        const TypePtr& hint);

}  // namespace torchlet::script
