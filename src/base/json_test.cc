#include "base/json.h"

#include <gtest/gtest.h>
#include <torchlet/error.h>

namespace torchlet {
namespace {

using Kind = Json::Kind;

std::string text_of(const std::string& json) { return parse_json(json).text; }

TEST(Json, ReadsEveryKind) {
  const Json all = parse_json(R"( {"a": [1, -2.5, 1e3, true, false, null], "b": {}, "c": []} )");
  ASSERT_TRUE(all.is(Kind::kObject));
  const Json* a = all.find("a");
  ASSERT_TRUE(a && a->is(Kind::kList));
  ASSERT_EQ(a->items.size(), 6u);
  EXPECT_TRUE(a->items[0].is(Kind::kInteger));
  EXPECT_EQ(a->items[0].integer, 1);
  EXPECT_EQ(a->items[0].number, 1.0);
  EXPECT_TRUE(a->items[1].is(Kind::kNumber));
  EXPECT_EQ(a->items[1].number, -2.5);
  EXPECT_TRUE(a->items[2].is_number());
  EXPECT_FALSE(a->items[2].is(Kind::kInteger));
  EXPECT_EQ(a->items[2].number, 1000.0);
  EXPECT_TRUE(a->items[3].is(Kind::kBool) && a->items[3].is_true);
  EXPECT_TRUE(a->items[4].is(Kind::kBool) && !a->items[4].is_true);
  EXPECT_TRUE(a->items[5].is(Kind::kNull));
  EXPECT_TRUE(all.find("b")->is(Kind::kObject));
  EXPECT_TRUE(all.find("c")->items.empty());
  EXPECT_EQ(all.find("d"), nullptr);
  EXPECT_EQ(a->find("a"), nullptr);
  EXPECT_EQ(parse_json(R"({"x": 1, "x": 2})").find("x")->integer, 2);
}

TEST(Json, ReadsEscapes) {
  EXPECT_EQ(text_of(R"("\"\\\/\b\f\n\r\t")"), "\"\\/\b\f\n\r\t");
  EXPECT_EQ(text_of(R"("\u0041\u00e9\u20ac\ud83d\ude00")"),
            "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
  EXPECT_EQ(text_of("\"\xc3\xa9\""), "\xc3\xa9");
}

TEST(Json, KnowsIntegersThatAreTooLarge) {
  EXPECT_EQ(parse_json("9223372036854775807").integer, INT64_MAX);
  const Json large = parse_json("9223372036854775808");
  EXPECT_TRUE(large.is(Kind::kNumber));
  EXPECT_EQ(large.number, 9223372036854775808.0);
}

TEST(Json, RefusesWhatIsNone) {
  for (const char* text : {"",
                           " ",
                           "{",
                           "[1,]",
                           "[1 2]",
                           "{\"a\"}",
                           "{\"a\":}",
                           "{a: 1}",
                           "{\"a\": 1,}",
                           "01",
                           "-",
                           "1.",
                           "1e",
                           "+1",
                           ".5",
                           "nul",
                           "truex",
                           "\"a",
                           "\"\\x\"",
                           "\"\\u12\"",
                           "\"\\u12g4\"",
                           "\"\\ud800\"",
                           "\"\\ud800\\u0041\"",
                           "\"\\ud801\\udbff\"",
                           "\"\\udc00\"",
                           "\"\x01\"",
                           "1 2",
                           "]",
                           "\"\\"}) {
    EXPECT_THROW(parse_json(text), Error) << text;
  }
  const std::string zero("1\0", 2);
  EXPECT_THROW(parse_json(zero), Error);
}

TEST(Json, SaysWhereItIsWrong) {
  try {
    parse_json("[1, x]");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kFileFormat);
    EXPECT_STREQ(error.what(), "no JSON: no value at byte 4");
  }
}

TEST(Json, BoundsTheDepth) {
  EXPECT_NO_THROW(parse_json("[[1]]", 2));
  EXPECT_THROW(parse_json("[[1]]", 1), Error);
  EXPECT_THROW(parse_json(std::string(1'000'000, '[')), Error);
}

}  // namespace
}  // namespace torchlet
