// Makes a model smaller and faster before it is shipped, and shows that its answers stay
// (docs/optimize.md).
#pragma once

#include <torchlet/export.h>
#include <torchlet/module.h>
#include <torchlet/value.h>

#include <string>
#include <string_view>
#include <vector>

namespace torchlet {

// A pass of the list that optimize() chooses from.
struct PassInfo {
  std::string_view name, summary;
  bool is_default, for_mobile;  // does it run unless told otherwise; with `for_mobile`?
};
// Those that change what is written into files, in order.
TORCHLET_API std::vector<PassInfo> optimize_passes();

// Arguments of a call.
struct ProofCall {
  std::string method;
  std::vector<Value> inputs;
};

struct OptimizeOptions {
  // Names of passes, of which "default" and "none" stand for several and for no one.
  std::vector<std::string> passes = {"default"};
  std::vector<std::string> skip;  // passes that do not run
  // Also those that make PyTorch Mobile's packed layers and fused operators. What comes out takes
  // batches of images only (4 dimensions) where it has 2d convolutions.
  bool for_mobile = false;
  // Methods and attributes of the root that stay, beside forward() and bundled inputs; "all" is all
  // of them. If it is empty, methods stay that no other method of the root calls: those were
  // exported.
  std::vector<std::string> preserve;
  // Puts a model in training mode into evaluation mode. Otherwise its batch norms and dropouts
  // stay.
  bool eval = false;

  // The calls whose answers are compared; those that the model bundles if there are none.
  std::vector<ProofCall> calls;
  // What a result may differ by, as a part of the largest exact number of the same tensor. Folding
  // float32 weights rounds them anew (6e-8 each), which some hundred layers may make 1e-5; a fold
  // that is wrong is off by 1e-2 and more. Other results must be equal.
  double tolerance = 1e-4;
  // False: nothing is compared.
  bool prove = true;
};

struct OptimizeReport {
  struct Pass {
    std::string name;
    size_t nodes_added, nodes_removed;  // by all of its runs
    std::vector<std::string> notes;     // "features.0.1 folded into features.0.0"
  };
  struct Proof {
    std::string method, device;  // both models ran on that device
    size_t calls;
    double error;    // as OptimizeOptions::tolerance
    double max_abs;  // largest difference of two numbers
    double sqnr;     // in dB: energy of the answers to that of the differences; may be infinite
  };
  std::vector<std::string> methods;  // that were kept
  size_t nodes_before, nodes_after;  // of these methods, without constants
  std::vector<Pass> passes;          // that ran, in order
  std::vector<Proof> proofs;
};

struct OptimizedModule {
  Module module;  // as a file of it will be read: save() writes it
  OptimizeReport report;
};

// The module itself stays as it is, but its methods may run, with copies of its state.
//
// Error kInvalidArgument for an unknown pass or method, and if there is nothing to compare although
// `prove` is set; kRuntime if the answers differ by more than the tolerance; and as save().
TORCHLET_API OptimizedModule optimize(const Module& module, const OptimizeOptions& options = {});

}  // namespace torchlet
