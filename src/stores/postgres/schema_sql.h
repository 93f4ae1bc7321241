// The tables on a PostgreSQL server, version by version.
#pragma once

#include <iterator>

namespace semel::postgres {

// One entry per version, in order, never changed once released. {schema} is the name the user
// chose, quoted.
inline constexpr const char* kMigrations[] = {
    R"sql(
CREATE TABLE {schema}.semel_schema (
  version bigint NOT NULL,
  made_at timestamptz NOT NULL,
  made_by text NOT NULL
);

CREATE TABLE {schema}.semel_meta (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  epoch bigint NOT NULL,
  generations bigint NOT NULL,
  clock_seen timestamptz NOT NULL,
  clock_doubted timestamptz NOT NULL
);
INSERT INTO {schema}.semel_meta VALUES (true, 0, 1, 'epoch', 'epoch');
COMMENT ON COLUMN {schema}.semel_meta.epoch IS 'high half of every token; grows when a process begins to claim';
COMMENT ON COLUMN {schema}.semel_meta.generations IS 'grows when a generation is begun, sealed or dropped';

CREATE SEQUENCE {schema}.semel_token;
CREATE SEQUENCE {schema}.semel_consumer_number;
CREATE SEQUENCE {schema}.semel_instance_number;
CREATE SEQUENCE {schema}.semel_held_number;
CREATE SEQUENCE {schema}.semel_inbox_number;
CREATE SEQUENCE {schema}.semel_dead_letter_number;

CREATE TABLE {schema}.semel_consumer (
  number bigint PRIMARY KEY,
  name text NOT NULL UNIQUE,
  recipe_hash bytea NOT NULL,
  ttl bigint
);
COMMENT ON COLUMN {schema}.semel_consumer.number IS 'the first bytes of each of its record ids';
COMMENT ON COLUMN {schema}.semel_consumer.ttl IS 'of completed records, milliseconds; NULL: kept';

CREATE TABLE {schema}.semel_generation (
  number bigint PRIMARY KEY,
  ttl bigint,
  state text NOT NULL CHECK (state IN ('active', 'sealed')),
  created_at timestamptz NOT NULL,
  sealed_at timestamptz
);
COMMENT ON TABLE {schema}.semel_generation IS 'the partitions of semel_record: one is active for each ttl and takes new records; a sealed one goes as a whole';

CREATE TYPE {schema}.semel_state AS ENUM ('consuming', 'completed', 'retrying', 'parked', 'dead');

CREATE TABLE {schema}.semel_record (
  id bytea NOT NULL,
  generation bigint NOT NULL,
  state {schema}.semel_state NOT NULL,
  fingerprint bytea NOT NULL,
  changed_at timestamptz NOT NULL,
  inbox bigint,
  result bytea,
  token bigint,
  nonce bytea,
  lease_until timestamptz,
  attempt bigint,
  outcome_unknown boolean,
  next_at timestamptz,
  first_seen timestamptz,
  holder bigint,
  held bigint,
  message_key bytea,
  reason bytea,
  error bytea,
  PRIMARY KEY (id, generation)
) PARTITION BY LIST (generation);
COMMENT ON TABLE {schema}.semel_record IS 'one row for each key of each consumer; an id stands in one generation only';
COMMENT ON COLUMN {schema}.semel_record.id IS 'number of the consumer, class of the key, and 16 bytes of key';
COMMENT ON COLUMN {schema}.semel_record.changed_at IS 'completed: when';
COMMENT ON COLUMN {schema}.semel_record.holder IS 'semel_instance that has the lease';
COMMENT ON COLUMN {schema}.semel_record.held IS 'semel_held row with its payload';
CREATE INDEX semel_record_open ON {schema}.semel_record (first_seen, id) WHERE state <> 'completed';

CREATE TABLE {schema}.semel_held (
  row_id bigint PRIMARY KEY,
  consumer bigint NOT NULL,
  due_at timestamptz NOT NULL,
  ready_at timestamptz NOT NULL,
  enqueued_at timestamptz NOT NULL,
  taken_by bigint,
  suspect boolean NOT NULL,
  attempts bigint NOT NULL,
  first_seen timestamptz,
  fingerprint bytea,
  message_key bytea,
  type bytea,
  content_type bytea,
  source_partition bytea,
  source_position bytea,
  broker_key bytea,
  broker_time timestamptz,
  headers bytea,
  payload bytea,
  line bytea,
  place bigint,
  line_bytes bigint,
  inbox bigint
);
COMMENT ON TABLE {schema}.semel_held IS 'payloads that wait: the queue, delayed retries, replayed dead letters, what is parked';
COMMENT ON COLUMN {schema}.semel_held.due_at IS 'not shown before; moved on while it is hidden; the last days of 9999: behind another, or parked';
COMMENT ON COLUMN {schema}.semel_held.ready_at IS 'its place among those due';
COMMENT ON COLUMN {schema}.semel_held.taken_by IS 'semel_instance that has it in hand';
COMMENT ON COLUMN {schema}.semel_held.suspect IS 'was in hand when its process died';
COMMENT ON COLUMN {schema}.semel_held.first_seen IS 'NULL: not tried yet';
COMMENT ON COLUMN {schema}.semel_held.line IS 'NULL: in none, or not looked at yet';
COMMENT ON COLUMN {schema}.semel_held.line_bytes IS 'payloads of its line up to this one';
COMMENT ON COLUMN {schema}.semel_held.inbox IS 'semel_inbox row that no record knows yet';
CREATE INDEX semel_held_due ON {schema}.semel_held (consumer, due_at, row_id);
CREATE INDEX semel_held_line ON {schema}.semel_held (consumer, line, place) WHERE line IS NOT NULL;

CREATE TABLE {schema}.semel_inbox (
  row_id bigint PRIMARY KEY,
  consumer bigint NOT NULL,
  message_key bytea,
  type bytea,
  content_type bytea,
  received_at timestamptz NOT NULL,
  processed_at timestamptz,
  error bytea,
  result bytea,
  payload bytea
);
COMMENT ON COLUMN {schema}.semel_inbox.processed_at IS 'NULL: not done';

CREATE TABLE {schema}.semel_dead_letter (
  id bigint PRIMARY KEY DEFAULT nextval('{schema}.semel_dead_letter_number'),
  consumer bigint NOT NULL,
  identity bytea,
  fingerprint bytea NOT NULL,
  record bytea,
  replayed bigint NOT NULL,
  attempts bigint NOT NULL,
  first_seen timestamptz NOT NULL,
  dead_at timestamptz NOT NULL,
  message_key bytea,
  reason bytea,
  error bytea,
  type bytea,
  content_type bytea,
  source_partition bytea,
  source_position bytea,
  headers bytea,
  payload bytea,
  UNIQUE (consumer, identity, fingerprint)
);
COMMENT ON COLUMN {schema}.semel_dead_letter.identity IS 'digest of its key, or of its position where it has none';
COMMENT ON COLUMN {schema}.semel_dead_letter.record IS 'id of the record it belongs to';

CREATE TABLE {schema}.semel_position (
  consumer bigint NOT NULL,
  source_partition bytea NOT NULL,
  source_position bytea,
  saved_at timestamptz NOT NULL,
  PRIMARY KEY (consumer, source_partition)
);

CREATE TABLE {schema}.semel_instance (
  number bigint PRIMARY KEY,
  pid bigint NOT NULL,
  host text NOT NULL,
  started_at timestamptz NOT NULL
);
COMMENT ON TABLE {schema}.semel_instance IS 'each process that claims or takes; its connection holds an advisory lock on its number';

CREATE TABLE {schema}.semel_run (
  instance bigint NOT NULL,
  consumer bigint NOT NULL,
  in_flight bigint NOT NULL,
  started_at timestamptz NOT NULL,
  died boolean NOT NULL,
  PRIMARY KEY (instance, consumer)
);
COMMENT ON TABLE {schema}.semel_run IS 'which consumers a process runs; its row goes with a clean drain';

CREATE TABLE {schema}.semel_crash (
  id bytea PRIMARY KEY,
  crashes bigint NOT NULL,
  last_at timestamptz NOT NULL
);
COMMENT ON TABLE {schema}.semel_crash IS 'messages that were in hand when a process died, and how often';

CREATE TABLE {schema}.semel_gate (
  consumer bigint PRIMARY KEY,
  why bytea NOT NULL,
  since timestamptz NOT NULL,
  until_at timestamptz
);
COMMENT ON TABLE {schema}.semel_gate IS 'consumers that begin nothing for now; without until_at until a person resumes it';

CREATE VIEW {schema}.semel_records AS
  SELECT c.name AS consumer, encode(r.message_key, 'escape') AS key, r.state, r.attempt,
         r.changed_at, r.lease_until, r.next_at, r.first_seen, r.outcome_unknown,
         encode(r.reason, 'escape') AS reason, encode(r.error, 'escape') AS error, r.token,
         encode(r.id, 'hex') AS id, r.generation
  FROM {schema}.semel_record r
  LEFT JOIN {schema}.semel_consumer c ON c.number = ('x' || substr(encode(r.id, 'hex'), 1, 8))::bit(32)::bigint >> 2;
CREATE VIEW {schema}.semel_messages_held AS
  SELECT h.row_id, c.name AS consumer, encode(h.message_key, 'escape') AS key, h.due_at, h.attempts,
         encode(h.line, 'escape') AS line, h.place, encode(h.headers, 'escape') AS headers,
         encode(h.payload, 'escape') AS payload
  FROM {schema}.semel_held h LEFT JOIN {schema}.semel_consumer c ON c.number = h.consumer;
CREATE VIEW {schema}.semel_messages_received AS
  SELECT i.row_id, c.name AS consumer, encode(i.message_key, 'escape') AS key,
         encode(i.type, 'escape') AS type, i.received_at, i.processed_at,
         encode(i.error, 'escape') AS error, encode(i.result, 'escape') AS result,
         encode(i.payload, 'escape') AS payload
  FROM {schema}.semel_inbox i LEFT JOIN {schema}.semel_consumer c ON c.number = i.consumer;
CREATE VIEW {schema}.semel_dead_letters AS
  SELECT d.id, c.name AS consumer, encode(d.message_key, 'escape') AS key,
         encode(d.reason, 'escape') AS reason, encode(d.error, 'escape') AS error, d.attempts,
         d.replayed, d.first_seen, d.dead_at, encode(d.headers, 'escape') AS headers,
         encode(d.payload, 'escape') AS payload
  FROM {schema}.semel_dead_letter d LEFT JOIN {schema}.semel_consumer c ON c.number = d.consumer;
)sql",
    R"sql(
CREATE TABLE {schema}.semel_step (
  record bytea NOT NULL,
  name bytea NOT NULL,
  business bytea NOT NULL,
  state bytea NOT NULL,
  place bigint NOT NULL,
  round bigint NOT NULL,
  attempts bigint NOT NULL,
  tries bigint NOT NULL,
  kept_at timestamptz NOT NULL,
  input bytea,
  result bytea,
  reason bytea,
  error bytea,
  PRIMARY KEY (record, name, business)
);
COMMENT ON TABLE {schema}.semel_step IS 'steps that a handler has finished, done or undone; without a name: that the message is given up and they are being undone';
)sql",
    R"sql(
CREATE TABLE {schema}.semel_audit (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  request bytea NOT NULL UNIQUE,
  kept_at timestamptz NOT NULL,
  who bytea NOT NULL,
  action bytea NOT NULL,
  target bytea NOT NULL,
  reason bytea NOT NULL,
  outcome bytea
);
COMMENT ON TABLE {schema}.semel_audit IS 'what people did through the admin API, and why; without outcome: it has begun';
)sql",
    R"sql(
ALTER TABLE {schema}.semel_dead_letter ADD COLUMN IF NOT EXISTS original bytea;
COMMENT ON COLUMN {schema}.semel_dead_letter.original IS 'its fingerprint before a person first edited it; NULL: nobody has';
)sql",
};
inline constexpr int kSchemaVersion = static_cast<int>(std::size(kMigrations));

}  // namespace semel::postgres
