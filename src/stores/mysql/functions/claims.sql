-- Claims inside the caller's transaction: the record stands and goes with it.

-- A due record, which is locked, becomes completed.
CREATE PROCEDURE semel_internal_take(IN wanted VARBINARY(20), IN drawn VARBINARY(16))
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
  DECLARE inbox_is BIGINT;
  SELECT r.inbox INTO inbox_is FROM semel_record AS r WHERE r.id = wanted FOR UPDATE;
  UPDATE semel_record AS r
    SET r.state = 'completed', r.changed_at = {clock}, r.result = NULL, r.token = NULL,
        r.nonce = drawn, r.lease_until = NULL, r.attempt = NULL, r.outcome_unknown = NULL,
        r.next_at = NULL, r.first_seen = NULL, r.holder = NULL, r.message_key = NULL,
        r.reason = NULL, r.error = NULL
    WHERE r.id = wanted;
  IF ROW_COUNT() <> 1 THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'semel: a claimed key has no record';
  END IF;
  DELETE FROM semel_open WHERE semel_open.id = wanted;
  IF inbox_is IS NOT NULL THEN
    UPDATE semel_inbox AS i SET i.processed_at = {clock}, i.error = NULL, i.result = NULL
      WHERE i.row_id = inbox_is;
  END IF;
END

-- The insert comes first: a look may see what is not committed, or what is old. What it meets is
-- locked by it.
CREATE PROCEDURE semel_internal_claim(
  IN wanted VARBINARY(20), IN arrived VARBINARY(16), IN active BIGINT, IN drawn VARBINARY(16),
  OUT outcome {word}, OUT kept LONGBLOB, OUT wait DECIMAL(30, 6), OUT why {text})
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
  INSERT INTO semel_record (id, generation, fingerprint, changed_at, nonce)
    VALUES (wanted, active, arrived, {clock}, drawn)
    ON DUPLICATE KEY UPDATE semel_record.id = semel_record.id;
  CALL semel_internal_answer(wanted, arrived, drawn, NULL, outcome, kept, wait, why);
  IF outcome = 'due' THEN
    CALL semel_internal_take(wanted, drawn);
  END IF;
  IF outcome IN ('made', 'due') THEN
    SET outcome = 'new';
  END IF;
END

-- Answers by variables: for procedures of the caller's own.
CREATE PROCEDURE semel_claim_into(
  IN consumer_name LONGBLOB, IN key_text LONGBLOB, IN payload LONGBLOB, IN print LONGBLOB,
  OUT outcome {word}, OUT nonce VARBINARY(16), OUT kept LONGBLOB, OUT wait DECIMAL(30, 6),
  OUT why {text})
MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
{claim}END

CREATE PROCEDURE semel_claim(IN consumer_name LONGBLOB, IN key_text LONGBLOB, IN payload LONGBLOB,
                             IN print LONGBLOB)
MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
  DECLARE outcome {word};
  DECLARE nonce VARBINARY(16);
  DECLARE kept LONGBLOB;
  DECLARE wait DECIMAL(30, 6);
  DECLARE why {text};
{claim}  SELECT outcome, nonce, kept AS result, wait AS retry_after, why AS reason;
END

-- Keeps a result with the record of a claim. These servers do not say which transaction wrote a
-- row: the nonce does.
CREATE PROCEDURE semel_done(IN consumer_name LONGBLOB, IN key_text LONGBLOB, IN shown LONGBLOB,
                            IN given LONGBLOB)
MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
  DECLARE alone BOOLEAN;
  DECLARE number, lives_for, inbox_is BIGINT;
  DECLARE wanted VARBINARY(20);
  DECLARE kept LONGBLOB;
  DECLARE nonce_is VARBINARY(16);
  DECLARE EXIT HANDLER FOR SQLEXCEPTION
  BEGIN
    CALL semel_internal_undo(alone);
    RESIGNAL;
  END;
  CALL semel_internal_result(given, kept);
  CALL semel_internal_enter(alone);
  CALL semel_internal_consumer(consumer_name, number, lives_for);
  CALL semel_internal_key_id(number, key_text, wanted);
  SELECT IF(r.state = 'completed', r.nonce, NULL), r.inbox INTO nonce_is, inbox_is
    FROM semel_record AS r WHERE r.id = wanted FOR UPDATE;
  IF nonce_is IS NULL OR shown IS NULL OR nonce_is <> shown THEN
    CALL semel_internal_refuse('R271', 'that nonce is of no claim of the key');
  END IF;
  IF inbox_is IS NULL THEN
    UPDATE semel_record AS r SET r.result = kept WHERE r.id = wanted;
  ELSE
    UPDATE semel_inbox AS i SET i.result = kept WHERE i.row_id = inbox_is;
  END IF;
  CALL semel_internal_leave(alone);
END

-- The claim of one key among many: where another transaction has it, it alone is busy, and nothing
-- of its claim stays. A later copy makes no record of its own.
CREATE PROCEDURE semel_internal_claim_among(
  IN wanted VARBINARY(20), IN arrived VARBINARY(16), IN active BIGINT, IN drawn VARBINARY(16),
  IN first BOOLEAN,
  OUT outcome {word}, OUT kept LONGBLOB, OUT wait DECIMAL(30, 6), OUT why {text})
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
  DECLARE there BIGINT;
  DECLARE EXIT HANDLER FOR {wait_over}
  BEGIN
    ROLLBACK TO SAVEPOINT semel_key;
    SET outcome = 'busy', wait = {longest_busy};
  END;
  SAVEPOINT semel_key;
  IF first THEN
    CALL semel_internal_claim(wanted, arrived, active, drawn, outcome, kept, wait, why);
  ELSE
    SELECT COUNT(*) INTO there FROM semel_record AS r WHERE r.id = wanted FOR UPDATE;
    IF there = 0 THEN
      -- Another transaction had it when the first copy was asked for, and has undone it since.
      SET outcome = 'busy', wait = {shortest_busy};
    ELSE
      CALL semel_internal_answer(wanted, arrived, NULL, NULL, outcome, kept, wait, why);
    END IF;
    IF outcome = 'due' THEN
      CALL semel_internal_take(wanted, drawn);
      SET outcome = 'new';
    END IF;
  END IF;
END

-- Refuses lists of claim_many that do not fit each other, or are no UTF-8 and so NULL. One that is
-- left out is empty.
CREATE PROCEDURE semel_internal_lists(IN keys_given {text}, IN payloads_given {text},
                                      IN prints_given {text})
NO SQL SQL SECURITY INVOKER
BEGIN
  DECLARE fits BOOLEAN DEFAULT FALSE;
  IF JSON_VALID(keys_given) AND (payloads_given = '' OR JSON_VALID(payloads_given))
     AND (prints_given = '' OR JSON_VALID(prints_given)) THEN
    SET fits = JSON_TYPE(keys_given) = 'ARRAY';
    IF payloads_given <> '' THEN
      SET fits = fits AND JSON_TYPE(payloads_given) = 'ARRAY'
        AND JSON_LENGTH(payloads_given) = JSON_LENGTH(keys_given);
    END IF;
    IF prints_given <> '' THEN
      SET fits = fits AND JSON_TYPE(prints_given) = 'ARRAY'
        AND JSON_LENGTH(prints_given) = JSON_LENGTH(keys_given);
    END IF;
  END IF;
  IF NOT fits THEN
    CALL semel_internal_refuse('R271',
      'give JSON arrays in UTF-8: keys, and as many payloads or fingerprints');
  END IF;
END

-- One row for each key, in the order given. A key that stands twice is answered as if it had been
-- claimed twice. A key that cannot be claimed is answered 'invalid', so that its neighbours are
-- claimed whenever a batch comes with it. All are inserted at once, locked in one order; where
-- another transaction has one of them for too long, each is asked for by itself.
CREATE PROCEDURE semel_claim_many(IN consumer_name LONGBLOB, IN key_bytes LONGBLOB,
                                  IN payload_bytes LONGBLOB, IN print_bytes LONGBLOB)
MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
  DECLARE alone BOOLEAN;
  DECLARE singly, ended BOOLEAN DEFAULT FALSE;
  DECLARE number, active, place_is BIGINT;
  DECLARE patience BIGINT DEFAULT COALESCE(@semel_patience, @@innodb_lock_wait_timeout);
  DECLARE drawn VARBINARY(16) DEFAULT RANDOM_BYTES(16);
  DECLARE keys_given, payloads_given, prints_given {text};
  DECLARE answers {text} DEFAULT '';
  DECLARE wanted VARBINARY(20);
  DECLARE arrived VARBINARY(16);
  DECLARE first BOOLEAN;
  DECLARE outcome {word};
  DECLARE kept LONGBLOB;
  DECLARE wait DECIMAL(30, 6);
  DECLARE why {text};
  DECLARE met CURSOR FOR
    SELECT w.place, w.id, w.arrived, w.fault, w.turn = 1
      FROM {batch} AS w LEFT JOIN semel_record AS r ON r.id = w.id
      WHERE NOT (w.turn = 1 AND w.fault IS NULL AND COALESCE(r.nonce = drawn, FALSE))
      ORDER BY w.turn, w.id;
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET ended = TRUE;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION
  BEGIN
    SET SESSION innodb_lock_wait_timeout = patience;
    SET @semel_patience = NULL;
    CALL semel_internal_undo(alone);
    RESIGNAL;
  END;
  CALL semel_internal_utf8(key_bytes, keys_given);
  CALL semel_internal_utf8(COALESCE(payload_bytes, ''), payloads_given);
  CALL semel_internal_utf8(COALESCE(print_bytes, ''), prints_given);
  CALL semel_internal_lists(keys_given, payloads_given, prints_given);
  SET payloads_given = NULLIF(payloads_given, ''), prints_given = NULLIF(prints_given, '');
  CALL semel_internal_enter(alone);
  CALL semel_internal_place(consumer_name, number, active);
  BEGIN
    DECLARE EXIT HANDLER FOR {wait_over}
    BEGIN
      IF @@innodb_rollback_on_timeout THEN
        RESIGNAL;
      END IF;
      -- Others wait for what is claimed meanwhile, so a key among many is waited for briefly.
      SET singly = TRUE;
      SET @semel_patience = patience;
      SET SESSION innodb_lock_wait_timeout = LEAST(patience, {brief_patience});
    END;
    INSERT INTO semel_record (id, generation, fingerprint, changed_at, nonce)
      SELECT w.id, active, w.arrived, {clock}, drawn FROM {batch} AS w
        WHERE w.turn = 1 AND w.fault IS NULL ORDER BY w.id
      ON DUPLICATE KEY UPDATE semel_record.id = semel_record.id;
  END;
  OPEN met;
  each_key: LOOP
    -- A row that the round before did not find is not the end.
    SET ended = FALSE;
    FETCH met INTO place_is, wanted, arrived, why, first;
    IF ended THEN
      LEAVE each_key;
    END IF;
    SET outcome = NULL, kept = NULL, wait = NULL;
    IF why IS NOT NULL THEN
      SET outcome = 'invalid';
    ELSEIF singly THEN
      CALL semel_internal_claim_among(wanted, arrived, active, drawn, first, outcome, kept, wait,
                                      why);
    ELSE
      CALL semel_internal_answer(wanted, arrived, IF(first, drawn, NULL), NULL, outcome, kept,
                                 wait, why);
      IF outcome = 'due' THEN
        CALL semel_internal_take(wanted, drawn);
        SET outcome = 'new';
      END IF;
    END IF;
    SET answers = CONCAT(answers, IF(answers = '', '', ','),
      JSON_OBJECT('p', place_is, 'o', outcome, 'k', IF(kept IS NULL, '', HEX(wanted)),
                  'w', COALESCE(CAST(wait AS CHAR), ''), 'y', COALESCE(CONCAT('=', why), '')));
  END LOOP;
  CLOSE met;
  SET SESSION innodb_lock_wait_timeout = patience;
  SET @semel_patience = NULL;
  -- Results are read from the records, for all of them may be more than a text can hold. Those of a
  -- caller's transaction are its own by their locks, and its snapshot may be older than they are.
  -- Where they cannot be read, what the call did in that transaction is undone.
  IF alone THEN
    CALL semel_internal_leave(alone);
    {answers};
  ELSE
    {locked_answers};
    CALL semel_internal_leave(alone);
  END IF;
END
