#include "lite/flatbuffer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "archive/reader.h"
#include "base/error.h"
#include "lite/flat_schema.h"
#include "lite/testing.h"
#include "tensor/tensor_impl.h"

namespace torchlet::lite {
namespace {

const std::string kFixtures = "tests/fixtures/lite/";

// What both containers hold.
struct Contents {
  BareObjects classes;
  Bytecode bytecode;
  Value root;

  template <typename Reader>
  explicit Contents(Reader& reader, Bytecode read) : bytecode(std::move(read)) {
    classes.program().add_functions(bytecode);
    root = reader.read_module(classes);
  }
};

std::string file_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

// The bytes of a file where tensors may lie.
struct Bytes {
  explicit Bytes(std::string_view text) : storage(std::make_shared<Storage>(text.size())) {
    if (!text.empty()) std::memcpy(storage->data(), text.data(), text.size());
  }
  std::span<std::byte> span() const { return {storage->data(), storage->nbytes()}; }
  FlatbufferReader reader() const { return FlatbufferReader(span(), storage); }
  std::shared_ptr<Storage> storage;
};

// Everything in the file; the Error's message, or "" if it is good.
std::string read_all(const Bytes& bytes) {
  try {
    FlatbufferReader reader = bytes.reader();
    reader.extra_files();
    reader.sources();
    BareObjects classes;
    classes.program().add_functions(reader.read_bytecode(classes));
    reader.read_module(classes);
    reader.read_constants(classes);
    classes.program().finish();
  } catch (const Error& error) {
    EXPECT_NE(error.code(), ErrorCode::kInternal) << error.what();
    return error.message();
  }
  return "";
}

// Comparison.

void expect_same(const Value& a, const Value& b, const std::string& where);

void expect_same(const std::vector<Value>& a, const std::vector<Value>& b,
                 const std::string& where) {
  ASSERT_EQ(a.size(), b.size()) << where;
  for (size_t i = 0; i < a.size(); ++i) {
    expect_same(a[i], b[i], where + "[" + std::to_string(i) + "]");
  }
}

void expect_same(const Tensor& a, const Tensor& b, const std::string& where) {
  ASSERT_EQ(a.describe(), b.describe()) << where;
  EXPECT_TRUE(std::ranges::equal(a.strides(), b.strides())) << where;
  EXPECT_EQ(a.impl()->requires_grad, b.impl()->requires_grad) << where;
  const Tensor left = a.contiguous(), right = b.contiguous();
  const size_t nbytes = static_cast<size_t>(a.numel()) * element_size(a.dtype());
  EXPECT_TRUE(nbytes == 0 || std::memcmp(left.impl()->data(), right.impl()->data(), nbytes) == 0)
      << where;
  if (!a.is_quantized()) return;
  const Quantizer &of_a = *a.impl()->quantizer, &of_b = *b.impl()->quantizer;
  ASSERT_EQ(of_a.qscheme, of_b.qscheme) << where;
  EXPECT_EQ(of_a.scale, of_b.scale) << where;
  EXPECT_EQ(of_a.zero_point, of_b.zero_point) << where;
  if (of_a.per_tensor()) return;
  EXPECT_EQ(of_a.axis, of_b.axis) << where;
  expect_same(of_a.scales, of_b.scales, where + ".scales");
  expect_same(of_a.zero_points, of_b.zero_points, where + ".zero_points");
}

void expect_same(const Object& a, const Object& b, const std::string& where) {
  ASSERT_EQ(a.type->name(), b.type->name()) << where;
  const auto& left = a.type->attributes();
  const auto& right = b.type->attributes();
  ASSERT_EQ(left.size(), right.size()) << where;
  for (size_t i = 0; i < left.size(); ++i) {
    EXPECT_EQ(left[i].name, right[i].name) << where;
    EXPECT_EQ(left[i].type->str(), right[i].type->str()) << where << "." << left[i].name;
  }
  expect_same(a.slots, b.slots, where);
}

void expect_same(const Value& a, const Value& b, const std::string& where) {
  ASSERT_EQ(a.kind(), b.kind()) << where << ": " << to_text(a) << " and " << to_text(b);
  EXPECT_EQ(type_of(a)->str(), type_of(b)->str()) << where;
  if (a.is_tensor()) {
    expect_same(a.to_tensor(), b.to_tensor(), where);
  } else if (a.is_list() || a.is_tuple()) {
    expect_same(a.to_list(), b.to_list(), where);
  } else if (a.is_dict()) {
    const auto left = a.to_dict(), right = b.to_dict();
    ASSERT_EQ(left.size(), right.size()) << where;
    for (size_t i = 0; i < left.size(); ++i) {
      expect_same(left[i].first, right[i].first, where + " key");
      expect_same(left[i].second, right[i].second, where + "[" + to_text(left[i].first) + "]");
    }
  } else if (a.is_object()) {
    expect_same(a.object_ref(), b.object_ref(), where);
  } else if (!a.is_custom()) {
    EXPECT_EQ(to_text(a), to_text(b)) << where;
  }
}

void expect_same(const BytecodeFunction& a, const BytecodeFunction& b) {
  ASSERT_EQ(a.name, b.name);
  ASSERT_EQ(a.instructions.size(), b.instructions.size()) << a.name;
  for (size_t i = 0; i < a.instructions.size(); ++i) {
    const Instruction &left = a.instructions[i], &right = b.instructions[i];
    EXPECT_EQ(std::tie(left.opcode, left.x, left.n), std::tie(right.opcode, right.x, right.n))
        << a.name << " at " << i;
  }
  ASSERT_EQ(a.operators.size(), b.operators.size()) << a.name;
  for (size_t i = 0; i < a.operators.size(); ++i) {
    const OperatorName &left = a.operators[i], &right = b.operators[i];
    EXPECT_EQ(std::tie(left.name, left.overload, left.num_args),
              std::tie(right.name, right.overload, right.num_args));
  }
  expect_same(a.constants, b.constants, a.name);
  ASSERT_EQ(a.types.size(), b.types.size()) << a.name;
  for (size_t i = 0; i < a.types.size(); ++i) EXPECT_EQ(a.types[i]->str(), b.types[i]->str());
  EXPECT_EQ(a.register_size, b.register_size) << a.name;
  ASSERT_EQ(a.schema.has_value(), b.schema.has_value()) << a.name;
  EXPECT_EQ(a.schema ? a.schema->str() : "", b.schema ? b.schema->str() : "");
}

// PyTorch writes functions in another order.
void expect_same(Bytecode a, Bytecode b) {
  std::ranges::sort(a.functions, {}, &BytecodeFunction::name);
  std::ranges::sort(b.functions, {}, &BytecodeFunction::name);
  ASSERT_EQ(a.functions.size(), b.functions.size());
  for (size_t i = 0; i < a.functions.size(); ++i) expect_same(a.functions[i], b.functions[i]);
}

TEST(Flatbuffer, HoldsWhatThePickledFormHolds) {
  size_t pairs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kFixtures)) {
    const std::string path = entry.path().string();
    if (!path.ends_with(".ff.ptl")) continue;
    SCOPED_TRACE(path);
    const Bytes bytes(file_text(path));
    FlatbufferReader flat = bytes.reader();
    BareObjects flat_types, zip_types;
    const Contents of_flat(flat, flat.read_bytecode(flat_types));
    archive::ArchiveReader zip =
        archive::ArchiveReader::open(path.substr(0, path.size() - 7) + ".ptl");
    const Contents of_zip(
        zip, parse_bytecode(zip.read_bytecode(zip_types),
                            [&](const std::string& text) { return zip_types.parse_type(text); }));
    expect_same(of_flat.bytecode, of_zip.bytecode);
    expect_same(of_flat.root, of_zip.root, "root");
    ASSERT_EQ(of_flat.classes.waiting().size(), of_zip.classes.waiting().size());
    for (size_t i = 0; i < of_flat.classes.waiting().size(); ++i) {
      expect_same(of_flat.classes.waiting()[i].state, of_zip.classes.waiting()[i].state, "state");
    }
    ++pairs;
  }
  EXPECT_EQ(pairs, 4);
}

TEST(Flatbuffer, TensorsLieInTheFile) {
  const Bytes bytes(file_text(kFixtures + "values.ff.ptl"));
  FlatbufferReader reader = bytes.reader();
  BareObjects types;
  const Contents contents(reader, reader.read_bytecode(types));
  const Object& root = contents.root.object_ref();
  const auto slot = [&](const char* name) {
    return root.slots[root.type->find_attribute(name).value()].to_tensor();
  };
  const Tensor whole = slot("whole"), view = slot("view");
  const std::byte* data = whole.impl()->data();
  EXPECT_TRUE(data >= bytes.span().data() && data < bytes.span().data() + bytes.span().size());
  EXPECT_EQ(view.impl()->storage, whole.impl()->storage);
}

TEST(Flatbuffer, HasExtraFilesAndSource) {
  const Bytes bytes(file_text(kFixtures + "holder.ff.ptl"));
  FlatbufferReader reader = bytes.reader();
  EXPECT_EQ(reader.operator_version(), 1);  // nothing there ever changed its meaning
  EXPECT_EQ(reader.extra_files().at("note.txt"), "a note");
  EXPECT_NE(reader.sources().at("__torch__").find("class Holder(Module):"), std::string::npos);
}

TEST(Flatbuffer, ObjectsWaitForTheirSetState) {
  const Bytes bytes(file_text(kFixtures + "holder.ff.ptl"));
  FlatbufferReader reader = bytes.reader();
  BareObjects types;
  const Contents contents(reader, reader.read_bytecode(types));
  ASSERT_EQ(contents.classes.waiting().size(), 1);
  const BareObjects::Waiting& waiting = contents.classes.waiting()[0];
  EXPECT_EQ(waiting.object->type->name(), "__torch__.Stateful");
  EXPECT_EQ(waiting.state.to_tuple().size(), 3);
  EXPECT_TRUE(Value(waiting.object).is_same(contents.root.object_ref().attribute("inner")));
}

// Hostile files.

TEST(Flatbuffer, EveryTruncationIsRefused) {
  const std::string whole = file_text(kFixtures + "values.ff.ptl");
  size_t good = 0;
  for (size_t size = 0; size < whole.size(); ++size) {
    good += read_all(Bytes(std::string_view(whole).substr(0, size))).empty();
  }
  EXPECT_LT(good, 16);  // without the last bytes, which pad it
}

TEST(Flatbuffer, EveryFlippedBitIsRefusedOrRead) {
  std::string text = file_text(kFixtures + "stateful.ff.ptl");
  EXPECT_EQ(read_all(Bytes(text)), "");
  for (size_t bit = 0; bit < 8 * text.size(); ++bit) {
    text[bit / 8] ^= static_cast<char>(1 << bit % 8);
    read_all(Bytes(text));
    text[bit / 8] ^= static_cast<char>(1 << bit % 8);
  }
}

// Writes a flatbuffer from its outermost table inwards.
class Writer {
 public:
  // A module whose one constant is value `constant` of the values that come next, `count` of them.
  Writer(uint32_t constant, uint32_t count) {
    point(0);
    std::vector<size_t> fields(flat::module::kConstants + 1);
    for (const unsigned used :
         {flat::module::kBytecodeVersion, flat::module::kValues, flat::module::kConstants}) {
      fields[used] = sizeof(uint32_t);
    }
    fields = table(fields);
    set(fields[flat::module::kBytecodeVersion], 9);
    point(fields[flat::module::kConstants]);
    vector({constant});
    point(fields[flat::module::kValues]);
    values_ = vector(std::vector<uint32_t>(count));
  }

  // Value number `index`, of this kind; what comes next is its content.
  void value(uint32_t index, flat::ValueKind kind) {
    point(values_ + index * sizeof(uint32_t));
    const std::vector<size_t> fields = table({1, sizeof(uint32_t)});
    text[fields[0]] = static_cast<char>(kind);
    point(fields[1]);
  }
  void tuple_of(const std::vector<uint32_t>& items) {
    point(table({sizeof(uint32_t)})[0]);
    vector(items);
  }
  // The offset at `position` leads to what comes next.
  void point(size_t position) { set(position, static_cast<uint32_t>(text.size() - position)); }
  void set(size_t position, uint32_t number) {
    std::memcpy(text.data() + position, &number, sizeof(number));
  }
  // Where the fields of a table are that have these sizes; none has no bytes.
  std::vector<size_t> table(const std::vector<size_t>& sizes) {
    std::vector<size_t> fields;
    std::vector<uint16_t> vtable(2);
    size_t end = sizeof(int32_t);
    for (const size_t size : sizes) {
      vtable.push_back(static_cast<uint16_t>(size == 0 ? 0 : end));
      end += size;
    }
    vtable[0] = static_cast<uint16_t>(vtable.size() * sizeof(uint16_t));
    vtable[1] = static_cast<uint16_t>(end);
    const size_t start = text.size();
    for (size_t i = 2; i < vtable.size(); ++i) fields.push_back(start + vtable[i]);
    text.resize(start + end);
    set(start, static_cast<uint32_t>(start - text.size()));  // the vtable comes after
    text.append(reinterpret_cast<const char*>(vtable.data()), vtable[0]);
    return fields;
  }
  size_t vector(const std::vector<uint32_t>& items) {
    const auto count = static_cast<uint32_t>(items.size());
    text.append(reinterpret_cast<const char*>(&count), sizeof(count));
    const size_t start = text.size();
    text.append(reinterpret_cast<const char*>(items.data()), count * sizeof(uint32_t));
    return start;
  }

  std::string text = std::string(4, '\0') + "PTMF";

 private:
  size_t values_ = 0;  // where their offsets are
};

// Tuples within each other, from an empty one outwards.
std::string nested_tuples(uint32_t depth) {
  Writer writer(depth - 1, depth);
  for (uint32_t i = 0; i < depth; ++i) {
    writer.value(i, flat::ValueKind::kTuple);
    writer.tuple_of(i == 0 ? std::vector<uint32_t>() : std::vector<uint32_t>{i - 1});
  }
  return writer.text;
}

std::string constants_error(const std::string& text) {
  const Bytes bytes(text);
  BareObjects classes;
  try {
    bytes.reader().read_constants(classes);
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

TEST(Flatbuffer, ValuesNestSoDeepAndNoDeeper) {
  EXPECT_EQ(constants_error(nested_tuples(1000)), "");
  const std::string message = "values are nested more than 1000 deep";
  EXPECT_EQ(constants_error(nested_tuples(1001)), message);
  EXPECT_EQ(constants_error(nested_tuples(100'000)), message);
}

TEST(Flatbuffer, ValuesAreMadeOfEarlierOnes) {
  Writer writer(0, 1);
  writer.value(0, flat::ValueKind::kTuple);
  writer.tuple_of({0});
  EXPECT_EQ(constants_error(writer.text), "value 0 is used before it is there");
}

TEST(Flatbuffer, WhatManyShareIsPaidForByEach) {
  constexpr uint32_t kCount = 1000;
  Writer writer(kCount, kCount + 1);
  std::vector<size_t> texts;
  std::vector<uint32_t> all;
  for (uint32_t i = 0; i < kCount; ++i) {
    writer.value(i, flat::ValueKind::kString);
    texts.push_back(writer.table({sizeof(uint32_t)})[0]);
    all.push_back(i);
  }
  writer.value(kCount, flat::ValueKind::kTuple);
  writer.tuple_of(all);
  for (const size_t text : texts) writer.point(text);
  writer.vector(std::vector<uint32_t>(1 << 18));
  const size_t count = writer.text.size() - (1 << 20) - sizeof(uint32_t);
  writer.set(count, 1 << 20);  // of bytes
  EXPECT_NE(constants_error(writer.text).find("far more memory"), std::string::npos);
}

TEST(Flatbuffer, OtherVersionsAreRefused) {
  std::string text = nested_tuples(1);
  const size_t version = text.find("\x09", 8);
  text[version] = 10;
  EXPECT_NE(read_all(Bytes(text)).find("is of version 10"), std::string::npos);
}

}  // namespace
}  // namespace torchlet::lite
