#include "stores/postgres/store.h"

#include <libpq-fe.h>
#include <utility>

#include "stores/postgres/facts.h"
#include "stores/postgres/functions.h"
#include "stores/postgres/lease_claims.h"
#include "stores/postgres/pooler.h"
#include "stores/postgres/purge.h"
#include "stores/postgres/schema.h"
#include "stores/postgres/store_context.h"
#include "stores/sql/instances.h"
#include "stores/sql/server_store.h"

namespace semel::postgres {
namespace {

using std::chrono::milliseconds;

// The parts of a ServerStore that differ between servers.
struct Server {
  using Purge = postgres::Purge;

  Server(const PostgresOptions& options, Endpoint endpoint, const InnerOptions& inner)
      : context(options, std::move(endpoint),
                {options.listens, inner.grace, options.connections + 1},
                options.environment != nullptr ? *options.environment : system_environment()),
        facts(context.dialect, context.endpoint.schema),
        leases(context.generations, context.batch_texts, context.session_texts,
               context.pool.patience()) {}

  std::vector<Claim> claim(sql::Session& session, std::span<const Message* const> messages,
                           std::span<const Nonce> nonces, const ClaimOptions& options,
                           std::int64_t instance) {
    return leases.claim(static_cast<Connection&>(session), messages, nonces, options,
                        options.outlives_process ? sql::kNoInstance : instance);
  }

  std::vector<sql::Holding> renew(std::span<const Lease> renewed, milliseconds lease) {
    sql::PooledSession lent(context.pool);
    context.instance_lock.number_for(*lent);
    return held_by(static_cast<Connection&>(*lent), context.batch_texts.renew, renewed,
                   lease.count());
  }

  std::unique_ptr<sql::ManyRecords> records(sql::Session& session) {
    return std::make_unique<ManyRecords>(static_cast<Connection&>(session), context.batch_texts);
  }

  StoreContext context;
  Facts facts;
  LeaseClaims leases;
};

// A script for people. Where a part of it fails, nothing of it stays.
std::string script_of(const std::string& sql) {
  return sql.empty() ? sql : "BEGIN;\n" + sql + "COMMIT;\n";
}

// A connection for the lifetime of the object.
class Opened {
 public:
  explicit Opened(const Endpoint& endpoint) : connection_(connect(endpoint)) {}
  ~Opened() { PQfinish(connection_); }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
  PGconn* get() const noexcept { return connection_; }

 private:
  PGconn* connection_;
};

Endpoint endpoint_of(const PostgresOptions& options) {
  Endpoint endpoint;
  endpoint.url = options.url;
  endpoint.schema = options.schema;
  endpoint.patience = options.busy;
  return endpoint;
}

}  // namespace

Result<std::unique_ptr<Store>> open_store(PostgresOptions options, const InnerOptions& inner) {
  return sql::contained([&]() -> std::unique_ptr<Store> {
    Endpoint endpoint = endpoint_of(options);
    endpoint.clock = inner.clock;
    endpoint.stops[0] = options.stop_fd;
    {
      const Opened first(endpoint);
      need_own_session(first.get(), endpoint);
      if (options.create) {
        make_schema(first.get(), endpoint.schema);
      } else {
        need_schema(first.get(), endpoint.schema);
      }
    }
    return std::make_unique<sql::ServerStore<Server>>(kPostgresTraits, options, std::move(endpoint),
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
    const postgres::Endpoint endpoint = postgres::endpoint_of(options);
    const postgres::Opened opened(endpoint);
    SchemaChange change;
    change.from = postgres::schema_version(opened.get(), endpoint.schema);
    change.to = postgres::newest_version();
    postgres::refuse_newer(change.from, endpoint.schema);
    change.sql = postgres::migration_sql(change.from, endpoint.schema);
    if (!change.sql.empty() && postgres::may_replace_functions(opened.get(), endpoint.schema)) {
      change.sql += postgres::functions_sql(endpoint.schema);
    }
    change.sql = postgres::script_of(change.sql);
    return change;
  });
}

Result<void> make_postgres_functions(const PostgresOptions& options) {
  return sql::contained([&] {
    const postgres::Endpoint endpoint = postgres::endpoint_of(options);
    postgres::make_functions(postgres::Opened(endpoint).get(), endpoint.schema);
  });
}

Result<void> drop_postgres_functions(const PostgresOptions& options) {
  return sql::contained([&] {
    const postgres::Endpoint endpoint = postgres::endpoint_of(options);
    postgres::drop_functions(postgres::Opened(endpoint).get(), endpoint.schema);
  });
}

Result<std::string> postgres_functions_sql(const PostgresOptions& options) {
  return sql::contained(
      [&] { return postgres::script_of(postgres::functions_sql(options.schema)); });
}

Result<std::string> postgres_functions_drop_sql(const PostgresOptions& options) {
  return sql::contained(
      [&] { return postgres::script_of(postgres::drop_functions_sql(options.schema)); });
}

}  // namespace semel
