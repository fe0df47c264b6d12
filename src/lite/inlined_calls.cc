#include "lite/inlined_calls.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "graph/prim_kinds.h"
#include "lite/debug_info.h"
#include "lite/program.h"
#include "tensor/containers.h"

namespace torchlet::lite {
namespace {

// Of one instruction. Bounds what a file of little size makes of calls that share those inside.
constexpr int kMaxDepth = 100;
// Attributes of attributes.
constexpr int kMaxPath = 100;

// The body of a call, or of the function itself.
struct Scope {
  Scope* caller = nullptr;
  DebugCall call;
  const SsaValue* self = nullptr;  // the object whose method it is, if that is known
  std::map<std::tuple<int64_t, bool, std::string, std::string, std::string>, std::unique_ptr<Scope>>
      inner = {};
  std::unordered_map<std::string, const SsaValue*> attributes = {};  // read last, by name
  std::shared_ptr<const InlinedCall> inlined = nullptr;
};

// The attributes that lead from the first argument of the graph to the value.
std::optional<std::string> path_of(const SsaValue* value) {
  std::string path;
  for (int length = 0; value->node()->kind() == prim::kGetAttr && length < kMaxPath; ++length) {
    const std::string& name = value->node()->string_attribute("name");
    path = path.empty() ? name : name + "." + path;
    value = value->node()->input(0);
  }
  const auto& inputs = value->node()->graph()->inputs();
  if (inputs.empty() || value != inputs[0]) return std::nullopt;
  return path;
}

class CallFinder {
 public:
  CallFinder(Graph& graph, const BytecodeFunction& function, const Source& code,
             BytecodeProgram& program)
      : function_(function), code_(code), program_(program), debug_(*program.debug()) {
    if (!graph.inputs().empty()) top_.self = graph.inputs()[0];
    for (size_t at = 0; at != std::string::npos && at < code.text.size();) {
      begins_.push_back(static_cast<uint32_t>(at));
      const size_t end = code.text.find('\n', at);
      at = end == std::string::npos ? end : end + 1;
    }
  }

  void run(Block& block) {
    find(block, top_);
    for (const auto& [node, scope] : scopes_) node->set_inlined_call(inlined(*scope));
  }

 private:
  void find(Block& block, Scope& outer) {
    for (Node* node : block) {
      Scope* scope = scope_of(*node, outer);
      if (scope) {
        scopes_.emplace(node, scope);
        if (node->kind() == prim::kGetAttr) see_attribute(*node, *scope);
      }
      for (Block* inner : node->blocks()) find(*inner, scope ? *scope : outer);
    }
  }

  // Null if nothing is known of the node.
  Scope* scope_of(const Node& node, Scope& outer) {
    if (node.range().source.get() != &code_) return nullptr;
    const auto after = std::ranges::upper_bound(begins_, node.range().begin);
    if (after == begins_.begin()) return nullptr;
    const auto at = static_cast<size_t>(after - begins_.begin()) - 1;
    const DebugTable::Entry* entry = debug_.find(function_.debug_handle(at));
    if (!entry) return nullptr;
    const std::string text = text_of(debug_.original(entry->place));
    if (!entry->calls.is_tuple()) return likely_scope(text, outer);
    Scope* scope = scope_of(entry->calls);
    if (scope && !text.empty()) scope_of_text_[text] = scope;
    return scope;
  }

  // PyTorch drops the calls of branches and loops, and of what stands in them. It is of the
  // function whose text holds it; that was called last before, or holds the branch.
  Scope* likely_scope(const std::string& text, Scope& outer) {
    if (text.empty()) return &outer;
    if (text == own_text_) return &top_;
    const auto seen = scope_of_text_.find(text);
    return seen == scope_of_text_.end() ? &outer : seen->second;
  }

  // Which function of the original Python it is in.
  static std::string text_of(const SourceRange& place) {
    return place.empty() ? "" : place.source->name + ":" + std::to_string(place.source->first_line);
  }

  Scope* scope_of(const Value& calls) {
    const auto [found, is_new] = known_.try_emplace(&calls.tuple_ref());
    if (!is_new) return found->second;
    Scope* scope = &top_;
    Value at = calls, inner;
    DebugCall call;
    for (int depth = 0; scope && debug_.read_call(at, call, inner); at = inner) {
      scope = ++depth > kMaxDepth ? nullptr : enter(*scope, call);
    }
    return found->second = scope;
  }

  Scope* enter(Scope& caller, const DebugCall& call) {
    std::unique_ptr<Scope>& scope =
        caller.inner[{call.place, call.is_method, call.type, call.instance, call.function}];
    if (scope) return scope.get();
    if (!program_.count_inlined_call()) return nullptr;
    scope = std::make_unique<Scope>(Scope{&caller, call});
    if (&caller == &top_ && own_text_.empty()) own_text_ = text_of(call.range.original());
    if (call.instance == kOwnInstance) {
      scope->self = caller.self;
    } else if (const auto seen = caller.attributes.find(call.instance);
               seen != caller.attributes.end()) {
      // The object is read shortly before its method is called.
      const ClassType* type = seen->second->type()->as_class();
      if (type && type->name() == call.type) scope->self = seen->second;
    }
    return scope.get();
  }

  // What the caller read and the callee reads from is the callee's self.
  void see_attribute(const Node& node, Scope& scope) {
    scope.attributes[node.string_attribute("name")] = node.output();
    const Node* holder = node.input(0)->node();
    if (!scope.caller || holder->kind() != prim::kGetAttr) return;
    const auto made = scopes_.find(const_cast<Node*>(holder));
    if (made != scopes_.end() && made->second == scope.caller &&
        holder->string_attribute("name") == scope.call.instance) {
      scope.self = node.input(0);
    }
  }

  std::string path_below_caller(const Scope& scope) const {
    const std::string& instance = scope.call.instance;
    if (instance == kOwnInstance || instance == kUnknownInstance) return {};
    const std::optional<std::string> path = scope.self ? path_of(scope.self) : std::nullopt,
                                     above = scope.caller->self ? path_of(scope.caller->self)
                                                                : std::nullopt;
    if (!path || !above) return instance;
    if (above->empty()) return *path;
    const bool is_below = path->starts_with(*above + ".");
    return is_below ? path->substr(above->size() + 1) : instance;
  }

  std::shared_ptr<const InlinedCall> inlined(Scope& scope) {
    if (!scope.caller || scope.inlined) return scope.inlined;
    auto call = std::make_shared<InlinedCall>();
    call->caller = inlined(*scope.caller);
    call->range = scope.call.range;
    call->module_path = path_below_caller(scope);
    call->callee = program_.inlined_function(
        scope.call.is_method ? scope.call.type + "." + scope.call.function : scope.call.function,
        scope.call.is_method);
    return scope.inlined = std::move(call);
  }

  const BytecodeFunction& function_;
  const Source& code_;
  BytecodeProgram& program_;
  const DebugTable& debug_;
  std::vector<uint32_t> begins_;  // of the instructions in code_
  Scope top_;
  std::string own_text_;                                   // of top_
  std::unordered_map<std::string, Scope*> scope_of_text_;  // that was seen last
  std::unordered_map<Node*, Scope*> scopes_;
  std::unordered_map<const Tuple*, Scope*> known_;
};

}  // namespace

void add_inlined_calls(Graph& graph, const BytecodeFunction& function, const Source& code,
                       BytecodeProgram& program) {
  CallFinder(graph, function, code, program).run(*graph.block());
}

}  // namespace torchlet::lite
