#include <gtest/gtest.h>
#include <torchlet/bundled_inputs.h>
#include <torchlet/torchlet.h>

#include <fstream>
#include <thread>

#include "api/loaded_model.h"
#include "tensor/containers.h"
#include "tensor/npy.h"

namespace torchlet {
namespace {

std::string fixture(const std::string& name) { return "tests/fixtures/" + name; }

std::vector<float> floats(const Tensor& tensor) {
  const Tensor plain = tensor.contiguous();
  const float* data = plain.data_ptr<float>();
  return {data, data + plain.numel()};
}

Tensor ones(std::initializer_list<int64_t> sizes) {
  const Tensor tensor = zeros(std::vector<int64_t>(sizes), DType::kFloat32);
  for (int64_t i = 0; i < tensor.numel(); ++i) tensor.data_ptr<float>()[i] = 1;
  return tensor;
}

// The Error that `body` throws.
template <typename Body>
Error error_of(const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "nothing was thrown";
  return Error(ErrorCode::kInternal, "");
}

TEST(Module, FlatbuffersGiveTheAnswersOfArchives) {
  for (const auto& [name, input] : {std::pair("stateful", ones({2})),
                                    {"holder", ones({2})},
                                    {"quantized", ones({1, 2, 4, 4})}}) {
    const std::string flat = std::string(name) + ".ff.ptl", zip = std::string(name) + ".ptl";
    EXPECT_EQ(floats(load(fixture("lite/" + flat)).forward({input}).to_tensor()),
              floats(load(fixture("lite/" + zip)).forward({input}).to_tensor()))
        << name;
  }
  const Module module = load(fixture("lite/holder.ff.ptl"));
  EXPECT_EQ(module.info().container, "Lite Interpreter flatbuffer");
  EXPECT_EQ(floats(module.forward({ones({2})}).to_tensor()), (std::vector<float>{2, 2}));
}

TEST(Module, ForwardGivesPytorchsAnswer) {
  const Module module = load(fixture("linear.pt"));
  const std::vector<float> got =
      floats(module.forward({load_npy(fixture("linear.in0.npy"))}).to_tensor());
  const std::vector<float> want = floats(load_npy(fixture("linear.out0.npy")));
  ASSERT_EQ(got.size(), want.size());
  // Terms of size 1 are summed in another order than in PyTorch.
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 5e-7f);
}

TEST(Module, GraphsGoWhenTheFirstMethodIsMade) {
  const Module module = load(fixture("linear.pt"));
  const Tensor input = load_npy(fixture("linear.in0.npy"));
  Function& forward = *LoadedModel::object_of(module).object_ref().type->find_method("forward");
  const std::weak_ptr<const Graph> body = forward.body();
  EXPECT_FALSE(body.expired());
  const std::vector<float> got = floats(module.forward({input}).to_tensor());
  EXPECT_TRUE(body.expired());
  EXPECT_EQ(floats(module.deepcopy().forward({input}).to_tensor()), got);
  EXPECT_EQ(module.get_method("forward").graph(), forward.body()->str());
}

TEST(Module, PrecisionIsAnOption) {
  Options options;
  options.precision = Precision::kFloat16;
  const Module module = load(fixture("scripted_convnet.pt"), options);
  const Tensor input = load_npy(fixture("scripted_convnet.in0.npy"));
  const Value result = module.forward({input});
  const Tensor got = (result.is_tuple() ? result.to_tuple()[0] : result).to_tensor();
  const Tensor want = load_npy(fixture("scripted_convnet.out0.npy"));
  ASSERT_EQ(got.dtype(), want.dtype());
  float largest = 0, error = 0;
  const std::vector<float> x = floats(got), y = floats(want);
  ASSERT_EQ(x.size(), y.size());
  for (size_t i = 0; i < x.size(); ++i) {
    largest = std::max(largest, std::abs(y[i]));
    error = std::max(error, std::abs(x[i] - y[i]));
  }
  EXPECT_LE(error, 5e-3f * largest);
  if (has_float16_arithmetic()) {
    EXPECT_GT(error, 1e-6f * largest) << "it was not used";
  }

  EXPECT_EQ(parse_precision("fp32"), Precision::kFloat32);
  EXPECT_EQ(parse_precision("fp16"), Precision::kFloat16);
  EXPECT_EQ(parse_precision("bf16"), Precision::kBFloat16);
  EXPECT_EQ(error_of([] { parse_precision("fp8"); }).code(), ErrorCode::kInvalidArgument);
}

TEST(Module, LoadsFromMemory) {
  std::ifstream file(fixture("api.pt"), std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), {});
  const Module module = load(std::as_bytes(std::span(bytes)));
  std::fill(bytes.begin(), bytes.end(), '\0');  // the module has a copy
  EXPECT_EQ(module.run_method("check", 4).to_int(), 8);
  EXPECT_EQ(module.info().file, "the given bytes");
  EXPECT_EQ(module.info().num_bytes, bytes.size());
}

TEST(Module, ArgumentsAreBoundAsInPython) {
  const Module module = load(fixture("api.pt"));
  const Tensor x = ones({3});
  EXPECT_EQ(floats(module.forward({x}).to_tensor()), (std::vector<float>{2, 4, 6}));
  EXPECT_EQ(floats(module.forward({x, 3}).to_tensor()), (std::vector<float>{3, 6, 9}));
  // An int for a float, by keyword and out of order.
  EXPECT_EQ(floats(module.forward({x}, {{"scale", 2}, {"times", 1}}).to_tensor()),
            (std::vector<float>{2, 4, 6}));
  // A plain tuple for a named one, a list for an optional one.
  const Value point = Value::tuple({1.5, 2});
  const Value by = Value::dict({{"shift", 10.0}});
  const std::vector<Value> result = module.run_method("distance", point, by).to_tuple();
  EXPECT_EQ(result[0].to_double(), 13.5);
  EXPECT_EQ(result[1].to_tuple()[0].to_double(), 2.0);
  EXPECT_EQ(module.run_method("distance", point, by, Value::list({7, 7})).to_tuple()[0].to_double(),
            5.5);
}

TEST(Module, WrongArgumentsAreRefused) {
  const Module module = load(fixture("api.pt"));
  EXPECT_EQ(error_of([&] { module.forward({}); }).message(),
            "forward() is missing value for argument 'x'");
  EXPECT_EQ(error_of([&] { module.forward({1}); }).message(),
            "expected a value of type 'Tensor', got an int");
  EXPECT_EQ(error_of([&] {
              module.forward({ones({3}), 1, 1, 1});
            }).message(),
            "forward() expected at most 3 argument(s) but received 4 argument(s)");
  EXPECT_EQ(error_of([&] {
              module.forward({ones({3})}, {{"tims", 1}});
            }).message(),
            "forward() has no argument 'tims'");
  EXPECT_EQ(error_of([&] {
              module.forward({ones({3}), 2}, {{"times", 1}});
            }).message(),
            "forward() got two values for argument 'times'");
  EXPECT_EQ(error_of([&] {
              module.forward({ones({3}), 2.5});
            }).code(),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(error_of([&] { module.get_method("walk"); }).code(), ErrorCode::kNotFound);
}

TEST(Module, DescribesItself) {
  const Module module = load(fixture("api.pt"));
  EXPECT_EQ(module.get_method("forward").schema(),
            "forward(Tensor x, int times=2, float scale=1.0) -> Tensor");
  std::vector<std::string> names;
  for (const auto& [name, tensor] : module.named_parameters()) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"weight", "blocks.0.weight", "blocks.0.bias",
                                             "blocks.1.weight", "blocks.1.bias"}));
  ASSERT_EQ(module.named_buffers().size(), 1u);
  EXPECT_EQ(module.named_buffers()[0].first, "steps");
  EXPECT_EQ(module.attr("name").to_string(), "api");
  EXPECT_FALSE(module.hasattr("nothing"));
  EXPECT_EQ(module.named_children().size(), 2u);
  EXPECT_EQ(floats(module.submodule("blocks.1").attr("bias").to_tensor()),
            floats(module.named_parameters()[4].second));
  EXPECT_EQ(error_of([&] { module.submodule("blocks.7"); }).code(), ErrorCode::kNotFound);
  EXPECT_EQ(module.info().container, "TorchScript");
  EXPECT_EQ(module.info().root_class, "__torch__.Api");
}

TEST(Module, KeepsStateAndCopiesIt) {
  const Module module = load(fixture("api.pt"));
  EXPECT_EQ(module.run_method("step").to_int(), 1);
  EXPECT_EQ(module.run_method("step").to_int(), 2);
  const Module copy = module.deepcopy();
  EXPECT_EQ(copy.run_method("step").to_int(), 3);
  EXPECT_EQ(copy.run_method("step").to_int(), 4);
  EXPECT_EQ(module.run_method("step").to_int(), 3);
  module.setattr("name", "other");
  EXPECT_EQ(copy.attr("name").to_string(), "api");
  EXPECT_THROW(module.setattr("name", 3), Error);
}

TEST(Module, DeepcopyKeepsSharing) {
  const Module copy =
      load(fixture("dtypes.pt"), {.allow_unsupported = true, .print = {}}).deepcopy();
  const Tensor head = copy.attr("head").to_tensor();
  const Tensor tail = copy.attr("tail").to_tensor();
  head.data_ptr<float>()[4] = 77;  // the first element of tail
  EXPECT_EQ(tail.data_ptr<float>()[0], 77);
  EXPECT_FALSE(copy.attr("transposed").to_tensor().is_contiguous());
  EXPECT_TRUE(copy.attr("per_channel").to_tensor().is_quantized());
}

TEST(Module, ChangesTensorsOfTheCaller) {
  const Module module = load(fixture("api.pt"));
  const Tensor x = ones({2});
  module.run_method("fill_", x);
  EXPECT_EQ(floats(x), (std::vector<float>{7, 7}));
}

TEST(Module, RaisedExceptionsCarryClassAndPlaces) {
  const Module module = load(fixture("api.pt"));
  const Error error = error_of([&] { module.run_method("check", -1); });
  EXPECT_EQ(error.code(), ErrorCode::kRuntime);
  EXPECT_EQ(error.message(), "x must not be negative");
  EXPECT_EQ(error.python_class(), "builtins.ValueError");
  ASSERT_EQ(error.context().size(), 2u);
  EXPECT_TRUE(error.context()[0].starts_with("in make_fixtures.py:")) << error.what();
  EXPECT_TRUE(error.context()[0].ends_with(", in checker")) << error.what();
}

TEST(Module, FailingOperatorsAreNamed) {
  const Module module = load(fixture("api.pt"));
  const Error error = error_of([&] { module.forward({ones({2})}); });
  ASSERT_FALSE(error.context().empty());
  EXPECT_TRUE(error.context()[0].ends_with("(aten::mul)")) << error.what();
}

TEST(Module, PrintsToWhereTheCallerWants) {
  std::string printed;
  const Module module =
      load(fixture("api.pt"), {.print = [&](std::string_view line) { printed += line; }});
  EXPECT_EQ(module.run_method("talk", "you").to_string(), "bye you");
  EXPECT_EQ(printed, "hello you 3");
}

TEST(Module, UnsupportedOperatorsAreListedTogether) {
  const Error error = error_of([] { load(fixture("unsupported.pt")); });
  EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
  EXPECT_EQ(error.message(),
            "the model uses 2 operators that Torchlet does not have: "
            "aten::cudnn_affine_grid_generator, aten::cudnn_grid_sampler");
  ASSERT_EQ(error.context().size(), 3u);  // both operators and the file
  EXPECT_TRUE(error.context()[1].starts_with("aten::cudnn_grid_sampler at make_fixtures.py:"));

  const Module module = load(fixture("unsupported.pt"), {.allow_unsupported = true, .print = {}});
  ASSERT_EQ(module.unsupported_operators().size(), 2u);
  EXPECT_EQ(module.unsupported_operators()[0].places.size(), 1u);
  EXPECT_EQ(floats(module.forward({ones({1})}).to_tensor()), (std::vector<float>{2}));
  const Error reached = error_of([&] { module.forward({ones({1}), true}); });
  EXPECT_EQ(reached.code(), ErrorCode::kUnsupported);
  EXPECT_NE(reached.context()[0].find(", in sampler"), std::string::npos) << reached.what();
}

TEST(Module, WrongFilesAreRefused) {
  EXPECT_EQ(error_of([] { load("tests/fixtures/no_such_file.pt"); }).code(), ErrorCode::kIo);
  const Error error = error_of([] { load(fixture("linear.in0.npy")); });
  EXPECT_NE(error.what(), error.message());  // the file is named
}

TEST(Module, ManyThreadsRunOneModule) {
  const Module module = load(fixture("traced_convnet.pt"));
  const Tensor input = load_npy(fixture("traced_convnet.in0.npy"));
  const std::vector<float> want = floats(module.forward({input}).to_tensor());
  std::vector<std::vector<float>> got(4);
  std::vector<std::thread> threads;
  for (std::vector<float>& result : got) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) result = floats(module.forward({input}).to_tensor());
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<float>& result : got) EXPECT_EQ(result, want);
}

TEST(Module, AnArchiveWithoutAnyProgramIsRefused) {
  const Error error =
      error_of([] { load("tests/fuzz/regressions/load/neither_source_nor_bytecode.pt"); });
  EXPECT_EQ(error.code(), ErrorCode::kFileFormat);
  EXPECT_TRUE(error.message().starts_with("the archive holds neither source (code/) nor bytecode;"))
      << error.message();
}

TEST(Module, BundledInputs) {
  const Module module = load(fixture("bundled.pt"));
  const auto calls = bundled_inputs(module);
  ASSERT_EQ(calls.size(), 3u);
  for (const auto& call : calls) ASSERT_EQ(call.size(), 1u);
  EXPECT_EQ(floats(calls[0][0].to_tensor()), (std::vector<float>{1, 2, 3}));
  // A constant, which the file holds as one number, and a ramp, which it holds whole.
  EXPECT_EQ(floats(calls[1][0].to_tensor()), std::vector<float>(120, 0.5f));
  EXPECT_EQ(floats(calls[2][0].to_tensor())[59], 59);
  const std::vector<float> want = floats(load_npy(fixture("bundled.out0.npy")));
  const std::vector<float> got = floats(module.forward(calls[0]).to_tensor());
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 5e-7f);

  EXPECT_EQ(error_of([&] { bundled_inputs(module, "other"); }).code(), ErrorCode::kNotFound);
  EXPECT_EQ(error_of([&] { bundled_inputs(load(fixture("linear.pt"))); }).code(),
            ErrorCode::kNotFound);
}

}  // namespace
}  // namespace torchlet
