#include <torchlet/bundle.h>

#include <gtest/gtest.h>
#include <torchlet/bundled_inputs.h>
#include <torchlet/save.h>
#include <torchlet/torchlet.h>

#include <cmath>
#include <filesystem>

#include "archive/test_util.h"
#include "base/testing.h"
#include "ops/core/testing.h"
#include "tensor/tensor_impl.h"

namespace torchlet {
namespace {

using ops::elements_of;
using ops::make;

Module model() {
  const std::string code =
      "class M(Module):\n  __parameters__ = []\n  __buffers__ = []\n  step : int\n"
      "  def forward(self: __torch__.M, x: Tensor, times: int=2) -> Tensor:\n"
      "    return torch.mul(x, times)\n"
      "  def other(self: __torch__.M, names: List[str], y: Optional[Tensor]=None) -> int:\n"
      "    return torch.len(names)\n"
      "  def none(self: __torch__.M) -> int:\n    return 1\n";
  namespace op = archive::op;
  const std::string zip = archive::ZipBuilder()
                              .add("m/data.pkl", op::pickle("c__torch__\nM\n)\x81}" +
                                                            op::str("step") + op::byte(5) + "sb"))
                              .add("m/code/__torch__.py", code)
                              .add("m/constants.pkl", op::pickle(")"))
                              .add("m/version", "3\n")
                              .finish();
  return load(std::as_bytes(std::span(zip)));
}

Error error_of(const std::string& method, const std::vector<BundledCall>& calls) {
  try {
    bundle(model(), method, calls);
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "nothing was thrown";
  return Error(ErrorCode::kInternal, "");
}

TEST(Bundle, GivesTheMethodsThatPyTorchKnows) {
  const Module m =
      bundle(model(), "forward",
             {{{Value(make({1.0, 2.0})), Value(3)}, "two"}, {{Value(make({5.0}))}, ""}});
  EXPECT_EQ(m.run_method("get_num_bundled_inputs").to_int(), 2);
  const std::vector<Value> first = m.run_method("get_all_bundled_inputs").to_list()[0].to_tuple();
  ASSERT_EQ(first.size(), 2u);
  EXPECT_EQ(elements_of(first[0].to_tensor()), (std::vector<double>{1, 2}));
  EXPECT_EQ(first[1].to_int(), 3);
  // What is left out has its default.
  EXPECT_EQ(bundled_inputs(m)[1][1].to_int(), 2);
  EXPECT_EQ(elements_of(m.run_method("run_on_bundled_input", int64_t{1}).to_tensor()),
            (std::vector<double>{10}));
  EXPECT_EQ(to_text(m.run_method("get_bundled_inputs_functions_and_info")),
            "{'forward': {'info': ['two', ''], 'get_inputs_function_name': "
            "['get_all_bundled_inputs_for_forward']}}");
  EXPECT_EQ(m.attr("_bundled_inputs_deflated_forward").to_list().size(), 2u);
  EXPECT_EQ(elements_of(m.forward({Value(make({7.0}))}).to_tensor()), (std::vector<double>{14}));
}

TEST(Bundle, KeepsOneElementOfWhatIsConstant) {
  const Tensor large = zeros(std::vector<int64_t>{3, 100}, DType::kFloat32);
  Tensor image = empty_strided(
      std::vector<int64_t>{1, 3, 8, 8},
      strides_for(std::vector<int64_t>{1, 3, 8, 8}, MemoryFormat::kChannelsLast), DType::kFloat32);
  for (int64_t i = 0; i < image.numel(); ++i) image.data_ptr<float>()[i] = -0.5f;
  const Module m = bundle(model(), "forward", {{{Value(large)}, ""}, {{Value(image)}, ""}});
  const std::vector<Value> kept = m.attr("_bundled_inputs_deflated_forward").to_list();
  for (const Value& call : kept) {
    EXPECT_EQ(call.to_tuple()[0].to_tensor().impl()->storage->nbytes(), 4u);
  }
  const auto calls = bundled_inputs(m);
  EXPECT_EQ(elements_of(calls[0][0].to_tensor()), std::vector<double>(300, 0));
  const Tensor again = calls[1][0].to_tensor();
  EXPECT_EQ(elements_of(again), std::vector<double>(192, -0.5));
  EXPECT_TRUE(again.is_contiguous(MemoryFormat::kChannelsLast));
}

TEST(Bundle, KeepsNoMoreOfAStorageThanTheTensorHas) {
  const Tensor whole = zeros(std::vector<int64_t>{1000, 2}, DType::kFloat32);
  whole.data_ptr<float>()[3] = 4;
  const Tensor row = make_view(whole, std::vector<int64_t>{2}, std::vector<int64_t>{1}, 2);
  const Module m = bundle(model(), "forward", {{{Value(row)}, ""}});
  const Tensor kept =
      m.attr("_bundled_inputs_deflated_forward").to_list()[0].to_tuple()[0].to_tensor();
  EXPECT_EQ(kept.impl()->storage->nbytes(), 8u);
  EXPECT_EQ(elements_of(bundled_inputs(m)[0][0].to_tensor()), (std::vector<double>{0, 4}));
}

// The numbers as bundle.h describes them, written anew.
int64_t hash_of(int64_t i, int64_t seed) {
  constexpr int64_t kPrime = 2147483647;
  int64_t h = (i * 16807 + seed * 69621) % kPrime;
  h = h * h % kPrime;
  h = (h * 48271 + i) % kPrime;
  return h * h % kPrime;
}

TEST(Bundle, MakesRandomTensorsOfASeed) {
  const Module m = bundle(model(), "forward",
                          {{{RandomTensor{{2, 50}, DType::kFloat32, 7}}, ""},
                           {{RandomTensor{{100}, DType::kFloat64, 8}}, ""},
                           {{RandomTensor{{100}, DType::kInt32, 7}}, ""},
                           {{RandomTensor{{100}, DType::kBool, 7}}, ""},
                           {{RandomTensor{{}, DType::kFloat16, 9}}, ""},
                           {{RandomTensor{{0, 3}, DType::kUInt8, 9}}, ""}});
  const auto calls = bundled_inputs(m);
  const auto tensor = [&](size_t call) { return calls[call][0].to_tensor(); };
  EXPECT_EQ(tensor(0).describe(), "[2, 50] float32");
  EXPECT_EQ(tensor(1).describe(), "[100] float64");
  EXPECT_EQ(tensor(2).describe(), "[100] int32");
  EXPECT_EQ(tensor(3).describe(), "[100] bool");
  EXPECT_EQ(tensor(4).describe(), "[] float16");
  EXPECT_EQ(tensor(5).describe(), "[0, 3] uint8");
  for (int64_t i = 0; i < 100; ++i) {
    const auto at = static_cast<size_t>(i);
    EXPECT_EQ(elements_of(tensor(0))[at], static_cast<double>(hash_of(i, 7) % 16777216) * 0x1p-24);
    EXPECT_EQ(elements_of(tensor(1))[at], static_cast<double>(hash_of(i, 8) % 16777216) * 0x1p-24);
    EXPECT_EQ(elements_of(tensor(2))[at], hash_of(i, 7) % 10);
    EXPECT_EQ(elements_of(tensor(3))[at], hash_of(i, 7) % 2);
  }
  EXPECT_EQ(
      m.attr("_bundled_inputs_deflated_forward").to_list()[0].to_tuple()[0].to_tensor().numel(), 1);
}

TEST(Bundle, LooksLikeUniformNumbers) {
  const Module m = bundle(model(), "forward",
                          {{{RandomTensor{{100000}, DType::kFloat32, 1}}, ""},
                           {{RandomTensor{{100000}, DType::kFloat32, 2}}, ""}});
  const auto calls = bundled_inputs(m);
  const std::vector<double> x = elements_of(calls[0][0].to_tensor());
  const std::vector<double> y = elements_of(calls[1][0].to_tensor());
  double sum = 0, squares = 0, neighbours = 0, both = 0;
  for (size_t i = 0; i + 1 < x.size(); ++i) {
    sum += x[i];
    squares += (x[i] - 0.5) * (x[i] - 0.5);
    neighbours += (x[i] - 0.5) * (x[i + 1] - 0.5);
    both += (x[i] - 0.5) * (y[i] - 0.5);
  }
  const auto count = static_cast<double>(x.size() - 1);
  EXPECT_NEAR(sum / count, 0.5, 0.005);
  EXPECT_NEAR(squares / count, 1.0 / 12, 0.002);
  EXPECT_NEAR(neighbours / count, 0, 0.002);
  EXPECT_NEAR(both / count, 0, 0.002);
}

TEST(Bundle, ReplacesAMethodsCallsAndLeavesOthers) {
  Module m = bundle(model(), "forward", {{{RandomTensor{{3}}}, "a"}, {{RandomTensor{{3}}}, "b"}});
  m = bundle(m, "other", {{{Value::list({"x", "y"}), RandomTensor{{4}}}, "it's \"x\"\n"}});
  EXPECT_EQ(bundled_inputs(m).size(), 2u);
  EXPECT_EQ(bundled_inputs(m, "other")[0][1].to_tensor().describe(), "[4] float32");
  m = bundle(m, "forward", {{{Value(make({1.0}))}, ""}});
  EXPECT_EQ(bundled_inputs(m).size(), 1u);
  EXPECT_FALSE(m.find_method("_inflate_helper_for_forward_input_0_arg_0"));
  using Methods = std::vector<std::pair<std::string, std::vector<std::string>>>;
  const auto sorted = [](Methods methods) {
    std::ranges::sort(methods);
    return methods;
  };
  EXPECT_EQ(sorted(bundled_methods(m)), (Methods{{"forward", {}}, {"other", {"it's \"x\"\n"}}}));

  const Module bare = unbundle(m);
  EXPECT_EQ(bare.methods().size(), model().methods().size());
  EXPECT_EQ(bare.named_attributes().size(), model().named_attributes().size());
  EXPECT_TRUE(bundled_methods(bare).empty());
}

TEST(Bundle, ReadsWhatPyTorchBundled) {
  const Module m = load("tests/fixtures/bundled.pt");
  ASSERT_EQ(bundled_methods(m).size(), 1u);
  EXPECT_EQ(bundled_methods(m)[0].first, "forward");
  const Module again = bundle(m, "forward", {{{bundled_inputs(m)[0][0]}, ""}});
  EXPECT_EQ(elements_of(bundled_inputs(again)[0][0].to_tensor()),
            elements_of(bundled_inputs(m)[0][0].to_tensor()));
  EXPECT_EQ(bundled_inputs(again).size(), 1u);
}

TEST(Bundle, IsWrittenAndReadAgain) {
  const std::string path = temp_path("bundle.pt");
  const Module m = bundle(model(), "forward", {{{RandomTensor{{5}}}, "a"}});
  save(m, path);
  const Module again = load(path);
  EXPECT_EQ(elements_of(bundled_inputs(again)[0][0].to_tensor()),
            elements_of(bundled_inputs(m)[0][0].to_tensor()));
  std::filesystem::remove(path);
}

TEST(Bundle, RefusesWhatDoesNotFit) {
  const Value x(make({1.0}));
  EXPECT_EQ(error_of("nothing", {{{x}, ""}}).code(), ErrorCode::kNotFound);
  EXPECT_EQ(error_of("forward", {}).code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(error_of("none", {{{}, ""}}).code(), ErrorCode::kInvalidArgument);
  const Error wrong = error_of("forward", {{{x}, ""}, {{Value("text")}, ""}});
  EXPECT_EQ(wrong.code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(wrong.context().back(), "in bundled call 1");
  EXPECT_EQ(error_of("forward", {{{x, x}, ""}}).code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(error_of("forward", {{{}, ""}}).code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(error_of("other", {{{RandomTensor{{2}}}, ""}}).code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(error_of("forward", {{{RandomTensor{{2}, DType::kComplex64}}, ""}}).code(),
            ErrorCode::kInvalidArgument);
  EXPECT_THROW(bundle(model(), "forward", {{{RandomTensor{{-1}}}, ""}}), Error);
  EXPECT_THROW(bundle(model(), "forward", {{{RandomTensor{{int64_t{1} << 62, 4}}}, ""}}), Error);
}

}  // namespace
}  // namespace torchlet
