// InFlightCalls: the calls of an asynchronous handler that are not answered yet.
//
// Any thread begins calls, and any thread may stop their attempts. The handler's own thread, the
// server, makes the calls and takes the news from here: which calls began, which were stopped,
// which are late, and that the handler must end. The thread that begins a call wakes the server; a
// stop does so by `on_stop`. The thread that takes a call out of the table answers it, so it is
// answered once.
//
// The table numbers the calls in the order in which they begin. Its breaker uses these numbers.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <utility>
#include <vector>

#include <semel/handler.h>

#include "core/breaker.h"
#include "core/judged.h"
#include "system/mutex.h"

namespace semel::handlers {

// For publishers: a call that begins while the broker is away waits for it by itself, so the gate
// is tried soon.
inline constexpr core::Breaker::Options kPublisherPatience{.longest = std::chrono::seconds(10)};

class InFlightTable;

// One call. A handler derives its own type. Message and attempt are borrowed until the answer.
class InFlightCall {
 public:
  using Ticket = core::Breaker::Ticket;
  using TimePoint = std::chrono::steady_clock::time_point;

  InFlightCall(const Message& m, const Attempt& a, Completion completion, TimePoint now)
      : message(m), attempt(a), begun(now), completion_(std::move(completion)) {}
  virtual ~InFlightCall() = default;
  InFlightCall(const InFlightCall&) = delete;
  InFlightCall& operator=(const InFlightCall&) = delete;

  const Message& message;
  const Attempt& attempt;
  const TimePoint begun;
  // Zero before it has one.
  Ticket ticket() const noexcept { return ticket_; }
  std::chrono::milliseconds took(TimePoint now) const noexcept {
    return std::chrono::duration_cast<std::chrono::milliseconds>(now - begun);
  }

 private:
  friend class InFlightTable;
  struct Stop {
    InFlightTable* table;
    Ticket call;
    void operator()() const noexcept;
  };

  Completion completion_;
  Ticket ticket_ = 0;
  TimePoint deadline_ = TimePoint::max();  // under the table's lock
  std::optional<std::stop_callback<Stop>> on_stop_;
};

// The table without the calls' own type. Thread-safe.
class InFlightTable {
 public:
  using Ticket = InFlightCall::Ticket;
  using TimePoint = InFlightCall::TimePoint;
  static constexpr TimePoint kNever = TimePoint::max();

  // `on_stop` wakes the server. Called from any thread, without this table's lock.
  explicit InFlightTable(std::function<void()> on_stop, core::Breaker::Options patience = {});
  // As drop_all(). No thread may begin or stop a call any more.
  ~InFlightTable() { drop_all(); }
  InFlightTable(const InFlightTable&) = delete;
  InFlightTable& operator=(const InFlightTable&) = delete;

  // Adds a call for the server to make.
  void begin(std::unique_ptr<InFlightCall> call, TimePoint deadline = kNever)
      SEMEL_EXCLUDES(mutex_);
  // The two halves of begin(), for a thread that makes its call itself in between; such a call is
  // no news. If a stop comes before add(), that returns true, and the caller must wake the server.
  void number(InFlightCall& call) SEMEL_EXCLUDES(mutex_);
  [[nodiscard]] bool add(std::unique_ptr<InFlightCall> call, TimePoint deadline = kNever)
      SEMEL_EXCLUDES(mutex_);
  // Tells the server to end.
  void close() SEMEL_EXCLUDES(mutex_);

  // Everything since the last take. Calls in it may have been answered meanwhile.
  struct News {
    std::vector<Ticket> begun;
    std::vector<Ticket> stopped;
    bool closing = false;
    bool any() const noexcept { return closing || !begun.empty() || !stopped.empty(); }
  };
  News take_news() SEMEL_EXCLUDES(mutex_);
  bool has_news() const SEMEL_EXCLUDES(mutex_);
  bool closing() const SEMEL_EXCLUDES(mutex_);

  void set_deadline(InFlightCall& call, TimePoint deadline) SEMEL_EXCLUDES(mutex_);
  // The earliest deadline; kNever: no call has one.
  TimePoint next_deadline() const SEMEL_EXCLUDES(mutex_);
  // Calls whose deadline has passed, the earliest first. They have no deadline any more.
  std::vector<Ticket> take_late(TimePoint now) SEMEL_EXCLUDES(mutex_);

  std::size_t size() const SEMEL_EXCLUDES(mutex_);
  bool empty() const SEMEL_EXCLUDES(mutex_) { return size() == 0; }

  // Answers a call that was taken out, or never added. The call is destroyed before its completion
  // is called, because message and attempt may be gone with the answer. Throws what the completion
  // throws.
  void answer(std::unique_ptr<InFlightCall> call, Verdict verdict);
  // The same, after telling breaker and gate what the answer says of the broker.
  void answer(std::unique_ptr<InFlightCall> call, core::Judged judged) SEMEL_EXCLUDES(mutex_);
  // Takes the call out and answers it. False: it was answered before.
  bool end(Ticket ticket, core::Judged judged) SEMEL_EXCLUDES(mutex_);
  // Drops the remaining calls: their completions report that the outcome is unknown.
  void drop_all() noexcept SEMEL_EXCLUDES(mutex_);

  // Runs `use` with the breaker and returns its result. `use` must not call back.
  template <class Use>
  auto with_breaker(Use use) SEMEL_EXCLUDES(mutex_) {
    const system::MutexLock lock(mutex_);
    return use(breaker_);
  }

 protected:
  std::unique_ptr<InFlightCall> take_any(Ticket ticket) SEMEL_EXCLUDES(mutex_);
  InFlightCall* find_any(Ticket ticket) const SEMEL_EXCLUDES(mutex_);
  std::vector<InFlightCall*> all_of_them() const SEMEL_EXCLUDES(mutex_);

 private:
  friend struct InFlightCall::Stop;
  using Calls = std::map<Ticket, std::unique_ptr<InFlightCall>>;

  void stop(Ticket call) noexcept SEMEL_EXCLUDES(mutex_);
  void note_deadline(InFlightCall& call, TimePoint deadline) SEMEL_REQUIRES(mutex_);
  bool insert(std::unique_ptr<InFlightCall> call, TimePoint deadline) SEMEL_REQUIRES(mutex_);

  const std::function<void()> on_stop_;
  mutable system::Mutex mutex_;
  Calls calls_ SEMEL_GUARDED_BY(mutex_);
  std::set<std::pair<TimePoint, Ticket>> deadlines_ SEMEL_GUARDED_BY(mutex_);
  News news_ SEMEL_GUARDED_BY(mutex_);
  core::Breaker breaker_ SEMEL_GUARDED_BY(mutex_);
};

// The calls of one handler. A pointer to a call is valid until the call is taken out, so only the
// thread that takes calls may use one.
template <class Call>
class InFlightCalls final : public InFlightTable {
 public:
  using InFlightTable::InFlightTable;

  // Null: it was taken before. The thread that takes a call answers it.
  std::unique_ptr<Call> take(Ticket ticket) {
    return std::unique_ptr<Call>(static_cast<Call*>(take_any(ticket).release()));
  }
  // Null: it was taken out.
  Call* find(Ticket ticket) const { return static_cast<Call*>(find_any(ticket)); }
  // In the order in which they began.
  std::vector<Call*> all() const {
    std::vector<Call*> made;
    for (InFlightCall* const call : all_of_them()) made.push_back(static_cast<Call*>(call));
    return made;
  }
};

}  // namespace semel::handlers
