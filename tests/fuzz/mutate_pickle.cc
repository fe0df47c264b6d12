#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "tests/fuzz/mutate.h"

namespace torchlet::fuzz {
namespace {

// How many bytes of operand follow an opcode: `fixed`, and as many more as the number in these
// says, or up to the end of `lines` lines.
struct Operand {
  size_t fixed = 0;
  bool counted = false;
  int lines = 0;
};

Operand operand_of(char opcode) {
  switch (opcode) {
    case 'K':
    case 'h':
    case 'q':
    case '\x80':
      return {.fixed = 1};
    case 'M':
      return {.fixed = 2};
    case 'J':
    case 'j':
    case 'r':
      return {.fixed = 4};
    case 'G':
      return {.fixed = 8};
    case 'U':
    case 'C':
    case '\x8a':
    case '\x8c':
      return {.fixed = 1, .counted = true};
    case 'X':
    case 'T':
    case 'B':
    case '\x8b':
      return {.fixed = 4, .counted = true};
    case '\x8d':
      return {.fixed = 8, .counted = true};
    case 'c':
      return {.lines = 2};
    case 'F':
    case 'I':
    case 'L':
    case 'S':
    case 'V':
    case 'g':
    case 'p':
      return {.lines = 1};
    default:
      return {};
  }
}

size_t little_endian(std::string_view bytes) {
  size_t number = 0;
  for (size_t i = bytes.size(); i-- > 0;) number = number << 8 | static_cast<uint8_t>(bytes[i]);
  return number;
}

using Opcodes = std::vector<std::string>;  // each with its operand

Opcodes split(std::string_view pickle) {
  Opcodes opcodes;
  while (!pickle.empty()) {
    const Operand operand = operand_of(pickle[0]);
    size_t size = std::min(1 + operand.fixed, pickle.size());
    if (operand.counted) {
      size += std::min(little_endian(pickle.substr(1, size - 1)), pickle.size() - size);
    }
    for (int line = 0; line < operand.lines; ++line) {
      const size_t end = pickle.find('\n', size);
      size = end == std::string_view::npos ? pickle.size() : end + 1;
    }
    opcodes.emplace_back(pickle.substr(0, size));
    pickle.remove_prefix(size);
  }
  return opcodes;
}

std::string join(const Opcodes& opcodes) {
  std::string pickle;
  for (const std::string& opcode : opcodes) pickle += opcode;
  return pickle;
}

std::string counted_text(std::string_view text) {
  std::string opcode = "X";
  for (size_t shift = 0; shift < 32; shift += 8) {
    opcode += static_cast<char>(text.size() >> shift);
  }
  return opcode.append(text);
}

std::string interesting_number(Random& random) {
  static const std::string kNumbers[] = {
      std::string("K\0", 2),
      "K\x01",
      "K\x02",
      "K\xff",
      "J\xff\xff\xff\xff",
      "J\xff\xff\xff\x7f",
      std::string("J\0\0\0\x80", 5),
      std::string("J\0\0\1\0", 5),
      "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f",
      std::string("\x8a\x08\0\0\0\0\0\0\0\x80", 10),
      std::string("\x8a\x05\0\0\0\0\1", 7),
      std::string("G\x7f\xf8\0\0\0\0\0\0", 9),
      std::string("G\x7f\xf0\0\0\0\0\0\0", 9),
      "N",
      "\x88",
      "\x89",
      ")",
      "]",
      "}",
  };
  return random.of(kNumbers);
}

void mutate_operand(std::string& opcode, Random& random, MutateBytes& bytes) {
  constexpr size_t kLongest = 200;
  switch (opcode[0]) {
    case 'K':
    case 'M':
    case 'J':
    case 'G':
    case 'N':
    case '\x88':
    case '\x89':
    case '\x8a':
      opcode = interesting_number(random);
      return;
    case 'X': {
      std::string text = opcode.substr(std::min<size_t>(5, opcode.size()));
      bytes(text, std::max(kLongest, text.size()));
      opcode = counted_text(text);
      return;
    }
    default:
      bytes(opcode, std::max(kLongest, opcode.size()));
  }
}

}  // namespace

void mutate_pickle(std::string& pickle, Random& random, MutateBytes& bytes) {
  Opcodes opcodes = split(pickle);
  if (opcodes.empty() || random.one_in(20)) {
    bytes(pickle, pickle.size() + 64);
    return;
  }
  const auto place = [&] {
    return opcodes.begin() + static_cast<std::ptrdiff_t>(random.below(opcodes.size()));
  };
  const auto run_from = [&](Opcodes::iterator first) {
    const size_t left = static_cast<size_t>(opcodes.end() - first);
    return first + static_cast<std::ptrdiff_t>(std::min(left, 1 + random.below(6)));
  };
  const auto at = place();
  switch (random.below(8)) {
    case 0:
      opcodes.erase(at, run_from(at));
      break;
    case 1: {
      const Opcodes run(at, run_from(at));
      opcodes.insert(place(), run.begin(), run.end());
      break;
    }
    case 2:
      std::swap(*at, *place());
      break;
    case 3:
      *at = *place();
      break;
    case 4: {  // an operand of the same kind from elsewhere
      Opcodes alike;
      std::ranges::copy_if(opcodes, std::back_inserter(alike),
                           [&](const std::string& other) { return other[0] == (*at)[0]; });
      *at = random.of(alike);
      break;
    }
    default:
      mutate_operand(*at, random, bytes);
  }
  pickle = join(opcodes);
}

void cross_pickles(std::string& pickle, const std::string& from, Random& random) {
  Opcodes opcodes = split(pickle);
  const Opcodes other = split(from);
  const size_t first = random.below(other.size());
  const size_t count = std::min(other.size() - first, 1 + random.below(30));
  const auto begin = other.begin() + static_cast<std::ptrdiff_t>(first);
  opcodes.insert(opcodes.begin() + static_cast<std::ptrdiff_t>(random.below(opcodes.size())), begin,
                 begin + static_cast<std::ptrdiff_t>(count));
  pickle = join(opcodes);
}

}  // namespace torchlet::fuzz
