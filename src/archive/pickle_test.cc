#include "archive/pickle.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "archive/test_util.h"

namespace torchlet::archive {
namespace {

using op::byte;
using op::get;
using op::global;
using op::integer;
using op::ints;
using op::pickle;
using op::put;
using op::real;
using op::str;

std::string repeat(const std::string& text, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

class PickleTest : public testing::Test {
 protected:
  Value read(const std::string& bytes, size_t stored_size) {
    return read_pickle(std::as_bytes(std::span(bytes)), stored_size, "data.pkl", factory_,
                       [](std::string_view, size_t) { return Ref<Storage>(); });
  }
  Value read(const std::string& bytes) { return read(bytes, bytes.size()); }
  Value body(const std::string& text) { return read(pickle(text)); }

  // Reading `text` fails with `part` in the message, at `offset` if that is given.
  void refused(const std::string& text, const std::string& part, int offset = -1) {
    const std::string error = error_of([&] { body(text); });
    EXPECT_NE(error.find(part), std::string::npos) << "got: " << error;
    const std::string place = offset < 0
                                  ? "of record 'data.pkl'"
                                  : "at byte " + std::to_string(offset) + " of record 'data.pkl'";
    EXPECT_NE(error.find(place), std::string::npos) << "got: " << error;
  }

  TestFactory factory_;
};

TEST_F(PickleTest, Scalars) {
  EXPECT_TRUE(body("N").is_none());
  EXPECT_TRUE(body("\x88").to_bool());
  EXPECT_FALSE(body("\x89").to_bool());
  EXPECT_EQ(body(byte(255)).to_int(), 255);
  EXPECT_EQ(body("M\xfe\xff").to_int(), 65534);
  EXPECT_EQ(body(integer(-1)).to_int(), -1);
  EXPECT_EQ(body(integer(std::numeric_limits<int32_t>::min())).to_int(), -2147483648LL);
  EXPECT_EQ(body(real(1.5)).to_double(), 1.5);
  EXPECT_EQ(body(real(-INFINITY)).to_double(), -INFINITY);
  EXPECT_TRUE(std::isnan(body(real(NAN)).to_double()));
}

TEST_F(PickleTest, LongIntegers) {
  const auto long1 = [](const std::string& digits) {
    return "\x8a" + little_endian(digits.size(), 1) + digits;
  };
  EXPECT_EQ(body(long1("")).to_int(), 0);
  EXPECT_EQ(body(long1("\xff")).to_int(), -1);
  EXPECT_EQ(body(long1(std::string("\xff\0", 2))).to_int(), 255);
  EXPECT_EQ(body(long1(little_endian(1, 6))).to_int(), 1);
  EXPECT_EQ(body(long1(little_endian(uint64_t{1} << 40, 6))).to_int(), int64_t{1} << 40);
  EXPECT_EQ(body(long1(little_endian(uint64_t{1} << 63, 8))).to_int(),
            std::numeric_limits<int64_t>::min());
  refused(long1(std::string(9, '\x01')), "an integer of 9 bytes", 2);
  refused(long1(std::string(200, '\x7f')), "an integer of 200 bytes", 2);
}

TEST_F(PickleTest, Strings) {
  EXPECT_EQ(body(str("caf\xc3\xa9")).to_string(), "caf\xc3\xa9");
  EXPECT_EQ(body(str("")).to_string(), "");
  EXPECT_EQ(body(str("\xff not UTF-8")).to_string(), "\xff not UTF-8");
  EXPECT_EQ(body("U" + little_endian(3, 1) + "abc").to_string(), "abc");
  EXPECT_EQ(body("T" + little_endian(3, 4) + "abc").to_string(), "abc");
}

TEST_F(PickleTest, Tuples) {
  EXPECT_EQ(body(")").to_tuple().size(), 0u);
  EXPECT_EQ(body(byte(1) + "\x85").to_tuple().size(), 1u);
  EXPECT_EQ(body(byte(1) + byte(2) + "\x86").to_tuple()[1].to_int(), 2);
  EXPECT_EQ(body(byte(1) + byte(2) + byte(3) + "\x87").to_tuple()[2].to_int(), 3);
  EXPECT_EQ(body("(" + byte(1) + byte(2) + byte(3) + byte(4) + "t").to_tuple()[3].to_int(), 4);
  EXPECT_EQ(body("(t").to_tuple().size(), 0u);
  EXPECT_EQ(body("(" + byte(1) + "(" + byte(2) + "tt").to_tuple()[1].to_tuple()[0].to_int(), 2);
}

TEST_F(PickleTest, Lists) {
  EXPECT_EQ(body("]").to_list().size(), 0u);
  EXPECT_EQ(body("]" + byte(5) + "a").to_list()[0].to_int(), 5);
  EXPECT_EQ(body("](" + byte(5) + byte(6) + "e").to_list()[1].to_int(), 6);
  EXPECT_EQ(body("(" + byte(5) + byte(6) + "l").to_list()[1].to_int(), 6);
  // Python's pickler appends a thousand at a time.
  const auto items = body("](" + byte(1) + "e(" + byte(2) + byte(3) + "e").to_list();
  ASSERT_EQ(items.size(), 3u);
  EXPECT_EQ(items[2].to_int(), 3);
}

TEST_F(PickleTest, DictsKeepTheirOrder) {
  EXPECT_EQ(body("}").to_dict().size(), 0u);
  for (const std::string& text : {"}(" + str("b") + byte(1) + str("a") + byte(2) + "u",
                                  "}" + str("b") + byte(1) + "s" + str("a") + byte(2) + "s",
                                  "(" + str("b") + byte(1) + str("a") + byte(2) + "d"}) {
    const auto items = body(text).to_dict();
    ASSERT_EQ(items.size(), 2u);
    EXPECT_EQ(items[0].first.to_string(), "b");
    EXPECT_EQ(items[1].second.to_int(), 2);
  }
  refused("}(" + str("key") + "u", "a key without a value");
  refused("}(]" + byte(1) + "u", "a list is the key of a dict");
}

TEST_F(PickleTest, TheMemoSharesObjects) {
  const std::string long_put = "r" + little_endian(1, 4), long_get = "j" + little_endian(1, 4);
  const auto items = body("(]" + put(0) + get(0) + "]" + long_put + long_get + "t").to_tuple();
  ASSERT_EQ(items.size(), 4u);
  EXPECT_TRUE(items[0].is_same(items[1]));
  EXPECT_TRUE(items[2].is_same(items[3]));
  EXPECT_FALSE(items[0].is_same(items[2]));
  refused(get(0), "memo entry 0 was never set", 2);
  refused("N" + put(3) + get(2), "memo entry 2 was never set");
  refused("j" + little_endian(0x7fffffff, 4), "memo entry 2147483647 was never set");
  refused("Nr" + little_endian(0xffffffff, 4), "memo entry 4294967295 in a pickle of 9 bytes", 3);
  refused(put(0), "its stack is empty");
}

TEST_F(PickleTest, TypedLists) {
  const auto build = [](const std::string& name, const std::string& items) {
    return global("torch.jit._pickle", name) + "(](" + items + "etR";
  };
  const Value integers = body(build("build_intlist", byte(1) + byte(2)));
  EXPECT_EQ(integers.list_ref().element_type->str(), "int");
  EXPECT_EQ(integers.to_list()[1].to_int(), 2);
  EXPECT_EQ(body(build("build_doublelist", real(0.5))).list_ref().element_type->str(), "float");
  EXPECT_EQ(body(build("build_boollist", "\x88")).list_ref().element_type->str(), "bool");
  EXPECT_EQ(body(build("build_tensorlist", "")).list_ref().element_type->str(), "Tensor");
  refused(build("build_intlist", str("one")), "build_intlist: expected int, got a str");
  refused(global("torch.jit._pickle", "build_intlist") + "(" + byte(1) + "tR",
          "expected a list, got an int");
}

TEST_F(PickleTest, TypeTags) {
  const auto tagged = [](const std::string& value, const std::string& type) {
    return global("torch.jit._pickle", "restore_type_tag") + value + str(type) + "\x86R";
  };
  const Value list = body(tagged("]", "List[str]"));
  EXPECT_EQ(list.list_ref().element_type->str(), "str");
  const Value dict = body(tagged("}(" + str("a") + real(1) + "u", "Dict[str, float]"));
  EXPECT_EQ(dict.dict_ref().key_type->str(), "str");
  EXPECT_EQ(dict.dict_ref().value_type->str(), "float");
  refused(tagged("}", "List[str]"), "expected List[str], got a dict");
  refused(tagged("]", "List[Lost]"), "unknown type List[Lost]");
}

TEST_F(PickleTest, DevicesComplexNumbersAndSizes) {
  const std::string device = global("torch", "device");
  EXPECT_EQ(body(device + str("cuda:1") + "\x85R").to_string(), "cuda:1");
  EXPECT_EQ(body(device + str("cuda") + byte(2) + "\x86R").to_string(), "cuda:2");
  EXPECT_TRUE(body(device + str("cpu") + "\x85R").is_device());
  refused(device + str("cuda:") + "\x85R", "expected a device");
  refused(device + str("<script>") + "\x85R", "expected a device");
  for (const char* module : {"builtins", "__builtin__"}) {
    EXPECT_EQ(body(global(module, "complex") + real(1) + real(-2) + "\x86R").to_complex(),
              std::complex<double>(1, -2));
  }
  EXPECT_EQ(body(global("torch", "Size") + ints({2, 3}) + "\x85R").to_tuple()[1].to_int(), 3);
}

TEST_F(PickleTest, OrderedDictsCanBeFilled) {
  const Value dict = body(global("collections", "OrderedDict") + ")R(" + str("a") + byte(1) + "u");
  EXPECT_EQ(dict.to_dict()[0].second.to_int(), 1);
}

TEST_F(PickleTest, ObjectsAreBuiltFromTheirState) {
  const std::string state = "}(" + str("training") + "\x89" + str("scale") + real(2) + "ub";
  const Value object = body(global("__torch__.nets", "Net") + ")\x81" + state);
  ASSERT_TRUE(object.is_object());
  EXPECT_EQ(object.object_ref().type->name(), "__torch__.nets.Net");
  EXPECT_EQ(object.object_ref().attribute("scale").to_double(), 2);
  // What __getstate__ returned may be anything.
  const Value custom = body(global("__torch__", "Packed") + ")\x81" + byte(7) + "\x85" + "b");
  EXPECT_EQ(custom.object_ref().attribute("state").to_tuple()[0].to_int(), 7);
}

TEST_F(PickleTest, AnObjectMemoizedBeforeItsStateIsTheBuiltOneAfterwards) {
  // As Python's pickler does it; TorchScript's memoizes afterwards.
  const std::string net = global("__torch__", "Net");
  const auto items = body("(" + net + ")\x81" + put(0) + "}b" + get(0) + "t").to_tuple();
  ASSERT_EQ(items.size(), 2u);
  EXPECT_TRUE(items[0].is_object());
  EXPECT_TRUE(items[0].is_same(items[1]));
}

TEST_F(PickleTest, Enums) {
  const Value bare = body(global("__torch__", "Color") + byte(2) + "R");
  EXPECT_EQ(bare.enum_ref().value.to_int(), 2);
  EXPECT_EQ(bare.enum_ref().type->name(), "__torch__.Color");
  EXPECT_EQ(body(global("__torch__", "Color") + byte(2) + "\x85R").enum_ref().value.to_int(), 2);
}

TEST_F(PickleTest, NamesOutsideTheClosedSetAreRefused) {
  for (const auto& [module, name] : {std::pair("builtins", "eval"),
                                     {"os", "system"},
                                     {"posix", "system"},
                                     {"torch.serialization", "load"},
                                     {"torch", "NopeStorage"},
                                     {"numpy", "ndarray"},
                                     {"torch.jit", "_pickle"}}) {
    refused(global(module, name) + str("1") + "\x85R",
            "'" + std::string(module) + "." + name + "' is neither defined in the code", 2);
  }
  refused("c" + std::string(5000, 'm') + "\nf\n", "the name of a class does not end", 2);
}

TEST_F(PickleTest, OnlyFunctionsAreCalledAndOnlyClassesMade) {
  refused(byte(1) + ")R", "an int is called");
  refused(global("torch", "FloatStorage") + ")R", "'torch.FloatStorage' is called");
  refused(global("__torch__", "Net") + ")R", "__torch__.Net is called but is no enum");
  refused(global("collections", "OrderedDict") + ")\x81", "an object is made of");
  refused(global("__torch__", "Net") + byte(1) + "\x85\x81", "is made with arguments");
  refused("]}b", "a state is given to a list");
  refused(global("torch", "device") + "NR", "expected a tuple of arguments, got None");
}

TEST_F(PickleTest, InternalsAreNoValues) {
  const std::string what = "a class or a storage stands where a value is expected";
  refused(global("torch", "FloatStorage"), what);
  refused("]" + global("torch", "FloatStorage") + "a", what);
  refused("}" + str("a") + global("torch", "device") + "s", what);
  refused(global("torch", "device") + "\x85", "a tuple with a class or a storage");
  refused(global("__torch__", "Net") + ")\x81" + global("torch", "device") + "\x85" + "b",
          "a tuple with a class or a storage");
  refused(global("__torch__", "Net") + ")\x81", "used before its state is complete");
}

TEST_F(PickleTest, CyclesAreRefused) {
  const std::string net = global("__torch__", "Net") + ")\x81" + put(0);
  refused(net + "}(" + str("self") + get(0) + "ub", "the pickle is cyclic");
  refused("]" + put(0) + get(0) + "a", "the pickle is cyclic");
  refused("}" + put(0) + str("self") + get(0) + "s", "the pickle is cyclic");
  refused("]" + put(0) + "(" + get(0) + "ta", "the pickle is cyclic");
  // A list in a list that changes later.
  refused("]" + put(0) + "]" + put(1) + get(0) + "a" + get(0) + get(1) + "a", "is cyclic");
}

TEST_F(PickleTest, DepthIsLimited) {
  EXPECT_NO_THROW(body("N" + repeat("\x85", kMaxPickleDepth)));
  const std::string what = "nested more than 1000 deep";
  refused("N" + repeat("\x85", 1'000'000), what, 3 + kMaxPickleDepth);
  refused(repeat("]", 100'000) + repeat("a", 99'999), what);
  refused(repeat("}" + str("a"), 50'000) + "N" + repeat("s", 50'000), what);
  const std::string net = global("__torch__", "Net") + ")\x81";
  refused(repeat(net + "}" + str("a"), 2000) + "N" + repeat("sb", 2000), what);
  // Depth that is hidden in the memo.
  std::string hidden = "N\x85" + put(0);
  for (int i = 0; i < 1100; ++i) hidden += get(0) + "\x85" + put(0);
  refused(hidden, what);
}

TEST_F(PickleTest, SharingDoesNotMultiplyWork) {
  std::string text = "]" + put(0);
  for (int i = 0; i < 200; ++i) text += "](" + get(0) + get(0) + "e" + put(0);
  EXPECT_NO_THROW(body("(" + text + "t"));
}

TEST_F(PickleTest, StackErrors) {
  refused("a", "takes more values from its stack than there are", 2);
  refused("\x85", "takes more values from its stack than there are", 2);
  refused("N\x86", "takes more values from its stack than there are", 3);
  refused("N(\x85", "takes more values from its stack than there are");  // not through the mark
  refused("Nt", "uses a mark that it has not set", 3);
  refused("e", "uses a mark that it has not set", 2);
  refused(
      "N(N"
      "e",
      "items are appended to what is no list");
  refused("](NNu", "items are set in what is no dict");
  refused("", "ends with 0 values instead of one");
  refused("NN", "ends with 2 values instead of one");
  refused("(N", "ends with");
}

TEST_F(PickleTest, LengthsBeyondTheEnd) {
  refused("X" + little_endian(0x7fffffff, 4) + "abc", "the pickle is cut short", 2);
  refused("T" + little_endian(0xffffffff, 4), "the pickle is cut short", 2);
  EXPECT_NE(error_of([&] { read(""); }), "");
  EXPECT_NE(error_of([&] { read("\x80\x02N"); }), "");
}

TEST_F(PickleTest, OtherOpcodesAreRefused) {
  refused("\xfe", "opcode 0xfe", 2);
  refused("B" + little_endian(0xffffffff, 4), "opcode 0x42", 2);     // BINBYTES
  refused("\x8b" + little_endian(0x7fffffff, 4), "opcode 0x8b", 2);  // LONG4
  for (const char* opcode :
       {"I1\n", "L1\n", "F1\n", "V1\n", "S'1'\n", "ios\nsystem\n", "o", "P1\n", "0", "1", "2",
        "g0\n", "p0\n", "\x82", "\x83", "\x84", "\x93", "\x95"}) {
    refused(std::string("N") + opcode, "which TorchScript archives do not use", 3);
  }
  EXPECT_NE(error_of([&] { read("\x80\x04N."); }).find("pickle protocol 4"), std::string::npos);
}

TEST_F(PickleTest, MemoryIsBoundedByTheStoredSize) {
  // A compressed record of 5 kB that would become 4 million lists.
  const std::string lists = pickle("(" + repeat("]", 4'000'000) + "t");
  EXPECT_NE(error_of([&] { read(lists, 5000); }).find("far more memory"), std::string::npos);
  // The same number of equal tuples or of integers needs little.
  EXPECT_NO_THROW(read(pickle("(" + repeat(")", 1'000'000) + "t"), 5000));
}

TEST_F(PickleTest, SurvivesRandomChanges) {
  const std::string net = global("__torch__", "Net");
  const std::string valid =
      pickle(net + ")\x81}(" + str("list") + global("torch.jit._pickle", "restore_type_tag") +
             "](" + str("a") + str("b") + "e" + str("List[str]") + "\x86R" + put(1) + str("again") +
             get(1) + str("child") + net + ")\x81}" + str("x") + "(" + byte(1) + real(2) + "ts" +
             "b" + str("c") + global("builtins", "complex") + real(1) + real(2) + "\x86R" + "ub");
  EXPECT_NO_THROW(read(valid));
  std::mt19937 random(20240229);
  const std::string opcodes = "().GJKMNQRTUX]abcdehjlqrstu}\x80\x81\x85\x86\x87\x88\x89\x8a";
  int read_well = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string changed = valid;
    for (uint32_t edit = random() % 4; edit < 4; ++edit) {
      const size_t at = random() % changed.size();
      switch (random() % 3) {
        case 0:
          changed[at] = static_cast<char>(random());
          break;
        case 1:
          changed[at] = opcodes[random() % opcodes.size()];
          break;
        default:
          changed.insert(at, 1, opcodes[random() % opcodes.size()]);
      }
    }
    read_well += error_of([&] { read(changed); }).empty();
  }
  EXPECT_GT(read_well, 0);
  EXPECT_LT(read_well, 20'000);
}

}  // namespace
}  // namespace torchlet::archive
