#include "stores/sql/inspector.h"

#include <utility>

#include "stores/sql/consumer_stats.h"
#include "stores/sql/findings.h"

namespace semel::sql {
namespace {

// Adds each consumer, with the counts of its held rows and dead letters.
void add_consumers(Access& access, StoreStats& stats) {
  SharedTables& tables = access.tables();
  for (auto& row : tables.consumers.all()) {
    StoreStats::Consumer told;
    told.name = std::move(row.name);
    told.number = row.number;
    const RecordLooks::Held held = access.looks().held(row.number);
    told.held = held.rows;
    told.dead_letters = tables.dead_letters.count(row.number);
    core::note_waiting(told, held.oldest);
    core::note_change(told, held.newest);
    const auto died = tables.dead_letters.times(row.number);
    told.oldest_dead_letter = died.first;
    core::note_change(told, died.last);
    stats.consumers.push_back(std::move(told));
  }
}

// Whether the record is still as an operator saw it; locks it.
bool stands(Records& records, const KeyId& id, RecordState state, std::uint64_t token) {
  const auto known = records.find(id);
  return known && known->record.state == state &&
         static_cast<std::uint64_t>(known->record.token) == token;
}

class TableInspector final : public RecordInspector {
 public:
  TableInspector(Database& database, const VerifyTexts& texts, StoreFacts& facts, Random& random)
      : database_(database), texts_(texts), facts_(facts), random_(random) {}

  Result<StoreTime> read_clock() override {
    return contained([&] { return database_.glance([](Access& access) { return access.now(); }); });
  }

  Result<std::optional<ConsumerNumber>> consumer(const std::string& name) override {
    return contained([&] {
      return database_.glance([&](Access& access) {
        const auto row = access.tables().consumers.find(name);
        return row ? std::optional(row->number) : std::nullopt;
      });
    });
  }

  Result<std::vector<RecordView>> list(std::optional<ConsumerNumber> consumer,
                                       std::optional<RecordState> state,
                                       std::size_t limit) override {
    return contained([&] {
      return database_.glance([&](Access& access) {
        auto views = access.looks().list(consumer, state, limit);
        if (!views.empty()) {
          const StoreTime now = access.now();
          for (RecordView& view : views) view.read_at = now;
        }
        return views;
      });
    });
  }

  Result<std::optional<RecordView>> show(const KeyId& id) override {
    return contained([&] {
      return database_.look([&](Access& access) {
        auto view = access.looks().show(id);
        if (view) view->read_at = access.now();
        return view;
      });
    });
  }

  Result<bool> forget(const KeyId& id) override {
    return change([&](Records& records, StoreTime now) { return records.forget(id, now); });
  }

  Result<bool> forget_as(const KeyId& id, RecordState state, std::uint64_t token) override {
    return change([&](Records& records, StoreTime now) {
      return stands(records, id, state, token) && records.forget(id, now);
    });
  }

  Result<bool> unlock(const KeyId& id) override {
    return change([&](Records& records, StoreTime now) { return records.reopen(id, now); });
  }

  Result<bool> unlock_as(const KeyId& id, RecordState state, std::uint64_t token) override {
    return change([&](Records& records, StoreTime now) {
      return stands(records, id, state, token) && records.reopen(id, now);
    });
  }

  Result<std::optional<Lease>> seize_as(const KeyId& id, RecordState state, std::uint64_t token,
                                        std::chrono::milliseconds lease) override {
    return change([&](Records& records, StoreTime now) -> std::optional<Lease> {
      if (!stands(records, id, state, token)) return std::nullopt;
      return records.seize(id, spi::draw_nonce(random_), lease, now);
    });
  }

  Result<std::optional<Lease>> seize(const KeyId& id, std::chrono::milliseconds lease) override {
    return change([&](Records& records, StoreTime now) {
      return records.seize(id, spi::draw_nonce(random_), lease, now);
    });
  }

  Result<std::vector<StoreFinding>> verify(bool full) override {
    return contained([&] {
      return database_.look([&](Access& access) {
        Findings findings;
        findings.append(facts_.verify_tables(access, full));
        findings.append(verify_in(access, texts_, facts_.words()));
        findings.append(facts_.verify_generations(access, full));
        return findings.take();
      });
    });
  }

  Result<StoreStats> stats() override { return stats_with(true); }
  Result<StoreStats> backlog() override { return stats_with(false); }

 private:
  // `work` gets the records and the time, in a transaction.
  template <class ScopedTransaction>
  auto change(ScopedTransaction&& work)
      -> Result<std::invoke_result_t<ScopedTransaction&, Records&, StoreTime>> {
    return contained([&] {
      return database_.transact(Sync::kPowerLoss, [&](TransactionAccess& access) {
        return work(access.records(), access.now());
      });
    });
  }

  Result<StoreStats> stats_with(bool generations) {
    return contained([&] {
      return database_.look([&](Access& access) {
        StoreStats stats;
        facts_.describe(access, stats);
        add_consumers(access, stats);
        note_counts(access.looks().counts(access.now()), stats);
        if (generations) facts_.count_generations(access, stats);
        note_running(access.gone(), access.tables().runs.running(), stats);
        return stats;
      });
    });
  }

  Database& database_;
  const VerifyTexts& texts_;
  StoreFacts& facts_;
  Random& random_;
};

}  // namespace

std::unique_ptr<RecordInspector> make_inspector(Database& database, const VerifyTexts& texts,
                                                StoreFacts& facts, Random& random) {
  return std::make_unique<TableInspector>(database, texts, facts, random);
}

}  // namespace semel::sql
