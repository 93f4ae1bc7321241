// The tables on a MariaDB or MySQL server, version by version.
#pragma once

#include <iterator>

namespace semel::mysql {

// One entry per version, in order, never changed once released: statements with a semicolon and an
// empty line between them. Each commits by itself, so running one again changes nothing.
//
// Names of ours that are compared as bytes are VARBINARY: a collation would take several names for
// one.
inline constexpr const char* kMigrations[] = {
    R"sql(
CREATE TABLE IF NOT EXISTS semel_schema (
  version BIGINT NOT NULL,
  made_at DATETIME(6) NOT NULL,
  made_by VARCHAR(255) NOT NULL
)

CREATE TABLE IF NOT EXISTS semel_meta (
  one TINYINT PRIMARY KEY,
  epoch BIGINT NOT NULL COMMENT 'high half of every token; grows when a process begins to claim',
  clock_seen DATETIME(6) NOT NULL,
  clock_doubted DATETIME(6) NOT NULL
)

INSERT INTO semel_meta VALUES (1, 0, '1970-01-01', '1970-01-01') ON DUPLICATE KEY UPDATE one = one

CREATE TABLE IF NOT EXISTS semel_number (
  number BIGINT AUTO_INCREMENT PRIMARY KEY
) COMMENT 'empty: only its AUTO_INCREMENT counts. Tokens and rows are numbered by it'

CREATE TABLE IF NOT EXISTS semel_small_number (
  number BIGINT AUTO_INCREMENT PRIMARY KEY
) COMMENT 'empty: only its AUTO_INCREMENT counts. Consumers and instances are numbered by it'

CREATE TABLE IF NOT EXISTS semel_consumer (
  number BIGINT PRIMARY KEY COMMENT 'the first bytes of each of its record ids',
  name VARBINARY(1024) NOT NULL UNIQUE,
  recipe_hash LONGBLOB NOT NULL,
  ttl BIGINT COMMENT 'of completed records, milliseconds; NULL: kept'
)

CREATE TABLE IF NOT EXISTS semel_generation (
  number BIGINT PRIMARY KEY,
  ttl BIGINT,
  state ENUM('active', 'sealed') NOT NULL,
  created_at DATETIME(6) NOT NULL,
  sealed_at DATETIME(6)
) COMMENT 'records of one ttl: one is active for each and takes new records'

CREATE TABLE IF NOT EXISTS semel_record (
  id VARBINARY(20) PRIMARY KEY COMMENT 'number of the consumer, class of the key, and 16 bytes of key',
  generation BIGINT NOT NULL,
  state ENUM('completed', 'consuming', 'retrying', 'parked', 'dead') NOT NULL,
  fingerprint VARBINARY(16) NOT NULL,
  changed_at DATETIME(6) NOT NULL COMMENT 'completed: when',
  inbox BIGINT,
  result LONGBLOB,
  token BIGINT,
  nonce VARBINARY(16),
  lease_until DATETIME(6),
  attempt BIGINT,
  outcome_unknown BOOLEAN,
  next_at DATETIME(6),
  first_seen DATETIME(6),
  holder BIGINT COMMENT 'semel_instance that has the lease',
  held BIGINT COMMENT 'semel_held row with its payload',
  message_key LONGBLOB,
  reason LONGBLOB,
  error LONGBLOB,
  KEY semel_record_state (state, generation, changed_at)
) COMMENT 'one row for each key of each consumer'

CREATE TABLE IF NOT EXISTS semel_held (
  row_id BIGINT PRIMARY KEY,
  consumer BIGINT NOT NULL,
  due_at DATETIME(6) NOT NULL COMMENT 'not shown before; moved on while it is hidden; the last days of 9999: behind another, or parked',
  ready_at DATETIME(6) NOT NULL COMMENT 'its place among those due',
  enqueued_at DATETIME(6) NOT NULL,
  taken_by BIGINT COMMENT 'semel_instance that has it in hand',
  suspect BOOLEAN NOT NULL COMMENT 'was in hand when its process died',
  attempts BIGINT NOT NULL,
  first_seen DATETIME(6) COMMENT 'NULL: not tried yet',
  fingerprint VARBINARY(16),
  message_key LONGBLOB,
  type LONGBLOB,
  content_type LONGBLOB,
  source_partition LONGBLOB,
  source_position LONGBLOB,
  broker_key LONGBLOB,
  broker_time DATETIME(6),
  headers LONGBLOB,
  payload LONGBLOB,
  line VARBINARY(3000) COMMENT 'NULL: in none, or not looked at yet',
  place BIGINT,
  line_bytes BIGINT COMMENT 'payloads of its line up to this one',
  inbox BIGINT COMMENT 'semel_inbox row that no record knows yet',
  KEY semel_held_due (consumer, due_at, row_id),
  KEY semel_held_line (consumer, line, place)
) COMMENT 'payloads that wait: the queue, delayed retries, replayed dead letters, what is parked'

CREATE TABLE IF NOT EXISTS semel_inbox (
  row_id BIGINT PRIMARY KEY,
  consumer BIGINT NOT NULL,
  message_key LONGBLOB,
  type LONGBLOB,
  content_type LONGBLOB,
  received_at DATETIME(6) NOT NULL,
  processed_at DATETIME(6) COMMENT 'NULL: not done',
  error LONGBLOB,
  result LONGBLOB,
  payload LONGBLOB
)

CREATE TABLE IF NOT EXISTS semel_dead_letter (
  id BIGINT AUTO_INCREMENT PRIMARY KEY,
  consumer BIGINT NOT NULL,
  identity VARBINARY(16) COMMENT 'digest of its key, or of its position where it has none',
  fingerprint VARBINARY(16) NOT NULL,
  record VARBINARY(20) COMMENT 'id of the record it belongs to',
  replayed BIGINT NOT NULL,
  attempts BIGINT NOT NULL,
  first_seen DATETIME(6) NOT NULL,
  dead_at DATETIME(6) NOT NULL,
  message_key LONGBLOB,
  reason LONGBLOB,
  error LONGBLOB,
  type LONGBLOB,
  content_type LONGBLOB,
  source_partition LONGBLOB,
  source_position LONGBLOB,
  headers LONGBLOB,
  payload LONGBLOB,
  UNIQUE KEY semel_dead_letter_identity (consumer, identity, fingerprint)
)

CREATE TABLE IF NOT EXISTS semel_position (
  consumer BIGINT NOT NULL,
  source_partition VARBINARY(3000) NOT NULL,
  source_position LONGBLOB,
  saved_at DATETIME(6) NOT NULL,
  PRIMARY KEY (consumer, source_partition)
)

CREATE TABLE IF NOT EXISTS semel_instance (
  number BIGINT PRIMARY KEY,
  pid BIGINT NOT NULL,
  host VARCHAR(255) NOT NULL,
  started_at DATETIME(6) NOT NULL
) COMMENT 'each process that claims or takes; its connection holds a lock on its number'

CREATE TABLE IF NOT EXISTS semel_run (
  instance BIGINT NOT NULL,
  consumer BIGINT NOT NULL,
  in_flight BIGINT NOT NULL,
  started_at DATETIME(6) NOT NULL,
  died BOOLEAN NOT NULL,
  PRIMARY KEY (instance, consumer)
) COMMENT 'which consumers a process runs; its row goes with a clean drain'

CREATE TABLE IF NOT EXISTS semel_crash (
  id VARBINARY(20) PRIMARY KEY,
  crashes BIGINT NOT NULL,
  last_at DATETIME(6) NOT NULL
) COMMENT 'messages that were in hand when a process died, and how often'

CREATE TABLE IF NOT EXISTS semel_gate (
  consumer BIGINT PRIMARY KEY,
  why LONGBLOB NOT NULL,
  since DATETIME(6) NOT NULL,
  until_at DATETIME(6)
) COMMENT 'consumers that begin nothing for now; without until_at until a person resumes it'

CREATE TABLE IF NOT EXISTS semel_lock (
  name VARBINARY(16) PRIMARY KEY
) COMMENT 'who locks a name inserts its row, and has it until its transaction ends; a purge removes what nobody has'

CREATE OR REPLACE SQL SECURITY INVOKER VIEW semel_records AS
  SELECT CONVERT(c.name USING utf8mb4) AS consumer, CONVERT(r.message_key USING utf8mb4) AS `key`,
         r.state, r.attempt, r.changed_at, r.lease_until, r.next_at, r.first_seen,
         r.outcome_unknown, CONVERT(r.reason USING utf8mb4) AS reason,
         CONVERT(r.error USING utf8mb4) AS error, r.token, LOWER(HEX(r.id)) AS id, r.generation
  FROM semel_record r
  LEFT JOIN semel_consumer c ON c.number = CONV(HEX(SUBSTR(r.id, 1, 4)), 16, 10) DIV 4

CREATE OR REPLACE SQL SECURITY INVOKER VIEW semel_messages_held AS
  SELECT h.row_id, CONVERT(c.name USING utf8mb4) AS consumer,
         CONVERT(h.message_key USING utf8mb4) AS `key`, h.due_at, h.attempts,
         CONVERT(h.line USING utf8mb4) AS line, h.place,
         CONVERT(h.headers USING utf8mb4) AS headers, CONVERT(h.payload USING utf8mb4) AS payload
  FROM semel_held h LEFT JOIN semel_consumer c ON c.number = h.consumer

CREATE OR REPLACE SQL SECURITY INVOKER VIEW semel_messages_received AS
  SELECT i.row_id, CONVERT(c.name USING utf8mb4) AS consumer,
         CONVERT(i.message_key USING utf8mb4) AS `key`, CONVERT(i.type USING utf8mb4) AS type,
         i.received_at, i.processed_at, CONVERT(i.error USING utf8mb4) AS error,
         CONVERT(i.result USING utf8mb4) AS result, CONVERT(i.payload USING utf8mb4) AS payload
  FROM semel_inbox i LEFT JOIN semel_consumer c ON c.number = i.consumer

CREATE OR REPLACE SQL SECURITY INVOKER VIEW semel_dead_letters AS
  SELECT d.id, CONVERT(c.name USING utf8mb4) AS consumer,
         CONVERT(d.message_key USING utf8mb4) AS `key`, CONVERT(d.reason USING utf8mb4) AS reason,
         CONVERT(d.error USING utf8mb4) AS error, d.attempts, d.replayed, d.first_seen, d.dead_at,
         CONVERT(d.headers USING utf8mb4) AS headers, CONVERT(d.payload USING utf8mb4) AS payload
  FROM semel_dead_letter d LEFT JOIN semel_consumer c ON c.number = d.consumer
)sql",
    // Each index of semel_record costs every claim; what it was for needs none.
    R"sql(
CREATE TABLE IF NOT EXISTS semel_open (
  id VARBINARY(20) PRIMARY KEY
) COMMENT 'the records that are not completed'

CREATE TABLE IF NOT EXISTS semel_sweep (
  consumer BIGINT PRIMARY KEY,
  begun_at DATETIME(6) NOT NULL COMMENT 'the last sweep through its records',
  place VARBINARY(20) COMMENT 'its ids up to this one were looked at; NULL: all'
) COMMENT 'how far completed records past their ttl were looked for'

INSERT INTO semel_open (id)
  SELECT r.id FROM semel_record AS r
  WHERE r.state IN ('consuming', 'retrying', 'parked', 'dead')
  ON DUPLICATE KEY UPDATE semel_open.id = semel_open.id

SET @semel_step = IF((SELECT COUNT(*) FROM information_schema.statistics
  WHERE table_schema = DATABASE() AND table_name = 'semel_record'
  AND index_name = 'semel_record_state') > 0,
  'ALTER TABLE semel_record DROP INDEX semel_record_state', 'DO 0')

ALTER TABLE semel_record ALTER COLUMN state SET DEFAULT 'completed'

PREPARE semel_step FROM @semel_step

EXECUTE semel_step

DEALLOCATE PREPARE semel_step

CREATE OR REPLACE SQL SECURITY INVOKER VIEW semel_record_open AS
  SELECT r.* FROM semel_open AS o STRAIGHT_JOIN semel_record AS r FORCE INDEX (PRIMARY)
  ON r.id = o.id WHERE r.state <> 'completed'

CREATE OR REPLACE SQL SECURITY INVOKER VIEW semel_records_open AS
  SELECT CONVERT(c.name USING utf8mb4) AS consumer, CONVERT(r.message_key USING utf8mb4) AS `key`,
         r.state, r.attempt, r.changed_at, r.lease_until, r.next_at, r.first_seen,
         r.outcome_unknown, CONVERT(r.reason USING utf8mb4) AS reason,
         CONVERT(r.error USING utf8mb4) AS error, r.token, LOWER(HEX(r.id)) AS id, r.generation
  FROM semel_record_open r
  LEFT JOIN semel_consumer c ON c.number = CONV(HEX(SUBSTR(r.id, 1, 4)), 16, 10) DIV 4
)sql",
    R"sql(
CREATE TABLE IF NOT EXISTS semel_step (
  record VARBINARY(20) NOT NULL,
  name VARBINARY(63) NOT NULL,
  business VARBINARY(255) NOT NULL,
  state VARBINARY(16) NOT NULL,
  place BIGINT NOT NULL,
  round BIGINT NOT NULL,
  attempts BIGINT NOT NULL,
  tries BIGINT NOT NULL,
  kept_at DATETIME(6) NOT NULL,
  input VARBINARY(16),
  result LONGBLOB,
  reason LONGBLOB,
  error LONGBLOB,
  PRIMARY KEY (record, name, business)
) COMMENT 'steps that a handler has finished, done or undone; without a name: that the message is given up and they are being undone'
)sql",
    R"sql(
CREATE TABLE IF NOT EXISTS semel_audit (
  id BIGINT AUTO_INCREMENT PRIMARY KEY,
  request VARBINARY(16) NOT NULL UNIQUE COMMENT 'said again it adds no second row',
  kept_at DATETIME(6) NOT NULL,
  who LONGBLOB NOT NULL,
  action LONGBLOB NOT NULL,
  target LONGBLOB NOT NULL,
  reason LONGBLOB NOT NULL,
  outcome LONGBLOB
) COMMENT 'what people did through the admin API, and why; without outcome: it has begun'
)sql",
    R"sql(
SET @semel_step = IF((SELECT COUNT(*) FROM information_schema.columns
  WHERE table_schema = DATABASE() AND table_name = 'semel_dead_letter'
  AND column_name = 'original') > 0, 'DO 0',
  'ALTER TABLE semel_dead_letter ADD COLUMN original VARBINARY(16) COMMENT ''its fingerprint before a person first edited it''')

PREPARE semel_step FROM @semel_step

EXECUTE semel_step

DEALLOCATE PREPARE semel_step
)sql",
};
// The version that no older process may work on.
inline constexpr int kListsOpenRecords = 2;
inline constexpr int kSchemaVersion = static_cast<int>(std::size(kMigrations));

}  // namespace semel::mysql
