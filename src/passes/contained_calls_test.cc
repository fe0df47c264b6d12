#include "passes/contained_calls.h"

#include <gtest/gtest.h>

#include "passes/testing.h"

namespace torchlet::passes {
namespace {

// A container of `keys`: modules that are in turns a relu and a product with a factor of their own.
class Layers {
 public:
  explicit Layers(const std::vector<std::string>& keys, const std::string& forward)
      : program_(source(keys, forward)) {
    std::vector<std::pair<std::string, Value>> layers = {{"training", Value(false)}};
    for (size_t i = 0; i < keys.size(); ++i) {
      layers.emplace_back(keys[i], i % 2 == 0 ? program_.object("Relu", {})
                                              : program_.object("Scale", {{"by", Value(2.0)}}));
    }
    self_ = program_.object("M", {{"layers", program_.object("Layers", layers)}});
  }
  Optimized optimized() const { return Program::optimized(self_); }

 private:
  static std::string source(const std::vector<std::string>& keys, const std::string& forward) {
    std::vector<std::string> attributes = {"training : bool"};
    for (size_t i = 0; i < keys.size(); ++i) {
      attributes.push_back("__annotations__[\"" + keys[i] + "\"] = __torch__." +
                           (i % 2 == 0 ? "Relu" : "Scale"));
    }
    return "class Layer(ModuleInterface):\n"
           "  def forward(self: __torch__.Layer, x: Tensor) -> Tensor:\n    pass\n" +
           module_class("Relu", {},
                        "  def forward(self: __torch__.Relu, x: Tensor) -> Tensor:\n"
                        "    return torch.relu(x)\n") +
           module_class("Scale", {"by : float"},
                        "  def forward(self: __torch__.Scale, x: Tensor) -> Tensor:\n"
                        "    return torch.mul(x, self.by)\n") +
           module_class("Layers", attributes, "") +
           module_class("M", {"layers : __torch__.Layers"}, forward);
  }
  Program program_;
  Value self_;
};

std::string forward_of(const std::string& key_type) {
  return "  def forward(self: __torch__.M, x: Tensor, key: " + key_type +
         ") -> Tensor:\n"
         "    layer : __torch__.Layer = (self.layers)[key]\n"
         "    return (layer).forward(x)\n";
}

constexpr const char* kGuard = "__contains__ If(|format RaiseException) ";

TEST(ContainedCalls, AKeyIsSearched) {
  const Layers layers({"0", "1", "2"}, forward_of("int"));
  EXPECT_EQ(outline(*layers.optimized().graph),
            std::string(kGuard) + "lt If(relu|lt If(mul|relu))");
}

TEST(ContainedCalls, IntsAreOrderedAsNumbers) {
  std::vector<std::string> keys;
  for (int i = 0; i < 12; ++i) keys.push_back(std::to_string(i));
  const Optimized made = Layers(keys, forward_of("int")).optimized();
  const Node* first = nullptr;
  for (const Node* node : *made.graph->block()) {
    if (node->kind().str() == "aten::lt") first = node;
  }
  ASSERT_TRUE(first);
  EXPECT_EQ(constant_of(first->input(1))->to_int(), 6);
}

TEST(ContainedCalls, NamesAreSearchedToo) {
  const Layers layers({"(0, 1)", "down"}, forward_of("str"));
  EXPECT_EQ(outline(*layers.optimized().graph), std::string(kGuard) + "lt If(relu|mul)");
}

TEST(ContainedCalls, AConstantKeyNeedsNoSearch) {
  const Layers layers({"0", "1"},
                      "  def forward(self: __torch__.M, x: Tensor) -> Tensor:\n"
                      "    layer : __torch__.Layer = (self.layers)[1]\n"
                      "    return (layer).forward(x)\n");
  EXPECT_EQ(outline(*layers.optimized().graph), "mul");
}

TEST(ContainedCalls, SeveralCallsOfOnePickHaveOneGuard) {
  const Layers layers({"0", "1"},
                      "  def forward(self: __torch__.M, x: Tensor, key: int) -> Tensor:\n"
                      "    layer : __torch__.Layer = (self.layers)[key]\n"
                      "    return (layer).forward((layer).forward(x))\n");
  EXPECT_EQ(outline(*layers.optimized().graph),
            std::string(kGuard) + "lt If(relu|mul) If(relu|mul)");
}

// A loop over the keys calls each module once: no branches.
TEST(ContainedCalls, LoopsOverKeysAreUnrolledFirst) {
  const Layers layers({"0", "1", "2"},
                      "  def forward(self: __torch__.M, x: Tensor) -> Tensor:\n"
                      "    for i in range(3):\n"
                      "      layer : __torch__.Layer = (self.layers)[i]\n"
                      "      x = (layer).forward(x)\n"
                      "    return x\n");
  EXPECT_EQ(outline(*layers.optimized().graph), "relu mul relu");
}

TEST(ContainedCalls, APickThatLeavesStays) {
  const Layers layers({"0", "1"},
                      "  def forward(self: __torch__.M, x: Tensor, key: int) -> "
                      "Tuple[Tensor, __torch__.Layer]:\n"
                      "    layer : __torch__.Layer = (self.layers)[key]\n"
                      "    return ((layer).forward(x), layer)\n");
  EXPECT_EQ(outline(*layers.optimized().graph),
            "GetAttr.layers ModuleContainerIndex CallMethod.forward TupleConstruct");
}

}  // namespace
}  // namespace torchlet::passes
