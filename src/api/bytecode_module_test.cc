// Archives that hold bytecode and no source give what the same archives give from their source.
#include <gtest/gtest.h>
#include <torchlet/torchlet.h>

#include <algorithm>
#include <cstring>

namespace torchlet {
namespace {

// scripts/make_fuzz_seeds.py
Module from_source(const std::string& name) {
  return load("tests/fuzz/seeds/archives/" + name + ".ptl");
}
Module from_bytecode(const std::string& name) {
  return load("tests/fuzz/seeds/archives/" + name + ".bytecode.ptl");
}

Tensor ramp(std::vector<int64_t> sizes) {
  const Tensor tensor = zeros(sizes, DType::kFloat32);
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    tensor.data_ptr<float>()[i] = 0.25f * static_cast<float>(i % 7) - 0.5f;
  }
  return tensor;
}

void expect_same(const Value& a, const Value& b) {
  ASSERT_EQ(a.kind(), b.kind());
  if (a.is_tensor()) {
    const Tensor x = a.to_tensor().contiguous(), y = b.to_tensor().contiguous();
    ASSERT_EQ(x.dtype(), y.dtype());
    ASSERT_TRUE(std::ranges::equal(x.sizes(), y.sizes()));
    const size_t nbytes = static_cast<size_t>(x.numel()) * element_size(x.dtype());
    EXPECT_TRUE(nbytes == 0 || std::memcmp(x.raw_data(), y.raw_data(), nbytes) == 0);
  } else if (a.is_tuple() || a.is_list()) {
    const std::vector<Value> x = a.is_list() ? a.to_list() : a.to_tuple();
    const std::vector<Value> y = b.is_list() ? b.to_list() : b.to_tuple();
    ASSERT_EQ(x.size(), y.size());
    for (size_t i = 0; i < x.size(); ++i) expect_same(x[i], y[i]);
  } else if (a.is_dict()) {
    const auto x = a.to_dict(), y = b.to_dict();
    ASSERT_EQ(x.size(), y.size());
    for (size_t i = 0; i < x.size(); ++i) {
      expect_same(x[i].first, y[i].first);
      expect_same(x[i].second, y[i].second);
    }
  } else if (a.is_string()) {
    EXPECT_EQ(a.to_string(), b.to_string());
  }
}

size_t segments_on_cpu(const Module& module) {
  const std::vector<Placement> all = module.placement();
  return static_cast<size_t>(std::ranges::count_if(all, [](const Placement& placement) {
    return placement.is_segment && placement.device == "cpu" && placement.reason.empty();
  }));
}

TEST(BytecodeModule, GivesWhatItsSourceGives) {
  struct Call {
    std::string name;
    std::vector<int64_t> sizes;
    size_t segments;  // that became plans; as many as from the source, but for one of `control`
  };
  const Call calls[] = {{"control", {2, 3}, 3},
                        {"shapes", {5}, 3},
                        {"attention", {1, 6}, 1},
                        {"picture", {1, 3, 9, 8}, 2}};
  for (const Call& call : calls) {
    SCOPED_TRACE(call.name);
    const Module source = from_source(call.name), bytecode = from_bytecode(call.name);
    // One counts its calls, one writes to its input.
    for (int run = 0; run < 2; ++run) {
      expect_same(bytecode.forward({ramp(call.sizes)}), source.forward({ramp(call.sizes)}));
    }
    EXPECT_EQ(segments_on_cpu(bytecode), call.segments);
  }
}

TEST(BytecodeModule, HasTheAttributesOfItsObjects) {
  const Module module = from_bytecode("picture");
  EXPECT_EQ(module.submodule("conv").attr("weight").to_tensor().dim(), 4);
  EXPECT_EQ(module.get_method("forward").schema(), "forward(Tensor x) -> Tuple[Tensor, Tensor]");
}

TEST(BytecodeModule, RaisesWhatTheProgramRaises) {
  try {
    from_bytecode("picture").forward({ramp({3, 9, 8})});
    FAIL() << "nothing was raised";
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "a picture has four dimensions");
    EXPECT_EQ(error.python_class(), "builtins.ValueError");
    ASSERT_FALSE(error.context().empty());
    EXPECT_NE(error.context()[0].find("bytecode of __torch__.Picture.forward"), std::string::npos)
        << error.context()[0];
  }
}

}  // namespace
}  // namespace torchlet
