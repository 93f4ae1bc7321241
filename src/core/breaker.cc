#include "core/breaker.h"

#include <algorithm>
#include <bit>

namespace semel::core {

using std::chrono::milliseconds;

namespace {

// Messages that have lost an attempt. Once forgotten, each may count as evidence once more.
constexpr std::size_t kRemembered = 4096;
constexpr int kLongestHistory = 64;

}  // namespace

milliseconds Breaker::shut() noexcept {
  length_ = length_.count() == 0 ? options_.first : std::min(length_ + length_, options_.longest);
  news_from_ = next_;
  return length_;
}

bool Breaker::mostly_failed() const noexcept {
  const int window = std::min(2 * options_.failures, kLongestHistory);
  const std::uint64_t seen = history_ << (kLongestHistory - window);
  return std::popcount(seen) * 4 >= window * 3;
}

bool Breaker::is_evidence(MessageId message, bool counts, bool shared) {
  if (shared || !counts) {
    history_ = history_ << 1U | 1U;
    return true;
  }
  if (spent_.size() == kRemembered) spent_.clear();
  if (!spent_.insert(message).second) return false;
  history_ = history_ << 1U | 1U;
  ++messages_;
  return true;
}

Breaker::Failure Breaker::failed(Ticket call, MessageId message, bool counts) {
  Failure failure;
  failure.shared = all_fail();
  failure.late = stale(call);
  if (!is_evidence(message, counts, failure.shared)) return failure;
  if (!failure.late) {
    in_row_ = std::min(in_row_ + 1, options_.failures);
    if (in_row_ >= options_.failures || mostly_failed()) failure.shut = shut();
  }
  failure.again_after = 2 * length_;
  return failure;
}

std::optional<milliseconds> Breaker::at_fault(Ticket call) noexcept {
  if (stale(call)) return std::nullopt;
  // The next call is a trial: if it fails in any way, the gate is shut again.
  in_row_ = options_.failures;
  return shut();
}

milliseconds Breaker::asked_to_wait(milliseconds wait) noexcept {
  news_from_ = next_;
  return std::clamp(wait, milliseconds(0), options_.longest);
}

bool Breaker::answered(Ticket call, MessageId message) noexcept {
  spent_.erase(message);
  history_ <<= 1U;
  messages_ = 0;
  if (stale(call)) return false;
  in_row_ = 0;
  length_ = milliseconds(0);
  return true;
}

}  // namespace semel::core
