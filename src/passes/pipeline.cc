#include "passes/pipeline.h"

#include "graph/clone.h"
#include "passes/analysis/alias.h"
#include "passes/analysis/constants.h"

namespace torchlet::passes {
namespace {

// Passes feed each other: so often at most. Calls are inlined a level in each round.
constexpr int kMaxRounds = 20, kMaxCallDepth = 200;
// That unrolled loops may add until what they compute is folded.
constexpr size_t kUnrolledNodes = 8192;
// For a file there is time, and the clock must not decide what is in it.
constexpr double kSecondsForFile = 600;

class Pipeline {
 public:
  Pipeline(PassState& state, const PassSet& passes) : state_(state), passes_(passes) {}

  void run() {
    state_.most_nodes = count_nodes(*state_.graph.block()) + kUnrolledNodes;
    for (int round = 0; round < kMaxCallDepth && stage(kInlining); ++round) {
    }
    state_.most_nodes = count_nodes(*state_.graph.block()) + kUnrolledNodes;
    for (int round = 0; round < kMaxRounds && stage_with_aliases(kSimplifying); ++round) {
    }
    for (int round = 0; round < kMaxRounds && stage(kRewriting); ++round) {
    }
    stage_with_aliases(kSharing);
    stage(kLowering);
    stage(kCleaning);
  }

 private:
  bool stage_with_aliases(Stage which) {
    const AliasAnalysis aliases(state_.graph, &state_.objects);
    state_.aliases = &aliases;
    const bool changed = stage(which);
    state_.aliases = nullptr;
    return changed;
  }

  bool stage(Stage which) {
    bool changed = false;
    for (const Pass& pass : all_passes()) {
      if (!(pass.stages & which) || !passes_.contains(pass) || !pass.run) continue;
      if (state_.log) state_.log->begin(pass.name, state_.graph);
      const bool has_changed = pass.run(state_);
      if (state_.log) state_.log->end(state_.graph, has_changed);
      changed |= has_changed;
    }
    return changed;
  }

  PassState& state_;
  const PassSet& passes_;
};

}  // namespace

Optimized optimize(Function& method, const Value& self, const WriteSet& writes,
                   const Request& request) {
  WriteSet all_writes = writes;
  for (int attempt = 0;; ++attempt) {
    KnownObjects objects(self, all_writes);
    const Graph* given = request.body_of ? request.body_of(method) : nullptr;
    std::unique_ptr<Graph> graph = clone_graph(given ? *given : method.graph());
    ChangeLog log;
    PassState state{.graph = *graph, .method = method, .objects = objects};
    state.for_file = request.for_file;
    state.keep_casts = request.for_file || request.keep_casts;
    state.body_of = request.body_of;
    if (state.keep_casts) state.fold_budget.seconds = kSecondsForFile;
    if (request.log) state.log = &log;
    Pipeline(state, request.passes).run();
    WriteSet own = AliasAnalysis(*graph, &objects).writes();
    // A method may change itself what was taken for given: then once more, knowing that.
    if (!objects.reads().conflicts(own)) {
      if (request.log) request.log->merge(log);
      return {clone_graph(*graph), std::move(objects.reads()), std::move(own)};
    }
    all_writes.merge(own);
    if (attempt == 3) all_writes.all = true;
  }
}

}  // namespace torchlet::passes
