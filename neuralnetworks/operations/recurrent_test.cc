#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "neuralnetworks/runtime/testing.h"

namespace torchlet::nn {
namespace {

using Dims = std::vector<uint32_t>;
using Floats = std::vector<float>;
constexpr int32_t kFloat = ANEURALNETWORKS_TENSOR_FLOAT32;
const std::vector<std::vector<std::string>> kDevices = {{"reference"}, {"cpu"}};

uint32_t floats(TestModel& model, Dims dims, Floats values) {
  return model.constant<float>(kFloat, std::move(dims), std::move(values));
}

uint32_t scalar(TestModel& model, float value) {
  return model.constant<float>(ANEURALNETWORKS_FLOAT32, {}, {value});
}

uint32_t flag(TestModel& model, bool value) {
  return model.constant<uint8_t>(ANEURALNETWORKS_BOOL, {}, {value});
}

uint32_t omitted(TestModel& model, int32_t type = kFloat) {
  const uint32_t index = model.constant<float>(type, {}, {});
  model.operand(index).lifetime = Lifetime::kOmitted;
  return index;
}

// ---- RNN ----

// h = x + 2 h + 1, and backwards h = -x + h.
TEST(Recurrent, RnnWalksInBothDirectionsInEitherOrder) {
  for (const bool time_major : {false, true}) {
    for (const bool merge : {false, true}) {
      TestModel model;
      const Dims dims = time_major ? Dims{3, 2, 1} : Dims{2, 3, 1};
      const std::vector<uint32_t> inputs = {model.input(kFloat, {0, 0, 0}),
                                            floats(model, {1, 1}, {1}),
                                            floats(model, {1, 1}, {2}),
                                            floats(model, {1}, {1}),
                                            floats(model, {2, 1}, {0, 10}),
                                            floats(model, {1, 1}, {-1}),
                                            floats(model, {1, 1}, {1}),
                                            floats(model, {1}, {0}),
                                            floats(model, {2, 1}, {0, 0}),
                                            omitted(model),
                                            omitted(model),
                                            omitted(model),
                                            model.integer(0),
                                            flag(model, time_major),
                                            flag(model, merge)};
      std::vector<uint32_t> outputs;
      for (int i = 0; i < (merge ? 3 : 4); ++i) outputs.push_back(model.output(kFloat, {}));
      model.operation(ANEURALNETWORKS_BIDIRECTIONAL_SEQUENCE_RNN, inputs, outputs);
      // Sequences 1, 2, 3 and 4, 5, 6.
      const Floats x = time_major ? Floats{1, 4, 2, 5, 3, 6} : Floats{1, 2, 3, 4, 5, 6};
      for (const auto& devices : kDevices) {
        const auto results = run(*model.compiled(devices), {dims}, x);
        if (merge) {
          EXPECT_EQ(results[0].dims, (time_major ? Dims{3, 2, 2} : Dims{2, 3, 2}));
          EXPECT_EQ(results[0].as<float>(),
                    time_major ? (Floats{2, -6, 25, -15, 7, -5, 56, -11, 18, -3, 119, -6})
                               : (Floats{2, -6, 7, -5, 18, -3, 25, -15, 56, -11, 119, -6}));
        } else {
          EXPECT_EQ(results[0].as<float>(),
                    time_major ? (Floats{2, 25, 7, 56, 18, 119}) : (Floats{2, 7, 18, 25, 56, 119}));
          EXPECT_EQ(results[1].as<float>(), time_major ? (Floats{-6, -15, -5, -11, -3, -6})
                                                       : (Floats{-6, -5, -3, -15, -11, -6}));
        }
        EXPECT_EQ(results[merge ? 1 : 2].as<float>(), (Floats{18, 119}));
        EXPECT_EQ(results[merge ? 2 : 3].as<float>(), (Floats{-6, -15}));
      }
    }
  }
}

TEST(Recurrent, RnnChecksSizesThatOnlyARunKnows) {
  TestModel model;
  const uint32_t x = model.input(kFloat, {0, 0});
  const uint32_t state = model.input(kFloat, {0, 0});
  model.operation(ANEURALNETWORKS_RNN,
                  {x, floats(model, {2, 1}, {1, 1}), floats(model, {2, 2}, {1, 0, 0, 1}),
                   floats(model, {2}, {0, 0}), state, model.integer(1)},
                  {model.output(kFloat, {}), model.output(kFloat, {})});
  for (const auto& devices : kDevices) {
    const auto compiled = model.compiled(devices);
    EXPECT_EQ(run(*compiled, {{1, 1}, {1, 2}}, Floats{3}, Floats{1, -5})[1].as<float>(),
              (Floats{4, 0}));
    EXPECT_THROW(run(*compiled, {{2, 1}, {1, 2}}, Floats{3, 4}, Floats{1, 2}), Error);
    EXPECT_THROW(run(*compiled, {{1, 2}, {1, 2}}, Floats{3, 4}, Floats{1, 2}), Error);
    EXPECT_THROW(run(*compiled, {{1, 1}, {1, 3}}, Floats{3}, Floats{1, 2, 3}), Error);
  }
}

// ---- LSTM ----

// An LSTM of two units and one input whose gates are half open (all of their weights are 0) and
// whose cell takes in x and -x: c = (c + x) / 2, h = c / 2.
struct HalfOpen {
  bool is_coupled = false, looks = false, projects = false, normalises = false;
  float cell_clip = 0, projection_clip = 0;

  std::vector<uint32_t> weights(TestModel& model) const {
    const auto matrix = [&](uint32_t columns) {
      return floats(model, {2, columns}, Floats(2 * columns));
    };
    const auto either = [&](bool is_given, uint32_t index) {
      return is_given ? index : omitted(model);
    };
    const uint32_t width = projects ? 1 : 2;
    const auto vector = [&](float value) { return floats(model, {2}, {value, value}); };
    return {either(!is_coupled, matrix(1)), matrix(1), floats(model, {2, 1}, {1, -1}), matrix(1),
            either(!is_coupled, matrix(width)), matrix(width), matrix(width), matrix(width),
            either(looks && !is_coupled, vector(0)), either(looks, vector(0)),
            // Opens for a positive state, and closes for a negative one.
            either(looks, vector(1000)), either(!is_coupled, vector(0)), vector(0), vector(0),
            vector(0), either(projects, floats(model, {1, 2}, {1, 3})),
            either(projects, floats(model, {1}, {8}))};
  }
  std::vector<uint32_t> norms(TestModel& model) const {
    const auto norm = [&](bool is_given, float value) {
      return is_given ? floats(model, {2}, {value, value}) : omitted(model);
    };
    return {norm(normalises && !is_coupled, 0), norm(normalises, 0), norm(normalises, 4),
            norm(normalises, 0)};
  }
  std::vector<uint32_t> scalars(TestModel& model) const {
    return {model.integer(ANEURALNETWORKS_FUSED_NONE), scalar(model, cell_clip),
            scalar(model, projection_clip)};
  }

  // The outputs of a sequence 4, 8 from a state of 0: all outputs, and the last states.
  std::vector<Floats> walk(const std::vector<std::string>& devices) const {
    TestModel model;
    std::vector<uint32_t> inputs = {model.input(kFloat, {})};
    const auto append = [&](const std::vector<uint32_t>& more) {
      inputs.insert(inputs.end(), more.begin(), more.end());
    };
    append(weights(model));
    append({floats(model, {1, projects ? 1u : 2u}, Floats(projects ? 1 : 2)),
            floats(model, {1, 2}, {0, 0})});
    append(scalars(model));
    append({flag(model, false)});
    append(norms(model));
    model.operation(ANEURALNETWORKS_UNIDIRECTIONAL_SEQUENCE_LSTM, inputs,
                    {model.output(kFloat, {}), model.output(kFloat, {}), model.output(kFloat, {})});
    std::vector<Floats> all;
    for (const TestOutput& output : run(*model.compiled(devices), {{1, 2, 1}}, Floats{4, 8})) {
      all.push_back(output.as<float>());
    }
    return all;
  }
};

TEST(Recurrent, LstmHasAllItsParts) {
  using Results = std::vector<Floats>;
  for (const auto& devices : kDevices) {
    const auto walk = [&](const HalfOpen& lstm) { return lstm.walk(devices); };
    HalfOpen lstm;
    EXPECT_EQ(walk(lstm), (Results{{1, -1, 2.5, -2.5}, {2.5, -2.5}, {5, -5}}));
    lstm.is_coupled = true;
    EXPECT_EQ(walk(lstm), (Results{{1, -1, 2.5, -2.5}, {2.5, -2.5}, {5, -5}}));
    lstm.looks = true;
    EXPECT_EQ(walk(lstm), (Results{{2, 0, 5, 0}, {5, 0}, {5, -5}}));
    lstm.is_coupled = false;
    EXPECT_EQ(walk(lstm), (Results{{2, 0, 5, 0}, {5, 0}, {5, -5}}));
    lstm.cell_clip = 3;
    EXPECT_EQ(walk(lstm), (Results{{2, 0, 3, 0}, {3, 0}, {3, -3}}));
    lstm.projects = true;
    EXPECT_EQ(walk(lstm), (Results{{10, 11}, {11}, {3, -3}}));
    lstm.projection_clip = 10.5f;
    EXPECT_EQ(walk(lstm), (Results{{10, 10.5f}, {10.5f}, {3, -3}}));
  }
}

TEST(Recurrent, LstmNormalisesItsGates) {
  for (const auto& devices : kDevices) {
    HalfOpen lstm;
    lstm.normalises = true;
    // x and -x become 1 and -1, times the weight 4.
    const std::vector<Floats> results = lstm.walk(devices);
    const Floats expected = {1, -1, 1.5, -1.5};
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(results[0][i], expected[i], 1e-6);
  }
}

TEST(Recurrent, LstmTakesPartsOnlyTogether) {
  const auto compile_with = [](size_t without) {
    TestModel model;
    HalfOpen lstm;
    lstm.looks = lstm.normalises = true;
    std::vector<uint32_t> inputs = {model.input(kFloat, {1, 1})};
    for (const uint32_t index : lstm.weights(model)) inputs.push_back(index);
    inputs.push_back(floats(model, {1, 2}, {0, 0}));
    inputs.push_back(floats(model, {1, 2}, {0, 0}));
    for (const uint32_t index : lstm.scalars(model)) inputs.push_back(index);
    for (const uint32_t index : lstm.norms(model)) inputs.push_back(index);
    if (without) inputs[without] = omitted(model);
    std::vector<uint32_t> outputs;
    for (int i = 0; i < 4; ++i) outputs.push_back(model.output(kFloat, {}));
    model.operation(ANEURALNETWORKS_LSTM, inputs, outputs);
    return model.compiled({"cpu"});
  };
  EXPECT_NO_THROW(compile_with(0));
  // A weight of the input gate, its bias, peephole weights, a weight of the normalization.
  for (const size_t part : {1, 5, 9, 10, 11, 12, 23, 26}) {
    EXPECT_THROW(compile_with(part), Error) << part;
  }
}

TEST(Recurrent, LstmGivesAScratchBufferOfTheSizeThatItsGatesNeed) {
  for (const bool is_coupled : {false, true}) {
    TestModel model;
    HalfOpen lstm;
    lstm.is_coupled = is_coupled;
    std::vector<uint32_t> inputs = {model.input(kFloat, {0, 0})};
    for (const uint32_t index : lstm.weights(model)) inputs.push_back(index);
    inputs.push_back(floats(model, {1, 2}, {0, 0}));
    inputs.push_back(floats(model, {1, 2}, {2, 4}));
    for (const uint32_t index : lstm.scalars(model)) inputs.push_back(index);
    std::vector<uint32_t> outputs;
    for (int i = 0; i < 4; ++i) outputs.push_back(model.output(kFloat, {}));
    model.operation(ANEURALNETWORKS_LSTM, inputs, outputs);
    const auto results = run(*model.compiled({"cpu"}), {{1, 1}}, Floats{4});
    EXPECT_EQ(results[0].dims, (Dims{1, is_coupled ? 6u : 8u}));
    EXPECT_EQ(results[1].as<float>(), (Floats{1.5, 0}));
    EXPECT_EQ(results[2].as<float>(), (Floats{3, 0}));
    EXPECT_EQ(results[3].as<float>(), (Floats{1.5, 0}));
  }
}

// Weights for the auxiliary input need one, and the number of outputs says whether they are merged.
TEST(Recurrent, DirectionsAreLinkedAsTheirArgumentsSay) {
  const auto compile_with = [](bool has_input, int num_weights, bool merge, int num_outputs) {
    TestModel model;
    const auto one = [&](Dims dims) { return floats(model, std::move(dims), {1}); };
    std::vector<uint32_t> inputs = {model.input(kFloat, {1, 1, 1})};
    for (int i = 0; i < 2; ++i) {
      for (const Dims& dims : {Dims{1, 1}, Dims{1, 1}, Dims{1}, Dims{1, 1}}) {
        inputs.push_back(one(dims));
      }
    }
    inputs.push_back(has_input ? one({1, 1, 1}) : omitted(model));
    for (int i = 0; i < 2; ++i) inputs.push_back(i < num_weights ? one({1, 1}) : omitted(model));
    for (const uint32_t index : {model.integer(0), flag(model, true), flag(model, merge)}) {
      inputs.push_back(index);
    }
    std::vector<uint32_t> outputs;
    for (int i = 0; i < num_outputs; ++i) outputs.push_back(model.output(kFloat, {}));
    model.operation(ANEURALNETWORKS_BIDIRECTIONAL_SEQUENCE_RNN, inputs, outputs);
    Floats all;
    for (const TestOutput& output : run(*model.compiled({"cpu"}), {{1, 1, 1}}, Floats{4})) {
      const Floats values = output.as<float>();
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  };
  // x + h + 1 for x of 4 and h of 1; the auxiliary input is 1.
  EXPECT_EQ(compile_with(false, 0, false, 2), (Floats{6, 6}));
  EXPECT_EQ(compile_with(true, 0, true, 1), (Floats{6, 3}));
  EXPECT_EQ(compile_with(true, 2, true, 3), (Floats{7, 7, 7, 7}));
  EXPECT_THROW(compile_with(false, 2, false, 2), Error);
  EXPECT_THROW(compile_with(true, 1, false, 2), Error);
  EXPECT_THROW(compile_with(false, 0, true, 2), Error);
  EXPECT_THROW(compile_with(false, 0, false, 3), Error);
}

// ---- SVDF ----

// Two filters of rank 2 for one unit, which remember three steps.
TEST(Recurrent, SvdfRemembers) {
  TestModel model;
  const uint32_t x = model.input(kFloat, {0, 0});
  const uint32_t state = model.input(kFloat, {0, 0});
  model.operation(ANEURALNETWORKS_SVDF,
                  {x, floats(model, {2, 1}, {1, 10}), floats(model, {2, 3}, {1, 2, 3, 1, 1, 1}),
                   floats(model, {1}, {0.5}), state, model.integer(2), model.integer(0)},
                  {model.output(kFloat, {}), model.output(kFloat, {})});
  for (const auto& devices : kDevices) {
    const auto compiled = model.compiled(devices);
    const auto results = run(*compiled, {{1, 1}, {1, 6}}, Floats{2}, Floats{1, 2, 99, 10, 20, 99});
    EXPECT_EQ(results[0].as<float>(), (Floats{2, 2, 0, 20, 20, 0}));
    EXPECT_EQ(results[1].as<float>(), (Floats{61.5}));
    EXPECT_THROW(run(*compiled, {{1, 1}, {1, 5}}, Floats{2}, Floats(5)), Error);
    EXPECT_THROW(run(*compiled, {{2, 1}, {1, 6}}, Floats(2), Floats(6)), Error);
  }
}

// ---- LSTM in integers ----

// All optional parts but the normalization, against the same in real numbers.
TEST(Recurrent, QuantizedLstmIsCloseToTheRealOne) {
  const float input_scale = 1.0f / 128, weight_scale = 1.0f / 64, peephole_scale = 1.0f / 8192;
  const float gate_scale = 1.0f / 4096, cell_scale = 1.0f / 2048, hidden_scale = 1.0f / 128;
  for (const bool is_coupled : {false, true}) {
    TestModel integers, reals;
    std::vector<uint32_t> ours, theirs;
    int seed = is_coupled ? 5 : 3;
    const auto next = [&](int range) {
      return (seed = (seed * 73 + 41) % 1009) % range - range / 2;
    };
    const auto both = [&](int32_t type, const Dims& dims, float scale, int range, auto zero) {
      using T = decltype(zero);
      const uint32_t count = dims.size() == 2 ? dims[0] * dims[1] : dims[0];
      std::vector<T> values;
      Floats real;
      for (uint32_t i = 0; i < count; ++i) {
        values.push_back(static_cast<T>(next(range)));
        real.push_back(static_cast<float>(values.back()) * scale);
      }
      ours.push_back(integers.constant<T>(type, dims, values, scale));
      theirs.push_back(floats(reals, dims, real));
    };
    const auto none = [&](int32_t type) {
      ours.push_back(omitted(integers, type));
      theirs.push_back(omitted(reals));
    };
    const auto weights = [&](const Dims& dims) {
      both(ANEURALNETWORKS_TENSOR_QUANT8_SYMM, dims, weight_scale, 120, int8_t());
    };
    const auto bias = [&](uint32_t size, float scale) {
      both(ANEURALNETWORKS_TENSOR_INT32, {size}, scale, 900, int32_t());
    };
    const auto unless_coupled = [&](int32_t type, const auto& add) {
      is_coupled ? none(type) : add();
    };
    both(ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED, {2, 5}, input_scale, 250, int8_t());
    for (const uint32_t columns : {5u, 3u}) {
      unless_coupled(ANEURALNETWORKS_TENSOR_QUANT8_SYMM, [&] { weights({4, columns}); });
      for (int i = 0; i < 3; ++i) weights({4, columns});
    }
    const auto peephole = [&] {
      both(ANEURALNETWORKS_TENSOR_QUANT16_SYMM, {4}, peephole_scale, 1000, int16_t());
    };
    unless_coupled(ANEURALNETWORKS_TENSOR_QUANT16_SYMM, peephole);
    peephole();
    peephole();
    unless_coupled(ANEURALNETWORKS_TENSOR_INT32, [&] { bias(4, input_scale * weight_scale); });
    for (int i = 0; i < 3; ++i) bias(4, input_scale * weight_scale);
    weights({3, 4});
    bias(3, hidden_scale * weight_scale);
    both(ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED, {2, 3}, 1.0f / 64, 120, int8_t());
    both(ANEURALNETWORKS_TENSOR_QUANT16_SYMM, {2, 4}, cell_scale, 1000, int16_t());
    for (int i = 0; i < 4; ++i) {
      ours.push_back(omitted(integers, ANEURALNETWORKS_TENSOR_QUANT16_SYMM));
    }
    for (const float value : {0.8f, 1.25f, gate_scale, gate_scale, gate_scale, gate_scale}) {
      ours.push_back(scalar(integers, value));
    }
    ours.push_back(integers.integer(0));
    ours.push_back(scalar(integers, hidden_scale));
    theirs.push_back(reals.integer(4));
    theirs.push_back(scalar(reals, 0.8f));
    theirs.push_back(scalar(reals, 1.25f));

    const int32_t signed8 = ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED;
    integers.operation(ANEURALNETWORKS_QUANTIZED_LSTM, ours,
                       {integers.output(signed8, {}, 1.0f / 64),
                        integers.output(ANEURALNETWORKS_TENSOR_QUANT16_SYMM, {}, cell_scale),
                        integers.output(signed8, {}, 1.0f / 64)});
    std::vector<uint32_t> outputs;
    for (int i = 0; i < 4; ++i) outputs.push_back(reals.output(kFloat, {}));
    reals.operation(ANEURALNETWORKS_LSTM, theirs, outputs);
    const auto results = run(*integers.compiled({"cpu"}), {});
    const auto expected = run(*reals.compiled({"cpu"}), {});
    const Floats cell = expected[2].as<float>(), output = expected[3].as<float>();
    ASSERT_EQ(results[2].dims, (Dims{2, 3}));
    EXPECT_EQ(results[0].bytes, results[2].bytes);
    for (size_t i = 0; i < cell.size(); ++i) {
      EXPECT_NEAR(results[1].as<int16_t>()[i] * cell_scale, cell[i], 4 * cell_scale);
    }
    for (size_t i = 0; i < output.size(); ++i) {
      EXPECT_NEAR(results[2].as<int8_t>()[i] / 64.0, output[i], 1.5 / 64);
    }
  }
}

}  // namespace
}  // namespace torchlet::nn
