  DECLARE alone BOOLEAN;
  DECLARE number, active BIGINT;
  DECLARE wanted VARBINARY(20);
  DECLARE arrived VARBINARY(16);
  DECLARE drawn VARBINARY(16) DEFAULT RANDOM_BYTES(16);
  DECLARE EXIT HANDLER FOR SQLEXCEPTION
  BEGIN
    CALL semel_internal_undo(alone);
    RESIGNAL;
  END;
  CALL semel_internal_arrived(payload, print, arrived);
  CALL semel_internal_enter(alone);
  BEGIN
    DECLARE EXIT HANDLER FOR {wait_over}
    BEGIN
      -- Then the caller's own work is undone too.
      IF @@innodb_rollback_on_timeout THEN
        RESIGNAL;
      END IF;
      CALL semel_internal_undo(alone);
      CALL semel_internal_enter(alone);
      SET outcome = 'busy', wait = {longest_busy};
    END;
    CALL semel_internal_place(consumer_name, number, active);
    CALL semel_internal_key_id(number, key_text, wanted);
    CALL semel_internal_claim(wanted, arrived, active, drawn, outcome, kept, wait, why);
  END;
  CALL semel_internal_leave(alone);
  SET nonce = IF(outcome = 'new', drawn, NULL);
