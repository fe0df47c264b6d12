#include "lite/write/flat_builder.h"

#include <gtest/gtest.h>

#include "lite/flat_table.h"

namespace torchlet::lite {
namespace {

using Table = FlatBuilder::Table;

TEST(FlatBuilder, TablesComeBack) {
  FlatBuilder builder;
  const auto text = builder.text("name");
  const auto numbers = builder.numbers(std::vector<int64_t>{-1, 1LL << 40});
  const auto inner = builder.table(Table().number(1, 2.5));
  const auto tables = builder.offsets({inner, inner});
  const int32_t pair[] = {7, 8};
  const auto structure = builder.structure(std::as_bytes(std::span(pair)), sizeof(int32_t));
  const auto root = builder.table(Table()
                                      .number(0, int8_t{-3})
                                      .offset(1, text)
                                      .number(2, uint32_t{9})
                                      .offset(3, numbers)
                                      .offset(5, tables)
                                      .offset(6, structure)
                                      .number(7, true));
  const FlatBytes file = builder.finish(root, "TEST");

  const FlatTable table = FlatTable::root(file);
  EXPECT_EQ(table.number<int8_t>(0), -3);
  EXPECT_EQ(table.text(1), "name");
  EXPECT_EQ(table.number<uint32_t>(2), 9u);
  const FlatVector vector = table.vector(3, sizeof(int64_t));
  ASSERT_EQ(vector.size(), 2u);
  EXPECT_EQ(vector.number<int64_t>(1), 1LL << 40);
  EXPECT_EQ(table.number<int32_t>(4, -5), -5);  // not set
  EXPECT_EQ(table.vector(5, 4).table(1).number<double>(1), 2.5);
  EXPECT_EQ(flat_number<int32_t>(table.structure(6, sizeof(pair)).subspan(4)), 8);
  EXPECT_EQ(table.number<uint8_t>(7), 1);
  EXPECT_EQ(std::memcmp(file.data() + 4, "TEST", 4), 0);
}

TEST(FlatBuilder, EverythingLiesAtMultiplesOfItsSize) {
  for (size_t length = 0; length < 70; ++length) {
    FlatBuilder builder;
    const std::vector<std::byte> bytes(length, std::byte{1});
    const auto text = builder.text(std::string(length % 7, 'x'));
    const auto data = builder.vector(bytes, 1, 64);
    const auto wide = builder.numbers(std::vector<double>{1.5});
    const auto root = builder.table(Table()
                                        .number(0, uint8_t{1})
                                        .number(1, int64_t{2})
                                        .offset(2, data)
                                        .offset(3, wide)
                                        .offset(4, text));
    const FlatBytes file = builder.finish(root, "TEST");
    const FlatTable table = FlatTable::root(file);
    const auto place = [&](FlatBytes part) { return part.data() - file.data(); };
    EXPECT_EQ(table.vector(2, 1).size(), length);
    EXPECT_EQ(place(table.vector(2, 1).bytes()) % 64, 0) << length;
    EXPECT_EQ(place(table.vector(3, 8).bytes()) % 8, 0) << length;
    EXPECT_EQ(table.number<int64_t>(1), 2);
    EXPECT_EQ(table.text(4).size(), length % 7);
  }
}

TEST(FlatBuilder, EqualTextsAndLayoutsAreWrittenOnce) {
  const auto size_of = [](int copies) {
    FlatBuilder builder;
    std::vector<FlatBuilder::Offset> tables;
    for (int i = 0; i < copies; ++i) {
      tables.push_back(
          builder.table(Table().offset(0, builder.text("a rather long text")).number(1, i)));
    }
    return builder.finish(builder.table(Table().offset(0, builder.offsets(tables))), "TEST").size();
  };
  constexpr size_t kTable = 12, kOffset = 4;
  EXPECT_EQ(size_of(12) - size_of(2), 10 * (kTable + kOffset));
}

}  // namespace
}  // namespace torchlet::lite
