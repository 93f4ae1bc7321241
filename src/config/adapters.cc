#include "config/adapters.h"

// Set by CMake: names of adapters, each followed by a blank.
#ifndef SEMEL_MISSING_ADAPTERS
#define SEMEL_MISSING_ADAPTERS ""
#endif

namespace semel::config {

std::vector<std::string_view> missing_adapters() {
  std::vector<std::string_view> missing;
  for (std::string_view rest = SEMEL_MISSING_ADAPTERS; !rest.empty();) {
    const std::size_t end = rest.find(' ');
    missing.push_back(rest.substr(0, end));
    rest.remove_prefix(end + 1);
  }
  return missing;
}

}  // namespace semel::config

#undef SEMEL_MISSING_ADAPTERS
