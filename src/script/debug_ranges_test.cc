#include "script/debug_ranges.h"

#include <gtest/gtest.h>
#include <torchlet/error.h>

#include <memory>

#include "script/source.h"

namespace torchlet::script {
namespace {

Value tuple(std::vector<Value> items) { return Value::tuple(std::move(items)); }

Value range(Value source, int start, int end) { return tuple({std::move(source), start, end}); }

// "model.py:41", or "?".
std::string place(const DebugRanges& ranges, size_t offset) {
  return ranges.original(offset).where();
}

DebugRanges ranges_of(const Value& pickled) {
  return DebugRanges([pickled] { return pickled; });
}

TEST(DebugRanges, TextInEachRecord) {
  const Value none = tuple({"", "", 0});
  const Value source = tuple({"def f(x):\n  a = x\n  return a\n", "src/model.py", 40});
  const DebugRanges ranges = ranges_of(tuple({
      tuple({0, range(none, 0, 0)}),
      tuple({100, range(source, 12, 17)}),
      tuple({120, range(none, 0, 0), 3}),
      tuple({130, range(source, 20, 28), 4}),
  }));
  EXPECT_EQ(place(ranges, 50), "?");
  EXPECT_EQ(place(ranges, 100), "src/model.py:41");
  EXPECT_EQ(place(ranges, 119), "src/model.py:41");
  EXPECT_EQ(place(ranges, 125), "?");
  EXPECT_EQ(place(ranges, 4000), "src/model.py:42");
}

TEST(DebugRanges, StringTable) {
  const Value strings = tuple({"", "def f(x):\n", "  return x\n", "net.py"});
  const Value lines = Value::list({1, 2});
  const DebugRanges ranges = ranges_of(tuple({
      "FORMAT_WITH_STRING_TABLE",
      strings,
      tuple({tuple({10, range(tuple({lines, 3, 7}), 0, 3), 0}),
             tuple({20, range(tuple({lines, 3, 7}), 12, 20), 1})}),
  }));
  EXPECT_EQ(place(ranges, 9), "?");
  EXPECT_EQ(place(ranges, 10), "net.py:7");
  EXPECT_EQ(place(ranges, 25), "net.py:8");
}

TEST(DebugRanges, ErrorsOfTheCompilerTellThePlace) {
  Source source{"code/__torch__.py", "a = 1\nb = ?\n", 1, nullptr};
  const Value written = tuple({"x = 1\ny = nonsense\n", "/home/me/net.py", 10});
  source.origin = std::make_shared<DebugRanges>([written] {
    return tuple({tuple({6, range(written, 6, 7)})});
  });
  try {
    fail_at(source, {10, 11}, "no");
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "code/__torch__.py:2: no\n  b = ?\n  written in net.py:11");
  }
}

TEST(DebugRanges, NonsenseMakesPlacesUnknown) {
  EXPECT_EQ(place(ranges_of(Value(3)), 0), "?");
  EXPECT_EQ(place(DebugRanges([]() -> Value { throw Error(ErrorCode::kFileFormat, "cut"); }), 0),
            "?");
  const DebugRanges ranges = ranges_of(tuple({
      "FORMAT_WITH_STRING_TABLE",
      tuple({"net.py"}),
      tuple({tuple({"x"}), tuple({0, 1}),
             tuple({5, range(tuple({Value::list({99, -1}), 99, 7}), 1000, 3), 0}),
             tuple({6, range(tuple({Value::list({99, -1}), 0, int64_t{1} << 60}), -5, 3), 0})}),
  }));
  EXPECT_EQ(place(ranges, 0), "?");
  EXPECT_EQ(place(ranges, 5), "?");
  EXPECT_EQ(place(ranges, 7), "net.py:1073741824");
}

// A place in a source of three lines.
SourceRange place_in(const std::shared_ptr<const Source>& source, uint32_t begin) {
  return {source, begin, begin + 3};
}

TEST(DebugRecord, IsReadBack) {
  const auto net =
      std::make_shared<const Source>(Source{"net.py", "def f(x):\n  a\n  b", 7, nullptr});
  const auto same = std::make_shared<const Source>(*net);
  const auto other = std::make_shared<const Source>(Source{"other.py", "pass\n", 1, nullptr});
  const Value record = debug_record({{0, {}},
                                     {10, place_in(other, 0)},
                                     {10, place_in(net, 10)},  // takes its place
                                     {20, place_in(same, 15)},
                                     {30, {}},
                                     {40, place_in(other, 0)}});
  const DebugRanges ranges = ranges_of(record);
  EXPECT_EQ(place(ranges, 9), "?");
  EXPECT_EQ(place(ranges, 10), "net.py:8");
  EXPECT_EQ(place(ranges, 29), "net.py:9");
  EXPECT_EQ(place(ranges, 30), "?");
  EXPECT_EQ(place(ranges, 40), "other.py:1");
  EXPECT_EQ(ranges.original(10).source->text, net->text);
  EXPECT_EQ(ranges.original(10).begin, 10u);
  EXPECT_EQ(ranges.original(10).end, 13u);
  // Each text stands there once: "", three lines, two files, one line.
  EXPECT_EQ(record.to_tuple()[1].to_tuple().size(), 7u);
}

TEST(DebugRecord, PlacesAreKnownByTheirTags) {
  const auto net = std::make_shared<const Source>(Source{"net.py", "def f(x):\n  a\n", 7, nullptr});
  const Value record = tagged_debug_record({{}, place_in(net, 0), place_in(net, 10)});
  std::unordered_map<int64_t, SourceRange> places = {{1, {net, 12, 13}}};
  EXPECT_EQ(ranges_of(record).add_tagged(places), DebugRanges::kMostText - net->text.size());
  ASSERT_EQ(places.size(), 2u);  // of the empty place nothing is known
  EXPECT_EQ(places[1].begin, 12u);
  EXPECT_EQ(places[2].begin, 10u);
  EXPECT_EQ(places[2].end, 13u);
  EXPECT_EQ(places[2].source->text, net->text);
  EXPECT_EQ(places[2].line(), 8);
}

TEST(DebugRecord, TagsAreThoseOfPyTorch) {
  const Value source = tuple({"def f(x):\n  a = x\n", "model.py", 40});
  std::unordered_map<int64_t, SourceRange> places;
  ranges_of(tuple({tuple({0, range(source, 0, 3), -1}), tuple({9, range(source, 12, 17), 30}),
                   tuple({4, range(source, 1, 2)}), tuple({5, range(source, 1, 2), "x"})}))
      .add_tagged(places);
  ASSERT_EQ(places.size(), 1u);
  EXPECT_EQ(places[30].line(), 41);
}

TEST(DebugRecord, TheTextOfAllRecordsIsBounded) {
  const Value source = tuple({"def f(x):\n", "model.py", 40});
  const DebugRanges ranges([&] { return tuple({tuple({0, range(source, 0, 3), 1})}); }, 5);
  std::unordered_map<int64_t, SourceRange> places;
  EXPECT_EQ(ranges.add_tagged(places), 5u);
  EXPECT_EQ(places[1].source->text, "");
}

TEST(DebugRecord, IsNotThereWithoutPlaces) {
  EXPECT_TRUE(debug_record({}).is_none());
  EXPECT_TRUE(debug_record({{0, {}}, {5, {}}}).is_none());
}

}  // namespace
}  // namespace torchlet::script
