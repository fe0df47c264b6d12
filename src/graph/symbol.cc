#include "graph/symbol.h"

#include <mutex>
#include <unordered_set>

namespace torchlet {

Symbol::Symbol(std::string_view text) {
  static std::mutex mutex;
  static auto* const all = new std::unordered_set<std::string>;  // outlives every static user
  const std::lock_guard lock(mutex);
  text_ = &*all->emplace(text).first;
}

std::string_view Symbol::name_space() const {
  const size_t colons = text_->find("::");
  return colons == std::string::npos ? std::string_view()
                                     : std::string_view(*text_).substr(0, colons);
}

std::string_view Symbol::name() const {
  const size_t colons = text_->find("::");
  return colons == std::string::npos ? std::string_view(*text_)
                                     : std::string_view(*text_).substr(colons + 2);
}

}  // namespace torchlet
