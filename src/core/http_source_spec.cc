#include "core/http_source_spec.h"

#include <algorithm>

#include "base/ascii.h"

namespace semel::core {

std::optional<std::string> http_path_flaw(std::string_view path) {
  if (!path.starts_with('/')) return "does not begin with /";
  const auto unfit = [](char c) {
    return ascii::is_control(c) || c == ' ' || c == '?' || c == '#' ||
           static_cast<unsigned char>(c) >= 0x80;
  };
  if (std::ranges::any_of(path, unfit)) {
    return "has a character that no path of a URL has: escape it with %";
  }
  return std::nullopt;
}

std::optional<std::string> http_prefix_flaw(std::string_view prefix) {
  if (prefix.ends_with('/')) return "ends with /";
  return http_path_flaw(prefix);
}

}  // namespace semel::core
