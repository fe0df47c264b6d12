#include "prepare/nnapi/in_place.h"

#include "ops/core/derived.h"
#include "passes/analysis/alias.h"
#include "passes/analysis/constants.h"
#include "passes/analysis/rewrite.h"
#include "passes/functionalise.h"

namespace torchlet::prepare {

void compute_out_of_place(Graph& graph) {
  const passes::AliasAnalysis aliases(graph);
  passes::functionalise(graph, aliases);
}

void compute_in_place(Graph& graph) {
  passes::for_each_node(*graph.block(), [](Node& node) {
    if (!node.op()) return;
    const Operator* in_place =
        find_operator(node.op()->name.str() + "_", node.op()->schema.overload);
    if (!in_place || ops::functional_twin(*in_place) != node.op()) return;
    Node* copy = passes::insert_call(
        &node, *find_operator("aten::clone", ""),
        {node.input(0),
         passes::insert_constant(&node, Value(), types::optional(types::integer()))});
    std::vector<SsaValue*> inputs = node.inputs();
    inputs[0] = copy->output();
    passes::replace_by(node, *passes::insert_call(&node, *in_place, std::move(inputs)));
  });
}

}  // namespace torchlet::prepare
