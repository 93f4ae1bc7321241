#include "core/breaker.h"

#include <algorithm>
#include <bit>
#include <iterator>

namespace semel::core {

using std::chrono::milliseconds;

namespace {

// Messages that have lost an attempt, and messages that were denied. Once forgotten, each may count
// as evidence once more.
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

bool Breaker::others_succeeded_since_denial(MessageId message) {
  if (denied_.size() == kRemembered) denied_.clear();
  return denied_.try_emplace(message, successes_).first->second < successes_;
}

// Many messages that are denied in a row after a success say that the endpoint has become wrong,
// even if that success came after their first denials.
Breaker::Denial Breaker::denied(Ticket call, MessageId message) {
  Denial denial;
  if (others_succeeded_since_denial(message)) {
    denied_alone_.insert(message);
    denial.own = !witness_ && std::ssize(denied_alone_) < options_.failures;
    if (std::ssize(denied_alone_) < options_.failures) return denial;
  }
  denial.confirmed = !stale(call) && witness_ && *witness_ != message;
  if (!witness_) witness_ = message;
  denial.shut = at_fault(call);
  return denial;
}

milliseconds Breaker::asked_to_wait(milliseconds wait) noexcept {
  news_from_ = next_;
  return std::clamp(wait, milliseconds(0), options_.longest);
}

bool Breaker::answered(Ticket call, MessageId message) noexcept {
  spent_.erase(message);
  denied_.erase(message);
  history_ <<= 1U;
  messages_ = 0;
  ++successes_;
  witness_.reset();
  denied_alone_.clear();
  if (stale(call)) return false;
  in_row_ = 0;
  length_ = milliseconds(0);
  return true;
}

}  // namespace semel::core
