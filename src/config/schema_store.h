// The schema of `store:`.
#pragma once

#include <semel/front.h>
#include <semel/memory.h>
#include <semel/mysql.h>
#include <semel/postgres.h>
#include <semel/redis.h>
#include <semel/sqlite.h>

#include "config/config.h"
#include "config/member.h"
#include "config/schema.h"
#include "config/schema_units.h"

namespace semel::config {

inline constexpr Field kSqliteFields[] = {
    {.name = "path",
     .shape = Shape::kPath,
     .meaning = "The database file that holds the records, and your tables where a SQL handler "
                "writes them. Where `$STATE_DIRECTORY` is set, its default is in there.",
     .member = &kMember<&SqliteOptions::path>,
     .fallback = "semel.db"},
    {.name = "generation_rows",
     .shape = Shape::kInteger,
     .meaning = "Completed records in one generation before a new one is begun; a whole one is "
                "dropped when its `ttl` is over.",
     .member = &kMember<&SqliteOptions::generation_rows>,
     .low = 1,
     .high = kMany},
    {.name = "foreign_keys",
     .shape = Shape::kBoolean,
     .meaning = "Whether SQLite enforces the foreign keys of your tables: a row whose parent is "
                "missing is refused, and ON DELETE acts. SQLite itself leaves them off.",
     .member = &kMember<&SqliteOptions::foreign_keys>},
    {.name = "busy",
     .shape = Shape::kDuration,
     .meaning = "How long the store waits for another program that holds the database locked, as "
                "one whose disk stalls, before it says so (R206).",
     .member = &kMember<&SqliteOptions::busy>,
     .low = 1,
     .high = 10 * kMinute},
};

// The row that every server's store has.
template <auto Connections>
inline constexpr Field kPoolField = {
    .name = "pool",
    .shape = Shape::kInteger,
    .meaning =
        "Connections of a process that stay open while they are idle. One more is open as "
        "long as it works.",
    .member = &kMember<Connections>,
    .low = 1,
    .high = 1'000};

inline constexpr Field kPostgresFields[] = {
    {.name = "url",
     .shape = Shape::kText,
     .meaning = "The database that holds your tables, as libpq takes it: "
                "`postgresql://user@host/database?sslmode=verify-full`, or `host=… dbname=…`. What "
                "it does not say comes from `PGHOST`, `PGUSER`, `PGPASSWORD`, `~/.pgpass` and so "
                "on. A password in it is never shown.",
     .member = &kMember<&PostgresOptions::url>,
     .required = true,
     .address = true},
    {.name = "schema",
     .shape = Shape::kIdentifier,
     .meaning = "Of Semel's tables in that database: `[a-z_][a-z0-9_]{0,62}`.",
     .member = &kMember<&PostgresOptions::schema>},
    kPoolField<&PostgresOptions::connections>,
};

inline constexpr Field kMySqlFields[] = {
    {.name = "url",
     .shape = Shape::kText,
     .meaning = "The database that holds your tables, on MariaDB or MySQL: "
                "`mysql://user:password@host:3306/database?tls=verify`. Semel's tables stand in it "
                "too. A password in it is never shown.",
     .member = &kMember<&MySqlOptions::url>,
     .required = true,
     .address = true},
    kPoolField<&MySqlOptions::connections>,
};

inline constexpr Field kAcceptOfRedisField[] = {
    {.name = "", .shape = Shape::kWord, .meaning = "", .words = "eviction"}};

inline constexpr Field kRedisFields[] = {
    {.name = "url",
     .shape = Shape::kText,
     .meaning = "The server, or any node of a Cluster: `redis://user:password@host:6379/0`, the "
                "last part the number of a database; `rediss://…` with TLS; or "
                "`redis+unix:///path/to/socket?db=0`. A password in it is never shown.",
     .member = &kMember<&RedisOptions::url>,
     .required = true,
     .address = true},
    {.name = "prefix",
     .shape = Shape::kText,
     .meaning = "How all names begin that Semel keeps there; without a brace. Stores with two "
                "prefixes do not meet.",
     .member = &kMember<&RedisOptions::prefix>},
    kPoolField<&RedisOptions::connections>,
    {.name = "wait_replicas",
     .shape = Shape::kInteger,
     .meaning = "So many replicas must have a claim, an end or a message before it counts; where "
                "too few have it in time it is in doubt (R268). Costs a way to them each time.",
     .member = &kMember<&RedisOptions::wait_replicas>,
     .low = 0,
     .high = 100},
    {.name = "accept",
     .shape = Shape::kList,
     .meaning = "What is accepted knowingly: `eviction` (the server may forget records to make "
                "room; what they were about may be done again).",
     .fields = kAcceptOfRedisField,
     .comma = true},
};

inline constexpr Field kMemoryFields[] = {
    {.name = "max_records",
     .shape = Shape::kInteger,
     .meaning = "Records kept; past it the oldest finished one is forgotten.",
     .member = &kMember<&MemoryOptions::max_records>,
     .low = 1,
     .high = kMany},
};

// The windows in front of the records.
inline constexpr Field kMemoryFrontFields[] = {
    {.name = "entries",
     .shape = Shape::kInteger,
     .meaning = "Keys kept, 40 bytes each, taken at the start; past it older ones go.",
     .member = &kMember<&MemoryFrontOptions::entries>,
     .low = 1,
     .high = 100'000'000},
};

inline constexpr Field kRedisFrontFields[] = {
    {.name = "url",
     .shape = Shape::kText,
     .meaning = "The server, or any node of a Cluster, as `store.redis.url`. It may forget what it "
                "likes. A password in it is never shown.",
     .member = &kMember<&RedisFrontOptions::url>,
     .required = true,
     .address = true},
    {.name = "prefix",
     .shape = Shape::kText,
     .meaning = "How all names begin that Semel keeps there; without a brace.",
     .member = &kMember<&RedisFrontOptions::prefix>},
    {.name = "timeout",
     .shape = Shape::kDuration,
     .meaning = "To connect, and for each answer; a server that takes longer counts as away, and "
                "is asked nothing until it answers again.",
     .member = &kMember<&RedisFrontOptions::timeout>,
     .low = 1,
     .high = 10 * kSecond},
};

inline constexpr Field kFrontFields[] = {
    {.name = "memory",
     .shape = Shape::kMap,
     .meaning = "In this process alone, and forgotten with it.",
     .fields = kMemoryFrontFields,
     .alternative = true},
    {.name = "redis",
     .shape = Shape::kMap,
     .meaning = "In a Redis server, shared by all processes that run the consumer.",
     .fields = kRedisFrontFields,
     .short_form = "url",
     .alternative = true},
    {.name = "ttl",
     .shape = Shape::kDuration,
     .meaning = "How long it knows a key that is completed; no longer than its record is kept.",
     .member = &kMember<&MemoryFrontOptions::ttl>,
     .low = kSecond,
     .high = 30 * kDay},
};

inline constexpr Field kStoreFields[] = {
    {.name = "sqlite",
     .shape = Shape::kMap,
     .meaning = "Records in an SQLite file.",
     .fields = kSqliteFields,
     .short_form = "path",
     .alternative = true},
    {.name = "postgres",
     .shape = Shape::kMap,
     .meaning = "Records in a PostgreSQL database, beside your tables.",
     .fields = kPostgresFields,
     .short_form = "url",
     .alternative = true},
    {.name = "mysql",
     .shape = Shape::kMap,
     .meaning = "Records in a MariaDB or MySQL database, beside your tables.",
     .fields = kMySqlFields,
     .short_form = "url",
     .alternative = true},
    {.name = "redis",
     .shape = Shape::kMap,
     .meaning = "Records in a Redis server, for effects that are elsewhere.",
     .fields = kRedisFields,
     .short_form = "url",
     .alternative = true},
    {.name = "memory",
     .shape = Shape::kMap,
     .meaning = "Records in the process: everything is forgotten when it ends. For trials.",
     .fields = kMemoryFields,
     .alternative = true},
    {.name = "on_unavailable",
     .shape = Shape::kWord,
     .meaning = "When a running process cannot reach the store: wait and try again, or end with "
                "exit code 69. A start always ends with 69 where the store does not answer, so "
                "that whoever supervises it starts it again. Never: go on without it.",
     .member = &kMember<&StoreConfig::on_unavailable>,
     .words = "pause|fail"},
};

}  // namespace semel::config
