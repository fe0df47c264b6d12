#include "tensor/derived_storage.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "tensor/meta.h"

namespace torchlet {
namespace {

Tensor numbers(int64_t count) {
  const Tensor tensor = zeros(std::vector<int64_t>{count}, DType::kFloat32);
  for (int64_t i = 0; i < count; ++i) tensor.data_ptr<float>()[i] = static_cast<float>(i);
  return tensor;
}

Tensor doubled(const Tensor& source, std::atomic<int>* times = nullptr) {
  return derived_tensor(source, [times](const Tensor& from, int64_t, std::byte* to) {
    if (times) ++*times;
    auto* floats = reinterpret_cast<float*>(to);
    for (int64_t i = 0; i < from.numel(); ++i) floats[i] = 2 * from.data_ptr<float>()[i];
  });
}

const Storage& storage_of(const Tensor& tensor) { return *tensor.impl()->storage; }

TEST(DerivedStorage, IsMadeOnceWhenSomebodyAsks) {
  std::atomic<int> times = 0;
  const Tensor tensor = doubled(numbers(5), &times);
  EXPECT_FALSE(is_meta(tensor));
  EXPECT_FALSE(storage_of(tensor).has_memory());
  EXPECT_EQ(tensor.sizes()[0], 5);
  const Tensor part = make_tensor(tensor.impl()->storage, DType::kFloat32, std::vector<int64_t>{2},
                                  std::vector<int64_t>{2}, 1);
  EXPECT_EQ(part.data_ptr<float>()[2], 6);
  EXPECT_EQ(tensor.data_ptr<float>()[4], 8);
  tensor.data_ptr<float>()[4] = 1;  // its own from now on
  EXPECT_EQ(tensor.clone().data_ptr<float>()[4], 1);
  EXPECT_EQ(in_passing(tensor).data_ptr<float>(), tensor.data_ptr<float>());
  EXPECT_EQ(times, 1);
}

TEST(DerivedStorage, InPassingItStaysWithoutMemory) {
  const Tensor source = doubled(numbers(3)), tensor = doubled(source);
  const Tensor all = in_passing(tensor);
  EXPECT_EQ(all.data_ptr<float>()[2], 8);
  EXPECT_FALSE(storage_of(tensor).has_memory());
  EXPECT_FALSE(storage_of(source).has_memory());
  const Tensor plain = numbers(3);
  EXPECT_EQ(in_passing(plain).impl(), plain.impl());
  EXPECT_FALSE(in_passing(Tensor()).defined());
  EXPECT_EQ(in_passing(7), 7);
}

TEST(DerivedStorage, AScopeKeepsTheLargestBlockForTheNext) {
  constexpr int64_t kMany = 50000;
  const Tensor small = doubled(numbers(10)), large = doubled(numbers(kMany));
  const PassingScope scope;
  in_passing(small);
  const void* kept = in_passing(large).raw_data();
  {
    const Tensor first = in_passing(small);
    EXPECT_EQ(first.raw_data(), kept);
    const Tensor second = in_passing(large);  // while the first has the block
    EXPECT_NE(second.raw_data(), kept);
    EXPECT_EQ(first.data_ptr<float>()[9], 18);
    EXPECT_EQ(second.data_ptr<float>()[kMany - 1], 2.0f * (kMany - 1));
  }
  const Tensor held = in_passing(large);
  {
    const PassingScope inner;  // has blocks of its own
    const void* its = in_passing(large).raw_data();
    EXPECT_NE(its, held.raw_data());
    EXPECT_EQ(in_passing(small).raw_data(), its);
  }
  EXPECT_EQ(held.data_ptr<float>()[1], 2);
}

// Counts how often its memory was given back.
class Counted : public Storage {
 public:
  using Storage::Storage;
  void give_back(size_t offset, size_t nbytes) override {
    EXPECT_EQ(offset, 0u);
    EXPECT_EQ(nbytes, this->nbytes());
    ++times;
  }
  int times = 0;
};

TEST(DerivedStorage, GivesItsSourceBackOnceThatIsRead) {
  const Ref<Counted> storage = make_ref<Counted>(size_t{12});
  const Tensor source =
      make_tensor(storage, DType::kFloat32, std::vector<int64_t>{3}, std::vector<int64_t>{1}, 0);
  const Tensor tensor = doubled(doubled(source));
  EXPECT_EQ(storage->times, 0);
  in_passing(tensor);
  EXPECT_EQ(storage->times, 1);
  tensor.data_ptr<float>();
  EXPECT_EQ(storage->times, 2);
  give_back(tensor);
  EXPECT_EQ(storage->times, 2);
}

// Row r of `source` times r + 1.
Tensor weighted(const Tensor& source, int* rows_made) {
  return derived_tensor(source, [=](const Tensor& rows, int64_t first, std::byte* to) {
    *rows_made += static_cast<int>(rows.size(0));
    const Tensor dense = rows.contiguous();
    const int64_t width = dense.numel() / dense.size(0);
    auto* floats = reinterpret_cast<float*>(to);
    for (int64_t i = 0; i < dense.numel(); ++i) {
      floats[i] = dense.data_ptr<float>()[i] * static_cast<float>(first + i / width + 1);
    }
  });
}

Tensor viewed(const Tensor& tensor, IntSpan sizes, IntSpan strides) {
  return make_tensor(tensor.impl()->storage, DType::kFloat32, sizes, strides, 0);
}

constexpr int64_t kRows = 7, kWidth = 3;
const IntArray kMatrix{kRows, kWidth}, kMatrixStrides{kWidth, 1};

TEST(RowReader, MakesTheRowsThatAreReadOfThoseOfTheSource) {
  int made = 0, made_of_source = 0;
  const Tensor source =
      weighted(viewed(numbers(kRows * kWidth), kMatrix, kMatrixStrides), &made_of_source);
  const Tensor tensor = weighted(source, &made);
  const Tensor image = viewed(tensor, IntArray{kRows, kWidth, 1}, IntArray{kWidth, 1, 1});
  for (const Tensor& whole : {tensor, image}) {
    made = made_of_source = 0;
    RowReader reader(whole);
    for (const auto& [first, end] : {std::pair<int64_t, int64_t>{0, 2}, {2, 3}, {3, kRows}}) {
      const Tensor rows = reader.rows(first, end);
      ASSERT_EQ(rows.dim(), whole.dim());
      EXPECT_EQ(rows.size(0), end - first);
      EXPECT_EQ(rows.size(1), kWidth);
      EXPECT_EQ(made, end);
      EXPECT_EQ(made_of_source, end);
      for (int64_t i = 0; i < rows.numel(); ++i) {
        const int64_t number = first * kWidth + i, row = number / kWidth + 1;
        EXPECT_EQ(rows.data_ptr<float>()[i], static_cast<float>(number * row * row));
      }
    }
  }
  EXPECT_FALSE(storage_of(tensor).has_memory());
  EXPECT_FALSE(storage_of(source).has_memory());
}

TEST(RowReader, ReadsAsAWholeWhatHasOtherRows) {
  int made = 0;
  const Tensor tensor = weighted(viewed(numbers(kRows * kWidth), kMatrix, kMatrixStrides), &made);
  const Tensor columns = viewed(tensor, IntArray{kWidth, kRows}, IntArray{1, kWidth});
  {
    RowReader reader(columns);
    EXPECT_EQ(reader.rows(0, 1).contiguous().data_ptr<float>()[6], 18 * 7);
    EXPECT_EQ(reader.rows(1, kWidth).contiguous().data_ptr<float>()[kRows + 5], 17 * 6);
  }
  EXPECT_EQ(made, kRows);
  EXPECT_FALSE(storage_of(tensor).has_memory());
  EXPECT_EQ(tensor.data_ptr<float>()[4], 8);  // its own from now on
  RowReader reader(tensor);
  EXPECT_EQ(reader.rows(1, 2).data_ptr<float>(), tensor.data_ptr<float>() + kWidth);
  EXPECT_EQ(made, 2 * kRows);
}

TEST(RowReader, OfNoRows) {
  RowReader reader(zeros(std::vector<int64_t>{0, 3}, DType::kFloat32));
  EXPECT_EQ(reader.rows(0, 0).numel(), 0);
}

// Tells what of its memory was given back.
class Told : public Storage {
 public:
  using Storage::Storage;
  void give_back(size_t offset, size_t nbytes) override { windows.emplace_back(offset, nbytes); }
  std::vector<std::pair<size_t, size_t>> windows;
};

TEST(RowReader, GivesBackTheRowsThatWereRead) {
  constexpr size_t kRowBytes = size_t{1} << 20;
  constexpr int64_t kFloats = kRowBytes / sizeof(float);
  const Ref<Told> storage = make_ref<Told>(8 * kRowBytes);
  const Tensor source =
      make_tensor(storage, DType::kFloat32, IntArray{8, kFloats}, IntArray{kFloats, 1}, 0);
  int made = 0;
  for (const Tensor& tensor : {source, weighted(source, &made)}) {
    storage->windows.clear();
    {
      RowReader reader(tensor);
      reader.rows(1, 2);
      reader.rows(2, 4);
      EXPECT_TRUE(storage->windows.empty());
      reader.rows(4, 6);
      reader.rows(2, 3);  // begins anew
    }
    using Windows = std::vector<std::pair<size_t, size_t>>;
    EXPECT_EQ(storage->windows, (Windows{{kRowBytes, 3 * kRowBytes}, {2 * kRowBytes, kRowBytes}}));
  }
  // Columns have no windows of their own.
  storage->windows.clear();
  {
    RowReader reader(
        make_tensor(storage, DType::kFloat32, IntArray{kFloats, 8}, IntArray{1, kFloats}, 0));
    reader.rows(0, kFloats - 1);
    reader.rows(kFloats - 1, kFloats);
    EXPECT_TRUE(storage->windows.empty());
  }
  ASSERT_EQ(storage->windows.size(), 1U);
  EXPECT_EQ(storage->windows[0], std::pair(size_t{0}, 8 * kRowBytes));
}

TEST(DerivedStorage, IsRealWhereTensorsAreMadeWithoutMemory) {
  const Tensor tensor = doubled(numbers(3));
  const MetaScope scope;
  EXPECT_EQ(tensor.data_ptr<float>()[2], 4);
  EXPECT_FALSE(is_meta(tensor));
}

TEST(DerivedStorage, MayBeAskedByManyThreads) {
  std::atomic<int> times = 0;
  const Tensor tensor = doubled(numbers(1000), &times);
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] { right += tensor.data_ptr<float>()[999] == 1998; });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 4);
  EXPECT_EQ(times, 1);
}

TEST(ContentHash, OfTensorsTellsWhatIsReadAndHow) {
  const Tensor a = numbers(6), same = numbers(6), other = numbers(6);
  other.data_ptr<float>()[5] += 1;
  EXPECT_EQ(content_hash(a), content_hash(same));
  EXPECT_NE(content_hash(a), content_hash(other));
  EXPECT_NE(content_hash(a), content_hash(numbers(5)));
  EXPECT_NE(content_hash(a), content_hash(a.to(DType::kInt32)));
  EXPECT_NE(content_hash(Tensor()), content_hash(numbers(0)));
}

TEST(ContentHash, OfADerivedTensorTakesItsDerivationForItsElements) {
  const auto write = [](const Tensor&, int64_t, std::byte* to) { std::memset(to, 1, 8); };
  const Tensor source = numbers(2), tensor = derived_tensor(source, write, 7);
  EXPECT_EQ(content_hash(tensor), content_hash(derived_tensor(numbers(2), write, 7)));
  EXPECT_NE(content_hash(tensor), content_hash(derived_tensor(numbers(2), write, 8)));
  EXPECT_FALSE(storage_of(tensor).has_memory());
  // Once it has memory of its own, somebody may have written there.
  const uint64_t derived = content_hash(tensor);
  tensor.data_ptr<float>()[1] = 5;
  EXPECT_NE(content_hash(tensor), derived);
  const Tensor nameless = derived_tensor(source, write);
  EXPECT_EQ(content_hash(nameless), content_hash(derived_tensor(numbers(2), write)));
  EXPECT_FALSE(storage_of(nameless).has_memory());
}

TEST(DerivedStorage, AnErrorLeavesItUnmade) {
  bool fails = true;
  const Tensor tensor = derived_tensor(numbers(2), [&](const Tensor&, int64_t, std::byte* to) {
    if (fails) fail(ErrorCode::kRuntime, "not now");
    std::memset(to, 0, 8);
  });
  EXPECT_THROW(tensor.raw_data(), Error);
  EXPECT_FALSE(storage_of(tensor).has_memory());
  fails = false;
  EXPECT_EQ(tensor.data_ptr<float>()[1], 0);
}

}  // namespace
}  // namespace torchlet
