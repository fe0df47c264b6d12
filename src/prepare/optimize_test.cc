#include <gtest/gtest.h>
#include <torchlet/bundle.h>
#include <torchlet/bundled_inputs.h>
#include <torchlet/optimize.h>
#include <torchlet/save.h>
#include <torchlet/torchlet.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "archive/test_util.h"
#include "base/testing.h"
#include "tensor/npy.h"

namespace torchlet {
namespace {

const std::string kDigits = "models/digits_mobilenet_v2.pt";
std::string fixture(const std::string& name) { return "tests/fixtures/" + name; }

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string message_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

Tensor picture() {
  const Tensor tensor = zeros(std::array<int64_t, 4>{2, 3, 32, 32}, DType::kFloat32);
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    tensor.data_ptr<float>()[i] = static_cast<float>((i * 37) % 101) / 50 - 1;
  }
  return tensor;
}

OptimizeOptions with(const Tensor& input) {
  OptimizeOptions options;
  options.calls = {{"forward", {Value(input)}}};
  return options;
}

OptimizeOptions unproved() {
  OptimizeOptions options;
  options.prove = false;
  return options;
}

// A module with these ints and bools as attributes.
Module module_of(const std::string& code, const std::string& attributes) {
  const std::string zip =
      archive::ZipBuilder()
          .add("m/data.pkl", archive::op::pickle("c__torch__\nM\n)\x81}(" + attributes + "ub"))
          .add("m/code/__torch__.py", code)
          .add("m/constants.pkl", archive::op::pickle(")"))
          .add("m/version", "3\n")
          .finish();
  return load(std::as_bytes(std::span(zip)));
}

std::string attribute(const std::string& name, const std::string& value) {
  return archive::op::str(name) + value;
}

const std::string kTrue = "\x88", kFalse = "\x89";

// forward() adds; `step` is written by count() and `scale` by nobody.
Module counter(const std::string& training = kFalse) {
  return module_of(
      "class M(Module):\n  __parameters__ = []\n  __buffers__ = []\n  training : bool\n"
      "  step : int\n  scale : int\n  unused : int\n"
      "  def forward(self: __torch__.M, n: int) -> int:\n"
      "    return (self).helper(torch.mul(n, self.scale), )\n"
      "  def helper(self: __torch__.M, n: int) -> int:\n"
      "    return torch.add(n, self.step)\n"
      "  def count(self: __torch__.M) -> int:\n"
      "    self.step = torch.add(self.step, 1)\n"
      "    return self.step\n",
      attribute("training", training) + attribute("step", archive::op::byte(5)) +
          attribute("scale", archive::op::byte(3)) + attribute("unused", archive::op::byte(1)));
}

TEST(Optimize, TheSampleModel) {
  const Module module = load(kDigits);
  const OptimizedModule made = optimize(module, with(picture()));
  ASSERT_EQ(made.report.proofs.size(), 2u);
  EXPECT_EQ(made.report.proofs[0].device, "reference");
  EXPECT_EQ(made.report.proofs[1].device, "cpu");
  for (const OptimizeReport::Proof& proof : made.report.proofs) {
    EXPECT_EQ(proof.calls, 1u);
    EXPECT_LT(proof.error, 1e-5);
    EXPECT_GT(proof.sqnr, 100);
  }
  for (const auto& [name, uses] : made.module.operators()) {
    EXPECT_NE(name, "aten::batch_norm");
    EXPECT_NE(name, "aten::dropout");
  }
  // The weights are in the file once: 140 522 less those that were folded, in float32.
  save(made.module, temp_path("digits.pt"));
  EXPECT_LT(std::filesystem::file_size(temp_path("digits.pt")), 140522 * 4 + 10000);
  EXPECT_FALSE(made.module.attr("training").to_bool());
  EXPECT_EQ(made.module.named_attributes().size(), 1u);
  EXPECT_EQ(module.named_parameters().size(), 77u);  // the model itself stays
}

TEST(Optimize, TellsWhatWentWhere) {
  const OptimizeReport report = optimize(load(kDigits), with(picture())).report;
  const auto notes_of = [&](const std::string& name) {
    const auto pass = std::ranges::find(report.passes, name, &OptimizeReport::Pass::name);
    return pass == report.passes.end() ? std::vector<std::string>() : pass->notes;
  };
  ASSERT_EQ(notes_of("batch-norm").size(), 25u);
  EXPECT_EQ(notes_of("batch-norm")[0], "mobilenet.features.0.1 folded into mobilenet.features.0.0");
  EXPECT_EQ(notes_of("dropout"),
            (std::vector<std::string>{"aten::dropout of mobilenet.classifier.0 removed"}));
  EXPECT_TRUE(notes_of("prepack").empty());
  size_t nodes = report.nodes_before;
  for (const OptimizeReport::Pass& pass : report.passes) {
    nodes += pass.nodes_added - pass.nodes_removed;
  }
  EXPECT_EQ(nodes, report.nodes_after);
}

TEST(Optimize, GivesTheSameBytesAndIsAFixedPoint) {
  for (const bool for_mobile : {false, true}) {
    OptimizeOptions options = with(picture());
    options.for_mobile = for_mobile;
    save(optimize(load(kDigits), options).module, temp_path("a.pt"));
    save(optimize(load(kDigits), options).module, temp_path("b.pt"));
    save(optimize(load(temp_path("a.pt")), options).module, temp_path("c.pt"));
    EXPECT_EQ(content(temp_path("a.pt")), content(temp_path("b.pt")));
    EXPECT_EQ(content(temp_path("a.pt")), content(temp_path("c.pt")));
  }
}

TEST(Optimize, ForMobilePacksLayersAndKeepsAnswers) {
  OptimizeOptions options = with(picture());
  options.for_mobile = true;
  const OptimizedModule made = optimize(load(kDigits), options);
  std::map<std::string, size_t> operators(made.module.operators().begin(),
                                          made.module.operators().end());
  EXPECT_EQ(operators["prepacked::conv2d_clamp_run"], 25u);
  EXPECT_EQ(operators["prepacked::linear_clamp_run"], 1u);
  EXPECT_EQ(operators.count("aten::hardtanh_"), 0u);
  EXPECT_LT(made.report.proofs[1].error, 1e-5);
}

TEST(Optimize, ModelsOfTheFixtures) {
  for (const char* name : {"linear", "scripted_convnet", "traced_convnet", "quantized_linear",
                           "quantized_conv_per_channel", "script_class", "recurrent"}) {
    for (const bool for_mobile : {false, true}) {
      OptimizeOptions options = with(load_npy(fixture(name + std::string(".in0.npy"))));
      options.for_mobile = for_mobile;
      options.eval = true;
      const OptimizedModule made = optimize(load(fixture(name + std::string(".pt"))), options);
      EXPECT_EQ(made.report.proofs.size(), 2u) << name;
    }
  }
}

TEST(Optimize, WhatMethodsWriteStaysAnAttribute) {
  const OptimizedModule made = optimize(counter(), unproved());
  // helper() is part of forward(); scale is part of the code.
  EXPECT_EQ(made.report.methods, (std::vector<std::string>{"forward", "count"}));
  EXPECT_TRUE(made.module.hasattr("step"));
  EXPECT_TRUE(made.module.hasattr("training"));
  EXPECT_FALSE(made.module.hasattr("scale"));
  EXPECT_FALSE(made.module.hasattr("unused"));
  EXPECT_EQ(made.module.forward({int64_t{2}}).to_int(), 11);
  EXPECT_EQ(made.module.run_method("count").to_int(), 6);
  EXPECT_EQ(made.module.forward({int64_t{2}}).to_int(), 12);
}

TEST(Optimize, PreservesWhatItIsToldTo) {
  OptimizeOptions options = unproved();
  options.preserve = {"helper", "unused"};
  const OptimizedModule made = optimize(counter(), options);
  // Without count() nobody writes the step.
  EXPECT_EQ(made.report.methods, (std::vector<std::string>{"forward", "helper"}));
  EXPECT_EQ(made.module.attr("unused").to_int(), 1);
  EXPECT_FALSE(made.module.hasattr("step"));
  EXPECT_EQ(made.module.run_method("helper", int64_t{1}).to_int(), 6);
  options.preserve = {"all"};
  EXPECT_EQ(optimize(counter(), options).report.methods.size(), 3u);
  options.preserve = {"nothing"};
  EXPECT_EQ(message_of([&] { optimize(counter(), options); }),
            "the model has no method and no attribute 'nothing' to preserve");
}

TEST(Optimize, StateOfSubmodulesStaysWhereItIs) {
  const Module module = module_of(
      "class N(Module):\n  __parameters__ = []\n  __buffers__ = []\n"
      "  seen : int\n  size : int\n"
      "  def forward(self: __torch__.N, n: int) -> int:\n"
      "    self.seen = torch.add(self.seen, n)\n"
      "    return torch.mul(self.seen, self.size)\n"
      "class M(Module):\n  __parameters__ = []\n  __buffers__ = []\n  inner : __torch__.N\n"
      "  def forward(self: __torch__.M, n: int) -> int:\n"
      "    return (self.inner).forward(n, )\n",
      archive::op::str("inner") + "c__torch__\nN\n)\x81}(" +
          attribute("seen", archive::op::byte(0)) + attribute("size", archive::op::byte(7)) + "ub");
  const Module made = optimize(module, unproved()).module;
  const Module inner = made.submodule("inner");
  EXPECT_EQ(inner.type_name(), "__torch__.___torch_mangle_0.N");
  EXPECT_TRUE(inner.hasattr("seen"));
  EXPECT_FALSE(inner.hasattr("size"));
  EXPECT_EQ(made.forward({int64_t{2}}).to_int(), 14);
  EXPECT_EQ(made.forward({int64_t{2}}).to_int(), 28);
  EXPECT_EQ(inner.attr("seen").to_int(), 4);
  EXPECT_EQ(module.submodule("inner").attr("seen").to_int(), 0);
}

TEST(Optimize, NoPassesAreAConversion) {
  OptimizeOptions options = unproved();
  options.passes = {"none"};
  options.preserve = {"all"};
  const OptimizedModule made = optimize(counter(), options);
  EXPECT_TRUE(made.report.passes.empty());
  EXPECT_TRUE(made.module.hasattr("scale"));
  EXPECT_EQ(made.report.nodes_before, made.report.nodes_after);
  EXPECT_EQ(made.module.forward({int64_t{2}}).to_int(), 11);
}

TEST(Optimize, SkipsPasses) {
  OptimizeOptions options = with(picture());
  options.skip = {"batch-norm"};
  size_t norms = 0;
  const Module made = optimize(load(kDigits), options).module;
  for (const auto& [name, uses] : made.operators()) {
    if (name == "aten::batch_norm") norms = uses;
  }
  EXPECT_EQ(norms, 25u);
  options.skip = {"sorting"};
  EXPECT_EQ(message_of([&] { optimize(load(kDigits), options); }).substr(0, 39),
            "there is no pass 'sorting'; there are: ");
}

TEST(Optimize, TrainingModeStaysUnlessItIsToEnd) {
  const Module module = counter(kTrue);
  EXPECT_TRUE(optimize(module, unproved()).module.attr("training").to_bool());
  OptimizeOptions options = unproved();
  options.eval = true;
  EXPECT_FALSE(optimize(module, options).module.attr("training").to_bool());
  EXPECT_TRUE(module.attr("training").to_bool());
}

TEST(Optimize, ProvesWithBundledInputs) {
  const Module module = load(fixture("bundled.pt"));
  OptimizeOptions options;
  options.eval = true;
  const OptimizedModule made = optimize(module, options);
  EXPECT_EQ(made.report.proofs.at(0).calls, bundled_inputs(module).size());
  EXPECT_EQ(bundled_inputs(made.module).size(), bundled_inputs(module).size());
}

TEST(Optimize, NothingToProveWithIsAnError) {
  EXPECT_EQ(message_of([&] { optimize(load(kDigits)); }).substr(0, 46),
            "there is nothing to prove the result with: the");
}

TEST(Optimize, RefusesAnswersThatDiffer) {
  OptimizeOptions options = with(picture());
  options.tolerance = 0;
  const std::string message = message_of([&] { optimize(load(kDigits), options); });
  EXPECT_EQ(message.substr(0, 53), "forward() gives other answers on reference: they diff")
      << message;
}

TEST(Optimize, BundledInputsGoOnCallingTheMethod) {
  const Tensor input = load_npy("tests/fixtures/linear.in0.npy");
  const Module bundled = bundle(load("tests/fixtures/linear.pt"), "forward", {{{input}}});
  const OptimizedModule result = optimize(bundled);
  EXPECT_EQ(result.report.methods, std::vector<std::string>{"forward"});
  const Method run = result.module.get_method("run_on_bundled_input");
  EXPECT_NE(run.graph().find("prim::CallMethod"), std::string::npos) << run.graph();
  EXPECT_EQ(bundled_inputs(result.module, "forward").size(), 1u);
  const Tensor expected = bundled.forward({input}).to_tensor();
  EXPECT_EQ(run({int64_t{0}}).to_tensor().sizes()[0], expected.sizes()[0]);
}

}  // namespace
}  // namespace torchlet
