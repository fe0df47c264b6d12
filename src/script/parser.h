// Tokens -> syntax tree (torch/csrc/jit/frontend/parser.cpp has the grammar).
//
// All functions throw kFileFormat with the record and the line. Nesting is limited (kMaxExprDepth,
// kMaxBlockDepth), which bounds the recursion of the parser and of everything that walks the tree.
#pragma once

#include "script/ast.h"
#include "script/source.h"

namespace torchlet::script {

// python_print breaks expressions at 40 characters, so real files stay far below.
inline constexpr int kMaxExprDepth = 200;
// A chain of n `elif` comes as n nested `else: if`.
inline constexpr int kMaxBlockDepth = 400;

// Parameters of a function, keywords of a call, methods and fields of a class: some are looked for
// one by one.
inline constexpr size_t kMaxMembers = 4096;

// A whole record of code/: classes and functions. The `import` lines and the `op_version_set = n`
// of 2019's archives are skipped.
SourceUnit parse_unit(const Source& source);
// The same with a budget: what the record has of tokens is taken from it, more is an error.
SourceUnit parse_unit(const Source& source, size_t& tokens_left);

// A function that was parsed before, by its `text`.
FunctionDef parse_function(const Source& source, Span text);

// A single expression, such as a type ("Dict[str, Tensor]").
ExprPtr parse_expression(const Source& source);

}  // namespace torchlet::script
