// Modules that are written, read again and run by the libneuralnetworks.so of this build.
#include "prepare/nnapi/nnapi_module.h"

#include <gtest/gtest.h>
#include <torchlet/torchlet.h>

#include "archive/test_util.h"
#include "graph/graph.h"
#include "graph/prim_kinds.h"
#include "nnapi/library.h"
#include "prepare/draft.h"
#include "prepare/nnapi/channel_scales.h"
#include "prepare/nnapi/testing.h"

namespace torchlet::prepare {
namespace {

class NnapiModules : public NnapiTest {};

// A program without anything.
Module nothing() { return program_of("  def nothing(self) -> int:\n    return 0\n"); }

script::CompilationUnit& unit_of(const Module& module) {
  return LoadedModel::of(module).program->unit;
}

// With a method run(List[Tensor]) -> List[Tensor] that runs the NNAPI module.
Module with(const Module& program, const Value& made) {
  Draft draft(program);
  draft.set_attribute("nnapi", made.object_ref().type, made);
  draft.define(
      "def run(self, args: List[Tensor]) -> List[Tensor]:\n"
      "  return self.nnapi.forward(args)\n");
  return draft.finish();
}

std::vector<Tensor> run(const Module& module, std::vector<Tensor> inputs) {
  std::vector<Tensor> outputs;
  for (const Value& output :
       module.run_method("run", make_tensor_list(std::move(inputs))).to_list()) {
    outputs.push_back(output.to_tensor());
  }
  return outputs;
}

void expect_floats(const Tensor& got, IntArray sizes, const std::vector<float>& want) {
  ASSERT_EQ(got.dtype(), DType::kFloat32);
  ASSERT_TRUE(std::ranges::equal(got.sizes(), sizes));
  const Tensor dense = got.contiguous();
  for (size_t i = 0; i < want.size(); ++i) EXPECT_EQ(dense.data_ptr<float>()[i], want[i]) << i;
}

// 2 * x and x + y of float32 [rows, 2].
NnapiModel two_answers(uint32_t rows) {
  HandMade made;
  const auto x = made.image({rows, 2}), y = made.image({rows, 2});
  const auto two = made.weight(tensor_of<float>(DType::kFloat32, IntArray{1}, {2}));
  const auto none = made.scalar(0);
  const auto doubled = made.image({rows, 2}), sum = made.image({rows, 2});
  made.add(ANEURALNETWORKS_MUL, {x, two, none}, {doubled});
  made.add(ANEURALNETWORKS_ADD, {x, y, none}, {sum});
  NnapiModel model;
  model.model = made.finish({x, y}, {doubled, sum});
  model.nhwc_inputs = model.nhwc_outputs = {false, false};
  return model;
}

TEST_F(NnapiModules, SeveralInputsAndOutputs) {
  const Module program = nothing();
  prepare::NnapiModules modules(unit_of(program));
  const Module module = with(program, modules.make(two_answers(2)));
  const Tensor x = ramp(IntArray{2, 2}), y = ramp(IntArray{2, 2}, 10);
  for (int call = 0; call < 2; ++call) {
    const std::vector<Tensor> answers = run(module, {x, y});
    ASSERT_EQ(answers.size(), 2u);
    expect_floats(answers[0], {2, 2}, {0, 2, 4, 6});
    expect_floats(answers[1], {2, 2}, {0, 11, 22, 33});
  }
}

TEST_F(NnapiModules, HaveTheAttributesOfPyTorchsClass) {
  const Module program = nothing();
  prepare::NnapiModules modules(unit_of(program));
  NnapiModel model = two_answers(2);
  model.preference = ANEURALNETWORKS_PREFER_LOW_POWER;
  model.relax_float32_to_float16 = true;
  const Module module = with(program, modules.make(model)).submodule("nnapi");
  EXPECT_EQ(module.type_name(), "__torch__.torch.backends._nnapi.prepare.NnapiModule");
  EXPECT_EQ(module.attr("ser_model").to_tensor().dtype(), DType::kInt32);
  EXPECT_EQ(module.attr("weights").to_list().size(), 1u);
  EXPECT_EQ(module.attr("inp_mem_fmts").to_list().size(), 2u);
  EXPECT_EQ(module.attr("out_mem_fmts").to_list().size(), 2u);
  EXPECT_TRUE(module.attr("out_templates").to_list().empty());
  EXPECT_TRUE(module.attr("comp").is_none());
  EXPECT_EQ(module.attr("compilation_preference").to_int(), ANEURALNETWORKS_PREFER_LOW_POWER);
  EXPECT_TRUE(module.attr("relax_f32_to_f16").to_bool());
  EXPECT_TRUE(module.hasattr("shape_compute_module"));
}

TEST_F(NnapiModules, OtherSizesAreAnError) {
  const Module program = nothing();
  prepare::NnapiModules modules(unit_of(program));
  const Module module = with(program, modules.make(two_answers(2)));
  EXPECT_THROW(run(module, {ramp(IntArray{3, 2}), ramp(IntArray{3, 2})}), Error);
  EXPECT_THROW(run(module, {ramp(IntArray{2, 2})}), Error);
}

TEST_F(NnapiModules, QuantizedTensorsGoInAndOut) {
  HandMade made;
  const auto x = made.tensor(ANEURALNETWORKS_TENSOR_QUANT8_ASYMM, {3}, 0.5f, 10);
  const auto y = made.tensor(ANEURALNETWORKS_TENSOR_QUANT8_ASYMM, {3}, 0.5f, 10);
  made.add(ANEURALNETWORKS_RELU, {x}, {y});
  NnapiModel model;
  model.model = made.finish({x}, {y});
  model.nhwc_inputs = model.nhwc_outputs = {false};
  const Module program = nothing();
  prepare::NnapiModules modules(unit_of(program));
  const Module module = with(program, modules.make(model));
  const Tensor input = empty_quantized(IntArray{3}, DType::kQUInt8, per_tensor_quantizer(0.5, 10));
  const uint8_t values[] = {5, 10, 200};
  std::memcpy(input.raw_data(), values, 3);
  const Tensor output = run(module, {input})[0];
  ASSERT_EQ(output.dtype(), DType::kQUInt8);
  EXPECT_EQ(output.q_scale(), 0.5);
  EXPECT_EQ(output.q_zero_point(), 10);
  const auto* got = static_cast<const uint8_t*>(output.raw_data());
  EXPECT_EQ(got[0], 10);
  EXPECT_EQ(got[1], 10);
  EXPECT_EQ(got[2], 200);
}

TEST_F(NnapiModules, ImagesAreTurnedForChannelsLast) {
  // Each pixel's channels are added up to two: all, and the last.
  HandMade made;
  const auto x = made.image({1, 2, 2, 3}), y = made.image({1, 2, 2, 2});
  const auto w =
      made.weight(tensor_of<float>(DType::kFloat32, IntArray{2, 1, 1, 3}, {1, 1, 1, 0, 0, 1}));
  const auto b = made.weight(zeros(IntArray{2}, DType::kFloat32));
  const auto zero = made.scalar(0), one = made.scalar(1);
  made.add(ANEURALNETWORKS_CONV_2D, {x, w, b, zero, zero, zero, zero, one, one, zero}, {y});
  NnapiModel model;
  model.model = made.finish({x}, {y});
  model.nhwc_inputs = model.nhwc_outputs = {true};
  const Module program = nothing();
  prepare::NnapiModules modules(unit_of(program));
  const Module module = with(program, modules.make(model));
  expect_floats(run(module, {ramp(IntArray{1, 3, 2, 2})})[0], {1, 2, 2, 2},
                {12, 15, 18, 21, 8, 9, 10, 11});
}

TEST_F(NnapiModules, AnOpenSizeIsThatOfTheCall) {
  const std::vector<NnapiModel> models = {two_answers(2), two_answers(3), two_answers(7)};
  const int64_t sizes[] = {2, 3, 7};
  const InputDim open[] = {{0, 0}, {1, 0}};
  const Module program = nothing();
  prepare::NnapiModules modules(unit_of(program));
  const Module module = with(program, modules.make(models, sizes, open));
  for (const int64_t rows : {1, 4, 4, 2}) {
    const Tensor x = ramp(IntArray{rows, 2});
    const std::vector<Tensor> answers = run(module, {x, x});
    std::vector<float> want;
    for (int64_t i = 0; i < rows * 2; ++i) want.push_back(2 * static_cast<float>(i));
    expect_floats(answers[0], {rows, 2}, want);
    expect_floats(answers[1], {rows, 2}, want);
  }
}

TEST_F(NnapiModules, WhatIsNotLinearCannotBeLeftOpen) {
  const std::vector<NnapiModel> models = {two_answers(2), two_answers(3), two_answers(8)};
  const int64_t sizes[] = {2, 3, 7};
  const InputDim open[] = {{0, 0}};
  const Module program = nothing();
  prepare::NnapiModules modules(unit_of(program));
  EXPECT_THROW(modules.make(models, sizes, open), Error);
}

TEST_F(NnapiModules, NamesAreFree) {
  const Module program = nothing();
  prepare::NnapiModules modules(unit_of(program));
  const Value first = modules.make(two_answers(2)), second = modules.make(two_answers(2));
  EXPECT_NE(first.object_ref().type->name(), second.object_ref().type->name());
  const Module module = with(program, first);
  prepare::NnapiModules later(unit_of(module));
  EXPECT_EQ(later.make(two_answers(2)).object_ref().type->name(), second.object_ref().type->name());
}

TEST_F(NnapiModules, RefuseWhatPyTorchCannotPass) {
  HandMade made;
  const auto x = made.tensor(ANEURALNETWORKS_TENSOR_FLOAT16, {2});
  const auto y = made.tensor(ANEURALNETWORKS_TENSOR_FLOAT16, {2});
  made.add(ANEURALNETWORKS_RELU, {x}, {y});
  NnapiModel model;
  model.model = made.finish({x}, {y});
  model.nhwc_inputs = model.nhwc_outputs = {false};
  const Module program = nothing();
  prepare::NnapiModules modules(unit_of(program));
  EXPECT_THROW(modules.make(model), Error);
}

// forward(x) of a graph that asks whether the inputs fit, and calls if they do.
TEST_F(NnapiModules, GraphsCallThemWhereTheInputsFit) {
  const Module program = nothing();
  prepare::NnapiModules modules(unit_of(program));
  const NnapiModel model = two_answers(2);
  const Value made = modules.make(model);
  auto graph = std::make_unique<Graph>();
  Block& block = *graph->block();
  SsaValue* const self = block.add_input(LoadedModel::object_of(program).object_ref().type, "self");
  SsaValue* const x = block.add_input(types::tensor(), "x");
  Node* const place = block.append(graph->create(prim::kTupleConstruct));
  SsaValue* const fits = sizes_fit(place, model, std::vector{x, x});
  Node* const branch = graph->create(prim::kIf, {fits});
  branch->insert_before(place);
  Node* const get = graph->create(prim::kGetAttr, {self});
  get->set_attribute("name", std::string("nnapi"));
  get->insert_before(place);
  const std::vector<SsaValue*> answers =
      call_nnapi_module(place, get->add_output(made.object_ref().type), std::vector{x, x}, 2);
  Block* const then = branch->add_block();
  while (branch->next() != place) branch->next()->move_to_end(then);
  then->add_output(answers[1]);
  branch->add_block()->add_output(x);
  SsaValue* const result = branch->add_output(types::tensor());
  place->add_input(fits);
  place->add_input(result);
  block.add_output(place->add_output(types::tuple({types::boolean(), types::tensor()})));
  graph->verify();

  Draft draft(program);
  draft.set_attribute("nnapi", made.object_ref().type, made);
  draft.set_method("forward", std::move(graph));
  const Module module = draft.finish();
  const auto call = [&](const Tensor& input) { return module.forward({input}).to_tuple(); };
  const std::vector<Value> taken = call(ramp(IntArray{2, 2}));
  EXPECT_TRUE(taken[0].to_bool());
  expect_floats(taken[1].to_tensor(), {2, 2}, {0, 2, 4, 6});
  EXPECT_FALSE(call(ramp(IntArray{2, 3}))[0].to_bool());
  EXPECT_FALSE(call(ramp(IntArray{4}))[0].to_bool());
  EXPECT_FALSE(call(ramp(IntArray{2, 2}).to(DType::kInt32))[0].to_bool());
}

TEST(SizesFit, TellScalarsFromVectors) {
  HandMade made;
  const auto x = made.image({1}), y = made.image({1});
  made.add(ANEURALNETWORKS_RELU, {x}, {y});
  NnapiModel model;
  model.model = made.finish({x}, {y});
  model.nhwc_inputs = model.nhwc_outputs = {false};
  for (const bool is_scalar : {false, true}) {
    model.scalar_inputs = {is_scalar};
    const Module program = nothing();
    auto graph = std::make_unique<Graph>();
    Block& block = *graph->block();
    block.add_input(LoadedModel::object_of(program).object_ref().type, "self");
    SsaValue* const tensor = block.add_input(types::tensor(), "x");
    Node* const place = block.append(graph->create(prim::kTupleConstruct));
    place->add_input(sizes_fit(place, model, std::vector{tensor}));
    block.add_output(place->add_output(types::tuple({types::boolean()})));
    Draft draft(program);
    draft.set_method("forward", std::move(graph));
    const Module module = draft.finish();
    const auto fits = [&](IntArray sizes) {
      return module.forward({ramp(sizes)}).to_tuple()[0].to_bool();
    };
    EXPECT_EQ(fits({}), is_scalar);
    EXPECT_EQ(fits({1}), !is_scalar);
    EXPECT_FALSE(fits({2}));
  }
}

// Filters [2, 1, 1, 2] of int8 with scales 0.5 and 0.25, and a bias.
TEST_F(NnapiModules, ScalesPerChannelBecomeFloat) {
  HandMade made;
  const auto x = made.tensor(ANEURALNETWORKS_TENSOR_QUANT8_ASYMM, {1, 1, 2, 2}, 0.5f, 10);
  const auto y = made.tensor(ANEURALNETWORKS_TENSOR_QUANT8_ASYMM, {1, 1, 2, 2}, 0.25f, 100);
  const auto w =
      made.weight(made.tensor(ANEURALNETWORKS_TENSOR_QUANT8_SYMM_PER_CHANNEL, {2, 1, 1, 2}),
                  tensor_of<int8_t>(DType::kInt8, IntArray{2, 1, 1, 2}, {1, -2, 4, 8}));
  made[w].channel_scales = {0.5f, 0.25f};
  const auto b = made.weight(made.tensor(ANEURALNETWORKS_TENSOR_INT32, {2}),
                             tensor_of<int32_t>(DType::kInt32, IntArray{2}, {4, -8}));
  const auto zero = made.scalar(0), one = made.scalar(1);
  made.add(ANEURALNETWORKS_CONV_2D, {x, w, b, zero, zero, zero, zero, one, one, zero}, {y});
  const nnapi::Model original = made.finish({x}, {y});

  WithoutChannelScales rewritten = without_channel_scales(original);
  EXPECT_EQ(rewritten.filters.size(), 1u);
  ASSERT_EQ(rewritten.model.operations.size(), 3u);
  EXPECT_EQ(rewritten.model.operations[0].code, ANEURALNETWORKS_DEQUANTIZE);
  EXPECT_EQ(rewritten.model.operations[2].code, ANEURALNETWORKS_QUANTIZE);
  EXPECT_TRUE(without_channel_scales(rewritten.model).filters.empty());

  NnapiModel model;
  model.model = std::move(rewritten.model);
  model.dequantized = std::move(rewritten.filters);
  model.nhwc_inputs = model.nhwc_outputs = {false};
  const Module program = nothing();
  prepare::NnapiModules modules(unit_of(program));
  const Module module = with(program, modules.make(model));
  const Tensor input =
      empty_quantized(IntArray{1, 1, 2, 2}, DType::kQUInt8, per_tensor_quantizer(0.5, 10));
  const uint8_t values[] = {12, 14, 8, 30};  // 1, 2, -1, 10
  std::memcpy(input.raw_data(), values, 4);
  // The file has integers.
  const std::vector<Value> weights = module.submodule("nnapi").attr("weights").to_list();
  EXPECT_EQ(
      std::ranges::count_if(
          weights, [](const Value& weight) { return weight.to_tensor().dtype() == DType::kQInt8; }),
      1);
  // Filters 0.5, -1 and 1, 2; biases 1 and -1: of (1, 2) -0.5 and 4, of (-1, 10) -9.5 and 18.
  const Tensor output = run(module, {input})[0];
  const auto* got = static_cast<const uint8_t*>(output.raw_data());
  EXPECT_EQ(got[0], 98);
  EXPECT_EQ(got[1], 116);
  EXPECT_EQ(got[2], 62);
  EXPECT_EQ(got[3], 172);
}

}  // namespace
}  // namespace torchlet::prepare
