#include "sources/nats/requests.h"

#include <algorithm>
#include <numeric>

namespace semel::nats {

std::uint64_t Requests::add(std::size_t messages, TimePoint until) {
  open_.push_back({++last_, messages, until});
  return last_;
}

void Requests::filled() {
  if (open_.empty()) return;
  if (--open_.front().messages == 0) open_.pop_front();
}

void Requests::ended(std::uint64_t number, std::optional<std::size_t> unfilled) {
  const auto found = std::ranges::find(open_, number, &Request::number);
  const std::size_t guessed = found == open_.end() ? 0 : found->messages;
  const std::size_t missing = unfilled.value_or(guessed);
  if (found != open_.end()) {
    if (guessed > missing && open_.size() == 1) {
      // The rest was counted towards other requests, which still expect as many messages.
      found->messages = guessed - missing;
      found->number = 0;
      return;
    }
    open_.erase(found);
  }
  if (guessed > missing) {
    open_.back().messages += guessed - missing;
  } else {
    remove(missing - guessed);
  }
}

void Requests::remove(std::size_t messages) {
  while (messages > 0 && !open_.empty()) {
    const std::size_t part = std::min(messages, open_.front().messages);
    messages -= part;
    open_.front().messages -= part;
    if (open_.front().messages == 0) open_.pop_front();
  }
}

void Requests::forget_overdue(TimePoint now) {
  std::erase_if(open_, [now](const Request& each) { return now > each.until; });
}

std::size_t Requests::outstanding() const noexcept {
  return std::accumulate(open_.begin(), open_.end(), std::size_t{0},
                         [](std::size_t sum, const Request& each) { return sum + each.messages; });
}

namespace {

// More deliveries may be settled soon: wait this long for them, but not longer.
constexpr std::chrono::milliseconds kAskWait{2};

std::size_t many_of(std::size_t most) noexcept { return std::max<std::size_t>(most / 4, 1); }

}  // namespace

std::size_t worth_asking(std::size_t most, std::size_t open, std::size_t outstanding) noexcept {
  const std::size_t taken = open + outstanding;
  if (taken >= most) return 0;
  const std::size_t remaining = most - taken;
  return remaining >= many_of(most) || outstanding == 0 ? remaining : 0;
}

core::AckPace pace_of_asking(std::size_t most) noexcept { return {many_of(most), kAskWait}; }

}  // namespace semel::nats
