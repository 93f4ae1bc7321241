#include "sources/sqs/ledger.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace semel::sqs {

using std::chrono::milliseconds;

namespace {

// Early enough for some tries to fail.
constexpr int kShareBeforeRenewal = 3;

}  // namespace

void Ledger::plan(Hidden& hidden, TimePoint from) const {
  hidden.until = std::min(from + visibility_, hidden.received + core::kSqsLongestHidden);
  // What cannot be hidden for any longer is not asked for.
  hidden.lost = hidden.until < from + visibility_;
  hidden.due = from + visibility_ / kShareBeforeRenewal;
}

void Ledger::arrived(std::unique_ptr<Arrival> arrival, std::string receipt, TimePoint now) {
  const std::uint64_t tag = ++last_;
  deliveries_.arrived(tag, std::move(arrival));
  Hidden& hidden = hidden_[tag];
  hidden.receipt = std::move(receipt);
  hidden.received = now;
  plan(hidden, now);
}

Ledger::Taken Ledger::take(TimePoint now) {
  for (;;) {
    const auto taken = deliveries_.take();
    if (taken.value == nullptr) return {};
    const auto hidden = hidden_.find(taken.position);
    if (now < hidden->second.until) return {taken.position, taken.value->get()};
    (void)deliveries_.settle(taken.position, Settlement::Kind::kGone);  // it was out just now
    hidden_.erase(hidden);
  }
}

bool Ledger::settle(std::uint64_t tag, Settlement::Kind kind) {
  if (!deliveries_.settle(tag, kind)) return false;
  if (kind != Settlement::Kind::kAck && kind != Settlement::Kind::kGone) return true;
  const auto hidden = hidden_.find(tag);
  deletes_.push_back(std::move(hidden->second.receipt));
  hidden_.erase(hidden);
  return true;
}

std::vector<std::string> Ledger::take_deletes() {
  std::vector<std::string> batch;
  while (!deletes_.empty() && batch.size() < core::kSqsBatch) {
    batch.push_back(std::move(deletes_.front()));
    deletes_.pop_front();
  }
  return batch;
}

void Ledger::put_back(std::vector<std::string> receipts) {
  deletes_.insert(deletes_.end(), std::make_move_iterator(receipts.begin()),
                  std::make_move_iterator(receipts.end()));
}

std::vector<Ledger::Renewal> Ledger::take_renewals(TimePoint now) {
  std::vector<Renewal> batch;
  for (auto& [tag, hidden] : hidden_) {
    if (batch.size() == core::kSqsBatch) break;
    if (hidden.under_way || hidden.lost || now < hidden.due) continue;
    const auto left =
        std::chrono::floor<std::chrono::seconds>(hidden.received + core::kSqsLongestHidden - now);
    const milliseconds by = std::min<milliseconds>(visibility_, left);
    if (by <= milliseconds(0)) {
      hidden.lost = true;
      continue;
    }
    hidden.under_way = true;
    batch.push_back({tag, hidden.receipt, by});
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

void Ledger::renewed(const Renewal& renewal, Renewed how, TimePoint begun, TimePoint now) {
  const auto found = hidden_.find(renewal.tag);
  if (found == hidden_.end()) return;  // settled meanwhile
  Hidden& hidden = found->second;
  hidden.under_way = false;
  switch (how) {
    case Renewed::kYes:
      plan(hidden, begun);
      break;
    case Renewed::kNotNow:
      hidden.due = now;
      break;
    case Renewed::kGone:
      hidden.lost = true;
      hidden.until = std::min(hidden.until, now);
      break;
  }
}

std::vector<std::string> Ledger::take_open() {
  std::vector<std::string> batch;
  while (!hidden_.empty() && batch.size() < core::kSqsBatch) {
    batch.push_back(std::move(hidden_.begin()->second.receipt));
    hidden_.erase(hidden_.begin());
  }
  return batch;
}

}  // namespace semel::sqs
