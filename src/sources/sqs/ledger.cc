#include "sources/sqs/ledger.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <string_view>
#include <utility>

#include <semel/message.h>

#include "core/oldest_figure.h"

namespace semel::sqs {

using std::chrono::milliseconds;

namespace {

// A renewal is due after this fraction of the time, early enough for some failed attempts.
constexpr int kShareBeforeRenewal = 3;
// A refused renewal is tried again after this fraction of the time, and soon in any case: each
// request costs money.
constexpr int kShareBeforeNextTry = 10;
constexpr milliseconds kLongestBeforeNextTry{1'000};
constexpr std::string_view kGroupHeader = "sqs-message-group-id";

std::vector<std::string> taken_from(std::deque<std::string>& receipts, std::size_t most) {
  const auto end = receipts.begin() + static_cast<std::ptrdiff_t>(std::min(most, receipts.size()));
  std::vector<std::string> batch(std::make_move_iterator(receipts.begin()),
                                 std::make_move_iterator(end));
  receipts.erase(receipts.begin(), end);
  return batch;
}

}  // namespace

void Ledger::plan(Hidden& hidden, TimePoint from) const {
  hidden.until = std::min(from + visibility_, hidden.received + core::kSqsLongestHidden);
  // Messages that cannot be hidden any longer are not renewed.
  hidden.lost = hidden.until < from + visibility_;
  hidden.due = from + visibility_ / kShareBeforeRenewal;
}

void Ledger::arrived(std::unique_ptr<Arrival> arrival, std::string receipt, TimePoint now) {
  const std::uint64_t tag = ++last_;
  Hidden& hidden = hidden_[tag];
  hidden.group = find_header(arrival->headers, kGroupHeader).value_or(std::string_view());
  deliveries_.arrived(tag, std::move(arrival));
  hidden.receipt = std::move(receipt);
  hidden.received = now;
  plan(hidden, now);
}

Ledger::Taken Ledger::take(TimePoint now) {
  for (;;) {
    const auto taken = deliveries_.take();
    if (taken.value == nullptr) return {};
    const auto hidden = hidden_.find(taken.position);
    if (now < hidden->second.until) {
      hidden->second.out = true;
      return {taken.position, taken.value->get()};
    }
    forget(hidden, now);
  }
}

// The receipts are given back too: a renewal whose answer came too late may have hidden the
// messages again.
void Ledger::forget(AllHidden::iterator hidden, TimePoint now) {
  if (!hidden->second.group.empty()) {
    if (!hidden->second.receipt.empty()) forgotten_.push_back(std::move(hidden->second.receipt));
    for (auto later = std::next(hidden); later != hidden_.end(); ++later) {
      Hidden& other = later->second;
      if (other.out || other.receipt.empty() || other.group != hidden->second.group) continue;
      forgotten_.push_back(std::exchange(other.receipt, {}));
      other.lost = true;
      other.until = std::min(other.until, now);
    }
  }
  (void)deliveries_.settle(hidden->first, Settlement::Kind::kGone);  // it was handed out until now
  hidden_.erase(hidden);
}

void Ledger::let_go() {
  for (auto taken = deliveries_.take(); taken.value != nullptr; taken = deliveries_.take()) {
    const auto hidden = hidden_.find(taken.position);
    if (!hidden->second.receipt.empty()) forgotten_.push_back(std::move(hidden->second.receipt));
    (void)deliveries_.settle(taken.position, Settlement::Kind::kGone);
    hidden_.erase(hidden);
  }
  for (auto& [tag, hidden] : hidden_) hidden.lost = true;
}

std::vector<std::string> Ledger::take_forgotten() {
  return taken_from(forgotten_, core::kSqsBatch);
}

bool Ledger::settle(std::uint64_t tag, Settlement::Kind kind) {
  if (!deliveries_.settle(tag, kind)) return false;
  const auto hidden = hidden_.find(tag);
  if (kind != Settlement::Kind::kAck && kind != Settlement::Kind::kGone) {
    hidden->second.out = false;
    return true;
  }
  deletes_.push_back(std::move(hidden->second.receipt));
  hidden_.erase(hidden);
  return true;
}

std::vector<std::string> Ledger::take_deletes() {
  return alone_.empty() ? taken_from(deletes_, core::kSqsBatch) : taken_from(alone_, 1);
}

void Ledger::put_back(std::vector<std::string> receipts) {
  std::ranges::move(receipts, std::back_inserter(deletes_));
}

void Ledger::put_back_alone(std::vector<std::string> receipts) {
  std::ranges::move(receipts, std::back_inserter(alone_));
}

std::vector<Ledger::Renewal> Ledger::take_renewals(TimePoint now) {
  std::vector<Renewal> batch;
  for (auto& [tag, hidden] : hidden_) {
    if (batch.size() == core::kSqsBatch) break;
    if (hidden.under_way || hidden.lost || now < hidden.due) continue;
    if (hidden.alone && !batch.empty()) continue;
    const auto left =
        std::chrono::floor<std::chrono::seconds>(hidden.received + core::kSqsLongestHidden - now);
    const milliseconds by = std::min<milliseconds>(visibility_, left);
    if (by <= milliseconds(0)) {
      hidden.lost = true;
      continue;
    }
    hidden.under_way = true;
    batch.push_back({tag, hidden.receipt, by});
    if (hidden.alone) break;
  }
  return batch;
}

std::optional<Ledger::TimePoint> Ledger::renewal_due() const {
  std::optional<TimePoint> first;
  for (const auto& [tag, hidden] : hidden_) {
    if (hidden.under_way || hidden.lost) continue;
    if (!first || hidden.due < *first) first = hidden.due;
  }
  return first;
}

bool Ledger::renewed(const Renewal& renewal, Renewed how, TimePoint begun, TimePoint now) {
  const auto found = hidden_.find(renewal.tag);
  if (found == hidden_.end() || found->second.receipt.empty()) return false;
  Hidden& hidden = found->second;
  hidden.under_way = false;
  switch (how) {
    case Renewed::kYes:
      plan(hidden, begun);
      hidden.alone = false;
      break;
    case Renewed::kAlone:
      hidden.due = now;
      hidden.alone = true;
      break;
    case Renewed::kNotNow:
      hidden.due = now + std::min(visibility_ / kShareBeforeNextTry, kLongestBeforeNextTry);
      break;
    case Renewed::kGone:
      hidden.lost = true;
      hidden.until = std::min(hidden.until, now);
      break;
  }
  return true;
}

std::vector<std::string> Ledger::take_open() {
  std::vector<std::string> batch;
  while (!hidden_.empty() && batch.size() < core::kSqsBatch) {
    std::string& receipt = hidden_.begin()->second.receipt;
    if (!receipt.empty()) batch.push_back(std::move(receipt));
    hidden_.erase(hidden_.begin());
  }
  return batch;
}

std::optional<std::chrono::system_clock::time_point> Ledger::oldest_sent() const {
  return core::earliest_sent(deliveries_);
}

}  // namespace semel::sqs
