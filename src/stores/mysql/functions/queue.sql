-- Messages for consumers whose source is the queue: a row that stands and goes with the caller's
-- transaction, as HeldMessages::append writes it.

-- Headers as a row has them: core::text_of.
CREATE PROCEDURE semel_internal_headers(IN header_bytes LONGBLOB, OUT made LONGBLOB)
NO SQL SQL SECURITY INVOKER
BEGIN
  DECLARE headers_given, header_names, header_key, header_name, header_value {text};
  DECLARE place, bytes BIGINT DEFAULT 0;
  DECLARE fits BOOLEAN DEFAULT TRUE;
  SET made = '';
  IF header_bytes IS NOT NULL THEN
    CALL semel_internal_utf8(header_bytes, headers_given);
    SET fits = COALESCE(JSON_VALID(headers_given), FALSE);
    IF fits THEN
      SET fits = JSON_TYPE(headers_given) = 'OBJECT';
    END IF;
    IF fits THEN
      SET header_names = JSON_KEYS(headers_given);
    END IF;
    WHILE fits AND place < JSON_LENGTH(header_names) DO
      -- MariaDB finds a key by its text, with the escapes that it was given with.
      SET header_key = JSON_EXTRACT(header_names, CONCAT('$[', place, ']'));
      SET header_name = JSON_UNQUOTE(header_key);
      SET header_value = JSON_EXTRACT(headers_given, CONCAT('$.', header_key));
      SET fits = COALESCE(LENGTH(header_name) > 0 AND JSON_TYPE(header_value) = 'STRING', FALSE);
      SET header_value = JSON_UNQUOTE(header_value);
      SET made = CONCAT(made, LENGTH(header_name), ':', CAST(header_name AS BINARY), ',',
                        LENGTH(header_value), ':', CAST(header_value AS BINARY), ',');
      SET bytes = bytes + LENGTH(header_name) + LENGTH(header_value);
      SET place = place + 1;
    END WHILE;
  END IF;
  IF NOT fits THEN
    CALL semel_internal_refuse('R271', 'the headers are no JSON object of texts');
  END IF;
  IF bytes > {headers_limit} THEN
    CALL semel_internal_refuse('R271', CONCAT('the headers have ', bytes,
                                              ' bytes, the limit is {headers_limit}'));
  END IF;
END

CREATE PROCEDURE semel_publish(
  IN consumer_name LONGBLOB, IN message LONGBLOB, IN key_text LONGBLOB, IN headers_given LONGBLOB,
  IN content_type_given LONGBLOB, IN type_given LONGBLOB, IN delay LONGBLOB)
MODIFIES SQL DATA SQL SECURITY DEFINER
BEGIN
  DECLARE alone BOOLEAN;
  DECLARE receiver, lives_for, row_number_drawn BIGINT;
  DECLARE only_called BOOLEAN;
  DECLARE delay_seconds DECIMAL(30, 6);
  DECLARE headers_text LONGBLOB;
  DECLARE ignored VARBINARY(20);
  DECLARE due DATETIME(6);
  DECLARE EXIT HANDLER FOR SQLEXCEPTION
  BEGIN
    CALL semel_internal_undo(alone);
    RESIGNAL;
  END;
  IF message IS NULL THEN
    CALL semel_internal_refuse('R271', 'there is no message');
  END IF;
  IF LENGTH(message) > {payload_limit} THEN
    CALL semel_internal_refuse('R271', CONCAT('the message has ', LENGTH(message),
                                              ' bytes, the limit is {payload_limit}'));
  END IF;
  CALL semel_internal_seconds(delay, delay_seconds);
  CALL semel_internal_headers(headers_given, headers_text);
  CALL semel_internal_consumer(consumer_name, receiver, lives_for);
  IF key_text IS NOT NULL THEN
    CALL semel_internal_key_id(receiver, key_text, ignored);
  END IF;
  SELECT c.recipe_hash = '{guard_recipe}' INTO only_called
    FROM semel_consumer AS c WHERE c.number = receiver;
  IF only_called THEN
    CALL semel_internal_refuse('R272', 'the consumer has no queue: it only claims keys');
  END IF;
  CALL semel_internal_enter(alone);
  CALL semel_internal_draw(row_number_drawn);
  -- spi::due_when_sent. Runs look by milliseconds.
  SET due = '1970-01-01';
  IF delay_seconds > 0 THEN
    CALL semel_internal_due(delay_seconds, due);
    SET due = due - INTERVAL MICROSECOND(due) MOD 1000 MICROSECOND;
  END IF;
  INSERT INTO semel_held (row_id, consumer, due_at, ready_at, enqueued_at, suspect, attempts,
                          message_key, type, content_type, source_partition, source_position,
                          headers, payload)
    VALUES (row_number_drawn, receiver, due, due, {clock}, FALSE, 0, key_text,
            COALESCE(type_given, ''), COALESCE(content_type_given, ''), '', '', headers_text,
            message);
  CALL semel_internal_leave(alone);
END
