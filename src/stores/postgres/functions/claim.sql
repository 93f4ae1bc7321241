  -- The body of both forms of claim. Neither calls the other, because a call is slow.
  unlimited boolean := current_setting('lock_timeout') = '0';
  patience text;
  known bigint;
  seen bigint;
  violated text;
BEGIN
  -- Most keys are new, so the record is inserted before anything else is asked. The insert reads
  -- in one snapshot which generation is active and how often generations have moved. Then it
  -- locks the partition of that generation, until the transaction ends. A session that seals the
  -- generation, or changes its ttl, counts the move and takes a lock that conflicts with ours
  -- before it commits (Generations::seal, change_ttl). So the count is read again after the lock
  -- was taken. If it is the same, nothing moved between the snapshot and the lock, and nothing can
  -- move until our end. Otherwise the generation may be sealed, and the key may have a record in
  -- a newer one: the insert is undone, and tried again.
  FOR tries IN 1..8 LOOP
    BEGIN
      IF unlimited THEN
        patience := set_config('lock_timeout', {patience}, true);
      END IF;
      INSERT INTO {schema}.semel_record (id, generation, state, fingerprint, changed_at)
        SELECT k.id, g.number, 'completed', arrived, {clock}
        FROM {schema}.semel_schema AS s CROSS JOIN {schema}.semel_consumer AS c
        JOIN {schema}.semel_generation AS g
          ON g.state = 'active' AND g.ttl IS NOT DISTINCT FROM c.ttl
        CROSS JOIN LATERAL (
          SELECT {schema}.semel_key_id(c.number, claim.key) AS id OFFSET 0) AS k
        WHERE s.version = {tables} AND c.name = claim.consumer
          AND NOT EXISTS (SELECT 1 FROM {schema}.semel_record AS other
                          WHERE other.id = k.id AND other.generation <> g.number)
        -- It names no columns: they would cost a search of the catalog for each index.
        ON CONFLICT DO NOTHING
        RETURNING (SELECT m.generations FROM {schema}.semel_meta AS m) INTO known;
      IF FOUND THEN
        IF current_setting('transaction_isolation') LIKE 'read %' THEN
          SELECT m.generations INTO seen FROM {schema}.semel_meta AS m;
        ELSE
          -- The snapshot is older than the lock: only a look that locks the row sees a move.
          SELECT m.generations INTO seen FROM {schema}.semel_meta AS m FOR SHARE;
        END IF;
        IF seen <> known THEN
          RAISE EXCEPTION USING ERRCODE = 'SM200', MESSAGE = 'the generations moved';
        END IF;
        outcome := 'new';
      ELSE
        SELECT a.outcome, a.result, a.retry_after, a.reason
          INTO outcome, result, retry_after, reason
          FROM {schema}.semel_schema AS s CROSS JOIN {schema}.semel_consumer AS c
          JOIN {schema}.semel_generation AS g
            ON g.state = 'active' AND g.ttl IS NOT DISTINCT FROM c.ttl
          CROSS JOIN LATERAL {schema}.semel_answer(
            {schema}.semel_key_id(c.number, claim.key), arrived) AS a
          WHERE s.version = {tables} AND c.name = claim.consumer;
        IF outcome IS NULL OR outcome = 'due' THEN
          -- It may be taken, or has gone, or there is nothing that it could be claimed in.
          SELECT a.outcome, a.result, a.retry_after, a.reason
            INTO outcome, result, retry_after, reason
            FROM {schema}.semel_claim_slowly(claim.consumer, claim.key, arrived) AS a;
        END IF;
      END IF;
      IF unlimited THEN
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
  END LOOP;
  PERFORM {schema}.semel_refuse_moved();
END 