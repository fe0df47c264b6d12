#include <set>

#include "neuralnetworks/api/testing.h"

namespace torchlet::nn {
namespace {

using namespace testing;

ANeuralNetworksDevice* device(uint32_t index) {
  ANeuralNetworksDevice* found = nullptr;
  EXPECT_EQ(ANeuralNetworks_getDevice(index, &found), kOk);
  return found;
}

TEST(Device, TheRuntimeIsOfFeatureLevel7) {
  EXPECT_EQ(ANeuralNetworks_getRuntimeFeatureLevel(), ANEURALNETWORKS_FEATURE_LEVEL_7);
}

TEST(Device, ThereAreAFastAndAPlainOne) {
  uint32_t count = 0;
  ASSERT_EQ(ANeuralNetworks_getDeviceCount(&count), kOk);
  std::vector<std::string> names;
  for (uint32_t i = 0; i < count; ++i) {
    const char* name = nullptr;
    const char* version = nullptr;
    int32_t type = -1;
    int64_t level = -1;
    EXPECT_EQ(ANeuralNetworksDevice_getName(device(i), &name), kOk);
    EXPECT_EQ(ANeuralNetworksDevice_getVersion(device(i), &version), kOk);
    EXPECT_EQ(ANeuralNetworksDevice_getType(device(i), &type), kOk);
    EXPECT_EQ(ANeuralNetworksDevice_getFeatureLevel(device(i), &level), kOk);
    EXPECT_EQ(ANeuralNetworksDevice_wait(device(i)), kOk);
    names.emplace_back(name);
    EXPECT_STRNE(version, "");
    EXPECT_EQ(type, ANEURALNETWORKS_DEVICE_CPU);
    EXPECT_EQ(level, ANEURALNETWORKS_FEATURE_LEVEL_7);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"torchlet-cpu", "torchlet-reference"}));
}

TEST(Device, IsTheSameHandleEveryTime) {
  EXPECT_EQ(device(0), device(0));
  EXPECT_NE(device(0), device(1));
}

TEST(Device, NullAndWrongIndices) {
  ANeuralNetworksDevice* found = device(0);
  EXPECT_EQ(ANeuralNetworks_getDeviceCount(nullptr), kNull);
  EXPECT_EQ(ANeuralNetworks_getDevice(0, nullptr), kNull);
  EXPECT_EQ(ANeuralNetworks_getDevice(2, &found), kBadData);
  EXPECT_EQ(found, nullptr);

  const char* text = nullptr;
  int32_t type = 0;
  int64_t level = 0;
  EXPECT_EQ(ANeuralNetworksDevice_getName(nullptr, &text), kNull);
  EXPECT_EQ(ANeuralNetworksDevice_getName(device(0), nullptr), kNull);
  EXPECT_EQ(ANeuralNetworksDevice_getVersion(nullptr, &text), kNull);
  EXPECT_EQ(ANeuralNetworksDevice_getVersion(device(0), nullptr), kNull);
  EXPECT_EQ(ANeuralNetworksDevice_getType(nullptr, &type), kNull);
  EXPECT_EQ(ANeuralNetworksDevice_getType(device(0), nullptr), kNull);
  EXPECT_EQ(ANeuralNetworksDevice_getFeatureLevel(nullptr, &level), kNull);
  EXPECT_EQ(ANeuralNetworksDevice_getFeatureLevel(device(0), nullptr), kNull);
  EXPECT_EQ(ANeuralNetworksDevice_wait(nullptr), kNull);
}

TEST(Device, WhatIsNoDevice) {
  const Model model = new_model();
  auto* const other =
      reinterpret_cast<ANeuralNetworksDevice*>(static_cast<ANeuralNetworksModel*>(model));
  const char* text = nullptr;
  int32_t type = 0;
  int64_t level = 0;
  EXPECT_EQ(ANeuralNetworksDevice_getName(other, &text), kBadData);
  EXPECT_EQ(ANeuralNetworksDevice_getVersion(other, &text), kBadData);
  EXPECT_EQ(ANeuralNetworksDevice_getType(other, &type), kBadData);
  EXPECT_EQ(ANeuralNetworksDevice_getFeatureLevel(other, &level), kBadData);
  EXPECT_EQ(ANeuralNetworksDevice_wait(other), kBadData);
}

}  // namespace
}  // namespace torchlet::nn
