-- Claims with a lease, for effects outside of a transaction: every change after the claim is a
-- compare-and-set on its nonce.

-- 128 bits that nobody can guess, and that were never drawn before.
CREATE OR REPLACE FUNCTION {schema}.semel_nonce() RETURNS bytea
LANGUAGE sql AS $semel$
SELECT substr(sha256(convert_to(gen_random_uuid()::text || gen_random_uuid()::text, 'UTF8')), 1, 16)
$semel$;

CREATE OR REPLACE FUNCTION {schema}.semel_length(lease interval) RETURNS interval
LANGUAGE plpgsql IMMUTABLE AS $semel$
BEGIN
  IF lease IS NULL OR lease <= interval '0' THEN
    PERFORM {schema}.semel_refuse('R271', 'the lease has no length',
                                  'give it a positive length: interval ''1 minute''');
  END IF;
  RETURN lease;
END $semel$;

-- The id of a key whose lease a nonce is to show.
CREATE OR REPLACE FUNCTION {schema}.semel_leased_id(consumer text, key text, nonce bytea)
RETURNS bytea LANGUAGE plpgsql AS $semel$
DECLARE
  number bigint;
BEGIN
  IF nonce IS NULL OR octet_length(nonce) <> 16 THEN
    PERFORM {schema}.semel_refuse('R271', 'that is not the nonce of a claim',
                                  'give the nonce that begin answered with, of 16 bytes');
  END IF;
  number := {schema}.semel_number(consumer);
  RETURN {schema}.semel_key_id(number, key);
END $semel$;

-- The nonce of a claim: the caller's own, or one that is drawn here.
CREATE OR REPLACE FUNCTION {schema}.semel_drawn(own_nonce bytea) RETURNS bytea
LANGUAGE plpgsql AS $semel$
BEGIN
  IF octet_length(own_nonce) <> 16 OR own_nonce = decode(repeat('00', 16), 'hex') THEN
    PERFORM {schema}.semel_refuse('R271', 'that cannot be the nonce of a claim',
                                  'draw 16 random bytes for each claim, or leave own_nonce out');
  END IF;
  RETURN COALESCE(own_nonce, {schema}.semel_nonce());
END $semel$;

-- 'new': run the work, then say complete, retry or dead with the nonce. A caller that draws the
-- nonce itself may ask again where the answer was lost: it gets the claim that it has.
CREATE OR REPLACE FUNCTION {schema}.begin(
  consumer text, key text, payload bytea DEFAULT NULL, lease interval DEFAULT '1 minute',
  fingerprint bytea DEFAULT NULL, own_nonce bytea DEFAULT NULL,
  OUT outcome text, OUT nonce bytea, OUT token bigint, OUT attempt bigint, OUT taken_over boolean,
  OUT result bytea, OUT retry_after interval, OUT reason text)
LANGUAGE plpgsql SECURITY DEFINER {settings} AS $semel$
#variable_conflict use_column
DECLARE
  arrived bytea := {schema}.semel_arrived(begin.payload, begin.fingerprint);
  length interval := {schema}.semel_length(begin.lease);
  drawn bytea := {schema}.semel_drawn(begin.own_nonce);
  unlimited boolean := current_setting('lock_timeout') = '0';
  wanted bytea;
  active bigint;
BEGIN
  BEGIN
    IF unlimited THEN
      PERFORM set_config('lock_timeout', {patience}, true);
    END IF;
    SELECT {schema}.semel_key_id(p.number, begin.key), p.generation INTO wanted, active
      FROM {schema}.semel_place(begin.consumer) AS p;
    SELECT b.outcome, b.token, b.attempt, b.taken_over, b.result, b.retry_after, b.reason
      INTO outcome, token, attempt, taken_over, result, retry_after, reason
      FROM {schema}.semel_begin_one(wanted, arrived, active, drawn, length,
                                    {schema}.semel_utf8(begin.key)) AS b;
    IF unlimited THEN
      PERFORM set_config('lock_timeout', '0', true);
    END IF;
  EXCEPTION WHEN lock_not_available THEN
    outcome := 'busy';
    retry_after := {longest_busy};
  END;
  IF outcome = 'new' THEN
    nonce := drawn;
  END IF;
END $semel$;

CREATE OR REPLACE FUNCTION {schema}.semel_begin_one(
  wanted bytea, arrived bytea, active bigint, drawn bytea, length interval, content bytea,
  OUT outcome text, OUT token bigint, OUT attempt bigint, OUT taken_over boolean,
  OUT result bytea, OUT retry_after interval, OUT reason text)
LANGUAGE plpgsql AS $semel$
#variable_conflict use_column
BEGIN
  -- A record may go, or come, between two looks; not for ever.
  FOR looks IN 1..4 LOOP
    INSERT INTO {schema}.semel_record AS r
        (id, generation, state, fingerprint, changed_at, token, nonce, lease_until, attempt,
         outcome_unknown, first_seen, message_key)
      SELECT wanted, active, 'consuming', arrived, {clock},
             m.epoch * 4294967296 + nextval('{schema}.semel_token'), drawn,
             {schema}.semel_due_after(length), 1, false, {clock}, content
      FROM {schema}.semel_meta AS m
      WHERE NOT EXISTS (SELECT 1 FROM {schema}.semel_record AS other
                        WHERE other.id = wanted AND other.generation <> active)
      ON CONFLICT (id, generation) DO NOTHING
      RETURNING 'new', r.token, r.attempt, r.outcome_unknown
      INTO outcome, token, attempt, taken_over;
    IF FOUND THEN
      RETURN;
    END IF;
    UPDATE {schema}.semel_record AS r
      SET state = 'consuming', nonce = drawn,
          token = GREATEST((SELECT m.epoch FROM {schema}.semel_meta AS m) * 4294967296 +
                           nextval('{schema}.semel_token'), r.token + 1),
          lease_until = {schema}.semel_due_after(length), attempt = r.attempt + 1,
          outcome_unknown = r.outcome_unknown OR r.state = 'consuming', next_at = NULL,
          changed_at = {clock}, holder = NULL
      WHERE r.id = wanted AND r.held IS NULL
        AND (r.fingerprint = arrived OR arrived = decode(repeat('00', 16), 'hex'))
        AND {due}
      RETURNING 'new', r.token, r.attempt, r.outcome_unknown
      INTO outcome, token, attempt, taken_over;
    IF FOUND THEN
      RETURN;
    END IF;
    SELECT a.outcome, a.result, a.retry_after, a.reason INTO outcome, result, retry_after, reason
      FROM {schema}.semel_answer(wanted, arrived) AS a;
    IF outcome = 'busy' THEN
      -- The claim itself where its answer was lost, while its lease lasts: spi::acquired_before. It
      -- lasts for as long as the caller asks for now.
      UPDATE {schema}.semel_record AS r SET lease_until = {schema}.semel_due_after(length)
        WHERE r.id = wanted AND r.nonce = drawn AND r.lease_until > {clock} AND {consuming}
        RETURNING r.token, r.attempt, r.outcome_unknown INTO token, attempt, taken_over;
      IF FOUND THEN
        outcome := 'new';
        retry_after := NULL;
        RETURN;
      END IF;
      -- A purge took it out of the sight of that statement and put it into that of the next.
      CONTINUE WHEN EXISTS (
        SELECT 1 FROM {schema}.semel_record AS r
        WHERE r.id = wanted AND r.nonce = drawn AND r.lease_until > {clock} AND {consuming});
    END IF;
    IF outcome <> 'due' THEN
      RETURN;
    END IF;
  END LOOP;
  outcome := 'busy';
  retry_after := {shortest_busy};
END $semel$;

CREATE OR REPLACE FUNCTION {schema}.begin(
  consumer text, key text, payload text, lease interval DEFAULT '1 minute',
  fingerprint bytea DEFAULT NULL, own_nonce bytea DEFAULT NULL,
  OUT outcome text, OUT nonce bytea, OUT token bigint, OUT attempt bigint, OUT taken_over boolean,
  OUT result bytea, OUT retry_after interval, OUT reason text)
LANGUAGE plpgsql SECURITY DEFINER {settings} AS $semel$
BEGIN
  SELECT b.* INTO outcome, nonce, token, attempt, taken_over, result, retry_after, reason
    FROM {schema}.begin(begin.consumer, begin.key,
                        {schema}.semel_content(begin.payload, 'payload'), begin.lease,
                        begin.fingerprint, begin.own_nonce) AS b;
END $semel$;

-- 'renewed', or 'lease_lost': somebody else has the key, or it is ended.
CREATE OR REPLACE FUNCTION {schema}.renew(
  consumer text, key text, nonce bytea, lease interval DEFAULT '1 minute') RETURNS text
LANGUAGE plpgsql SECURITY DEFINER {settings} AS $semel$
#variable_conflict use_column
DECLARE
  wanted bytea := {schema}.semel_leased_id(renew.consumer, renew.key, renew.nonce);
  length interval := {schema}.semel_length(renew.lease);
BEGIN
  -- Twice: a purge may move the record to another generation while the statement waits for it.
  FOR looks IN 1..2 LOOP
    UPDATE {schema}.semel_record AS r SET lease_until = {schema}.semel_due_after(length)
      WHERE r.id = wanted AND r.nonce = renew.nonce
        AND {consuming};
    IF FOUND THEN
      RETURN 'renewed';
    END IF;
  END LOOP;
  RETURN 'lease_lost';
END $semel$;

-- 'done', or 'lease_lost': nothing is changed then.
CREATE OR REPLACE FUNCTION {schema}.complete(
  consumer text, key text, nonce bytea, result bytea DEFAULT NULL) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER {settings} AS $semel$
#variable_conflict use_column
DECLARE
  kept bytea := {schema}.semel_result(complete.result);
  wanted bytea := {schema}.semel_leased_id(complete.consumer, complete.key, complete.nonce);
  row_in_inbox bigint;
BEGIN
  FOR looks IN 1..2 LOOP
    UPDATE {schema}.semel_record AS r
      SET state = 'completed', changed_at = {clock},
          result = CASE WHEN r.inbox IS NULL THEN kept END, token = NULL, nonce = NULL,
          lease_until = NULL, attempt = NULL, outcome_unknown = NULL, next_at = NULL,
          first_seen = NULL, holder = NULL, message_key = NULL, reason = NULL, error = NULL
      WHERE r.id = wanted AND r.nonce = complete.nonce AND r.held IS NULL
        AND {consuming}
      RETURNING r.inbox INTO row_in_inbox;
    IF FOUND THEN
      UPDATE {schema}.semel_inbox AS i SET processed_at = {clock}, error = NULL, result = kept
        WHERE i.row_id = row_in_inbox;
      RETURN 'done';
    END IF;
  END LOOP;
  RETURN 'lease_lost';
END $semel$;

CREATE OR REPLACE FUNCTION {schema}.complete(consumer text, key text, nonce bytea, result text)
RETURNS text LANGUAGE plpgsql SECURITY DEFINER {settings} AS $semel$
BEGIN
  RETURN {schema}.complete(complete.consumer, complete.key, complete.nonce,
                           {schema}.semel_content(complete.result, 'result'));
END $semel$;

-- Ends a claim in a state that is not completed: spi::decide_finish.
CREATE OR REPLACE FUNCTION {schema}.semel_end(
  wanted bytea, shown bytea, ended text, due timestamptz, why text, met text) RETURNS boolean
LANGUAGE plpgsql AS $semel$
#variable_conflict use_column
DECLARE
  reason_now bytea := {schema}.semel_content(COALESCE(why, ''), 'reason');
  error_now bytea := {schema}.semel_content(COALESCE(met, ''), 'error');
  row_in_inbox bigint;
BEGIN
  FOR looks IN 1..2 LOOP
    UPDATE {schema}.semel_record AS r
      SET state = ended::{schema}.semel_state, changed_at = {clock}, next_at = due, nonce = NULL,
          lease_until = NULL, holder = NULL, reason = reason_now, error = error_now
      WHERE r.id = wanted AND r.nonce = shown AND r.held IS NULL
        AND {consuming}
      RETURNING r.inbox INTO row_in_inbox;
    IF FOUND THEN
      UPDATE {schema}.semel_inbox AS i SET error = COALESCE(NULLIF(error_now, ''), reason_now)
        WHERE i.row_id = row_in_inbox;
      IF ended = 'dead' THEN
        -- Its steps stay known, the note that they are being undone does not.
        DELETE FROM {schema}.semel_step AS s WHERE s.record = wanted AND s.name = '';
      END IF;
      RETURN true;
    END IF;
  END LOOP;
  RETURN false;
END $semel$;

-- 'retry', or 'lease_lost': nothing is changed then. No payload is kept: the caller's own source
-- brings the message again.
CREATE OR REPLACE FUNCTION {schema}.retry(
  consumer text, key text, nonce bytea, after interval DEFAULT '0',
  reason text DEFAULT 'handler.native', error text DEFAULT NULL) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER {settings} AS $semel$
DECLARE
  wanted bytea := {schema}.semel_leased_id(consumer, key, nonce);
BEGIN
  IF {schema}.semel_end(wanted, nonce, 'retrying', {schema}.semel_due_after(after), reason,
                        error) THEN
    RETURN 'retry';
  END IF;
  RETURN 'lease_lost';
END $semel$;

-- 'dead', or 'lease_lost': nothing is changed then. No payload is kept, so there is no dead letter
-- but the record.
CREATE OR REPLACE FUNCTION {schema}.dead(
  consumer text, key text, nonce bytea, reason text DEFAULT 'handler.native',
  error text DEFAULT NULL) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER {settings} AS $semel$
BEGIN
  IF {schema}.semel_end({schema}.semel_leased_id(consumer, key, nonce), nonce, 'dead', NULL,
                        reason, error) THEN
    RETURN 'dead';
  END IF;
  RETURN 'lease_lost';
END $semel$;

-- 'released', or 'lease_lost': nothing is changed then. The claim is undone, as if it had not been,
-- and its attempt is not counted: spi::decide_finish. A record that tells of nothing earlier goes.
CREATE OR REPLACE FUNCTION {schema}.release(consumer text, key text, nonce bytea) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER {settings} AS $semel$
#variable_conflict use_column
DECLARE
  wanted bytea := {schema}.semel_leased_id(release.consumer, release.key, release.nonce);
BEGIN
  FOR looks IN 1..2 LOOP
    UPDATE {schema}.semel_record AS r
      SET state = 'retrying', changed_at = {clock}, next_at = {clock},
          attempt = GREATEST(r.attempt - 1, 0), nonce = NULL, lease_until = NULL, holder = NULL
      WHERE r.id = wanted AND r.nonce = release.nonce AND r.held IS NULL AND {consuming}
        AND (r.attempt > 1 OR r.outcome_unknown OR octet_length(r.reason) > 0
             OR octet_length(r.error) > 0);
    IF FOUND THEN
      RETURN 'released';
    END IF;
    -- The same lease, and nothing of these: said again, for a purge may have moved the record out of
    -- the sight of the first statement, and into that of this one.
    DELETE FROM {schema}.semel_record AS r
      WHERE r.id = wanted AND r.nonce = release.nonce AND r.held IS NULL AND {consuming}
        AND r.attempt <= 1 AND r.outcome_unknown IS NOT TRUE
        AND COALESCE(octet_length(r.reason), 0) = 0 AND COALESCE(octet_length(r.error), 0) = 0;
    IF FOUND THEN
      RETURN 'released';
    END IF;
  END LOOP;
  RETURN 'lease_lost';
END $semel$;
