#include "cli/command_line.h"

#include <getopt.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace torchlet::cli {

int parse_integer(const char* option, const std::string& text, int least, int most) {
  char* end = nullptr;
  errno = 0;
  const long value = std::strtol(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0') {
    throw UsageError(std::string(option) + ": '" + text + "' is no whole number");
  }
  if (errno != 0 || value < least || value > most) {
    throw UsageError(std::string(option) + ": " + text + " is not between " +
                     std::to_string(least) + " and " + std::to_string(most));
  }
  return static_cast<int>(value);
}

double parse_positive(const char* option, const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !(value > 0) || !std::isfinite(value)) {
    throw UsageError(std::string(option) + ": '" + text + "' is no number above 0");
  }
  return value;
}

size_t parse_bytes(const char* option, const std::string& text) {
  constexpr std::string_view kUnits = "KMGT";
  const size_t unit = text.empty() ? std::string_view::npos : kUnits.find(text.back());
  const bool has_unit = unit != std::string_view::npos;
  const double bytes =
      std::ldexp(parse_positive(option, has_unit ? text.substr(0, text.size() - 1) : text),
                 has_unit ? 10 * (static_cast<int>(unit) + 1) : 0);
  if (bytes < 1 || bytes >= std::ldexp(1, 62)) {
    throw UsageError(std::string(option) + ": " + text + " is no size");
  }
  return static_cast<size_t>(bytes);
}

CommandLine::CommandLine(std::string name, std::string description, std::string footer)
    : name_(std::move(name)), description_(std::move(description)), footer_(std::move(footer)) {}

void CommandLine::add_option(const char* name, const char* value, Setter set, const char* help,
                             std::string preset, bool repeated) {
  options_.push_back({name, value, help, std::move(preset), std::move(set), repeated});
}

void CommandLine::add_positional(const char* name, const char* value, Setter set, const char* help,
                                 bool repeated) {
  positionals_.push_back({name, value, help, "", std::move(set), repeated});
}

void CommandLine::add_flag(const char* name, bool& target, const char* help) {
  add_option(
      name, "", [&target](const std::string&) { target = true; }, help, "", true);
}

void CommandLine::add_text(const char* name, const char* value, std::string& target,
                           const char* help) {
  add_option(
      name, value, [&target](const std::string& text) { target = text; }, help, target);
}

void CommandLine::add_choice(const char* name, std::vector<std::string> choices,
                             std::string& target, const char* help) {
  std::string value;
  for (const std::string& choice : choices) value += (value.empty() ? "{" : ",") + choice;
  value += "}";
  const auto set = [name, value, &target, choices = std::move(choices)](const std::string& text) {
    if (std::ranges::find(choices, text) == choices.end()) {
      throw UsageError(std::string(name) + ": '" + text + "' is not in " + value);
    }
    target = text;
  };
  add_option(name, value.c_str(), set, help, target);
}

void CommandLine::give(Row& row, const std::string& text) {
  if (row.given && !row.repeated) throw UsageError(row.name + " is given twice");
  row.given = true;
  row.set(text);
}

void CommandLine::give_positional(const std::string& text) {
  for (Row& row : positionals_) {
    if (!row.given || row.repeated) return give(row, text);
  }
  throw UsageError("the argument was not expected: " + text);
}

bool CommandLine::parse(int argc, char** argv) {
  enum : int { kPositional = 1, kFirstOption = 256 };
  std::vector<option> table;
  for (const Row& row : options_) {
    table.push_back({row.name.c_str() + 2, row.is_flag() ? no_argument : required_argument, nullptr,
                     kFirstOption + static_cast<int>(table.size())});
  }
  table.push_back({"help", no_argument, nullptr, 'h'});
  table.push_back({});
  opterr = 0;
  // '-': positionals come in their place among the options; ':': what lacks its argument is told.
  for (int found; (found = getopt_long(argc, argv, "-:h", table.data(), nullptr)) != -1;) {
    if (found == 'h') {
      print_help();
      return false;
    }
    if (found == kPositional) {
      give_positional(optarg);
    } else if (found >= kFirstOption) {
      give(options_[static_cast<size_t>(found - kFirstOption)], optarg ? optarg : "");
    } else if (found == ':') {
      throw UsageError(std::string(argv[optind - 1]) + " needs a value");
    } else {
      throw UsageError("the argument was not expected: " +
                       (optopt > 0 && optopt < kFirstOption
                            ? std::string{'-', static_cast<char>(optopt)}
                            : std::string(argv[optind - 1])));
    }
  }
  for (; optind < argc; ++optind) give_positional(argv[optind]);  // after "--"
  for (const Row& row : positionals_) {
    if (!row.given && !row.repeated) throw UsageError(row.name + " is required");
  }
  return true;
}

void CommandLine::print_help() const {
  const auto line = [](const std::string& left, const std::string& help) {
    constexpr size_t kColumn = 26;
    const bool fits = left.size() < kColumn;
    const std::string gap =
        fits ? std::string(kColumn - left.size(), ' ') : "\n  " + std::string(kColumn, ' ');
    std::printf("  %s%s%s\n", left.c_str(), gap.c_str(), help.c_str());
  };
  std::printf("%s\nUsage: torchlet %s [OPTIONS]", description_.c_str(), name_.c_str());
  for (const Row& row : positionals_) {
    std::printf(row.repeated ? " [%s...]" : " %s", row.name.c_str());
  }
  std::printf("\n\nPositionals:\n");
  for (const Row& row : positionals_) {
    line(row.name + " " + row.value + (row.repeated ? " ..." : " REQUIRED"), row.help);
  }
  std::printf("\nOptions:\n");
  line("-h,--help", "Print this help message and exit");
  for (const Row& row : options_) {
    std::string left = row.name;
    if (!row.is_flag()) left += " " + row.value;
    if (!row.preset.empty()) left += "=" + row.preset;
    if (row.repeated && !row.is_flag()) left += " ...";
    line(left, row.help);
  }
  if (!footer_.empty()) std::printf("\n%s\n", footer_.c_str());
}

}  // namespace torchlet::cli
