#include <gtest/gtest.h>
#include <torchlet/save.h>
#include <torchlet/torchlet.h>

#include <filesystem>
#include <fstream>

#include "base/testing.h"
#include "prepare/agreement.h"
#include "tensor/npy.h"

namespace torchlet {
namespace {

constexpr FileContainer kContainers[] = {FileContainer::kTorchScript, FileContainer::kLite,
                                         FileContainer::kFlatbuffer};

std::string fixture(const std::string& name) { return "tests/fixtures/" + name; }

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<float> floats(const Tensor& tensor) {
  const Tensor plain = tensor.to(DType::kFloat32).contiguous();
  const float* data = plain.data_ptr<float>();
  return {data, data + plain.numel()};
}

Module load_any(const std::string& path) {
  Options options;
  options.allow_unsupported = true;
  return load(path, options);
}

ErrorCode code_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.code();
  }
  ADD_FAILURE() << "nothing was thrown";
  return ErrorCode::kInternal;
}

// What cannot be written, and why; empty if it was.
std::string save_as(FileContainer container, const Module& module, const std::string& path,
                    int bytecode_version = 8) {
  SaveOptions options;
  options.container = container;
  options.bytecode_version = bytecode_version;
  try {
    save(module, path, options);
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported) << error.message();
    return error.message();
  }
}

TEST(Save, WhatIsReadBackIsWrittenAlike) {
  for (const auto& entry : std::filesystem::directory_iterator("tests/fixtures")) {
    if (entry.path().extension() != ".pt") continue;
    for (const FileContainer container : kContainers) {
      const std::string why_not = save_as(container, load_any(entry.path()), temp_path("a"));
      if (!why_not.empty()) {
        // Operators that Torchlet lacks, sparse tensors in flatbuffers.
        EXPECT_NE(container, FileContainer::kTorchScript) << entry.path() << why_not;
        continue;
      }
      save_as(container, load_any(temp_path("a")), temp_path("b"));
      EXPECT_EQ(content(temp_path("a")), content(temp_path("b"))) << entry.path();
    }
  }
}

// Archives of scripts/make_fuzz_seeds.py that hold bytecode alone.
std::string bytecode_archive(const std::string& name) {
  return "tests/fuzz/seeds/archives/" + name + ".bytecode.ptl";
}

std::vector<float> answer_of_seed(const std::string& name, const std::string& path) {
  const std::vector<int64_t> sizes = name == "shapes"    ? std::vector<int64_t>{5}
                                     : name == "control" ? std::vector<int64_t>{2, 3}
                                     : name == "picture" ? std::vector<int64_t>{1, 3, 9, 8}
                                                         : std::vector<int64_t>{1, 6};
  const Tensor input = zeros(sizes, DType::kFloat32);
  for (int64_t i = 0; i < input.numel(); ++i) {
    input.data_ptr<float>()[i] = 0.25f * static_cast<float>(i % 7) - 0.5f;
  }
  std::vector<float> result;
  const auto add = [&](const auto& self, const Value& value) -> void {
    if (value.is_tensor()) {
      for (const float x : floats(value.to_tensor())) result.push_back(x);
    } else if (value.is_tuple() || value.is_list()) {
      for (const Value& item : value.is_tuple() ? value.to_tuple() : value.to_list()) {
        self(self, item);
      }
    }
  };
  add(add, load(path).forward({input}));
  return result;
}

TEST(Save, EveryVersionGivesTheAnswersOfTheBytecodeThatWasRead) {
  for (const char* name : {"control", "shapes", "attention", "picture"}) {
    const std::vector<float> expected = answer_of_seed(name, bytecode_archive(name));
    for (int version = 4; version <= 8; ++version) {
      SCOPED_TRACE(name + (" " + std::to_string(version)));
      for (const FileContainer container : {FileContainer::kLite, FileContainer::kFlatbuffer}) {
        ASSERT_EQ(save_as(container, load(bytecode_archive(name)), temp_path("v"), version), "");
        EXPECT_EQ(answer_of_seed(name, temp_path("v")), expected);
        // No source came in, so none goes out, and the bytecode is its own fixed point.
        save_as(container, load(temp_path("v")), temp_path("w"), version);
        EXPECT_EQ(content(temp_path("v")), content(temp_path("w")));
      }
    }
  }
}

TEST(Save, EveryContainerGoesIntoEveryOther) {
  // A flatbuffer does not keep the places in the original Python.
  save_as(FileContainer::kFlatbuffer, load(fixture("scripted_convnet.pt")), temp_path("x"));
  save(load(temp_path("x")), temp_path("model"));
  for (const FileContainer from : kContainers) {
    for (const FileContainer to : kContainers) {
      save_as(from, load(temp_path("model")), temp_path("x"));
      save_as(to, load(temp_path("x")), temp_path("y"));
      save_as(to, load(temp_path("model")), temp_path("z"));
      EXPECT_EQ(content(temp_path("y")), content(temp_path("z")));
    }
  }
}

TEST(Save, TheContainerIsTheOneAskedFor) {
  const char* const names[] = {"TorchScript", "Lite Interpreter", "Lite Interpreter flatbuffer"};
  for (size_t i = 0; i < std::size(kContainers); ++i) {
    save_as(kContainers[i], load(fixture("linear.pt")), temp_path("x"));
    EXPECT_EQ(load(temp_path("x")).info().container, names[i]);
  }
}

// scripts/make_fuzz_seeds.py makes them: archives with source, and the same without.
TEST(Save, BytecodeBecomesSource) {
  const std::pair<const char*, std::vector<int64_t>> models[] = {
      {"control", {2, 3}}, {"shapes", {5}}, {"attention", {1, 6}}, {"picture", {1, 3, 9, 8}}};
  for (const auto& [name, sizes] : models) {
    SCOPED_TRACE(name);
    const std::string seed = std::string("tests/fuzz/seeds/archives/") + name;
    save(load(seed + ".bytecode.ptl"), temp_path("source.pt"));
    const Module written = load(temp_path("source.pt"));
    EXPECT_EQ(written.info().container, "TorchScript");
    const Tensor input = zeros(sizes, DType::kFloat32);
    for (int64_t i = 0; i < input.numel(); ++i) {
      input.data_ptr<float>()[i] = 0.25f * static_cast<float>(i % 7) - 0.5f;
    }
    prepare::Agreement agreement;
    agreement.add(load(seed + ".ptl").forward({input.clone()}), written.forward({input.clone()}));
    EXPECT_EQ(agreement.mismatch(), "");
    EXPECT_EQ(agreement.max_abs(), 0);
  }
}

TEST(Save, SourceOfBytecodeTakesNoTensorForANumber) {
  // The mobile runtime computes 0-d tensors of float64 with integers in float64, numbers in
  // float32.
  const auto dtypes_of = [](const Module& module) {
    std::vector<DType> dtypes;
    const Value result = module.forward({zeros(std::vector<int64_t>{2}, DType::kInt64)});
    for (const Value& item : result.to_tuple()) dtypes.push_back(item.to_tensor().dtype());
    return dtypes;
  };
  const Module bytecode = load(fixture("lite/numbers.bytecode.ptl"));
  EXPECT_EQ(dtypes_of(bytecode), std::vector<DType>(4, DType::kFloat64));
  save(bytecode, temp_path("numbers.pt"));
  EXPECT_EQ(dtypes_of(load(temp_path("numbers.pt"))), std::vector<DType>(4, DType::kFloat64));
  save(load(temp_path("numbers.pt")), temp_path("again.pt"));
  EXPECT_EQ(content(temp_path("again.pt")), content(temp_path("numbers.pt")));
}

TEST(Save, ErrorsStillNameThePythonLine) {
  const auto error_of = [](const Module& module) {
    try {
      module.forward({zeros(std::array<int64_t, 1>{7}, DType::kFloat32)});
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("nothing was thrown");
  };
  const Module before = load(fixture("scripted_convnet.pt"));
  save(before, temp_path("places.pt"));
  EXPECT_NE(error_of(before).find(".py:"), std::string::npos) << error_of(before);
  EXPECT_EQ(error_of(load(temp_path("places.pt"))), error_of(before));
}

// What the module at `path` says of matrices that do not fit.
std::string places_error(const std::string& path) {
  try {
    load(path).forward({zeros(std::vector<int64_t>{2, 3}, DType::kFloat32), 8});
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(Save, BytecodeTellsThePythonLines) {
  // Of scripts/make_lite_fixtures.py; both hold debug information, one no source.
  for (const std::string name : {"lite/places.ptl", "lite/places.bytecode.ptl"}) {
    SCOPED_TRACE(name);
    const std::string error = places_error(fixture(name));
    EXPECT_NE(error.find("in make_lite_fixtures.py:"), std::string::npos) << error;
    for (int version = 4; version <= 8; ++version) {
      ASSERT_EQ(save_as(FileContainer::kLite, load(fixture(name)), temp_path("a"), version), "");
      EXPECT_EQ(places_error(temp_path("a")), error);
      save_as(FileContainer::kLite, load(temp_path("a")), temp_path("b"), version);
      EXPECT_EQ(content(temp_path("a")), content(temp_path("b")));
    }
  }
}

TEST(Save, LeavesThePythonOut) {
  SaveOptions options;
  options.debug_info = false;
  for (const std::string name : {"lite/places.ptl", "lite/places.bytecode.ptl"}) {
    for (const FileContainer container : kContainers) {
      options.container = container;
      save(load(fixture(name)), temp_path("bare"), options);
      EXPECT_EQ(places_error(temp_path("bare")).find("make_lite_fixtures"), std::string::npos);
      EXPECT_EQ(content(temp_path("bare")).find("debug_"), std::string::npos);
    }
  }
}

TEST(Save, TheAnswersStay) {
  for (const char* name : {"linear", "scripted_convnet", "traced_convnet", "quantized_linear",
                           "quantized_conv_per_channel", "script_class"}) {
    const Module before = load(fixture(name + std::string(".pt")));
    const Tensor input = load_npy(fixture(name + std::string(".in0.npy")));
    const auto answer = [&](const Module& module) {
      const Value value = module.forward({input});
      return floats((value.is_tuple() ? value.to_tuple()[0] : value).to_tensor());
    };
    for (const FileContainer container : kContainers) {
      if (!save_as(container, before, temp_path("c")).empty()) continue;
      EXPECT_EQ(answer(before), answer(load(temp_path("c")))) << name;
    }
  }
}

TEST(Save, TheModuleIsWrittenAsItIsNow) {
  const Module module = load(fixture("api.pt"));
  module.run_method("step");
  module.setattr("name", "other");
  save(module, temp_path("d.pt"));
  const Module again = load(temp_path("d.pt"));
  EXPECT_EQ(again.attr("name").to_string(), "other");
  EXPECT_EQ(again.run_method("step").to_int(), 2);
  EXPECT_EQ(again.named_parameters().size(), module.named_parameters().size());
  EXPECT_EQ(again.get_method("forward").schema(), module.get_method("forward").schema());
}

TEST(Save, SharedMemoryStaysShared) {
  save(load_any(fixture("dtypes.pt")), temp_path("e.pt"));
  const Module copy = load_any(temp_path("e.pt"));
  copy.attr("head").to_tensor().data_ptr<float>()[4] = 77;  // the first element of tail
  EXPECT_EQ(copy.attr("tail").to_tensor().data_ptr<float>()[0], 77);
}

TEST(Save, ExtraFilesLieBesideTheModel) {
  SaveOptions options;
  options.extra_files = {{"labels", "a\nb\n"}};
  for (const FileContainer container : kContainers) {
    options.container = container;
    save(load(fixture("linear.pt")), temp_path("f"), options);
    EXPECT_EQ(read_extra_files(temp_path("f")), options.extra_files);
  }
}

TEST(Save, RefusesWhatItCannotDo) {
  std::filesystem::copy_file(fixture("linear.pt"), temp_path("g.pt"),
                             std::filesystem::copy_options::overwrite_existing);
  const Module module = load(temp_path("g.pt"));
  const std::string before = content(temp_path("g.pt"));
  EXPECT_EQ(code_of([&] { save(module, temp_path("g.pt")); }), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of([&] { save(module, temp_path("none/g.pt")); }), ErrorCode::kIo);
  for (const int version : {3, 9}) {
    SaveOptions options;
    options.container = FileContainer::kLite;
    options.bytecode_version = version;
    EXPECT_EQ(code_of([&] { save(module, temp_path("h.ptl"), options); }),
              ErrorCode::kInvalidArgument);
  }
  EXPECT_EQ(content(temp_path("g.pt")), before);
}

}  // namespace
}  // namespace torchlet
