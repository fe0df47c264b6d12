// Python's str methods as TorchScript has them: on bytes, with ASCII rules (register_prim_ops.cpp
// and register_special_ops.cpp); `end=-1` stands for the end of the string.
#include <algorithm>
#include <cstdlib>

#include "base/limits.h"
#include "base/read_float.h"
#include "ops/core/op.h"

namespace torchlet::ops {
namespace {

using Text = const std::string&;

bool upper(char c) { return c >= 'A' && c <= 'Z'; }
bool lower(char c) { return c >= 'a' && c <= 'z'; }
bool alpha(char c) { return upper(c) || lower(c); }
bool digit(char c) { return c >= '0' && c <= '9'; }
bool space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
char to_upper(char c) { return lower(c) ? static_cast<char>(c - 32) : c; }
char to_lower(char c) { return upper(c) ? static_cast<char>(c + 32) : c; }

template <typename F>
std::string mapped(std::string text, F f) {
  std::transform(text.begin(), text.end(), text.begin(), f);
  return text;
}

template <typename F>
bool all_and_any(Text text, F f) {
  return !text.empty() && std::all_of(text.begin(), text.end(), f);
}

// Before a string is made that may be longer than what it is made of.
void require_text(int64_t count, size_t length) { require_memory(count, length, "parts of a str"); }

// Texts that a list is made of; they count as soon as they are made.
using Texts = std::vector<Value>;

Value strings(Texts parts) { return make_list(types::string(), std::move(parts)); }

// The first `part` in `text` from `at` on, or npos. Looking for what nearly fits everywhere takes
// the product of both lengths.
size_t find_from(Text text, Text part, size_t at) {
  if (part.empty()) return at <= text.size() ? at : std::string::npos;
  for (; (at = text.find(part[0], at)) != std::string::npos; ++at) {
    if (text.compare(at, part.size(), part) == 0) return at;
    poll();
  }
  return std::string::npos;
}

// The last one that begins at `at` or before.
size_t find_back(Text text, Text part, size_t at) {
  if (part.empty()) return std::min(at, text.size());
  for (; (at = text.rfind(part[0], at)) != std::string::npos; --at) {
    if (text.compare(at, part.size(), part) == 0) return at;
    poll();
    if (at == 0) break;
  }
  return std::string::npos;
}

// [start, end) within `size`, where a negative start counts from the end, and end = -1 is the end
// itself, -2 the character before it. A start past the end raises, as std::string::substr does in
// TorchScript.
std::pair<size_t, size_t> window(size_t size, int64_t start, int64_t end) {
  const int64_t n = static_cast<int64_t>(size);
  if (start < 0) start = std::max<int64_t>(start + n, 0);
  if (end < 0) end = std::max<int64_t>(end + n + 1, 0);
  TORCHLET_CHECK(start <= n, "start %lld is past the end of a string of %lld characters",
                 static_cast<long long>(start), static_cast<long long>(n));
  return {static_cast<size_t>(start), static_cast<size_t>(std::clamp(end, start, n))};
}

int64_t find(Text self, Text part, int64_t start, int64_t end) {
  const auto [first, last] = window(self.size(), start, end);
  const size_t found = find_from(self, part, first);
  return found == std::string::npos || found + part.size() > last ? -1
                                                                  : static_cast<int64_t>(found);
}

int64_t rfind(Text self, Text part, int64_t start, int64_t end) {
  const auto [first, last] = window(self.size(), start, end);
  if (last < first + part.size()) return -1;
  const size_t found = find_back(self, part, last - part.size());
  return found == std::string::npos || found < first ? -1 : static_cast<int64_t>(found);
}

int64_t required(int64_t position) {
  TORCHLET_CHECK(position >= 0, "ValueError: substring not found");
  return position;
}

// TorchScript splits at all spaces here, whatever `max` says.
Value split_spaces(Text self) {
  Texts parts;
  size_t at = 0;
  for (;;) {
    while (at < self.size() && space(self[at])) ++at;
    if (at == self.size()) break;
    size_t end = at;
    while (end < self.size() && !space(self[end])) ++end;
    parts.emplace_back(self.substr(at, end - at));
    at = end;
  }
  return strings(std::move(parts));
}

Value split(Text self, const std::optional<std::string>& separator, int64_t max) {
  if (!separator) return split_spaces(self);
  TORCHLET_CHECK(!separator->empty(), "ValueError: empty separator");
  Texts parts;
  size_t at = 0;
  for (size_t next; (next = find_from(self, *separator, at)) != std::string::npos;
       at = next + separator->size()) {
    if (max >= 0 && static_cast<int64_t>(parts.size()) >= max) break;
    parts.emplace_back(self.substr(at, next - at));
  }
  parts.emplace_back(self.substr(at));
  return strings(std::move(parts));
}

Value rsplit(Text self, Text separator, int64_t max) {
  TORCHLET_CHECK(!separator.empty(), "ValueError: empty separator");
  Texts parts;
  std::string rest = self;
  while (max < 0 || static_cast<int64_t>(parts.size()) < max) {
    const size_t at = find_back(rest, separator, std::string::npos);
    if (at == std::string::npos) break;
    parts.emplace_back(rest.substr(at + separator.size()));
    rest.resize(at);
  }
  parts.emplace_back(std::move(rest));
  std::reverse(parts.begin(), parts.end());
  return strings(std::move(parts));
}

// TorchScript knows bytes only: "\r\n" ends two lines, each byte of a line separator outside ASCII
// (U+0085, U+2028, U+2029) ends one, and kept ends are items of their own.
Value splitlines(Text self, bool keep_ends) {
  constexpr char kEnds[] = "\n\r\v\f\x1c\x1d\x1e\x85\xe2\x80\xa8\xa9";
  Texts parts;
  size_t at = 0;
  for (size_t end; (end = self.find_first_of(kEnds, at)) != std::string::npos; at = end + 1) {
    parts.emplace_back(self.substr(at, end - at));
    if (keep_ends) parts.emplace_back(self.substr(end, 1));
  }
  if (at < self.size()) parts.emplace_back(self.substr(at));
  return strings(std::move(parts));
}

std::string stripped(Text self, Text chars, bool left, bool right) {
  const size_t first = left ? self.find_first_not_of(chars) : 0;
  if (first == std::string::npos) return "";
  const size_t last = right ? self.find_last_not_of(chars) : self.size() - 1;
  return last == std::string::npos ? "" : self.substr(first, last - first + 1);
}

std::string replaced(Text self, Text from, Text to, int64_t max) {
  std::vector<size_t> places;
  for (size_t at = 0; max < 0 || static_cast<int64_t>(places.size()) < max;) {
    const size_t next = find_from(self, from, at);
    if (next == std::string::npos) break;
    places.push_back(next);
    at = next + std::max<size_t>(from.size(), 1);  // between all characters if `from` is empty
  }
  require_text(static_cast<int64_t>(places.size()), to.size());
  std::string result;
  size_t at = 0;
  for (const size_t place : places) {
    result.append(self, at, place - at);
    result += to;
    at = place + from.size();
  }
  return result.append(self, at);
}

char fill_char(Text fill) {
  TORCHLET_CHECK(fill.size() == 1,
                 "TypeError: The fill character must be exactly one character long");
  return fill[0];
}

enum class Side { kLeft, kRight, kBoth };

// `side` is where the text stands; in the middle, Python gives an odd character to the left if
// width is odd.
std::string padded(Text self, int64_t width, Text fill, Side side) {
  constexpr int64_t kMaxWidth = int64_t{1} << 28;
  TORCHLET_CHECK(width < kMaxWidth, "a string of %lld characters is too long",
                 static_cast<long long>(width));
  require_text(width, 1);
  const char c = fill_char(fill);
  const auto length = static_cast<int64_t>(self.size());
  const int64_t missing = width > length ? width - length : 0;
  const int64_t left = side == Side::kLeft    ? 0
                       : side == Side::kRight ? missing
                                              : missing / 2 + (missing & width & 1);
  return std::string(static_cast<size_t>(left), c) + self +
         std::string(static_cast<size_t>(missing - left), c);
}

std::string titled(std::string text) {
  bool inside = false;
  for (char& c : text) {
    c = inside ? to_lower(c) : to_upper(c);
    inside = alpha(c);
  }
  return text;
}

bool is_title(Text text) {
  bool inside = false, any = false;
  for (const char c : text) {
    if (upper(c) ? inside : lower(c) && !inside) return false;
    inside = alpha(c);
    any |= inside;
  }
  return any;
}

std::string expanded_tabs(Text self, int64_t size) {
  TORCHLET_CHECK(size < (1 << 20), "expandtabs: the tab size is too large");
  require_text(std::count(self.begin(), self.end(), '\t'),
               static_cast<size_t>(std::max<int64_t>(size, 0)));
  std::string result;
  size_t column = 0;
  for (const char c : self) {
    if (c == '\t') {
      if (size > 0) {
        const size_t pad = static_cast<size_t>(size) - column % static_cast<size_t>(size);
        result.append(pad, ' ');
        column += pad;
      }
    } else {
      result += c;
      column = c == '\n' || c == '\r' ? 0 : column + 1;
    }
  }
  return result;
}

size_t char_index(int64_t index, size_t size) {
  const int64_t n = static_cast<int64_t>(size);
  if (index < 0) index += n;
  TORCHLET_CHECK(index >= 0 && index < n, "string index out of range");
  return static_cast<size_t>(index);
}

std::string item(Text self, int64_t index) {
  return std::string(1, self[char_index(index, self.size())]);
}

std::string sliced(Text self, std::optional<int64_t> start, std::optional<int64_t> end,
                   int64_t step) {
  TORCHLET_CHECK(step != 0, "slice step cannot be zero");
  const auto size = static_cast<int64_t>(self.size());
  const auto clamp = [&](std::optional<int64_t> i, int64_t absent) {
    if (!i) return absent;
    return std::clamp<int64_t>(*i < 0 ? *i + size : *i, step > 0 ? 0 : -1,
                               step > 0 ? size : size - 1);
  };
  const int64_t last = clamp(end, step > 0 ? size : -1);
  std::string result;
  for (int64_t i = clamp(start, step > 0 ? 0 : size - 1); step > 0 ? i < last : i > last;
       i += step) {
    result += self[static_cast<size_t>(i)];
    if (step > size || step < -size) break;  // and i + step might overflow
  }
  return result;
}

std::string in_base(int64_t value, unsigned base, const char* prefix) {
  uint64_t rest = value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  std::string digits;
  do {
    digits += "0123456789abcdef"[rest % base];
    rest /= base;
  } while (rest);
  std::reverse(digits.begin(), digits.end());
  return (value < 0 ? "-" : "") + std::string(prefix) + digits;
}

int64_t parse_int(Text text) {
  char* end;
  errno = 0;
  const long long value = std::strtoll(text.c_str(), &end, 10);
  TORCHLET_CHECK(!text.empty() && end == text.c_str() + text.size() && errno == 0,
                 "ValueError: invalid literal for int() with base 10: '%s'", text.c_str());
  return value;
}

double parse_float(Text text) {
  errno = 0;
  const std::optional<double> value = read_float(text);
  TORCHLET_CHECK(value && errno == 0, "ValueError: could not convert string to float: '%s'",
                 text.c_str());
  return *value;
}

std::tuple<std::string, std::string, std::string> partitioned(Text self, Text separator) {
  const size_t at = find_from(self, separator, 0);
  if (at == std::string::npos) return {self, "", ""};
  return {self.substr(0, at), separator, self.substr(at + separator.size())};
}
std::tuple<std::string, std::string, std::string> rpartitioned(Text self, Text separator) {
  const size_t at = find_back(self, separator, std::string::npos);
  if (at == std::string::npos) return {"", "", self};
  return {self.substr(0, at), separator, self.substr(at + separator.size())};
}

}  // namespace

TORCHLET_OP_WITH(add_str, never_raises(), "aten::add.str(str a, str b) -> str", [](Text a, Text b) {
  require_text(1, a.size() + b.size());
  return a + b;
});
TORCHLET_OP_WITH(len_str, never_raises(), "aten::len.str(str s) -> int",
                 [](Text s) { return static_cast<int64_t>(s.size()); });
TORCHLET_OP(getitem_str, "aten::__getitem__.str(str s, int index) -> str", item);
TORCHLET_OP(StringIndex, "prim::StringIndex(str string, int index) -> str", item);
TORCHLET_OP(slice_str,
            "aten::slice.str(str string, int? start=None, int? end=None, int step=1) -> str",
            sliced);
TORCHLET_OP(list_str, "aten::list(str t) -> str[]", [](Text text) {
  Texts parts;
  for (const char c : text) parts.emplace_back(std::string(1, c));
  return strings(std::move(parts));
});

#define TORCHLET_STRING_COMPARISON(id, name, operation)                                  \
  TORCHLET_OP_WITH(id##_str, never_raises(), "aten::" name ".str(str a, str b) -> bool", \
                   [](Text a, Text b) { return a operation b; })
TORCHLET_STRING_COMPARISON(eq, "eq", ==);
TORCHLET_STRING_COMPARISON(ne, "ne", !=);
TORCHLET_STRING_COMPARISON(lt, "lt", <);
TORCHLET_STRING_COMPARISON(le, "le", <=);
TORCHLET_STRING_COMPARISON(gt, "gt", >);
TORCHLET_STRING_COMPARISON(ge, "ge", >=);
#undef TORCHLET_STRING_COMPARISON

TORCHLET_OP(str_upper, "aten::upper(str self) -> str", [](Text s) { return mapped(s, to_upper); });
TORCHLET_OP(str_lower, "aten::lower(str self) -> str", [](Text s) { return mapped(s, to_lower); });
TORCHLET_OP(str_swapcase, "aten::swapcase(str self) -> str", [](Text s) {
  return mapped(s, [](char c) { return lower(c) ? to_upper(c) : to_lower(c); });
});
TORCHLET_OP(str_capitalize, "aten::capitalize(str self) -> str", [](Text s) {
  std::string text = mapped(s, to_lower);
  if (!text.empty()) text[0] = to_upper(text[0]);
  return text;
});
TORCHLET_OP(str_title, "aten::title(str self) -> str", [](Text s) { return titled(s); });
TORCHLET_OP(str_isalpha, "aten::isalpha(str self) -> bool",
            [](Text s) { return all_and_any(s, alpha); });
TORCHLET_OP(str_isalnum, "aten::isalnum(str self) -> bool",
            [](Text s) { return all_and_any(s, [](char c) { return alpha(c) || digit(c); }); });
TORCHLET_OP(str_isdigit, "aten::isdigit(str self) -> bool",
            [](Text s) { return all_and_any(s, digit); });
TORCHLET_OP(str_isdecimal, "aten::isdecimal(str self) -> bool",
            [](Text s) { return all_and_any(s, digit); });
TORCHLET_OP(str_isnumeric, "aten::isnumeric(str self) -> bool",
            [](Text s) { return all_and_any(s, digit); });
TORCHLET_OP(str_isspace, "aten::isspace(str self) -> bool",
            [](Text s) { return all_and_any(s, space); });
TORCHLET_OP(str_isprintable, "aten::isprintable(str self) -> bool", [](Text s) {
  return std::all_of(s.begin(), s.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
});
// Unlike Python's, without underscores.
TORCHLET_OP(str_isidentifier, "aten::isidentifier(str self) -> bool", [](Text s) {
  return all_and_any(s, [](char c) { return alpha(c) || digit(c); }) && !digit(s[0]);
});
TORCHLET_OP(str_isupper, "aten::isupper(str self) -> bool", [](Text s) {
  return std::any_of(s.begin(), s.end(), upper) && std::none_of(s.begin(), s.end(), lower);
});
TORCHLET_OP(str_islower, "aten::islower(str self) -> bool", [](Text s) {
  return std::any_of(s.begin(), s.end(), lower) && std::none_of(s.begin(), s.end(), upper);
});
TORCHLET_OP(str_istitle, "aten::istitle(str self) -> bool", is_title);

TORCHLET_OP(str_find, "aten::find(str self, str substr, int start=0, int end=-1) -> int", find);
TORCHLET_OP(str_rfind, "aten::rfind(str self, str substr, int start=0, int end=-1) -> int", rfind);
TORCHLET_OP(str_index, "aten::index.str(str self, str substr, int start=0, int end=-1) -> int",
            [](Text s, Text part, int64_t start, int64_t end) {
              return required(find(s, part, start, end));
            });
TORCHLET_OP(str_rindex, "aten::rindex(str self, str substr, int start=0, int end=-1) -> int",
            [](Text s, Text part, int64_t start, int64_t end) {
              return required(rfind(s, part, start, end));
            });
TORCHLET_OP(str_count, "aten::count(str self, str substr, int start=0, int end=-1) -> int",
            [](Text s, Text part, int64_t start, int64_t end) {
              const auto [first, last] = window(s.size(), start, end);
              if (part.empty()) return static_cast<int64_t>(last < first ? 0 : last - first + 1);
              int64_t count = 0;
              for (size_t at = find_from(s, part, first);
                   at != std::string::npos && at + part.size() <= last;
                   at = find_from(s, part, at + part.size())) {
                ++count;
              }
              return count;
            });
TORCHLET_OP(str_startswith,
            "aten::startswith(str self, str substr, int start=0, int end=-1) -> bool",
            [](Text s, Text part, int64_t start, int64_t end) {
              const auto [first, last] = window(s.size(), start, end);
              return first <= last &&
                     std::string_view(s).substr(first, last - first).starts_with(part);
            });
TORCHLET_OP(str_endswith, "aten::endswith(str self, str substr, int start=0, int end=-1) -> bool",
            [](Text s, Text part, int64_t start, int64_t end) {
              const auto [first, last] = window(s.size(), start, end);
              return first <= last &&
                     std::string_view(s).substr(first, last - first).ends_with(part);
            });

TORCHLET_OP(str_split, "aten::split.str(str self, str? separator=None, int max=-1) -> str[]",
            split);
TORCHLET_OP(str_rsplit, "aten::rsplit(str self, str separator=\" \", int max=-1) -> str[]", rsplit);
TORCHLET_OP(str_splitlines, "aten::splitlines(str self, bool keepends=False) -> str[]", splitlines);
TORCHLET_OP(str_partition, "aten::partition(str self, str separator) -> (str, str, str)",
            partitioned);
TORCHLET_OP(str_rpartition, "aten::rpartition(str self, str separator) -> (str, str, str)",
            rpartitioned);
TORCHLET_OP(str_join, "aten::join(str self, str[] values) -> str",
            [](Text self, const Ref<List>& values) {
              size_t length = values->items.size() * self.size();
              for (const Value& value : values->items) length += value.to_string().size();
              require_text(1, length);
              std::string text;
              for (size_t i = 0; i < values->items.size(); ++i) {
                if (i) text += self;
                text += values->items[i].to_string();
              }
              return text;
            });
TORCHLET_OP(str_strip, "aten::strip(str self, str chars=\" \\n\\t\\f\\v\") -> str",
            [](Text s, Text chars) { return stripped(s, chars, true, true); });
TORCHLET_OP(str_lstrip, "aten::lstrip(str self, str chars=\" \\n\\t\\f\\v\") -> str",
            [](Text s, Text chars) { return stripped(s, chars, true, false); });
TORCHLET_OP(str_rstrip, "aten::rstrip(str self, str chars=\" \\n\\t\\f\\v\") -> str",
            [](Text s, Text chars) { return stripped(s, chars, false, true); });
TORCHLET_OP(str_replace, "aten::replace(str self, str old, str new, int max=-1) -> str", replaced);
TORCHLET_OP(str_center, "aten::center(str self, int width, str fillchar=\" \") -> str",
            [](Text s, int64_t width, Text fill) { return padded(s, width, fill, Side::kBoth); });
TORCHLET_OP(str_ljust, "aten::ljust(str self, int width, str fillchar=\" \") -> str",
            [](Text s, int64_t width, Text fill) { return padded(s, width, fill, Side::kLeft); });
TORCHLET_OP(str_rjust, "aten::rjust(str self, int width, str fillchar=\" \") -> str",
            [](Text s, int64_t width, Text fill) { return padded(s, width, fill, Side::kRight); });
// Unlike Python's, a sign stays behind the zeros.
TORCHLET_OP(str_zfill, "aten::zfill(str self, int width) -> str",
            [](Text s, int64_t width) { return padded(s, width, "0", Side::kRight); });
TORCHLET_OP(str_expandtabs, "aten::expandtabs(str self, int tabsize=8) -> str", expanded_tabs);

TORCHLET_OP(int_bin, "aten::bin(int i) -> str", [](int64_t i) { return in_base(i, 2, "0b"); });
TORCHLET_OP(int_hex, "aten::hex(int i) -> str", [](int64_t i) { return in_base(i, 16, "0x"); });
TORCHLET_OP(int_oct, "aten::oct(int i) -> str", [](int64_t i) { return in_base(i, 8, "0o"); });
// One byte, whatever the code point.
TORCHLET_OP(int_chr, "aten::chr(int i) -> str", [](int64_t i) {
  TORCHLET_CHECK(i >= 0 && i < 0x10ffff, "chr() arg not in range(0x110000)");
  return std::string(1, static_cast<char>(i));
});
TORCHLET_OP(str_ord, "aten::ord(str string) -> int", [](Text s) {
  TORCHLET_CHECK(s.size() == 1, "ord() expected a character, but string of length %zu found",
                 s.size());
  return static_cast<int64_t>(static_cast<unsigned char>(s[0]));
});
TORCHLET_OP(Int_str, "aten::Int.str(str a) -> int", parse_int);
TORCHLET_OP(Float_str, "aten::Float.str(str a) -> float", parse_float);

}  // namespace torchlet::ops
