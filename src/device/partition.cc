#include "device/partition.h"

#include "device/device_segment.h"

#include <algorithm>
#include <map>
#include <unordered_set>
#include <vector>

#include "base/error.h"
#include "base/selection.h"
#include "graph/module_path.h"
#include "graph/prim_kinds.h"
#include "passes/analysis/effects.h"

namespace torchlet::device {
namespace {

bool is_tensor_like(const Type& type) {
  if (type.is(TypeKind::kTensor)) return true;
  if (type.is(TypeKind::kOptional) || type.is(TypeKind::kList)) {
    return is_tensor_like(*type.element(0));
  }
  return false;
}

bool is_number_like(const Type& type) {
  switch (type.kind()) {
    case TypeKind::kInt:
    case TypeKind::kFloat:
    case TypeKind::kBool:
    case TypeKind::kString:
    case TypeKind::kNone:
    case TypeKind::kNumber:
      return true;
    case TypeKind::kOptional:
    case TypeKind::kList:
      return is_number_like(*type.element(0));
    case TypeKind::kTuple:
      return std::ranges::all_of(type.elements(),
                                 [](const TypePtr& item) { return is_number_like(*item); });
    default:
      return false;
  }
}

// The same of a value, or a dict of numbers that is known.
bool is_number(const SsaValue* value) {
  const Type& type = *value->type();
  return is_number_like(type) ||
         (type.is(TypeKind::kDict) && value->node()->kind() == prim::kConstant &&
          is_number_like(*type.element(0)) && is_number_like(*type.element(1)));
}

// Makes a list of tensors, or takes them out of lists.
bool is_container_node(const Node& node) {
  return prim::is_packing(node.kind()) ||
         (picks_items(node) && is_tensor_like(*node.input(0)->type()));
}

// Calls `visit` for the node, for those in its blocks, and for what holds the blocks' outputs.
template <typename Visit>
void visit_all(const Node& node, const Visit& visit) {
  visit(node);
  for (const Block* block : node.blocks()) {
    for (const Node* inner : *block) visit_all(*inner, visit);
    visit(*block->return_node());
  }
}

bool raises(const Block& block) {
  return block.last() && block.last()->kind() == prim::kRaiseException;
}

// May the output share memory with an input?
bool may_share(const Node& node) { return passes::returns_alias(node) || is_container_node(node); }

// Computes with numbers only: on known numbers it is done when the segment is compiled.
bool is_arithmetic(const Node& node) {
  if (!node.op() || node.op()->schema.is_vararg || !passes::is_pure(node)) return false;
  return std::ranges::all_of(node.inputs(), is_number) &&
         std::ranges::all_of(node.outputs(), is_number);
}

// Changes a list of numbers. If that is made in the same segment, nobody else sees it.
bool writes_numbers(const Node& node) {
  constexpr bool kHasLists =
      selection::has_operator("aten::append") || selection::has_operator("aten::_set_item");
  if constexpr (!kHasLists) return false;
  if (!node.op() || node.inputs().empty() || !passes::writes_inputs(node)) return false;
  const SsaValue& list = *node.input(0);
  const bool is_fresh = list.node()->kind() == prim::kListConstruct ||
                        (is_arithmetic(*list.node()) && !passes::returns_alias(*list.node()));
  return is_fresh && list.type()->is(TypeKind::kList) &&
         std::ranges::all_of(
             node.inputs(), [](const SsaValue* value) { return is_number_like(*value->type()); }) &&
         std::ranges::all_of(node.outputs(),
                             [](const SsaValue* value) { return value->users().empty(); });
}

// Makes a tensor of numbers: of known ones it is a constant of the segment.
bool is_factory(const Node& node) {
  if (!node.op() || node.op()->schema.is_vararg || !passes::is_pure(node)) return false;
  const auto is_number = [](const SsaValue* value) {
    return value->node()->kind() == prim::kConstant || is_number_like(*value->type());
  };
  return std::ranges::all_of(node.inputs(), is_number) &&
         std::ranges::all_of(node.outputs(), [](const SsaValue* value) {
           return value->type()->is(TypeKind::kTensor);
         });
}

// Asks for what is known of a tensor when a segment is specialised.
bool is_question(const Node& node) {
  if (!node.op() || !passes::is_pure(node)) return false;
  const LooksAt looks_at = node.op()->facts->looks_at;
  return looks_at != LooksAt::kElements && looks_at != LooksAt::kStrides &&
         std::ranges::all_of(node.outputs(),
                             [](const SsaValue* value) { return is_number_like(*value->type()); });
}

// Computes numbers of numbers and of what is known of tensors; a branch may raise.
bool is_numeric(const Block& block) {
  const auto is_number = [](const SsaValue* value) { return is_number_like(*value->type()); };
  if (raises(block)) return true;
  for (const Node* node : block) {
    const Symbol kind = node->kind();
    if (kind == prim::kIf || kind == prim::kLoop) {
      if (!std::ranges::all_of(node->blocks(), [](const Block* b) { return is_numeric(*b); })) {
        return false;
      }
    } else if (prim::is_packing(kind)) {
      if (!std::ranges::all_of(node->inputs(), is_number)) return false;
    } else if (kind != prim::kConstant && !is_arithmetic(*node) && !is_question(*node) &&
               !writes_numbers(*node)) {
      return false;
    }
  }
  return std::ranges::all_of(block.outputs(), is_number);
}

// Computed when a segment is specialised, for any device.
bool is_resolved(const Node& node) {
  return is_arithmetic(node) || is_factory(node) || is_question(node);
}

bool computes_tensors(const Node& node) {
  const auto is_view = [&] {
    return std::ranges::any_of(node.op()->schema.returns, &Argument::is_aliased);
  };
  return node.op() && !is_view() && !is_resolved(node) && !is_container_node(node) &&
         !node.outputs().empty() && is_tensor_like(*node.output()->type());
}

size_t count_operators(const Node& node) {
  size_t count = 0;
  visit_all(node, [&](const Node& inner) { count += computes_tensors(inner); });
  return count;
}

class Partitioner {
 public:
  // For the first of the devices.
  Partitioner(Graph& graph, std::span<const std::shared_ptr<Device>> devices,
              std::shared_ptr<PlacementLog> log, const SegmentKeys& left)
      : graph_(graph), devices_(devices), device_(devices[0]), log_(std::move(log)), left_(left) {}

  void block(Block& block) {
    std::vector<Node*> run;
    size_t num_tensors = 0, num_nodes = 0;  // of the run, with those inside
    const auto end_run = [&] {
      finish(std::move(run));
      run.clear();
      num_tensors = num_nodes = 0;
    };
    for (Node* node = block.first(); node;) {
      Node* const next = node->next();
      if (fits(*node)) {
        if (num_tensors >= kMaxTensors || num_nodes >= kMaxNodes) end_run();
        run.push_back(node);
        visit_all(*node, [&](const Node& inner) {
          ++num_nodes;
          num_tensors += !inner.outputs().empty() && is_tensor_like(*inner.output(0)->type());
        });
      } else if (node->kind() != prim::kConstant) {
        note_refusal(*node);
        end_run();
        for (Block* inner : node->blocks()) this->block(*inner);
      }
      node = next;
    }
    finish(std::move(run));
  }

 private:
  // Of a segment: nodes that give tensors, and nodes. Finding out what may leave one, and planning
  // it, takes time by the square of its length.
  static constexpr size_t kMaxTensors = 2048, kMaxNodes = 8192;

  // Is it a 0-d tensor that tracing made of a size, or computed from such? prim::NumToTensor is
  // where they begin; like numbers they are known when a segment is compiled.
  bool is_size_tensor(const SsaValue& value) const {
    return value.node()->kind() == prim::kConstant ||
           (value.type()->is(TypeKind::kTensor) && sizes_.contains(&value));
  }
  // Nodes are asked for in order.
  bool gives_size(const Node& node) {
    static const Symbol kNumToTensor("prim::NumToTensor");
    if (node.kind() != kNumToTensor && !is_size_arithmetic(node)) return false;
    sizes_.insert(node.outputs().begin(), node.outputs().end());
    return true;
  }
  bool is_size_arithmetic(const Node& node) const {
    if (!node.op()) return false;
    bool any = false;
    for (const SsaValue* input : node.inputs()) {
      if (!input->type()->is(TypeKind::kTensor)) continue;
      if (!is_size_tensor(*input)) return false;
      any = true;
    }
    const auto is_number = [](const SsaValue* value) { return is_number_like(*value->type()); };
    return any && passes::is_pure(node) &&
           (node.op()->facts->is_pointwise || std::ranges::all_of(node.outputs(), is_number));
  }

  // Is it computed of constant tensors and numbers alone? Then it is done when a segment is
  // compiled, if all that leads to it belongs to the same one. What a factory makes may be written
  // to later, so it is none of them. Nodes are asked for in order.
  bool gives_constant(const Node& node) {
    const auto is_constant = [&](const SsaValue* value) {
      return is_size_tensor(*value) || constants_.contains(value);
    };
    const auto is_tensor = [](const SsaValue* value) { return is_tensor_like(*value->type()); };
    for (const SsaValue* input : node.inputs()) {
      if (!is_constant(input) && !is_number_like(*input->type())) return false;
    }
    if (node.kind() != prim::kListConstruct &&
        (!node.op() || node.op()->schema.is_vararg || !passes::is_pure(node))) {
      return false;
    }
    if (std::ranges::none_of(node.inputs(), is_tensor) ||
        !std::ranges::all_of(node.outputs(), is_tensor)) {
      return false;
    }
    constants_.insert(node.outputs().begin(), node.outputs().end());
    return true;
  }

  bool fits(const Node& node) {
    if (gives_size(node) || gives_constant(node)) return true;
    if (node.kind() == prim::kIf) return is_known_branch(node);
    if (node.kind() == prim::kLoop) return is_numeric(*node.block(0));
    if (writes_numbers(node)) return true;
    if (is_container_node(node)) {
      return std::ranges::all_of(node.inputs(), [](const SsaValue* value) {
        return is_tensor_like(*value->type()) || is_number_like(*value->type());
      });
    }
    return gives_tensors(node) && (is_resolved(node) || device_->refusal(node).empty());
  }

  static bool gives_tensors(const Node& node) {
    return node.op() && passes::is_pure(node) &&
           std::ranges::all_of(node.outputs(), [](const SsaValue* value) {
             return is_tensor_like(*value->type()) || is_number_like(*value->type());
           });
  }

  // For the log: why an operator that a device might run stays outside.
  void note_refusal(const Node& node) {
    if (!node.op() || !computes_tensors(node)) return;
    std::string why = "it has effects, or its results vary";
    if (passes::is_pure(node)) why = device_->refusal(node);
    if (why.empty()) why = "it gives something else than tensors and numbers";
    log_->refuse(node, device_->name(), why);
  }

  // A branch on numbers is taken when the segment is compiled; the one that raises is not
  // compiled at all. What the device refuses may stand in one, as most branches are never taken:
  // else it refuses that call when it compiles the segment.
  bool is_known_branch(const Node& node) {
    return std::ranges::all_of(node.blocks(), [&](const Block* block) {
      if (raises(*block)) return true;
      for (const Node* inner : *block) {
        const bool is_value =
            inner->kind() == prim::kConstant || inner->kind() == prim::kUninitialized;
        if (!is_value && !fits(*inner) && !gives_tensors(*inner)) return false;
      }
      return std::ranges::all_of(block->outputs(), [](const SsaValue* value) {
        return is_tensor_like(*value->type()) || is_number_like(*value->type());
      });
    });
  }

  using NodeSet = std::unordered_set<const Node*>;

  static NodeSet all_nodes(const std::vector<Node*>& run) {
    NodeSet nodes;
    for (const Node* node : run) {
      visit_all(*node, [&](const Node& inner) {
        nodes.insert(&inner);
        for (const Block* block : inner.blocks()) {
          for (const SsaValue* parameter : block->inputs()) nodes.insert(parameter->node());
        }
      });
    }
    return nodes;
  }

  static bool escapes(const SsaValue& value, const NodeSet& inside) {
    return std::ranges::any_of(value.users(),
                               [&](const Node* user) { return !inside.contains(user); });
  }

  // A segment gives fresh tensors. So a view may only leave it if what it is a view of does not,
  // and was made inside.
  bool must_stay_outside(const Node& node, const NodeSet& inside) const {
    if (asks_outside(node, inside)) return true;
    if (reads_list_from_outside(node, inside) || writes_across(node, inside)) return true;
    if (!may_share(node)) return false;
    if (std::ranges::none_of(node.outputs(),
                             [&](const SsaValue* value) { return escapes(*value, inside); })) {
      return false;
    }
    if (is_container_node(node) || !node.blocks().empty()) return true;
    for (const SsaValue* output : node.outputs()) {
      if (!output->type()->is(TypeKind::kTensor)) return true;
    }
    return shares_with_outside(node, inside);
  }

  // A list that is made on one side and changed on the other, or changed here and seen there.
  static bool writes_across(const Node& node, const NodeSet& inside) {
    bool writes = std::ranges::any_of(node.outputs(), [&](const SsaValue* value) {
      return escapes(*value, inside) && std::ranges::any_of(value->users(), [](const Node* user) {
               return writes_numbers(*user);
             });
    });
    visit_all(node, [&](const Node& inner) {
      writes |= writes_numbers(inner) && !inside.contains(inner.input(0)->node());
    });
    return writes;
  }

  // How many tensors it holds is not known before it is there.
  static bool reads_list_from_outside(const Node& node, const NodeSet& inside) {
    bool reads = false;
    visit_all(node, [&](const Node& reader) {
      reads |= std::ranges::any_of(reader.inputs(), [&](const SsaValue* value) {
        return value->type()->is(TypeKind::kList) && is_tensor_like(*value->type()) &&
               value->node()->kind() != prim::kConstant && !inside.contains(value->node());
      });
    });
    return reads;
  }

  static bool shares_with_outside(const Node& view, const NodeSet& inside) {
    NodeSet seen = {&view};
    std::vector<const Node*> open = {&view};
    while (!open.empty()) {
      const Node* at = open.back();
      open.pop_back();
      // What a branch gives is what its blocks give.
      std::vector<SsaValue*> inputs = at->inputs();
      for (const Block* block : at->blocks()) {
        inputs.insert(inputs.end(), block->outputs().begin(), block->outputs().end());
      }
      for (const SsaValue* input : inputs) {
        if (!is_tensor_like(*input->type())) continue;
        if (!inside.contains(input->node()) || escapes(*input, inside)) return true;
        // Another view of the same memory may leave as well.
        for (const Node* user : input->users()) {
          if (user != at && may_share(*user)) return true;
        }
        if (may_share(*input->node()) && seen.insert(input->node()).second) {
          open.push_back(input->node());
        }
      }
    }
    return false;
  }

  // Is its number taken from a tensor that is made outside? Then the segment cannot know it.
  bool asks_outside(const Node& node, const NodeSet& inside) const {
    return !node.outputs().empty() && sizes_.contains(node.output(0)) &&
           std::ranges::any_of(node.inputs(), [&](const SsaValue* input) {
             return input->type()->is(TypeKind::kTensor) &&
                    input->node()->kind() != prim::kConstant && !inside.contains(input->node());
           });
  }

  // Moves to before the run what asks outside and needs nothing of what is inside.
  void hoist_questions(std::vector<Node*>& run, NodeSet& inside) const {
    const auto hoists = [&](const Node& node) {
      return asks_outside(node, inside) &&
             std::ranges::none_of(node.inputs(), [&](const SsaValue* input) {
               return inside.contains(input->node());
             });
    };
    NodeSet hoisted;
    for (const Node* node : run) {
      if (!hoists(*node)) continue;
      hoisted.insert(node);
      inside.erase(node);  // what asks it in turn may go, too
    }
    hoist(hoisted, run, inside);
  }

  // Moves to before the run what takes a part of a tensor from outside at a place that each run
  // tells, as x[:, t] in a loop over t: a segment is compiled for the numbers that it gets.
  void hoist_places(std::vector<Node*>& run, NodeSet& inside) const {
    constexpr bool kHasPlaces = selection::has_operator("aten::select") ||
                                selection::has_operator("aten::slice") ||
                                selection::has_operator("aten::narrow");
    if constexpr (!kHasPlaces) return;
    NodeSet ready, varying, hoisted;  // what needs nothing of the run; what of it varies
    const auto varies = [&](const SsaValue* value) {
      return is_number(value) && (varying.contains(value->node()) || is_parameter(*value));
    };
    for (const Node* node : run) {
      if (!is_arithmetic(*node) && !is_view(*node)) continue;
      const auto is_ready = [&](const SsaValue* input) {
        return !inside.contains(input->node()) || ready.contains(input->node());
      };
      if (!std::ranges::all_of(node->inputs(), is_ready)) continue;
      ready.insert(node);
      if (std::ranges::any_of(node->inputs(), varies)) varying.insert(node);
    }
    for (size_t i = run.size(); i-- > 0;) {
      const Node* node = run[i];
      const bool is_place = is_view(*node) && varying.contains(node);
      if (!is_place && !hoisted.contains(node)) continue;
      hoisted.insert(node);
      for (const SsaValue* input : node->inputs()) {
        if (inside.contains(input->node())) hoisted.insert(input->node());
      }
    }
    hoist(hoisted, run, inside);
  }

  // Is it a number that a loop or whoever calls the method tells?
  static bool is_parameter(const SsaValue& value) {
    const auto& parameters = value.node()->owner()->inputs();
    return std::ranges::find(parameters, &value) != parameters.end();
  }

  static bool is_view(const Node& node) {
    return node.op() && passes::is_pure(node) && node.outputs().size() == 1 &&
           node.output()->type()->is(TypeKind::kTensor) && node.op()->schema.returns[0].is_aliased;
  }

  // Moves nodes of the run to before it, in order.
  static void hoist(const NodeSet& hoisted, std::vector<Node*>& run, NodeSet& inside) {
    std::vector<Node*> rest, moved;
    for (Node* node : run) (hoisted.contains(node) ? moved : rest).push_back(node);
    if (!moved.empty() && !rest.empty()) {
      // Constants between them first, for what is hoisted may read them.
      for (Node *node = rest[0], *next; node != run.back(); node = next) {
        next = node->next();
        if (node->kind() == prim::kConstant) node->move_before(rest[0]);
      }
      for (Node* node : moved) node->move_before(rest[0]);
    }
    for (const Node* node : moved) inside.erase(node);
    run = std::move(rest);
  }

  // Splits a run where something has to stay outside, and makes segments of the rest.
  void finish(std::vector<Node*> run) {
    NodeSet inside = all_nodes(run);
    hoist_questions(run, inside);
    hoist_places(run, inside);
    const auto drop = [&](const Node* dropped) {
      visit_all(*dropped, [&](const Node& node) {
        inside.erase(&node);
        for (const Block* block : node.blocks()) {
          for (const SsaValue* parameter : block->inputs()) inside.erase(parameter->node());
        }
      });
    };
    // Of a node that stays outside, what is inside may still become segments.
    const auto leave = [&](Node* node) {
      drop(node);
      for (Block* inner : node->blocks()) block(*inner);
    };
    for (;;) {
      const auto is_number = [](const Node* node) {
        return is_arithmetic(*node) || writes_numbers(*node) || is_container_node(*node) ||
               (!node->blocks().empty() && count_operators(*node) == 0);
      };
      while (!run.empty() && (is_number(run.back()) || is_factory(*run.back()) ||
                              must_stay_outside(*run.back(), inside))) {
        leave(run.back());
        run.pop_back();
      }
      // Lists of tensors come with what reads them.
      const auto is_list = [](const Node* node) {
        return is_container_node(*node) && !node->outputs().empty() &&
               is_tensor_like(*node->output(0)->type());
      };
      const auto first = std::ranges::find_if_not(
          run, [&](const Node* node) { return is_number(node) && !is_list(node); });
      std::for_each(run.begin(), first, leave);
      run.erase(run.begin(), first);
      if (run.empty()) return;
      const auto stays = std::ranges::find_if(
          run, [&](const Node* node) { return must_stay_outside(*node, inside); });
      if (stays == run.end()) break;
      std::for_each(run.begin(), stays, drop);
      finish({run.begin(), stays});
      leave(*stays);
      run.erase(run.begin(), stays + 1);
    }
    size_t operators = 0;
    for (const Node* node : run) operators += count_operators(*node);
    if (operators == 0) return;
    if (operators < device_->entry_cost().least_operators) {
      for (const Node* node : run) {
        log_->refuse(*node, device_->name(), "too few operators to pay for entering the device");
      }
      return;
    }
    const std::string key = next_key(run);
    if (left_.contains(key)) {
      for (const Node* node : run) {
        if (computes_tensors(*node)) log_->refuse(*node, device_->name(), kLeftByTuning);
      }
      return;
    }
    make_segment(run, key);
  }

  // The hash is FNV-1a.
  std::string next_key(const std::vector<Node*>& run) {
    uint64_t hash = 0xcbf29ce484222325;
    const auto add = [&hash](std::string_view text) {
      for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
      hash = (hash ^ 0xff) * 0x100000001b3;
    };
    for (const Node* node : run) {
      visit_all(*node, [&](const Node& inner) {
        add(inner.kind().str());
        if (!inner.range().empty()) {
          add(inner.range().source->name);
          add(std::to_string(inner.range().begin));
        }
        add(inlined_module_path(inner));
      });
    }
    const size_t number = num_alike_[hash]++;
    return format("%s %016llx %zu", device_->name(), static_cast<unsigned long long>(hash), number);
  }

  void make_segment(const std::vector<Node*>& run, const std::string& key) {
    const NodeSet inside = all_nodes(run);
    std::vector<SsaValue*> inputs;
    const auto add_inputs = [&](const Node& node) {
      for (SsaValue* input : node.inputs()) {
        if (inside.contains(input->node()) || input->node()->kind() == prim::kConstant) continue;
        if (std::ranges::find(inputs, input) == inputs.end()) inputs.push_back(input);
      }
    };
    for (const Node* node : run) visit_all(*node, add_inputs);
    Node* segment = graph_.create(prim::kSegment, inputs);
    // Constants between the nodes of the run stay where they are, before it.
    segment->insert_before(run.back());
    segment->set_range(run.front()->range());
    Block* block = segment->add_block();
    for (Node* node : run) node->move_to_end(block);
    for (const Node* node : run) {
      for (SsaValue* value : node->outputs()) {
        if (!escapes(*value, inside)) continue;
        SsaValue* output = segment->add_output(value->type(), value->name());
        if (sizes_.contains(value)) sizes_.insert(output);
        replace_outside(*value, output, inside);
        block->add_output(value);
      }
    }
    segment->set_segment(std::make_shared<DeviceSegment>(*segment, devices_, log_, key));
  }

  static void replace_outside(const SsaValue& value, SsaValue* by, const NodeSet& inside) {
    const std::vector<Node*> users = value.users();
    for (Node* user : users) {
      if (inside.contains(user)) continue;
      for (size_t i = 0; i < user->inputs().size(); ++i) {
        if (user->input(i) == &value) user->replace_input(i, by);
      }
    }
  }

  Graph& graph_;
  std::span<const std::shared_ptr<Device>> devices_;
  std::shared_ptr<Device> device_;
  std::shared_ptr<PlacementLog> log_;
  const SegmentKeys& left_;
  std::map<uint64_t, size_t> num_alike_;       // segments so far, by hash
  std::unordered_set<const SsaValue*> sizes_;  // what gives_size() says yes to, and numbers of it
  std::unordered_set<const SsaValue*> constants_;  // what gives_constant() says yes to
};

}  // namespace

void partition(Graph& graph, std::span<const std::shared_ptr<Device>> devices,
               std::shared_ptr<PlacementLog> log, const SegmentKeys& left) {
  for (size_t i = 0; i < devices.size(); ++i) {
    Partitioner(graph, devices.subspan(i), log, left).block(*graph.block());
  }
}

}  // namespace torchlet::device
