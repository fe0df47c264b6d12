#include "device/placement.h"

#include <gtest/gtest.h>

#include <memory>

namespace torchlet::device {
namespace {

// Every place is line 7 of model.py.
class OneLine : public SourceMap {
 public:
  SourceRange original(size_t) const override {
    ++times;
    return {std::make_shared<Source>(Source{"model.py", "y = relu(relu(x))", 7, nullptr}), 0, 1};
  }
  mutable int times = 0;
};

TEST(PlacementLog, LooksPlacesUpWhenAsked) {
  const auto origin = std::make_shared<OneLine>();
  const auto source = std::make_shared<Source>(
      Source{"code/__torch__.py", "y = torch.relu(x)\nz = torch.relu(y)\n", 1, origin});
  Graph graph;
  PlacementLog log;
  for (const uint32_t begin : {0u, 18u, 18u}) {
    Node* node = graph.create(Symbol("aten::relu"));
    node->set_range({source, begin, begin + 1});
    log.refuse(*node, "cpu", "of no use");
  }
  const Node* const none[] = {graph.create(Symbol("aten::neg"))};
  log.decide(none, "cpu", "", 0.5);
  EXPECT_EQ(origin->times, 0);

  const std::vector<Placement> all = log.all();
  EXPECT_GT(origin->times, 0);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].what, "aten::relu");
  EXPECT_EQ(all[0].place, "model.py:7");  // of two places in the file's source
  EXPECT_EQ(all[0].times, 3u);
  EXPECT_FALSE(all[0].is_segment);
  EXPECT_EQ(all[1].place, "");
  EXPECT_EQ(all[1].seconds, 0.5);
  EXPECT_TRUE(all[1].is_segment);
}

}  // namespace
}  // namespace torchlet::device
