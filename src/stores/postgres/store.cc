#include "stores/postgres/store.h"

#include <libpq-fe.h>
#include <utility>

#include "stores/postgres/core.h"
#include "stores/postgres/facts.h"
#include "stores/postgres/lease_claims.h"
#include "stores/postgres/pooler.h"
#include "stores/postgres/purge.h"
#include "stores/postgres/schema.h"
#include "stores/sql/claims.h"
#include "stores/sql/ports.h"
#include "system/mutex.h"

namespace semel::postgres {
namespace {

using std::chrono::milliseconds;

class PostgresStore final : public Store {
 public:
  PostgresStore(const PostgresOptions& options, Place place, const InnerOptions& inner)
      : core_(options, std::move(place), {options.listens, inner.grace, options.connections + 1},
              options.environment != nullptr ? *options.environment : system_environment()),
        leases_(core_.generations, core_.batch_texts, core_.session_texts, core_.pool.patience()),
        facts_(core_.dialect, core_.place.schema),
        ports_(core_.shared, core_.dialect, facts_, core_.presence, *core_.environment.random),
        units_(make_units(core_)),
        purge_(core_) {}

  const StoreTraits& traits() const noexcept override { return kPostgresTraits; }
  StoreFacets facets() noexcept override { return ports_.facets(*units_); }

  Result<ConsumerNumber> attach(const ConsumerSpec& spec) override {
    return sql::contained([&] { return postgres::attach(core_, spec); });
  }
  Result<std::vector<Claim>> claim(std::span<const Message* const> messages,
                                   const ClaimOptions& options) override;
  Result<std::vector<Applied>> renew(std::span<const Lease> leases, milliseconds lease) override;
  Result<std::vector<Applied>> finish(std::span<const Finish> batch) override;
  Result<PurgeReport> purge(milliseconds budget) override {
    return sql::contained([&] {
      const system::MutexLock lock(purging_);
      return purge_.run(budget);
    });
  }

 private:
  Core core_;
  LeaseClaims leases_;
  Facts facts_;
  const sql::Ports ports_;
  std::unique_ptr<TransactionalStore> units_;
  system::Mutex purging_;
  Purge purge_ SEMEL_GUARDED_BY(purging_);
};

Result<std::vector<Claim>> PostgresStore::claim(std::span<const Message* const> messages,
                                                const ClaimOptions& options) {
  return sql::contained([&] {
    if (messages.empty()) return std::vector<Claim>();
    const auto nonces = sql::draw(*core_.environment.random, messages.size());
    failpoint::hit(core_.environment, failpoint::kBegun);
    auto claims = sql::said_again_in_doubt([&] {
      sql::Lent lent(core_.pool);
      const std::int64_t instance = core_.presence.number_for(*lent);
      return leases_.claim(static_cast<Connection&>(*lent), messages, nonces, options, instance);
    });
    failpoint::hit(core_.environment, failpoint::kClaimed);
    return claims;
  });
}

Result<std::vector<Applied>> PostgresStore::renew(std::span<const Lease> leases,
                                                  milliseconds lease) {
  return sql::contained([&] {
    if (leases.empty()) return std::vector<Applied>();
    sql::Lent lent(core_.pool);
    core_.presence.number_for(*lent);
    const std::vector<KeyId> renewed =
        held_by(static_cast<Connection&>(*lent), core_.batch_texts.renew, leases, lease.count());
    return sql::applied(leases, renewed);
  });
}

Result<std::vector<Applied>> PostgresStore::finish(std::span<const Finish> batch) {
  return sql::contained([&] {
    const auto records = [this](sql::Session& session) {
      return std::make_unique<ManyRecords>(static_cast<Connection&>(session), core_.batch_texts);
    };
    return sql::finish_in_one(core_.shared, core_.environment, records, batch);
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
    place.stops[0] = options.stop_fd;
    {
      const Opened first(place);
      need_own_session(first.get(), place);
      if (options.create) {
        make_schema(first.get(), place.schema);
      } else {
        need_schema(first.get(), place.schema);
      }
    }
    return std::make_unique<PostgresStore>(options, std::move(place), inner);
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
