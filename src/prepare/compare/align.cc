#include "prepare/compare/align.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

namespace torchlet::prepare {
namespace {

using Pairs = std::vector<std::pair<size_t, size_t>>;
constexpr size_t kAlone = static_cast<size_t>(-1);

// "conv" of "quantized::conv2d_relu.new" and "aten::_convolution_..", "batch" of "batch_norm": what
// kind of work it is, whichever form.
std::string_view family(std::string_view op) {
  if (const size_t colon = op.find("::"); colon != op.npos) op.remove_prefix(colon + 2);
  while (op.starts_with('_')) op.remove_prefix(1);
  return op.substr(0, op.find_first_of("_.,0123456789"));
}

bool same_family(const ObservedNode& a, const ObservedNode& b) {
  const std::string_view x = family(a.op), y = family(b.op);
  return !x.empty() && !y.empty() && (x.starts_with(y) || y.starts_with(x));
}

// How much two nodes have in common; 0 if they are no pair.
int score(const ObservedNode& a, const ObservedNode& b) {
  if (a.sizes != b.sizes) return 0;
  const int operators = a.op == b.op ? 4 : same_family(a, b) ? 3 : 0;
  const int path = !a.module_path.empty() && a.module_path == b.module_path ? 3 : 0;
  const int place = !a.place.empty() && a.place == b.place ? 2 : 0;
  return operators + path + place;
}

bool is_same(const ObservedNode& a, const ObservedNode& b) {
  return a.op == b.op && a.sizes == b.sizes && a.module_path == b.module_path && a.place == b.place;
}

// The best alignment of the ranges [a0, a1) and [b0, b1).
void align_best(std::span<const ObservedNode> a, std::span<const ObservedNode> b, size_t a0,
                size_t a1, size_t b0, size_t b1, Pairs& pairs) {
  const size_t rows = a1 - a0, columns = b1 - b0;
  // best[i][j]: of what begins with the i-th and the j-th.
  std::vector<int> best((rows + 1) * (columns + 1), 0);
  const auto at = [&](size_t i, size_t j) -> int& { return best[i * (columns + 1) + j]; };
  for (size_t i = rows; i-- > 0;) {
    for (size_t j = columns; j-- > 0;) {
      at(i, j) = std::max(at(i + 1, j), at(i, j + 1));
      if (const int common = score(a[a0 + i], b[b0 + j])) {
        at(i, j) = std::max(at(i, j), common + at(i + 1, j + 1));
      }
    }
  }
  for (size_t i = 0, j = 0; i < rows && j < columns;) {
    const int common = score(a[a0 + i], b[b0 + j]);
    if (common && at(i, j) == common + at(i + 1, j + 1)) {
      pairs.emplace_back(a0 + i++, b0 + j++);
    } else if (at(i, j) == at(i + 1, j)) {
      ++i;
    } else {
      ++j;
    }
  }
}

// Those that have everything in common, in order.
void align_same(std::span<const ObservedNode> a, std::span<const ObservedNode> b, size_t a0,
                size_t a1, size_t b0, size_t b1, Pairs& pairs) {
  using Key = std::tuple<std::string_view, std::string_view, std::string_view>;
  std::map<Key, std::vector<size_t>> places;  // in b, the first last
  for (size_t j = b1; j-- > b0;) places[{b[j].op, b[j].module_path, b[j].place}].push_back(j);
  size_t next = b0;
  for (size_t i = a0; i < a1; ++i) {
    auto& open = places[{a[i].op, a[i].module_path, a[i].place}];
    while (!open.empty() && open.back() < next) open.pop_back();
    if (open.empty() || a[i].sizes != b[open.back()].sizes) continue;
    next = open.back() + 1;
    pairs.emplace_back(i, open.back());
    open.pop_back();
  }
}

// The one node that reads each node, or kAlone.
std::vector<size_t> only_readers(std::span<const ObservedNode> nodes) {
  constexpr size_t kSeveral = kAlone - 1;
  std::vector<size_t> readers(nodes.size(), kAlone);
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (const size_t input : nodes[i].inputs) {
      readers[input] = readers[input] == kAlone ? i : kSeveral;
    }
  }
  std::ranges::replace(readers, kSeveral, kAlone);
  return readers;
}

// The steps that begin with a node.
class Steps {
 public:
  Steps(std::span<const ObservedNode> nodes, const std::vector<bool>& paired)
      : nodes_(nodes), paired_(paired), readers_(only_readers(nodes)) {}

  // `first`, and what alone goes on with what the one before gives, if it has no pair and gives the
  // same sizes.
  std::vector<size_t> from(size_t first) const {
    constexpr size_t kMost = 5;
    std::vector<size_t> steps = {first};
    while (steps.size() < kMost) {
      const size_t reader = readers_[steps.back()];
      if (reader == kAlone || paired_[reader] || nodes_[reader].sizes != nodes_[first].sizes) break;
      steps.push_back(reader);
    }
    return steps;
  }

 private:
  std::span<const ObservedNode> nodes_;
  const std::vector<bool>& paired_;
  std::vector<size_t> readers_;
};

std::vector<Match> with_steps(std::span<const ObservedNode> a, std::span<const ObservedNode> b,
                              const Pairs& pairs) {
  std::vector<bool> paired_a(a.size()), paired_b(b.size());
  for (const auto& [i, j] : pairs) paired_a[i] = paired_b[j] = true;
  const Steps steps_a(a, paired_a), steps_b(b, paired_b);
  std::vector<Match> matches;
  for (const auto& [i, j] : pairs) {
    Match match{steps_a.from(i), steps_b.from(j)};
    if (match.a.size() > 1 && match.b.size() > 1) match = {{i}, {j}};
    matches.push_back(std::move(match));
  }
  return matches;
}

}  // namespace

std::vector<Match> align(std::span<const ObservedNode> a, std::span<const ObservedNode> b) {
  constexpr size_t kMostCells = 25'000'000;
  Pairs pairs;
  size_t begin = 0, a_end = a.size(), b_end = b.size();
  while (begin < std::min(a_end, b_end) && is_same(a[begin], b[begin])) {
    pairs.emplace_back(begin, begin);
    ++begin;
  }
  Pairs tail;
  while (a_end > begin && b_end > begin && is_same(a[a_end - 1], b[b_end - 1])) {
    tail.emplace_back(--a_end, --b_end);
  }
  const bool is_long = (a_end - begin + 1) > kMostCells / (b_end - begin + 1);
  (is_long ? align_same : align_best)(a, b, begin, a_end, begin, b_end, pairs);
  pairs.insert(pairs.end(), tail.rbegin(), tail.rend());
  return with_steps(a, b, pairs);
}

}  // namespace torchlet::prepare
