#include "passes/pipeline.h"

#include "graph/clone.h"
#include "passes/analysis/alias.h"
#include "passes/batch_norm.h"
#include "passes/common_values.h"
#include "passes/dead_code.h"
#include "passes/dicts.h"
#include "passes/fold.h"
#include "passes/freeze.h"
#include "passes/functionalise.h"
#include "passes/identities.h"
#include "passes/inline.h"
#include "passes/linear_bias.h"
#include "passes/lists.h"
#include "passes/padding.h"
#include "passes/properties.h"
#include "passes/ranks.h"
#include "passes/sink_into_branches.h"

namespace torchlet::passes {
namespace {

// Passes feed each other: so often at most. Calls are inlined a level in each round.
constexpr int kMaxRounds = 20, kMaxCallDepth = 200;

void run_passes(Graph& graph, Function& method, KnownObjects& objects) {
  FoldBudget fold_budget;
  for (int round = 0; round < kMaxCallDepth; ++round) {
    bool changed = freeze_plain(graph, objects);
    changed = fold_constants(graph, nullptr, fold_budget) || changed;
    changed = remove_dead_code(graph) || changed;
    changed = inline_calls(graph, method) || changed;
    if (!changed) break;
  }
  for (int round = 0; round < kMaxRounds; ++round) {
    const AliasAnalysis aliases(graph, &objects);
    bool changed = freeze_tensors(graph, objects, aliases);
    changed = fold_constants(graph, &aliases, fold_budget) || changed;
    changed = fold_ranks(graph) || changed;
    changed = fold_properties(graph) || changed;
    changed = merge_appends(graph) || changed;
    changed = forward_dict_items(graph) || changed;
    changed = remove_dead_code(graph) || changed;
    if (!changed) break;
  }
  remove_identities(graph);
  fold_batch_norms(graph);
  fold_padding(graph);
  fold_linear_biases(graph);
  {
    const AliasAnalysis aliases(graph, &objects);
    share_common_values(graph, aliases);
    functionalise(graph, aliases);
  }
  remove_dead_code(graph);
  sink_into_branches(graph);
}

}  // namespace

Optimized optimize(Function& method, const Value& self, const WriteSet& writes) {
  WriteSet all_writes = writes;
  for (int attempt = 0;; ++attempt) {
    KnownObjects objects(self, all_writes);
    std::unique_ptr<Graph> graph = clone_graph(method.graph());
    run_passes(*graph, method, objects);
    WriteSet own = AliasAnalysis(*graph, &objects).writes();
    // A method may change itself what was taken for given: then once more, knowing that.
    if (!objects.reads().conflicts(own)) {
      return {clone_graph(*graph), std::move(objects.reads()), std::move(own)};
    }
    all_writes.merge(own);
    if (attempt == 3) all_writes.all = true;
  }
}

}  // namespace torchlet::passes
