// A subcommand's options: one table for reading them and for --help.
#pragma once

#include <climits>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace torchlet::cli {

// A wrong use of the command line. what() is one line.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The whole text as a number of at least `least`; throws UsageError.
int parse_integer(const char* option, const std::string& text, int least, int most = INT_MAX);
// The whole text as a number above 0; throws UsageError.
double parse_positive(const char* option, const std::string& text);
// "2G", "1.5M", "64K" or "4096" as bytes, at least one; throws UsageError.
size_t parse_bytes(const char* option, const std::string& text);

class CommandLine {
 public:
  // Gets an argument's text; throws UsageError if it is wrong.
  using Setter = std::function<void(const std::string&)>;

  // `description` stands above the options in the help, `footer` below.
  CommandLine(std::string name, std::string description, std::string footer = "");

  // Options, as "--name". `value` stands for the argument in the help; what `target` holds is the
  // default, and shown unless it is "" or 0. Targets live until parse() has returned.
  void add_flag(const char* name, bool& target, const char* help);
  void add_text(const char* name, const char* value, std::string& target, const char* help);
  template <typename Integer>
  void add_integer(const char* name, Integer& target, int least, const char* help) {
    add_option(
        name, "INT", [=, &target](auto& text) { target = parse_integer(name, text, least); }, help,
        target == 0 ? "" : std::to_string(target));
  }
  void add_choice(const char* name, std::vector<std::string> choices, std::string& target,
                  const char* help);
  // Any other; `preset` is the default's text. With `repeated` it may be given several times.
  void add_option(const char* name, const char* value, Setter set, const char* help,
                  std::string preset = "", bool repeated = false);

  // Arguments that are no options, in the order of these calls. A repeated one takes all that
  // follow.
  void add_positional(const char* name, const char* value, Setter set, const char* help,
                      bool repeated = false);

  // Reads the arguments in their order; argv[0] is the command's name. --help prints the help, and
  // then the result is false. Throws UsageError; a positional that is not repeated is required.
  bool parse(int argc, char** argv);

 private:
  struct Row {
    std::string name, value, help, preset;
    Setter set;
    bool repeated = false, given = false;
    bool is_flag() const { return value.empty(); }
  };

  void give(Row& row, const std::string& text);
  void give_positional(const std::string& text);
  void print_help() const;

  std::string name_, description_, footer_;
  std::vector<Row> options_, positionals_;
};

}  // namespace torchlet::cli
