#include <algorithm>
#include <cctype>
#include <iterator>
#include <vector>

#include "graph/operator.h"
#include "tests/fuzz/mutate.h"

namespace torchlet::fuzz {
namespace {

using Pieces = std::vector<std::string>;

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
bool is_number(const std::string& token) {
  return std::isdigit(static_cast<unsigned char>(token[0]));
}
// What may stand for each other: names, numbers, strings, single signs, space.
int kind_of(const std::string& token) {
  if (is_number(token)) return 0;
  if (is_word(token[0])) return 1;
  if (token[0] == '"') return 2;
  return std::isspace(static_cast<unsigned char>(token[0])) ? 3 : 4;
}

Pieces tokens_of(const std::string& source) {
  Pieces tokens;
  for (size_t at = 0; at < source.size();) {
    size_t end = at + 1;
    const char first = source[at];
    if (is_word(first)) {
      while (end < source.size() &&
             (is_word(source[end]) ||
              (source[end] == '.' && std::isdigit(static_cast<unsigned char>(first)))))
        ++end;
    } else if (first == '"') {
      end = std::min(source.find('"', end), source.size() - 1) + 1;
    } else if (first == '\n' || first == ' ') {
      while (end < source.size() && source[end] == ' ') ++end;
    }
    tokens.push_back(source.substr(at, end - at));
    at = end;
  }
  return tokens;
}

Pieces lines_of(const std::string& source) {
  Pieces lines;
  for (size_t at = 0; at < source.size();) {
    const size_t end = std::min(source.find('\n', at), source.size() - 1) + 1;
    lines.push_back(source.substr(at, end - at));
    at = end;
  }
  return lines;
}

std::string join(const Pieces& pieces) {
  std::string source;
  for (const std::string& piece : pieces) source += piece;
  return source;
}

Pieces::iterator place_in(Pieces& pieces, Random& random) {
  return pieces.begin() + static_cast<std::ptrdiff_t>(random.below(pieces.size()));
}

std::string interesting_number(Random& random) {
  static const char* const kNumbers[] = {"0",
                                         "1",
                                         "2",
                                         "3",
                                         "-1",
                                         "-2",
                                         "7",
                                         "64",
                                         "255",
                                         "65536",
                                         "2147483648",
                                         "1000000007",
                                         "4611686018427387904",
                                         "9223372036854775807",
                                         "-9223372036854775808",
                                         "0.",
                                         "-0.5",
                                         "1e-300",
                                         "1e300",
                                         "inf",
                                         "nan"};
  return random.of(kNumbers);
}

// The name of an operator as the source calls it: "torch.relu", "ops.quantized.add".
std::string operator_name(Random& random) {
  static const std::vector<const Operator*> operators = all_operators();
  std::string name(random.of(operators)->name.str());
  const size_t colons = name.find("::");
  const std::string space = name.substr(0, colons);
  return (space == "aten" ? "torch." : "ops." + space + ".") + name.substr(colons + 2);
}

std::string snippet(Random& random) {
  static const char* const kSnippets[] = {"None",
                                          "True",
                                          "self",
                                          "x",
                                          "Tensor",
                                          "int",
                                          "List[int]",
                                          "List[Tensor]",
                                          "Optional[Tensor]",
                                          "Dict[str, Tensor]",
                                          "Tuple[Tensor, Tensor]",
                                          "annotate(List[Tensor], [])",
                                          "unchecked_cast(Tensor, x)",
                                          "unchecked_cast(List[int], x)",
                                          "uninitialized(Tensor)",
                                          "[x, x]",
                                          "(x, x)",
                                          "{\"a\": x}",
                                          "[]",
                                          "x[0]",
                                          "x[-1]",
                                          "x[:, 1:]",
                                          "x.shape",
                                          "x.dtype",
                                          "torch.size(x)",
                                          "torch.len(x)",
                                          "fork(self.forward, x)",
                                          "isinstance(x, int)",
                                          "torch.tensor(2)",
                                          "torch.zeros([2, 3])",
                                          "torch.rand([0])",
                                          "CONSTANTS.c0",
                                          "-1",
                                          "1.5",
                                          "\"text\""};
  return random.of(kSnippets);
}

// Where the bracket that opens at `open` closes, or the last token.
size_t closing(const Pieces& tokens, size_t open) {
  int depth = 0;
  for (size_t i = open; i < tokens.size(); ++i) {
    const char c = tokens[i][0];
    depth += (c == '(' || c == '[' || c == '{') - (c == ')' || c == ']' || c == '}');
    if (depth <= 0) return i;
  }
  return tokens.size() - 1;
}

// Replaces what stands in one bracket by what stands in another one.
void exchange_arguments(Pieces& tokens, Random& random) {
  std::vector<size_t> opens;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] == "(" || tokens[i] == "[") opens.push_back(i);
  }
  if (opens.empty()) return;
  const auto at = [&](size_t i) { return tokens.begin() + static_cast<std::ptrdiff_t>(i); };
  const size_t from = random.of(opens), to = random.of(opens);
  const Pieces inner(at(from), at(closing(tokens, from)) + 1);
  tokens.erase(at(to), at(closing(tokens, to)) + 1);
  tokens.insert(at(to), inner.begin(), inner.end());
}

// Calls another operator: the word behind "torch." or an "ops.space.".
void exchange_operator(Pieces& tokens, Random& random) {
  std::vector<size_t> calls;
  for (size_t i = 0; i + 2 < tokens.size(); ++i) {
    if (tokens[i] == "torch" && tokens[i + 1] == ".") calls.push_back(i);
  }
  if (calls.empty()) return;
  const auto at = tokens.begin() + static_cast<std::ptrdiff_t>(random.of(calls));
  tokens.erase(at, at + 2);
  *at = operator_name(random);
}

void mutate_tokens(Pieces& tokens, Random& random, MutateBytes& bytes) {
  const auto at = place_in(tokens, random);
  switch (random.below(9)) {
    case 0:
      tokens.erase(at);
      return;
    case 1:
      tokens.insert(at, snippet(random));
      return;
    case 2:
      *at = snippet(random);
      return;
    case 3:
      return exchange_arguments(tokens, random);
    case 4:
    case 5:
      return exchange_operator(tokens, random);
    case 6: {
      std::vector<size_t> numbers;
      for (size_t i = 0; i < tokens.size(); ++i) {
        if (is_number(tokens[i])) numbers.push_back(i);
      }
      if (!numbers.empty()) tokens[random.of(numbers)] = interesting_number(random);
      return;
    }
    case 7:
      bytes(*at, at->size() + 16);
      return;
    default: {  // another token of the same kind
      Pieces alike;
      std::ranges::copy_if(tokens, std::back_inserter(alike), [&](const std::string& other) {
        return kind_of(other) == kind_of(*at);
      });
      *at = random.of(alike);
    }
  }
}

void mutate_lines(Pieces& lines, Random& random) {
  const auto at = place_in(lines, random);
  switch (random.below(4)) {
    case 0:
      lines.erase(at);
      return;
    case 1:
      std::swap(*at, *place_in(lines, random));
      return;
    case 2: {  // some lines once more, so that blocks nest
      const auto left = static_cast<size_t>(lines.end() - at);
      const Pieces run(at, at + static_cast<std::ptrdiff_t>(std::min(left, 1 + random.below(5))));
      lines.insert(place_in(lines, random), run.begin(), run.end());
      return;
    }
    default:
      at->insert(0, random.one_in(2) ? "  " : "    ");
  }
}

}  // namespace

void mutate_source(std::string& source, Random& random, MutateBytes& bytes) {
  if (source.empty() || random.one_in(30)) {
    bytes(source, source.size() + 64);
  } else if (random.one_in(5)) {
    Pieces lines = lines_of(source);
    mutate_lines(lines, random);
    source = join(lines);
  } else {
    Pieces tokens = tokens_of(source);
    mutate_tokens(tokens, random, bytes);
    source = join(tokens);
  }
}

void cross_sources(std::string& source, const std::string& from, Random& random) {
  Pieces lines = lines_of(source);
  const Pieces other = lines_of(from);
  const size_t first = random.below(other.size());
  const size_t count = std::min(other.size() - first, 1 + random.below(4));
  const auto begin = other.begin() + static_cast<std::ptrdiff_t>(first);
  lines.insert(place_in(lines, random), begin, begin + static_cast<std::ptrdiff_t>(count));
  source = join(lines);
}

}  // namespace torchlet::fuzz
