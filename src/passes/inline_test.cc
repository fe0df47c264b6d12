#include "passes/inline.h"

#include <gtest/gtest.h>

#include "graph/clone.h"
#include "passes/testing.h"

namespace torchlet::passes {
namespace {

void inline_all(Graph& graph, Function& function) {
  while (inline_calls(graph, function)) {
  }
}

// The first node of this kind.
const Node* find(const Graph& graph, std::string_view kind) {
  for (const Node* node : *graph.block()) {
    if (node->kind().str() == kind) return node;
  }
  return nullptr;
}

TEST(Inline, CallsBecomeTheirBodies) {
  Program program(
      "def twice(x: Tensor) -> Tensor:\n  return torch.add(x, x)\n"
      "def f(x: Tensor) -> Tensor:\n  return torch.relu(__torch__.twice(__torch__.twice(x)))\n" +
      module_class("M", {},
                   "  def forward(self: __torch__.M, x: Tensor) -> Tensor:\n"
                   "    return __torch__.f(x)\n"));
  Function& forward = Program::method(program.object("M", {}));
  const auto graph = clone_graph(forward.graph());
  EXPECT_TRUE(inline_calls(*graph, forward));
  EXPECT_EQ(outline(*graph), "CallFunction CallFunction relu");
  EXPECT_TRUE(inline_calls(*graph, forward));
  graph->verify();
  EXPECT_EQ(outline(*graph), "add add relu");
  EXPECT_FALSE(inline_calls(*graph, forward));
  EXPECT_EQ(outline(forward.graph()), "CallFunction");  // the original is untouched
}

TEST(Inline, RecursionAndUnknownCallsStay) {
  Program program(module_class("M", {},
                               "  def forward(self: __torch__.M, n: int) -> int:\n"
                               "    if torch.gt(n, 0):\n"
                               "      r = torch.add((self).step(n), 1)\n"
                               "    else:\n"
                               "      r = 0\n"
                               "    return r\n"
                               "  def step(self: __torch__.M, n: int) -> int:\n"
                               "    return (self).forward(torch.sub(n, 1))\n"));
  Function& forward = Program::method(program.object("M", {}));
  const auto graph = clone_graph(forward.graph());
  EXPECT_TRUE(inline_calls(*graph, forward));
  graph->verify();
  EXPECT_EQ(outline(*graph), "gt If(sub CallMethod.forward add|)");
}

TEST(Inline, NodesRememberTheirCalls) {
  Program program(module_class("Conv", {},
                               "  def forward(self: __torch__.Conv, x: Tensor) -> Tensor:\n"
                               "    return torch.relu(x)\n") +
                  module_class("Block", {"conv : __torch__.Conv"},
                               "  def forward(self: __torch__.Block, x: Tensor) -> Tensor:\n"
                               "    return (self.conv).forward(x)\n") +
                  module_class("Net", {"first : __torch__.Block"},
                               "  def forward(self: __torch__.Net, x: Tensor) -> Tensor:\n"
                               "    return (self.first).forward(x)\n"));
  const Value net = program.object("Net", {});
  const auto graph = clone_graph(Program::method(net).graph());
  inline_all(*graph, Program::method(net));
  const Node* relu = find(*graph, "aten::relu");
  ASSERT_TRUE(relu);
  EXPECT_EQ(relu->range().line(), 5);
  const InlinedCall* call = relu->inlined_call().get();
  ASSERT_TRUE(call);
  EXPECT_EQ(call->callee->qualified_name(), "__torch__.Conv.forward");
  EXPECT_EQ(call->module_path, "conv");
  EXPECT_EQ(call->range.line(), 11);
  ASSERT_TRUE(call->caller);
  EXPECT_EQ(call->caller->callee->qualified_name(), "__torch__.Block.forward");
  EXPECT_EQ(call->caller->module_path, "first");
  EXPECT_EQ(call->caller->range.line(), 17);
  EXPECT_FALSE(call->caller->caller);
}

TEST(Inline, StopsBeforeTheGraphBecomesTooLarge) {
  // f17 would be 2^17 additions.
  std::string text = "def f0(x: int) -> int:\n  return torch.add(x, 1)\n";
  for (int i = 1; i <= 17; ++i) {
    const std::string inner = "__torch__.f" + std::to_string(i - 1);
    text += "def f" + std::to_string(i) + "(x: int) -> int:\n  return " + inner + "(" + inner +
            "(x))\n";
  }
  Program program(text + module_class("M", {},
                                      "  def forward(self: __torch__.M, x: int) -> int:\n"
                                      "    return __torch__.f17(x)\n"));
  Function& forward = Program::method(program.object("M", {}));
  const auto graph = clone_graph(forward.graph());
  inline_all(*graph, forward);
  size_t nodes = 0;
  for (const Node* node : *graph->block()) nodes += node != nullptr;
  EXPECT_LE(nodes, kMaxInlinedNodes);
  EXPECT_TRUE(find(*graph, "prim::CallFunction"));
}

TEST(Inline, StopsBeforeBlocksAreNestedTooDeeply) {
  std::string text = "def f0(x: int) -> int:\n  return torch.add(x, 1)\n";
  for (size_t i = 1; i <= kMaxBlockDepth + 10; ++i) {
    text += "def f" + std::to_string(i) +
            "(x: int) -> int:\n  if torch.gt(x, 0):\n    y = __torch__.f" + std::to_string(i - 1) +
            "(x)\n  else:\n    y = x\n  return y\n";
  }
  Program program(text + module_class("M", {},
                                      "  def forward(self: __torch__.M, x: int) -> int:\n"
                                      "    return __torch__.f" +
                                          std::to_string(kMaxBlockDepth + 10) + "(x)\n"));
  Function& forward = Program::method(program.object("M", {}));
  const auto graph = clone_graph(forward.graph());
  inline_all(*graph, forward);
  size_t depth = 0;
  const Block* block = graph->block();
  while (block) {
    const Block* inner = nullptr;
    for (const Node* node : *block) {
      if (!node->blocks().empty()) inner = node->block(0);
    }
    depth += inner != nullptr;
    block = inner;
  }
  EXPECT_EQ(depth, kMaxBlockDepth);
}

}  // namespace
}  // namespace torchlet::passes
