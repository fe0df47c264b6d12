#include "base/error.h"

#include <gtest/gtest.h>

#include <string>

namespace torchlet {
namespace {

using std::string_literals::operator""s;

TEST(ErrorTest, PlacesFollowTheMessage) {
  Error error(ErrorCode::kRuntime, "too large");
  error.add_context("model.py:3, in fc").add_context("model.py:9");
  EXPECT_STREQ(error.what(), "too large\n  model.py:3, in fc\n  model.py:9");
  EXPECT_EQ(error.message(), "too large");
}

TEST(ErrorTest, NullCharactersOfAModelEndNoText) {
  Error error(ErrorCode::kFileFormat, "'a\0\0b' is no class\0"s);
  error.add_context("c\0.py:1"s).set_python_class("d\0e"s);
  EXPECT_STREQ(error.what(), "'a\\0\\0b' is no class\\0\n  c\\0.py:1");
  EXPECT_STREQ(error.message().c_str(), "'a\\0\\0b' is no class\\0");
  EXPECT_STREQ(error.context().front().c_str(), "c\\0.py:1");
  EXPECT_STREQ(error.python_class().c_str(), "d\\0e");
}

}  // namespace
}  // namespace torchlet
