#include "core/redis_streams_publish_spec.h"

#include <fmt/format.h>

#include <algorithm>

namespace semel::core {

std::optional<std::string> redis_entry_flaw(const Headers& headers, std::string_view payload) {
  const bool twice =
      std::ranges::any_of(headers, [&](const Header& header) { return header.name == payload; });
  if (!twice) return std::nullopt;
  return fmt::format(
      "has a header \"{}\", which is the name of the payload's field: give that another name in "
      "handler.redis_streams.payload",
      payload);
}

}  // namespace semel::core
