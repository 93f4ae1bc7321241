// RecordInspector over the tables.
#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "stores/sql/consumer_stats.h"
#include "stores/sql/operator.h"
#include "stores/sqlite/core.h"
#include "stores/sqlite/schema.h"
#include "stores/sqlite/verify.h"

namespace semel::sqlite {
namespace {

RecordView view_of(const KeyId& id, LiveRow row) {
  RecordView view = core::view_of(id, std::move(row.record));
  view.key = std::move(row.key);
  return view;
}

std::size_t number_in(const std::string& text) {
  std::size_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

class Inspector final : public RecordInspector {
 public:
  Inspector(Core& core, Random& random) : core_(core), random_(random) {}

  Result<std::optional<ConsumerNumber>> consumer(const std::string& name) override {
    return contained([&] {
      return core_.reader.glance([&](Tables& tables, Connection&) -> std::optional<ConsumerNumber> {
        const auto row = tables.consumers.find(name);
        return row ? std::optional(row->number) : std::nullopt;
      });
    });
  }

  Result<std::vector<RecordView>> list(std::optional<ConsumerNumber> consumer,
                                       std::optional<RecordState> state,
                                       std::size_t limit) override {
    return contained([&] {
      return core_.reader.glance([&](Tables& tables, Connection&) {
        std::vector<RecordView> views;
        for (auto& [id, row] : tables.live.list(consumer, state, limit)) {
          views.push_back(view_of(id, std::move(row)));
        }
        return views;
      });
    });
  }

  Result<std::optional<RecordView>> show(const KeyId& id) override {
    return contained([&] {
      return core_.reader.look([&](Tables& tables, Connection&) { return view_in(tables, id); });
    });
  }

  Result<bool> forget(const KeyId& id) override {
    return contained([&] {
      WriteTransaction transaction(core_.writer, Sync::kPowerLoss, core_.options.busy);
      const bool there = forget_in(transaction.tables(), id, transaction.now());
      transaction.commit();
      return there;
    });
  }

  Result<bool> forget_as(const KeyId& id, RecordState state, std::uint64_t token) override {
    return contained([&] {
      WriteTransaction transaction(core_.writer, Sync::kPowerLoss, core_.options.busy);
      const auto view = view_in(transaction.tables(), id);
      if (!view || view->state != state || view->token != token) return false;
      const bool there = forget_in(transaction.tables(), id, transaction.now());
      transaction.commit();
      return there;
    });
  }

  Result<bool> unlock(const KeyId& id) override {
    return contained([&] {
      WriteTransaction transaction(core_.writer, Sync::kPowerLoss, core_.options.busy);
      const bool unlocked = sql::reopen_record(transaction.tables(), id, transaction.now());
      transaction.commit();
      return unlocked;
    });
  }

  Result<std::optional<Lease>> seize(const KeyId& id, std::chrono::milliseconds lease) override {
    return contained([&] {
      WriteTransaction transaction(core_.writer, Sync::kPowerLoss, core_.options.busy);
      const auto seized = sql::seize_record(transaction.tables(), id, core::draw_nonce(random_),
                                            lease, transaction.now());
      transaction.commit();
      return seized;
    });
  }

  Result<std::vector<StoreFinding>> verify(bool full) override {
    return contained([&] {
      return core_.reader.look([&](Tables& tables, Connection& connection) {
        return verify_in(tables, connection, full);
      });
    });
  }

  Result<StoreStats> stats() override { return stats_with(true); }
  Result<StoreStats> backlog() override { return stats_with(false); }

 private:
  Result<StoreStats> stats_with(bool generations) {
    return contained([&] {
      return core_.reader.look([&](Tables& tables, Connection& connection) {
        StoreStats stats;
        stats.schema_version = schema_version(connection);
        stats.epoch = tables.facts.epoch;
        stats.bytes = number_in(connection.ask("PRAGMA page_count")) *
                      number_in(connection.ask("PRAGMA page_size"));
        sql::add_consumers(tables, stats);
        sql::note_counts(tables.live.counts(), stats);
        if (generations) count_generations(tables, connection, stats);
        sql::note_running(core_.instances.gone(connection), tables.runs.running(), stats);
        return stats;
      });
    });
  }

  static std::optional<RecordView> view_in(Tables& tables, const KeyId& id) {
    if (auto live = tables.live.find(id)) return view_of(id, *std::move(live));
    if (tables.generations.having(id) == nullptr) return std::nullopt;
    const Finished found = tables.generations.found();
    RecordView view;
    view.consumer = id.consumer();
    view.id = id;
    view.state = RecordState::kCompleted;
    view.fingerprint = found.fingerprint;
    view.completed_at = found.completed_at;
    view.result = tables.result_of(found);
    return view;
  }

  static bool forget_in(Tables& tables, const KeyId& id, StoreTime now) {
    bool there = false;
    if (const auto live = tables.live.find(id)) {
      if (live->record.state == RecordState::kConsuming && live->record.lease_until > now) {
        fail({ErrorKind::kBlocked, "R241",
              "a running consumer holds this record: forgetting it now would let it happen twice",
              "stop the consumer, or wait for its lease to end"});
      }
      tables.live.erase(id);
      if (live->steps) tables.steps.forget(id);
      if (live->held) tables.held.remove(RowTag{*live->held});
      tables.forget_details(std::nullopt, live->inbox);
      there = true;
    }
    while (Generation* const generation = tables.generations.having(id)) {
      const Finished found = tables.generations.found();
      tables.forget_details(found.result, found.inbox);
      generation->erase(id);
      there = true;
    }
    return there;
  }

  static void count_generations(Tables& tables, Connection& connection, StoreStats& stats) {
    for (const auto& generation : tables.generations.all()) {
      const GenerationRow& row = generation->row();
      StoreStats::Generation told;
      told.number = row.number;
      told.active = row.active;
      told.ttl = row.ttl;
      told.created_at = row.created_at;
      told.records = number_in(
          connection.ask(fmt::format("SELECT count(*) FROM {}", table_of(row.number)).c_str()));
      stats.generations.push_back(told);
      if (row.active) note_completions(connection, row.number, stats);
    }
  }

  // The last of each consumer; those of a sealed generation are older, but for one just sealed.
  static void note_completions(Connection& connection, std::int64_t generation, StoreStats& stats) {
    const std::string sql = fmt::format(
        "SELECT id, max(completed_at) FROM {} GROUP BY substr(id, 1, 4)", table_of(generation));
    Prepared last(connection, sql.c_str());
    const Reading reading(last);
    while (last.next()) {
      auto* const told = sql::consumer_in(stats, last.key_id(0).consumer());
      if (told != nullptr) core::note_change(*told, last.maybe_time(1));
    }
  }

  Core& core_;
  Random& random_;
};

}  // namespace

std::unique_ptr<RecordInspector> make_inspector(Core& core, Random& random) {
  return std::make_unique<Inspector>(core, random);
}

}  // namespace semel::sqlite
