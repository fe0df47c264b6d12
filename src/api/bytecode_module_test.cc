// Archives that hold bytecode and no source give what the same archives give from their source.
#include <gtest/gtest.h>
#include <torchlet/torchlet.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "archive/pickle_writer.h"
#include "archive/reader.h"
#include "archive/zip_writer.h"
#include "base/byte_sink.h"
#include "tensor/containers.h"

namespace torchlet {
namespace {

// scripts/make_fuzz_seeds.py
Module from_source(const std::string& name) {
  return load("tests/fuzz/seeds/archives/" + name + ".ptl");
}
Module from_bytecode(const std::string& name) {
  return load("tests/fuzz/seeds/archives/" + name + ".bytecode.ptl");
}

Tensor ramp(std::vector<int64_t> sizes) {
  const Tensor tensor = zeros(sizes, DType::kFloat32);
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    tensor.data_ptr<float>()[i] = 0.25f * static_cast<float>(i % 7) - 0.5f;
  }
  return tensor;
}

void expect_same(const Value& a, const Value& b) {
  ASSERT_EQ(a.kind(), b.kind());
  if (a.is_tensor()) {
    const Tensor x = a.to_tensor().contiguous(), y = b.to_tensor().contiguous();
    ASSERT_EQ(x.dtype(), y.dtype());
    ASSERT_TRUE(std::ranges::equal(x.sizes(), y.sizes()));
    const size_t nbytes = static_cast<size_t>(x.numel()) * element_size(x.dtype());
    EXPECT_TRUE(nbytes == 0 || std::memcmp(x.raw_data(), y.raw_data(), nbytes) == 0);
  } else if (a.is_tuple() || a.is_list()) {
    const std::vector<Value> x = a.is_list() ? a.to_list() : a.to_tuple();
    const std::vector<Value> y = b.is_list() ? b.to_list() : b.to_tuple();
    ASSERT_EQ(x.size(), y.size());
    for (size_t i = 0; i < x.size(); ++i) expect_same(x[i], y[i]);
  } else if (a.is_dict()) {
    const auto x = a.to_dict(), y = b.to_dict();
    ASSERT_EQ(x.size(), y.size());
    for (size_t i = 0; i < x.size(); ++i) {
      expect_same(x[i].first, y[i].first);
      expect_same(x[i].second, y[i].second);
    }
  } else if (a.is_string()) {
    EXPECT_EQ(a.to_string(), b.to_string());
  }
}

size_t segments_on_cpu(const Module& module) {
  const std::vector<Placement> all = module.placement();
  return static_cast<size_t>(std::ranges::count_if(all, [](const Placement& placement) {
    return placement.is_segment && placement.device == "cpu" && placement.reason.empty();
  }));
}

TEST(BytecodeModule, GivesWhatItsSourceGives) {
  struct Call {
    std::string name;
    std::vector<int64_t> sizes;
    size_t segments;  // that became plans; as many as from the source, but for `control`
  };
  const Call calls[] = {{"control", {2, 3}, 7},
                        {"shapes", {5}, 4},
                        {"attention", {1, 6}, 1},
                        {"picture", {1, 3, 9, 8}, 1}};
  for (const Call& call : calls) {
    SCOPED_TRACE(call.name);
    const Module source = from_source(call.name), bytecode = from_bytecode(call.name);
    // One counts its calls, one writes to its input.
    for (int run = 0; run < 2; ++run) {
      expect_same(bytecode.forward({ramp(call.sizes)}), source.forward({ramp(call.sizes)}));
    }
    EXPECT_EQ(segments_on_cpu(bytecode), call.segments);
  }
}

TEST(BytecodeModule, HasTheAttributesOfItsObjects) {
  const Module module = from_bytecode("picture");
  EXPECT_EQ(module.submodule("conv").attr("weight").to_tensor().dim(), 4);
  EXPECT_EQ(module.get_method("forward").schema(), "forward(Tensor x) -> Tuple[Tensor, Tensor]");
}

TEST(BytecodeModule, RaisesWhatTheProgramRaises) {
  try {
    from_bytecode("picture").forward({ramp({3, 9, 8})});
    FAIL() << "nothing was raised";
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "a picture has four dimensions");
    EXPECT_EQ(error.python_class(), "builtins.ValueError");
    ASSERT_FALSE(error.context().empty());
    EXPECT_NE(error.context()[0].find("bytecode of __torch__.Picture.forward"), std::string::npos)
        << error.context()[0];
  }
}

// ---- debug information ----

std::string error_of(const Module& module, std::vector<int64_t> sizes, int64_t k) {
  try {
    module.forward({ramp(std::move(sizes)), k});
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was raised";
}

// scripts/make_lite_fixtures.py
const std::string kPlaces = "tests/fixtures/lite/places";

TEST(BytecodeModule, ErrorsNameThePythonAsThoseOfItsSourceDo) {
  const Module source = load(kPlaces + ".ptl"), bytecode = load(kPlaces + ".bytecode.ptl");
  struct Call {
    std::vector<int64_t> sizes;
    int64_t k;
    std::string path;
  };
  const Call calls[] = {{{2, 4}, 0, "in first.0.leaf (aten::mm)"},
                        {{3, 3}, 5, "in last.0.plain (aten::transpose)"},
                        {{2, 3}, 1, "in last.1.leaf (aten::mm)"},
                        // In a branch, whose calls PyTorch does not tell.
                        {{2, 3}, 8, "in last.0 (aten::mm)"}};
  for (const Call& call : calls) {
    const std::string error = error_of(bytecode, call.sizes, call.k);
    EXPECT_EQ(error, error_of(source, call.sizes, call.k));
    EXPECT_NE(error.find(call.path), std::string::npos) << error;
    EXPECT_NE(error.find("in make_lite_fixtures.py:"), std::string::npos) << error;
    EXPECT_EQ(error.find("bytecode of"), std::string::npos) << error;
  }
}

// The archive of `kPlaces`.bytecode with other content in some records, "" for none of that name.
Module with_records(const std::map<std::string, std::string>& records) {
  auto file = archive::ArchiveReader::open(kPlaces + ".bytecode.ptl");
  std::string bytes;
  struct Sink final : ByteSink {
    explicit Sink(std::string& to) : out(to) {}
    void write(std::span<const std::byte> data) override {
      out.append(reinterpret_cast<const char*>(data.data()), data.size());
    }
    size_t size() const override { return out.size(); }
    std::string& out;
  } sink(bytes);
  archive::ZipWriter zip(sink, "places");
  for (const archive::Record& record : file.records()) {
    const auto other = records.find(record.name);
    const std::string content =
        other == records.end() ? file.read_text(record.name) : other->second;
    if (!content.empty()) zip.add(record.name, archive::bytes_of(content));
  }
  zip.finish();
  return load(archive::bytes_of(bytes));
}

std::string pickled(const Value& value) {
  archive::StorageTable none;
  return archive::PickleWriter(nullptr, none).write(value);
}

TEST(BytecodeModule, BrokenDebugRecordsLeavePlacesUnknown) {
  const std::string calls = "callstack_debug_map.pkl", handles = "mobile_debug_handles.pkl";
  const std::string places = "code/__torch__.py.debug_pkl", bytecode = "in bytecode of __torch__.";
  const std::string module_path = "in first.0.leaf (aten::mm)";
  const auto error_with = [](const std::map<std::string, std::string>& records) {
    return error_of(with_records(records), {2, 4}, 0);
  };
  EXPECT_EQ(error_with({}).find(bytecode), std::string::npos);
  for (const std::string& nonsense :
       {std::string(), std::string("no pickle"), pickled(Value()), pickled(Value::tuple({})),
        pickled(Value::tuple({1, Value::tuple({2, 3, 4})}))}) {
    for (const std::string& record : {calls, handles}) {
      const std::string error = error_with({{record, nonsense}});
      EXPECT_NE(error.find(bytecode), std::string::npos) << error;
      EXPECT_EQ(error.find(module_path), std::string::npos) << error;
    }
    // Without lines the calls still tell the modules.
    const std::string error = error_with({{places, nonsense}});
    EXPECT_NE(error.find(bytecode), std::string::npos) << error;
    EXPECT_NE(error.find(module_path), std::string::npos) << error;
  }
}

TEST(BytecodeModule, CallsOfOneInstructionAreBounded) {
  const auto with_depth = [](int depth) {
    Value inner;
    for (int i = 0; i < depth; ++i) {
      inner = Value::tuple({Value::tuple({"__torch__.A", "a"}), 1, inner, "forward"});
    }
    std::vector<Value> entries;
    for (int64_t handle = 0; handle < 2000; ++handle) {
      entries.push_back(Value::tuple({handle, 1, "aten::mm", inner}));
    }
    return error_of(with_records({{"callstack_debug_map.pkl", pickled(Value::tuple(entries))}}),
                    {2, 4}, 0);
  };
  EXPECT_NE(with_depth(100).find("a.a.a.a"), std::string::npos) << with_depth(100);
  EXPECT_EQ(with_depth(101).find("a.a.a.a"), std::string::npos);
  EXPECT_NE(with_depth(900).find("cannot be multiplied"), std::string::npos);
}

}  // namespace
}  // namespace torchlet
