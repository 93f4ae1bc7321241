#include "tests/support/failpoints.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "core/failpoints.h"

namespace semel::test {
namespace {

std::optional<int> positive(std::string_view text) noexcept {
  int number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, number);
  if (problem != std::errc{} || stop != end || number < 1) return std::nullopt;
  return number;
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(':', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

class SignalFailpoints final : public Failpoints {
 public:
  explicit SignalFailpoints(FailpointSpec spec) : spec_(std::move(spec)) {}

  void hit(std::string_view point) noexcept override {
    if (point != spec_.point) return;
    if (spec_.action == FailpointSpec::Action::kDelay) {
      std::this_thread::sleep_for(spec_.delay);
    } else if (hits_.fetch_add(1) + 1 == spec_.on_hit) {
      // No handler and no destructor may run: that is the fault.
      ::kill(::getpid(), spec_.action == FailpointSpec::Action::kKill ? SIGKILL : SIGSTOP);
    }
  }

 private:
  FailpointSpec spec_;
  std::atomic<int> hits_{0};
};

}  // namespace

Result<FailpointSpec> parse_failpoint(std::string_view text) {
  const auto refused = [&](std::string_view why) {
    return failure({ErrorKind::kRejected, "", fmt::format("failpoint \"{}\": {}", text, why),
                    "write POINT:kill, POINT:kill:NTH, POINT:stop, POINT:stop:NTH or "
                    "POINT:delay:MILLISECONDS"});
  };
  const std::vector<std::string_view> parts = split(text);
  if (parts.size() < 2 || parts.size() > 3) return refused("it has no action");
  if (std::find(std::begin(failpoint::kAll), std::end(failpoint::kAll), parts[0]) ==
      std::end(failpoint::kAll)) {
    return refused("no such point");
  }
  const std::optional<int> number = parts.size() == 3 ? positive(parts[2]) : std::nullopt;
  if (parts.size() == 3 && !number) return refused("the number is not one above zero");
  FailpointSpec spec;
  spec.point = parts[0];
  if (parts[1] == "delay") {
    if (!number) return refused("it does not say how long");
    spec.action = FailpointSpec::Action::kDelay;
    spec.delay = std::chrono::milliseconds(*number);
    return spec;
  }
  if (parts[1] != "kill" && parts[1] != "stop") return refused("unknown action");
  spec.action = parts[1] == "kill" ? FailpointSpec::Action::kKill : FailpointSpec::Action::kStop;
  spec.on_hit = number.value_or(1);
  return spec;
}

std::unique_ptr<Failpoints> make_failpoints(FailpointSpec spec) {
  return std::make_unique<SignalFailpoints>(std::move(spec));
}

void install_failpoints_from_environment() {
  const char* const text = std::getenv("SEMEL_FAILPOINT");
  if (text == nullptr || *text == '\0') return;
  Result<FailpointSpec> spec = parse_failpoint(text);
  if (!spec) {
    std::fprintf(stderr, "SEMEL_FAILPOINT: %s\n", spec.error().message.c_str());
    std::abort();
  }
  static const std::unique_ptr<Failpoints> failpoints = make_failpoints(std::move(*spec));
  system_environment().failpoints = failpoints.get();
}

}  // namespace semel::test
