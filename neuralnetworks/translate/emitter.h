// Adds the nodes that compute a model's operations to a graph.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "neuralnetworks/operations/call.h"

namespace torchlet::nn {

// What an operator is called with: a value of the graph, a constant, or a list of either.
class Arg {
 public:
  Arg(SsaValue* value) : value_(value) {}
  Arg(Value constant) : constant_(std::move(constant)) {}
  Arg(std::nullptr_t) {}
  Arg(int64_t number) : constant_(number) {}
  Arg(int number) : constant_(int64_t{number}) {}
  Arg(double number) : constant_(number) {}
  Arg(bool flag) : constant_(flag) {}
  Arg(DType dtype) : constant_(static_cast<int64_t>(dtype)) {}
  Arg(const char* text) : constant_(text) {}
  Arg(std::initializer_list<Arg> items) : items_(items), is_list_(true) {}
  Arg(std::vector<Arg> items) : items_(std::move(items)), is_list_(true) {}
  // The number, if it is known.
  std::optional<int64_t> number() const {
    return !value_ && constant_.is_int() ? std::optional(constant_.to_int()) : std::nullopt;
  }
  Arg(const std::vector<SsaValue*>& items) : items_(items.begin(), items.end()), is_list_(true) {}
  // Of a list.
  const std::vector<Arg>& items() const { return items_; }

 private:
  friend class Emitter;
  SsaValue* value_ = nullptr;
  Value constant_;
  std::vector<Arg> items_;
  bool is_list_ = false;
};

// One for each model that a graph computes: the main one, and those that its control flow refers
// to.
class Emitter {
 public:
  // Nodes go to the end of `block`. `inputs` are the model's, as they are held
  // (translate/representation.h); those that are constants or omitted in `model` are not read.
  Emitter(Graph& graph, Block* block, const Model& model, std::span<SsaValue* const> inputs,
          SsaValue* loop_timeout);

  // Translates all operations and gives the values of the model's outputs.
  std::vector<SsaValue*> translate();

  // ---- nodes ----

  // A call of an operator, "aten::add.Tensor", with its first arguments; the others have their
  // defaults. The results, or the one that there is.
  std::vector<SsaValue*> call_all(std::string_view op, std::vector<Arg> args);
  SsaValue* call(std::string_view op, std::vector<Arg> args);
  SsaValue* constant(const Value& value);
  // The items of a list of tensors that has so many.
  std::vector<SsaValue*> unpack(SsaValue* list, size_t count);
  Graph& graph() const { return graph_; }
  Block* block() const { return block_; }
  // Nanoseconds that a loop may take; an int.
  SsaValue* loop_timeout() const { return loop_timeout_; }

  // ---- operands ----

  // As it is held. A scalar that is known only in an execution has a value, too.
  SsaValue* value(uint32_t operand);
  SsaValue* value(const Call& call, std::string_view name) { return value(call.index(name)); }
  // As float32, whatever the type of the tensor.
  SsaValue* real(const Call& call, std::string_view name);
  SsaValue* to_real(SsaValue* held, const Operand& operand);
  // float32 as a tensor of that operand is held, rounded and clamped.
  SsaValue* from_real(SsaValue* real, const Operand& operand);

  void give(uint32_t operand, SsaValue* held);
  void give(const Call& call, SsaValue* held, size_t i = 0) { give(call.output_index(i), held); }
  void give_real(const Call& call, SsaValue* real, size_t i = 0) {
    give(call, from_real(real, call.output(i)), i);
  }

  // A size of a tensor in the layout of the model: a number if the model says it, else a node.
  Arg size(uint32_t operand, int64_t axis);
  // All of them, an int[], and how many there are.
  Arg sizes(uint32_t operand);
  Arg rank(uint32_t operand);

  // ---- images: operands of four dimensions, NHWC unless the argument `nchw` is true ----

  // As NCHW, which is a view of what is held.
  SsaValue* image(const Call& call, std::string_view name);
  SsaValue* real_image(const Call& call, std::string_view name) {
    return to_real(image(call, name), call.operand(name));
  }
  void give_image(const Call& call, SsaValue* nchw, size_t i = 0);
  void give_real_image(const Call& call, SsaValue* nchw, size_t i = 0) {
    give_image(call, from_real(nchw, call.output(i)), i);
  }
  // For what treats all elements alike: the operands, all of them as NCHW if that saves views, and
  // then the result has to be given as an image too.
  bool as_images(std::span<const uint32_t> operands);
  SsaValue* image(uint32_t nhwc_operand);
  void give_image(uint32_t nhwc_operand, SsaValue* nchw) { known_[nhwc_operand].nchw = nchw; }

  // ---- what many operations share ----

  // FUSED_NONE, RELU, RELU1 or RELU6 of a tensor of any type.
  SsaValue* activate(SsaValue* tensor, int64_t fuse_code);
  // What is held as `from` says in the scale and zero point of `to`, of the same type.
  SsaValue* requantized(SsaValue* held, const Operand& from, const Operand& to);

 private:
  struct Known {
    SsaValue* plain = nullptr;  // in the layout of the model
    SsaValue* nchw = nullptr;   // of an NHWC image
  };

  SsaValue* argument(const Arg& arg, const TypePtr& type);

  Graph& graph_;
  Block* block_;
  const Model& model_;
  SsaValue* loop_timeout_;
  std::vector<Known> known_;  // by operand
};

// The activation that is left to compute for a quantized result, which holds no numbers outside of
// the range of its type: RELU in place of RELU6 if none is above 6, and so on.
int64_t needed_activation(int64_t fuse_code, const Operand& result);

}  // namespace torchlet::nn
