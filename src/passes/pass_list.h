// Every pass by its name: what it does, when it runs and who runs it. This list is the only one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/function.h"
#include "passes/analysis/alias.h"
#include "passes/analysis/read_write_sets.h"
#include "passes/change_log.h"
#include "passes/fold.h"
#include "passes/inline.h"

namespace torchlet::passes {

// What the passes over one graph share.
struct PassState {
  Graph& graph;
  Function& method;
  KnownObjects& objects;
  FoldBudget fold_budget = {};
  size_t most_nodes = 0;  // of the graph while loops are unrolled
  // What is made may be written into a file: it has to mean the same to PyTorch, on other devices
  // and with gradients, and must not depend on the clock.
  bool for_file = false;
  // What is made will be printed as source, even if not `for_file`: casts stay that give a value
  // the type which its readers need.
  bool keep_casts = false;
  const AliasAnalysis* aliases = nullptr;  // of the graph; null before its calls are inlined
  BodyOf body_of = {};                     // of what is inlined
  ChangeLog* log = nullptr;                // who wants to know what changed; may be null
};

// When a pass runs. Within a stage passes run in the order of the list; the first three stages are
// repeated until nothing changes.
enum Stage : uint8_t {
  kInlining = 1,     // no aliases yet
  kSimplifying = 2,  // `aliases` are those of the round's begin
  kRewriting = 4,    // no aliases
  kSharing = 8,      // with aliases
  kLowering = 16,    // to the operators that will run; no aliases
  kCleaning = 32,    // no aliases
};

// Who asks for it unless told otherwise.
enum User : uint8_t {
  kAtLoad = 1,     // devices, before they cut a method into segments
  kForFiles = 2,   // `torchlet optimize`
  kForMobile = 4,  // the same with --for-mobile
};

struct Pass {
  std::string_view name, summary;
  unsigned stages, users;
  bool (*run)(PassState& state);  // did anything change?
};

std::span<const Pass> all_passes();

// Passes of the list, by their place in it.
class PassSet {
 public:
  static PassSet of(User user);
  void insert_all(const PassSet& others) { bits_ |= others.bits_; }
  // Error kInvalidArgument, naming those there are.
  void insert(std::string_view name);
  void erase(std::string_view name);
  bool contains(std::string_view name) const;
  bool contains(const Pass& pass) const;

 private:
  uint64_t bits_ = 0;
};

}  // namespace torchlet::passes
