// Programs run optimised and as they were written: same answers, same errors, same state.
#include "api/optimized_methods.h"

#include <gtest/gtest.h>

#include <thread>

#include "api/deep_copy.h"
#include "device/registry.h"
#include "interp/interpreter.h"
#include "ops/core/testing.h"
#include "passes/testing.h"

namespace torchlet::api {
namespace {

using ops::make;
using ops::ramp;
using passes::module_class;
using passes::Program;

std::vector<std::shared_ptr<device::Device>> cpu() {
  return device::make_devices(std::vector<std::string>{"cpu"}, {});
}

// The same module twice: one runs optimised, one as it was written.
class Pair {
 public:
  Pair(Program& program, const std::string& name,
       std::vector<std::pair<std::string, Value>> attributes)
      : fast_(program.object(name, std::move(attributes))), plain_(deep_copy(fast_)) {}

  // The result, or the error with its places. It is the same both times.
  std::string call(const std::string& method, const std::vector<Value>& arguments) {
    const std::string fast = text([&] {
      const auto made = methods_.get(Program::method(fast_, method), fast_);
      return interpreter_.run(*made, made->code(), with_self(fast_, arguments));
    });
    const std::string plain = text([&] {
      return interpreter_.run(Program::method(plain_, method), with_self(plain_, arguments));
    });
    EXPECT_EQ(fast, plain);
    return fast;
  }
  void set(const std::string& attribute, const Value& value) {
    Object& object = fast_.object_ref();
    const size_t slot = *object.type->find_attribute(attribute);
    object.slots[slot] = deep_copy(value);
    methods_.attribute_set(fast_, slot);
    plain_.object_ref().set_attribute(attribute, deep_copy(value));
  }
  bool is_made_anew(const std::string& method) {
    const auto before = made_[method];
    made_[method] = methods_.get(Program::method(fast_, method), fast_);
    return before != made_[method];
  }
  OptimizedMethods& methods() { return methods_; }
  const Value& fast() const { return fast_; }

 private:
  static std::vector<Value> with_self(const Value& self, const std::vector<Value>& arguments) {
    std::vector<Value> all = {self};
    for (const Value& argument : arguments) all.push_back(deep_copy(argument));
    return all;
  }
  static std::string elements(const Value& value) {
    if (value.is_tuple()) {
      std::string all;
      for (const Value& item : value.tuple_ref().items) all += elements(item) + ";";
      return all;
    }
    if (!value.is_tensor()) return to_text(value);
    std::string all;
    for (const double element : ops::elements_of(value.to_tensor())) {
      all += float_text(element) + " ";
    }
    return all;
  }
  template <typename Run>
  static std::string text(const Run& run) {
    try {
      return elements(run());
    } catch (const Error& error) {
      return error.what();
    }
  }

  interp::Interpreter interpreter_;
  OptimizedMethods methods_{cpu()};
  Value fast_, plain_;
  std::map<std::string, std::shared_ptr<OptimizedFunction>> made_;
};

TEST(OptimizedMethods, BuffersAndCountersKeepTheirState) {
  Program program(
      module_class("M", {"total : Tensor", "count : int", "w : Tensor"},
                   "  def forward(self: __torch__.M, x: Tensor) -> Tuple[Tensor, int]:\n"
                   "    self.count = torch.add(self.count, 1)\n"
                   "    _0 = torch.add_(torch.slice(self.total, 0, 0, 1), torch.sum(x))\n"
                   "    if torch.gt(self.count, 2):\n"
                   "      self.total = torch.mul(self.total, 2)\n"
                   "    else:\n"
                   "      pass\n"
                   "    return (torch.mul(torch.add(self.total, x), self.w), self.count)\n"));
  Pair m(program, "M", {{"total", make({0, 1})}, {"count", 0}, {"w", make({2, 3})}});
  EXPECT_EQ(m.call("forward", {make({1, 2})}), "8.0 9.0 ;1;");
  EXPECT_EQ(m.call("forward", {make({1, 2})}), "14.0 9.0 ;2;");
  EXPECT_EQ(m.call("forward", {make({1, 2})}), "38.0 12.0 ;3;");
}

// Modules that a key picks, one of which counts its calls, in an unrolled loop that fills a list.
TEST(OptimizedMethods, LoopsOverPickedModules) {
  Program program(
      "class Layer(ModuleInterface):\n"
      "  def forward(self: __torch__.Layer, x: Tensor) -> Tensor:\n    pass\n" +
      module_class("Scale", {"by : Tensor"},
                   "  def forward(self: __torch__.Scale, x: Tensor) -> Tensor:\n"
                   "    return torch.mul(x, self.by)\n") +
      module_class("Count", {"calls : int"},
                   "  def forward(self: __torch__.Count, x: Tensor) -> Tensor:\n"
                   "    self.calls = torch.add(self.calls, 1)\n"
                   "    return torch.add(x, self.calls)\n") +
      module_class(
          "Layers",
          {"__annotations__[\"0\"] = __torch__.Scale", "__annotations__[\"1\"] = __torch__.Count"},
          "") +
      module_class("M", {"layers : __torch__.Layers"},
                   "  def forward(self: __torch__.M, x: Tensor, first: int) -> Tensor:\n"
                   "    found = torch.mul([x], 3)\n"
                   "    for i in range(3):\n"
                   "      key = torch.remainder(torch.add(first, i), 2)\n"
                   "      layer : __torch__.Layer = (self.layers)[key]\n"
                   "      x = (layer).forward(x)\n"
                   "      _0 = torch._set_item(found, torch.sub(i, 1), x)\n"
                   "    return torch.cat(found)\n"
                   "  def pick(self: __torch__.M, x: Tensor, key: int) -> Tensor:\n"
                   "    layer : __torch__.Layer = (self.layers)[key]\n"
                   "    return (layer).forward(x)\n"));
  const Value scale = program.object("Scale", {{"by", make({2})}});
  const Value count = program.object("Count", {{"calls", 0}});
  Pair m(program, "M", {{"layers", program.object("Layers", {{"0", scale}, {"1", count}})}});
  EXPECT_EQ(m.call("forward", {make({1}), 0}), "3.0 6.0 2.0 ");
  EXPECT_EQ(m.call("forward", {make({1}), 1}), "6.0 9.0 3.0 ");
  EXPECT_EQ(m.call("pick", {make({1}), 1}), "5.0 ");
  const std::string error = m.call("pick", {make({1}), 2});
  EXPECT_NE(error.find("'__torch__.Layers' has no module '2'"), std::string::npos) << error;
}

TEST(OptimizedMethods, OneMethodChangesWhatAnotherReliesOn) {
  Program program(module_class("M", {"training : bool", "w : Tensor"},
                               "  def forward(self: __torch__.M, x: Tensor) -> Tensor:\n"
                               "    if self.training:\n"
                               "      y = torch.neg(x)\n"
                               "    else:\n"
                               "      y = torch.mul(x, torch.add(self.w, 1))\n"
                               "    return y\n"
                               "  def train(self: __torch__.M, mode: bool) -> NoneType:\n"
                               "    self.training = mode\n"
                               "    return None\n"
                               "  def step(self: __torch__.M) -> NoneType:\n"
                               "    _0 = torch.mul_(self.w, 2)\n"
                               "    return None\n"));
  Pair m(program, "M", {{"training", false}, {"w", make({1, 2})}});
  EXPECT_EQ(m.call("forward", {make({1, 1})}), "2.0 3.0 ");
  EXPECT_TRUE(m.is_made_anew("forward"));
  EXPECT_FALSE(m.is_made_anew("forward"));
  EXPECT_EQ(m.call("step", {}), "None");
  EXPECT_TRUE(m.is_made_anew("forward"));
  EXPECT_EQ(m.call("forward", {make({1, 1})}), "3.0 5.0 ");
  EXPECT_EQ(m.call("train", {true}), "None");
  EXPECT_TRUE(m.is_made_anew("forward"));
  EXPECT_EQ(m.call("forward", {make({1, 1})}), "-1.0 -1.0 ");
  EXPECT_EQ(m.call("train", {false}), "None");
  EXPECT_EQ(m.call("step", {}), "None");
  EXPECT_EQ(m.call("forward", {make({1, 1})}), "5.0 9.0 ");
  EXPECT_FALSE(m.is_made_anew("forward"));  // what it may not rely on is known by now
}

TEST(OptimizedMethods, AttributesSetFromOutside) {
  Program program(module_class("M", {"w : Tensor", "b : Optional[Tensor]"},
                               "  def forward(self: __torch__.M, x: Tensor) -> Tensor:\n"
                               "    return torch.linear(x, self.w, self.b)\n"));
  Pair m(program, "M", {{"w", make({1, 2}, DType::kFloat32, {1, 2})}, {"b", Value()}});
  EXPECT_EQ(m.call("forward", {make({1, 1})}), "3.0 ");
  m.set("b", make({10}));
  EXPECT_EQ(m.call("forward", {make({1, 1})}), "13.0 ");
  m.set("w", make({0, 5}, DType::kFloat32, {1, 2}));
  EXPECT_EQ(m.call("forward", {make({1, 1})}), "15.0 ");
}

TEST(OptimizedMethods, AnAttributeThatIsSetOftenIsAVariable) {
  Program program(module_class("M", {"scale : float", "w : Tensor"},
                               "  def forward(self: __torch__.M, x: Tensor) -> Tensor:\n"
                               "    return torch.mul(torch.add(x, self.w), self.scale)\n"));
  Pair m(program, "M", {{"scale", 1.0}, {"w", make({1, 2})}});
  for (int i = 1; i <= 6; ++i) {
    m.set("scale", static_cast<double>(i));
    EXPECT_EQ(m.is_made_anew("forward"), i <= OptimizedMethods::kMaxTimesSet);
    EXPECT_EQ(m.call("forward", {make({1, 1})}),
              float_text(2.0 * i) + " " + float_text(3.0 * i) + " ");
  }
  m.set("w", make({3, 3}));
  EXPECT_TRUE(m.is_made_anew("forward"));
  EXPECT_EQ(m.call("forward", {make({1, 1})}), "24.0 24.0 ");
}

TEST(OptimizedMethods, ASetAttributeConcernsTheModelsThatHoldTheModule) {
  Program program(module_class("Scale", {"by : float"},
                               "  def forward(self: __torch__.Scale, x: Tensor) -> Tensor:\n"
                               "    return torch.mul(x, self.by)\n") +
                  module_class("M", {"scale : __torch__.Scale"},
                               "  def forward(self: __torch__.M, x: Tensor) -> Tensor:\n"
                               "    return (self.scale).forward(x)\n"));
  const auto scale = [&](double by) { return program.object("Scale", {{"by", by}}); };
  const Value a = program.object("M", {{"scale", scale(2)}});
  const Value b = program.object("M", {{"scale", scale(3)}});
  OptimizedMethods methods_of_a(cpu()), methods_of_b(cpu());
  interp::Interpreter interpreter;
  const auto call = [&](OptimizedMethods& methods, const Value& self) {
    const auto made = methods.get(Program::method(self), self);
    return ops::elements_of(interpreter.run(*made, made->code(), {self, make({1})}).to_tensor())[0];
  };
  const auto set = [](OptimizedMethods& methods, const Value& object, const Value& value) {
    object.object_ref().slots[0] = value;
    methods.attribute_set(object, 0);
  };
  EXPECT_EQ(call(methods_of_a, a), 2);
  EXPECT_EQ(call(methods_of_b, b), 3);

  // A module of b is handed to a: b is not concerned.
  const auto made_of_b = methods_of_b.get(Program::method(b), b);
  const Value shared = b.object_ref().slots[0];
  set(methods_of_a, a, shared);
  EXPECT_EQ(call(methods_of_a, a), 3);
  EXPECT_EQ(methods_of_b.get(Program::method(b), b), made_of_b);

  // What is set in it is seen by both, whoever sets it.
  set(methods_of_b, shared, 5.0);
  EXPECT_EQ(call(methods_of_a, a), 5);
  EXPECT_EQ(call(methods_of_b, b), 5);
  set(methods_of_a, shared, 7.0);
  EXPECT_EQ(call(methods_of_b, b), 7);
  EXPECT_EQ(call(methods_of_a, a), 7);

  // What is set in a alone is not made anew in b.
  const auto unchanged = methods_of_b.get(Program::method(b), b);
  set(methods_of_a, a, scale(11));
  EXPECT_EQ(call(methods_of_a, a), 11);
  EXPECT_EQ(methods_of_b.get(Program::method(b), b), unchanged);
}

TEST(OptimizedMethods, ASharedSubmoduleIsOne) {
  Program program(
      module_class("Counter", {"n : int"},
                   "  def forward(self: __torch__.Counter) -> int:\n"
                   "    self.n = torch.add(self.n, 1)\n"
                   "    return self.n\n") +
      module_class("M", {"a : __torch__.Counter", "b : __torch__.Counter", "c : __torch__.Counter"},
                   "  def forward(self: __torch__.M) -> Tuple[int, int, int]:\n"
                   "    x = (self.a).forward()\n"
                   "    y = (self.b).forward()\n"
                   "    return (x, y, (self.c).n)\n"));
  const Value shared = program.object("Counter", {{"n", 0}});
  Pair m(program, "M", {{"a", shared}, {"b", shared}, {"c", shared}});
  EXPECT_EQ(m.call("forward", {}), "1;2;2;");
  EXPECT_EQ(m.call("forward", {}), "3;4;4;");
}

TEST(OptimizedMethods, AnAttributeThatNamesAnother) {
  // current is the tensor of w itself until it is replaced.
  Program program(module_class("M", {"w : Tensor", "current : Tensor"},
                               "  def keep(self: __torch__.M) -> NoneType:\n"
                               "    self.current = self.w\n"
                               "    return None\n"
                               "  def change(self: __torch__.M) -> NoneType:\n"
                               "    _0 = torch.add_(self.current, 1)\n"
                               "    return None\n"
                               "  def forward(self: __torch__.M, x: Tensor) -> Tensor:\n"
                               "    return torch.add(x, torch.mul(self.w, 2))\n"));
  Pair m(program, "M", {{"w", make({1})}, {"current", make({7})}});
  EXPECT_EQ(m.call("forward", {make({0})}), "2.0 ");
  EXPECT_EQ(m.call("change", {}), "None");
  EXPECT_EQ(m.call("forward", {make({0})}), "2.0 ");
  EXPECT_EQ(m.call("keep", {}), "None");
  EXPECT_EQ(m.call("change", {}), "None");
  EXPECT_EQ(m.call("forward", {make({0})}), "4.0 ");
  EXPECT_EQ(m.call("change", {}), "None");
  EXPECT_EQ(m.call("forward", {make({0})}), "6.0 ");
}

TEST(OptimizedMethods, ControlFlowOverModules) {
  const char* layer =
      "    if torch.gt(torch.sum(x), 0):\n"
      "      y = torch.relu_(torch.matmul(x, self.w))\n"
      "    else:\n"
      "      y = torch.neg(x)\n"
      "    return y\n";
  Program program(
      module_class(
          "Layer", {"w : Tensor"},
          std::string("  def forward(self: __torch__.Layer, x: Tensor) -> Tensor:\n") + layer) +
      module_class("M", {"one : __torch__.Layer", "two : __torch__.Layer"},
                   "  def forward(self: __torch__.M, x: Tensor, n: int) -> Tensor:\n"
                   "    y = x\n"
                   "    for i in range(n):\n"
                   "      y = (self.two).forward((self.one).forward(y))\n"
                   "      y = torch.add_(y, x)\n"
                   "    return y\n"));
  Pair m(program, "M",
         {{"one", program.object("Layer", {{"w", ramp({2, 2})}})},
          {"two", program.object("Layer", {{"w", ramp({2, 2}, 5)}})}});
  for (const int64_t n : {0, 1, 2, 5}) {
    m.call("forward", {make({1, -0.5, 2, 0.25}, DType::kFloat32, {2, 2}), n});
    m.call("forward", {make({-1, -0.5, -2, 0.25}, DType::kFloat32, {2, 2}), n});
  }
}

TEST(OptimizedMethods, ErrorsTellTheSamePlaces) {
  Program program(
      "def helper(x: Tensor) -> Tensor:\n  return torch.view(x, [7])\n" +
      module_class("Conv", {"w : Tensor"},
                   "  def forward(self: __torch__.Conv, x: Tensor) -> Tensor:\n"
                   "    return torch.matmul(x, self.w)\n"
                   "  def deep(self: __torch__.Conv, x: Tensor) -> Tensor:\n"
                   "    return __torch__.helper(x)\n"
                   "  def check(self: __torch__.Conv, n: int) -> int:\n"
                   "    if torch.lt(n, 0):\n"
                   "      ops.prim.RaiseException(\"negative\", \"builtins.ValueError\")\n"
                   "    else:\n"
                   "      pass\n"
                   "    return torch.floordiv(1, n)\n") +
      module_class("Block", {"conv : __torch__.Conv"},
                   "  def forward(self: __torch__.Block, x: Tensor) -> Tensor:\n"
                   "    return (self.conv).forward(x)\n"
                   "  def deep(self: __torch__.Block, x: Tensor) -> Tensor:\n"
                   "    return (self.conv).deep(x)\n"
                   "  def check(self: __torch__.Block, n: int) -> int:\n"
                   "    return (self.conv).check(n)\n") +
      module_class("Net", {"first : __torch__.Block"},
                   "  def forward(self: __torch__.Net, x: Tensor) -> Tensor:\n"
                   "    return (self.first).forward(x)\n"
                   "  def deep(self: __torch__.Net, x: Tensor) -> Tensor:\n"
                   "    block = self.first\n"
                   "    return torch.relu((block).deep(x))\n"
                   "  def check(self: __torch__.Net, n: int) -> int:\n"
                   "    return (self.first).check(n)\n"
                   "  def again(self: __torch__.Net, n: int) -> int:\n"
                   "    if torch.gt(n, 0):\n"
                   "      r = (self).again(torch.sub(n, 1))\n"
                   "    else:\n"
                   "      r = (self.first).check(n)\n"
                   "    return r\n"));
  const Value conv = program.object("Conv", {{"w", ramp({3, 3})}});
  Pair net(program, "Net", {{"first", program.object("Block", {{"conv", conv}})}});
  EXPECT_TRUE(net.call("forward", {ramp({2, 2})})
                  .ends_with("\n  in code/__torch__.py:8, in first.conv (aten::matmul)"
                             "\n  in code/__torch__.py:22, in first"
                             "\n  in code/__torch__.py:32"));
  EXPECT_TRUE(net.call("deep", {ramp({2})})
                  .ends_with("\n  in code/__torch__.py:2, in first.conv (aten::view)"
                             "\n  in code/__torch__.py:10, in first.conv"
                             "\n  in code/__torch__.py:24, in first"
                             "\n  in code/__torch__.py:35"));
  EXPECT_TRUE(
      net.call("check", {-1}).starts_with("negative\n  in code/__torch__.py:13, in first.conv"));
  EXPECT_NE(net.call("check", {0}).find(", in first.conv (aten::floordiv)"), std::string::npos);
  EXPECT_NE(net.call("again", {3}).find(", in first.conv (aten::floordiv)"), std::string::npos);
}

TEST(OptimizedMethods, ThreadsShareOneModule) {
  Program program(module_class("M", {"w : Tensor", "n : Tensor"},
                               "  def forward(self: __torch__.M, x: Tensor) -> Tensor:\n"
                               "    y = torch.relu_(torch.matmul(x, self.w))\n"
                               "    for i in range(4):\n"
                               "      y = torch.add_(torch.matmul(y, self.w), self.n)\n"
                               "    return y\n"));
  const Value object = program.object("M", {{"w", ramp({8, 8})}, {"n", ramp({8}, 3)}});
  interp::Interpreter interpreter;
  OptimizedMethods methods(cpu());
  Function& forward = Program::method(object);
  const Tensor x = ramp({4, 8}, 1);
  const std::vector<double> want =
      ops::elements_of(interpreter.run(forward, {object, x}).to_tensor());
  std::vector<std::shared_ptr<OptimizedFunction>> made(4);
  std::vector<int> wrong(4);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < made.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        made[t] = methods.get(forward, object);
        const Value result = interpreter.run(*made[t], made[t]->code(), {object, x});
        wrong[t] += ops::elements_of(result.to_tensor()) != want;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4));
  for (const auto& function : made) EXPECT_EQ(function, made[0]);  // one for all
}

}  // namespace
}  // namespace torchlet::api
