#include "stores/postgres/store.h"

#include <libpq-fe.h>
#include <utility>

#include "stores/postgres/core.h"
#include "stores/postgres/facts.h"
#include "stores/postgres/functions.h"
#include "stores/postgres/lease_claims.h"
#include "stores/postgres/pooler.h"
#include "stores/postgres/purge.h"
#include "stores/postgres/schema.h"
#include "stores/sql/instances.h"
#include "stores/sql/server_store.h"

namespace semel::postgres {
namespace {

using std::chrono::milliseconds;

// The parts of a ServerStore that differ between servers.
struct Server {
  using Purge = postgres::Purge;

  Server(const PostgresOptions& options, Place place, const InnerOptions& inner)
      : core(options, std::move(place), {options.listens, inner.grace, options.connections + 1},
             options.environment != nullptr ? *options.environment : system_environment()),
        facts(core.dialect, core.place.schema),
        leases(core.generations, core.batch_texts, core.session_texts, core.pool.patience()) {}

  std::vector<Claim> claim(sql::Session& session, std::span<const Message* const> messages,
                           std::span<const Nonce> nonces, const ClaimOptions& options,
                           std::int64_t instance) {
    return leases.claim(static_cast<Connection&>(session), messages, nonces, options,
                        options.outlives_process ? sql::kNoInstance : instance);
  }

  std::vector<KeyId> renew(std::span<const Lease> renewed, milliseconds lease) {
    sql::Lent lent(core.pool);
    core.presence.number_for(*lent);
    return held_by(static_cast<Connection&>(*lent), core.batch_texts.renew, renewed, lease.count());
  }

  std::unique_ptr<sql::ManyRecords> records(sql::Session& session) {
    return std::make_unique<ManyRecords>(static_cast<Connection&>(session), core.batch_texts);
  }

  Core core;
  Facts facts;
  LeaseClaims leases;
};

// A connection for the lifetime of the object.
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

Place place_of(const PostgresOptions& options) {
  Place place;
  place.url = options.url;
  place.schema = options.schema;
  place.patience = options.busy;
  return place;
}

}  // namespace

Result<std::unique_ptr<Store>> open_store(PostgresOptions options, const InnerOptions& inner) {
  return sql::contained([&]() -> std::unique_ptr<Store> {
    Place place = place_of(options);
    place.clock = inner.clock;
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
    return std::make_unique<sql::ServerStore<Server>>(kPostgresTraits, options, std::move(place),
                                                      inner);
  });
}

}  // namespace semel::postgres

namespace semel {

Result<std::unique_ptr<Store>> open_postgres(PostgresOptions options) {
  return postgres::open_store(std::move(options), {});
}

Result<SchemaChange> postgres_schema_change(const PostgresOptions& options) {
  return sql::contained([&] {
    const postgres::Place place = postgres::place_of(options);
    const postgres::Opened opened(place);
    SchemaChange change;
    change.from = postgres::schema_version(opened.get(), place.schema);
    change.to = postgres::newest_version();
    postgres::refuse_newer(change.from, place.schema);
    change.sql = postgres::migration_sql(change.from, place.schema);
    if (!change.sql.empty() && postgres::may_replace_functions(opened.get(), place.schema)) {
      change.sql += postgres::functions_sql(place.schema);
    }
    return change;
  });
}

Result<void> make_postgres_functions(const PostgresOptions& options) {
  return sql::contained([&] {
    const postgres::Place place = postgres::place_of(options);
    postgres::make_functions(postgres::Opened(place).get(), place.schema);
  });
}

Result<void> drop_postgres_functions(const PostgresOptions& options) {
  return sql::contained([&] {
    const postgres::Place place = postgres::place_of(options);
    postgres::drop_functions(postgres::Opened(place).get(), place.schema);
  });
}

Result<std::string> postgres_functions_sql(const PostgresOptions& options) {
  return sql::contained([&] { return postgres::functions_sql(options.schema); });
}

Result<std::string> postgres_functions_drop_sql(const PostgresOptions& options) {
  return sql::contained([&] { return postgres::drop_functions_sql(options.schema); });
}

}  // namespace semel
