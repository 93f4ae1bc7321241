#include "compose/end_hung.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

#include "base/iso_time.h"
#include "base/printable.h"
#include "system/utc_clock.h"

namespace semel::compose {

namespace {

constexpr int kExitHung = 70;
constexpr std::string_view kHung = "R260";

}  // namespace

Error hung_error(std::string text) {
  return {ErrorKind::kUnavailable, std::string(kHung), std::move(text), {}};
}

void end_hung(const std::string& consumer, const std::string& what,
              const std::function<void(std::string_view, const Error&)>& tell) {
  constexpr std::string_view kEnds =
      "this process ends; the next start counts the messages that were in flight and handles them "
      "first";
  if (tell) {
    tell(consumer, hung_error(fmt::format("{}; {}", what, kEnds)));
  } else {
    fmt::print(stderr, "{}  error[{}] {}: {}; {}\n", iso_time(system::utc_now()), kHung, consumer,
               printable_text(what), kEnds);
    std::fflush(stderr);
  }
  ::_exit(kExitHung);
}

}  // namespace semel::compose
