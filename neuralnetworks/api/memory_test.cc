// Memories from files and from descriptions, and what descriptions allow.
#include <fcntl.h>

#include "neuralnetworks/api/testing.h"

namespace torchlet::nn {
namespace {

using namespace testing;

constexpr int32_t kFloat = ANEURALNETWORKS_TENSOR_FLOAT32;
constexpr int32_t kQuant = ANEURALNETWORKS_TENSOR_QUANT8_ASYMM;
constexpr int kBoth = PROT_READ | PROT_WRITE;

// ---- files ----

TEST(FileMemory, Arguments) {
  const SharedFile file(8192 + 20);
  Memory memory;
  const auto create = [&](size_t size, int protect, int fd, size_t offset) {
    return ANeuralNetworksMemory_createFromFd(size, protect, fd, offset, memory.put());
  };
  EXPECT_EQ(ANeuralNetworksMemory_createFromFd(20, kBoth, file.fd(), 0, nullptr), kNull);
  EXPECT_EQ(create(0, kBoth, file.fd(), 0), kBadData);
  EXPECT_EQ(create(20, kBoth, -1, 0), kBadData);
  EXPECT_EQ(create(20, PROT_NONE, file.fd(), 0), kBadData);
  EXPECT_EQ(create(20, kBoth | PROT_EXEC, file.fd(), 0), kBadData);
  EXPECT_EQ(create(20, -1, file.fd(), 0), kBadData);
  EXPECT_EQ(create(20, kBoth, file.fd(), 4), kBadData) << "no multiple of a page";
  EXPECT_EQ(create(8192 + 21, kBoth, file.fd(), 0), kBadData) << "longer than the file";
  EXPECT_EQ(create(21, kBoth, file.fd(), 8192), kBadData);
  EXPECT_EQ(create(1, kBoth, file.fd(), 16384), kBadData);
  EXPECT_EQ(create(SIZE_MAX, kBoth, file.fd(), 4096), kBadData);
  EXPECT_EQ(create(20, kBoth, 1'000'000, 0), ANEURALNETWORKS_UNMAPPABLE);
  EXPECT_EQ(memory, nullptr);
  EXPECT_EQ(create(20, kBoth, file.fd(), 8192), kOk);
}

TEST(FileMemory, WhatTheSystemRefuses) {
  const int fd = open("/dev/null", O_RDONLY);
  ASSERT_GE(fd, 0);
  Memory memory;
  EXPECT_EQ(ANeuralNetworksMemory_createFromFd(20, PROT_WRITE, fd, 0, memory.put()),
            ANEURALNETWORKS_UNMAPPABLE);
  close(fd);
}

TEST(FileMemory, IsSharedAndOutlivesItsDescriptor) {
  const Compilation compilation = compiled_add();
  Memory memory;
  const int fd = memfd_create("nnapi_test", 0);
  ASSERT_EQ(ftruncate(fd, 4096 + 24), 0);
  ASSERT_EQ(ANeuralNetworksMemory_createFromFd(24, kBoth, fd, 4096, memory.put()), kOk);
  const int other = dup(fd);
  close(fd);
  const float values[4] = {1, 2, 10, 20};
  ASSERT_EQ(pwrite(other, values, 16, 4096), 16);
  const Execution execution = new_execution(compilation);
  ASSERT_EQ(ANeuralNetworksExecution_setInputFromMemory(execution, 0, nullptr, memory, 0, 8), kOk);
  ASSERT_EQ(ANeuralNetworksExecution_setInputFromMemory(execution, 1, nullptr, memory, 8, 8), kOk);
  ASSERT_EQ(ANeuralNetworksExecution_setOutputFromMemory(execution, 0, nullptr, memory, 16, 8),
            kOk);
  ASSERT_EQ(ANeuralNetworksExecution_compute(execution), kOk);
  float sum[2] = {};
  ASSERT_EQ(pread(other, sum, 8, 4096 + 16), 8);
  EXPECT_EQ(sum[0], 11);
  EXPECT_EQ(sum[1], 22);
  close(other);
}

TEST(FileMemory, ThereAreNoHardwareBuffers) {
  Memory memory;
  int nothing = 0;
  auto* const buffer = reinterpret_cast<AHardwareBuffer*>(&nothing);
  EXPECT_EQ(ANeuralNetworksMemory_createFromAHardwareBuffer(nullptr, memory.put()), kNull);
  EXPECT_EQ(ANeuralNetworksMemory_createFromAHardwareBuffer(buffer, nullptr), kNull);
  EXPECT_EQ(ANeuralNetworksMemory_createFromAHardwareBuffer(buffer, memory.put()), kBadData);
  EXPECT_EQ(memory, nullptr);
}

// ---- descriptions ----

MemoryDesc new_desc() {
  MemoryDesc desc;
  EXPECT_EQ(ANeuralNetworksMemoryDesc_create(desc.put()), kOk);
  return desc;
}

Compilation compiled_add_of(const Dims& dims, int32_t code, float scale = 0,
                            int32_t zero_point = 0) {
  const Model model = add_model(dims, code, scale, zero_point);
  EXPECT_EQ(ANeuralNetworksModel_finish(model), kOk);
  return compiled(model);
}

TEST(MemoryDesc, Null) {
  EXPECT_EQ(ANeuralNetworksMemoryDesc_create(nullptr), kNull);
  EXPECT_EQ(ANeuralNetworksMemoryDesc_finish(nullptr), kNull);
  const MemoryDesc desc = new_desc();
  Memory memory;
  EXPECT_EQ(ANeuralNetworksMemory_createFromDesc(nullptr, memory.put()), kNull);
  EXPECT_EQ(ANeuralNetworksMemory_createFromDesc(desc, nullptr), kNull);
  EXPECT_EQ(ANeuralNetworksMemoryDesc_setDimensions(nullptr, 0, nullptr), kNull);
  EXPECT_EQ(ANeuralNetworksMemoryDesc_setDimensions(desc, 1, nullptr), kNull);
}

TEST(MemoryDesc, Roles) {
  const Model model = finished_add_model();
  const auto roles = {ANeuralNetworksMemoryDesc_addInputRole,
                      ANeuralNetworksMemoryDesc_addOutputRole};
  for (const auto add : roles) {
    const MemoryDesc desc = new_desc();
    Compilation compilation;
    ASSERT_EQ(ANeuralNetworksCompilation_create(model, compilation.put()), kOk);
    EXPECT_EQ(add(nullptr, compilation, 0, 1), kNull);
    EXPECT_EQ(add(desc, nullptr, 0, 1), kNull);
    EXPECT_EQ(add(desc, compilation, 0, 1), kBadData) << "not finished";
    ASSERT_EQ(ANeuralNetworksCompilation_finish(compilation), kOk);
    EXPECT_EQ(add(desc, compilation, 2, 1), kBadData);
    EXPECT_EQ(add(desc, compilation, 999, 1), kBadData);
    for (const float frequency : {10.0F, 0.0F, -1.0F, 1.01F}) {
      EXPECT_EQ(add(desc, compilation, 0, frequency), kBadData) << frequency;
    }
    EXPECT_EQ(add(desc, compilation, 0, 0.5F), kOk);
    EXPECT_EQ(add(desc, compilation, 0, 1), kBadData) << "again";
    ASSERT_EQ(ANeuralNetworksMemoryDesc_finish(desc), kOk);
    EXPECT_EQ(add(desc, compilation, 0, 1), kBadState);
  }
}

TEST(MemoryDesc, RolesAreOfOneType) {
  const Compilation quant = compiled_add_of({2}, kQuant, 1, 0);
  const Compilation others[] = {
      compiled_add_of({2}, kFloat),         compiled_add_of({2}, kQuant, 0.5F, 0),
      compiled_add_of({2}, kQuant, 1, 128), compiled_add_of({2, 1}, kQuant, 1, 0),
      compiled_add_of({1}, kQuant, 1, 0),
  };
  for (const Compilation& other : others) {
    const MemoryDesc inputs = new_desc(), outputs = new_desc();
    ASSERT_EQ(ANeuralNetworksMemoryDesc_addInputRole(inputs, quant, 0, 1), kOk);
    EXPECT_EQ(ANeuralNetworksMemoryDesc_addInputRole(inputs, other, 0, 1), kBadData);
    EXPECT_EQ(ANeuralNetworksMemoryDesc_addOutputRole(inputs, other, 0, 1), kBadData);
    ASSERT_EQ(ANeuralNetworksMemoryDesc_addOutputRole(outputs, quant, 0, 1), kOk);
    EXPECT_EQ(ANeuralNetworksMemoryDesc_addInputRole(outputs, other, 0, 1), kBadData);
    EXPECT_EQ(ANeuralNetworksMemoryDesc_addOutputRole(outputs, other, 0, 1), kBadData);
  }
}

TEST(MemoryDesc, Dimensions) {
  const uint32_t two[] = {2}, three[] = {3}, square[] = {2, 1}, open[] = {0};
  const Compilation compilation = compiled_add();
  const MemoryDesc desc = new_desc();
  const auto set = [&](uint32_t rank, const uint32_t* dims) {
    return ANeuralNetworksMemoryDesc_setDimensions(desc, rank, dims);
  };
  EXPECT_EQ(set(UINT32_MAX, two), kBadData);
  EXPECT_EQ(set(1, open), kOk);
  EXPECT_EQ(set(1, two), kOk);
  EXPECT_EQ(set(1, three), kBadData);
  EXPECT_EQ(set(2, square), kBadData);
  EXPECT_EQ(set(0, nullptr), kOk);
  EXPECT_EQ(ANeuralNetworksMemoryDesc_finish(desc), kBadData) << "no role";
  ASSERT_EQ(ANeuralNetworksMemoryDesc_addInputRole(desc, compilation, 0, 1), kOk);
  EXPECT_EQ(ANeuralNetworksMemoryDesc_addInputRole(desc, compiled_add({3}), 0, 1), kBadData);
  EXPECT_EQ(ANeuralNetworksMemoryDesc_finish(desc), kOk);
  EXPECT_EQ(ANeuralNetworksMemoryDesc_finish(desc), kBadState);
  EXPECT_EQ(set(1, two), kBadState);
}

TEST(MemoryDesc, ScalarsHaveNoDimensions) {
  const Model model = new_model();
  for (const int32_t type : {kFloat, kFloat, int32_t{ANEURALNETWORKS_INT32}, kFloat}) {
    ASSERT_EQ(add_operand(model, type, type == kFloat ? Dims{2} : Dims()), kOk);
  }
  ASSERT_EQ(add_operation(model, ANEURALNETWORKS_ADD, {0, 1, 2}, {3}), kOk);
  ASSERT_EQ(identify(model, {0, 1, 2}, {3}), kOk);
  ASSERT_EQ(ANeuralNetworksModel_finish(model), kOk);
  const Compilation compilation = compiled(model);
  const uint32_t two[] = {2};
  const MemoryDesc before = new_desc(), after = new_desc();
  ASSERT_EQ(ANeuralNetworksMemoryDesc_setDimensions(before, 1, two), kOk);
  EXPECT_EQ(ANeuralNetworksMemoryDesc_addInputRole(before, compilation, 2, 1), kBadData);
  ASSERT_EQ(ANeuralNetworksMemoryDesc_addInputRole(after, compilation, 2, 1), kOk);
  EXPECT_EQ(ANeuralNetworksMemoryDesc_setDimensions(after, 1, two), kBadData);

  ASSERT_EQ(ANeuralNetworksMemoryDesc_finish(after), kOk);
  Memory memory;
  ASSERT_EQ(ANeuralNetworksMemory_createFromDesc(after, memory.put()), kOk);
  SharedFile file(4);
  const int32_t relu6 = ANEURALNETWORKS_FUSED_RELU6;
  file.write(&relu6, 4);
  ASSERT_EQ(ANeuralNetworksMemory_copy(file.memory(), memory), kOk);
  const Execution execution = new_execution(compilation);
  AddBuffers buffers;
  buffers.set(execution);
  ASSERT_EQ(ANeuralNetworksExecution_setInputFromMemory(execution, 2, nullptr, memory, 0, 0), kOk);
  ASSERT_EQ(ANeuralNetworksExecution_compute(execution), kOk);
  EXPECT_EQ(buffers.sum[1], 6);
}

// ---- memory of a device ----

// For these inputs and outputs.
Memory device_memory(std::initializer_list<ANeuralNetworksCompilation*> inputs,
                     std::initializer_list<ANeuralNetworksCompilation*> outputs) {
  const MemoryDesc desc = new_desc();
  for (auto* compilation : inputs) {
    EXPECT_EQ(ANeuralNetworksMemoryDesc_addInputRole(desc, compilation, 0, 1), kOk);
  }
  for (auto* compilation : outputs) {
    EXPECT_EQ(ANeuralNetworksMemoryDesc_addOutputRole(desc, compilation, 0, 1), kOk);
  }
  EXPECT_EQ(ANeuralNetworksMemoryDesc_finish(desc), kOk);
  Memory memory;
  EXPECT_EQ(ANeuralNetworksMemory_createFromDesc(desc, memory.put()), kOk);
  return memory;
}

TEST(DeviceMemory, OfAnOpenDescription) {
  Memory memory;
  EXPECT_EQ(ANeuralNetworksMemory_createFromDesc(new_desc(), memory.put()), kBadState);
  EXPECT_EQ(memory, nullptr);
}

class DeviceMemoryTest : public ::testing::Test {
 protected:
  int compute_into(ANeuralNetworksMemory* memory) {
    const Execution execution = new_execution(compilation);
    EXPECT_EQ(ANeuralNetworksExecution_setInput(execution, 0, nullptr, buffers.a, 8), kOk);
    EXPECT_EQ(ANeuralNetworksExecution_setInput(execution, 1, nullptr, buffers.b, 8), kOk);
    EXPECT_EQ(ANeuralNetworksExecution_setOutputFromMemory(execution, 0, nullptr, memory, 0, 0),
              kOk);
    return ANeuralNetworksExecution_compute(execution);
  }
  int compute_from(ANeuralNetworksMemory* memory) {
    const Execution execution = new_execution(compilation);
    EXPECT_EQ(ANeuralNetworksExecution_setInputFromMemory(execution, 0, nullptr, memory, 0, 0),
              kOk);
    EXPECT_EQ(ANeuralNetworksExecution_setInput(execution, 1, nullptr, buffers.b, 8), kOk);
    EXPECT_EQ(ANeuralNetworksExecution_setOutput(execution, 0, nullptr, buffers.sum, 8), kOk);
    return ANeuralNetworksExecution_compute(execution);
  }
  // An execution that gives nothing but an error.
  int fail_into(ANeuralNetworksMemory* memory) {
    const Execution execution = new_execution(compilation);
    EXPECT_EQ(ANeuralNetworksExecution_setInput(execution, 0, nullptr, nullptr, 0), kOk);
    EXPECT_EQ(ANeuralNetworksExecution_setInput(execution, 1, nullptr, buffers.b, 8), kOk);
    EXPECT_EQ(ANeuralNetworksExecution_setOutputFromMemory(execution, 0, nullptr, memory, 0, 0),
              kOk);
    return ANeuralNetworksExecution_compute(execution);
  }

  const Compilation compilation = compiled_add();
  AddBuffers buffers;
};

TEST_F(DeviceMemoryTest, HasContentsOnceItIsWritten) {
  const Memory memory = device_memory({compilation}, {compilation});
  EXPECT_EQ(compute_from(memory), kOpFailed) << "nothing is in it";
  buffers.expect_untouched();
  ASSERT_EQ(compute_into(memory), kOk);
  EXPECT_EQ(compute_from(memory), kOk);
  EXPECT_EQ(buffers.sum[0], 21);
  EXPECT_EQ(buffers.sum[1], 42);
  EXPECT_EQ(fail_into(memory), kOpFailed);
  EXPECT_EQ(compute_from(memory), kOpFailed) << "what wrote to it failed";
}

TEST_F(DeviceMemoryTest, IsUsedWholeAndInItsRolesOnly) {
  const Memory input = device_memory({compilation}, {});
  const Memory output = device_memory({}, {compilation});
  const Execution execution = new_execution(compilation);
  const auto set_input = [&](int32_t index, ANeuralNetworksMemory* memory, size_t offset,
                             size_t length) {
    return ANeuralNetworksExecution_setInputFromMemory(execution, index, nullptr, memory, offset,
                                                       length);
  };
  const auto set_output = [&](ANeuralNetworksMemory* memory, size_t offset, size_t length) {
    return ANeuralNetworksExecution_setOutputFromMemory(execution, 0, nullptr, memory, offset,
                                                        length);
  };
  EXPECT_EQ(set_input(0, input, 1, 0), kBadData);
  EXPECT_EQ(set_input(0, input, 0, 8), kBadData);
  EXPECT_EQ(set_input(0, output, 0, 0), kBadData);
  EXPECT_EQ(set_input(1, input, 0, 0), kBadData);
  EXPECT_EQ(set_output(output, 1, 0), kBadData);
  EXPECT_EQ(set_output(output, 0, 8), kBadData);
  EXPECT_EQ(set_output(input, 0, 0), kBadData);
  const Compilation same = compiled_add();
  EXPECT_EQ(
      ANeuralNetworksExecution_setInputFromMemory(new_execution(same), 0, nullptr, input, 0, 0),
      kBadData)
      << "another compilation";
  const Model model = add_model();
  ASSERT_EQ(add_operand(model, kFloat, {2}), kOk);
  EXPECT_EQ(ANeuralNetworksModel_setOperandValueFromMemory(model, 4, input, 0, 0), kBadData);
  EXPECT_EQ(ANeuralNetworksModel_setOperandValueFromMemory(model, 4, input, 0, 8), kBadData);
  EXPECT_EQ(set_input(0, input, 0, 0), kOk);
  EXPECT_EQ(set_output(output, 0, 0), kOk);
}

TEST_F(DeviceMemoryTest, OutlivesItsDescriptionAndCompilation) {
  Compilation other = compiled_add();
  const Memory memory = device_memory({compilation}, {other, compilation});
  other.free();
  EXPECT_EQ(compute_into(memory), kOk);
}

TEST_F(DeviceMemoryTest, AccumulatesInPlace) {
  const Memory memory = device_memory({compilation}, {compilation});
  ASSERT_EQ(compute_into(memory), kOk);
  const Execution execution = new_execution(compilation);
  ASSERT_EQ(ANeuralNetworksExecution_setReusable(execution, true), kOk);
  ASSERT_EQ(ANeuralNetworksExecution_setInputFromMemory(execution, 0, nullptr, memory, 0, 0), kOk);
  ASSERT_EQ(ANeuralNetworksExecution_setInput(execution, 1, nullptr, buffers.b, 8), kOk);
  ASSERT_EQ(ANeuralNetworksExecution_setOutputFromMemory(execution, 0, nullptr, memory, 0, 0), kOk);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(ANeuralNetworksExecution_compute(execution), kOk);
  SharedFile file(8);
  ASSERT_EQ(ANeuralNetworksMemory_copy(memory, file.memory()), kOk);
  EXPECT_EQ(file.read<float>(2), (std::vector<float>{41, 82}));
}

TEST_F(DeviceMemoryTest, OfUnknownSizesIsAsLargeAsWhatIsWritten) {
  const Compilation open = compiled_add({0});
  const Memory memory = device_memory({open}, {open});
  for (const uint32_t count : {2U, 3U}) {
    const Dims dims = {count};
    const auto type = operand_type(kFloat, dims);
    const std::vector<float> ones(count, 1);
    const Execution execution = new_execution(open);
    for (const int32_t i : {0, 1}) {
      ASSERT_EQ(ANeuralNetworksExecution_setInput(execution, i, &type, ones.data(), count * 4),
                kOk);
    }
    ASSERT_EQ(ANeuralNetworksExecution_setOutputFromMemory(execution, 0, nullptr, memory, 0, 0),
              kOk);
    ASSERT_EQ(ANeuralNetworksExecution_compute(execution), kOk);
    SharedFile file(size_t{4} * count), other(16);
    EXPECT_EQ(ANeuralNetworksMemory_copy(memory, other.memory()), kBadData);
    EXPECT_EQ(ANeuralNetworksMemory_copy(memory, file.memory()), kOk);
    EXPECT_EQ(file.read<float>(count), std::vector<float>(count, 2));
    EXPECT_EQ(ANeuralNetworksMemory_copy(file.memory(), memory), kBadData) << "sizes not known";
    ASSERT_EQ(ANeuralNetworksMemory_copy(memory, memory), kOk);
  }
}

TEST_F(DeviceMemoryTest, OfSizesThatContradict) {
  const Compilation open = compiled_add({0});
  const MemoryDesc desc = new_desc();
  const uint32_t two[] = {2};
  ASSERT_EQ(ANeuralNetworksMemoryDesc_addInputRole(desc, open, 0, 1), kOk);
  ASSERT_EQ(ANeuralNetworksMemoryDesc_addOutputRole(desc, open, 0, 1), kOk);
  ASSERT_EQ(ANeuralNetworksMemoryDesc_setDimensions(desc, 1, two), kOk);
  ASSERT_EQ(ANeuralNetworksMemoryDesc_finish(desc), kOk);
  Memory memory;
  ASSERT_EQ(ANeuralNetworksMemory_createFromDesc(desc, memory.put()), kOk);
  const Dims three = {3};
  const auto type = operand_type(kFloat, three);
  const Execution execution = new_execution(open);
  EXPECT_EQ(ANeuralNetworksExecution_setInputFromMemory(execution, 0, &type, memory, 0, 0),
            kBadData);
  EXPECT_EQ(ANeuralNetworksExecution_setOutputFromMemory(execution, 0, &type, memory, 0, 0),
            kBadData);
  const float values[3] = {};
  for (const int32_t i : {0, 1}) {
    ASSERT_EQ(ANeuralNetworksExecution_setInput(execution, i, &type, values, 12), kOk);
  }
  ASSERT_EQ(ANeuralNetworksExecution_setOutputFromMemory(execution, 0, nullptr, memory, 0, 0), kOk);
  EXPECT_EQ(ANeuralNetworksExecution_compute(execution), kOpFailed) << "three into two";
}

// ---- copies ----

TEST(MemoryCopy, Null) {
  SharedFile file(8);
  EXPECT_EQ(ANeuralNetworksMemory_copy(nullptr, file.memory()), kNull);
  EXPECT_EQ(ANeuralNetworksMemory_copy(file.memory(), nullptr), kNull);
}

TEST(MemoryCopy, FromFilesToFiles) {
  SharedFile from(8), same(8), shorter(4), longer(16), unreadable(8, PROT_WRITE),
      unwritable(8, PROT_READ);
  from.write("abcdefgh", 8);
  EXPECT_EQ(ANeuralNetworksMemory_copy(from.memory(), shorter.memory()), kBadData);
  EXPECT_EQ(ANeuralNetworksMemory_copy(from.memory(), longer.memory()), kBadData);
  EXPECT_EQ(ANeuralNetworksMemory_copy(unreadable.memory(), same.memory()), kBadData);
  EXPECT_EQ(ANeuralNetworksMemory_copy(from.memory(), unwritable.memory()), kBadData);
  EXPECT_EQ(ANeuralNetworksMemory_copy(from.memory(), same.memory()), kOk);
  EXPECT_EQ(same.read<char>(8), from.read<char>(8));
  EXPECT_EQ(ANeuralNetworksMemory_copy(from.memory(), from.memory()), kOk);
}

TEST(MemoryCopy, ToAndFromDevices) {
  const Compilation good = compiled_add({1, 2}), flat = compiled_add({2}),
                    tall = compiled_add({2, 1});
  const Compilation quant = compiled_add_of({8}, kQuant, 1, 0);
  const Memory memory = device_memory({good}, {}), second = device_memory({good}, {});
  const Memory of_flat = device_memory({flat}, {}), of_tall = device_memory({tall}, {});
  const Memory of_quant = device_memory({quant}, {});
  SharedFile file(8), shorter(4), longer(16), back(8);
  const float values[2] = {3, 4};
  file.write(values, 8);
  const auto copy = ANeuralNetworksMemory_copy;
  EXPECT_EQ(copy(shorter.memory(), memory), kBadData);
  EXPECT_EQ(copy(longer.memory(), memory), kBadData);
  EXPECT_EQ(copy(memory, back.memory()), kBadData) << "nothing is in it";
  EXPECT_EQ(copy(file.memory(), memory), kOk);
  EXPECT_EQ(copy(memory, shorter.memory()), kBadData);
  EXPECT_EQ(copy(memory, back.memory()), kOk);
  EXPECT_EQ(back.read<float>(2), (std::vector<float>{3, 4}));
  EXPECT_EQ(copy(memory, second), kOk);
  EXPECT_EQ(copy(second, back.memory()), kOk);
  EXPECT_EQ(copy(memory, of_flat), kBadData) << "another rank";
  EXPECT_EQ(copy(memory, of_tall), kBadData) << "other sizes";
  EXPECT_EQ(copy(memory, of_quant), kBadData) << "another type";
  EXPECT_EQ(copy(shorter.memory(), second), kBadData);
  EXPECT_EQ(copy(second, back.memory()), kBadData) << "the copy to it failed";
  EXPECT_EQ(copy(second, memory), kBadData);
  EXPECT_EQ(copy(memory, back.memory()), kBadData) << "the copy to it failed";
}

}  // namespace
}  // namespace torchlet::nn
