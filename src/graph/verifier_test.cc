#include <gtest/gtest.h>
#include <torchlet/error.h>

#include "graph/graph.h"
#include "graph/prim_kinds.h"

namespace torchlet {
namespace {

std::string verified(const Graph& graph) {
  try {
    graph.verify();
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

// A node at the end of the graph.
Node* add(Graph& graph, Symbol kind, std::vector<SsaValue*> inputs, std::vector<TypePtr> outputs) {
  Node* node = graph.block()->append(graph.create(kind, std::move(inputs)));
  for (TypePtr& type : outputs) node->add_output(std::move(type));
  return node;
}

TEST(Verifier, HoldsEachKindToItsContract) {
  const auto with = [](Symbol kind, std::vector<TypePtr> inputs, std::vector<TypePtr> outputs,
                       const std::string& attribute = "") {
    Graph graph;
    std::vector<SsaValue*> values;
    for (TypePtr& type : inputs) values.push_back(graph.block()->add_input(std::move(type)));
    Node* node = add(graph, kind, std::move(values), std::move(outputs));
    if (!attribute.empty()) node->set_attribute(attribute, std::string("a"));
    return verified(graph);
  };
  const TypePtr tensor = types::tensor(), integer = types::integer(), boolean = types::boolean();
  EXPECT_EQ(with(prim::kGetAttr, {tensor}, {tensor}, "name"), "");
  EXPECT_EQ(with(prim::kGetAttr, {tensor}, {tensor}),
            "graph verifier: node prim::GetAttr (?) lacks an attribute");
  EXPECT_EQ(with(prim::kGetAttr, {}, {tensor}, "name"),
            "graph verifier: node prim::GetAttr (?) has too few inputs");
  EXPECT_EQ(with(prim::kGetAttr, {tensor, tensor}, {tensor}, "name"),
            "graph verifier: node prim::GetAttr (?) has too many inputs");
  EXPECT_EQ(with(prim::kGetAttr, {tensor}, {}, "name"),
            "graph verifier: node prim::GetAttr (?) has the wrong number of outputs");
  EXPECT_EQ(with(prim::kTupleIndex, {types::tuple({tensor}), integer}, {tensor}), "");
  EXPECT_EQ(with(prim::kTupleIndex, {types::tuple({tensor}), tensor}, {tensor}),
            "graph verifier: node prim::TupleIndex (?) has an input of a wrong type");
  EXPECT_EQ(with(prim::kToList, {types::unknown()}, {integer}), "");
  EXPECT_EQ(with(prim::kListUnpack, {types::list(tensor)}, {tensor, tensor}), "");
  EXPECT_EQ(with(prim::kPrint, {tensor, integer, boolean}, {}), "");
  EXPECT_EQ(with(prim::kIf, {boolean}, {}),
            "graph verifier: node prim::If (?) has the wrong number of blocks");
  EXPECT_EQ(with(prim::kLoop, {integer, boolean}, {}),
            "graph verifier: node prim::Loop (?) has the wrong number of blocks");
  EXPECT_EQ(with(prim::kExit, {tensor}, {}),
            "graph verifier: node prim::Exit (?) has no Enter of its own");
  EXPECT_EQ(with(prim::kEnter, {tensor}, {tensor}),
            "graph verifier: node graph (?) has a block with an Enter and no Exit");
  EXPECT_EQ(
      with(Symbol("prim::Nonsense"), {tensor}, {tensor}),
      "graph verifier: node prim::Nonsense (?) is neither an operator nor of a kind of its own");
}

TEST(Verifier, ABranchGivesWhatItsNodeGives) {
  Graph graph;
  SsaValue* condition = graph.block()->add_input(types::boolean());
  Node* node = add(graph, prim::kIf, {condition}, {types::boolean()});
  node->add_block()->add_output(condition);
  Block* other = node->add_block();
  EXPECT_EQ(verified(graph),
            "graph verifier: node prim::If (?) has a block that does not give its outputs");
  other->add_output(condition);
  EXPECT_EQ(verified(graph), "");
}

TEST(Verifier, HoldsOperatorsToTheirSchemas) {
  Operator op;
  op.name = Symbol("aten::some");
  op.schema = parse_schema("aten::some(Tensor a, Tensor b, int c=1) -> Tensor");
  const auto with = [&](size_t inputs, size_t outputs) {
    Graph graph;
    SsaValue* x = graph.block()->add_input(types::tensor());
    Node* node = add(graph, op.name, std::vector<SsaValue*>(inputs, x),
                     std::vector<TypePtr>(outputs, types::tensor()));
    node->set_op(&op);
    return verified(graph);
  };
  EXPECT_EQ(with(2, 1), "");  // what has a default may be left out
  EXPECT_EQ(with(3, 1), "");
  EXPECT_EQ(with(1, 1), "graph verifier: node aten::some (?) has too few inputs");
  EXPECT_EQ(with(4, 1), "graph verifier: node aten::some (?) has too many inputs");
  EXPECT_EQ(with(2, 2), "graph verifier: node aten::some (?) has the wrong number of outputs");
  Graph graph;
  Node* node = add(graph, prim::kPrint, {}, {});
  node->set_op(&op);
  EXPECT_NE(verified(graph), "");  // an operator under the name of a kind
}

TEST(Verifier, AskingForAPartThatIsNotThereIsAnError) {
  Graph graph;
  const Node* node = add(graph, prim::kPrint, {}, {});
  EXPECT_THROW(node->input(0), Error);
  EXPECT_THROW(node->output(), Error);
  EXPECT_THROW(node->block(0), Error);
}

}  // namespace
}  // namespace torchlet
