-- Procedures that the others call. Those named semel_internal_… run with the rights of their
-- caller, so a user without rights on the tables can do nothing with them by itself.
-- One statement ends where an empty line begins, so that none has one within.

CREATE PROCEDURE semel_functions_version() NO SQL SQL SECURITY DEFINER
SELECT {version} AS version

-- Ends the call with one of our codes: R272 as SQLSTATE SM272. The server allows a short text.
CREATE PROCEDURE semel_internal_refuse(IN code {text}, IN fault {text})
NO SQL SQL SECURITY INVOKER
BEGIN
  DECLARE said VARCHAR(128) CHARACTER SET utf8mb4
    DEFAULT CONCAT('semel: ', LEFT(fault, 112), ' (', code, ')');
  CASE code
    WHEN 'R271' THEN SIGNAL SQLSTATE 'SM271' SET MESSAGE_TEXT = said;
    WHEN 'R272' THEN SIGNAL SQLSTATE 'SM272' SET MESSAGE_TEXT = said;
    ELSE SIGNAL SQLSTATE 'SM273' SET MESSAGE_TEXT = said;
  END CASE;
END

-- A transaction of the call's own where its caller has none open: each of its statements would be
-- committed by itself. Else a mark in the caller's. A server remembers a mark only in a transaction.
-- One with the mark of such a call is what a call left open that was killed: MySQL runs no handler
-- then. So is one that is open while @semel_opening says that a call was about to mark its own. It
-- is undone, and the caller told so, in the words of a deadlock.
-- A session that set its time (SET timestamp) is refused: leases would begin and end by it. A time
-- that was set stands still; the server's moves from one instruction of a procedure to the next.
CREATE PROCEDURE semel_internal_enter(OUT alone BOOLEAN)
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
  DECLARE alone_is, left_open BOOLEAN;
  DECLARE said DATETIME(6) DEFAULT UTC_TIMESTAMP(6);
  DECLARE looks BIGINT DEFAULT 0;
  WHILE UTC_TIMESTAMP(6) = said AND looks < {looks_at_clock} DO
    SET looks = looks + 1;
  END WHILE;
  IF looks = {looks_at_clock} THEN
    CALL semel_internal_refuse('R271', 'the session has a time of its own: SET timestamp = DEFAULT');
  END IF;
  IF @semel_patience IS NOT NULL THEN
    -- A claim_many that was killed has left its own.
    SET SESSION innodb_lock_wait_timeout = @semel_patience;
    SET @semel_patience = NULL;
  END IF;
  BEGIN
    DECLARE CONTINUE HANDLER FOR 1305 SET alone_is = TRUE;
    SET alone_is = FALSE;
    SAVEPOINT semel_call;
    RELEASE SAVEPOINT semel_call;
  END;
  IF NOT alone_is THEN
    BEGIN
      DECLARE CONTINUE HANDLER FOR 1305 SET left_open = @semel_opening IS NOT NULL;
      SET left_open = TRUE;
      RELEASE SAVEPOINT semel_own;
    END;
    IF left_open THEN
      ROLLBACK AND NO CHAIN NO RELEASE;
      SET @semel_opening = NULL;
      SIGNAL SQLSTATE '40001' SET MESSAGE_TEXT =
        'semel: a call that was killed had left its transaction open; it is undone: call again';
    END IF;
    SAVEPOINT semel_call;
  ELSE
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET @semel_opening = TRUE;
    START TRANSACTION READ WRITE;
    SAVEPOINT semel_own;
    SET @semel_opening = NULL;
  END IF;
  SET alone = alone_is;
END

CREATE PROCEDURE semel_internal_leave(IN alone BOOLEAN)
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
  IF alone THEN
    COMMIT AND NO CHAIN NO RELEASE;
  ELSE
    RELEASE SAVEPOINT semel_call;
  END IF;
END

-- Undoes what the call did, and nothing else. A deadlock has undone all before.
CREATE PROCEDURE semel_internal_undo(IN alone BOOLEAN)
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
  DECLARE CONTINUE HANDLER FOR 1305 BEGIN END;
  IF alone THEN
    ROLLBACK AND NO CHAIN NO RELEASE;
  ELSEIF NOT alone THEN
    ROLLBACK TO SAVEPOINT semel_call;
    RELEASE SAVEPOINT semel_call;
  END IF;
END

-- Bytes as text; NULL where they are no UTF-8. Texts come as bytes, for a parameter that is text
-- would be cut in a session that is not strict.
CREATE PROCEDURE semel_internal_utf8(IN content LONGBLOB, OUT made {text})
NO SQL SQL SECURITY INVOKER
{as_utf8}

-- The fingerprint of what arrived; all zero where nothing is said of it.
CREATE PROCEDURE semel_internal_arrived(IN payload LONGBLOB, IN print LONGBLOB,
                                        OUT arrived VARBINARY(16))
NO SQL SQL SECURITY INVOKER
BEGIN
  DECLARE fault {text} DEFAULT {print_fault};
  IF fault IS NOT NULL THEN
    CALL semel_internal_refuse('R271', fault);
  END IF;
  SET arrived = {arrived};
END

-- core::encode_key: the classes, and the digest of what is in none of them.
CREATE PROCEDURE semel_internal_key_id(IN number BIGINT, IN content LONGBLOB,
                                       OUT made VARBINARY(20))
NO SQL SQL SECURITY INVOKER
BEGIN
  DECLARE fault {text} DEFAULT {key_fault};
  DECLARE as_text {text};
  {key_as_utf8};
  IF fault IS NULL AND as_text IS NULL THEN
    SET fault = 'the key is not UTF-8: let the session speak utf8mb4';
  END IF;
  IF fault IS NOT NULL THEN
    CALL semel_internal_refuse('R271', fault);
  END IF;
  SET made = {key_id};
END

-- The consumer's number and its ttl.
CREATE PROCEDURE semel_internal_consumer(IN consumer_name LONGBLOB, OUT found BIGINT,
                                         OUT lives_for BIGINT)
READS SQL DATA SQL SECURITY INVOKER
BEGIN
  DECLARE tables_are BIGINT;
  DECLARE as_text {text};
  SELECT MAX(s.version) INTO tables_are FROM semel_schema AS s;
  IF NOT tables_are <=> {tables} THEN
    CALL semel_internal_refuse('R273', CONCAT(
      'the functions are for tables of version {tables}, the tables have version ',
      COALESCE(tables_are, 'none')));
  END IF;
  SET found = NULL;
  SELECT c.number, c.ttl INTO found, lives_for FROM semel_consumer AS c
    WHERE c.name = consumer_name;
  IF found IS NULL THEN
    CALL semel_internal_utf8(consumer_name, as_text);
    CALL semel_internal_refuse('R272', CONCAT('no consumer has the name ',
                                              COALESCE(QUOTE(as_text), 'NULL')));
  END IF;
END

-- The consumer's number and the generation that takes its new records, begun where there is none.
-- A record may name one that was sealed meanwhile: it is kept as long, or longer.
CREATE PROCEDURE semel_internal_place(IN consumer_name LONGBLOB, OUT found BIGINT, OUT active BIGINT)
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
  DECLARE lives_for BIGINT;
  DECLARE locked BIGINT;
  SELECT c.number, (SELECT MAX(g.number) FROM semel_generation AS g
                    WHERE g.state = 'active' AND g.ttl <=> c.ttl)
    INTO found, active
    FROM semel_consumer AS c
    WHERE c.name = consumer_name
      AND (SELECT MAX(s.version) FROM semel_schema AS s) = {tables};
  IF active IS NULL THEN
    CALL semel_internal_consumer(consumer_name, found, lives_for);
    SELECT m.epoch INTO locked FROM semel_meta AS m FOR UPDATE;
    SELECT MAX(IF(g.state = 'active' AND g.ttl <=> lives_for, g.number, NULL)),
           COALESCE(MAX(g.number), 0)
      INTO active, locked FROM semel_generation AS g FOR UPDATE;
    IF active IS NULL THEN
      SET active = locked + 1;
      INSERT INTO semel_generation (number, ttl, state, created_at)
        VALUES (active, lives_for, 'active', {clock});
    END IF;
  END IF;
END

-- Seconds that a caller gives, as a number or the text of one. They come as bytes, as texts do: a
-- session that is not strict would take '2 minutes' for 2.
CREATE PROCEDURE semel_internal_seconds(IN given LONGBLOB, OUT seconds DECIMAL(30, 6))
NO SQL SQL SECURITY INVOKER
BEGIN
  DECLARE digits LONGTEXT CHARACTER SET latin1 DEFAULT CONVERT(given USING latin1);
  -- As the servers write their numbers. The pattern's end is also before a final newline.
  IF digits NOT REGEXP '^-?([0-9]+([.][0-9]{0,38})?|[.][0-9]{1,38})([Ee][-+]?[0-9]{1,3})?$'
     OR RIGHT(given, 1) = x'0A' THEN
    CALL semel_internal_refuse('R271', 'a lease or a delay is no number: give it in seconds');
  END IF;
  BEGIN
    -- There is no room for as many.
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
      SET seconds = IF(digits LIKE '-%', -1e23, 1e23);
    SET seconds = CAST(digits AS DECIMAL(30, 6));
  END;
END

-- So many seconds from now, by the server's clock: spi::due_after.
CREATE PROCEDURE semel_internal_due(IN seconds DECIMAL(30, 6), OUT due DATETIME(6))
READS SQL DATA SQL SECURITY INVOKER
BEGIN
  DECLARE latest DATETIME(6) DEFAULT '9999-12-29 23:59:59.999';
  SET due = {clock};
  IF seconds >= TIMESTAMPDIFF(SECOND, due, latest) THEN
    SET due = latest;
  ELSEIF seconds > 0 THEN
    SET due = due + INTERVAL CAST(seconds * 1000000 AS SIGNED) MICROSECOND;
  END IF;
END

-- The number that follows, as the library draws it: each has many after it that nobody else gets.
-- The caller's LAST_INSERT_ID() stays.
CREATE PROCEDURE semel_internal_draw(OUT number BIGINT)
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
  DECLARE before_it BIGINT UNSIGNED DEFAULT LAST_INSERT_ID();
  INSERT INTO semel_number VALUES (NULL);
  SET number = LAST_INSERT_ID() * {numbers};
  DELETE FROM semel_number WHERE semel_number.number = LAST_INSERT_ID();
  DO LAST_INSERT_ID(before_it);
END

-- The answer of a key's record, which there is, to a claim: spi::decide_claim. 'made': this very
-- call made it. 'again': it is the claim of that nonce. 'due': a claim may take it. A due record
-- whose payload the store keeps is left to the run that reads the payload. The record is locked
-- then. Without a record there is no answer: it would be a claim that nothing keeps.
CREATE PROCEDURE semel_internal_answer(
  IN wanted VARBINARY(20), IN arrived VARBINARY(16), IN drawn VARBINARY(16), IN token_drawn BIGINT,
  OUT outcome {word}, OUT kept LONGBLOB, OUT wait DECIMAL(30, 6), OUT why {text})
MODIFIES SQL DATA SQL SECURITY INVOKER
BEGIN
  DECLARE state_is {word};
  DECLARE print_is, nonce_is VARBINARY(16);
  DECLARE token_is, held_is, inbox_is BIGINT;
  DECLARE lease_is, next_is, now_is DATETIME(6);
  DECLARE reason_is LONGBLOB;
  SELECT r.state, r.fingerprint, r.nonce, r.token, r.held, r.inbox, r.lease_until, r.next_at,
         r.reason, r.result, {clock}
    INTO state_is, print_is, nonce_is, token_is, held_is, inbox_is, lease_is, next_is,
         reason_is, kept, now_is
    FROM semel_record AS r WHERE r.id = wanted FOR UPDATE;
  IF state_is IS NULL OR print_is IS NULL THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'semel: a claimed key has no record';
  END IF;
  IF IF(token_drawn IS NULL, nonce_is = drawn AND state_is = 'completed', token_is = token_drawn) THEN
    SET outcome = 'made', kept = NULL;
  ELSEIF arrived <> print_is AND arrived <> {no_print} THEN
    SET outcome = 'conflict', kept = NULL;
  ELSEIF state_is = 'completed' THEN
    SET outcome = 'duplicate';
    IF inbox_is IS NOT NULL THEN
      -- As it is now: the snapshot of the caller's transaction may be older.
      SELECT i.result INTO kept FROM semel_inbox AS i WHERE i.row_id = inbox_is
        LOCK IN SHARE MODE;
    END IF;
  ELSEIF state_is IN ('parked', 'dead') THEN
    SET outcome = state_is;
    CALL semel_internal_utf8(reason_is, why);
    SET why = COALESCE(why, HEX(reason_is));
  ELSEIF state_is = 'consuming' AND nonce_is = drawn AND lease_is > now_is THEN
    SET outcome = 'again';
  ELSEIF state_is = 'consuming' AND (lease_is > now_is OR held_is IS NOT NULL) THEN
    SET outcome = 'busy';
    SET wait = LEAST(GREATEST(TIMESTAMPDIFF(MICROSECOND, now_is, lease_is) / 1000000,
                              {shortest_busy}), {longest_busy});
  ELSEIF state_is = 'retrying' AND (next_is > now_is OR held_is IS NOT NULL) THEN
    SET outcome = 'retry';
    SET wait = IF(next_is > now_is, TIMESTAMPDIFF(MICROSECOND, now_is, next_is) / 1000000,
                  {shortest_busy});
  ELSE
    SET outcome = 'due';
  END IF;
END

-- A result as a record keeps it: none where it is empty.
CREATE PROCEDURE semel_internal_result(IN given LONGBLOB, OUT kept LONGBLOB)
NO SQL SQL SECURITY INVOKER
BEGIN
  IF LENGTH(given) > {result_limit} THEN
    CALL semel_internal_refuse('R271', CONCAT('the result has ', LENGTH(given),
                                              ' bytes, the limit is {result_limit}'));
  END IF;
  SET kept = NULLIF(given, '');
END
