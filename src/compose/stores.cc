#include <semel/memory.h>
#include <semel/mysql.h>
#include <semel/postgres.h>
#include <semel/redis.h>
#include <semel/sqlite.h>

#include <fmt/format.h>

#include <optional>
#include <string_view>

#include "clients/redis/url.h"
#include "compose/compose.h"
#include "operate/store_access.h"
#include "stores/mysql/url.h"
#include "stores/postgres/address.h"

namespace semel::compose {

namespace {

// Redis needs no tables, and its data have had only one format so far.
constexpr int kRedisVersion = 1;

// Where a server keeps its tables or names; only the kind of store if the address cannot be parsed.
struct ServerPlace {
  std::string_view kind;
  std::string host, port, database, schema;
};

std::optional<ServerPlace> server_of(const config::StoreConfig& store) {
  if (const auto* postgres = std::get_if<PostgresOptions>(&store.kind)) {
    const auto address = postgres::address_of(postgres->url);
    if (!address) return ServerPlace{"postgres", {}, {}, {}, {}};
    return ServerPlace{"postgres", address->host, address->port, address->database,
                       postgres->schema};
  }
  if (const auto* mysql = std::get_if<MySqlOptions>(&store.kind)) {
    const auto target = mysql::read_target(mysql->url);
    if (!target) return ServerPlace{"mysql", {}, {}, {}, {}};
    return ServerPlace{"mysql",
                       target->socket.empty() ? target->host : target->socket,
                       std::to_string(target->port),
                       target->database,
                       {}};
  }
  if (const auto* redis = std::get_if<RedisOptions>(&store.kind)) {
    const auto target = redis::read_target(redis->url);
    if (!target) return ServerPlace{"redis", {}, {}, {}, {}};
    return ServerPlace{"redis", target->socket.empty() ? target->host : target->socket,
                       std::to_string(target->port), std::to_string(target->database),
                       redis->prefix};
  }
  return std::nullopt;
}

Result<std::unique_ptr<Store>> open_with(SqliteOptions options, const OpenOptions& wanted) {
  options.create = wanted.create;
  options.environment = wanted.environment;
  return open_sqlite(std::move(options));
}

Result<std::unique_ptr<Store>> open_with(PostgresOptions options, const OpenOptions& wanted) {
  options.create = wanted.create;
  options.listens = wanted.runs;
  options.environment = wanted.environment;
  options.stop_fd = wanted.stop_fd;
  return open_postgres(std::move(options));
}

Result<std::unique_ptr<Store>> open_with(MySqlOptions options, const OpenOptions& wanted) {
  options.create = wanted.create;
  options.environment = wanted.environment;
  options.stop_fd = wanted.stop_fd;
  return open_mysql(std::move(options));
}

Result<std::unique_ptr<Store>> open_with(RedisOptions options, const OpenOptions& wanted) {
  options.environment = wanted.environment;
  return open_redis(std::move(options));
}

Result<std::unique_ptr<Store>> open_with(MemoryOptions options, const OpenOptions& wanted) {
  options.environment = wanted.environment;
  return make_memory_store(options);
}

// Lends the program's own store to a run: the store does not end with its consumers.
class LentStore final : public Store {
 public:
  explicit LentStore(Store& store) : store_(store) {}

  const StoreTraits& traits() const noexcept override { return store_.traits(); }
  StoreFacets facets() noexcept override { return store_.facets(); }
  Result<ConsumerNumber> attach(const ConsumerSpec& consumer) override {
    return store_.attach(consumer);
  }
  Result<std::vector<Claim>> claim(std::span<const Message* const> messages,
                                   const ClaimOptions& options) override {
    return store_.claim(messages, options);
  }
  Result<std::vector<Applied>> renew(std::span<const Lease> leases,
                                     std::chrono::milliseconds lease) override {
    return store_.renew(leases, lease);
  }
  Result<std::vector<Applied>> finish(std::span<const Finish> batch) override {
    return store_.finish(batch);
  }
  Result<PurgeReport> purge(std::chrono::milliseconds budget) override {
    return store_.purge(budget);
  }

 private:
  Store& store_;
};

Result<std::unique_ptr<Store>> open_with(const config::OpenStore& open, const OpenOptions&) {
  return std::make_unique<LentStore>(*open.store);
}

}  // namespace

Result<std::unique_ptr<Store>> open_store(const config::StoreConfig& store,
                                          const OpenOptions& wanted) {
  return std::visit([&](auto options) { return open_with(std::move(options), wanted); },
                    store.kind);
}

Error no_messages(const Store& store) { return operate::no_messages(store); }

Result<SchemaChange> schema_change(const config::StoreConfig& store) {
  if (const auto* sqlite = std::get_if<SqliteOptions>(&store.kind)) {
    return sqlite_schema_change(*sqlite);
  }
  if (const auto* postgres = std::get_if<PostgresOptions>(&store.kind)) {
    return postgres_schema_change(*postgres);
  }
  if (const auto* mysql = std::get_if<MySqlOptions>(&store.kind)) {
    return mysql_schema_change(*mysql);
  }
  if (std::holds_alternative<RedisOptions>(store.kind)) {
    return SchemaChange{.from = kRedisVersion, .to = kRedisVersion, .sql = {}};
  }
  return SchemaChange{};
}

namespace {

Error no_functions(const config::StoreConfig& store) {
  return {ErrorKind::kRejected, "R274",
          fmt::format("the store ({}) has no SQL functions: they are made on PostgreSQL, MariaDB "
                      "and MySQL",
                      store_name(store)),
          "use store.postgres or store.mysql; elsewhere a consumer in another language claims over "
          "HTTP, or is called by `semel run`, by the http or the exec handler"};
}

}  // namespace

Result<void> change_functions(const config::StoreConfig& store, SqlFunctions change) {
  const bool make = change == SqlFunctions::kMake;
  if (const auto* postgres = std::get_if<PostgresOptions>(&store.kind)) {
    return make ? make_postgres_functions(*postgres) : drop_postgres_functions(*postgres);
  }
  if (const auto* mysql = std::get_if<MySqlOptions>(&store.kind)) {
    return make ? make_mysql_functions(*mysql) : drop_mysql_functions(*mysql);
  }
  return failure(no_functions(store));
}

Result<std::string> functions_sql(const config::StoreConfig& store, SqlFunctions change) {
  const bool make = change == SqlFunctions::kMake;
  if (const auto* postgres = std::get_if<PostgresOptions>(&store.kind)) {
    return make ? postgres_functions_sql(*postgres) : postgres_functions_drop_sql(*postgres);
  }
  if (std::holds_alternative<MySqlOptions>(store.kind)) {
    return make ? mysql_functions_sql() : mysql_functions_drop_sql();
  }
  return failure(no_functions(store));
}

Result<std::vector<SqliteFlaw>> standing_flaws(const config::StoreConfig& store) {
  const auto* sqlite = std::get_if<SqliteOptions>(&store.kind);
  if (sqlite == nullptr) return std::vector<SqliteFlaw>();
  return sqlite_flaws(*sqlite);
}

std::string store_name(const config::StoreConfig& store) {
  if (const auto* sqlite = std::get_if<SqliteOptions>(&store.kind)) {
    return "sqlite " + sqlite->path;
  }
  const auto server = server_of(store);
  if (const auto* open = std::get_if<config::OpenStore>(&store.kind)) {
    return std::string(open->store->traits().name);
  }
  if (!server) return "memory";
  if (server->database.empty()) return std::string(server->kind);
  std::string name =
      fmt::format("{} {}:{}/{}", server->kind, server->host, server->port, server->database);
  const bool redis = std::holds_alternative<RedisOptions>(store.kind);
  const std::string usual = redis ? RedisOptions().prefix : PostgresOptions().schema;
  if (server->schema != usual && !server->schema.empty()) {
    name += (redis ? " prefix " : " schema ") + server->schema;
  }
  return name;
}

std::string server_identity(const config::StoreConfig& store) {
  const auto server = server_of(store);
  if (!server || server->database.empty()) return {};
  return fmt::format("{}\n{}\n{}\n{}\n{}", server->kind, server->host, server->port,
                     server->database, server->schema);
}

}  // namespace semel::compose
