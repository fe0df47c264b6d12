#include "prepare/draft.h"

#include <gtest/gtest.h>
#include <torchlet/torchlet.h>

#include "archive/test_util.h"
#include "graph/clone.h"

namespace torchlet::prepare {
namespace {

// forward(n, times) is n + 5 * times.
Module counter() {
  const std::string code =
      "class M(Module):\n  __parameters__ = []\n  __buffers__ = []\n  step : int\n"
      "  def forward(self: __torch__.M, n: int, times: int=2) -> int:\n"
      "    return torch.add(n, torch.mul(self.step, times))\n"
      "  def other(self: __torch__.M) -> int:\n    return self.step\n";
  const std::string zip = archive::ZipBuilder()
                              .add("m/data.pkl", archive::op::pickle("c__torch__\nM\n)\x81}" +
                                                                     archive::op::str("step") +
                                                                     archive::op::byte(5) + "sb"))
                              .add("m/code/__torch__.py", code)
                              .add("m/constants.pkl", archive::op::pickle(")"))
                              .add("m/version", "3\n")
                              .finish();
  return load(std::as_bytes(std::span(zip)));
}

TEST(Draft, OfNothingNewIsTheModel) {
  const Module module = counter();
  const Module again = Draft(module).finish();
  EXPECT_EQ(again.forward({int64_t{1}}).to_int(), 11);
  EXPECT_EQ(again.type_name(), module.type_name());
  EXPECT_EQ(again.methods().size(), 2u);
}

TEST(Draft, ChangesTheCopyAlone) {
  const Module module = counter();
  Draft draft(module);
  draft.set_attribute("step", types::integer(), int64_t{100});
  draft.set_attribute("name", types::string(), "draft");
  draft.define(
      "def named(self, times: int) -> Tuple[str, int]:\n"
      "  m = self.forward(1, times)\n"
      "  return (self.name, m)\n");
  draft.remove_method("other");
  const Module changed = draft.finish();
  EXPECT_EQ(changed.forward({int64_t{1}}).to_int(), 201);
  const Value named = changed.run_method("named", int64_t{3});
  EXPECT_EQ(named.to_tuple()[0].to_string(), "draft");
  EXPECT_EQ(named.to_tuple()[1].to_int(), 301);
  EXPECT_FALSE(changed.find_method("other"));

  EXPECT_EQ(module.forward({int64_t{1}}).to_int(), 11);
  EXPECT_FALSE(module.hasattr("name"));
  EXPECT_TRUE(module.find_method("other"));
}

TEST(Draft, MethodsTakeGraphs) {
  const Module module = counter();
  const Graph& other =
      LoadedModel::object_of(module).object_ref().type->find_method("other")->graph();
  Draft draft(module);
  draft.set_method("step_of", clone_graph(other));
  EXPECT_EQ(draft.finish().run_method("step_of").to_int(), 5);
  // With the defaults that the method had.
  const Graph& forward =
      LoadedModel::object_of(module).object_ref().type->find_method("forward")->graph();
  draft.set_method("forward", clone_graph(forward));
  EXPECT_EQ(draft.finish().forward({int64_t{1}}).to_int(), 11);
}

TEST(Draft, RemovesWhatNobodyUses) {
  Draft draft(counter());
  draft.remove_attribute("step");
  draft.remove_attribute("absent");
  draft.remove_method("absent");
  EXPECT_THROW(draft.finish(), Error);
  draft.remove_method("forward");
  draft.remove_method("other");
  EXPECT_FALSE(draft.finish().hasattr("step"));
}

}  // namespace
}  // namespace torchlet::prepare
