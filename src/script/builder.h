// Appends nodes to a graph: where, from which place of the source, with pooled constants.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"
#include "script/source.h"

namespace torchlet::script {

class CompilationUnit;

class Builder {
 public:
  // What the graph grows by counts towards what the unit allows.
  Builder(CompilationUnit& unit, Graph& graph, std::shared_ptr<const Source> source)
      : unit_(unit), graph_(graph), source_(std::move(source)), block_(graph.block()) {}

  Graph& graph() const { return graph_; }
  Block* block() const { return block_; }

  // Nodes made while one of these lives go to the end of `block`.
  class InBlock {
   public:
    InBlock(Builder& builder, Block* block) : builder_(builder), outer_(builder.block_) {
      builder_.block_ = block;
    }
    ~InBlock() { builder_.block_ = outer_; }
    InBlock(const InBlock&) = delete;
    InBlock& operator=(const InBlock&) = delete;

   private:
    Builder& builder_;
    Block* outer_;
  };

  // The place that the nodes from now on come from.
  Span span() const { return span_; }
  void set_span(Span span) { span_ = span; }
  SourceRange range() const { return {source_, span_.begin, span_.end}; }
  const std::shared_ptr<const Source>& source() const { return source_; }

  Node* node(Symbol kind, std::vector<SsaValue*> inputs = {});
  // A node with one output.
  SsaValue* value(Symbol kind, std::vector<SsaValue*> inputs, TypePtr type);

  // The constant; equal plain ones share a node at the start of the graph.
  SsaValue* constant(const Value& value, TypePtr type);
  SsaValue* constant(const Value& value);  // of the value's own type
  SsaValue* none() { return constant(Value(), types::none()); }
  SsaValue* integer(int64_t i) { return constant(Value(i), types::integer()); }
  SsaValue* boolean(bool b) { return constant(Value(b), types::boolean()); }
  // The value of a constant node, else null.
  static const Value* constant_value(const SsaValue* value);

  // A loop over a tuple is emitted once for every item; nested ones multiply. Throws when it gets
  // absurd.
  void count_unrolled();

  // Takes back what was made after mark(), constants apart.
  size_t mark() const { return made_.size(); }
  void roll_back(size_t mark);

  // Removes the constants that nobody uses.
  void drop_unused_constants();

 private:
  void check_types(Symbol kind, const std::vector<SsaValue*>& inputs) const;
  SsaValue* new_constant(const Value& value, TypePtr type);

  CompilationUnit& unit_;
  Graph& graph_;
  size_t counted_values_ = 0;
  std::shared_ptr<const Source> source_;
  Block* block_;
  Span span_;
  size_t unrolled_ = 0;
  std::vector<Node*> made_;
  std::vector<Node*> constants_;
  std::unordered_map<std::string, SsaValue*> pool_;
};

}  // namespace torchlet::script
