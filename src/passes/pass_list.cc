#include "passes/pass_list.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/selection.h"
#include "passes/activations.h"
#include "passes/add_relu.h"
#include "passes/attributes.h"
#include "passes/batch_norm.h"
#include "passes/common_values.h"
#include "passes/contained_calls.h"
#include "passes/conv1d.h"
#include "passes/dead_code.h"
#include "passes/dicts.h"
#include "passes/fold_written.h"
#include "passes/freeze.h"
#include "passes/functionalise.h"
#include "passes/identities.h"
#include "passes/ignored_terms.h"
#include "passes/inline.h"
#include "passes/join_last.h"
#include "passes/linear_bias.h"
#include "passes/lists.h"
#include "passes/packed_weights.h"
#include "passes/padding.h"
#include "passes/parallel_layers.h"
#include "passes/pool_first.h"
#include "passes/prepack.h"
#include "passes/properties.h"
#include "passes/ranks.h"
#include "passes/scale.h"
#include "passes/sink_into_branches.h"
#include "passes/unroll.h"

namespace torchlet::passes {
namespace {

constexpr unsigned kEverywhere = kAtLoad | kForFiles | kForMobile, kFiles = kForFiles | kForMobile;

bool freeze(PassState& s) {
  const bool changed = freeze_plain(s.graph, s.objects);
  return (s.aliases && freeze_tensors(s.graph, s.objects, *s.aliases)) || changed;
}

using RunFn = bool (*)(PassState& state);
// Of a pass that loading does without: a build for certain models prepares no files.
constexpr RunFn for_files(RunFn run) { return selection::kIsWhole ? run : nullptr; }

// In order.
constexpr Pass kAllPasses[] = {
    {"freeze", "attributes that no method writes become constants", kInlining | kSimplifying,
     kEverywhere, freeze},
    {"fold-constants", "what follows from constants is computed, and branches on it are taken",
     kInlining | kSimplifying, kEverywhere,
     [](PassState& s) { return fold_constants(s.graph, s.aliases, s.fold_budget, s.keep_casts); }},
    {"fold-written", "tensors that are made of constants and then written are computed",
     kSimplifying, kEverywhere,
     [](PassState& s) { return fold_written(s.graph, *s.aliases, s.fold_budget); }},
    {"ranks", "questions for numbers of dimensions that are known", kSimplifying, kEverywhere,
     [](PassState& s) { return fold_ranks(s.graph); }},
    {"properties", "questions for dtypes that the weights tell", kSimplifying, kEverywhere,
     [](PassState& s) { return fold_properties(s.graph, !s.for_file); }},
    {"unroll", "loops of few trips become what their bodies do one after the other",
     kInlining | kSimplifying, kAtLoad,
     [](PassState& s) {
       return unroll_loops(s.graph, s.fold_budget, s.most_nodes, /*that_pick=*/!s.aliases);
     }},
    {"lists", "lists that are filled item by item are made at once", kSimplifying, kEverywhere,
     [](PassState& s) { return merge_writes(s.graph); }},
    {"dicts", "what is put into a dict and read again is passed on directly", kSimplifying,
     kEverywhere, [](PassState& s) { return forward_dict_items(s.graph); }},
    {"attributes", "what is stored in an attribute and read again is passed on directly",
     kSimplifying, kAtLoad, [](PassState& s) { return forward_attributes(s.graph, s.objects); }},
    {"dead-code", "what nobody reads and has no effect is left out",
     kInlining | kSimplifying | kCleaning, kEverywhere,
     [](PassState& s) { return remove_dead_code(s.graph); }},
    {"contained-calls", "calls of modules that a key picks become branches on it", kInlining,
     kEverywhere, [](PassState& s) { return branch_contained_calls(s.graph, s.objects); }},
    {"inline", "calls are replaced by what they call", kInlining, kEverywhere,
     [](PassState& s) { return inline_calls(s.graph, s.method, kMaxInlinedNodes, s.body_of); }},
    {"unpack", "PyTorch Mobile's packed layers become plain ones", kRewriting, kAtLoad,
     [](PassState& s) { return unpack_layers(s.graph); }},
    {"dropout", "dropout that is off or drops nothing, and detach()", kRewriting, kEverywhere,
     [](PassState& s) { return remove_identities(s.graph, s.log); }},
    {"batch-norm", "merged into the convolution or linear layer before it", kRewriting, kEverywhere,
     [](PassState& s) { return fold_batch_norms(s.graph, s.log); }},
    {"scale",
     "products and sums with constants of channels merged into the convolution or linear layer",
     kRewriting, kEverywhere, [](PassState& s) { return fold_scales(s.graph, s.log); }},
    {"parallel-layers", "layers of one value that are added up become one", kRewriting, kEverywhere,
     [](PassState& s) { return merge_parallel_layers(s.graph, s.log); }},
    {"residuals", "the input of a layer, added to its result, becomes part of its weights",
     kRewriting, kEverywhere, [](PassState& s) { return merge_residuals(s.graph, s.log); }},
    {"pool-first", "a pointwise convolution and the average pool after it change places",
     kRewriting, kEverywhere, [](PassState& s) { return pool_first(s.graph, s.log); }},
    {"padding", "zero padding becomes the padding of the convolution after it", kRewriting,
     kEverywhere, [](PassState& s) { return fold_padding(s.graph, s.log); }},
    {"linear-bias", "a product with a constant matrix and an addition become a linear layer",
     kRewriting, kEverywhere, [](PassState& s) { return fold_linear_biases(s.graph, s.log); }},
    {"ignored-terms", "empty tensors that a product ignores become zeros", kRewriting, kAtLoad,
     [](PassState& s) { return fill_ignored_terms(s.graph, s.log); }},
    {"packed-weights", "weights are packed once and not in each run", kRewriting, kFiles,
     for_files([](PassState& s) { return pack_weights(s.graph, s.log); })},
    {"quantized-relu", "becomes part of the quantized layer before it", kRewriting, kFiles,
     for_files([](PassState& s) { return fuse_quantized_relus(s.graph, s.log); })},
    {"common-values", "numbers that are computed twice are computed once", kSharing, kEverywhere,
     [](PassState& s) { return share_common_values(s.graph, *s.aliases); }},
    {"out-of-place",
     "operators in place on memory of their own give new memory, so that others "
     "can take them over",
     kSharing, kAtLoad | kForMobile,
     [](PassState& s) { return functionalise(s.graph, *s.aliases, s.for_file); }},
    {"join-last", "functions of single numbers go to the layers whose results are joined", kSharing,
     kAtLoad | kForMobile, [](PassState& s) { return join_last(s.graph, s.log); }},
    {"conv1d-to-2d", "1d convolutions become 2d ones, which PyTorch Mobile has packed", kLowering,
     kForMobile, for_files([](PassState& s) { return widen_conv1d(s.graph, s.log); })},
    {"prepack", "convolutions and linear layers become PyTorch Mobile's packed ones", kLowering,
     kForMobile, for_files([](PassState& s) { return prepack_layers(s.graph, s.log); })},
    {"activations", "relu, relu6, hardtanh and clamp become part of the packed layer before them",
     kLowering, kForMobile,
     for_files([](PassState& s) { return fuse_activations(s.graph, s.log); })},
    {"add-relu", "an addition and a relu become one operator", kLowering, kForMobile,
     for_files([](PassState& s) { return fuse_add_relus(s.graph, s.log); })},
    {"sink", "what only one branch needs is computed there", kCleaning, kEverywhere,
     [](PassState& s) { return sink_into_branches(s.graph); }},
};

// Those that a build lacks never run: they would have nothing to do for its models.
constexpr auto kPasses = [] {
  auto passes = std::to_array(kAllPasses);
  for (Pass& pass : passes) {
    if (!selection::has_pass(pass.name)) pass.run = nullptr;
  }
  return passes;
}();
static_assert(std::size(kPasses) <= 64);  // bits of a PassSet

uint64_t bit_of(const Pass& pass) { return uint64_t{1} << (&pass - kPasses.data()); }

const Pass* find_pass(std::string_view name) {
  const Pass* found = std::ranges::find(kPasses, name, &Pass::name);
  return found == std::end(kPasses) ? nullptr : found;
}

const Pass& require_pass(std::string_view name) {
  if (const Pass* pass = find_pass(name)) return *pass;
  std::string known;
  for (const Pass& pass : kPasses) known += (known.empty() ? "" : ", ") + std::string(pass.name);
  fail(ErrorCode::kInvalidArgument,
       "there is no pass '" + std::string(name.substr(0, 100)) + "'; there are: " + known);
}

}  // namespace

std::span<const Pass> all_passes() { return kPasses; }

PassSet PassSet::of(User user) {
  PassSet set;
  for (const Pass& pass : kPasses) {
    if (pass.users & user) set.bits_ |= bit_of(pass);
  }
  return set;
}

void PassSet::insert(std::string_view name) { bits_ |= bit_of(require_pass(name)); }
void PassSet::erase(std::string_view name) { bits_ &= ~bit_of(require_pass(name)); }
bool PassSet::contains(const Pass& pass) const { return bits_ & bit_of(pass); }
bool PassSet::contains(std::string_view name) const { return contains(require_pass(name)); }

}  // namespace torchlet::passes
