#include "stores/sqlite/schema.h"

#include <fmt/format.h>

#include <semel/version.h>

#include "stores/sqlite/prepared.h"

namespace semel::sqlite {
namespace {

// One entry per version, in order, never changed once released: an older file runs the missing
// ones. Times are milliseconds since 1970 (UTC). SQLite keeps the comments inside a statement:
// `.schema` in its shell shows them.
constexpr const char* kMigrations[] = {
    R"sql(
CREATE TABLE semel_schema (version INTEGER NOT NULL, made_at INTEGER NOT NULL, made_by TEXT NOT NULL);

CREATE TABLE semel_meta (
  epoch INTEGER NOT NULL,          -- high half of every token; grows when a process begins to claim
  token INTEGER NOT NULL,          -- low half of the last token
  generations INTEGER NOT NULL,    -- grows when a generation is begun, sealed or dropped
  clock_seen INTEGER NOT NULL,     -- the latest time at which anything was purged
  clock_doubted INTEGER NOT NULL   -- when the clock was last seen to jump
);
INSERT INTO semel_meta VALUES (0, 0, 1, 0, 0);

CREATE TABLE semel_consumer (
  number INTEGER PRIMARY KEY AUTOINCREMENT,  -- the first bytes of each of its record ids
  name TEXT NOT NULL UNIQUE,
  recipe_hash BLOB NOT NULL,
  ttl INTEGER                                -- of completed records, milliseconds; NULL: kept
);

-- Completed records stand in tables of their own, semel_completed_<number>: the active one takes
-- inserts, sealed ones are only read, and a whole one is dropped when all in it is past its ttl.
CREATE TABLE semel_generation (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  ttl INTEGER,                     -- of its family; NULL: never dropped
  state TEXT NOT NULL CHECK (state IN ('active', 'sealed')),
  created_at INTEGER NOT NULL,
  sealed_at INTEGER,
  rows INTEGER NOT NULL,
  filter BLOB,
  filter_rows INTEGER,
  filter_checksum BLOB
);

-- What is not completed: being handled, waiting for its retry, parked for a person, given up.
CREATE TABLE semel_live (
  id BLOB PRIMARY KEY,
  state TEXT NOT NULL CHECK (state IN ('consuming', 'retrying', 'parked', 'dead')),
  fingerprint BLOB NOT NULL,
  token INTEGER NOT NULL,
  nonce BLOB,
  lease_until INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  outcome_unknown INTEGER NOT NULL,
  next_at INTEGER NOT NULL,
  first_seen INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  holder INTEGER,                  -- semel_instance that has the lease
  held INTEGER,                    -- semel_held row with its payload
  inbox INTEGER,                   -- semel_inbox row
  key,
  reason TEXT,
  error TEXT
) WITHOUT ROWID;

-- Payloads that wait: the queue, delayed retries, replayed dead letters, what is parked.
CREATE TABLE semel_held (
  row INTEGER PRIMARY KEY AUTOINCREMENT,
  consumer INTEGER NOT NULL,
  due_at INTEGER NOT NULL,         -- not shown before; moved on while it is hidden
  ready_at INTEGER NOT NULL,       -- its place in the line
  enqueued_at INTEGER NOT NULL,
  taken_by INTEGER,                -- semel_instance that has it in hand
  suspect INTEGER NOT NULL,        -- was in hand when its process died
  attempts INTEGER NOT NULL,
  first_seen INTEGER,              -- NULL: not tried yet
  fingerprint BLOB,
  key,
  type TEXT,
  content_type TEXT,
  partition TEXT,
  position TEXT,
  broker_key,
  broker_time INTEGER,
  headers,
  payload
);
CREATE INDEX semel_held_due ON semel_held (consumer, due_at, taken_by);

CREATE TABLE semel_inbox (
  row INTEGER PRIMARY KEY,
  consumer INTEGER NOT NULL,
  key,
  type TEXT,
  content_type TEXT,
  received_at INTEGER NOT NULL,
  processed_at INTEGER,            -- NULL: not done
  error TEXT,
  result,
  payload
);

CREATE TABLE semel_result (row INTEGER PRIMARY KEY, result);

CREATE TABLE semel_dead_letter (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  consumer INTEGER NOT NULL,
  identity BLOB,                   -- digest of its key, or of its position where it has none
  fingerprint BLOB NOT NULL,
  record BLOB,                     -- id of the record it belongs to
  replayed INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  first_seen INTEGER NOT NULL,
  dead_at INTEGER NOT NULL,
  key,
  reason TEXT,
  error TEXT,
  type TEXT,
  content_type TEXT,
  partition TEXT,
  position TEXT,
  headers,
  payload
);
CREATE UNIQUE INDEX semel_dead_letter_identity
  ON semel_dead_letter (consumer, identity, fingerprint);

CREATE TABLE semel_position (
  consumer INTEGER NOT NULL,
  partition NOT NULL,
  position,
  saved_at INTEGER NOT NULL,
  PRIMARY KEY (consumer, partition)
) WITHOUT ROWID;

-- Each process that claims or takes; it holds a lock on a byte of the file beside the database.
CREATE TABLE semel_instance (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  pid INTEGER NOT NULL,
  started_at INTEGER NOT NULL
);

-- Which consumers a process runs; its row goes with a clean drain.
CREATE TABLE semel_run (
  instance INTEGER NOT NULL,
  consumer INTEGER NOT NULL,
  in_flight INTEGER NOT NULL,      -- at most, per partition
  started_at INTEGER NOT NULL,
  died INTEGER NOT NULL,
  PRIMARY KEY (instance, consumer)
) WITHOUT ROWID;

-- Messages that were in hand when a process died, and how often.
CREATE TABLE semel_crash (
  id BLOB PRIMARY KEY,
  count INTEGER NOT NULL,
  last_at INTEGER NOT NULL
) WITHOUT ROWID;
)sql",
    R"sql(
-- Consumers that begin nothing for now.
CREATE TABLE semel_gate (
  consumer INTEGER PRIMARY KEY,
  why TEXT NOT NULL,
  since INTEGER NOT NULL,
  until INTEGER                    -- NULL: until a person resumes it
);
)sql",
    R"sql(
-- What is of one line is handled in its order; see order: in the config.
ALTER TABLE semel_held ADD COLUMN line;                -- NULL: in none, or not looked at yet
ALTER TABLE semel_held ADD COLUMN place INTEGER;       -- in its line
ALTER TABLE semel_held ADD COLUMN line_bytes INTEGER;  -- payloads of its line up to this one
ALTER TABLE semel_held ADD COLUMN inbox INTEGER;       -- semel_inbox row that no record knows yet
CREATE INDEX semel_held_line ON semel_held (consumer, line, place) WHERE line IS NOT NULL;
)sql",
    R"sql(
-- Steps that a message's handler has finished, and whether the message is given up and they are
-- being undone: that row has no name.
CREATE TABLE semel_step (
  record BLOB NOT NULL,
  name TEXT NOT NULL,
  business BLOB NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('done', 'undone', 'giving_up')),
  place INTEGER NOT NULL,          -- they are undone from the highest on
  round INTEGER NOT NULL,          -- grows when one that was undone is done again
  attempts INTEGER NOT NULL,       -- giving_up: of the handler
  tries INTEGER NOT NULL,          -- giving_up: of the next undo
  at INTEGER NOT NULL,
  input BLOB,
  result,
  reason TEXT,
  error TEXT,
  PRIMARY KEY (record, name, business)
) WITHOUT ROWID;
ALTER TABLE semel_live ADD COLUMN steps INTEGER NOT NULL DEFAULT 0;  -- has rows in semel_step
)sql",
    R"sql(
-- Acts of people through the admin API, and why.
CREATE TABLE semel_audit (
  id INTEGER PRIMARY KEY,
  request BLOB NOT NULL UNIQUE,    -- said again it adds no second row
  at INTEGER NOT NULL,
  who TEXT NOT NULL,               -- name of a token
  action TEXT NOT NULL,
  target TEXT NOT NULL,
  reason TEXT NOT NULL,
  outcome TEXT                     -- NULL: it has begun
);
)sql",
    R"sql(
-- The fingerprint of a dead letter before a person first edited it.
ALTER TABLE semel_dead_letter ADD COLUMN original BLOB;  -- NULL: nobody has
)sql",
    R"sql(
-- SQLite makes a table of its own for each check of a list of more than two words. The table is not
-- renamed: that would look at every view and trigger of the file, whoever owns it.
CREATE TABLE semel_live_6 AS SELECT * FROM semel_live;
DROP TABLE semel_live;
CREATE TABLE semel_live (
  id BLOB PRIMARY KEY,
  state TEXT NOT NULL
    CHECK (state = 'consuming' OR state = 'retrying' OR state = 'parked' OR state = 'dead'),
  fingerprint BLOB NOT NULL,
  token INTEGER NOT NULL,
  nonce BLOB,
  lease_until INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  outcome_unknown INTEGER NOT NULL,
  next_at INTEGER NOT NULL,
  first_seen INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  holder INTEGER,                  -- semel_instance that has the lease
  held INTEGER,                    -- semel_held row with its payload
  inbox INTEGER,                   -- semel_inbox row
  key,
  reason TEXT,
  error TEXT,
  steps INTEGER NOT NULL DEFAULT 0  -- has rows in semel_step
) WITHOUT ROWID;
INSERT INTO semel_live (id, state, fingerprint, token, nonce, lease_until, attempt,
    outcome_unknown, next_at, first_seen, changed_at, holder, held, inbox, key, reason, error, steps)
  SELECT id, state, fingerprint, token, nonce, lease_until, attempt, outcome_unknown, next_at,
    first_seen, changed_at, holder, held, inbox, key, reason, error, steps FROM semel_live_6;
DROP TABLE semel_live_6;
)sql",
};
static_assert(std::size(kMigrations) == kSchemaVersion);

}  // namespace

int schema_version(Connection& connection) {
  if (connection
          .ask("SELECT name FROM sqlite_master WHERE type = 'table' AND "
               "name = 'semel_schema'")
          .empty()) {
    return 0;
  }
  Prepared read(connection, "SELECT version FROM semel_schema");
  const Reading reading(read);
  return read.next() ? read.small(0) : 0;
}

void refuse_newer(const Connection& connection, int version) {
  if (version <= kSchemaVersion) return;
  fail({ErrorKind::kRejected, "R210",
        fmt::format("{} has tables of version {}; this library knows version {} and older",
                    connection.path(), version, kSchemaVersion),
        "use the newer Semel that wrote it"});
}

std::string migration_sql(int version) {
  if (version >= kSchemaVersion) return {};
  std::string sql = "BEGIN IMMEDIATE;\n";
  for (int next = version; next < kSchemaVersion; ++next) sql += kMigrations[next];
  return sql + fmt::format(
                   "DELETE FROM semel_schema;\nINSERT INTO semel_schema VALUES ({}, 1000 * "
                   "strftime('%s', 'now'), 'semel {}');\nCOMMIT;\n",
                   kSchemaVersion, ::semel::version());
}

void make_schema(Connection& connection, StoreTime now) {
  const int version = schema_version(connection);
  refuse_newer(connection, version);
  for (int next = version; next < kSchemaVersion; ++next) connection.execute(kMigrations[next]);
  if (version == kSchemaVersion) return;
  connection.execute("DELETE FROM semel_schema");
  const std::string made_by = fmt::format("semel {}", ::semel::version());
  Prepared(connection, "INSERT INTO semel_schema VALUES (?1, ?2, ?3)")
      .bind(1, kSchemaVersion)
      .bind(2, now)
      .bind_text(3, made_by)
      .run();
}

}  // namespace semel::sqlite
