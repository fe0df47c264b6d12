// Programs that become parts for NNAPI and a rest, and their answers.
#include <gtest/gtest.h>
#include <torchlet/nnapi.h>
#include <torchlet/torchlet.h>

#include "archive/test_util.h"
#include "base/error.h"
#include "nnapi/library.h"
#include "prepare/agreement.h"
#include "prepare/nnapi/testing.h"
#include "tensor/containers.h"
#include "tensor/tensor_impl.h"

namespace torchlet {
namespace {

// Of a method forward(self, ...) with that body.
Module program(const std::string& arguments, const std::string& result, const std::string& body) {
  return prepare::program_of("  def forward(self: __torch__.M, " + arguments + ") -> " + result +
                             ":\n" + body);
}

Tensor numbers(IntArray sizes) {
  const Tensor tensor = zeros(sizes, DType::kFloat32);
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    tensor.data_ptr<float>()[i] = static_cast<float>((i * 37) % 101) / 50 - 1;
  }
  return tensor;
}

bool has_library() {
  try {
    nnapi::library();
    return true;
  } catch (const Error&) {
    return false;
  }
}

std::vector<std::string> stays(const NnapiReport& report) {
  std::vector<std::string> all;
  for (const NnapiReport::Stays& one : report.stays) all.push_back(one.what + ": " + one.reason);
  return all;
}

void expect_same_answer(const Module& got, const Module& want, const std::vector<Value>& inputs) {
  prepare::Agreement agreement;
  agreement.add(want.deepcopy().get_method("forward")(inputs),
                got.deepcopy().get_method("forward")(inputs));
  EXPECT_EQ(agreement.mismatch(), "");
  EXPECT_LT(agreement.error(), 1e-5);
}

// Converts for the first inputs; the proof compares their answers, if it can, and the rest must run
// as before.
NnapiReport check(const Module& module, const std::vector<std::vector<Value>>& calls,
                  NnapiOptions options = {}) {
  options.inputs = calls[0];
  const NnapiModule converted = to_nnapi(module, options);
  EXPECT_EQ(converted.report.not_proved.empty(), has_library());
  for (size_t i = has_library() ? 0 : 1; i < calls.size(); ++i) {
    SCOPED_TRACE(i);
    expect_same_answer(converted.module, module, calls[i]);
  }
  return converted.report;
}

TEST(ToNnapi, TakesWhatItCanAndTellsTheRest) {
  const Module module = program("x: Tensor", "Tensor",
                                "    a = torch.relu(torch.add(x, x))\n"
                                "    b = torch.cumsum(a, 1)\n"
                                "    return torch.mul(b, b)\n");
  const NnapiReport report = check(module, {{numbers({2, 3})}, {numbers({4, 5})}});
  ASSERT_EQ(report.parts.size(), 2u);
  EXPECT_EQ(report.parts[0].what, "aten::add to aten::relu");
  EXPECT_EQ(report.operators(), 4u);
  EXPECT_EQ(report.operators_in_parts(), 3u);
  ASSERT_EQ(report.stays.size(), 1u);
  EXPECT_EQ(report.stays[0].what, "aten::cumsum");
  EXPECT_EQ(report.stays[0].place, "code/__torch__.py:6");
  EXPECT_EQ(report.stays[0].reason, "NNAPI has no operation for it");
}

TEST(ToNnapi, CutsOutWhatItRefusesWhenItKnowsTheShapes) {
  const Module module = program("x: Tensor", "Tensor",
                                "    a = torch.relu(x)\n"
                                "    b = torch.relu(torch.unsqueeze(a, 0))\n"
                                "    return torch.mul(torch.squeeze(b, 0), 2.0)\n");
  // Five dimensions are too many for NNAPI.
  const NnapiReport report = check(module, {{numbers({1, 2, 3, 4})}, {numbers({2, 3})}});
  EXPECT_EQ(report.operators_in_parts(), 2u);
  const std::string why = ": a tensor of 5 dimensions";
  EXPECT_EQ(stays(report), (std::vector<std::string>{"aten::unsqueeze" + why, "aten::relu" + why,
                                                     "aten::squeeze" + why}));
  EXPECT_EQ(check(module, {{numbers({2, 3})}, {numbers({1, 2, 3, 4})}}).stays.size(), 0u);
}

TEST(ToNnapi, GivesIndicesNumbersAndTensorsWithoutDimensions) {
  const Module module =
      program("x: Tensor", "Tuple[Tensor, Tensor, int, Tensor]",
              "    a = torch.relu(x)\n"
              "    n = ops.prim.NumToTensor(torch.size(a, 1))\n"
              "    return (torch.argmax(a, 1), torch.mean(a, [0, 1]), int(n), torch.tanh(n))\n");
  const NnapiReport report = check(module, {{numbers({2, 3})}, {numbers({4, 5})}});
  EXPECT_GE(report.operators_in_parts(), 3u);
}

TEST(ToNnapi, AsksForNumbersThatPartsDependOn) {
  const Module module = program("x: Tensor, n: int, f: float, how: Optional[int]", "Tensor",
                                "    a = torch.relu(torch.add(x, x, alpha=n))\n"
                                "    return torch.hardtanh(torch.mul(a, f), 0., f)\n");
  const Value none;
  const NnapiReport report = check(module, {{numbers({2, 3}), 2, 0.5, none},
                                            {numbers({2, 3}), 3, 0.5, none},
                                            {numbers({2, 3}), 2, 0.25, 7},
                                            {numbers({2, 3}), 2, -1.0, none}});
  EXPECT_GE(report.operators_in_parts(), 1u);
}

TEST(ToNnapi, ComputesOutOfPlaceWhatTheProgramDoesInPlace) {
  const Module module = program("x: Tensor", "Tensor",
                                "    a = torch.mul(x, x)\n"
                                "    b = torch.add_(a, torch.relu(x))\n"
                                "    return torch.clamp_(b, 0., 0.5)\n");
  const NnapiReport report =
      check(module, {{numbers({2, 3})}, {numbers({4, 5})}, {numbers({2, 3}).to(DType::kFloat64)}});
  EXPECT_TRUE(report.stays.empty()) << stays(report)[0];
}

TEST(ToNnapi, LeavesInputsOfDTypesThatPyTorchCannotHandOver) {
  const Module module = program("x: Tensor", "Tensor",
                                "    a = torch.gt(torch.relu(x), 0.5)\n"
                                "    return torch.where(a, torch.cumsum(x, 0), torch.tanh(x))\n");
  check(module, {{numbers({2, 3})}, {numbers({4, 5})}});
}

TEST(ToNnapi, ImagesOfBothOrders) {
  const Module module =
      program("x: Tensor", "Tensor",
              "    y = torch.max_pool2d(x, [2, 2], [2, 2], [0, 0], [1, 1], False)\n"
              "    return torch.view(torch.relu(y), [torch.size(x, 0), -1])\n");
  for (const bool nhwc : {false, true}) {
    NnapiOptions options;
    options.nhwc = nhwc;
    const NnapiReport report =
        check(module, {{numbers({1, 3, 4, 6})}, {numbers({2, 3, 4, 4})}}, options);
    EXPECT_TRUE(report.stays.empty());
  }
}

TEST(ToNnapi, RefusesWhatCannotBe) {
  NnapiOptions options;
  options.inputs = {numbers({2, 3})};
  const auto message = [&](const std::string& body) -> std::string {
    try {
      to_nnapi(program("x: Tensor", "Tensor", body), options);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message("    return torch.cumsum(x, 0)\n"),
            "no part of forward() can go to NNAPI; aten::cumsum: NNAPI has no operation for it "
            "(code/__torch__.py:5)");
  EXPECT_EQ(message("    return x\n"), "no part of forward() can go to NNAPI: it computes nothing");
  options.method = "backward";
  EXPECT_EQ(message("    return x\n"), "the model has no method 'backward'");
  options.method = "forward";
  options.feature_level = 8;
  EXPECT_EQ(message("    return torch.relu(x)\n"), "there is no feature level 8 of NNAPI: 1 to 7");
}

}  // namespace
}  // namespace torchlet
