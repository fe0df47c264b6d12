// Recurrent layers through the plan and as they were written.
#include <gtest/gtest.h>

#include "device/cpu/testing.h"
#include "tensor/containers.h"

namespace torchlet::cpu {
namespace {

struct RnnCase {
  int64_t layers, directions, batch, hidden;
  bool has_biases, batch_first;
};

std::string yes(bool value) { return value ? "True" : "False"; }

// A program that gives all results of an LSTM (four gates) or a GRU.
Case make_case(const RnnCase& r, int64_t gates, int64_t in) {
  std::vector<std::pair<std::string, Tensor>> weights;
  std::string names;
  for (int64_t i = 0; i < r.layers * r.directions; ++i) {
    const int64_t layer_in = i < r.directions ? in : r.directions * r.hidden;
    for (const auto& [name, sizes] :
         {std::pair<std::string, IntArray>{"w", {gates * r.hidden, layer_in}},
          {"u", {gates * r.hidden, r.hidden}},
          {"b", {gates * r.hidden}},
          {"d", {gates * r.hidden}}}) {
      if (sizes.size() == 1 && !r.has_biases) continue;
      const std::string full = name + std::to_string(i);
      weights.emplace_back(full, random_tensor(sizes, -0.5f, 0.5f));
      names += (names.empty() ? "self." : ", self.") + full;
    }
  }
  const std::string flags = "[" + names + "], " + yes(r.has_biases) + ", " +
                            std::to_string(r.layers) + ", 0., False, " + yes(r.directions == 2) +
                            ", " + yes(r.batch_first) + ")\n";
  const bool is_lstm = gates == 4;
  return Case(weights,
              is_lstm ? "    y, h, c = torch.lstm(x, [h, c], " + flags +
                            "    return [torch.relu(y), h, c]\n"
                      : "    y, h = torch.gru(x, h, " + flags + "    return [y, torch.relu(h)]\n",
              is_lstm ? "x: Tensor, h: Tensor, c: Tensor" : "x: Tensor, h: Tensor", "List[Tensor]");
}

void check_all(Case& c, const std::vector<Value>& inputs, double tolerance) {
  const std::vector<Tensor> want = c.reference(inputs).to_tensor_list();
  for (int run = 0; run < 2; ++run) {
    const std::vector<Tensor> got = c.planned(inputs).to_tensor_list();
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < want.size(); ++i) Case::expect_near(got[i], want[i], tolerance);
  }
}

TEST(Rnn, SequencesOfEveryForm) {
  for (const RnnCase& r : {RnnCase{1, 1, 1, 16, true, false},
                           {2, 1, 3, 5, true, true},
                           {2, 2, 2, 17, false, true},
                           {1, 2, 1, 33, true, false},
                           {3, 2, 7, 8, true, false}}) {
    SCOPED_TRACE(testing::Message() << r.layers << " layers, " << r.directions << " directions, "
                                    << r.batch << " x " << r.hidden);
    const int64_t states = r.layers * r.directions, steps = 6, in = 11;
    const Tensor x =
        random_tensor(r.batch_first ? IntArray{r.batch, steps, in} : IntArray{steps, r.batch, in});
    const Tensor h = random_tensor({states, r.batch, r.hidden});
    const Tensor c = random_tensor({states, r.batch, r.hidden});
    Case lstm = make_case(r, 4, in);
    check_all(lstm, {x, h, c}, 1e-5);
    EXPECT_NE(lstm.kernels({h, c, x}).find("lstm_f32"), std::string::npos);
    Case gru = make_case(r, 3, in);
    check_all(gru, {x, h}, 1e-5);
    EXPECT_NE(gru.kernels({x, h}).find("gru_f32"), std::string::npos);
  }
}

TEST(Rnn, AStateOfZerosIsKnown) {
  Case c({{"w", random_tensor({12, 3})}, {"u", random_tensor({12, 3})}},
         "    z = torch.zeros([1, torch.size(x, 1), 3], dtype=6, layout=None, device=None)\n"
         "    y, h, c = torch.lstm(x, [z, z], [self.w, self.u], False, 1, 0., False, False, "
         "False)\n"
         "    return torch.relu(y)\n");
  c.check({random_tensor({4, 2, 3})});
  EXPECT_EQ(c.kernels({random_tensor({4, 2, 3})}), "lstm_f32 activation_rows_f32");
}

TEST(Rnn, Cells) {
  Case lstm(
      {{"w", random_tensor({20, 3})}, {"u", random_tensor({20, 5})}, {"b", random_tensor({20})}},
      "    h, c = torch.lstm_cell(x, [s, s], self.w, self.u, self.b, self.b)\n"
      "    return torch.add(h, c)\n",
      "x: Tensor, s: Tensor");
  lstm.check({random_tensor({4, 3}), random_tensor({4, 5})});
  EXPECT_NE(lstm.kernels({random_tensor({4, 5}), random_tensor({4, 3})}).find("lstm_f32"),
            std::string::npos);
  Case gru({{"w", random_tensor({15, 3})}, {"u", random_tensor({15, 5})}},
           "    return torch.gru_cell(x, s, self.w, self.u)\n", "x: Tensor, s: Tensor");
  gru.check({random_tensor({4, 3}), random_tensor({4, 5})});
  EXPECT_NE(gru.kernels({random_tensor({4, 3}), random_tensor({4, 5})}).find("gru_f32"),
            std::string::npos);
}

// An integer of the state may come out one off where the functions differ in the last bit.
TEST(Rnn, DynamicallyQuantizedCells) {
  const std::string weights =
      "    w = ops.quantized.linear_prepack(torch.quantize_per_tensor(self.w, 0.008, 0, 12), "
      "self.b)\n"
      "    u = ops.quantized.linear_prepack(torch.quantize_per_tensor(self.u, 0.008, 0, 12), "
      "None)\n";
  Case lstm(
      {{"w", random_tensor({20, 3})}, {"u", random_tensor({20, 5})}, {"b", random_tensor({20})}},
      weights +
          "    h, c = ops.quantized.quantized_lstm_cell_dynamic(x, [s, s], w, u, self.b, "
          "self.b)\n"
          "    return torch.add(h, c)\n",
      "x: Tensor, s: Tensor");
  lstm.check({random_tensor({4, 3}), random_tensor({4, 5})});
  EXPECT_NE(lstm.kernels({random_tensor({4, 5}), random_tensor({4, 3})}).find("lstm_f32"),
            std::string::npos);
  for (const int64_t directions : {1, 2}) {
    Case gru(
        {{"w", random_tensor({15, 3})}, {"u", random_tensor({15, 5})}, {"b", random_tensor({15})}},
        weights +
            "    p = ops.quantized.make_quantized_cell_params_dynamic(w, u, self.b, self.b, "
            "False)\n"
            "    y, h = torch.quantized_gru(x, s, [p" +
            (directions == 2 ? ", p" : "") + "], True, 1, 0., False, " + yes(directions == 2) +
            ", True)\n"
            "    return torch.relu(y)\n",
        "x: Tensor, s: Tensor");
    const Tensor x = random_tensor({5, 7, 3}), s = random_tensor({directions, 5, 5});
    gru.check({x, s}, 0.01);
  }
}

}  // namespace
}  // namespace torchlet::cpu
