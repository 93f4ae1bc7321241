// RecordInspector and DeadLetters over the state.
#include <algorithm>
#include <utility>

#include <semel/spi/record_machine.h>

#include "core/consumer_times.h"
#include "core/key_encoding.h"
#include "core/letter_life.h"
#include "stores/memory/state.h"
#include "system/mutex.h"

namespace semel::memory {
namespace {

RecordView view_of(const LiveRecord& live) {
  RecordView view = spi::view_of(live.id, *live.record);
  view.key = live.key;
  return view;
}

RecordView view_of(const KeyId& id, const spi::Record& record, const FinishedDetail* detail) {
  RecordView view;
  view.consumer = id.consumer();
  view.id = id;
  view.state = record.state;
  view.fingerprint = record.fingerprint;
  if (record.state == RecordState::kCompleted) view.completed_at = record.completed_at;
  if (detail == nullptr) return view;
  view.key = detail->key;
  view.attempt = detail->attempt;
  view.token = static_cast<std::uint64_t>(detail->token);
  view.outcome_unknown = detail->outcome_unknown;
  view.reason = detail->reason;
  view.error = detail->error;
  view.first_seen = detail->first_seen;
  view.result = detail->result;
  return view;
}

class Inspector final : public RecordInspector {
 public:
  explicit Inspector(State& state) : state_(state) {}

  Result<StoreTime> read_clock() override {
    const system::MutexLock lock(state_.mutex);
    return state_.now();
  }

  Result<std::optional<ConsumerNumber>> consumer(const std::string& name) override {
    const system::MutexLock lock(state_.mutex);
    const auto found = state_.numbers.find(name);
    if (found == state_.numbers.end()) return std::optional<ConsumerNumber>();
    return std::optional<ConsumerNumber>(found->second);
  }

  Result<std::vector<RecordView>> list(std::optional<ConsumerNumber> consumer,
                                       std::optional<RecordState> state,
                                       std::size_t limit) override {
    const system::MutexLock lock(state_.mutex);
    std::vector<RecordView> views;
    const auto wanted = [&](const KeyId& id, RecordState its_state) {
      return (!consumer || id.consumer() == *consumer) && (!state || its_state == *state);
    };
    state_.live.each([&](const LiveRecord& live) {
      if (live.record && wanted(live.id, live.record->state)) views.push_back(view_of(live));
    });
    if (state == RecordState::kDead) {
      const FinishedRecords* const finished = &state_.finished;
      finished->each_dead([&](const FinishedRecord& record, const FinishedDetail& detail) {
        if (!wanted(record.id, RecordState::kDead)) return;
        views.push_back(view_of(record.id, *finished->find(record.id, true), &detail));
      });
    }
    std::ranges::sort(views, [](const RecordView& a, const RecordView& b) {
      return std::pair(a.first_seen, a.id) < std::pair(b.first_seen, b.id);
    });
    if (views.size() > limit) views.resize(limit);
    const StoreTime now = state_.now();
    for (RecordView& view : views) view.read_at = now;
    return views;
  }

  Result<std::optional<RecordView>> show(const KeyId& id) override {
    const system::MutexLock lock(state_.mutex);
    std::optional<RecordView> view;
    if (const LiveRecord* live = state_.live.find(id); live != nullptr && live->record) {
      view = view_of(*live);
    } else if (const auto record = state_.finished.find(id, true)) {
      view = view_of(id, *record, state_.finished.detail(id));
    }
    if (view) view->read_at = state_.now();
    return view;
  }

  Result<bool> forget(const KeyId& id) override {
    const system::MutexLock lock(state_.mutex);
    return forget_locked(id);
  }

  Result<bool> forget_as(const KeyId& id, RecordState state, std::uint64_t token) override {
    const system::MutexLock lock(state_.mutex);
    return stands(id, state, token) ? forget_locked(id) : Result<bool>(false);
  }

  Result<std::vector<StoreFinding>> verify(bool) override {
    const system::MutexLock lock(state_.mutex);
    std::vector<ConsumerNumber> twice;
    const FinishedRecords* const finished = &state_.finished;
    state_.live.each([&](const LiveRecord& live) {
      if (live.record && finished->contains(live.id)) twice.push_back(live.id.consumer());
    });
    std::vector<StoreFinding> findings;
    for (const ConsumerNumber consumer : twice) {
      findings.push_back({true, "record.twice", "consumer " + state_.name_of(consumer),
                          "a record is finished and unfinished at once"});
    }
    return findings;
  }

  Result<bool> unlock(const KeyId& id) override {
    const system::MutexLock lock(state_.mutex);
    return reopen_record(state_, id, state_.now());
  }
  Result<bool> unlock_as(const KeyId& id, RecordState state, std::uint64_t token) override {
    const system::MutexLock lock(state_.mutex);
    return stands(id, state, token) && reopen_record(state_, id, state_.now());
  }

  Result<std::optional<Lease>> seize(const KeyId& id, std::chrono::milliseconds lease) override {
    const system::MutexLock lock(state_.mutex);
    return seize_locked(id, lease);
  }
  Result<std::optional<Lease>> seize_as(const KeyId& id, RecordState state, std::uint64_t token,
                                        std::chrono::milliseconds lease) override {
    const system::MutexLock lock(state_.mutex);
    return stands(id, state, token) ? seize_locked(id, lease) : std::optional<Lease>();
  }

  Result<StoreStats> stats() override;
  Result<StoreStats> backlog() override {
    auto stats = this->stats();
    if (stats) stats->generations.clear();
    return stats;
  }

 private:
  bool stands(const KeyId& id, RecordState state, std::uint64_t token)
      SEMEL_REQUIRES(state_.mutex) {
    const LiveRecord* live = state_.live.find(id);
    const auto record = live != nullptr ? live->record : state_.finished.find(id, true);
    if (!record || record->state != state) return false;
    return static_cast<std::uint64_t>(record->token) == token || state == RecordState::kCompleted;
  }

  std::optional<Lease> seize_locked(const KeyId& id, std::chrono::milliseconds lease)
      SEMEL_REQUIRES(state_.mutex) {
    LiveRecord* live = state_.live.find(id);
    const Nonce nonce = spi::draw_nonce(*state_.environment.random);
    if (live == nullptr || !live->record ||
        !spi::decide_seize(*live->record, nonce, lease, state_.now())) {
      return std::nullopt;
    }
    return Lease{id, live->record->token, nonce};
  }

  Result<bool> forget_locked(const KeyId& id) SEMEL_REQUIRES(state_.mutex) {
    bool there = state_.finished.erase(id);
    std::optional<std::int64_t> held;
    if (const LiveRecord* live = state_.live.find(id); live != nullptr && live->record) {
      if (live->record->state == RecordState::kConsuming &&
          live->record->lease_until > state_.now()) {
        return failure({ErrorKind::kBlocked, "R241",
                        "a running consumer holds this record: forgetting it now would let it "
                        "happen twice",
                        "stop the consumer, or wait for its lease to end"});
      }
      held = live->held;
      state_.live.erase(id);
      there = true;
    }
    if (held) state_.held.remove(RowTag{*held});
    if (there) state_.steps.erase(id);
    return there;
  }

  State& state_;
};

Result<StoreStats> Inspector::stats() {
  const system::MutexLock lock(state_.mutex);
  const StoreTime now = state_.now();
  StoreStats stats;
  stats.epoch = state_.epoch;
  stats.bytes = state_.live.bytes() + state_.finished.bytes();
  const auto oldest = state_.dead_letters.oldest();
  for (const auto& [number, consumer] : state_.consumers) {
    StoreStats::Consumer told;
    told.name = consumer.name;
    told.number = number;
    told.dead = state_.finished.count_dead(number);
    told.held = state_.held.count(number);
    told.dead_letters = state_.dead_letters.count(number);
    const auto died = oldest.find(number);
    if (died != oldest.end()) told.oldest_dead_letter = died->second;
    stats.consumers.push_back(std::move(told));
    // Memory has no generations: each consumer's completed records are reported as one.
    stats.generations.push_back({static_cast<std::int64_t>(number), true, consumer.ttl,
                                 state_.finished.count(number) - state_.finished.count_dead(number),
                                 state_.started_at});
  }
  state_.live.each([&](const LiveRecord& live) {
    if (!live.record) return;
    const auto told =
        std::ranges::find(stats.consumers, live.id.consumer(), &StoreStats::Consumer::number);
    if (told == stats.consumers.end()) return;
    core::note_change(*told, live.record->first_seen);
    const bool waits = live.record->state == RecordState::kConsuming ||
                       live.record->state == RecordState::kRetrying;
    if (waits) core::note_waiting(*told, live.record->first_seen);
    if (live.record->state == RecordState::kConsuming) {
      ++told->consuming;
      if (live.record->lease_until <= now) ++told->stuck;
    }
    if (live.record->state == RecordState::kRetrying) ++told->retrying;
    if (live.record->state == RecordState::kParked) ++told->parked;
  });
  return stats;
}

class DeadLetterBox final : public DeadLetters {
 public:
  explicit DeadLetterBox(State& state) : state_(state) {}

  Result<std::vector<DeadLetter>> list(const DeadLetterFilter& filter) override {
    const system::MutexLock lock(state_.mutex);
    return state_.dead_letters.list(filter);
  }

  Result<std::optional<DeadLetter>> show(std::int64_t id) override {
    const system::MutexLock lock(state_.mutex);
    const DeadLetterRow* row = state_.dead_letters.find(id);
    if (row == nullptr) return std::optional<DeadLetter>();
    return std::optional<DeadLetter>(row->letter);
  }

  Result<ReplayReport> replay(std::span<const std::int64_t> ids) override {
    const system::MutexLock lock(state_.mutex);
    const StoreTime now = state_.now();
    ReplayReport report;
    for (const std::int64_t id : ids) replay_one(id, now, report);
    return report;
  }

  Result<std::size_t> discard(std::span<const std::int64_t> ids) override {
    const system::MutexLock lock(state_.mutex);
    std::size_t discarded = 0;
    for (const std::int64_t id : ids) discarded += state_.dead_letters.discard(id) ? 1U : 0U;
    return discarded;
  }

  Result<Edited> edit(const LetterEdit& edit) override;
  Result<bool> replaces(const KeyId& record, BytesView key, const Fingerprint& now,
                        const Fingerprint& original) override;
  Result<AddReport> add(std::span<const ForeignLetter> letters) override;
  Result<ExpiryReport> expire(std::span<const LetterLife> lives, std::int64_t after,
                              std::size_t most) override;

 private:
  void replay_one(std::int64_t id, StoreTime now, ReplayReport& report)
      SEMEL_REQUIRES(state_.mutex) {
    DeadLetterRow* dead = state_.dead_letters.find(id);
    using enum ReplayReport::Result;
    if (dead == nullptr) return report.note(id, kMissing);
    const KeyId& key = dead->key_id;
    const LiveRecord* live = state_.live.find(key);
    std::optional<spi::Record> record;
    if (live != nullptr) {
      record = live->record;
    } else {
      record = state_.finished.find(key, false);
    }
    if (record && !spi::same_fingerprint(record->fingerprint, dead->letter.fingerprint)) {
      report.note(id, kSkippedConflict);
    } else if (record && record->state == RecordState::kCompleted) {
      report.note(id, kSkippedCompleted);
    } else if (record && reopen_record(state_, key, now)) {
      report.note(id, kReplayed);
    } else {
      // No record, or one in progress: a separate copy is handled like any other message.
      ++dead->letter.replayed;
      state_.held.add(row_of(*dead, now));
      report.note(id, kReplayed);
    }
  }

  State& state_;
};

Result<Edited> DeadLetterBox::edit(const LetterEdit& edit) {
  const system::MutexLock lock(state_.mutex);
  const DeadLetterRow* dead = state_.dead_letters.find(edit.id);
  if (dead == nullptr) return Edited::kMissing;
  if (!spi::is_as_seen(dead->letter, edit)) return Edited::kMoved;
  const KeyId key = dead->key_id;
  const LiveRecord* live = state_.live.find(key);
  const auto record = live != nullptr ? live->record : state_.finished.find(key, false);
  if (record) {
    const Edited answer = spi::decide_edit(*record, edit.before);
    if (answer != Edited::kYes) return answer;
  }
  if (!state_.dead_letters.edit(edit)) return Edited::kTwin;
  if (record) state_.finished.set_fingerprint(key, edit.fingerprint);
  return Edited::kYes;
}

Result<bool> DeadLetterBox::replaces(const KeyId& record, BytesView, const Fingerprint& now,
                                     const Fingerprint& original) {
  const system::MutexLock lock(state_.mutex);
  const DeadLetterRow* dead = state_.dead_letters.find(record, now);
  return dead != nullptr && dead->original == original;
}

Result<AddReport> DeadLetterBox::add(std::span<const ForeignLetter> letters) {
  const system::MutexLock lock(state_.mutex);
  for (const ForeignLetter& foreign : letters) {
    if (state_.numbers.contains(foreign.letter.consumer)) continue;
    return failure({ErrorKind::kRejected, "",
                    "the store knows no consumer \"" + foreign.letter.consumer + "\"",
                    "semel store init makes the consumers of the config known"});
  }
  AddReport report;
  for (const ForeignLetter& foreign : letters) {
    DeadLetterRow row;
    row.letter = foreign.letter;
    row.consumer = state_.numbers.find(row.letter.consumer)->second;
    row.key_id = foreign.record.value_or(core::encode_refused(
        row.consumer, row.letter.partition, row.letter.position, row.letter.payload));
    ++(state_.dead_letters.add(std::move(row)) ? report.added : report.present);
  }
  return report;
}

Result<ExpiryReport> DeadLetterBox::expire(std::span<const LetterLife> lives, std::int64_t after,
                                           std::size_t most) {
  const system::MutexLock lock(state_.mutex);
  const StoreTime now = state_.now();
  ExpiryReport report{std::vector<std::size_t>(lives.size()), 0};
  const auto rows = state_.dead_letters.next(after, most);
  if (rows.size() == most) report.next = rows.back()->letter.id;
  for (const DeadLetterRow* row : rows) {
    const auto life = core::outlived(lives, row->consumer, row->letter.dead_at, now);
    if (!life) continue;
    const LiveRecord* live = state_.live.find(row->key_id);
    const bool busy =
        live != nullptr && live->record &&
        core::in_hand(live->record->state, live->record->fingerprint, row->letter.fingerprint);
    if (!busy && state_.dead_letters.discard(row->letter.id)) ++report.removed[*life];
  }
  return report;
}

}  // namespace

HeldRow row_of(const DeadLetterRow& dead, StoreTime due) {
  const DeadLetter& letter = dead.letter;
  HeldRow row;
  row.consumer = dead.consumer;
  row.due = due;
  row.first_seen = letter.first_seen;
  row.content.payload = letter.payload;
  row.content.headers = letter.headers;
  row.content.content_type = letter.content_type;
  row.content.type = letter.type;
  row.content.partition = letter.partition;
  row.content.position = letter.position;
  // Without a key of its own the consumer's recipe looks for one again.
  if (!letter.key.empty()) {
    row.content.key = letter.key;
    row.content.fingerprint = letter.fingerprint;
  }
  return row;
}

bool reopen_record(State& state, const KeyId& id, StoreTime now) {
  if (LiveRecord* live = state.live.find(id); live != nullptr) {
    if (!live->record || !spi::decide_unlock(*live->record, now)) return false;
    if (live->held) {
      HeldMove shown;
      shown.due = now;
      shown.first_seen = live->record->first_seen;
      live->held = state.held.move(RowTag{*live->held}, shown);
    }
    return true;
  }
  auto record = state.finished.find(id, true);
  if (!record || !spi::decide_unlock(*record, now)) return false;
  const Bytes key = state.finished.detail(id)->key;
  state.finished.erase(id);
  DeadLetterRow* dead = state.dead_letters.find(id, record->fingerprint);
  LiveRecord& live = state.live.insert(id, key);
  live.record = std::move(record);
  if (dead != nullptr) {
    ++dead->letter.replayed;
    live.held = state.held.add(row_of(*dead, now));
  }
  return true;
}

std::unique_ptr<DeadLetters> make_dead_letters(State& state) {
  return std::make_unique<DeadLetterBox>(state);
}
std::unique_ptr<RecordInspector> make_inspector(State& state) {
  return std::make_unique<Inspector>(state);
}

}  // namespace semel::memory
