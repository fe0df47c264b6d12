#include <torchlet/compare.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "prepare/compare/align.h"
#include "prepare/compare/difference.h"
#include "prepare/compare/observe.h"

namespace torchlet {
namespace {

using prepare::Match;
using prepare::ObservedMethod;
using prepare::ObservedNode;

// Runs `body`, whose errors then tell which model they are of.
template <typename Body>
auto of_model(const char* which, const Body& body) {
  try {
    return body();
  } catch (Error& error) {
    error.add_context(which);
    throw;
  }
}
constexpr char kFirst[] = "in the first model", kSecond[] = "in the second model";

// What is known of a match: how far its nodes are from each other.
struct Measured {
  // Of each node of a with the only one of b, or the other way round.
  std::vector<Difference> differences;
  std::vector<size_t> times;

  // Which of the nodes fit best, and the first of those.
  size_t best() const {
    const auto by_sqnr = [](const Difference& x, const Difference& y) { return x.sqnr < y.sqnr; };
    return static_cast<size_t>(std::ranges::max_element(differences, by_sqnr) -
                               differences.begin());
  }
};

class Comparer {
 public:
  Comparer(const Module& a, const Module& b, const std::vector<Value>& inputs,
           const CompareOptions& options)
      : inputs_(inputs),
        options_(options),
        a_(of_model(kFirst,
                    [&] { return ObservedMethod(a, options.method, options.every_operator); })),
        b_(of_model(kSecond,
                    [&] { return ObservedMethod(b, options.method, options.every_operator); })) {}

  Comparison run() {
    const Value a = of_model(kFirst, [&] { return a_.survey(inputs_); });
    progress(0.2);
    const Value b = of_model(kSecond, [&] { return b_.survey(inputs_); });
    progress(0.4);
    result_.outputs = prepare::compare_outputs(a, b, options_);
    result_.within = std::ranges::all_of(result_.outputs, &ComparedOutput::within);
    matches_ = prepare::align(a_.nodes(), b_.nodes());
    measured_.resize(matches_.size());
    for (size_t begin = 0; begin < matches_.size();) {
      const size_t end = end_of_chunk(begin);
      measure_chunk(begin, end);
      begin = end;
      progress(0.4 + 0.6 * static_cast<double>(end) / static_cast<double>(matches_.size()));
    }
    tell();
    return std::move(result_);
  }

 private:
  void progress(double done) const {
    if (options_.progress) options_.progress(done);
  }

  size_t chunk_bytes() const { return options_.memory / 2; }

  // Of matches whose values of a can be held at once.
  size_t end_of_chunk(size_t begin) const {
    size_t bytes = 0, end = begin;
    for (; end < matches_.size(); ++end) {
      for (const size_t i : matches_[end].a) bytes += a_.nodes()[i].bytes;
      if (bytes > chunk_bytes() && end > begin) break;
    }
    return end;
  }

  void measure_chunk(size_t begin, size_t end) {
    std::vector<size_t> nodes_a, nodes_b;
    std::unordered_map<size_t, size_t> match_of_b;
    for (size_t m = begin; m < end; ++m) {
      const Match& match = matches_[m];
      nodes_a.insert(nodes_a.end(), match.a.begin(), match.a.end());
      nodes_b.insert(nodes_b.end(), match.b.begin(), match.b.end());
      for (const size_t j : match.b) match_of_b[j] = m;
      const size_t count = std::max(match.a.size(), match.b.size());
      measured_[m] = {std::vector<Difference>(count, {HUGE_VAL, 0, 0}), std::vector<size_t>(count)};
    }
    // A node may run more often than there is room for: then the first times are compared.
    std::unordered_map<size_t, std::vector<Tensor>> values;
    size_t bytes = 0;
    of_model(kFirst, [&] {
      a_.run(inputs_, nodes_a, [&](size_t node, const Tensor& tensor) {
        if (bytes > chunk_bytes() && !values[node].empty()) return;
        bytes += static_cast<size_t>(tensor.numel()) * element_size(tensor.dtype());
        values[node].push_back(tensor.clone());
      });
    });
    of_model(kSecond, [&] {
      b_.run(inputs_, nodes_b, [&](size_t node, const Tensor& tensor) {
        const size_t m = match_of_b.at(node);
        const Match& match = matches_[m];
        if (match.b.size() > 1) {
          const auto at = std::ranges::find(match.b, node) - match.b.begin();
          measure(measured_[m], static_cast<size_t>(at), values[match.a[0]], tensor);
        } else {
          for (size_t k = 0; k < match.a.size(); ++k) {
            measure(measured_[m], k, values[match.a[k]], tensor);
          }
        }
      });
    });
  }

  // `b` against the value of a of the same time; the worst of all times is kept.
  static void measure(Measured& measured, size_t which, const std::vector<Tensor>& a,
                      const Tensor& b) {
    size_t& times = measured.times[which];
    if (times >= a.size()) return;
    const Difference now = prepare::measure(a[times++], b);
    Difference& worst = measured.differences[which];
    if (times == 1 || now.sqnr < worst.sqnr) worst = now;
  }

  void tell() {
    struct Chosen {
      size_t a, b, times;
      Difference difference;
    };
    std::vector<Chosen> chosen;
    for (size_t m = 0; m < matches_.size(); ++m) {
      const size_t best = measured_[m].best();
      const Match& match = matches_[m];
      chosen.push_back({match.a[std::min(best, match.a.size() - 1)],
                        match.b[std::min(best, match.b.size() - 1)], measured_[m].times[best],
                        measured_[m].differences[best]});
    }
    std::ranges::sort(chosen, {}, &Chosen::a);
    place_of_a_.assign(a_.nodes().size(), kNone);
    std::vector<bool> seen_a(a_.nodes().size()), seen_b(b_.nodes().size());
    for (size_t k = 0; k < chosen.size(); ++k) {
      place_of_a_[chosen[k].a] = k;
      seen_a[chosen[k].a] = seen_b[chosen[k].b] = true;
    }
    for (const Chosen& c : chosen) {
      const ObservedNode &a = a_.nodes()[c.a], &b = b_.nodes()[c.b];
      const bool within = prepare::is_within(c.difference, options_);
      if (!within && !result_.first_divergence) result_.first_divergence = result_.nodes.size();
      result_.nodes.push_back({a.op, b.op, a.module_path, a.place, b.place, a.calls, a.tensor,
                               b.tensor, c.times, c.difference, within, inputs_of(c.a)});
    }
    result_.only_a = unmatched(a_.nodes(), seen_a);
    result_.only_b = unmatched(b_.nodes(), seen_b);
  }

  // The compared nodes nearest before node `i` of a.
  std::vector<size_t> inputs_of(size_t i) const {
    std::vector<size_t> inputs, open = a_.nodes()[i].inputs;
    std::unordered_set<size_t> seen;
    while (!open.empty()) {
      const size_t at = open.back();
      open.pop_back();
      if (!seen.insert(at).second) continue;
      if (place_of_a_[at] != kNone) {
        inputs.push_back(place_of_a_[at]);
      } else {
        const auto& before = a_.nodes()[at].inputs;
        open.insert(open.end(), before.begin(), before.end());
      }
    }
    std::ranges::sort(inputs);
    return inputs;
  }

  static std::vector<UnmatchedNode> unmatched(const std::vector<ObservedNode>& nodes,
                                              const std::vector<bool>& seen) {
    std::vector<UnmatchedNode> alone;
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (seen[i]) continue;
      alone.push_back({nodes[i].op, nodes[i].module_path, nodes[i].place, nodes[i].tensor});
    }
    return alone;
  }

  static constexpr size_t kNone = static_cast<size_t>(-1);
  const std::vector<Value>& inputs_;
  const CompareOptions& options_;
  ObservedMethod a_, b_;
  std::vector<Match> matches_;
  std::vector<Measured> measured_;  // of each in matches_
  std::vector<size_t> place_of_a_;  // in result_.nodes, or kNone
  Comparison result_;
};

}  // namespace

Comparison compare(const Module& a, const Module& b, const std::vector<Value>& inputs,
                   const CompareOptions& options) {
  return Comparer(a, b, inputs, options).run();
}

}  // namespace torchlet
