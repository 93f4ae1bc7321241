#include <semel/memory.h>
#include <semel/postgres.h>
#include <semel/sqlite.h>

#include <fmt/format.h>

#include "compose/compose.h"
#include "stores/postgres/address.h"

namespace semel::compose {

namespace {

constexpr std::string_view kUsualSchema = "semel";

SqliteOptions options_of(const config::SqliteStore& store) {
  SqliteOptions options;
  options.path = store.path;
  if (store.generation_rows > 0) options.generation_rows = store.generation_rows;
  return options;
}

PostgresOptions options_of(const config::PostgresStore& store) {
  PostgresOptions options;
  options.url = store.url;
  options.schema = store.schema;
  if (store.pool > 0) options.connections = store.pool;
  return options;
}

MemoryOptions options_of(const config::MemoryStore& store) {
  MemoryOptions options;
  if (store.max_records > 0) options.max_records = store.max_records;
  return options;
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
    return open_postgres(std::move(options));
  }
  MemoryOptions options = options_of(std::get<config::MemoryStore>(store.kind));
  options.environment = wanted.environment;
  return make_memory_store(options);
}

Result<SchemaChange> schema_change(const config::StoreConfig& store) {
  if (const auto* sqlite = std::get_if<config::SqliteStore>(&store.kind)) {
    return sqlite_schema_change(options_of(*sqlite));
  }
  if (const auto* postgres = std::get_if<config::PostgresStore>(&store.kind)) {
    return postgres_schema_change(options_of(*postgres));
  }
  return SchemaChange{};
}

std::string store_name(const config::StoreConfig& store) {
  if (const auto* sqlite = std::get_if<config::SqliteStore>(&store.kind)) {
    return "sqlite " + sqlite->path;
  }
  const auto* postgres = std::get_if<config::PostgresStore>(&store.kind);
  if (postgres == nullptr) return "memory";
  const auto address = postgres::address_of(postgres->url);
  if (!address) return "postgres";
  std::string name =
      fmt::format("postgres {}:{}/{}", address->host, address->port, address->database);
  if (postgres->schema != kUsualSchema) name += " schema " + postgres->schema;
  return name;
}

std::string server_identity(const config::StoreConfig& store) {
  const auto* postgres = std::get_if<config::PostgresStore>(&store.kind);
  const auto address = postgres != nullptr ? postgres::address_of(postgres->url) : std::nullopt;
  if (!address) return {};
  return fmt::format("postgres\n{}\n{}\n{}\n{}", address->host, address->port, address->database,
                     postgres->schema);
}

}  // namespace semel::compose
