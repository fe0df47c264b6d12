#include "base/read_float.h"

#include <clocale>
#include <cstdlib>

namespace torchlet {

std::optional<double> read_float(std::string text) {
  if (const size_t point = text.find('.'); point != std::string::npos) {
    text.replace(point, 1, std::localeconv()->decimal_point);  // strtod reads as the locale writes
  }
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || end != text.c_str() + text.size()) return std::nullopt;
  return value;
}

}  // namespace torchlet
