#include "core/retention.h"

#include <fmt/format.h>

#include <cstdint>
#include <utility>

namespace semel::core {

using std::chrono::milliseconds;

std::string duration_text(milliseconds duration) {
  constexpr std::pair<std::int64_t, const char*> kUnits[] = {
      {24 * 3'600'000, "d"}, {3'600'000, "h"}, {60'000, "m"}, {1'000, "s"}};
  for (const auto& [length, name] : kUnits) {
    if (duration.count() >= length && duration.count() % length == 0) {
      return fmt::format("{}{}", duration.count() / length, name);
    }
  }
  return fmt::format("{}ms", duration.count());
}

std::optional<Error> too_short(const Retention& retention, const Horizon& horizon) {
  if (!retention.ttl) return std::nullopt;
  if (!horizon.known && !horizon.longest) return std::nullopt;
  if (horizon.longest && *horizon.longest <= *retention.ttl) return std::nullopt;
  const std::string kept = duration_text(*retention.ttl);
  const std::string fix = horizon.longest ? duration_text(*horizon.longest) : "keep";
  return Error{
      retention.written ? ErrorKind::kRejected : ErrorKind::kBlocked, "D102",
      fmt::format("records are kept for {}{}, and {} ({}): what is older has its effect again when "
                  "it is read again",
                  kept, retention.written ? "" : " (ttl: auto)", horizon.said,
                  horizon.longest ? duration_text(*horizon.longest) : "for ever"),
      fmt::format("dedup: {{ ttl: {} }}; or knowingly: accept: [D102]", fix)};
}

}  // namespace semel::core
