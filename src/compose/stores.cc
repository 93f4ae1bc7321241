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
#include "stores/mysql/url.h"
#include "stores/postgres/address.h"

namespace semel::compose {

namespace {

constexpr std::string_view kUsualSchema = "semel";
constexpr std::string_view kUsualPrefix = "semel:";
// What a Redis server holds needs no tables, and has had one form.
constexpr int kRedisVersion = 1;

SqliteOptions options_of(const config::SqliteStore& store) {
  SqliteOptions options;
  options.path = store.path;
  if (store.generation_rows > 0) options.generation_rows = store.generation_rows;
  options.foreign_keys = store.foreign_keys;
  return options;
}

PostgresOptions options_of(const config::PostgresStore& store) {
  PostgresOptions options;
  options.url = store.url;
  options.schema = store.schema;
  if (store.pool > 0) options.connections = store.pool;
  return options;
}

MySqlOptions options_of(const config::MySqlStore& store) {
  MySqlOptions options;
  options.url = store.url;
  if (store.pool > 0) options.connections = store.pool;
  return options;
}

RedisOptions options_of(const config::RedisStore& store) {
  RedisOptions options;
  options.url = store.url;
  options.prefix = store.prefix;
  options.accept_eviction = store.accept_eviction;
  options.wait_replicas = store.wait_replicas;
  if (store.pool > 0) options.connections = store.pool;
  return options;
}

MemoryOptions options_of(const config::MemoryStore& store) {
  MemoryOptions options;
  if (store.max_records > 0) options.max_records = store.max_records;
  return options;
}

// Where a server's tables or names are; only its kind where the address cannot be read.
struct ServerPlace {
  std::string_view kind;
  std::string host, port, database, schema;
};

std::optional<ServerPlace> server_of(const config::StoreConfig& store) {
  if (const auto* postgres = std::get_if<config::PostgresStore>(&store.kind)) {
    const auto address = postgres::address_of(postgres->url);
    if (!address) return ServerPlace{"postgres", {}, {}, {}, {}};
    return ServerPlace{"postgres", address->host, address->port, address->database,
                       postgres->schema};
  }
  if (const auto* mysql = std::get_if<config::MySqlStore>(&store.kind)) {
    const auto target = mysql::read_target(mysql->url);
    if (!target) return ServerPlace{"mysql", {}, {}, {}, {}};
    return ServerPlace{"mysql",
                       target->socket.empty() ? target->host : target->socket,
                       std::to_string(target->port),
                       target->database,
                       {}};
  }
  if (const auto* redis = std::get_if<config::RedisStore>(&store.kind)) {
    const auto target = redis::read_target(redis->url);
    if (!target) return ServerPlace{"redis", {}, {}, {}, {}};
    return ServerPlace{"redis", target->socket.empty() ? target->host : target->socket,
                       std::to_string(target->port), std::to_string(target->database),
                       redis->prefix};
  }
  return std::nullopt;
}

}  // namespace

Result<std::unique_ptr<Store>> open_store(const config::StoreConfig& store,
                                          const OpenOptions& wanted) {
  if (const auto* sqlite = std::get_if<config::SqliteStore>(&store.kind)) {
    SqliteOptions options = options_of(*sqlite);
    options.create = wanted.create;
    options.environment = wanted.environment;
    return open_sqlite(std::move(options));
  }
  if (const auto* postgres = std::get_if<config::PostgresStore>(&store.kind)) {
    PostgresOptions options = options_of(*postgres);
    options.create = wanted.create;
    options.listens = wanted.runs;
    options.environment = wanted.environment;
    options.stop_fd = wanted.stop_fd;
    return open_postgres(std::move(options));
  }
  if (const auto* mysql = std::get_if<config::MySqlStore>(&store.kind)) {
    MySqlOptions options = options_of(*mysql);
    options.create = wanted.create;
    options.environment = wanted.environment;
    options.stop_fd = wanted.stop_fd;
    return open_mysql(std::move(options));
  }
  if (const auto* redis = std::get_if<config::RedisStore>(&store.kind)) {
    RedisOptions options = options_of(*redis);
    options.environment = wanted.environment;
    return open_redis(std::move(options));
  }
  MemoryOptions options = options_of(std::get<config::MemoryStore>(store.kind));
  options.environment = wanted.environment;
  return make_memory_store(options);
}

Error no_messages(const Store& store) {
  return {ErrorKind::kRejected, "R267",
          fmt::format("the {} store keeps no messages here: no queue, no retry that waits, no dead "
                      "letter",
                      store.traits().name),
          "a Redis server is entrusted with them where its maxmemory-policy is noeviction, or one "
          "of volatile-…"};
}

Result<SchemaChange> schema_change(const config::StoreConfig& store) {
  if (const auto* sqlite = std::get_if<config::SqliteStore>(&store.kind)) {
    return sqlite_schema_change(options_of(*sqlite));
  }
  if (const auto* postgres = std::get_if<config::PostgresStore>(&store.kind)) {
    return postgres_schema_change(options_of(*postgres));
  }
  if (const auto* mysql = std::get_if<config::MySqlStore>(&store.kind)) {
    return mysql_schema_change(options_of(*mysql));
  }
  if (std::holds_alternative<config::RedisStore>(store.kind)) {
    return SchemaChange{.from = kRedisVersion, .to = kRedisVersion, .sql = {}};
  }
  return SchemaChange{};
}

Result<std::vector<SqliteFlaw>> standing_flaws(const config::StoreConfig& store) {
  const auto* sqlite = std::get_if<config::SqliteStore>(&store.kind);
  if (sqlite == nullptr) return std::vector<SqliteFlaw>();
  return sqlite_flaws(options_of(*sqlite));
}

std::string store_name(const config::StoreConfig& store) {
  if (const auto* sqlite = std::get_if<config::SqliteStore>(&store.kind)) {
    return "sqlite " + sqlite->path;
  }
  const auto server = server_of(store);
  if (!server) return "memory";
  if (server->database.empty()) return std::string(server->kind);
  std::string name =
      fmt::format("{} {}:{}/{}", server->kind, server->host, server->port, server->database);
  const bool redis = std::holds_alternative<config::RedisStore>(store.kind);
  if (server->schema != (redis ? kUsualPrefix : kUsualSchema) && !server->schema.empty()) {
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
