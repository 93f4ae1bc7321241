#include "stores/mysql/store.h"

#include <mutex>
#include <utility>

#include "stores/mysql/core.h"
#include "stores/mysql/facts.h"
#include "stores/mysql/lease_claims.h"
#include "stores/mysql/purge.h"
#include "stores/mysql/schema.h"
#include "stores/sql/batch_finish.h"
#include "stores/sql/claims.h"
#include "stores/sql/dead_letters.h"
#include "stores/sql/gates.h"
#include "stores/sql/held.h"
#include "stores/sql/inspector.h"
#include "stores/sql/positions.h"
#include "stores/sql/run_markers.h"
#include "stores/sql/transacted.h"

namespace semel::mysql {
namespace {

using std::chrono::milliseconds;

class MySqlStore final : public Store {
 public:
  MySqlStore(const MySqlOptions& options, Place place, milliseconds grace)
      : core_(options, std::move(place), grace,
              options.environment != nullptr ? *options.environment : system_environment()),
        facts_(core_.dialect),
        inspector_texts_(core_.dialect),
        position_texts_(core_.dialect),
        units_(make_units(core_)),
        held_(sql::make_held(core_.shared)),
        dead_letters_(sql::make_dead_letters(core_.shared)),
        inspector_(sql::make_inspector(core_.shared, inspector_texts_, facts_)),
        positions_(sql::make_positions(core_.pool, position_texts_, core_.presence)),
        runs_(sql::make_run_markers(core_.shared)),
        gates_(sql::make_gates(core_.shared)),
        purge_(core_) {
    traits_.name = "mysql";
    traits_.durable = true;
  }

  const StoreTraits& traits() const noexcept override { return traits_; }
  StoreFacets facets() noexcept override {
    return {units_.get(),     held_.get(), dead_letters_.get(), inspector_.get(),
            positions_.get(), runs_.get(), gates_.get()};
  }

  Result<ConsumerNumber> attach(const ConsumerSpec& spec) override {
    return sql::contained([&] { return mysql::attach(core_, spec); });
  }
  Result<std::vector<Claim>> claim(std::span<const Message* const> messages,
                                   const ClaimOptions& options) override;
  Result<std::vector<Applied>> renew(std::span<const Lease> leases, milliseconds lease) override;
  Result<std::vector<Applied>> finish(std::span<const Finish> batch) override;
  Result<PurgeReport> purge(milliseconds budget) override {
    return sql::contained([&] {
      const std::scoped_lock lock(purging_);
      return purge_.run(budget);
    });
  }

 private:
  StoreTraits traits_;
  Core core_;
  Facts facts_;
  const sql::InspectorTexts inspector_texts_;
  const sql::PositionTexts position_texts_;
  std::unique_ptr<TransactionalStore> units_;
  std::unique_ptr<HeldMessages> held_;
  std::unique_ptr<DeadLetters> dead_letters_;
  std::unique_ptr<RecordInspector> inspector_;
  std::unique_ptr<Positions> positions_;
  std::unique_ptr<RunMarkers> runs_;
  std::unique_ptr<Gates> gates_;
  std::mutex purging_;
  Purge purge_;
};

Result<std::vector<Claim>> MySqlStore::claim(std::span<const Message* const> messages,
                                             const ClaimOptions& options) {
  return sql::contained([&] {
    if (messages.empty()) return std::vector<Claim>();
    const std::int64_t instance = core_.presence.number();
    sql::Lent lent(core_.pool);
    auto& connection = static_cast<Connection&>(*lent);
    SEMEL_FAILPOINT(core_.environment, failpoint::kBegun);
    const ConsumerNumber consumer = messages.front()->key().id.consumer();
    LeaseClaims leases(connection, core_.place.clock, core_.texts.records, core_.environment);
    auto claims =
        leases.claim(messages, options, core_.generations.active(connection, consumer), instance);
    SEMEL_FAILPOINT(core_.environment, failpoint::kClaimed);
    return claims;
  });
}

Result<std::vector<Applied>> MySqlStore::renew(std::span<const Lease> leases, milliseconds lease) {
  return sql::contained([&] {
    if (leases.empty()) return std::vector<Applied>();
    return sql::transacted(core_.pool, [&](sql::Work& work) {
      RecordBatch batch(static_cast<Connection&>(work.session()), core_.place.clock);
      const std::vector<KeyId> held = batch.lock_held(leases);
      batch.queue_renewal(held, lease);
      return sql::applied(leases, held);
    });
  });
}

Result<std::vector<Applied>> MySqlStore::finish(std::span<const Finish> batch) {
  return sql::contained([&] {
    if (batch.empty()) return std::vector<Applied>();
    sql::Lent lent(core_.pool);
    auto& connection = static_cast<Connection&>(*lent);
    try {
      connection.begin(core_.pool.patience());
      sql::Tables tables = core_.shared.tables(connection);
      ManyRecords records(connection, core_.place.clock);
      auto applied = sql::BatchFinish(connection, tables, records, nullptr).run(batch);
      SEMEL_FAILPOINT(core_.environment, failpoint::kFinished);
      SEMEL_FAILPOINT(core_.environment, failpoint::kCommitBefore);
      connection.commit();
      SEMEL_FAILPOINT(core_.environment, failpoint::kCommitAfter);
      return applied;
    } catch (...) {
      connection.roll_back();
      throw;
    }
  });
}

}  // namespace

Result<std::unique_ptr<Store>> open_store(MySqlOptions options, const InnerOptions& inner) {
  return sql::contained([&]() -> std::unique_ptr<Store> {
    Place place;
    place.target = target_of(options.url);
    place.clock = inner.clock;
    place.patience = options.busy;
    {
      Wire first(place.target);
      if (options.create) {
        make_schema(first);
      } else {
        need_schema(first);
      }
    }
    return std::make_unique<MySqlStore>(options, std::move(place), inner.grace);
  });
}

}  // namespace semel::mysql

namespace semel {

Result<std::unique_ptr<Store>> open_mysql(MySqlOptions options) {
  return mysql::open_store(std::move(options), {});
}

Result<SchemaChange> mysql_schema_change(const MySqlOptions& options) {
  return sql::contained([&] {
    mysql::Wire wire(mysql::target_of(options.url));
    SchemaChange change;
    change.from = mysql::schema_version(wire);
    change.to = mysql::newest_version();
    mysql::refuse_newer(change.from);
    for (const std::string& statement : mysql::migration_sql(change.from)) {
      change.sql += statement + ";\n";
    }
    return change;
  });
}

}  // namespace semel
