// The thread of the SQS and SNS handlers: its requests and their answers.
#include <algorithm>
#include <iterator>
#include <utility>

#include "core/reconnect_pause.h"
#include "handlers/sqs/publisher.h"

namespace semel::sqs {

using std::chrono::milliseconds;

namespace {

constexpr std::size_t kMostRequests = 8;
constexpr milliseconds kFarewell{2'000};
// The least time that a service gets, however short the calls' own timeout is.
constexpr milliseconds kLeastPatience{1'000};
// A little less than the service remembers deduplication ids.
constexpr std::chrono::minutes kDropsRepeats{4};

}  // namespace

void SqsPublisher::send_waiting() {
  while (worth_a_request()) {
    Batch batch = take_batch();
    if (batch.tickets.empty()) return;  // all waiting messages are behind others of their groups
    send(std::move(batch));
  }
}

// A request costs as much with one message as with ten. While no request is under way, a message
// does not wait for others.
bool SqsPublisher::worth_a_request() const {
  if (waiting_.empty() || now() < not_before_) return false;
  return requests_ == 0 || (requests_ < kMostRequests && waiting_.size() >= core::kSqsBatch);
}

bool SqsPublisher::fits(const Call& call, const Batch& batch, std::size_t bytes) const {
  if (batch.tickets.empty()) return true;
  return !call.alone && bytes + call.entry.size <= core::kSqsUsualRequest;
}

SqsPublisher::Batch SqsPublisher::take_batch() {
  Batch batch;
  std::size_t bytes = 0;
  std::deque<Ticket> later;
  std::set<std::string> behind;  // an earlier message of these groups must go first
  bool full = false;
  for (auto at = waiting_.begin(); at != waiting_.end(); ++at) {
    Call* const call = calls_.find(*at);
    if (call == nullptr) continue;
    const std::string& group = call->entry.group;
    const bool waits = !group.empty() && (groups_.contains(group) || behind.contains(group));
    if (waits || !fits(*call, batch, bytes)) {
      later.push_back(*at);
      if (!group.empty()) behind.insert(group);
      // Without groups, no later message may overtake.
      full = full || (!waits && group.empty());
    } else {
      bytes += call->entry.size;
      call->sent = true;
      batch.tickets.push_back(*at);
      batch.deadline = std::max(batch.deadline, call->begun + spec_.timeout);
      if (!group.empty()) batch.groups.push_back(group);
      full = call->alone || batch.tickets.size() == core::kSqsBatch;
    }
    if (!full) continue;
    later.insert(later.end(), std::next(at), waiting_.end());
    break;
  }
  waiting_ = std::move(later);
  groups_.insert(batch.groups.begin(), batch.groups.end());
  return batch;
}

void SqsPublisher::send(Batch batch) {
  std::vector<OutgoingEntry> entries;
  for (const Ticket ticket : batch.tickets) {
    const Call& call = *calls_.find(ticket);
    entries.push_back({&call.entry, call.message.payload()});
  }
  std::string body = service_.request(entries);
  const auto left = std::chrono::ceil<milliseconds>(batch.deadline - now());
  ++requests_;
  if (!batch.again) batch.sent_at = now();
  client_.call(
      service_.action, std::move(body), std::max(left, kLeastPatience),
      Client::DoneWithAnswer([this, sent = std::move(batch)](const Client::Answer& answer) {
        answered(sent, answer);
      }));
}

void SqsPublisher::answered(const Batch& batch, const Client::Answer& answer) {
  --requests_;
  // Its groups are still taken.
  if (may_repeat(batch, answer)) {
    Batch repeated = batch;
    repeated.again = true;
    // However the repeat ends, the first request may have brought them there.
    for (const Ticket ticket : batch.tickets) calls_.find(ticket)->doubt = true;
    return send(std::move(repeated));
  }
  for (const std::string& group : batch.groups) groups_.erase(group);
  if (answer.body) return take_answer(batch, *answer.body);
  if (batch.tickets.size() > 1 && is_of_messages(answer.refusal)) return send_alone(batch);
  take_refusal(batch, answer);
}

// By HTTP a POST whose connection ended without an answer is repeated only where a repeat is known
// to change nothing: that is so under deduplication ids, while the service remembers them. An open
// connection that the service had just closed then costs no message.
bool SqsPublisher::may_repeat(const Batch& batch, const Client::Answer& answer) {
  if (answer.body || !answer.unknown || answer.refusal.status != 0 || batch.again) return false;
  if (now() >= batch.deadline || now() - batch.sent_at >= kDropsRepeats) return false;
  return std::ranges::all_of(batch.tickets, [this](Ticket ticket) {
    const Call* const call = calls_.find(ticket);
    return call != nullptr && !call->entry.deduplication.empty();
  });
}

bool SqsPublisher::in_doubt(Ticket ticket) const {
  const Call* const call = calls_.find(ticket);
  return call != nullptr && call->doubt;
}

void SqsPublisher::take_answer(const Batch& batch, const std::string& body) {
  const BatchAnswer read = service_.read(body);
  for (const TakenEntry& taken : read.taken) {
    if (taken.place >= batch.tickets.size()) continue;
    last_trouble_.clear();
    tries_ = 0;
    calls_.end(batch.tickets[taken.place], judge_taken(taken.message_id));
  }
  for (const RefusedEntry& refused : read.refused) {
    if (refused.place >= batch.tickets.size()) continue;
    const Ticket ticket = batch.tickets[refused.place];
    calls_.end(ticket, judge_entry(refused, in_doubt(ticket), service_));
  }
  // The answer does not name the remaining messages.
  for (const Ticket ticket : batch.tickets) calls_.end(ticket, not_named(service_));
}

void SqsPublisher::take_refusal(const Batch& batch, const Client::Answer& answer) {
  for (const Ticket ticket : batch.tickets) {
    calls_.end(ticket, judge_batch(answer, answer.unknown || in_doubt(ticket), service_));
  }
  const Judged judged = judge_batch(answer, answer.unknown, service_);
  if (judged.broker != Judged::Broker::kAtFault) return;
  last_trouble_ = judged.why;
  ++tries_;
  not_before_ = now() + core::pause_before(tries_, 1, environment_.random->next());
  // The waiting messages would be refused too.
  for (const Ticket ticket : std::exchange(waiting_, {})) {
    calls_.end(ticket, judge_batch(answer, in_doubt(ticket), service_));
  }
}

// One bad message must not cost its neighbours an attempt.
void SqsPublisher::send_alone(const Batch& batch) {
  std::deque<Ticket> again;
  for (const Ticket ticket : batch.tickets) {
    Call* const call = calls_.find(ticket);
    if (call == nullptr) continue;
    call->sent = false;
    call->alone = true;
    again.push_back(ticket);
  }
  waiting_.insert(waiting_.begin(), again.begin(), again.end());
}

void SqsPublisher::say_farewell() {
  client_.look_no_more();
  const TimePoint by = now() + kFarewell;
  while (requests_ > 0 && !calls_.empty() && now() < by) {
    client_.run(std::chrono::ceil<milliseconds>(by - now()));
  }
  client_.give_up_all();
  calls_.drop_all();
}

}  // namespace semel::sqs
