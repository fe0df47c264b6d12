// Models that take their packed weights from a file give the answers of those that pack them.
#include <gtest/gtest.h>
#include <torchlet/torchlet.h>

#include <cstring>
#include <filesystem>

#include "base/memory_use.h"
#include "base/testing.h"
#include "tensor/npy.h"

namespace torchlet {
namespace {

namespace fs = std::filesystem;

struct Answered {
  std::string answer;  // its bytes
  int64_t packed;      // bytes of memory of its own
};

Answered run(const Module& module, const Tensor& input) {
  const int64_t before = noted_memory(MemoryUse::kPackedWeights);
  const Value value = module.forward({input});
  // torchvision's segmentation models give a dict of tensors.
  const Value first = value.is_dict() ? value.to_dict()[0].second : value;
  const Tensor result = first.to_tensor().contiguous();
  return {{static_cast<const char*>(result.raw_data()),
           static_cast<size_t>(result.numel()) * sizeof(float)},
          noted_memory(MemoryUse::kPackedWeights) - before};
}

struct CacheFolder {
  CacheFolder() {
    options.cache_dir = temp_path("cache");
    fs::remove_all(options.cache_dir);
  }
  ~CacheFolder() { fs::remove_all(options.cache_dir); }
  size_t count_files() const {
    const fs::directory_iterator files(options.cache_dir);
    return static_cast<size_t>(std::distance(begin(files), end(files)));
  }
  Options options;
};

Tensor picture(std::vector<int64_t> sizes) {
  const Tensor tensor = zeros(sizes, DType::kFloat32);
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    tensor.data_ptr<float>()[i] = static_cast<float>(i * 7 % 32) / 32;
  }
  return tensor;
}

TEST(CachedModel, PacksNothingTheSecondTime) {
  for (const auto& [model, input] :
       {std::pair(std::string("models/digits_mobilenet_v2.pt"), picture({1, 3, 96, 96})),
        {"models/scenes_deeplabv3.ptl", picture({1, 3, 64, 96})},
        {"tests/fixtures/linear.pt", load_npy("tests/fixtures/linear.in0.npy")},
        {"tests/fixtures/lite/quantized.ptl", picture({1, 2, 4, 4})},
        {"tests/fixtures/lite/quantized.ff.ptl", picture({1, 2, 4, 4})}}) {
    SCOPED_TRACE(model);
    CacheFolder cached;
    const auto answer = [&](const Options& options) {
      const Module module = load(model, options);
      Answered result = run(module, input);
      EXPECT_EQ(run(module, input).answer, result.answer);
      return result;
    };
    const Answered plain = answer({}), first = answer(cached.options);
    EXPECT_GT(plain.packed, 0);
    EXPECT_EQ(first.packed, plain.packed);
    const size_t files = cached.count_files();
    EXPECT_GT(files, 0u);
    const Answered second = answer(cached.options);
    EXPECT_EQ(second.packed, 0);
    EXPECT_EQ(first.answer, plain.answer);
    EXPECT_EQ(second.answer, plain.answer);
    EXPECT_EQ(cached.count_files(), files);
  }
}

// The file says what the weights were, and what is in memory counts.
TEST(CachedModel, WeightsThatWereWrittenToAreOthers) {
  CacheFolder cached;
  const Tensor input = load_npy("tests/fixtures/linear.in0.npy");
  const auto answer = [&](const Options& options, bool is_changed) {
    const Module module = load("tests/fixtures/linear.pt", options);
    const Tensor weight = module.attr("weight").to_tensor();
    if (is_changed) weight.data_ptr<float>()[1] += 1;
    return run(module, input);
  };
  const Answered plain = answer(cached.options, false), want = answer({}, true);
  EXPECT_NE(plain.answer, want.answer);
  const Answered changed = answer(cached.options, true), again = answer(cached.options, true);
  EXPECT_EQ(changed.answer, want.answer);
  EXPECT_GT(changed.packed, 0);
  EXPECT_EQ(again.answer, want.answer);
  EXPECT_EQ(again.packed, 0);
  const Answered unchanged = answer(cached.options, false);
  EXPECT_EQ(unchanged.answer, plain.answer);
  EXPECT_EQ(unchanged.packed, 0);
}

TEST(CachedModel, AFolderThatCannotBeIsRefused) {
  Options options;
  options.cache_dir = "tests/fixtures/linear.pt/cache";
  try {
    load("tests/fixtures/linear.pt", options);
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kIo);
    EXPECT_NE(std::string(error.what()).find("linear.pt/cache"), std::string::npos);
  }
}

}  // namespace
}  // namespace torchlet
