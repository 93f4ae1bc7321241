#include "core/redis_streams_spec.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/ascii.h"
#include "base/utf8.h"

namespace semel::core {

std::optional<std::string> redis_name_flaw(std::string_view name) {
  constexpr std::size_t kLongestRedisName = 512;
  if (name.empty()) return "is empty";
  if (name.size() > kLongestRedisName) {
    return fmt::format("is longer than {} bytes", kLongestRedisName);
  }
  if (!is_utf8(name)) return "is not UTF-8";
  if (std::ranges::any_of(name, ascii::is_control)) return "holds a control character";
  return std::nullopt;
}

}  // namespace semel::core
