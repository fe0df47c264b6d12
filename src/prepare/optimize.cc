#include <torchlet/optimize.h>

#include <torchlet/bundled_inputs.h>

#include <algorithm>
#include <map>
#include <unordered_set>

#include "api/loaded_model.h"
#include "base/error.h"
#include "graph/prim_kinds.h"
#include "passes/analysis/constants.h"
#include "passes/pipeline.h"
#include "prepare/draft.h"
#include "prepare/proof.h"
#include "prepare/prune.h"
#include "prepare/rewrite_graphs.h"
#include "prepare/training_mode.h"
#include "prepare/written_constants.h"
#include "tensor/containers.h"

namespace torchlet {
namespace {

using passes::ChangeLog;
using passes::PassSet;

constexpr std::string_view kFreeze = "freeze";

PassSet passes_of(const OptimizeOptions& options) {
  const PassSet by_default =
      PassSet::of(options.for_mobile ? passes::kForMobile : passes::kForFiles);
  PassSet chosen{};
  for (const std::string& name : options.passes) {
    if (name == "default") {
      chosen.insert_all(by_default);
    } else if (name != "none") {
      chosen.insert(name);
    }
  }
  for (const std::string& name : options.skip) chosen.erase(name);
  return chosen;
}

// ---- which methods stay ----

void add_callees(const Graph& graph, const Function* caller,
                 std::unordered_set<const Function*>& callees) {
  passes::for_each_node(*graph.block(), [&](const Node& node) {
    if (!node.has_attribute("function")) return;
    const Function* callee = node.function_attribute("function");
    if (callee != caller) callees.insert(callee);
  });
}

bool is_bundled_inputs_method(const std::string& name) {
  return name.find("bundled_input") != std::string::npos;
}

std::vector<std::string> methods_to_keep(const ClassType& type, const OptimizeOptions& options) {
  const auto is_asked_for = [&](const std::string& name) {
    return std::ranges::find(options.preserve, name) != options.preserve.end();
  };
  for (const std::string& name : options.preserve) {
    if (name == "all" || type.find_method(name) || type.find_attribute(name)) continue;
    fail(ErrorCode::kInvalidArgument,
         "the model has no method and no attribute '" + name.substr(0, 100) + "' to preserve");
  }
  std::unordered_set<const Function*> called;
  if (options.preserve.empty()) {
    for (const auto& [name, method] : type.methods()) add_callees(method->graph(), method, called);
  }
  std::vector<std::string> kept;
  for (const auto& [name, method] : type.methods()) {
    const bool is_exported = options.preserve.empty() && !called.contains(method);
    const bool is_special = name == "forward" || name == "__getstate__" || name == "__setstate__" ||
                            is_bundled_inputs_method(name);
    if (is_exported || is_special || is_asked_for("all") || is_asked_for(name)) {
      kept.push_back(name);
    }
  }
  return kept;
}

bool sets_attributes(const Graph& graph) {
  bool found = false;
  passes::for_each_node(*graph.block(),
                        [&](const Node& node) { found |= node.kind() == prim::kSetAttr; });
  return found;
}

// Takes those out of `kept` that hand out bundled inputs and call others with them, and adds what
// they need: left as they are, they go on calling forward(), which is in the file once.
std::vector<std::string> take_as_written(const ClassType& type, std::vector<std::string>& kept) {
  std::vector<std::string> taken;
  std::erase_if(kept, [&](const std::string& name) {
    if (!is_bundled_inputs_method(name)) return false;
    if (sets_attributes(type.find_method(name)->graph())) return false;
    taken.push_back(name);
    return true;
  });
  for (size_t i = 0; i < taken.size(); ++i) {
    const Function* caller = type.find_method(taken[i]);
    std::unordered_set<const Function*> callees;
    add_callees(type.find_method(taken[i])->graph(), caller, callees);
    for (const auto& [name, method] : type.methods()) {
      const bool is_there = std::ranges::count(kept, name) || std::ranges::count(taken, name);
      if (is_there || !callees.contains(method)) continue;
      (sets_attributes(method->graph()) ? kept : taken).push_back(name);
    }
  }
  return taken;
}

// ---- the work ----

struct Method {
  std::string name;
  passes::Optimized optimized;
  ChangeLog log;
};

class Optimizer {
 public:
  Optimizer(const Module& module, const OptimizeOptions& options,
            const prepare::GraphRewrite& rewrite)
      : module_(module),
        options_(options),
        rewrite_(rewrite),
        root_(LoadedModel::object_of(module)),
        type_(*root_.object_ref().type),
        passes_(passes_of(options)),
        kept_(methods_to_keep(type_, options)),
        as_written_(take_as_written(type_, kept_)) {}

  OptimizedModule run() {
    const LimitScope scope = LoadedModel::of(module_).program->limits->scope();
    run_passes();
    prepare::Draft draft(module_);
    for (const auto& [name, method] : type_.methods()) {
      if (!std::ranges::count(kept_, name) && !std::ranges::count(as_written_, name)) {
        draft.remove_method(name);
      }
    }
    const bool prunes = passes_.contains(kFreeze);
    if (prunes) prune_attributes(draft);
    std::vector<Graph*> graphs;
    for (Method& method : methods_) {
      graphs.push_back(method.optimized.graph.get());
      if (rewrite_) rewrite_(method.name, *graphs.back(), draft);
    }
    for (prepare::GivenAttribute& given : prepare::settle_constants(graphs, names_kept_)) {
      draft.set_attribute(given.name, std::move(given.type), std::move(given.value));
    }
    OptimizeReport report = make_report();
    for (Method& method : methods_) {
      draft.set_method(method.name, std::move(method.optimized.graph));
    }
    return {draft.finish(), std::move(report)};
  }

 private:
  // Each method's graph has to hold whatever the others write.
  void run_passes() {
    const passes::Request request{.passes = passes_, .for_file = true};
    passes::WriteSet writes;
    for (int attempt = 0;; ++attempt) {
      methods_.clear();
      passes::WriteSet all = writes;
      for (const std::string& name : kept_) {
        Method& method = methods_.emplace_back();
        method.name = name;
        passes::Request own = request;
        own.log = &method.log;
        method.optimized = passes::optimize(*type_.find_method(name), root_, writes, own);
        all.merge(method.optimized.writes);
      }
      const bool holds = std::ranges::none_of(
          methods_, [&](const Method& method) { return method.optimized.reads.conflicts(all); });
      if (holds) {
        writes_ = std::move(all);
        return;
      }
      writes = std::move(all);
      if (attempt == 3) writes.all = true;
    }
  }

  void prune_attributes(prepare::Draft& draft) {
    prepare::UsedAttributes used(root_, writes_);
    std::unordered_set<const Function*> all_kept;
    for (const std::string& name : kept_) all_kept.insert(type_.find_method(name));
    for (const std::string& name : as_written_) all_kept.insert(type_.find_method(name));
    for (const Method& method : methods_) used.add(*method.optimized.graph, all_kept);
    for (const std::string& name : as_written_) {
      used.add(type_.find_method(name)->graph(), all_kept);
    }
    names_kept_ =
        prepare::prune(draft, module_, used, [&](const std::string& name, const Value& /*value*/) {
          return name == "training" || is_preserved(name) || is_preserved("all");
        });
  }

  bool is_preserved(std::string_view name) const {
    return std::ranges::find(options_.preserve, name) != options_.preserve.end();
  }

  OptimizeReport make_report() const {
    OptimizeReport report{};
    ChangeLog log;
    for (const Method& method : methods_) {
      report.methods.push_back(method.name);
      report.nodes_before += passes::count_operations(type_.find_method(method.name)->graph());
      report.nodes_after += passes::count_operations(*method.optimized.graph);
      log.merge(method.log);
    }
    for (const passes::Pass& pass : passes::all_passes()) {
      const auto changes = log.changes().find(pass.name);
      if (changes == log.changes().end()) continue;
      const passes::ChangeLog::Changes& c = changes->second;
      report.passes.push_back({std::string(pass.name), c.nodes_added, c.nodes_removed, c.notes});
    }
    return report;
  }

  const Module& module_;
  const OptimizeOptions& options_;
  const prepare::GraphRewrite& rewrite_;
  const Value root_;
  const ClassType& type_;
  const PassSet passes_;
  std::vector<std::string> kept_;
  const std::vector<std::string> as_written_;
  std::vector<Method> methods_;
  passes::WriteSet writes_;
  std::unordered_set<std::string> names_kept_;
};

// ---- the proof ----

std::vector<ProofCall> calls_to_compare(const Module& module, const OptimizeOptions& options) {
  if (!options.calls.empty()) return options.calls;
  std::vector<ProofCall> calls;
  for (const auto& [name, info] : bundled_methods(module)) {
    for (std::vector<Value>& inputs : bundled_inputs(module, name)) {
      calls.push_back({name, std::move(inputs)});
    }
  }
  if (!calls.empty()) return calls;
  fail(ErrorCode::kInvalidArgument,
       "there is nothing to prove the result with: the model bundles no inputs; give inputs "
       "(--shape 1,3,224,224, --input FILE.npy), or pass --no-proof to write it unproved");
}

}  // namespace

std::vector<PassInfo> optimize_passes() {
  std::vector<PassInfo> infos;
  for (const passes::Pass& pass : passes::all_passes()) {
    if (!(pass.users & (passes::kForFiles | passes::kForMobile))) continue;
    infos.push_back({pass.name, pass.summary, (pass.users & passes::kForFiles) != 0,
                     (pass.users & passes::kForMobile) != 0});
  }
  return infos;
}

OptimizedModule prepare::optimize_and_rewrite(const Module& module, const OptimizeOptions& options,
                                              const GraphRewrite& rewrite) {
  return Optimizer(module, options, rewrite).run();
}

OptimizedModule optimize(const Module& module, const OptimizeOptions& options) {
  const Module original = prepare::working_copy(module, options.eval);
  OptimizedModule result = prepare::optimize_and_rewrite(original, options, {});
  if (options.prove) {
    result.report.proofs = prepare::prove(
        original, result.module, calls_to_compare(original, options), options.tolerance,
        "a larger --tolerance accepts it, --skip leaves a pass out");
  }
  return result;
}

}  // namespace torchlet
