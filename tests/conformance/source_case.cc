#include "tests/conformance/source_case.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <iterator>
#include <thread>

#include "tests/support/waiting.h"

namespace semel::conformance {

using std::chrono::steady_clock;

void SourceSuite::open() {
  source_ = place_->open();
  ASSERT_NE(source_, nullptr);
}

void SourceSuite::reopen() {
  const auto closed = source_->close(5s);
  EXPECT_TRUE(closed.has_value()) << (closed ? "" : closed.error().message);
  source_.reset();
  open();
}

void SourceSuite::die_and_reopen() {
  source_.reset();
  place_->advance(kHidden + 1s);
  open();
}

std::vector<Bytes> SourceSuite::numbered(std::size_t count, std::size_t from) {
  std::vector<Bytes> payloads;
  for (std::size_t i = 0; i < count; ++i) payloads.push_back(fmt::format("{{\"n\":{}}}", from + i));
  return payloads;
}

bool SourceSuite::woken(milliseconds patience) {
  const auto end = steady_clock::now() + patience;
  for (;;) {
    const Wakeup wakeup = source_->wakeup();
    if (wakeup.due_in && *wakeup.due_in <= 0ms) return true;
    const auto left = std::chrono::ceil<milliseconds>(end - steady_clock::now());
    if (left <= 0ms) return false;
    const milliseconds wait = wakeup.due_in ? std::min(left, *wakeup.due_in) : left;
    pollfd entry{wakeup.fd, POLLIN, 0};
    if (::poll(&entry, 1, static_cast<int>(wait.count())) > 0) return true;
    if (wakeup.due_in && *wakeup.due_in <= wait) return true;
  }
}

std::vector<Arrival> SourceSuite::receive(std::size_t count, const ReceiveLimits& limits,
                                          milliseconds patience) {
  std::vector<Arrival> all;
  const auto end = steady_clock::now() + patience;
  while (all.size() < count) {
    auto received = source_->receive(limits);
    EXPECT_TRUE(received.has_value()) << (received ? "" : received.error().message);
    if (!received) break;
    EXPECT_LE(received->arrivals.size(), limits.messages);
    std::ranges::move(received->arrivals, std::back_inserter(all));
    const auto left = std::chrono::ceil<milliseconds>(end - steady_clock::now());
    if (all.size() >= count || left <= 0ms) break;
    if (received->arrivals.empty() && !woken(left)) break;
  }
  return all;
}

std::vector<Arrival> SourceSuite::receive_whatever() {
  constexpr std::size_t kMany = 1'000'000;
  return receive(kMany, {}, 300ms);
}

void SourceSuite::settle(const std::vector<Arrival>& arrivals, Settlement::Kind kind,
                         milliseconds delay) {
  std::vector<Settlement> settlements;
  for (const Arrival& arrival : arrivals) settlements.push_back({arrival.tag, kind, delay});
  const auto settled = source_->settle(settlements);
  ASSERT_TRUE(settled.has_value()) << settled.error().message;
}

std::vector<Arrival> Receiver::receive(std::size_t count, milliseconds patience) {
  std::vector<Arrival> all;
  const auto end = steady_clock::now() + patience;
  while (all.size() < count && steady_clock::now() < end) {
    auto received = source_->receive({count - all.size(), 1 << 20});
    EXPECT_TRUE(received.has_value()) << (received ? "" : received.error().message);
    if (!received) break;
    std::ranges::move(received->arrivals, std::back_inserter(all));
    if (received->arrivals.empty()) std::this_thread::sleep_for(5ms);
  }
  return all;
}

void Receiver::settle(const std::vector<Arrival>& arrivals, Settlement::Kind kind) {
  std::vector<Settlement> settlements;
  for (const Arrival& arrival : arrivals) settlements.push_back({arrival.tag, kind, 0ms});
  EXPECT_TRUE(source_->settle(settlements).has_value());
}

void wait_until_it_has_come(Source& source) {
  const auto end = std::chrono::steady_clock::now() + 60s;
  for (bool told = false; std::chrono::steady_clock::now() < end;) {
    ASSERT_TRUE(source.receive({0, 1}).has_value());
    pollfd entry{source.wakeup().fd, POLLIN, 0};
    if (::poll(&entry, 1, told ? 150 : 1'000) > 0) {
      told = true;
    } else if (told) {
      break;
    }
  }
}

Error Receiver::failure_of() {
  Error error;
  test::comes_true([&] {
    const auto received = source_->receive({});
    if (received || received.error().kind != ErrorKind::kRejected) return false;
    error = received.error();
    return true;
  });
  return error;
}

std::vector<Bytes> SourceSuite::payloads(const std::vector<Arrival>& arrivals) {
  std::vector<Bytes> result;
  for (const Arrival& arrival : arrivals) result.push_back(arrival.payload);
  return expected(std::move(result));
}

std::vector<Bytes> SourceSuite::expected(std::vector<Bytes> payloads) {
  if (!GetParam().ordered) std::ranges::sort(payloads);
  return payloads;
}

}  // namespace semel::conformance
