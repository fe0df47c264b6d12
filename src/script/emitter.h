// One function of the syntax tree -> its Graph (torch/csrc/jit/frontend/ir_emitter.cpp).
//
// Variables become SSA values while the statements are walked: a branch that assigns gives outputs,
// a loop carries what its body assigns. Leaving early (return, break, continue in the middle) is
// turned into flags: what follows in the block is emitted under `if not $left`.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/function_ref.h"
#include "graph/function.h"
#include "script/builder.h"
#include "script/compilation_unit.h"
#include "script/environment.h"
#include "script/overload.h"

namespace torchlet::script {

class Emitter {
 public:
  Emitter(CompilationUnit& unit, Graph& graph, std::shared_ptr<const Source> source)
      : unit_(unit), builder_(unit, graph, std::move(source)) {}

  // Fills the graph. Without an annotation the return type is inferred and set in `schema`.
  void emit_function(const FunctionDef& def, Schema& schema);

 private:
  // How a piece of program ends: runs on, may have left (the flags tell), has left, has raised.
  enum class Exit { kNever, kMaybe, kAlways, kRaises };
  static bool ends(Exit exit) { return exit == Exit::kAlways || exit == Exit::kRaises; }
  // Of two ways, one of which is taken.
  static Exit either(Exit a, Exit b) {
    if (a == b || b == Exit::kRaises) return a;
    return a == Exit::kRaises ? b : Exit::kMaybe;
  }

  struct Refinement {
    std::string name;
    TypePtr type;
  };
  struct Condition {
    SsaValue* value = nullptr;
    std::vector<Refinement> if_true, if_false;
    std::optional<bool> known;  // without running the program
  };
  struct Branch {
    Block* block = nullptr;
    Environment::Scope scope;
    Exit exit = Exit::kNever;
    bool jumps = false;  // leaves by break or continue, which need the variables' values
  };

  // emitter.cc
  [[noreturn]] void fail(const Expr& place, const std::string& message) const;
  [[noreturn]] void fail(Span place, const std::string& message) const;
  TypePtr type_of(const Expr& type_expr);
  Exit emit_body_of(const FunctionDef& def, TypePtr declared_return);
  SsaValue* result_of(const FunctionDef& def, Exit exit);
  SsaValue* inline_closure(const ClosureRef& closure, Span span);

  // emit_statements.cc
  Exit emit_statements(const Body& body, size_t from = 0);
  Exit emit_statement(const Stmt& s);
  void emit_assign(const Stmt& s);
  void emit_aug_assign(const Stmt& s);
  void assign(const Expr& target, const SugaredValue& sugared);
  void assign_name(const Expr& target, SugaredValue sugared);
  void assign_tuple(const Expr& target, const SugaredValue& sugared);
  void set_attribute(const Expr& target, SsaValue* value);
  void emit_delete(const Stmt& s);
  Exit emit_with(const Stmt& s);
  Exit emit_return(const Stmt& s);
  void emit_raise(const Stmt& s);
  void emit_assert(const Stmt& s);
  void leave(bool returned, bool broke);

  // emit_control.cc
  Condition emit_condition(const Expr& e);
  Condition emit_is(const Expr& e);
  Condition emit_is_instance(const Expr& call);
  Condition emit_logical(const Expr& e);
  SsaValue* to_bool(const Expr& place, SsaValue* value);
  void refine(const std::vector<Refinement>& refinements);
  Exit emit_if(const Stmt& s, const Body& following, size_t from, bool* took_following);
  Branch emit_branch(Node* node, const std::vector<Refinement>& refinements,
                     FunctionRef<Exit()> body);
  void merge(Node* node, Branch& a, Branch& b);
  void merge_variable(Node* node, const std::string& name, Branch& a, Branch& b);
  Exit emit_rest_if_staying(const Body& body, size_t from);
  SsaValue* emit_choice(const Condition& condition, FunctionRef<SsaValue*()> if_true,
                        FunctionRef<SsaValue*()> if_false, Span span);
  Exit emit_while(const Stmt& s);
  Exit emit_for(const Stmt& s);
  Exit emit_loop(SsaValue* most, SsaValue* first, const Body& body,
                 std::vector<std::string> assigned, FunctionRef<void(SsaValue* trip)> head,
                 FunctionRef<SsaValue*()> again);
  void emit_items(const Iterable& iterable, const Expr& target, FunctionRef<void()> body,
                  Span span);

  // emit_expressions.cc
  SugaredValue emit(const Expr& e, const TypePtr& hint = nullptr);
  SsaValue* emit_value(const Expr& e, const TypePtr& hint = nullptr);
  SsaValue* value_of(const SugaredValue& sugared, Span span);
  SugaredValue lookup(const Expr& name);
  SsaValue* emit_unary(const Expr& e);
  SsaValue* emit_binary(const Expr& e);
  SsaValue* emit_list(const Expr& e, const TypePtr& hint);
  SsaValue* emit_dict(const Expr& e, const TypePtr& hint);
  SugaredValue emit_tuple(const Expr& e);
  SsaValue* emit_comprehension(const Expr& e, const TypePtr& hint);
  SsaValue* emit_ternary(const Expr& e, const TypePtr& hint);
  Iterable iterate(const SugaredValue& sugared, Span span);
  Iterable iterate_range(const std::vector<SsaValue*>& bounds, Span span);
  std::vector<SugaredValue> items_of(const SugaredValue& sugared, std::optional<size_t> expected,
                                     Span span);

  // emit_attributes.cc
  SugaredValue attribute(const SugaredValue& base, const std::string& name, Span span);
  SugaredValue attribute_of_value(SsaValue* value, const std::string& name, Span span);
  SugaredValue attribute_of_package(const std::string& path, const std::string& name, Span span);
  SugaredValue attribute_of_class(const TypePtr& type, const std::string& name, Span span);
  bool has_attribute(SsaValue* value, const std::string& name) const;

  // emit_calls.cc
  SugaredValue emit_call(const Expr& e, const TypePtr& hint);
  CallArguments emit_arguments(const Expr& call, size_t from = 1);
  SugaredValue call(const SugaredValue& callee, CallArguments arguments, Span span);
  SugaredValue call_operator(Symbol name, const CallArguments& arguments);
  // The overload that arguments of unknown type probably mean: what gives them is not supported, so
  // this is not going to run. Its results are known only as far as all candidates agree.
  std::optional<SugaredValue> call_guessed(std::span<const Operator* const> overloads,
                                           const CallArguments& arguments, bool allow_conversions);
  SugaredValue call_matched(const Operator& op, const Match& match);
  SsaValue* call_matched(Function* function, const Match& match);
  SsaValue* call_operator_value(const char* name, std::vector<SsaValue*> arguments);
  SugaredValue unsupported_operator(Symbol name, const CallArguments& arguments,
                                    std::string reason);
  SsaValue* call_function(Function* function, const CallArguments& arguments, Span span);
  SsaValue* call_method(SsaValue* self, const std::string& name, const CallArguments& arguments,
                        Span span);
  SsaValue* construct(const TypePtr& type, const CallArguments& arguments, Span span);
  Match match_function(const Schema& schema, const CallArguments& arguments,
                       const std::string& called, Span span);
  SugaredValue emit_special(SpecialForm form, const Expr& call);
  SsaValue* emit_annotate(const Expr& call);
  SsaValue* emit_unchecked_cast(const Expr& call);
  SsaValue* emit_fork(const Expr& call);
  SsaValue* emit_cast(const Expr& call, const char* operator_name, const TypePtr& type);
  SugaredValue emit_iterable(SpecialForm form, const Expr& call);
  const std::string& string_literal(const Expr& e) const;
  void expect_arguments(const Expr& call, size_t least, size_t most) const;

  // emit_subscripts.cc
  SugaredValue emit_subscript(const Expr& e, const TypePtr& hint);
  SsaValue* item(SsaValue* container, SsaValue* index, const TypePtr& hint, Span span);
  SsaValue* tuple_item(SsaValue* tuple, SsaValue* index, Span span);
  SsaValue* slice(SsaValue* container, const Expr& slice, std::optional<int64_t> dim);
  SsaValue* tuple_slice(SsaValue* tuple, const Expr& slice);
  // The view that the ints, slices and None select, and the tensors that still have to index it.
  std::pair<SsaValue*, std::vector<SsaValue*>> index_tensor(SsaValue* tensor,
                                                            const Expr& subscript);
  SsaValue* list_of_indices(const std::vector<SsaValue*>& indices);
  void set_item(const Expr& target, SsaValue* value);

  CompilationUnit& unit_;
  Builder builder_;
  Environment env_;
  TypePtr declared_return_;  // null: inferred
  bool early_returns_ = false;
  int loop_depth_ = 0;
  // Of the assignment at hand: values from this id on are its own and take the name of its target.
  size_t first_own_value_ = 0;
};

}  // namespace torchlet::script
