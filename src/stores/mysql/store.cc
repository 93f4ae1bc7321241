#include "stores/mysql/store.h"

#include <utility>

#include "stores/mysql/facts.h"
#include "stores/mysql/functions.h"
#include "stores/mysql/lease_claims.h"
#include "stores/mysql/primaries.h"
#include "stores/mysql/purge.h"
#include "stores/mysql/schema.h"
#include "stores/mysql/store_context.h"
#include "stores/sql/instances.h"
#include "stores/sql/server_store.h"

namespace semel::mysql {
namespace {

using std::chrono::milliseconds;

// The parts of a ServerStore that differ between servers.
struct Server {
  using Purge = mysql::Purge;

  Server(const MySqlOptions& options, Endpoint endpoint, milliseconds grace)
      : context(options, std::move(endpoint), grace,
                options.environment != nullptr ? *options.environment : system_environment()),
        facts(context.dialect) {}

  std::vector<Claim> claim(sql::Session& session, std::span<const Message* const> messages,
                           std::span<const Nonce> nonces, const ClaimOptions& options,
                           std::int64_t instance) {
    auto& connection = static_cast<Connection&>(session);
    const ConsumerNumber consumer = messages.front()->key().id.consumer();
    LeaseClaims leases(connection, context.endpoint.clock, context.texts.records, context.trend);
    return leases.claim(messages, nonces, options, context.generations.active(connection, consumer),
                        options.outlives_process ? sql::kNoInstance : instance);
  }

  std::vector<sql::Holding> renew(std::span<const Lease> leases, milliseconds lease) {
    return sql::transacted(context.pool, [&](sql::ScopedTransaction& work) {
      context.instance_lock.number_for(work.session());
      RecordBatch batch(static_cast<Connection&>(work.session()), context.endpoint.clock);
      std::vector<sql::Holding> held = batch.lock_held(leases);
      batch.queue_renewal(held, lease);
      return held;
    });
  }

  std::unique_ptr<sql::ManyRecords> records(sql::Session& session) {
    return std::make_unique<ManyRecords>(static_cast<Connection&>(session), context.endpoint.clock);
  }

  StoreContext context;
  Facts facts;
};

}  // namespace

Result<std::unique_ptr<Store>> open_store(MySqlOptions options, const InnerOptions& inner) {
  return sql::contained([&]() -> std::unique_ptr<Store> {
    Endpoint endpoint;
    endpoint.target = target_of(options.url);
    endpoint.clock = inner.clock;
    endpoint.patience = options.busy;
    endpoint.stops[0] = options.stop_fd;
    StoreTraits traits = kMySqlTraits;
    {
      Wire first(endpoint.target, endpoint.stops);
      need_one_primary(first);
      traits.largest_message = first.most();
      if (options.create) {
        make_schema(first);
      } else {
        need_schema(first);
      }
    }
    return std::make_unique<sql::ServerStore<Server>>(traits, options, std::move(endpoint),
                                                      inner.grace);
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
    if (!change.sql.empty() && mysql::may_replace_functions(wire)) {
      change.sql += mysql::functions_sql();
    }
    return change;
  });
}

Result<void> make_mysql_functions(const MySqlOptions& options) {
  return sql::contained([&] {
    mysql::Wire wire(mysql::target_of(options.url));
    mysql::make_functions(wire);
  });
}

Result<void> drop_mysql_functions(const MySqlOptions& options) {
  return sql::contained([&] {
    mysql::Wire wire(mysql::target_of(options.url));
    mysql::drop_functions(wire);
  });
}

Result<std::string> mysql_functions_sql() {
  return sql::contained([] { return mysql::functions_sql(); });
}

Result<std::string> mysql_functions_drop_sql() {
  return sql::contained([] { return mysql::drop_functions_sql(); });
}

}  // namespace semel
