#include <torchlet/nnapi.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "api/arguments.h"
#include "api/loaded_model.h"
#include "base/error.h"
#include "device/placement.h"
#include "graph/module_path.h"
#include "graph/prim_kinds.h"
#include "nnapi/library.h"
#include "passes/analysis/constants.h"
#include "passes/dead_code.h"
#include "prepare/nnapi/cut.h"
#include "prepare/nnapi/in_place.h"
#include "prepare/nnapi/open_batch.h"
#include "prepare/nnapi/replace.h"
#include "prepare/nnapi/shared_weights.h"
#include "prepare/proof.h"
#include "prepare/rewrite_graphs.h"
#include "prepare/training_mode.h"

namespace torchlet {
namespace {

using prepare::Cut;
using prepare::CutSegment;

bool holds_tensors(const SsaValue* value) {
  const Type* type = value->type().get();
  while (type->is(TypeKind::kOptional) || type->is(TypeKind::kList)) type = type->element(0).get();
  return type->is(TypeKind::kTensor);
}

// Does it compute something of the elements of tensors, or tensors of tensors?
bool is_counted(const Node& node) {
  if (node.kind() == prim::kCallMethod || node.kind() == prim::kCallFunction ||
      node.kind() == prim::kUnsupported) {
    return true;
  }
  if (!node.op() || std::ranges::none_of(node.inputs(), holds_tensors)) return false;
  return std::ranges::any_of(node.outputs(), holds_tensors) ||
         node.op()->facts->looks_at == LooksAt::kElements;
}

size_t count_operators(Block& block) {
  size_t count = 0;
  passes::for_each_node(block, [&](const Node& node) { count += is_counted(node); });
  return count;
}

// As NNAPI numbers them.
int64_t level_of(int feature_level) {
  constexpr int64_t kLevels[] = {ANEURALNETWORKS_FEATURE_LEVEL_1, ANEURALNETWORKS_FEATURE_LEVEL_2,
                                 ANEURALNETWORKS_FEATURE_LEVEL_3, ANEURALNETWORKS_FEATURE_LEVEL_4,
                                 ANEURALNETWORKS_FEATURE_LEVEL_5, ANEURALNETWORKS_FEATURE_LEVEL_6,
                                 ANEURALNETWORKS_FEATURE_LEVEL_7};
  if (feature_level < 1 || feature_level > static_cast<int>(std::size(kLevels))) {
    fail(ErrorCode::kInvalidArgument, "there is no feature level %d of NNAPI: 1 to 7",
         feature_level);
  }
  return kLevels[feature_level - 1];
}

class Converter {
 public:
  Converter(const Module& module, const NnapiOptions& options)
      : module_(module), options_(options), method_(method_of(module, options.method)) {}

  NnapiModule run() {
    OptimizeOptions optimize;
    // Mobile's packed layers would be nothing for NNAPI.
    optimize.passes = {"default", "unpack"};
    optimize.preserve = preserved();
    OptimizedModule result = prepare::optimize_and_rewrite(
        module_, optimize, [this](const std::string& name, Graph& graph, prepare::Draft& draft) {
          if (name == options_.method) rewrite(graph, draft);
        });
    return {std::move(result.module), std::move(report_)};
  }
  bool is_quantized() const { return is_quantized_; }

 private:
  static Function& method_of(const Module& module, const std::string& name) {
    Function* found = LoadedModel::object_of(module).object_ref().type->find_method(name);
    if (!found) fail(ErrorCode::kInvalidArgument, "the model has no method '%s'", name.c_str());
    return *found;
  }

  // The optimiser leaves out what only other methods call.
  std::vector<std::string> preserved() const {
    std::vector<std::string> names;
    if (options_.method == "forward") return names;
    for (const auto& [name, method] :
         LoadedModel::object_of(module_).object_ref().type->methods()) {
      names.push_back(name);
    }
    return names;
  }

  void rewrite(Graph& graph, prepare::Draft& draft) {
    const Value self = LoadedModel::object_of(module_);
    std::vector<Value> arguments;
    api::bind_arguments(method_.schema(), self, options_.inputs, {}, arguments);
    prepare::compute_out_of_place(graph);
    const nnapi::ModelLimits limits{level_of(options_.feature_level), options_.nhwc, true};
    const Cut cut =
        prepare::cut_for_nnapi(graph, method_, arguments, {limits, options_.min_operators});
    describe(graph, cut);
    if (cut.segments.empty()) refuse();
    std::vector<prepare::OpenBatch> batches;
    if (options_.any_batch) {
      batches = prepare::open_batches(graph, method_, arguments, cut, limits);
    }
    // The optimiser has left parts of objects out, which made classes.
    modules_.emplace(LoadedModel::of(module_).program->unit,
                     [&draft](std::string_view name) { return draft.holds_class(name); });
    prepare::Replacement replacement(*self.object_ref().type, *modules_,
                                     {.preference = static_cast<int32_t>(options_.preference),
                                      .relax_fp16 = options_.relax_fp16,
                                      .fixed_shapes = options_.fixed_shapes});
    for (size_t i = 0; i < cut.segments.size(); ++i) {
      const CutSegment& segment = cut.segments[i];
      for (const nnapi::Operand& operand : segment.lowered.model.operands) {
        is_quantized_ |= operand.code == ANEURALNETWORKS_TENSOR_QUANT8_ASYMM;
      }
      if (batches.empty()) {
        replacement.replace(segment, draft);
      } else {
        replace_for_any_batch(replacement, segment, batches[i], report_.parts[i], draft);
      }
    }
    passes::remove_dead_code(graph);  // constants of what is gone, which a file would hold
    prepare::compute_in_place(graph);
    if (!options_.fixed_shapes) {
      prepare::share_weights(graph, replacement.weights(), *self.object_ref().type, draft);
    }
    graph.verify();
  }

  // For one batch if nothing else is possible.
  static void replace_for_any_batch(prepare::Replacement& replacement, const CutSegment& segment,
                                    const prepare::OpenBatch& batch, NnapiReport::Part& part,
                                    prepare::Draft& draft) {
    part.one_batch = batch.why_not;
    try {
      if (part.one_batch.empty()) return replacement.replace(segment, batch, draft);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kUnsupported) throw;
      part.one_batch = error.message();
    }
    replacement.replace(segment, draft);
  }

  // ---- the report ----

  void describe(Graph& graph, const Cut& cut) {
    for (const CutSegment& segment : cut.segments) {
      const Placement placement = device::describe_segment(*segment.node);
      report_.parts.push_back({placement.what,
                               placement.place,
                               count_operators(*segment.node->block(0)),
                               segment.lowered.model.operations.size(),
                               {}});
    }
    describe_rest(*graph.block(), cut);
  }

  void describe_rest(const Block& block, const Cut& cut) {
    for (const Node* node : block) {
      if (node->kind() == prim::kSegment) continue;
      if (is_counted(*node)) {
        const auto reason = cut.reasons.find(node);
        report_.stays.push_back(
            {name_of(*node), node->range().empty() ? "" : node->range().where(),
             inlined_module_path(*node),
             reason == cut.reasons.end() ? "a call that stays a call" : reason->second});
      }
      for (const Block* inner : node->blocks()) describe_rest(*inner, cut);
    }
  }

  static std::string name_of(const Node& node) {
    return node.has_attribute("name") ? node.string_attribute("name") : node.kind().str();
  }

  [[noreturn]] void refuse() const {
    std::string why;
    std::vector<std::string> told;
    std::vector<NnapiReport::Stays> all = report_.stays;
    std::stable_partition(all.begin(), all.end(), [](const NnapiReport::Stays& stays) {
      return stays.reason != prepare::kViewBetween;
    });
    for (const auto& stays : all) {
      const std::string reason = stays.what + ": " + stays.reason;
      if (std::ranges::count(told, reason) || told.size() == 3) continue;
      told.push_back(reason);
      why += "; " + reason;
      if (!stays.place.empty()) why += " (" + stays.place + ")";
    }
    fail(ErrorCode::kUnsupported, "no part of " + options_.method + "() can go to NNAPI" + why +
                                      (why.empty() ? ": it computes nothing" : ""));
  }

  const Module& module_;
  const NnapiOptions& options_;
  Function& method_;
  std::optional<prepare::NnapiModules> modules_;
  NnapiReport report_;
  bool is_quantized_ = false;
};

// Why nothing can be compared here; empty if it can.
std::string why_not_proved(const NnapiOptions& options) {
  if (!options.prove) return "nobody asked for it";
  try {
    if (nnapi::feature_level() >= level_of(options.feature_level)) return "";
    return "the NNAPI of this machine has a lower feature level";
  } catch (const Error& error) {
    return error.what();
  }
}

std::vector<ProofCall> calls_to_compare(const NnapiOptions& options, const NnapiReport& report) {
  std::vector<ProofCall> calls = {{options.method, options.inputs}};
  const auto is_open = [](const NnapiReport::Part& part) { return part.one_batch.empty(); };
  const bool runs_any = options.fixed_shapes ? std::ranges::all_of(report.parts, is_open)
                                             : std::ranges::any_of(report.parts, is_open);
  if (!options.any_batch || !runs_any) return calls;
  // For these no model was written. What is written for one image may be another for more.
  for (const int64_t batch : {1, 4}) {
    calls.push_back({options.method, prepare::with_batch(options.inputs, batch)});
  }
  return calls;
}

}  // namespace

size_t NnapiReport::operators_in_parts() const {
  return std::accumulate(parts.begin(), parts.end(), size_t{0},
                         [](size_t sum, const Part& part) { return sum + part.operators; });
}

size_t NnapiReport::operators() const { return operators_in_parts() + stays.size(); }

NnapiModule to_nnapi(const Module& module, const NnapiOptions& options) {
  const Module original = prepare::working_copy(module, options.eval);
  const LimitScope scope = LoadedModel::of(original).program->limits->scope();
  Converter converter(original, options);
  NnapiModule result = converter.run();
  result.report.not_proved = why_not_proved(options);
  if (result.report.not_proved.empty()) {
    const bool is_rough = options.relax_fp16 || converter.is_quantized();
    const double tolerance = options.tolerance > 0 ? options.tolerance : is_rough ? 5e-2 : 1e-3;
    result.report.proofs =
        prepare::prove(original, result.module, calls_to_compare(options, result.report), tolerance,
                       "a larger --tolerance accepts it");
  }
  return result;
}

}  // namespace torchlet
