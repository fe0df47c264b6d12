#include "prepare/compare/align.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_set>

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

// Programs compute what does not depend on each other in any order. So of a pair whose nodes read
// what others compute, the node of b is given a node of a that reads the same, if there is one; and
// then those that are still alone.
class Rewiring {
 public:
  Rewiring(std::span<const ObservedNode> a, std::span<const ObservedNode> b, const Pairs& pairs)
      : a_(a), b_(b), of_a_(a.size(), kAlone), of_b_(b.size(), kAlone) {
    for (const auto& [i, j] : pairs) join(i, j);
  }

  Pairs run() {
    // What is joined tells more of what others read.
    constexpr int kMostRounds = 4;
    for (int round = 0; round < kMostRounds; ++round) {
      const bool joined = join_alone();
      if (!change_partners() && !joined) break;
    }
    Pairs pairs;
    for (size_t i = 0; i < a_.size(); ++i) {
      if (of_a_[i] != kAlone) pairs.emplace_back(i, of_a_[i]);
    }
    return pairs;
  }

 private:
  using Sources = std::set<size_t>;  // indices in b

  void join(size_t i, size_t j) {
    of_a_[i] = j;
    of_b_[j] = i;
  }

  // The paired nodes nearest before node `i`.
  static std::vector<size_t> paired_before(std::span<const ObservedNode> nodes,
                                           const std::vector<size_t>& partners, size_t i) {
    std::vector<size_t> found, open = nodes[i].inputs;
    std::unordered_set<size_t> seen;
    while (!open.empty()) {
      const size_t at = open.back();
      open.pop_back();
      if (!seen.insert(at).second) continue;
      if (partners[at] != kAlone) {
        found.push_back(at);
      } else {
        open.insert(open.end(), nodes[at].inputs.begin(), nodes[at].inputs.end());
      }
    }
    return found;
  }
  Sources sources_of_a(size_t i) const {
    Sources sources;
    for (const size_t before : paired_before(a_, of_a_, i)) sources.insert(of_a_[before]);
    return sources;
  }
  Sources sources_of_b(size_t j) const {
    const std::vector<size_t> before = paired_before(b_, of_b_, j);
    return {before.begin(), before.end()};
  }

  bool reads_the_same(size_t i, size_t j) const { return sources_of_a(i) == sources_of_b(j); }

  bool join_alone() {
    bool changed = false;
    for (size_t j = 0; j < b_.size(); ++j) {
      if (of_b_[j] != kAlone) continue;
      const size_t i = reader_like(j);
      if (i == kAlone || of_a_[i] != kAlone) continue;
      join(i, j);
      changed = true;
    }
    return changed;
  }

  bool change_partners() {
    bool changed = false;
    for (size_t i = 0; i < a_.size(); ++i) {
      const size_t j = of_a_[i];
      if (j == kAlone || reads_the_same(i, j)) continue;
      const size_t better = reader_like(j);
      if (better == kAlone) continue;
      const size_t left = of_a_[better];  // who had that
      of_a_[i] = kAlone;
      join(better, j);
      if (left != kAlone) of_b_[left] = kAlone;
      if (left != kAlone && score(a_[i], b_[left]) > 0) join(i, left);
      changed = true;
    }
    return changed;
  }

  // A node of a that may be a pair with node `j` of b and reads what that reads, and is alone or
  // has a partner who reads something else; the one that has most in common with it.
  size_t reader_like(size_t j) const {
    const Sources sources = sources_of_b(j);
    size_t best = kAlone;
    int most = 0;
    for (size_t i = 0; i < a_.size(); ++i) {
      const int common = score(a_[i], b_[j]);
      if (common <= most || sources_of_a(i) != sources) continue;
      if (of_a_[i] != kAlone && (of_a_[i] == j || reads_the_same(i, of_a_[i]))) continue;
      most = common;
      best = i;
    }
    return best;
  }

  std::span<const ObservedNode> a_, b_;
  std::vector<size_t> of_a_, of_b_;  // the partner of each node
};

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
  constexpr size_t kMostCells = 25'000'000, kMostToRewire = 4'000'000;
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
  if (a.size() * b.size() <= kMostToRewire) pairs = Rewiring(a, b, pairs).run();
  return with_steps(a, b, pairs);
}

}  // namespace torchlet::prepare
