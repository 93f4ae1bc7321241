-- Messages for consumers whose source is the queue: a row that stands and goes with the caller's
-- transaction, as HeldMessages::append writes it.

-- Headers as a row has them: core::text_of.
CREATE OR REPLACE FUNCTION {schema}.semel_headers(headers jsonb) RETURNS bytea
LANGUAGE plpgsql IMMUTABLE AS $semel$
DECLARE
  part bytea;
  made bytea := '';
  bytes bigint := 0;
  given record;
BEGIN
  IF headers IS NULL OR jsonb_typeof(headers) = 'null' THEN
    RETURN made;
  END IF;
  IF (CASE WHEN jsonb_typeof(headers) = 'object'
        THEN EXISTS (SELECT 1 FROM jsonb_each(headers) AS h
                     WHERE h.key = '' OR jsonb_typeof(h.value) <> 'string')
        ELSE true END) THEN
    PERFORM {schema}.semel_refuse('R271', 'the headers are no object of texts',
                                  'give them as jsonb: {"Idempotency-Key": "order-17"}');
  END IF;
  FOR given IN
    SELECT h.name, h.content FROM jsonb_each_text(headers) AS h(name, content)
  LOOP
    FOREACH part IN ARRAY ARRAY[{schema}.semel_content(given.name, 'header'),
                                {schema}.semel_content(given.content, 'header')] LOOP
      made := made || convert_to(octet_length(part) || ':', 'UTF8') || part ||
              convert_to(',', 'UTF8');
      bytes := bytes + octet_length(part);
    END LOOP;
  END LOOP;
  IF bytes > {headers_limit} THEN
    PERFORM {schema}.semel_refuse('R271',
      format('the headers have %s bytes, the limit is {headers_limit}', bytes),
      'put what is large into the message');
  END IF;
  RETURN made;
END $semel$;

-- The number of a consumer that takes messages from its queue.
CREATE OR REPLACE FUNCTION {schema}.semel_receiver(consumer text) RETURNS bigint
LANGUAGE plpgsql AS $semel$
DECLARE
  tables bigint;
  found_number bigint;
  only_called boolean;
BEGIN
  SELECT s.version, c.number, c.recipe_hash = convert_to('{guard_recipe}', 'UTF8')
    INTO tables, found_number, only_called
    FROM {schema}.semel_schema AS s
    LEFT JOIN {schema}.semel_consumer AS c ON c.name = semel_receiver.consumer COLLATE "default";
  IF tables IS DISTINCT FROM {tables} THEN
    -- It says what is wrong.
    SELECT p.number INTO found_number FROM {schema}.semel_place(consumer) AS p;
  END IF;
  IF found_number IS NULL THEN
    PERFORM {schema}.semel_refuse('R272', format('no consumer has the name %s',
                                                 COALESCE(quote_literal(consumer), 'NULL')),
      'add it to the config with the queue as its source, then: semel store init --functions');
  END IF;
  IF only_called THEN
    PERFORM {schema}.semel_refuse('R272',
      format('the consumer %L has no queue: it only claims keys', consumer),
      'name a consumer of a config whose source is the queue');
  END IF;
  RETURN found_number;
END $semel$;

CREATE OR REPLACE FUNCTION {schema}.publish(
  consumer text, message bytea, key text DEFAULT NULL, headers jsonb DEFAULT NULL,
  content_type text DEFAULT NULL, type text DEFAULT NULL, delay interval DEFAULT '0') RETURNS void
LANGUAGE plpgsql SECURITY DEFINER {settings} AS $semel$
DECLARE
  receiver bigint := {schema}.semel_receiver(publish.consumer);
  fault text := CASE WHEN publish.key IS NOT NULL THEN {schema}.semel_key_fault(publish.key) END;
  -- spi::due_when_sent. Runs look by milliseconds.
  due timestamptz := CASE WHEN COALESCE(publish.delay, '0') <= '0' THEN to_timestamp(0)
    ELSE date_trunc('milliseconds', {schema}.semel_due_after(publish.delay)) END;
BEGIN
  IF fault IS NOT NULL THEN
    PERFORM {schema}.semel_refuse('R271', fault,
                                  'leave the key out where the consumer finds it in the message');
  END IF;
  IF publish.message IS NULL THEN
    PERFORM {schema}.semel_refuse('R271', 'there is no message', 'give its content, however short');
  END IF;
  IF octet_length(publish.message) > {payload_limit} THEN
    PERFORM {schema}.semel_refuse('R271',
      format('the message has %s bytes, the limit is {payload_limit}',
             octet_length(publish.message)),
      'keep it elsewhere, and where it is in the message');
  END IF;
  INSERT INTO {schema}.semel_held (row_id, consumer, due_at, ready_at, enqueued_at, suspect,
                                   attempts, message_key, type, content_type, source_partition,
                                   source_position, headers, payload)
    VALUES (nextval('{schema}.semel_held_number'), receiver, due, due, {clock}, false, 0,
            {schema}.semel_utf8(publish.key),
            {schema}.semel_content(COALESCE(publish.type, ''), 'type'),
            {schema}.semel_content(COALESCE(publish.content_type, ''), 'content type'), '', '',
            {schema}.semel_headers(publish.headers), publish.message);
  PERFORM pg_notify({channel}, receiver::text);
END $semel$;

CREATE OR REPLACE FUNCTION {schema}.publish(
  consumer text, message text, key text DEFAULT NULL, headers jsonb DEFAULT NULL,
  content_type text DEFAULT NULL, type text DEFAULT NULL, delay interval DEFAULT '0') RETURNS void
LANGUAGE plpgsql SECURITY DEFINER {settings} AS $semel$
BEGIN
  PERFORM {schema}.publish(publish.consumer, {schema}.semel_content(publish.message, 'message'),
                           publish.key, publish.headers, publish.content_type, publish.type,
                           publish.delay);
END $semel$;
