-- Functions that the others call. Functions named semel_… run with the rights of their caller, so
-- a role without rights on the tables can do nothing with them by itself.
-- A parameter has the collation of what its caller gives, which may take two texts for one, or refuse
-- to search in them. So a text that is compared or looked into says another.

CREATE OR REPLACE FUNCTION {schema}.functions_version() RETURNS integer
LANGUAGE sql IMMUTABLE AS $semel$ SELECT {version} $semel$;

-- Ends the statement with one of our codes: R272 as SQLSTATE SM272.
CREATE OR REPLACE FUNCTION {schema}.semel_refuse(code text, message text, hint text) RETURNS void
LANGUAGE plpgsql AS $semel$
BEGIN
  RAISE EXCEPTION USING ERRCODE = 'SM' || substr(code, 2), HINT = hint,
                        MESSAGE = 'semel: ' || message || ' (' || code || ')';
END $semel$;

CREATE OR REPLACE FUNCTION {schema}.semel_converted(content text) RETURNS bytea
LANGUAGE plpgsql IMMUTABLE AS $semel$
BEGIN
  RETURN convert_to(content, 'UTF8');
EXCEPTION WHEN character_not_in_repertoire OR untranslatable_character THEN
  RETURN NULL;
END $semel$;

-- The text in UTF-8; NULL where the database keeps it in an encoding that leads to none.
CREATE OR REPLACE FUNCTION {schema}.semel_utf8(content text) RETURNS bytea
LANGUAGE sql STABLE AS $semel$
SELECT CASE WHEN getdatabaseencoding() = 'UTF8' THEN convert_to(content, 'UTF8')
            ELSE {schema}.semel_converted(content) END
$semel$;

CREATE OR REPLACE FUNCTION {schema}.semel_refuse_content(content text, what text) RETURNS bytea
LANGUAGE plpgsql STABLE AS $semel$
BEGIN
  IF content IS NOT NULL THEN
    PERFORM {schema}.semel_refuse('R271', format('the %s cannot be written in UTF-8', what),
                                  'give it as bytea');
  END IF;
  RETURN NULL;
END $semel$;

-- The same for a payload, a result or what else is no key; 'what' names it in the error.
CREATE OR REPLACE FUNCTION {schema}.semel_content(content text, what text) RETURNS bytea
LANGUAGE sql STABLE AS $semel$
SELECT COALESCE({schema}.semel_utf8(content), {schema}.semel_refuse_content(content, what))
$semel$;

CREATE OR REPLACE FUNCTION {schema}.fingerprint(payload bytea) RETURNS bytea
LANGUAGE sql IMMUTABLE STRICT AS $semel$ SELECT substr(sha256(payload), 1, 16) $semel$;

-- As claim sees the same text: without it a literal would be read as bytea, and its backslashes as
-- escapes.
CREATE OR REPLACE FUNCTION {schema}.fingerprint(payload text) RETURNS bytea
LANGUAGE plpgsql IMMUTABLE SECURITY DEFINER {settings} AS $semel$
BEGIN
  RETURN substr(sha256({schema}.semel_content(payload, 'payload')), 1, 16);
END $semel$;

-- Why a key cannot be claimed; NULL where it can.
CREATE OR REPLACE FUNCTION {schema}.semel_key_fault(key text) RETURNS text
LANGUAGE sql STABLE AS $semel$
SELECT CASE WHEN COALESCE(octet_length(key), 0) = 0 THEN 'an empty key identifies nothing'
            WHEN octet_length({schema}.semel_utf8(key)) <= {key_limit} THEN NULL
            WHEN {schema}.semel_utf8(key) IS NULL THEN 'the key cannot be written in UTF-8'
            ELSE format('the key has %s bytes, the limit is {key_limit}',
                        octet_length({schema}.semel_utf8(key))) END
$semel$;

-- Why a payload and a fingerprint do not say what arrived; NULL where they do.
CREATE OR REPLACE FUNCTION {schema}.semel_print_fault(payload bytea, fingerprint bytea) RETURNS text
LANGUAGE sql STABLE AS $semel$
SELECT CASE WHEN payload IS NOT NULL AND fingerprint IS NOT NULL
              THEN 'a payload and a fingerprint were given'
            WHEN octet_length(fingerprint) <> 16
              THEN format('the fingerprint has %s bytes', octet_length(fingerprint)) END
$semel$;

-- Ends the statement where a payload and a fingerprint do not say what arrived.
CREATE OR REPLACE FUNCTION {schema}.semel_refuse_print(payload bytea, fingerprint bytea)
RETURNS bytea LANGUAGE plpgsql STABLE AS $semel$
BEGIN
  PERFORM {schema}.semel_refuse('R271', {schema}.semel_print_fault(payload, fingerprint),
                                'give a payload, or in its place a fingerprint of 16 bytes: '
                                'SELECT {schema}.fingerprint(payload)');
END $semel$;

-- The fingerprint of what arrived; all zero where nothing is said of it. As with others in SQL, the
-- server writes its text into the caller's where no argument is a call. None that refuses is
-- IMMUTABLE: the planner would call it.
CREATE OR REPLACE FUNCTION {schema}.semel_arrived(payload bytea, fingerprint bytea) RETURNS bytea
LANGUAGE sql STABLE AS $semel$
SELECT CASE WHEN fingerprint IS NULL
              THEN COALESCE(substr(sha256(payload), 1, 16), decode(repeat('00', 16), 'hex'))
            WHEN payload IS NULL AND octet_length(fingerprint) = 16 THEN fingerprint
            ELSE {schema}.semel_refuse_print(payload, fingerprint) END
$semel$;

-- The class of ULIDs, and the digest of what is in no class.
CREATE OR REPLACE FUNCTION {schema}.semel_other_key_id(consumer bigint, key text) RETURNS bytea
LANGUAGE plpgsql IMMUTABLE AS $semel$
DECLARE
  content bytea := {schema}.semel_utf8(key);
  bits text;
BEGIN
  IF COALESCE(octet_length(content), 0) NOT BETWEEN 1 AND {key_limit} THEN
    PERFORM {schema}.semel_refuse('R271', {schema}.semel_key_fault(key),
                                  'give each effect a key; a digest of it where it is too long');
  END IF;
  IF octet_length(content) = 26 AND key COLLATE "C" ~ '^[0-7][0-9A-HJKMNP-TV-Z]{25}$' THEN
    SELECT string_agg((strpos('0123456789ABCDEFGHJKMNPQRSTVWXYZ',
                               substr(key COLLATE "C", i, 1)) - 1)
                        ::bit(5)::text, '' ORDER BY i)
      INTO bits FROM generate_series(1, 26) AS i;
    RETURN substr(int8send(consumer << 2 | 2), 5) ||
           int8send(substr(bits, 3, 64)::bit(64)::bigint) ||
           int8send(substr(bits, 67, 64)::bit(64)::bigint);
  END IF;
  RETURN substr(int8send(consumer << 2), 5) ||
         substr(sha256(int8send(9) || convert_to('semel.key', 'UTF8') ||
                       int8send(octet_length(content)) || content), 1, 16);
END $semel$;

-- core::encode_key: the class of lower-case UUIDs, and the others of the function above. A regular
-- expression takes several times as long.
CREATE OR REPLACE FUNCTION {schema}.semel_key_id(consumer bigint, key text) RETURNS bytea
LANGUAGE sql IMMUTABLE AS $semel$
SELECT CASE WHEN octet_length(key) = 36
              AND key COLLATE "C" LIKE '________-____-____-____-____________'
              AND octet_length(replace(key COLLATE "C", '-', '')) = 32
              AND ltrim(key COLLATE "C", '-0123456789abcdef') = ''
              THEN substr(int8send(consumer << 2 | 1), 5) ||
                   decode(replace(key COLLATE "C", '-', ''), 'hex')
            ELSE {schema}.semel_other_key_id(consumer, key) END
$semel$;

-- Ends the transaction of a claim that met new generations again and again.
CREATE OR REPLACE FUNCTION {schema}.semel_refuse_moved() RETURNS void
LANGUAGE plpgsql AS $semel$
BEGIN
  RAISE EXCEPTION USING ERRCODE = 'serialization_failure',
    MESSAGE = 'semel: a new generation of records was begun',
    HINT = 'run the transaction again';
END $semel$;

-- The consumer's number and the generation that takes its new records. That generation stays open
-- until the transaction ends: sealing it waits for the lock that is taken here. The lock comes
-- before the look, and is given back where the look shows that the generations moved.
CREATE OR REPLACE FUNCTION {schema}.semel_place(consumer text, OUT number bigint,
                                                OUT generation bigint)
LANGUAGE plpgsql AS $semel$
DECLARE
  tables bigint;
  known bigint;
  seen bigint;
BEGIN
  FOR tries IN 1..8 LOOP
    SELECT s.version, m.generations, c.number, g.number INTO tables, known, number, generation
      FROM {schema}.semel_meta AS m CROSS JOIN {schema}.semel_schema AS s
      LEFT JOIN {schema}.semel_consumer AS c ON c.name = semel_place.consumer COLLATE "default"
      LEFT JOIN {schema}.semel_generation AS g
        ON g.state = 'active' AND g.ttl IS NOT DISTINCT FROM c.ttl;
    IF tables IS DISTINCT FROM {tables} THEN
      PERFORM {schema}.semel_refuse('R273', format(
        'these functions are for tables of version {tables}, the tables have version %s', tables),
        'bring both up to date: semel store migrate --functions');
    END IF;
    IF number IS NULL THEN
      PERFORM {schema}.semel_refuse('R272', format('no consumer has the name %s',
                                                   COALESCE(quote_literal(consumer), 'NULL')),
        'register it: semel store init --functions --consumer NAME');
    END IF;
    IF generation IS NULL THEN
      PERFORM {schema}.semel_refuse('R272', format(
        'no generation of records is begun for the ttl of consumer %L', consumer),
        'begin it, as a user who owns the schema: semel store init --functions');
    END IF;
    BEGIN
      EXECUTE $lock$LOCK TABLE {schema}.semel_record_$lock$ || generation ||
              ' IN ROW EXCLUSIVE MODE';
      IF current_setting('transaction_isolation') LIKE 'read %' THEN
        SELECT m.generations INTO seen FROM {schema}.semel_meta AS m;
      ELSE
        -- The snapshot is older than the lock: only a look that locks the row sees whether it moved.
        SELECT m.generations INTO seen FROM {schema}.semel_meta AS m FOR SHARE;
      END IF;
      IF seen = known THEN
        RETURN;
      END IF;
      RAISE EXCEPTION USING ERRCODE = 'SM200', MESSAGE = 'the generations moved';
    EXCEPTION WHEN undefined_table OR SQLSTATE 'SM200' THEN
      NULL;
    END;
  END LOOP;
  PERFORM {schema}.semel_refuse_moved();
END $semel$;

-- The consumer's number alone, for calls that insert no record.
CREATE OR REPLACE FUNCTION {schema}.semel_number(consumer text) RETURNS bigint
LANGUAGE plpgsql AS $semel$
DECLARE
  tables bigint;
  number bigint;
BEGIN
  SELECT s.version, c.number INTO tables, number
    FROM {schema}.semel_schema AS s
    LEFT JOIN {schema}.semel_consumer AS c ON c.name = semel_number.consumer COLLATE "default";
  IF number IS NULL OR tables IS DISTINCT FROM {tables} THEN
    -- It says what is wrong.
    SELECT p.number INTO number FROM {schema}.semel_place(consumer) AS p;
  END IF;
  RETURN number;
END $semel$;

-- So long from now, by the server's clock: spi::due_after.
CREATE OR REPLACE FUNCTION {schema}.semel_due_after(delay interval) RETURNS timestamptz
LANGUAGE plpgsql AS $semel$
DECLARE
  latest timestamptz := timestamptz '9999-12-30 00:00:00+00' - interval '1 millisecond';
  now timestamptz := {clock};
BEGIN
  IF delay IS NULL OR delay <= interval '0' THEN
    RETURN now;
  END IF;
  -- Months compare as thirty days each, so that the sum may be later than the comparison says.
  IF delay > latest - now THEN
    RETURN latest;
  END IF;
  RETURN LEAST(now + delay, latest);
END $semel$;

-- Bytes as text, whatever they are.
CREATE OR REPLACE FUNCTION {schema}.semel_text(content bytea) RETURNS text
LANGUAGE plpgsql AS $semel$
BEGIN
  RETURN convert_from(content, 'UTF8');
EXCEPTION WHEN character_not_in_repertoire OR untranslatable_character THEN
  RETURN encode(content, 'escape');
END $semel$;

-- The answer of a key's record to a claim that does not take it: spi::decide_claim. 'due': a claim
-- may take it. NULL: there is no record. A due record whose payload the store keeps is left to the
-- run that reads the payload.
CREATE OR REPLACE FUNCTION {schema}.semel_answer(
  wanted bytea, arrived bytea,
  OUT outcome text, OUT result bytea, OUT retry_after interval, OUT reason text)
LANGUAGE plpgsql AS $semel$
DECLARE
  met record;
BEGIN
  SELECT r.state, r.fingerprint, r.lease_until, r.next_at, r.reason, r.held,
         COALESCE(r.result, i.result) AS result, {clock} AS now
    INTO met
    FROM {schema}.semel_record AS r LEFT JOIN {schema}.semel_inbox AS i ON i.row_id = r.inbox
    WHERE r.id = wanted;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  IF arrived <> met.fingerprint AND arrived <> decode(repeat('00', 16), 'hex') THEN
    outcome := 'conflict';
  ELSIF met.state = 'completed' THEN
    outcome := 'duplicate';
    result := met.result;
  ELSIF met.state IN ('parked', 'dead') THEN
    outcome := met.state;
    reason := {schema}.semel_text(met.reason);
  ELSIF met.state = 'consuming' THEN
    IF met.lease_until <= met.now AND met.held IS NULL THEN
      outcome := 'due';
    ELSE
      outcome := 'busy';
      retry_after := LEAST(GREATEST(met.lease_until - met.now, {shortest_busy}), {longest_busy});
    END IF;
  ELSIF met.next_at <= met.now AND met.held IS NULL THEN
    outcome := 'due';
  ELSE
    outcome := 'retry';
    retry_after := CASE WHEN met.next_at > met.now THEN met.next_at - met.now
                        ELSE {shortest_busy} END;
  END IF;
END $semel$;

-- Whether this transaction, or a part of it, wrote the row version of that xmin. What is visible and
-- still in progress is nobody else's.
CREATE OR REPLACE FUNCTION {schema}.semel_is_own(written_by xid) RETURNS boolean
LANGUAGE plpgsql AS $semel$
DECLARE
  newest bigint := txid_snapshot_xmax(txid_current_snapshot());
  number bigint := written_by::text::bigint;
BEGIN
  -- The number as it is without its epoch, brought near the newest one.
  number := newest - (newest & 4294967295) + number;
  IF number - newest > 1 << 30 THEN
    number := number - 4294967296;
  ELSIF newest - number > 3::bigint << 30 THEN
    number := number + 4294967296;
  END IF;
  RETURN number > 2 AND txid_status(number) = 'in progress';
END $semel$;

-- How long a claim of one key among many waits: no longer than the caller's own limit.
CREATE OR REPLACE FUNCTION {schema}.semel_brief_patience(set_by_caller text) RETURNS text
LANGUAGE sql STABLE AS $semel$
SELECT CASE WHEN set_by_caller = '0' OR set_by_caller::interval > interval {brief_patience}
            THEN {brief_patience} ELSE set_by_caller END
$semel$;

-- A result as a record keeps it: none where it is empty.
CREATE OR REPLACE FUNCTION {schema}.semel_result(result bytea) RETURNS bytea
LANGUAGE plpgsql IMMUTABLE AS $semel$
BEGIN
  IF octet_length(result) > {result_limit} THEN
    PERFORM {schema}.semel_refuse('R271', format('the result has %s bytes, the limit is {result_limit}',
                                                 octet_length(result)),
                                  'keep it elsewhere, and where it is in the result');
  END IF;
  RETURN NULLIF(result, '');
END $semel$;
