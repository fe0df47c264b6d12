#include "script/emitter.h"

#include "base/error.h"
#include "graph/prim_kinds.h"
#include "script/flags.h"
#include "script/syntax.h"
#include "script/type_parser.h"

namespace torchlet::script {

void Emitter::fail(Span place, const std::string& message) const {
  fail_at(*builder_.source(), place, message);
}

void Emitter::fail(const Expr& place, const std::string& message) const {
  fail(place.span, message);
}

TypePtr Emitter::type_of(const Expr& type_expr) {
  return parse_type(*builder_.source(), type_expr,
                    [this](const std::string& name) { return unit_.find_type(name); });
}

void Emitter::emit_function(const FunctionDef& def, Schema& schema) {
  Block* block = builder_.graph().block();
  for (size_t i = 0; i < def.parameters.size(); ++i) {
    const std::string& name = def.parameters[i].name;
    env_.assign(name, block->add_input(schema.arguments[i].type, name));
  }
  const Exit exit = emit_body_of(def, def.return_type ? schema.returns[0].type : nullptr);
  SsaValue* result = result_of(def, exit);
  block->add_output(result);
  if (!def.return_type) {
    schema.returns.resize(1);
    schema.returns[0].type = result->type();
  }
  builder_.drop_unused_constants();
}

Emitter::Exit Emitter::emit_body_of(const FunctionDef& def, TypePtr declared_return) {
  declared_return_ = std::move(declared_return);
  early_returns_ = has_early_return(def.body);
  if (early_returns_) {
    env_.assign(kReturned, builder_.boolean(false));
    env_.assign(kResult, builder_.value(prim::kUninitialized, {},
                                        declared_return_ ? declared_return_ : types::unknown()));
  }
  return emit_statements(def.body);
}

SsaValue* Emitter::result_of(const FunctionDef& def, Exit exit) {
  if (ends(exit)) {
    if (const SugaredValue* result = env_.find(kResult)) return value_of(*result, def.span);
    // Every way raises.
    return builder_.value(prim::kUninitialized, {},
                          declared_return_ ? declared_return_ : types::none());
  }
  const bool may_be_none = declared_return_ ? declared_return_->is(TypeKind::kNone) ||
                                                  declared_return_->is(TypeKind::kUnknown)
                                            : exit == Exit::kNever;
  if (!may_be_none) fail(def.span, "'" + def.name + "' does not return a value along all paths");
  return builder_.none();
}

// What a closure takes of the stack, in levels of expressions.
static constexpr int kLevelsOfClosure = 6;

SsaValue* Emitter::inline_closure(const ClosureRef& closure, Span span) {
  const FunctionDef& def = *closure.def;
  if (!def.parameters.empty()) {
    fail(span, "the inner function '" + def.name + "' has parameters");
  }
  const CompilationUnit::Nested nested(unit_, *builder_.source(), span, kLevelsOfClosure);
  TypePtr outer_return = declared_return_;
  const bool outer_early = early_returns_;
  const int outer_loops = loop_depth_;
  loop_depth_ = 0;
  env_.push();
  const Exit exit = emit_body_of(def, def.return_type ? type_of(*def.return_type) : nullptr);
  SsaValue* result = result_of(def, exit);
  env_.pop();
  declared_return_ = std::move(outer_return);
  early_returns_ = outer_early;
  loop_depth_ = outer_loops;
  return result;
}

}  // namespace torchlet::script
