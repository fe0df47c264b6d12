#include "passes/analysis/alias.h"

#include <gtest/gtest.h>

#include "graph/clone.h"
#include "ops/core/testing.h"
#include "passes/inline.h"
#include "passes/testing.h"

namespace torchlet::passes {
namespace {

// forward(self, x, y) with its values by the names that the source gives them.
class Analysed {
 public:
  explicit Analysed(const std::string& body)
      : program_(module_class(
            "M", {"w : Tensor", "kept : Tensor"},
            "  def forward(self: __torch__.M, x: Tensor, y: Tensor) -> Tensor:\n" + body +
                "  def keep(self: __torch__.M, x: Tensor) -> NoneType:\n"
                "    self.kept = x\n"
                "    return None\n"
                "  def count(self: __torch__.M, n: int) -> int:\n"
                "    return (self).count(n)\n")),
        self_(program_.object("M", {{"w", ops::make({1})}, {"kept", ops::make({2})}})),
        objects_(self_, {}),
        graph_(clone_graph(Program::method(self_).graph())),
        aliases_(*graph_, &objects_) {}

  const SsaValue* value(const std::string& name) const { return find(*graph_->block(), name); }
  bool may_alias(const std::string& a, const std::string& b) const {
    return aliases_.may_alias(value(a), value(b));
  }
  const AliasAnalysis& aliases() const { return aliases_; }
  const Object& self() const { return self_.object_ref(); }

 private:
  static const SsaValue* find(const Block& block, const std::string& name) {
    for (const SsaValue* input : block.inputs()) {
      if (input->name() == name) return input;
    }
    for (const Node* node : block) {
      for (const SsaValue* output : node->outputs()) {
        if (output->name() == name) return output;
      }
      for (const Block* inner : node->blocks()) {
        if (const SsaValue* found = find(*inner, name)) return found;
      }
    }
    return nullptr;
  }

  Program program_;
  Value self_;
  KnownObjects objects_;
  std::unique_ptr<Graph> graph_;
  AliasAnalysis aliases_;
};

TEST(Alias, ViewsShareMemoryAndResultsDoNot) {
  const Analysed a(
      "    made = torch.add(x, y)\n"
      "    view = torch.select(torch.transpose(made, 0, 1), 0, 0)\n"
      "    other = torch.neg(made)\n"
      "    return torch.add(view, other)\n");
  EXPECT_TRUE(a.may_alias("made", "view"));
  EXPECT_FALSE(a.may_alias("made", "other"));
  EXPECT_FALSE(a.may_alias("made", "x"));
  EXPECT_TRUE(a.may_alias("x", "y"));  // a caller may pass one tensor twice
  EXPECT_FALSE(a.aliases().is_written(a.value("made")));
  EXPECT_FALSE(a.aliases().escapes(a.value("made")));
  EXPECT_EQ(a.aliases().makers(a.value("made")), std::vector<const Node*>{a.value("made")->node()});
  EXPECT_TRUE(a.aliases().makers(a.value("x")).empty());
}

TEST(Alias, WritesThroughViewsAndContainers) {
  const Analysed a(
      "    made = torch.neg(x)\n"
      "    clean = torch.neg(y)\n"
      "    items = [made, clean]\n"
      "    first = items[0]\n"
      "    _0 = torch.add_(torch.view(first, [-1]), 1)\n"
      "    third = torch.neg(y)\n"
      "    _1 = torch.append(items, third)\n"
      "    return clean\n");
  EXPECT_TRUE(a.aliases().is_written(a.value("made")));
  EXPECT_TRUE(a.aliases().is_written(a.value("third")));  // which item it was is not known
  EXPECT_FALSE(a.aliases().is_written(a.value("x")));
  EXPECT_TRUE(a.may_alias("items", "made"));
  EXPECT_TRUE(a.aliases().is_content_written(a.value("items")));
  EXPECT_TRUE(a.aliases().escapes(a.value("clean")));  // it is returned
  EXPECT_FALSE(a.aliases().is_kept(a.value("clean")));
}

TEST(Alias, BranchesAndLoopsJoin) {
  const Analysed a(
      "    p = torch.neg(x)\n"
      "    q = torch.neg(y)\n"
      "    if torch.is_floating_point(x):\n"
      "      r = p\n"
      "    else:\n"
      "      r = y\n"
      "    s = q\n"
      "    for i in range(3):\n"
      "      s = torch.transpose(s, 0, 0)\n"
      "    _0 = torch.add_(s, r)\n"
      "    return r\n");
  EXPECT_TRUE(a.may_alias("r", "p"));
  EXPECT_TRUE(a.may_alias("r", "y"));
  EXPECT_FALSE(a.may_alias("r", "q"));
  EXPECT_TRUE(a.may_alias("s", "q"));
  EXPECT_TRUE(a.aliases().is_written(a.value("q")));
  EXPECT_FALSE(a.aliases().is_written(a.value("p")));
}

TEST(Alias, CopiesOfListsAreNewAndHoldTheSameItems) {
  const std::string copy = "    items = [x, y]\n    copy = torch.list(items)\n";
  const Analysed sets(copy + "    _0 = torch._set_item(copy, 0, y)\n    return torch.cat(items)\n");
  EXPECT_TRUE(sets.aliases().is_content_written(sets.value("copy")));
  EXPECT_FALSE(sets.aliases().is_content_written(sets.value("items")));
  const Analysed writes(copy + "    _0 = torch.relu_(copy[1])\n    return torch.cat(items)\n");
  EXPECT_TRUE(writes.aliases().is_written(writes.value("items")));
}

TEST(Alias, WhatIsWrittenOutside) {
  const Analysed argument("    return torch.relu_(x)\n");
  EXPECT_TRUE(argument.aliases().writes().unknown);
  EXPECT_TRUE(argument.aliases().writes().memory.empty());

  const Analysed weight("    return torch.add(torch.neg_(self.w), x)\n");
  EXPECT_EQ(weight.aliases().writes().memory.size(), 1u);
  EXPECT_TRUE(weight.aliases().writes().slots.empty());

  const Analysed kept(
      "    made = torch.neg(x)\n"
      "    self.kept = made\n"
      "    return torch.relu(made)\n");
  EXPECT_EQ(kept.aliases().writes().slots, (std::set<Slot>{{&kept.self(), 1}}));
  EXPECT_TRUE(kept.aliases().is_kept(kept.value("made")));

  const Analysed harmless("    return torch.add(self.w, x)\n");
  EXPECT_TRUE(harmless.aliases().writes().memory.empty());
  EXPECT_FALSE(harmless.aliases().writes().unknown || harmless.aliases().writes().all);
}

TEST(Alias, CallsThatWereNotInlined) {
  const Analysed keeps(
      "    made = torch.neg(x)\n"
      "    _0 = (self).keep(made)\n"
      "    return torch.relu(made)\n");
  EXPECT_TRUE(keeps.aliases().writes().names.contains("kept"));
  EXPECT_TRUE(keeps.aliases().is_kept(keeps.value("made")));
  EXPECT_FALSE(keeps.aliases().writes().all);

  const Analysed counts("    return torch.add(x, (self).count(3))\n");  // calls itself
  EXPECT_TRUE(counts.aliases().writes().names.empty());
  EXPECT_FALSE(counts.aliases().writes().all);
}

// Each of a chain of views may share the memory of all before it: past a bound the analysis gives
// up.
TEST(Alias, WhatIsTooLargeMayBeAnything) {
  const auto chain = [](int length) {
    std::string body = "    a = torch.relu(x)\n    b = torch.transpose(a, 0, 1)\n";
    for (int i = 0; i < length; ++i) body += "    b = torch.transpose(b, 0, 1)\n";
    return body + "    return b\n";
  };
  const Analysed small(chain(100));
  EXPECT_FALSE(small.aliases().is_written(small.value("a")));
  EXPECT_FALSE(small.aliases().writes().all);
  const Analysed large(chain(2000));
  EXPECT_TRUE(large.aliases().is_written(large.value("a")));
  EXPECT_TRUE(large.aliases().is_kept(large.value("a")));
  EXPECT_TRUE(large.aliases().makers(large.value("a")).empty());
  EXPECT_TRUE(large.aliases().writes().all);
}

}  // namespace
}  // namespace torchlet::passes
