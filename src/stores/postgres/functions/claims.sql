-- Claims inside the caller's transaction: the record stands and goes with it.

-- A claim on a key that has a record. One that may be taken becomes completed.
CREATE OR REPLACE FUNCTION {schema}.semel_claim_met(
  wanted bytea, arrived bytea,
  OUT outcome text, OUT result bytea, OUT retry_after interval, OUT reason text)
LANGUAGE plpgsql AS $semel$
#variable_conflict use_column
DECLARE
  kept bigint;
  answer record;
BEGIN
  -- A record may go, or move to another generation, between two looks; not for ever.
  FOR looks IN 1..4 LOOP
    answer := {schema}.semel_answer(wanted, arrived);
    IF answer.outcome <> 'due' THEN
      outcome := answer.outcome;
      result := answer.result;
      retry_after := answer.retry_after;
      reason := answer.reason;
      RETURN;
    END IF;
    CONTINUE WHEN answer.outcome IS NULL;
    UPDATE {schema}.semel_record AS r
      SET state = 'completed', changed_at = {clock}, result = NULL, token = NULL, nonce = NULL,
          lease_until = NULL, attempt = NULL, outcome_unknown = NULL, next_at = NULL,
          first_seen = NULL, holder = NULL, message_key = NULL, reason = NULL, error = NULL
      WHERE r.id = wanted AND r.held IS NULL
        AND (r.fingerprint = arrived OR arrived = decode(repeat('00', 16), 'hex'))
        AND {due}
      RETURNING r.inbox INTO kept;
    IF FOUND THEN
      UPDATE {schema}.semel_inbox AS i SET processed_at = {clock}, error = NULL, result = NULL
        WHERE i.row_id = kept;
      outcome := 'new';
      RETURN;
    END IF;
  END LOOP;
  outcome := 'busy';
  retry_after := {shortest_busy};
END $semel$;

-- A claim on one key, in the generation that semel_place has locked.
CREATE OR REPLACE FUNCTION {schema}.semel_claim_one(
  wanted bytea, arrived bytea, active bigint,
  OUT outcome text, OUT result bytea, OUT retry_after interval, OUT reason text)
LANGUAGE plpgsql AS $semel$
#variable_conflict use_column
DECLARE
  answer record;
BEGIN
  INSERT INTO {schema}.semel_record (id, generation, state, fingerprint, changed_at)
    SELECT wanted, active, 'completed', arrived, {clock}
    WHERE NOT EXISTS (SELECT 1 FROM {schema}.semel_record AS other
                      WHERE other.id = wanted AND other.generation <> active)
    ON CONFLICT (id, generation) DO NOTHING;
  IF FOUND THEN
    outcome := 'new';
    RETURN;
  END IF;
  answer := {schema}.semel_claim_met(wanted, arrived);
  outcome := answer.outcome;
  result := answer.result;
  retry_after := answer.retry_after;
  reason := answer.reason;
END $semel$;

-- A claim on a key that could neither be inserted nor be answered by its record.
CREATE OR REPLACE FUNCTION {schema}.semel_claim_slowly(
  consumer text, key text, arrived bytea,
  OUT outcome text, OUT result bytea, OUT retry_after interval, OUT reason text)
LANGUAGE plpgsql AS $semel$
DECLARE
  place record := {schema}.semel_place(consumer);
  answer record := {schema}.semel_claim_one({schema}.semel_key_id(place.number, key), arrived,
                                            place.generation);
BEGIN
  outcome := answer.outcome;
  result := answer.result;
  retry_after := answer.retry_after;
  reason := answer.reason;
END $semel$;

CREATE OR REPLACE FUNCTION {schema}.claim(
  consumer text, key text, payload bytea DEFAULT NULL, fingerprint bytea DEFAULT NULL,
  OUT outcome text, OUT result bytea, OUT retry_after interval, OUT reason text)
LANGUAGE plpgsql SECURITY DEFINER {settings} AS $semel$
#variable_conflict use_column
DECLARE
  arrived bytea := {schema}.semel_arrived(payload, fingerprint);
{claim}$semel$;

CREATE OR REPLACE FUNCTION {schema}.claim(
  consumer text, key text, payload text,
  OUT outcome text, OUT result bytea, OUT retry_after interval, OUT reason text)
LANGUAGE plpgsql SECURITY DEFINER {settings} AS $semel$
#variable_conflict use_column
DECLARE
  given bytea := {schema}.semel_content(payload, 'payload');
  arrived bytea := {schema}.semel_arrived(given, NULL);
{claim}$semel$;

-- One row for each key, in the order given. A key that stands twice is answered as if it had been
-- claimed twice. A key that cannot be claimed is answered 'invalid', so that its neighbours are
-- claimed whenever a batch comes with it.
CREATE OR REPLACE FUNCTION {schema}.claim_many(
  consumer text, keys text[], payloads bytea[] DEFAULT NULL, fingerprints bytea[] DEFAULT NULL)
RETURNS TABLE (ordinality bigint, key text, outcome text, result bytea, retry_after interval,
               reason text)
LANGUAGE plpgsql SECURITY DEFINER {settings} AS $semel$
#variable_conflict use_column
DECLARE
  set_by_caller text := current_setting('lock_timeout');
  brief text := {schema}.semel_brief_patience(set_by_caller);
  place record;
  given record;
  answer record;
  ids bytea[];        -- beside the keys, as are the next two; NULL for an invalid key
  prints bytea[];
  turns bigint[];     -- how often the key stood before, and this once
  inserted bytea[];   -- ids
  older bytea[];      -- those of them that have a record in another generation
  blocked bytea[];    -- ids that another transaction has
  singly boolean := false;
  outcomes text[];
  results bytea[];
  delays interval[];
  reasons text[];
BEGIN
  IF keys IS NULL OR array_ndims(keys) > 1
     OR cardinality(payloads) <> cardinality(keys)
     OR cardinality(fingerprints) <> cardinality(keys) THEN
    PERFORM {schema}.semel_refuse('R271', 'the arrays of claim_many do not fit each other',
      'give keys, and as many payloads or fingerprints, in arrays of one dimension');
  END IF;
  -- Until a key is answered: another transaction has it, or the generation, for too long.
  SELECT array_agg(CASE WHEN f.fault IS NULL THEN 'busy' ELSE 'invalid' END ORDER BY u.at),
         array_agg(CASE WHEN f.fault IS NULL THEN {longest_busy} END ORDER BY u.at),
         array_agg(f.fault ORDER BY u.at)
    INTO outcomes, delays, reasons
    FROM unnest(keys, payloads, fingerprints)
      WITH ORDINALITY AS u(key, payload, fingerprint, at)
    CROSS JOIN LATERAL (
      SELECT COALESCE({schema}.semel_key_fault(u.key),
                      {schema}.semel_print_fault(u.payload, u.fingerprint)) AS fault) AS f;
  results := array_fill(NULL::bytea, ARRAY[cardinality(keys)]);
  IF set_by_caller = '0' THEN
    PERFORM set_config('lock_timeout', {patience}, true);
  END IF;
  BEGIN
    place := {schema}.semel_place(consumer);
    SELECT array_agg(w.id ORDER BY w.at), array_agg(w.print ORDER BY w.at),
           array_agg(w.turn ORDER BY w.at)
      INTO ids, prints, turns
      FROM (SELECT a.at, a.id, a.print, row_number() OVER (PARTITION BY a.id ORDER BY a.at) AS turn
            FROM (SELECT u.at, {schema}.semel_key_id(place.number, u.key) AS id,
                         {schema}.semel_arrived(u.payload, u.fingerprint) AS print
                  FROM unnest(keys, payloads, fingerprints, outcomes)
                    WITH ORDINALITY AS u(key, payload, fingerprint, outcome, at)
                  WHERE u.outcome <> 'invalid') AS a
            UNION ALL
            SELECT u.at, NULL, NULL, NULL
            FROM unnest(outcomes) WITH ORDINALITY AS u(outcome, at)
            WHERE u.outcome = 'invalid') AS w;
    BEGIN
      WITH fresh AS (
        INSERT INTO {schema}.semel_record AS r (id, generation, state, fingerprint, changed_at)
          SELECT u.id, place.generation, 'completed', u.print, {clock}
          FROM unnest(ids, prints, turns) AS u(id, print, turn) WHERE u.turn = 1 ORDER BY u.id
          ON CONFLICT (id, generation) DO NOTHING RETURNING r.id)
        SELECT array_agg(f.id) INTO inserted FROM fresh AS f;
      SELECT array_agg(r.id) INTO older FROM {schema}.semel_record AS r
        WHERE r.id = ANY(inserted) AND r.generation <> place.generation;
      -- A key with a record in an older generation keeps that one.
      IF older IS NOT NULL THEN
        DELETE FROM {schema}.semel_record AS r
          WHERE r.id = ANY(older) AND r.generation = place.generation;
      END IF;
    EXCEPTION WHEN lock_not_available THEN
      -- Which key is blocked is not said: each is asked for by itself. Others wait for those that
      -- are claimed meanwhile, so a key among many waits briefly.
      PERFORM set_config('lock_timeout', brief, true);
      singly := true;
      inserted := NULL;
      older := NULL;
    END;
    IF cardinality(inserted) = cardinality(keys) AND older IS NULL THEN
      -- Most batches are of new keys.
      outcomes := array_fill('new'::text, ARRAY[cardinality(keys)]);
      delays := array_fill(NULL::interval, ARRAY[cardinality(keys)]);
      ids := NULL;
    END IF;
    FOR given IN
      SELECT u.at, u.id, u.print,
             COALESCE(u.turn = 1 AND u.id = ANY(inserted) AND u.id <> ALL(COALESCE(older, '{}')),
                      false) AS fresh
      FROM unnest(ids, prints, turns) WITH ORDINALITY AS u(id, print, turn, at)
      WHERE u.id IS NOT NULL
      ORDER BY u.turn, u.id
    LOOP
      IF given.fresh THEN
        outcomes[given.at] := 'new';
        delays[given.at] := NULL;
        CONTINUE;
      END IF;
      CONTINUE WHEN given.id = ANY(blocked);
      BEGIN
        IF singly THEN
          answer := {schema}.semel_claim_one(given.id, given.print, place.generation);
        ELSE
          answer := {schema}.semel_claim_met(given.id, given.print);
        END IF;
        outcomes[given.at] := answer.outcome;
        results[given.at] := answer.result;
        delays[given.at] := answer.retry_after;
        reasons[given.at] := answer.reason;
      EXCEPTION WHEN lock_not_available THEN
        PERFORM set_config('lock_timeout', brief, true);
        blocked := blocked || given.id;
      END;
    END LOOP;
  EXCEPTION WHEN lock_not_available THEN
    NULL;
  END;
  PERFORM set_config('lock_timeout', set_by_caller, true);
  RETURN QUERY SELECT u.at, u.key, u.outcome, u.result, u.delay, u.reason
    FROM unnest(keys, outcomes, results, delays, reasons)
      WITH ORDINALITY AS u(key, outcome, result, delay, reason, at) ORDER BY u.at;
END $semel$;

-- Keeps a result with the record of a claim that this transaction made.
CREATE OR REPLACE FUNCTION {schema}.done(consumer text, key text, result bytea) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER {settings} AS $semel$
#variable_conflict use_column
DECLARE
  kept bytea := {schema}.semel_result(done.result);
  number bigint := {schema}.semel_number(done.consumer);
  wanted bytea := {schema}.semel_key_id(number, done.key);
  met record;
BEGIN
  SELECT r.inbox INTO met FROM {schema}.semel_record AS r
    WHERE r.id = wanted AND r.state = 'completed' AND {schema}.semel_is_own(r.xmin);
  IF NOT FOUND THEN
    PERFORM {schema}.semel_refuse('R271',
      format('this transaction has not claimed the key %L of consumer %L', done.key, done.consumer),
      'claim it first, and say done in the transaction of the claim where that answers new');
  END IF;
  IF met.inbox IS NOT NULL THEN
    UPDATE {schema}.semel_inbox AS i SET result = kept WHERE i.row_id = met.inbox;
  ELSE
    UPDATE {schema}.semel_record AS r SET result = kept WHERE r.id = wanted;
  END IF;
END $semel$;

CREATE OR REPLACE FUNCTION {schema}.done(consumer text, key text, result text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER {settings} AS $semel$
BEGIN
  PERFORM {schema}.done(consumer, key, {schema}.semel_content(result, 'result'));
END $semel$;
