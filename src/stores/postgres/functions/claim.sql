  -- The body of both forms of claim. Neither calls the other, because a call is slow. So is a join,
  -- compared with a look at each table, and each expression, as every transaction prepares it anew.
  patience text;
  known bigint;
  seen bigint;
  tables bigint;
  consumer_number bigint;
  kept_for bigint;
  active bigint;
  tries integer;
  violated text;
BEGIN
  -- Most keys are new, so the record is inserted before another is looked at. The count of moves
  -- of generations is read first of all, and after it which generation is active. The insert locks
  -- the partition of that generation, until the transaction ends. A session that seals the
  -- generation, or changes its ttl, counts the move and takes a lock that conflicts with ours
  -- before it commits (Generations::seal, change_ttl). So the count is read again after the lock
  -- was taken. If it is the same, nothing moved between the first look and the lock, and nothing
  -- can move until our end. Otherwise the generation may be sealed, and the key may have a record
  -- in a newer one: the insert is undone, and tried again.
  LOOP
    BEGIN
      patience := CASE current_setting('lock_timeout') WHEN '0'
                    THEN set_config('lock_timeout', {patience}, true) END;
      SELECT m.generations INTO known FROM {schema}.semel_meta AS m;
      SELECT s.version INTO tables FROM {schema}.semel_schema AS s;
      SELECT c.number, c.ttl INTO consumer_number, kept_for
        FROM {schema}.semel_consumer AS c WHERE c.name = claim.consumer COLLATE "default";
      SELECT g.number INTO active FROM {schema}.semel_generation AS g
        WHERE g.state = 'active' AND g.ttl IS NOT DISTINCT FROM kept_for;
      INSERT INTO {schema}.semel_record (id, generation, state, fingerprint, changed_at)
        SELECT k.id, active, 'completed', arrived, {clock}
        FROM (SELECT {schema}.semel_key_id(consumer_number, claim.key) AS id
              WHERE tables = {tables} AND consumer_number IS NOT NULL AND active IS NOT NULL
              OFFSET 0) AS k
        WHERE NOT EXISTS (SELECT 1 FROM {schema}.semel_record AS other
                          WHERE other.id = k.id AND other.generation <> active)
        -- It names no columns: they would cost a search of the catalog for each index.
        ON CONFLICT DO NOTHING;
      IF FOUND THEN
        SELECT m.generations INTO seen FROM {schema}.semel_meta AS m
          WHERE current_setting('transaction_isolation') LIKE 'read %';
        IF seen IS DISTINCT FROM known THEN
          IF seen IS NULL THEN
            -- The snapshot is older than the lock: only a look that locks the row sees a move.
            SELECT m.generations INTO seen FROM {schema}.semel_meta AS m FOR SHARE;
          END IF;
          IF seen <> known THEN
            RAISE EXCEPTION USING ERRCODE = 'SM200', MESSAGE = 'the generations moved';
          END IF;
        END IF;
        outcome := 'new';
      ELSE
        SELECT a.outcome, a.result, a.retry_after, a.reason
          INTO outcome, result, retry_after, reason
          FROM {schema}.semel_answer(
            {schema}.semel_key_id(consumer_number, claim.key), arrived) AS a
          WHERE tables = {tables} AND consumer_number IS NOT NULL AND active IS NOT NULL;
        IF outcome IS NULL OR outcome = 'due' THEN
          -- It may be taken, or has gone, or there is nothing that it could be claimed in.
          SELECT a.outcome, a.result, a.retry_after, a.reason
            INTO outcome, result, retry_after, reason
            FROM {schema}.semel_claim_slowly(claim.consumer, claim.key, arrived) AS a;
        END IF;
      END IF;
      IF patience IS NOT NULL THEN
        patience := set_config('lock_timeout', '0', true);
      END IF;
      RETURN;
    EXCEPTION
      WHEN lock_not_available THEN
        outcome := 'busy';
        retry_after := {longest_busy};
        RETURN;
      WHEN SQLSTATE 'SM200' THEN
        NULL;
      WHEN check_violation THEN
        -- An old snapshot saw a generation whose partition is dropped. Other checks have names.
        GET STACKED DIAGNOSTICS violated = CONSTRAINT_NAME;
        IF violated <> '' THEN
          RAISE;
        END IF;
    END;
    tries := COALESCE(tries, 0) + 1;
    EXIT WHEN tries = 8;
  END LOOP;
  PERFORM {schema}.semel_refuse_moved();
END 
