// Branches on shapes and on values, and loops.
#include "families.h"

namespace torchlet::random_graphs {
namespace {

constexpr int kMostDepth = 2;

void make_some(Builder& b, const std::function<void()>& make) {
  for (int64_t count = b.random.between(1, 3); count > 0; --count) make();
}

std::optional<ValueId> add_condition(Builder& b) {
  const auto x = b.any([&](ValueId id) { return b.tensor(id).dim() > 0; });
  if (!x) return std::nullopt;
  const int64_t size = b.sizes(*x)[0];
  switch (b.random.below(3)) {
    case 0:
      return b.call_typed(
          "bool", "torch.gt(torch.size($0, 0), " + std::to_string(size - b.random.below(2)) + ")",
          {*x}, Arithmetic::kOfShapes);
    case 1:
      return b.call_typed("bool",
                          "torch.eq(torch.dim($0), " + std::to_string(b.random.between(2, 4)) + ")",
                          {*x}, Arithmetic::kOfShapes);
    default: {
      const auto y = b.any(
          [&](ValueId id) { return b.is_float(id) && b.is_exact(id) && b.tensor(id).numel() > 0; });
      if (!y) return std::nullopt;
      return b.call_typed("bool",
                          b.random.pick({"bool(torch.gt(torch.max($0), 0.5))",
                                         "bool(torch.lt(torch.min($0), -0.9))"}),
                          {*y}, Arithmetic::kExact);
    }
  }
}

void add_branch(Builder& b, const std::function<void()>& make) {
  const auto condition = add_condition(b);
  if (!condition) return;
  const auto some = [&] { make_some(b, make); };
  IntArray sizes;
  DType dtype{};
  auto then = b.block(std::nullopt, some, [&](ValueId id) {
    sizes = b.sizes(id);
    dtype = b.tensor(id).dtype();
    return true;
  });
  if (!then) return;
  auto other = b.block(std::nullopt, some, [&](ValueId id) {
    return b.tensor(id).dtype() == dtype &&
           b.tensor(id).dim() == static_cast<int64_t>(sizes.size());
  });
  if (other) b.add_branch(*condition, *std::move(then), *std::move(other));
}

void add_loop(Builder& b, const std::function<void()>& make) {
  const auto begin = b.any([&](ValueId id) { return b.is_float(id); });
  if (!begin) return;
  const IntArray sizes = b.sizes(*begin);
  std::optional<ValueId> count;
  if (!sizes.empty() && sizes[0] < 4 && b.random.chance(0.5)) {
    count = b.call_typed("int", "torch.size($0, 0)", {*begin}, Arithmetic::kOfShapes);
  }
  const ValueId carried = b.new_carried(*begin);
  auto body = b.block(
      carried, [&] { make_some(b, make); },
      [&](ValueId id) { return b.is_float(id) && b.sizes(id) == sizes; });
  if (!body) return;
  b.add_loop(*begin, carried, count ? "$1" : b.random.pick({"1", "2", "3"}), count,
             *std::move(body));
}

}  // namespace

void add_control(Builder& b, const std::function<void()>& make) {
  if (b.depth() >= kMostDepth) return;
  if (b.random.chance(0.6)) {
    add_branch(b, make);
  } else {
    add_loop(b, make);
  }
}

}  // namespace torchlet::random_graphs
