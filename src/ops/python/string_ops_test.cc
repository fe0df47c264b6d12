#include "ops/core/testing.h"

// Expected texts are PyTorch 1.13's, also where Python's would differ.
namespace torchlet::ops {
namespace {

Value strings(std::vector<Value> items) { return make_list(types::string(), std::move(items)); }

// A predicate for many texts.
void expect_is(const char* name, std::vector<const char*> yes, std::vector<const char*> no) {
  for (const char* text : yes) expect_op(name, "", {text}, true);
  for (const char* text : no) expect_op(name, "", {text}, false);
}

TEST(String, Finds) {
  expect_op("aten::find", "", {"hello", "l"}, 2);
  expect_op("aten::find", "", {"hello", "l", 3}, 3);
  expect_op("aten::find", "", {"hello", "l", 0, 2}, -1);
  expect_op("aten::find", "", {"hello", "l", -3}, 2);
  expect_op("aten::find", "", {"hello", "lo", 0, -1}, 3);
  expect_op("aten::find", "", {"hello", "lo", 0, -2}, -1);
  expect_op("aten::find", "", {"hello", "", 5}, 5);
  expect_op("aten::rfind", "", {"hello", "l"}, 3);
  expect_op("aten::rfind", "", {"hello", "l", 0, 3}, 2);
  expect_op("aten::rfind", "", {"hello", ""}, 5);
  expect_op("aten::rfind", "", {"hello", "hel", 1}, -1);
  expect_op("aten::index", "str", {"hello", "ll"}, 2);
  EXPECT_THROW(call_op("aten::index", "str", {"hello", "z"}), Error);
  EXPECT_THROW(call_op("aten::rindex", "", {"hello", "z"}), Error);
  expect_op("aten::count", "", {"banana", "ana"}, 1);
  expect_op("aten::count", "", {"banana", "a", -3, -1}, 2);
  expect_op("aten::count", "", {"banana", "a", 0, 3}, 1);
  expect_op("aten::startswith", "", {"hello", "l", -3}, true);
  expect_op("aten::startswith", "", {"hello", "lo", 2, 4}, false);
  expect_op("aten::endswith", "", {"hello", "l", 0, 4}, true);
  expect_op("aten::endswith", "", {"hello", "hello!"}, false);
}

TEST(String, Splits) {
  expect_op("aten::split", "str", {"a,b,,c", ","}, strings({"a", "b", "", "c"}));
  expect_op("aten::split", "str", {"a,b,,c", ",", 1}, strings({"a", "b,,c"}));
  expect_op("aten::split", "str", {"  a  b c ", Value(), 1}, strings({"a", "b", "c"}));
  expect_op("aten::split", "str", {"", ","}, strings({""}));
  expect_op("aten::split", "str", {"", Value()}, strings({}));
  EXPECT_THROW(call_op("aten::split", "str", {"abc", ""}), Error);
  expect_op("aten::rsplit", "", {"a,b,c", ",", 1}, strings({"a,b", "c"}));
  expect_op("aten::rsplit", "", {"a b  c"}, strings({"a", "b", "", "c"}));
  expect_op("aten::splitlines", "", {"a\nb\r\nc\rd"}, strings({"a", "b", "", "c", "d"}));
  expect_op("aten::splitlines", "", {"a\nb\r\n", true}, strings({"a", "\n", "b", "\r", "", "\n"}));
  expect_op("aten::splitlines", "", {"a\xe2\x80\xa8z"}, strings({"a", "", "", "z"}));
  expect_op("aten::splitlines", "", {""}, strings({}));
  expect_op("aten::partition", "", {"a.b.c", "."}, Value::tuple({"a", ".", "b.c"}));
  expect_op("aten::partition", "", {"abc", "."}, Value::tuple({"abc", "", ""}));
  expect_op("aten::rpartition", "", {"a.b.c", "."}, Value::tuple({"a.b", ".", "c"}));
  expect_op("aten::rpartition", "", {"abc", "."}, Value::tuple({"", "", "abc"}));
  expect_op("aten::join", "", {", ", strings({"a", "b", "c"})}, "a, b, c");
  expect_op("aten::join", "", {"-", strings({})}, "");
}

TEST(String, StripsReplacesAndPads) {
  expect_op("aten::strip", "", {"  a b \t\n"}, "a b");
  expect_op("aten::lstrip", "", {"xyaxy", "yx"}, "axy");
  expect_op("aten::rstrip", "", {"xyaxy", "yx"}, "xya");
  expect_op("aten::strip", "", {"xxx", "x"}, "");
  expect_op("aten::strip", "", {"abc", ""}, "abc");
  expect_op("aten::replace", "", {"banana", "an", "X"}, "bXXa");
  expect_op("aten::replace", "", {"banana", "an", "X", 1}, "bXana");
  expect_op("aten::replace", "", {"banana", "a", "X", 0}, "banana");
  expect_op("aten::replace", "", {"abab", "b", "ab"}, "aabaab");
  expect_op("aten::center", "", {"abc", 6}, " abc  ");
  expect_op("aten::center", "", {"abcd", 7, "*"}, "**abcd*");
  expect_op("aten::center", "", {"abc", 2}, "abc");
  EXPECT_THROW(call_op("aten::center", "", {"abc", 6, "ab"}), Error);
  expect_op("aten::ljust", "", {"abc", 5, "."}, "abc..");
  expect_op("aten::rjust", "", {"abc", 5, "."}, "..abc");
  expect_op("aten::ljust", "", {"abc", -5}, "abc");
  expect_op("aten::ljust", "", {"abc", INT64_MIN}, "abc");
  expect_op("aten::zfill", "", {"-42", 5}, "00-42");
  expect_op("aten::zfill", "", {"", 2}, "00");
  expect_op("aten::expandtabs", "", {"a\tb", 4}, "a   b");
  expect_op("aten::expandtabs", "", {"a\n\tb", 0}, "a\nb");
}

TEST(String, Cases) {
  expect_op("aten::title", "", {"hello wORLD x2y they're"}, "Hello World X2Y They'Re");
  expect_op("aten::capitalize", "", {"hELLO"}, "Hello");
  expect_op("aten::swapcase", "", {"aBc1"}, "AbC1");
  expect_op("aten::upper", "", {"aBc1\xc3\xa9"}, "ABC1\xc3\xa9");
  expect_is("aten::istitle", {"Hello World", "H2Ello"}, {"Hello world", "123", ""});
  expect_is("aten::isalpha", {"abc"}, {"ab1", ""});
  expect_is("aten::isalnum", {"ab1"}, {"a b", ""});
  expect_is("aten::isdigit", {"12"}, {"1.2", ""});
  expect_is("aten::isspace", {" \t\n"}, {""});
  expect_is("aten::isprintable", {"abc", ""}, {"abc\n"});
  expect_is("aten::isidentifier", {"a1"}, {"1a", "_", "a_b", ""});
  expect_is("aten::isupper", {"AB1"}, {"123", "Ab"});
  expect_is("aten::islower", {"ab1"}, {"", "Ab"});
}

TEST(String, ItemsAndSlices) {
  expect_op("aten::len", "str", {"h\xc3\xa9llo"}, 6);
  expect_op("aten::__getitem__", "str", {"hello", -1}, "o");
  EXPECT_THROW(call_op("aten::__getitem__", "str", {"hello", 5}), Error);
  EXPECT_THROW(call_op("aten::__getitem__", "str", {"hello", -6}), Error);
  expect_op("aten::slice", "str", {"hello", 1, -1, 2}, "el");
  expect_op("aten::slice", "str", {"hello", -3}, "llo");
  expect_op("aten::slice", "str", {"hello", 3, 1}, "");
  expect_op("aten::slice", "str", {"hello", 0, 100, 3}, "hl");
  expect_op("aten::slice", "str", {"hello", Value(), Value(), -1}, "olleh");
  expect_op("aten::slice", "str", {"hello", 3, 0, -2}, "le");
  expect_op("aten::slice", "str", {"hello", -1, -4, -1}, "oll");
  expect_op("aten::slice", "str", {"", Value(), Value(), -1}, "");
  EXPECT_THROW(call_op("aten::slice", "str", {"hello", Value(), Value(), 0}), Error);
  expect_op("aten::list", "", {"abc"}, strings({"a", "b", "c"}));
  expect_op("aten::lt", "str", {"abc", "abd"}, true);
  expect_op("aten::ge", "str", {"b", "abc"}, true);
}

TEST(String, CharactersAndBases) {
  expect_op("aten::bin", "", {-5}, "-0b101");
  expect_op("aten::hex", "", {255}, "0xff");
  expect_op("aten::oct", "", {0}, "0o0");
  expect_op("aten::chr", "", {65}, "A");
  expect_op("aten::chr", "", {256}, std::string(1, '\0'));
  EXPECT_THROW(call_op("aten::chr", "", {-1}), Error);
  EXPECT_THROW(call_op("aten::chr", "", {0x110000}), Error);
  expect_op("aten::ord", "", {"A"}, 65);
  EXPECT_THROW(call_op("aten::ord", "", {"ab"}), Error);
}

}  // namespace
}  // namespace torchlet::ops
