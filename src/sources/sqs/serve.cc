// The serving thread of the SQS source: its calls, and the handling of their answers.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "sources/sqs/source.h"
#include "system/mutex.h"

namespace semel::sqs {

using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

// A poll returns a batch at most: many concurrent ones make a fast reader.
constexpr std::size_t kMostPolls = 10;
constexpr std::size_t kMostRemovals = 10;
constexpr std::size_t kMostRenewals = 4;
// Without `follow`, a poll only has to find out whether there is a message.
constexpr seconds kShortWait{1};
// The longest time for an answer, in addition to the wait for messages.
constexpr milliseconds kAnswerPatience{10'000};
constexpr milliseconds kLongestPatience{1'000};
// How often to check, at the end, whether everything is done.
constexpr milliseconds kLeaveStep{100};
// From a poll that finds nothing to the next one, at least: an endpoint that ignores
// WaitTimeSeconds answers at once, and each request costs money.
constexpr milliseconds kBetweenEmptyPolls{200};
// A single failed call is no outage.
constexpr std::size_t kTriesBeforeAway = 3;
// How often to look for a queue that existed before it counts as gone.
constexpr std::size_t kLooksForQueue = 4;
// At the end, a poll that is answered within this time is awaited: its messages are given back.
constexpr milliseconds kPollGrace{1'500};

// True for errors of every call: the service is unavailable, or it refuses this user.
bool is_of_all(const Error& error) {
  return error.code == "R390" || error.code == "R391" || error.code == "R392";
}

const char* meaning_of(CallKind kind) {
  return kind == CallKind::kDelete
             ? "what is done is not deleted, and comes again as a duplicate"
             : "what takes longer than visibility_timeout is received by others as well";
}

Ledger::Renewed renewed_by(const Result<std::string>& answer, std::size_t batch) {
  using Renewed = Ledger::Renewed;
  if (answer) return Renewed::kYes;
  if (answer.error().code != "R395") return Renewed::kNotNow;
  return batch == 1 ? Renewed::kGone : Renewed::kAlone;
}

}  // namespace

void SqsSource::run() {
  while (!is_stopped()) {
    if (!looked_) {
      look();
    } else {
      step_aside();
      poll();
      remove(false);
      hand_back();
      renew();
    }
    client_.run(patience());
  }
  leave();
}

void SqsSource::look() {
  if (ended_ || !may_call(CallKind::kLook) || std::exchange(looking_, true)) return;
  client_.call("GetQueueAttributes", attributes_request(spec_), kAnswerPatience,
               [this](Result<std::string> answer) {
                 looking_ = false;
                 if (answer) {
                   note_success(CallKind::kLook);
                   return take_facts(read_facts(*answer, spec_.queue.name));
                 }
                 // A reader does not need this right.
                 if (answer.error().code != "R393") {
                   return note_failure(CallKind::kLook, std::move(answer.error()));
                 }
                 take_facts(read_facts("{}", spec_.queue.name));
               });
}

void SqsSource::take_facts(QueueFacts facts) {
  looked_ = true;
  redrive_ = std::move(facts.redrive);
  const system::MutexLock lock(mutex_);
  horizon_ = std::move(facts.horizon);
  event_.signal();
  if (facts.deduplicates_content) {
    notice(
        fmt::format("queue {} makes deduplication ids of bodies (ContentBasedDeduplication): "
                    "such an id is no broker_key, for two events may have equal bodies",
                    spec_.queue.name));
  }
  if (!redrive_ || options_.crashes == 0 || !core::redrives_first(*redrive_, options_.crashes)) {
    return;
  }
  warn(
      "D122",
      fmt::format("queue {} gives a message to its dead-letter queue after {} receives, before the "
                  "consumer gives it up (retry.crashes: {}); fix: maxReceiveCount {} or more, "
                  "better {}",
                  spec_.queue.name, redrive_->most_receives, options_.crashes,
                  core::deliveries_before_given_up(options_.crashes),
                  core::generous_deliveries(options_.crashes)));
}

std::size_t SqsSource::remaining() const {
  if (intake_ended_) return 0;
  const auto most = static_cast<std::size_t>(spec_.prefetch);
  const std::size_t used = ledger_.open() + ledger_.deletes() + asked_;
  const std::size_t free = most - std::min(most, used);
  // If there is room for many, a request for a few waits until there is room for a batch.
  const std::size_t worth = most < 2 * core::kSqsBatch ? 1 : core::kSqsBatch;
  return free < worth ? 0 : free;
}

void SqsSource::poll() {
  while (!ended_ && may_call(CallKind::kReceive)) {
    std::size_t most = 0;
    std::uint64_t changes = 0;
    bool calm = false;
    {
      const system::MutexLock lock(mutex_);
      if (paused_ || aside_) return;
      const std::size_t free = remaining();
      calm = ledger_.deletes() == 0 && removals_ == 0;
      if (free == 0 && calm && polls_ == 0 && end_wanted_ && !ledger_.has_waiting()) {
        // Nothing more can come before something is settled.
        reach_end();
      }
      if (free == 0 || polls_ >= wanted_polls_) return;
      most = std::min(free, core::kSqsBatch);
      changes = changes_;
    }
    const auto wait =
        options_.follow ? std::chrono::floor<seconds>(spec_.wait) : seconds(kShortWait);
    ++polls_;
    asked_ += most;
    polls_end_ = now() + wait + kAnswerPatience;
    client_.call("ReceiveMessage", receive_request(spec_, most, wait), wait + kAnswerPatience,
                 [this, most, changes, calm, asked = now()](Result<std::string> answer) {
                   --polls_;
                   asked_ -= most;
                   if (!answer) {
                     return note_failure(CallKind::kReceive, std::move(answer.error()));
                   }
                   note_success(CallKind::kReceive);
                   take_messages(*answer, changes, calm, asked);
                 });
  }
}

void SqsSource::take_messages(const std::string& answer, std::uint64_t changes, bool calm,
                              TimePoint asked) {
  std::vector<ReceivedMessage> messages = read_messages(answer);
  if (messages.size() >= core::kSqsBatch) {
    wanted_polls_ = std::min(wanted_polls_ + 1, kMostPolls);
  } else {
    wanted_polls_ = std::max<std::size_t>(wanted_polls_ - 1, 1);
  }
  const system::MutexLock lock(mutex_);
  if (messages.empty()) {
    // Another poll may have been answered already.
    const bool same = calm && polls_ == 0 && changes == changes_ && !ledger_.has_waiting();
    // A long poll that began after the last change has found nothing.
    if (end_wanted_ && same) reach_end();
    pauses_.put_off(CallKind::kReceive, asked + kBetweenEmptyPolls);
    return;
  }
  const bool told = ledger_.has_waiting();
  for (ReceivedMessage& message : messages) {
    note_receives(message.receives, message.arrival->position);
    message.arrival->suspect = message.receives > 1;
    ledger_.arrived(std::move(message.arrival), std::move(message.receipt), now());
    ++changes_;
  }
  if (!renewal_due_) renewal_due_ = ledger_.renewal_due();
  if (!told) event_.signal();
}

void SqsSource::note_receives(std::int64_t receives, const std::string& message) {
  if (!redrive_ || receives < redrive_->most_receives || receives < 2) return;
  if (std::exchange(told_of_last_, true)) return;
  notice(fmt::format(
      "message {} of queue {} was received {} times: if it comes back once more, SQS gives it to "
      "{}, and no record says so",
      message, spec_.queue.name, receives, redrive_->target));
}

void SqsSource::remove(bool all) {
  while (removals_ < kMostRemovals && may_call(CallKind::kDelete)) {
    std::vector<std::string> receipts;
    {
      const system::MutexLock lock(mutex_);
      if (all || ack_pace_.are_due(ledger_.deletes(), now())) {
        receipts = ledger_.take_deletes();
      }
    }
    if (receipts.empty()) return;
    ++removals_;
    removing_ += receipts.size();
    const std::string request = delete_request(spec_, receipts);
    client_.call("DeleteMessageBatch", request, kAnswerPatience,
                 [this, kept = std::move(receipts)](const Result<std::string>& answer) mutable {
                   removed(std::move(kept), answer);
                 });
  }
}

void SqsSource::removed(std::vector<std::string> receipts, const Result<std::string>& answer) {
  --removals_;
  removing_ -= receipts.size();
  if (!answer) return not_removed(std::move(receipts), answer.error());
  const std::vector<FailedEntry> failed = read_failed(*answer);
  const auto comes_again = [](const FailedEntry& entry) { return !is_of_receipt(entry.code); };
  if (std::ranges::any_of(failed, comes_again)) {
    pauses_.failed(CallKind::kDelete, now(), environment_.random->next());
  } else {
    note_success(CallKind::kDelete);
  }
  std::vector<std::string> again;
  bool throttled = false;
  const system::MutexLock lock(mutex_);
  ++changes_;
  for (const FailedEntry& entry : failed) {
    if (entry.place >= receipts.size()) continue;
    if (!comes_again(entry)) {
      note_expired(fmt::format("{} ({})", entry.said, entry.code));
      continue;
    }
    again.push_back(std::move(receipts[entry.place]));
    throttled = throttled || is_throttled(entry.code, 0);
  }
  ledger_.put_back(std::move(again));
  if (throttled) ++throttled_;
}

// A receipt that the service refuses must not prevent the deletion of others.
void SqsSource::not_removed(std::vector<std::string> receipts, const Error& error) {
  const bool of_request = error.code == "R395" || error.code == "R398";
  const bool dropped = error.code == "R395" && receipts.size() == 1;
  {
    const system::MutexLock lock(mutex_);
    ++changes_;
    if (dropped) {
      note_expired(error.message);
    } else if (of_request) {
      ledger_.put_back_alone(std::move(receipts));
    } else {
      ledger_.put_back(std::move(receipts));
    }
  }
  // With R395, the next attempt sends a different request.
  if (error.code != "R395") note_failure(CallKind::kDelete, error);
}

void SqsSource::note_expired(const std::string& said) {
  ++expired_;
  if (std::exchange(told_of_expired_, true)) return;
  warn("R395", fmt::format("a message of queue {} was not deleted: {}; it comes again, and is a "
                           "duplicate then",
                           spec_.queue.name, said));
}

// An open poll may still bring some.
void SqsSource::step_aside() {
  const system::MutexLock lock(mutex_);
  if (aside_) ledger_.let_go();
}

void SqsSource::hand_back() {
  while (renewals_ < kMostRenewals && may_call(CallKind::kRenew)) {
    std::vector<std::string> receipts;
    {
      const system::MutexLock lock(mutex_);
      receipts = ledger_.take_forgotten();
    }
    if (receipts.empty()) return;
    show_again(std::move(receipts), renewals_);
  }
}

void SqsSource::show_again(std::vector<std::string> receipts, std::size_t& under_way) {
  std::vector<Hiding> entries;
  for (std::string& receipt : receipts) entries.push_back({std::move(receipt), seconds(0)});
  ++under_way;
  client_.call("ChangeMessageVisibilityBatch", hide_request(spec_, entries), kAnswerPatience,
               [&under_way](const Result<std::string>&) { --under_way; });
}

void SqsSource::renew() {
  while (renewals_ < kMostRenewals && renewal_due_ && now() >= *renewal_due_ &&
         may_call(CallKind::kRenew)) {
    std::vector<Ledger::Renewal> batch;
    {
      const system::MutexLock lock(mutex_);
      batch = ledger_.take_renewals(now());
      renewal_due_ = ledger_.renewal_due();
    }
    if (batch.empty()) continue;
    std::vector<Hiding> entries;
    for (const Ledger::Renewal& one : batch) {
      entries.push_back({one.receipt, std::chrono::ceil<seconds>(one.by)});
    }
    ++renewals_;
    client_.call("ChangeMessageVisibilityBatch", hide_request(spec_, entries), kAnswerPatience,
                 [this, kept = std::move(batch), begun = now()](Result<std::string> answer) {
                   --renewals_;
                   renewed(kept, begun, answer);
                   if (answer) return note_success(CallKind::kRenew);
                   if (answer.error().code == "R395") return;  // the next try is another request
                   note_failure(CallKind::kRenew, std::move(answer.error()));
                 });
  }
}

void SqsSource::renewed(const std::vector<Ledger::Renewal>& batch, TimePoint begun,
                        const Result<std::string>& answer) {
  using Renewed = Ledger::Renewed;
  std::vector<Renewed> how(batch.size(), renewed_by(answer, batch.size()));
  bool throttled = false;
  if (answer) {
    for (const FailedEntry& entry : read_failed(*answer)) {
      if (entry.place >= how.size()) continue;
      how[entry.place] = is_of_receipt(entry.code) ? Renewed::kGone : Renewed::kNotNow;
      throttled = throttled || is_throttled(entry.code, 0);
    }
  }
  const system::MutexLock lock(mutex_);
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const bool open = ledger_.renewed(batch[i], how[i], begun, now());
    if (open && how[i] == Renewed::kGone) ++expired_;
  }
  if (throttled) ++throttled_;
  renewal_due_ = ledger_.renewal_due();
}

void SqsSource::note_success(CallKind kind) {
  pauses_.answered(kind);
  not_there_ = 0;
  told_failing_.erase(kind);
  const system::MutexLock lock(mutex_);
  if (away_ && (kind == away_for_ || kind == CallKind::kReceive)) {
    away_.reset();
    event_.signal();
  }
  if (client_.skew() == told_skew_) return;
  told_skew_ = client_.skew();
  warn("R399",
       fmt::format("this machine's clock is {} s {} that of SQS; requests are signed with "
                   "the time of SQS",
                   std::abs(told_skew_.count()), told_skew_.count() > 0 ? "behind" : "before"));
}

void SqsSource::note_failure(CallKind kind, Error error) {
  const bool counts = pauses_.failed(kind, now(), environment_.random->next());
  const system::MutexLock lock(mutex_);
  if (error.code == "R396") ++throttled_;
  if (stop_) return;
  if (error.kind != ErrorKind::kUnavailable) {
    // For a moment after a queue is recreated, the service does not know it.
    const bool perhaps =
        client_.known() && error.code == "R394" && (!counts || ++not_there_ < kLooksForQueue);
    if (perhaps) return;
    ended_ = true;
    return set_final(std::move(error));
  }
  if (pauses_.failures(kind) < kTriesBeforeAway) return;
  const bool goes_on = kind == CallKind::kDelete || kind == CallKind::kRenew;
  if (goes_on && !is_of_all(error)) {
    // Messages are still received, so this is no outage, but operators must be told.
    if (!told_failing_.insert(kind).second) return;
    return warn(error.code.c_str(),
                fmt::format("{}; while that lasts, {}", error.message, meaning_of(kind)));
  }
  if (away_) return;
  away_for_ = kind;
  set_away(std::move(error));
}

milliseconds SqsSource::patience() {
  const TimePoint time = now();
  TimePoint until = time + kLongestPatience;
  const auto wait_for = [&](TimePoint at, CallKind kind) {
    until = std::min(until, std::max(at, pauses_.until(kind)));
  };
  if (!looked_) {
    if (!looking_ && !ended_) wait_for(time, CallKind::kLook);
  } else {
    if (!ended_ && !may_call(CallKind::kReceive)) wait_for(time, CallKind::kReceive);
    if (!may_call(CallKind::kDelete)) wait_for(time, CallKind::kDelete);
    if (renewal_due_ && renewals_ < kMostRenewals) wait_for(*renewal_due_, CallKind::kRenew);
    const auto removal_due = ack_pace_.due();
    if (removal_due && removals_ < kMostRemovals) wait_for(*removal_due, CallKind::kDelete);
  }
  {
    const system::MutexLock lock(mutex_);
    if (stop_ && !leaving_) return milliseconds(0);
  }
  return std::max(std::chrono::ceil<milliseconds>(until - time), milliseconds(0));
}

void SqsSource::leave() {
  TimePoint by{};
  {
    const system::MutexLock lock(mutex_);
    by = leave_by_.value_or(TimePoint{});
    if (by == TimePoint{}) return client_.give_up_all();
  }
  leaving_ = true;
  client_.look_no_more();
  pauses_.forget();
  // Messages of an aborted poll stay hidden for their time.
  const TimePoint polls_by = std::min(by, now() + kPollGrace);
  const bool soon = polls_end_ - kAnswerPatience <= polls_by;
  while (now() < by) {
    remove(true);
    bool told = removals_ == 0;
    {
      const system::MutexLock lock(mutex_);
      told = told && ledger_.deletes() == 0;
    }
    const bool polled = polls_ == 0 || !soon || now() >= polls_by;
    if (told && polled) break;
    // The error that ended the run may prevent deletions too: one attempt is enough.
    if (ended_ && pauses_.failures(CallKind::kDelete) > 0) break;
    client_.run(
        std::clamp(std::chrono::ceil<milliseconds>(by - now()), milliseconds(0), kLeaveStep));
  }
  client_.give_up_all();
  give_back(by);
}

void SqsSource::give_back(TimePoint by) {
  std::size_t under_way = 0;
  for (;;) {
    std::vector<std::string> receipts;
    if (under_way < kMostRemovals) {
      const system::MutexLock lock(mutex_);
      receipts = ledger_.take_open();
    }
    if (receipts.empty() && under_way == 0) return;
    if (now() >= by) break;
    if (receipts.empty()) {
      client_.run(std::clamp(std::chrono::ceil<milliseconds>(by - now()), milliseconds(0),
                             kLongestPatience));
      continue;
    }
    show_again(std::move(receipts), under_way);
  }
  client_.give_up_all();
}

}  // namespace semel::sqs
