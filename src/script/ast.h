// The syntax tree of TorchScript: what the parser makes and the compiler reads.
//
// Expressions and statements are one struct each; the comment at a kind says which fields it uses.
// The depth of a tree is bounded by the parser, so recursion over it is safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "script/source.h"

namespace torchlet::script {

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

enum class ExprKind : uint8_t {
  kInt,        // int_value
  kFloat,      // float_value
  kImaginary,  // float_value: the imaginary part
  kString,     // text (decoded)
  kTrue,       //
  kFalse,      //
  kNone,       //
  kEllipsis,   //
  kName,       // text
  kAttribute,  // children[0] . text
  kCall,       // children[0] ( children[1..], keywords )
  kSubscript,  // children[0] [ children[1..] ]
  kSlice,      // children = {start, stop, step}, each may be null; only inside kSubscript
  kTuple,      // children
  kList,       // children
  kDict,       // children = key, value, key, value, ...
  kListComp,   // children = {element, target, iterable}
  kDictComp,   // children = {key, value, target, iterable}
  kTernary,    // children = {value if true, condition, value if false}
  kUnary,      // op children[0]
  kBinary,     // children[0] op children[1]; also comparisons, `in`, `is`
  kAnd,        // children[0] and children[1]
  kOr,         // children[0] or children[1]
  kNot,        // not children[0]
  kStarred,    // * children[0]; in calls, displays and assignment targets
};

enum class ExprOp : uint8_t {
  kAdd,
  kSub,
  kMul,
  kPow,
  kDiv,
  kFloorDiv,
  kMod,
  kMatMul,
  kBitAnd,
  kBitOr,
  kBitXor,
  kShiftLeft,
  kShiftRight,
  kLess,
  kGreater,
  kLessEqual,
  kGreaterEqual,
  kEqual,
  kNotEqual,
  kIn,
  kNotIn,
  kIs,
  kIsNot,
  // Unary.
  kNegate,
  kInvert,
};

struct Keyword {
  std::string name;
  ExprPtr value;
};

struct Expr {
  ExprKind kind = ExprKind::kNone;
  ExprOp op = ExprOp::kAdd;
  uint16_t depth = 1;  // of the tree below and including this
  Span span;
  int64_t int_value = 0;
  double float_value = 0;
  std::string text;
  std::vector<ExprPtr> children;
  std::vector<Keyword> keywords;
};

struct Stmt;
using StmtPtr = std::unique_ptr<Stmt>;
using Body = std::vector<StmtPtr>;

struct Parameter {
  std::string name;
  Span span;
  ExprPtr type;           // null: Tensor
  ExprPtr default_value;  // null: required
  bool keyword_only = false;
};

struct FunctionDef {
  std::string name;
  Span span;  // of the name
  Span text;  // of all of it, from `def` on
  std::vector<Parameter> parameters;
  ExprPtr return_type;  // null: inferred
  Body body;
};

struct WithItem {
  ExprPtr context;
  ExprPtr target;  // null without `as`
};

enum class StmtKind : uint8_t {
  kExpr,       // value
  kAssign,     // targets (a = b = ..: several) [: type] = value; value is null in a declaration
  kAugAssign,  // targets[0] op= value
  kIf,         // value, body, orelse
  kWhile,      // value, body
  kFor,        // for targets[0] in value: body
  kReturn,     // value (null: None)
  kRaise,      // value
  kAssert,     // value, message (may be null)
  kDelete,     // targets
  kPass,       //
  kBreak,      //
  kContinue,   //
  kWith,       // items, body
  kDef,        // function
};

struct Stmt {
  StmtKind kind = StmtKind::kPass;
  ExprOp op = ExprOp::kAdd;
  Span span;
  std::vector<ExprPtr> targets;
  ExprPtr type;
  ExprPtr value;
  ExprPtr message;
  Body body;
  Body orelse;
  std::vector<WithItem> items;
  std::unique_ptr<FunctionDef> function;
};

struct ClassDef {
  std::string name;
  Span span;
  std::string base;  // "Module", "NamedTuple", "Enum", "Interface", "ModuleInterface" or empty
  Body fields;       // the assignments of the body: attributes, constants, __parameters__, ...
  std::vector<FunctionDef> methods;
};

struct SourceUnit {
  std::vector<ClassDef> classes;
  std::vector<FunctionDef> functions;
};

}  // namespace torchlet::script
