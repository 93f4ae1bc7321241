SET @nonce = RANDOM_BYTES(16);
CALL semel_begin('mails', 'mail-3', 'Dear Ann, …', NULL, 120, @nonce);
-- Where that is new: the work, and then its end.
CALL semel_complete('mails', 'mail-3', @nonce, 'sent as id 77');
