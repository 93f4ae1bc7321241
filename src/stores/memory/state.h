// The state of the memory store: one lock, and the small facets over it.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <semel/admin/audit.h>
#include <semel/admin/gates.h>
#include <semel/admin/records.h>
#include <semel/environment.h>
#include <semel/memory.h>
#include <semel/spi/finish_plan.h>
#include <semel/spi/held_messages.h>
#include <semel/spi/run_markers.h>
#include <semel/spi/step_store.h>
#include <semel/spi/store.h>

#include "stores/memory/dead_letter_rows.h"
#include "stores/memory/finished_records.h"
#include "stores/memory/held_rows.h"
#include "stores/memory/live_records.h"
#include "system/mutex.h"

namespace semel::memory {

struct Consumer {
  std::string name;
  Bytes recipe_hash;
  std::optional<std::chrono::milliseconds> ttl;
};

struct State {
  State(Environment& environment, std::size_t max_records);
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // The store's clock: the wall clock at the start, then the environment's elapsed time.
  StoreTime now() const noexcept;
  const std::string& name_of(ConsumerNumber number) const SEMEL_REQUIRES(mutex);

  mutable system::Mutex mutex;
  Environment& environment;
  const std::size_t max_records;
  const std::chrono::nanoseconds started;  // by Clock::elapsed
  const StoreTime started_at;
  const std::uint64_t epoch;
  std::uint64_t counter SEMEL_GUARDED_BY(mutex) = 0;  // of tokens, within the epoch

  std::map<ConsumerNumber, Consumer> consumers SEMEL_GUARDED_BY(mutex);
  std::map<std::string, ConsumerNumber, std::less<>> numbers SEMEL_GUARDED_BY(mutex);
  LiveRecords live SEMEL_GUARDED_BY(mutex);
  FinishedRecords finished SEMEL_GUARDED_BY(mutex);
  std::size_t forgotten SEMEL_GUARDED_BY(mutex) = 0;  // since the last purge, for lack of room
  HeldRows held SEMEL_GUARDED_BY(mutex);
  DeadLetterRows dead_letters SEMEL_GUARDED_BY(mutex);
  std::map<std::pair<ConsumerNumber, std::string>, Bytes> positions SEMEL_GUARDED_BY(mutex);
  std::set<std::pair<ConsumerNumber, std::string>> reserved SEMEL_GUARDED_BY(mutex);
  std::map<ConsumerNumber, ShutGate> gates SEMEL_GUARDED_BY(mutex);
  std::vector<AuditEntry> audit SEMEL_GUARDED_BY(mutex);  // in the order of their ids, from 1 on
  std::map<Nonce, std::int64_t> audit_requests SEMEL_GUARDED_BY(mutex);
  std::map<KeyId, StepJournal> steps SEMEL_GUARDED_BY(mutex);  // of records that are not completed
};

Applied apply_finish(State& state, const Finish& finish, StoreTime now) SEMEL_REQUIRES(state.mutex);

std::unique_ptr<HeldMessages> make_held(State& state);
std::unique_ptr<DeadLetters> make_dead_letters(State& state);
std::unique_ptr<RecordInspector> make_inspector(State& state);
std::unique_ptr<Positions> make_positions(State& state);
std::unique_ptr<Gates> make_gates(State& state);
std::unique_ptr<StepStore> make_steps(State& state);
std::unique_ptr<AuditLog> make_audit(State& state);

// Changes the journal of a record as the plan of its finish says.
void note_in_journal(State& state, const spi::FinishPlan& plan, const Finish& finish)
    SEMEL_REQUIRES(state.mutex);

// dead or parked → retrying, due now, its payload held where the store has it.
bool reopen_record(State& state, const KeyId& id, StoreTime now) SEMEL_REQUIRES(state.mutex);
HeldRow row_of(const DeadLetterRow& dead, StoreTime due);
HeldRow row_of(const Message& message, const Arrival* arrival);
HeldRow row_of(ConsumerNumber consumer, const OutgoingMessage& message, StoreTime now);

}  // namespace semel::memory
