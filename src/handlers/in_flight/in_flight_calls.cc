#include "handlers/in_flight/in_flight_calls.h"

#include <functional>
#include <utility>

#include "core/verdict_details.h"

namespace semel::handlers {

void InFlightCall::Stop::operator()() const noexcept { table->stop(call); }

InFlightTable::InFlightTable(std::function<void()> on_stop, core::Breaker::Options patience)
    : on_stop_(std::move(on_stop)), breaker_(patience) {}

void InFlightTable::begin(std::unique_ptr<InFlightCall> call, TimePoint deadline) {
  number(*call);
  const system::MutexLock lock(mutex_);
  news_.begun.push_back(call->ticket_);
  insert(std::move(call), deadline);
}

// Register the callback without the lock: if a stop was requested before, it is called immediately.
void InFlightTable::number(InFlightCall& call) {
  {
    const system::MutexLock lock(mutex_);
    call.ticket_ = breaker_.begin();
  }
  call.on_stop_.emplace(call.attempt.stop, InFlightCall::Stop{this, call.ticket_});
}

bool InFlightTable::add(std::unique_ptr<InFlightCall> call, TimePoint deadline) {
  const system::MutexLock lock(mutex_);
  return insert(std::move(call), deadline);
}

bool InFlightTable::insert(std::unique_ptr<InFlightCall> call, TimePoint deadline) {
  InFlightCall& added = *call;
  // The callback may have come before the call was in the table.
  const bool stopped = added.attempt.stop.stop_requested();
  if (stopped) news_.stopped.push_back(added.ticket_);
  calls_.emplace(added.ticket_, std::move(call));
  note_deadline(added, deadline);
  return stopped;
}

void InFlightTable::stop(Ticket call) noexcept {
  {
    const system::MutexLock lock(mutex_);
    if (!calls_.contains(call)) return;
    news_.stopped.push_back(call);
  }
  on_stop_();
}

void InFlightTable::close() {
  const system::MutexLock lock(mutex_);
  news_.closing = true;
}

InFlightTable::News InFlightTable::take_news() {
  News taken;
  const system::MutexLock lock(mutex_);
  std::swap(taken, news_);
  news_.closing = taken.closing;
  return taken;
}

bool InFlightTable::has_news() const {
  const system::MutexLock lock(mutex_);
  return news_.any();
}

bool InFlightTable::closing() const {
  const system::MutexLock lock(mutex_);
  return news_.closing;
}

void InFlightTable::note_deadline(InFlightCall& call, TimePoint deadline) {
  if (call.deadline_ != kNever) deadlines_.erase({call.deadline_, call.ticket_});
  call.deadline_ = deadline;
  if (deadline != kNever) deadlines_.emplace(deadline, call.ticket_);
}

void InFlightTable::set_deadline(InFlightCall& call, TimePoint deadline) {
  const system::MutexLock lock(mutex_);
  note_deadline(call, deadline);
}

InFlightTable::TimePoint InFlightTable::next_deadline() const {
  const system::MutexLock lock(mutex_);
  return deadlines_.empty() ? kNever : deadlines_.begin()->first;
}

std::vector<InFlightTable::Ticket> InFlightTable::take_late(TimePoint now) {
  std::vector<Ticket> late;
  const system::MutexLock lock(mutex_);
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    late.push_back(deadlines_.begin()->second);
    note_deadline(*calls_.at(late.back()), kNever);
  }
  return late;
}

std::size_t InFlightTable::size() const {
  const system::MutexLock lock(mutex_);
  return calls_.size();
}

std::unique_ptr<InFlightCall> InFlightTable::take_any(Ticket ticket) {
  const system::MutexLock lock(mutex_);
  auto node = calls_.extract(ticket);
  if (node.empty()) return nullptr;
  note_deadline(*node.mapped(), kNever);
  return std::move(node.mapped());
}

InFlightCall* InFlightTable::find_any(Ticket ticket) const {
  const system::MutexLock lock(mutex_);
  const auto found = calls_.find(ticket);
  return found == calls_.end() ? nullptr : found->second.get();
}

std::vector<InFlightCall*> InFlightTable::all_of_them() const {
  std::vector<InFlightCall*> made;
  const system::MutexLock lock(mutex_);
  made.reserve(calls_.size());
  for (const auto& [ticket, call] : calls_) made.push_back(call.get());
  return made;
}

void InFlightTable::answer(std::unique_ptr<InFlightCall> call, Verdict verdict) {
  Completion completion = std::move(call->completion_);
  call.reset();
  completion(std::move(verdict));
}

void InFlightTable::answer(std::unique_ptr<InFlightCall> call, core::Judged judged) {
  const core::Breaker::MessageId message = std::hash<Bytes>{}(call->message.key().text);
  const auto news = with_breaker([&](core::Breaker& breaker) {
    return core::GateNews::of(breaker, call->ticket_, message, judged.broker);
  });
  if (news.own && judged.costs_alone) core::set_counted(judged.verdict, true);
  news.tell(call->attempt.gate, judged.why);
  answer(std::move(call), std::move(judged.verdict));
}

bool InFlightTable::end(Ticket ticket, core::Judged judged) {
  auto call = take_any(ticket);
  if (!call) return false;
  answer(std::move(call), std::move(judged));
  return true;
}

void InFlightTable::drop_all() noexcept {
  Calls left;
  const system::MutexLock lock(mutex_);
  left.swap(calls_);
  deadlines_.clear();
}

}  // namespace semel::handlers
