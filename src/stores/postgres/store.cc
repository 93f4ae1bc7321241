#include "stores/postgres/store.h"

#include <libpq-fe.h>
#include <mutex>
#include <utility>

#include "stores/postgres/core.h"
#include "stores/postgres/facts.h"
#include "stores/postgres/lease_claims.h"
#include "stores/postgres/pooler.h"
#include "stores/postgres/purge.h"
#include "stores/postgres/schema.h"
#include "stores/sql/batch_finish.h"
#include "stores/sql/claims.h"
#include "stores/sql/dead_letters.h"
#include "stores/sql/gates.h"
#include "stores/sql/held.h"
#include "stores/sql/inspector.h"
#include "stores/sql/positions.h"
#include "stores/sql/run_markers.h"

namespace semel::postgres {
namespace {

using std::chrono::milliseconds;

class PostgresStore final : public Store {
 public:
  PostgresStore(PostgresOptions options, Place place, const InnerOptions& inner)
      : core_(std::move(options), std::move(place), {options.listens, inner.grace},
              options.environment != nullptr ? *options.environment : system_environment()),
        leases_(core_.generations, core_.batch_texts, core_.session_texts, core_.environment,
                core_.pool.patience()),
        facts_(core_.dialect, core_.place.schema),
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
    traits_.name = "postgres";
    traits_.durable = true;
  }

  const StoreTraits& traits() const noexcept override { return traits_; }
  StoreFacets facets() noexcept override {
    return {units_.get(),     held_.get(), dead_letters_.get(), inspector_.get(),
            positions_.get(), runs_.get(), gates_.get()};
  }

  Result<ConsumerNumber> attach(const ConsumerSpec& spec) override {
    return sql::contained([&] { return postgres::attach(core_, spec); });
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
  LeaseClaims leases_;
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

Result<std::vector<Claim>> PostgresStore::claim(std::span<const Message* const> messages,
                                                const ClaimOptions& options) {
  return sql::contained([&] {
    if (messages.empty()) return std::vector<Claim>();
    const std::int64_t instance = core_.presence.number();
    sql::Lent lent(core_.pool);
    auto& connection = static_cast<Connection&>(*lent);
    SEMEL_FAILPOINT(core_.environment, failpoint::kBegun);
    auto claims = leases_.claim(connection, messages, options, instance);
    SEMEL_FAILPOINT(core_.environment, failpoint::kClaimed);
    return claims;
  });
}

Result<std::vector<Applied>> PostgresStore::renew(std::span<const Lease> leases,
                                                  milliseconds lease) {
  return sql::contained([&] {
    if (leases.empty()) return std::vector<Applied>();
    sql::Lent lent(core_.pool);
    const std::vector<KeyId> renewed =
        held_by(static_cast<Connection&>(*lent), core_.batch_texts.renew, leases, lease.count());
    return sql::applied(leases, renewed);
  });
}

Result<std::vector<Applied>> PostgresStore::finish(std::span<const Finish> batch) {
  return sql::contained([&] {
    if (batch.empty()) return std::vector<Applied>();
    sql::Lent lent(core_.pool);
    auto& connection = static_cast<Connection&>(*lent);
    try {
      connection.begin(core_.pool.patience());
      sql::Tables tables = core_.shared.tables(connection);
      ManyRecords records(connection, core_.batch_texts);
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

// A connection for as long as it lives.
class Opened {
 public:
  explicit Opened(const Place& place) : connection_(connect(place)) {}
  ~Opened() { PQfinish(connection_); }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
  PGconn* get() const noexcept { return connection_; }

 private:
  PGconn* connection_;
};

}  // namespace

Result<std::unique_ptr<Store>> open_store(PostgresOptions options, const InnerOptions& inner) {
  return sql::contained([&]() -> std::unique_ptr<Store> {
    Place place;
    place.url = options.url;
    place.schema = options.schema;
    place.clock = inner.clock;
    place.patience = options.busy;
    {
      const Opened first(place);
      need_own_session(first.get(), place);
      if (options.create) {
        make_schema(first.get(), place.schema);
      } else {
        need_schema(first.get(), place.schema);
      }
    }
    return std::make_unique<PostgresStore>(std::move(options), std::move(place), inner);
  });
}

}  // namespace semel::postgres

namespace semel {

Result<std::unique_ptr<Store>> open_postgres(PostgresOptions options) {
  return postgres::open_store(std::move(options), {});
}

Result<SchemaChange> postgres_schema_change(const PostgresOptions& options) {
  return sql::contained([&] {
    postgres::Place place;
    place.url = options.url;
    place.schema = options.schema;
    place.patience = options.busy;
    const postgres::Opened opened(place);
    SchemaChange change;
    change.from = postgres::schema_version(opened.get(), place.schema);
    change.to = postgres::newest_version();
    postgres::refuse_newer(change.from, place.schema);
    change.sql = postgres::migration_sql(change.from, place.schema);
    return change;
  });
}

}  // namespace semel
