-- Claims with a lease, for effects outside of a transaction: every change after the claim is a
-- compare-and-set on its nonce.

-- When a lease of so many seconds ends; a minute where nothing is said.
CREATE PROCEDURE semel_internal_lease_end(IN seconds DECIMAL(30, 6), OUT lease_end DATETIME(6))
READS SQL DATA SQL SECURITY INVOKER
BEGIN
  IF seconds <= 0 THEN
    CALL semel_internal_refuse('R271', 'the lease has no length');
  END IF;
  CALL semel_internal_due(COALESCE(seconds, {usual_lease}), lease_end);
END

-- The id of a key whose lease a nonce is to show. The record is locked, and 'held' says whether
-- that nonce holds it.
CREATE PROCEDURE semel_internal_leased(
  IN consumer_name LONGBLOB, IN key_text LONGBLOB, IN shown LONGBLOB,
  OUT wanted VARBINARY(20), OUT held BOOLEAN, OUT inbox_is BIGINT, OUT payload_kept BOOLEAN)
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
  DECLARE number, lives_for BIGINT;
  DECLARE matches BOOLEAN;
  IF shown IS NULL OR LENGTH(shown) <> 16 THEN
    CALL semel_internal_refuse('R271', 'that is not the nonce of a claim');
  END IF;
  CALL semel_internal_consumer(consumer_name, number, lives_for);
  CALL semel_internal_key_id(number, key_text, wanted);
  SELECT r.state = 'consuming' AND r.nonce = shown, r.inbox, r.held IS NOT NULL
    INTO matches, inbox_is, payload_kept FROM semel_record AS r WHERE r.id = wanted FOR UPDATE;
  SET held = COALESCE(matches, FALSE);
END

-- As the library draws it: its high half grows with each process that begins to claim.
CREATE PROCEDURE semel_internal_draw_token(OUT token BIGINT)
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
  DECLARE number BIGINT;
  CALL semel_internal_draw(number);
  SELECT m.epoch * 4294967296 + number INTO token FROM semel_meta AS m;
END

-- 'made' and 'due' need no word of their own for a claim with a lease: both are 'new'.
CREATE PROCEDURE semel_internal_begin(
  IN wanted VARBINARY(20), IN arrived VARBINARY(16), IN active BIGINT, IN drawn VARBINARY(16),
  IN token_drawn BIGINT, IN lease_seconds DECIMAL(30, 6), IN content LONGBLOB,
  OUT outcome {word}, OUT token_is BIGINT, OUT attempt_is BIGINT, OUT unknown_is BOOLEAN,
  OUT kept LONGBLOB, OUT wait DECIMAL(30, 6), OUT why {text})
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
  DECLARE lease_end DATETIME(6);
  DECLARE token_kept BIGINT;
  CALL semel_internal_lease_end(lease_seconds, lease_end);
  INSERT INTO semel_record (id, generation, state, fingerprint, changed_at, token, nonce,
                            lease_until, attempt, outcome_unknown, first_seen, message_key)
    VALUES (wanted, active, 'consuming', arrived, {clock}, token_drawn, drawn, lease_end, 1, FALSE,
            {clock}, content)
    ON DUPLICATE KEY UPDATE semel_record.id = semel_record.id;
  CALL semel_internal_answer(wanted, arrived, drawn, token_drawn, outcome, kept, wait, why);
  -- Both count from after the wait for the record: another may have had it meanwhile, with a token
  -- that was drawn later.
  CALL semel_internal_lease_end(lease_seconds, lease_end);
  IF outcome IN ('made', 'due') THEN
    CALL semel_internal_draw_token(token_kept);
  END IF;
  IF outcome = 'made' THEN
    UPDATE semel_record AS r SET r.lease_until = lease_end, r.token = token_kept
      WHERE r.id = wanted;
    INSERT INTO semel_open (id) VALUES (wanted)
      ON DUPLICATE KEY UPDATE semel_open.id = semel_open.id;
  ELSEIF outcome = 'due' THEN
    UPDATE semel_record AS r
      SET r.outcome_unknown = r.outcome_unknown OR r.state = 'consuming', r.state = 'consuming',
          r.token = token_kept, r.nonce = drawn, r.lease_until = lease_end,
          r.attempt = r.attempt + 1, r.next_at = NULL, r.changed_at = {clock}, r.holder = NULL
      WHERE r.id = wanted;
  ELSEIF outcome = 'again' THEN
    -- Its answer was lost: spi::acquired_before. It lasts for as long as the caller asks for now.
    UPDATE semel_record AS r SET r.lease_until = lease_end WHERE r.id = wanted;
  END IF;
  IF outcome IN ('made', 'due', 'again') THEN
    SET outcome = 'new';
    SET kept = NULL;
    SELECT r.token, r.attempt, r.outcome_unknown INTO token_is, attempt_is, unknown_is
      FROM semel_record AS r WHERE r.id = wanted FOR UPDATE;
  END IF;
END

-- 'new': run the work, then say complete, retry or dead with the nonce. A caller that draws the
-- nonce itself may ask again where the answer was lost: it gets the claim that it has.
CREATE PROCEDURE semel_begin(
  IN consumer_name LONGBLOB, IN key_text LONGBLOB, IN payload LONGBLOB, IN print LONGBLOB,
  IN lease LONGBLOB, IN own_nonce LONGBLOB)
MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
  DECLARE alone BOOLEAN;
  DECLARE number, active, token_drawn, token_is, attempt_is BIGINT;
  DECLARE wanted VARBINARY(20);
  DECLARE arrived, drawn VARBINARY(16);
  DECLARE lease_seconds DECIMAL(30, 6);
  DECLARE lease_end DATETIME(6);  -- looked at before anything is done
  DECLARE outcome {word};
  DECLARE unknown_is BOOLEAN;
  DECLARE kept LONGBLOB;
  DECLARE wait DECIMAL(30, 6);
  DECLARE why {text};
  DECLARE EXIT HANDLER FOR SQLEXCEPTION
  BEGIN
    CALL semel_internal_undo(alone);
    RESIGNAL;
  END;
  CALL semel_internal_arrived(payload, print, arrived);
  IF LENGTH(own_nonce) <> 16 OR own_nonce = {no_print} THEN
    CALL semel_internal_refuse('R271', 'that cannot be the nonce of a claim');
  END IF;
  SET drawn = COALESCE(own_nonce, RANDOM_BYTES(16));
  CALL semel_internal_seconds(lease, lease_seconds);
  CALL semel_internal_lease_end(lease_seconds, lease_end);
  CALL semel_internal_enter(alone);
  BEGIN
    DECLARE EXIT HANDLER FOR {wait_over}
    BEGIN
      IF @@innodb_rollback_on_timeout THEN
        RESIGNAL;
      END IF;
      CALL semel_internal_undo(alone);
      CALL semel_internal_enter(alone);
      SET outcome = 'busy', wait = {longest_busy};
    END;
    CALL semel_internal_place(consumer_name, number, active);
    CALL semel_internal_key_id(number, key_text, wanted);
    CALL semel_internal_draw_token(token_drawn);
    CALL semel_internal_begin(wanted, arrived, active, drawn, token_drawn, lease_seconds,
                              key_text, outcome, token_is, attempt_is, unknown_is, kept, wait, why);
  END;
  CALL semel_internal_leave(alone);
  SELECT outcome, IF(outcome = 'new', drawn, NULL) AS nonce, token_is AS token,
         attempt_is AS attempt, unknown_is AS taken_over, kept AS result, wait AS retry_after,
         why AS reason;
END

-- 'renewed', or 'lease_lost': somebody else has the key, or it is ended.
CREATE PROCEDURE semel_renew(IN consumer_name LONGBLOB, IN key_text LONGBLOB, IN shown LONGBLOB,
                             IN lease LONGBLOB)
MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
  DECLARE alone, held, payload_kept BOOLEAN;
  DECLARE wanted VARBINARY(20);
  DECLARE inbox_is BIGINT;
  DECLARE lease_seconds DECIMAL(30, 6);
  DECLARE lease_end DATETIME(6);
  DECLARE EXIT HANDLER FOR SQLEXCEPTION
  BEGIN
    CALL semel_internal_undo(alone);
    RESIGNAL;
  END;
  CALL semel_internal_seconds(lease, lease_seconds);
  CALL semel_internal_lease_end(lease_seconds, lease_end);
  CALL semel_internal_enter(alone);
  CALL semel_internal_leased(consumer_name, key_text, shown, wanted, held, inbox_is, payload_kept);
  IF held THEN
    -- It counts from after the wait for the record.
    CALL semel_internal_lease_end(lease_seconds, lease_end);
    UPDATE semel_record AS r SET r.lease_until = lease_end WHERE r.id = wanted;
  END IF;
  CALL semel_internal_leave(alone);
  SELECT IF(held, 'renewed', 'lease_lost') AS outcome;
END

-- 'done', or 'lease_lost': nothing is changed then.
CREATE PROCEDURE semel_complete(IN consumer_name LONGBLOB, IN key_text LONGBLOB, IN shown LONGBLOB,
                                IN given LONGBLOB)
MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
  DECLARE alone, held, payload_kept BOOLEAN;
  DECLARE wanted VARBINARY(20);
  DECLARE inbox_is BIGINT;
  DECLARE kept LONGBLOB;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION
  BEGIN
    CALL semel_internal_undo(alone);
    RESIGNAL;
  END;
  CALL semel_internal_result(given, kept);
  CALL semel_internal_enter(alone);
  CALL semel_internal_leased(consumer_name, key_text, shown, wanted, held, inbox_is, payload_kept);
  SET held = held AND NOT payload_kept;
  IF held THEN
    CALL semel_internal_take(wanted, NULL);
    IF inbox_is IS NULL THEN
      UPDATE semel_record AS r SET r.result = kept WHERE r.id = wanted;
    ELSE
      UPDATE semel_inbox AS i SET i.result = kept WHERE i.row_id = inbox_is;
    END IF;
  END IF;
  CALL semel_internal_leave(alone);
  SELECT IF(held, 'done', 'lease_lost') AS outcome;
END

-- Ends a claim in a state that is not completed: spi::decide_finish. No payload is kept: the
-- caller's own source brings the message again, and of a dead one there is the record alone.
CREATE PROCEDURE semel_internal_end(
  IN consumer_name LONGBLOB, IN key_text LONGBLOB, IN shown LONGBLOB, IN ended {word},
  IN after_seconds DECIMAL(30, 6), IN why LONGBLOB, IN met LONGBLOB, OUT held BOOLEAN)
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
  DECLARE wanted VARBINARY(20);
  DECLARE inbox_is BIGINT;
  DECLARE payload_kept BOOLEAN;
  DECLARE due DATETIME(6);
  CALL semel_internal_leased(consumer_name, key_text, shown, wanted, held, inbox_is, payload_kept);
  SET held = held AND NOT payload_kept;
  IF held THEN
    IF ended = 'retrying' THEN
      CALL semel_internal_due(after_seconds, due);
    END IF;
    UPDATE semel_record AS r
      SET r.state = ended, r.changed_at = {clock}, r.next_at = due, r.nonce = NULL,
          r.lease_until = NULL, r.holder = NULL, r.reason = COALESCE(why, 'handler.native'),
          r.error = COALESCE(met, '')
      WHERE r.id = wanted;
    IF inbox_is IS NOT NULL THEN
      UPDATE semel_inbox AS i
        SET i.error = COALESCE(NULLIF(met, ''), COALESCE(why, 'handler.native'))
        WHERE i.row_id = inbox_is;
    END IF;
    IF ended = 'dead' THEN
      -- Its steps stay known, the note that they are being undone does not.
      DELETE FROM semel_step WHERE semel_step.record = wanted AND semel_step.name = '';
    END IF;
  END IF;
END

-- 'retry', or 'lease_lost': nothing is changed then.
CREATE PROCEDURE semel_retry(
  IN consumer_name LONGBLOB, IN key_text LONGBLOB, IN shown LONGBLOB,
  IN delay LONGBLOB, IN why LONGBLOB, IN met LONGBLOB)
MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
  DECLARE alone, held BOOLEAN;
  DECLARE after_seconds DECIMAL(30, 6);
  DECLARE EXIT HANDLER FOR SQLEXCEPTION
  BEGIN
    CALL semel_internal_undo(alone);
    RESIGNAL;
  END;
  CALL semel_internal_seconds(delay, after_seconds);
  CALL semel_internal_enter(alone);
  CALL semel_internal_end(consumer_name, key_text, shown, 'retrying', after_seconds, why, met, held);
  CALL semel_internal_leave(alone);
  SELECT IF(held, 'retry', 'lease_lost') AS outcome;
END

-- 'dead', or 'lease_lost': nothing is changed then.
CREATE PROCEDURE semel_dead(
  IN consumer_name LONGBLOB, IN key_text LONGBLOB, IN shown LONGBLOB, IN why LONGBLOB, IN met LONGBLOB)
MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
  DECLARE alone, held BOOLEAN;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION
  BEGIN
    CALL semel_internal_undo(alone);
    RESIGNAL;
  END;
  CALL semel_internal_enter(alone);
  CALL semel_internal_end(consumer_name, key_text, shown, 'dead', NULL, why, met, held);
  CALL semel_internal_leave(alone);
  SELECT IF(held, 'dead', 'lease_lost') AS outcome;
END

-- 'released', or 'lease_lost': nothing is changed then. The claim is undone, as if it had not been,
-- and its attempt is not counted: spi::decide_finish. A record that tells of nothing earlier goes.
CREATE PROCEDURE semel_release(IN consumer_name LONGBLOB, IN key_text LONGBLOB, IN shown LONGBLOB)
MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
  DECLARE alone, held, payload_kept BOOLEAN;
  DECLARE wanted VARBINARY(20);
  DECLARE inbox_is BIGINT;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION
  BEGIN
    CALL semel_internal_undo(alone);
    RESIGNAL;
  END;
  CALL semel_internal_enter(alone);
  CALL semel_internal_leased(consumer_name, key_text, shown, wanted, held, inbox_is, payload_kept);
  SET held = held AND NOT payload_kept;
  IF held THEN
    -- It is locked: what the statement does not meet tells of nothing earlier.
    UPDATE semel_record AS r
      SET r.state = 'retrying', r.changed_at = {clock}, r.next_at = {clock},
          r.attempt = GREATEST(r.attempt - 1, 0), r.nonce = NULL, r.lease_until = NULL,
          r.holder = NULL
      WHERE r.id = wanted
        AND (r.attempt > 1 OR r.outcome_unknown OR LENGTH(r.reason) > 0 OR LENGTH(r.error) > 0);
    IF ROW_COUNT() = 0 THEN
      DELETE FROM semel_open WHERE semel_open.id = wanted;
      DELETE FROM semel_record WHERE semel_record.id = wanted;
    END IF;
  END IF;
  CALL semel_internal_leave(alone);
  SELECT IF(held, 'released', 'lease_lost') AS outcome;
END
