START TRANSACTION;
CALL semel_claim_into('mails', 'order-17', '{"account": 1, "amount": 5}', NULL,
                      @outcome, @nonce, @result, @retry_after, @reason);
UPDATE account SET balance = balance + 5 WHERE id = 1 AND @outcome = 'new';
COMMIT;
SELECT @outcome;
