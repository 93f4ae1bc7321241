#include "stores/sql/inspector.h"

#include <utility>

#include "stores/sql/consumer_stats.h"
#include "stores/sql/operator.h"
#include "stores/sql/transacted.h"

namespace semel::sql {
namespace {

// A generation with more records is not counted but told as the server knows it.
constexpr std::size_t kCounted = 1'000'000;

RecordView view_of(const KeyId& id, RecordRow row) {
  RecordView view = core::view_of(id, std::move(row.record));
  view.key = std::move(row.key);
  return view;
}

void forget_row(Tables& tables, const KeyId& id, const RecordRow& row, StoreTime now) {
  if (row.record.state == RecordState::kConsuming && row.record.lease_until > now) {
    fail({ErrorKind::kBlocked, "R241",
          "a running consumer holds this record: forgetting it now would let it happen twice",
          "stop the consumer, or wait for its lease to end"});
  }
  if (row.held) tables.held.take_out(RowTag{*row.held});
  tables.records.erase(id);
  tables.steps.forget(id);
  if (row.inbox) tables.inbox.remove(*row.inbox);
}

std::int64_t one_of(Answer answer) { return answer.next() ? answer.integer(0) : 0; }

class ServerInspector final : public RecordInspector {
 public:
  ServerInspector(const Core& core, const InspectorTexts& texts, Facts& facts, Random& random)
      : core_(core), texts_(texts), facts_(facts), random_(random) {}

  Result<std::optional<ConsumerNumber>> consumer(const std::string& name) override {
    return contained([&] {
      Lent lent(core_.pool);
      const auto row = Consumers(*lent, core_.texts.consumers).find(name);
      return row ? std::optional(row->number) : std::nullopt;
    });
  }

  Result<std::vector<RecordView>> list(std::optional<ConsumerNumber> consumer,
                                       std::optional<RecordState> state,
                                       std::size_t limit) override {
    return contained([&] {
      Lent lent(core_.pool);
      std::vector<RecordView> views;
      for (auto& [id, row] : RecordRows(*lent, core_.texts.records).list(consumer, state, limit)) {
        views.push_back(view_of(id, std::move(row)));
      }
      return views;
    });
  }

  Result<std::optional<RecordView>> show(const KeyId& id) override {
    return contained([&]() -> std::optional<RecordView> {
      Lent lent(core_.pool);
      Tables tables = core_.tables(*lent);
      auto row = tables.records.find(id, Lock::kNone);
      if (!row) return std::nullopt;
      const auto inbox = row->inbox;
      RecordView view = view_of(id, *std::move(row));
      const bool completed = view.state == RecordState::kCompleted;
      if (completed && inbox && view.result.empty()) view.result = tables.inbox.result_of(*inbox);
      return view;
    });
  }

  Result<bool> forget(const KeyId& id) override {
    return contained([&] {
      return transacted(core_.pool, [&](Work& work) {
        Tables tables = core_.tables(work.session());
        const auto row = tables.records.find(id, Lock::kForUpdate);
        if (row) forget_row(tables, id, *row, work.now());
        return row.has_value();
      });
    });
  }

  Result<bool> forget_as(const KeyId& id, RecordState state, std::uint64_t token) override {
    return contained([&] {
      return transacted(core_.pool, [&](Work& work) {
        Tables tables = core_.tables(work.session());
        const auto row = tables.records.find(id, Lock::kForUpdate);
        if (!row) return false;
        const RecordView view = view_of(id, *row);
        if (view.state != state || view.token != token) return false;
        forget_row(tables, id, *row, work.now());
        return true;
      });
    });
  }

  Result<bool> unlock(const KeyId& id) override {
    return contained([&] {
      return transacted(core_.pool, [&](Work& work) {
        Tables tables = core_.tables(work.session());
        return reopen_record(tables, id, work.now());
      });
    });
  }

  Result<std::optional<Lease>> seize(const KeyId& id, std::chrono::milliseconds lease) override {
    return contained([&] {
      return transacted(core_.pool, [&](Work& work) {
        Tables tables = core_.tables(work.session());
        return seize_record(tables, id, core::draw_nonce(random_), lease, work.now());
      });
    });
  }

  Result<std::vector<StoreFinding>> verify(bool full) override {
    return contained([&] {
      Lent lent(core_.pool);
      auto findings = facts_.verify(*lent, full);
      Tables tables = core_.tables(*lent);
      for (StoreFinding& finding : verify_in(tables, *lent, texts_.verify, full)) {
        findings.push_back(std::move(finding));
      }
      return findings;
    });
  }

  Result<StoreStats> stats() override { return stats_with(true); }
  Result<StoreStats> backlog() override { return stats_with(false); }

 private:
  Result<StoreStats> stats_with(bool generations) {
    return contained([&] {
      Lent lent(core_.pool);
      Tables tables = core_.tables(*lent);
      StoreStats stats;
      stats.schema_version = static_cast<int>(one_of(lent->ask(texts_.version, {})));
      stats.epoch = static_cast<std::uint64_t>(one_of(lent->ask(texts_.epoch, {})));
      stats.bytes = facts_.bytes(*lent);
      add_consumers(tables, stats);
      note_counts(tables.records.counts(), stats);
      if (generations) count_generations(*lent, stats);
      note_running(core_.instances.gone(*lent), tables.runs.running(), stats);
      return stats;
    });
  }

  void count_generations(Session& session, StoreStats& stats) {
    Answer answer = session.ask(texts_.generations, {});
    bool unread = false;
    while (answer.next()) {
      StoreStats::Generation told;
      told.number = answer.integer(0);
      if (!answer.null(1)) told.ttl = std::chrono::milliseconds(answer.integer(1));
      told.active = answer.bytes(2) == "active";
      told.created_at = answer.time(3);
      told.records = facts_.about_records(session, told.number).value_or(0);
      const bool counted = told.records <= kCounted;
      if (counted) told.records = count_completed(session, told.number, stats);
      // A record that is not read may be newer than one that is.
      unread = unread || (!counted && told.active);
      stats.generations.push_back(told);
    }
    if (!unread) return;
    for (StoreStats::Consumer& one : stats.consumers) one.last_change.reset();
  }

  std::size_t count_completed(Session& session, std::int64_t generation, StoreStats& stats) {
    std::size_t count = 0;
    Answer answer = session.ask(texts_.completed, {generation});
    while (answer.next()) {
      KeyId head;
      answer.bytes(0).copy(reinterpret_cast<char*>(head.bytes.data()), head.bytes.size());
      count += static_cast<std::size_t>(answer.integer(1));
      auto* const told = consumer_in(stats, head.consumer());
      if (told != nullptr) core::note_change(*told, answer.maybe_time(2));
    }
    return count;
  }

  const Core core_;
  const InspectorTexts& texts_;
  Facts& facts_;
  Random& random_;
};

}  // namespace

InspectorTexts::InspectorTexts(const Dialect& dialect)
    : version(dialect, "SELECT max(version) FROM semel_schema"),
      epoch(dialect, "SELECT epoch FROM semel_meta"),
      generations(dialect,
                  "SELECT number, ttl, state, created_at FROM semel_generation "
                  "ORDER BY number DESC"),
      completed(dialect,
                "SELECT substr(id, 1, 4), count(*), max(changed_at) FROM semel_record "
                "WHERE generation = ?1 AND state = 'completed' GROUP BY substr(id, 1, 4)"),
      verify(dialect) {}

std::unique_ptr<RecordInspector> make_inspector(const Core& core, const InspectorTexts& texts,
                                                Facts& facts, Random& random) {
  return std::make_unique<ServerInspector>(core, texts, facts, random);
}

}  // namespace semel::sql
