// Programs that ask for too much, each under limits.
#include <gtest/gtest.h>
#include <torchlet/torchlet.h>

#include <chrono>
#include <thread>

#include "archive/test_util.h"

namespace torchlet {
namespace {

// A model whose forward has these lines.
Module model(const std::vector<std::string>& lines, const Options& options) {
  std::string code =
      "class M(Module):\n  __parameters__ = []\n  __buffers__ = []\n"
      "  def forward(self: __torch__.M, n: int) -> int:\n";
  for (const std::string& line : lines) code += "    " + line + "\n";
  code +=
      "    return 1\n"
      "  def again(self: __torch__.M, n: int) -> int:\n    return torch.add(n, 1)\n";
  code +=
      "def deep(n: int) -> int:\n"
      "  if torch.gt(n, 0):\n    m = torch.add(__torch__.deep(torch.sub(n, 1)), "
      "__torch__.deep(torch.sub(n, 1)))\n"
      "  else:\n    m = 1\n  return m\n";
  const std::string zip = archive::ZipBuilder()
                              .add("m/data.pkl", archive::op::pickle("c__torch__\nM\n)\x81}b"))
                              .add("m/code/__torch__.py", code)
                              .add("m/constants.pkl", archive::op::pickle(")"))
                              .add("m/version", "3\n")
                              .finish();
  return load(std::as_bytes(std::span(zip)), options);
}

struct Asked {
  const char* what;
  std::vector<std::string> lines;
};

// What the module gives for 1 once a call was ended. A busy machine may need several tries: each
// has a tenth of a second by the clock.
int64_t again(const Module& module) {
  for (int tries = 100;; --tries) {
    try {
      return module.run_method("again", int64_t{1}).to_int();
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kTimeLimit || tries == 1) throw;
    }
  }
}

std::vector<Options> devices(double seconds, size_t bytes) {
  std::vector<Options> all(2);
  for (Options& options : all) {
    options.time_limit = seconds;
    options.memory_limit = bytes;
  }
  all[1].devices = {"reference"};
  return all;
}

TEST(MemoryLimit, NoProgramEscapes) {
  const Asked programs[] = {
      {"one tensor", {"x = torch.zeros([n, 1000000])"}},
      {"many tensors",
       {"l = annotate(List[Tensor], [])",
        "for i in range(1000000):", "  _0 = torch.append(l, torch.zeros([n]))"}},
      {"empty tensors",
       {"l = annotate(List[Tensor], [])",
        "for i in range(100000000):", "  _0 = torch.append(l, torch.zeros([0]))"}},
      {"a list", {"l = [0]", "for i in range(100000000):", "  _0 = torch.append(l, n)"}},
      {"a repeated list", {"l = torch.mul([0], torch.mul(n, 1000000))"}},
      {"a list added to itself", {"l = [0]", "for i in range(50):", "  _0 = torch.extend(l, l)"}},
      {"a string", {"s = torch.ljust(\"abc\", torch.mul(n, 100000), \"x\")"}},
      {"a joined string",
       {"s = torch.ljust(\"abc\", torch.mul(n, 1000), \"x\")",
        "t = torch.join(\"\", torch.mul([s], n))"}},
      {"a replaced string",
       {"s = torch.ljust(\"\", torch.mul(n, 1000), \"x\")", "t = torch.replace(s, \"x\", s)"}},
      {"a string added to itself",
       {"s = \"abc\"", "for i in range(50):", "  s = torch.add(s, s)",
        "if torch.eq(s, \"x\"):", "  ops.prim.RaiseException(\"x\")"}},
      {"a dict",
       {"d = annotate(Dict[int, int], {})",
        "for i in range(100000000):", "  torch._set_item(d, i, i)"}},
      {"tuples",
       {"l = annotate(List[Tuple[int, int]], [])",
        "for i in range(100000000):", "  _0 = torch.append(l, (i, i))"}},
      {"a tensor that grows", {"x = torch.zeros([1])", "_0 = torch.resize_(x, [n, 1000000])"}},
  };
  for (const Options& options : devices(0, size_t{6} << 20)) {
    for (const Asked& asked : programs) {
      const Module module = model(asked.lines, options);
      for (int run = 0; run < 2; ++run) {
        try {
          module.forward({int64_t{1000}});
          ADD_FAILURE() << asked.what;
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), ErrorCode::kMemoryLimit) << asked.what << ": " << error.what();
          EXPECT_NE(std::string(error.what()).find("code/__torch__.py"), std::string::npos)
              << error.what();
        }
        // What it held is given back.
        EXPECT_EQ(module.run_method("again", int64_t{1}).to_int(), 2) << asked.what;
      }
    }
  }
}

TEST(MemoryLimit, WhatFitsRuns) {
  for (const Options& options : devices(0, size_t{20} << 20)) {
    const Module module =
        model({"for i in range(100):", "  _0 = torch.fill_(torch.zeros([n, 1000]), 1)"}, options);
    EXPECT_EQ(module.forward({int64_t{1000}}).to_int(), 1);
  }
  Options options;
  options.memory_limit = size_t{100} << 20;
  options.time_limit = 1000;
  const Tensor picture = zeros(std::array<int64_t, 4>{1, 3, 224, 224}, DType::kFloat32);
  const Tensor limited =
      load("models/digits_mobilenet_v2.pt", options).forward({picture}).to_tensor();
  const Tensor free = load("models/digits_mobilenet_v2.pt").forward({picture}).to_tensor();
  for (int64_t i = 0; i < free.numel(); ++i) {
    EXPECT_EQ(limited.data_ptr<float>()[i], free.data_ptr<float>()[i]);
  }
}

// Each result is used: nobody waits for one that is removed as dead code.
TEST(TimeLimit, NoProgramEscapes) {
  const Asked programs[] = {
      {"a loop", {"l = [0]", "while True:", "  _0 = torch._set_item(l, 0, n)"}},
      {"a loop with numbers",
       {"l = [0]", "i = 0", "while True:", "  i = torch.add(i, n)",
        "  _0 = torch._set_item(l, 0, i)"}},
      {"recursion", {"m = __torch__.deep(900)"}},
      {"a product", {"x = torch.ones([6000, 6000])", "while True:", "  y = torch.mm(x, x)"}},
      {"one product",
       {"x = torch.ones([8000, 8000])", "y = torch.mm(x, x)",
        "if torch.equal(x, y):", "  ops.prim.RaiseException(\"x\")"}},
      {"sums",
       {"x = torch.expand(torch.ones([1, 1]), [1000000, 1000000])", "y = torch.sum(x, [1])",
        "if torch.equal(x, y):", "  ops.prim.RaiseException(\"x\")"}},
      {"a search",
       {"s = torch.ljust(\"\", 4000000, \"a\")", "t = torch.ljust(\"\", 2000000, \"a\")",
        "if torch.eq(torch.find(s, torch.add(t, \"b\")), 0):", "  ops.prim.RaiseException(\"x\")"}},
      {"forks", {"while True:", "  f = fork(__torch__.deep, 50)"}},
  };
  for (const Options& options : devices(0.1, size_t{1} << 30)) {
    for (const Asked& asked : programs) {
      const Module module = model(asked.lines, options);
      const auto begin = std::chrono::steady_clock::now();
      try {
        module.forward({int64_t{1000}});
        ADD_FAILURE() << asked.what;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::kTimeLimit) << asked.what << ": " << error.what();
      }
      EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20)) << asked.what;
      EXPECT_EQ(again(module), 2) << asked.what;
    }
  }
}

TEST(Cancel, EndsAProgramFromAnotherThread) {
  const auto cancel = std::make_shared<std::atomic<bool>>(false);
  Options options;
  options.cancel = cancel;
  const Module module =
      model({"l = [0]", "while True:", "  _0 = torch._set_item(l, 0, n)"}, options);
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    *cancel = true;
  });
  try {
    module.forward({int64_t{1}});
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kCancelled);
  }
  other.join();
  EXPECT_THROW(module.run_method("again", int64_t{1}), Error);
  *cancel = false;
  EXPECT_EQ(module.run_method("again", int64_t{1}).to_int(), 2);
}

TEST(Limits, AreChecked) {
  Options options;
  options.time_limit = -1;
  EXPECT_THROW(load("tests/fixtures/linear.pt", options), Error);
}

// A constant that no run may need is not computed, however large.
TEST(Fold, LeavesLargeConstantsToTheRun) {
  const Module module =
      model({"if torch.gt(n, 5):", "  x = torch.zeros([100000, 60000])",
             "  y = torch.sum(torch.expand(torch.ones([1, 1]), [1000000, 1000000]))"},
            Options());
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(module.forward({int64_t{1}}).to_int(), 1);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

}  // namespace
}  // namespace torchlet
