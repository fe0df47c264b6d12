// From a method as it was written to the graph that runs.
#pragma once

#include <memory>

#include "graph/function.h"
#include "passes/analysis/read_write_sets.h"
#include "passes/pass_list.h"

namespace torchlet::passes {

struct Optimized {
  std::unique_ptr<Graph> graph;  // takes what the method takes, self first
  ReadSet reads;                 // it holds only as long as nobody writes this
  WriteSet writes;               // what running it may change
};

struct Request {
  PassSet passes = PassSet::of(kAtLoad);
  bool for_file = false;     // PassState::for_file
  ChangeLog* log = nullptr;  // of this method
  BodyOf body_of = {};       // of the method and of what it calls
  bool keep_casts = false;   // PassState::keep_casts
};

// The method of one object, inlined, frozen and folded; gives the same answers, and the same errors
// with the same places. The original graphs stay as they are. `writes` is what other methods may
// change. Thread-safe.
Optimized optimize(Function& method, const Value& self, const WriteSet& writes,
                   const Request& request = {});

}  // namespace torchlet::passes
