// What must run each time is not computed once for a plan, nor taken into one.
#include <gtest/gtest.h>

#include <cstring>

#include "device/cpu/testing.h"
#include "ops/random/random.h"

namespace torchlet::cpu {
namespace {

TEST(Purity, RandomNumbersAreDrawnEachTime) {
  for (const char* drawn : {"torch.dropout(y, 0.5, True)",
                            "torch.feature_dropout(y, 0.5, True)",
                            "torch.alpha_dropout(y, 0.5, True)",
                            "torch.feature_alpha_dropout(y, 0.5, True)",
                            "torch.rrelu(torch.neg(y), 0.1, 0.3, True)",
                            "torch.bernoulli(torch.sigmoid(y))",
                            "torch.bernoulli(y, 0.5)",
                            "torch.multinomial(torch.sigmoid(y), 5, True)",
                            "torch.normal(y, 1.)",
                            "torch.normal(0., y)",
                            "torch.normal(y, y)",
                            "torch.normal(0., 1., [8, 9])",
                            "torch.poisson(y)",
                            "torch.rand([8, 9])",
                            "torch.randn([8, 9])",
                            "torch.randint(9, [8, 9])",
                            "torch.randint(2, 9, [8, 9])",
                            "torch.randperm(40)",
                            "torch.rand_like(y)",
                            "torch.randn_like(y)",
                            "torch.randint_like(y, 9)",
                            "torch.mul(torch.rand([1]), 2)",
                            "torch.add(torch.ones([8, 9]), torch.rand([8, 9]))"}) {
    Case c({}, "    y = torch.relu(x)\n    return torch.mul(torch.sigmoid(" + std::string(drawn) +
                   "), 2)\n");
    const Tensor x = random_tensor({8, 9}, 0.1f, 1);
    Tensor last;
    for (int run = 0; run < 4; ++run) {
      SCOPED_TRACE(drawn);
      ops::seed_random(static_cast<uint64_t>(run));
      const Tensor got = c.planned({x}).to_tensor();
      ops::seed_random(static_cast<uint64_t>(run));
      Case::expect_near(got, c.reference({x}).to_tensor(), 1e-5);
      if (last.defined()) {
        const size_t nbytes = static_cast<size_t>(got.numel()) * sizeof(float);
        EXPECT_NE(std::memcmp(last.raw_data(), got.raw_data(), nbytes), 0);
      }
      last = got.clone();
    }
  }
}

TEST(Purity, RecurrentLayersDropOutEachTime) {
  const std::string weights =
      "[self.w, self.w, self.b, self.b, self.w, self.w, self.b, self.b], True, 2, 0.5, True, "
      "False, "
      "False)\n";
  for (const std::string& layer : {"    y, _0, _1 = torch.lstm(x, [h, h], " + weights,
                                   "    y, _0 = torch.rnn_tanh(x, h, " + weights}) {
    const int64_t gates = layer.find("lstm") != std::string::npos ? 4 : 1;
    Case c({{"w", random_tensor({gates * 8, 8})}, {"b", random_tensor({gates * 8})}},
           "    h = torch.zeros([2, 3, 8])\n" + layer + "    return torch.relu(y)\n");
    const Tensor x = random_tensor({5, 3, 8});
    const Tensor first = c.planned({x}).to_tensor().clone();
    double difference = 0;
    const Tensor second = c.planned({x}).to_tensor();
    for (int64_t i = 0; i < first.numel(); ++i) {
      difference += std::abs(first.data_ptr<float>()[i] - second.data_ptr<float>()[i]);
    }
    EXPECT_GT(difference, 1e-3) << layer;
  }
}

TEST(Purity, TheStateOfTheThreadIsAskedEachTime) {
  Case c({},
         "    _0 = torch.set_grad_enabled(on)\n"
         "    y = torch.relu(x)\n"
         "    if torch.is_grad_enabled():\n"
         "      z = torch.neg(y)\n"
         "    else:\n"
         "      z = y\n"
         "    _1 = torch.set_grad_enabled(False)\n"
         "    return torch.mul(torch.sigmoid(z), 2)\n",
         "x: Tensor, on: bool");
  const Tensor x = random_tensor({2, 3});
  for (const bool on : {false, true, false, true}) c.check({x, Value(on)});
}

TEST(Purity, StatisticsAreUpdatedEachTime) {
  const Tensor mean = random_tensor({3});
  Case c({{"m", mean}, {"v", random_tensor({3}, 0.5, 1)}},
         "    y = torch.relu(x)\n"
         "    y = torch.batch_norm(y, None, None, self.m, self.v, training, 0.5, 1e-5, True)\n"
         "    return torch.relu(y)\n",
         "x: Tensor, training: bool");
  const Tensor x = random_tensor({2, 3, 4, 4});
  float last = mean.data_ptr<float>()[0];
  for (const bool training : {true, true, false, true}) {
    c.planned({x, Value(training)});
    EXPECT_EQ(mean.data_ptr<float>()[0] != last, training);
    last = mean.data_ptr<float>()[0];
  }
}

}  // namespace
}  // namespace torchlet::cpu
