#include <algorithm>
#include <unordered_map>

#include "base/limits.h"
#include "base/selection.h"
#include "device/specialise/specialised_segment.h"
#include "device/specialise/viewed_output.h"
#include "graph/prim_kinds.h"
#include "ops/core/meta_call.h"
#include "passes/analysis/effects.h"
#include "tensor/containers.h"

namespace torchlet::device {

bool picks_items(const Node& node) {
  constexpr bool kHasItems = selection::has_operator("aten::__getitem__") ||
                             selection::has_operator("aten::slice") ||
                             selection::has_operator("aten::list");
  if constexpr (!kHasItems) return false;
  static const Symbol kKinds[] = {Symbol("aten::__getitem__"), Symbol("aten::slice"),
                                  Symbol("aten::add"), Symbol("aten::list")};
  return node.op() && std::ranges::find(kKinds, node.kind()) != std::end(kKinds) &&
         node.input(0)->type()->is(TypeKind::kList);
}

// Walks over a segment and keeps what depends on the elements of tensors.
class Specialiser {
 public:
  Specialiser(const Node& node, std::span<const Value> values)
      : node_(node), result_(node, values) {
    for (size_t i = 0; i < values.size(); ++i) {
      CallArgument input = values[i];
      if (values[i].is_tensor()) {
        input = new_tensor(node.input(i), -1, -1);
        result_.descriptions_.back() = torchlet::device::describe(values[i].to_tensor());
      }
      result_.inputs.push_back(input);
      set(node.input(i), std::move(input));
    }
  }

  SpecialisedSegment run() {
    const Block& body = *node_.block(0);
    block(body);
    for (size_t i = 0; i < body.outputs().size(); ++i) {
      const CallArgument value = get(body.outputs()[i]);
      use(value);
      result_.outputs.push_back({value, is_viewed(*node_.output(i))});
    }
    return std::move(result_);
  }

 private:
  CallArgument get(const SsaValue* value) const {
    // Constants may lie anywhere before.
    if (value->node()->kind() == prim::kConstant) return value->node()->value_attribute("value");
    const auto found = values_.find(value);
    if (found == values_.end()) decline("a value that is not there");
    return found->second;
  }
  void set(const SsaValue* value, CallArgument argument) {
    values_.insert_or_assign(value, std::move(argument));
  }

  CallArgument new_tensor(const SsaValue* value, int item, int producer) {
    result_.tensors.push_back({value, item, producer, {}});
    result_.descriptions_.emplace_back();
    return CallArgument::tensor(static_cast<ValueId>(result_.tensors.size() - 1));
  }

  // By the call that is made next, or by the outputs.
  void use(const CallArgument& argument) {
    if (argument.is_tensor()) {
      result_.tensors[static_cast<size_t>(argument.id())].users.push_back(
          static_cast<int>(result_.calls.size()));
    }
    for (const CallArgument& item : argument.items()) use(item);
  }

  void block(const Block& block) {
    for (const Node* node : block) {
      if (node->kind() == prim::kConstant) continue;
      if (node->kind() == prim::kUninitialized) {
        set(node->output(), Value());  // what a branch that raises would give
      } else if (node->kind() == prim::kIf) {
        branch(*node);
      } else if (node->kind() == prim::kLoop) {
        loop(*node);
      } else if (node->kind() == prim::kSegment) {
        inner_segment(*node);
      } else if (node->kind() == prim::kListConstruct || node->kind() == prim::kTupleConstruct) {
        pack(*node);
      } else if (node->kind() == prim::kListUnpack || node->kind() == prim::kTupleUnpack) {
        unpack(*node);
      } else {
        call(*node);
      }
    }
  }

  // Of a later device, which gets it if this one refuses.
  void inner_segment(const Node& node) {
    const Block& body = *node.block(0);
    block(body);
    for (size_t i = 0; i < node.outputs().size(); ++i) set(node.output(i), get(body.outputs()[i]));
  }

  void branch(const Node& node) {
    const CallArgument condition = get(node.input(0));
    if (!condition.is_known()) decline("a branch on what is not known");
    const Block& taken = *node.block(condition.known().to_bool() ? 0 : 1);
    block(taken);
    for (size_t i = 0; i < node.outputs().size(); ++i) {
      set(node.output(i), get(taken.outputs()[i]));
    }
  }

  // Of numbers.
  void loop(const Node& node) {
    const Block& body = *node.block(0);
    std::vector<CallArgument> state;  // again, carried...
    for (size_t i = 1; i < node.inputs().size(); ++i) state.push_back(get(node.input(i)));
    const auto number = [](const CallArgument& argument) {
      if (!argument.is_known()) decline("a loop of what is not known");
      return argument.known();
    };
    const int64_t most = number(get(node.input(0))).to_int();
    for (int64_t trip = 0; trip < most && number(state[0]).to_bool(); ++trip) {
      if (++num_trips_ > kMostTrips) decline("a long loop");
      set(body.inputs()[0], Value(trip));
      for (size_t i = 1; i < state.size(); ++i) set(body.inputs()[i], std::move(state[i]));
      block(body);
      for (size_t i = 0; i < state.size(); ++i) state[i] = get(body.outputs()[i]);
    }
    for (size_t i = 1; i < state.size(); ++i) set(node.output(i - 1), std::move(state[i]));
  }

  void pack(const Node& node) {
    std::vector<CallArgument> items;
    for (const SsaValue* input : node.inputs()) {
      items.push_back(get(input));
      // Lists of the same list twice, many levels of them, would be 2^n arguments.
      if (items.back().is_list()) decline("a list of lists");
    }
    set_list(node.output(), std::move(items));
  }

  void set_list(const SsaValue* value, std::vector<CallArgument> items) {
    const TypePtr& type = value->type();
    if (!type->is(TypeKind::kList) || !std::ranges::all_of(items, &CallArgument::is_known)) {
      return set(value, CallArgument::list(std::move(items)));
    }
    std::vector<Value> values;
    for (const CallArgument& item : items) values.push_back(item.known());
    set(value, make_list(type->element(0), std::move(values)));
  }

  static std::vector<CallArgument> items_of(const CallArgument& list) {
    std::vector<CallArgument> items = list.items();
    if (list.is_known()) {
      const Value& known = list.known();
      for (const Value& item : known.is_tuple() ? known.tuple_ref().items : known.to_list()) {
        items.emplace_back(item);
      }
    }
    return items;
  }

  // Where the operator puts the places of items tells where it puts the items.
  void pick(const Call& call) {
    std::vector<CallArgument> items, picked;
    std::vector<Value> arguments, result(1);
    for (size_t i = 0; i < call.arguments.size(); ++i) {
      const CallArgument& argument = call.arguments[i];
      if (!call.op->schema.arguments[i].type->is(TypeKind::kList)) {
        arguments.push_back(call.known(i));
        continue;
      }
      std::vector<Value> places;
      for (CallArgument& item : items_of(argument)) {
        places.emplace_back(static_cast<int64_t>(items.size()));
        items.push_back(std::move(item));
      }
      arguments.push_back(Value::list(std::move(places)));
    }
    if (items.size() > kMostItems) decline("a long list");
    call.op->call(arguments, result);
    const auto item_at = [&](const Value& place) {
      return items[static_cast<size_t>(place.to_int())];
    };
    const SsaValue* output = call.node->output();
    if (!result[0].is_list()) return set(output, item_at(result[0]));
    for (const Value& place : result[0].list_ref().items) picked.push_back(item_at(place));
    set_list(output, std::move(picked));
  }

  void unpack(const Node& node) {
    std::vector<CallArgument> items = items_of(get(node.input(0)));
    if (items.size() != node.outputs().size()) decline("a list of another length");
    for (size_t i = 0; i < items.size(); ++i) set(node.output(i), std::move(items[i]));
  }

  void call(const Node& node) {
    if (!node.op()) decline(node.kind().str() + " in a segment");
    const bool writes = passes::writes_inputs(node);
    if (!writes && !passes::is_pure(node)) decline(node.kind().str() + " must run each time");
    Call call{&node, node.op(), {}, {}};
    for (const SsaValue* input : node.inputs()) call.arguments.push_back(get(input));
    const auto& parameters = node.op()->schema.arguments;
    for (size_t i = call.arguments.size(); i < parameters.size(); ++i) {
      call.arguments.emplace_back(parameters[i].default_value.value_or(Value()));
    }
    if (writes) return write(call);
    if (picks_items(node) && !std::ranges::all_of(call.arguments, &CallArgument::is_known)) {
      return pick(call);
    }
    std::vector<Value> known;
    if (is_known_before_the_run(call)) {
      known = compute(call);
      if (!is_large_factory(call, known)) {
        for (size_t i = 0; i < known.size(); ++i) set(node.output(i), std::move(known[i]));
        return;
      }
    }
    for (CallArgument& argument : call.arguments) {
      use(argument);
      // A list as it is now.
      if (argument.is_known() && argument.known().is_list()) {
        const List& list = argument.known().list_ref();
        argument = make_list(list.element_type, list.items);
      }
    }
    for (size_t i = 0; i < node.outputs().size(); ++i) {
      call.outputs.push_back(output_of(call, i));
      set(node.output(i), call.outputs.back());
      if (!known.empty()) {
        result_.descriptions_.back() = torchlet::device::describe(known[i].to_tensor());
      }
    }
    result_.calls.push_back(std::move(call));
  }

  // To a list of numbers, which belongs to the segment.
  void write(const Call& call) {
    std::vector<Value> arguments, results(call.node->outputs().size());
    for (size_t i = 0; i < call.arguments.size(); ++i) arguments.push_back(call.known(i));
    if (!arguments[0].is_list()) decline(call.kind().str() + " must run each time");
    call.op->call(arguments, results);
  }

  // Of known values, or of what is known of tensors.
  static bool is_known_before_the_run(const Call& call) {
    return call.op->facts->looks_at != LooksAt::kElements ||
           std::ranges::all_of(call.arguments, &CallArgument::is_known);
  }

  // What is made of known values stays in memory as long as what is compiled. If it is large, and
  // larger than what it is made of, it is made in each run instead.
  static bool is_large_factory(const Call& call, const std::vector<Value>& results) {
    constexpr int64_t kLarge = int64_t{1} << 20;  // bytes
    const auto bytes_of = [](const Value& value) {
      return !value.is_tensor()
                 ? 0
                 : value.tensor_impl()->numel *
                       static_cast<int64_t>(element_size(value.tensor_impl()->dtype));
    };
    int64_t given = 0, made = 0;
    for (const CallArgument& argument : call.arguments) {
      if (argument.is_tensor() || argument.is_list()) return false;
      given += bytes_of(argument.known());
      if (!argument.known().is_list()) continue;
      for (const Value& item : argument.known().list_ref().items) given += bytes_of(item);
    }
    for (const Value& result : results) made += bytes_of(result);
    return made > given + kLarge;
  }

  std::vector<Value> compute(const Call& call) {
    std::vector<Value> arguments, results(call.node->outputs().size());
    for (const CallArgument& argument : call.arguments) {
      arguments.push_back(result_.meta_value(argument));
    }
    call.op->call(arguments, results);
    return results;
  }

  // Of a call whose place is the next.
  CallArgument output_of(const Call& call, size_t index) {
    const SsaValue* output = call.node->output(index);
    const int producer = static_cast<int>(result_.calls.size());
    const Type& type = *output->type();
    if (type.is(TypeKind::kTensor)) return new_tensor(output, -1, producer);
    if (!type.is(TypeKind::kList) || !type.element(0)->is(TypeKind::kTensor)) {
      decline(call.kind().str() + " gives a value of type " + type.str() +
              ", which is not known before the run");
    }
    std::vector<CallArgument> items;
    const size_t length = result_.list_length(call, index);
    for (size_t i = 0; i < length; ++i) {
      items.push_back(new_tensor(output, static_cast<int>(i), producer));
    }
    return CallArgument::list(std::move(items));
  }

  static constexpr int64_t kMostTrips = 4096;  // of all loops
  static constexpr size_t kMostItems = 4096;   // of lists that an operator reads

  const Node& node_;
  SpecialisedSegment result_;
  std::unordered_map<const SsaValue*, CallArgument> values_;
  int64_t num_trips_ = 0;
};

// ---- what the tensors are ----

bool SpecialisedSegment::is_described(const CallArgument& argument) const {
  if (argument.is_tensor()) return descriptions_[static_cast<size_t>(argument.id())].has_value();
  return std::ranges::all_of(argument.items(),
                             [this](const CallArgument& item) { return is_described(item); });
}

Value SpecialisedSegment::meta_value(const CallArgument& argument) {
  if (argument.is_known()) return argument.known();
  if (argument.is_tensor()) return Value(meta_tensor(describe(argument.id())));
  std::vector<Value> items;
  for (const CallArgument& item : argument.items()) items.push_back(meta_value(item));
  return Value::list(std::move(items));
}

std::optional<std::vector<Value>> SpecialisedSegment::run_on_meta(const Call& call) {
  std::vector<Value> arguments;
  for (const CallArgument& argument : call.arguments) {
    if (!is_described(argument)) return std::nullopt;
    arguments.push_back(meta_value(argument));
  }
  return ops::call_on_meta(*call.op, std::move(arguments));
}

// False if it cannot be told without a run.
bool SpecialisedSegment::describe_outputs(const Call& call) {
  const auto results = run_on_meta(call);
  if (!results) return false;
  const auto set = [&](const CallArgument& output, const Value& value) {
    if (value.is_tensor()) {
      descriptions_[static_cast<size_t>(output.id())] =
          torchlet::device::describe(value.to_tensor());
    }
  };
  for (size_t i = 0; i < results->size(); ++i) {
    const CallArgument& output = call.outputs[i];
    if (output.is_tensor()) set(output, (*results)[i]);
    for (size_t k = 0; k < output.items().size(); ++k) {
      set(output.items()[k], (*results)[i].list_ref().items[k]);
    }
  }
  return true;
}

// What is made of known values is described as it was made: nothing of it is on meta.
void SpecialisedSegment::describe_calls(size_t end) {
  for (; num_described_ < end; ++num_described_) {
    const Call& call = calls[num_described_];
    const auto is_told = [this](const CallArgument& output) { return is_described(output); };
    if (!std::ranges::all_of(call.outputs, is_told)) describe_outputs(call);
  }
}

const TensorDescription* SpecialisedSegment::description_on_meta(ValueId id) {
  describe_calls(calls.size());
  const auto& description = descriptions_[static_cast<size_t>(id)];
  return description ? &*description : nullptr;
}

void SpecialisedSegment::describe_again(const Call& call) {
  if (!describe_outputs(call)) decline(call.kind().str() + " cannot be told without a run");
}

const Recording& SpecialisedSegment::recording() {
  if (!recording_) recording_ = record(*node_, values_);
  return *recording_;
}

const TensorDescription& SpecialisedSegment::describe(ValueId id) {
  auto& description = descriptions_[static_cast<size_t>(id)];
  const Tensor& tensor = tensors[static_cast<size_t>(id)];
  if (!description) describe_calls(static_cast<size_t>(tensor.producer + 1));
  if (!description) {
    const auto found = recording().find(tensor.value);
    const auto item = static_cast<size_t>(std::max(tensor.item, 0));
    if (found == recording().end() || item >= found->second.size()) {
      decline(tensor.value->node()->kind().str() + " gives something else than a tensor");
    }
    description = found->second[item];
  }
  return *description;
}

size_t SpecialisedSegment::list_length(const Call& call, size_t output) {
  describe_calls(calls.size());
  if (const auto results = run_on_meta(call)) return (*results)[output].list_ref().items.size();
  const auto found = recording().find(call.node->output(output));
  return found == recording().end() ? 0 : found->second.size();
}

// ---- parts ----

namespace {

// Calls visit(id) for each tensor of an argument.
template <typename Visit>
void visit_tensors(const CallArgument& argument, const Visit& visit) {
  if (argument.is_tensor()) visit(argument.id());
  for (const CallArgument& item : argument.items()) visit_tensors(item, visit);
}

}  // namespace

SpecialisedSegment SpecialisedSegment::part(size_t begin, size_t end) {
  SpecialisedSegment part(*node_, values_);
  part.tensors = tensors;
  part.calls.assign(calls.begin() + static_cast<ptrdiff_t>(begin),
                    calls.begin() + static_cast<ptrdiff_t>(end));
  const auto is_inside = [&](int place) {
    return place >= static_cast<int>(begin) && place < static_cast<int>(end);
  };
  std::vector<bool> is_input(tensors.size());
  for (const Call& call : part.calls) {
    for (const CallArgument& argument : call.arguments) {
      visit_tensors(argument, [&](ValueId id) {
        const auto at = static_cast<size_t>(id);
        if (is_inside(tensors[at].producer) || is_input[at]) return;
        is_input[at] = true;
        describe(id);
        part.inputs.push_back(CallArgument::tensor(id));
      });
    }
  }
  part.descriptions_ = descriptions_;
  for (size_t id = 0; id < tensors.size(); ++id) {
    Tensor& tensor = part.tensors[id];
    tensor.producer = is_inside(tensor.producer) ? tensor.producer - static_cast<int>(begin) : -1;
    bool leaves = false;
    for (int& user : tensor.users) {
      leaves |= !is_inside(user);
      user = is_inside(user) ? user - static_cast<int>(begin) : static_cast<int>(end - begin);
    }
    if (tensor.producer >= 0 && leaves) {
      part.outputs.push_back({CallArgument::tensor(static_cast<ValueId>(id)), true});
    }
  }
  return part;
}

// ---- other calls ----

ValueId SpecialisedSegment::add_tensor(const SsaValue* value) {
  tensors.push_back({value, -1, -1, {}});
  descriptions_.emplace_back();
  return static_cast<ValueId>(tensors.size() - 1);
}

void SpecialisedSegment::replace_calls(std::vector<Call> others) {
  calls = std::move(others);
  num_described_ = calls.size();
  for (Tensor& tensor : tensors) {
    tensor.producer = -1;
    tensor.users.clear();
  }
  const auto use = [&](const CallArgument& argument, size_t place) {
    visit_tensors(argument, [&](ValueId id) {
      tensors[static_cast<size_t>(id)].users.push_back(static_cast<int>(place));
    });
  };
  for (size_t i = 0; i < calls.size(); ++i) {
    for (const CallArgument& argument : calls[i].arguments) use(argument, i);
    for (const CallArgument& output : calls[i].outputs) {
      visit_tensors(output, [&](ValueId id) {
        tensors[static_cast<size_t>(id)].producer = static_cast<int>(i);
      });
    }
  }
  for (const Output& output : outputs) use(output.value, calls.size());
}

SpecialisedSegment specialise(const Node& segment, std::span<const Value> inputs) {
  return Specialiser(segment, inputs).run();
}

}  // namespace torchlet::device
