START TRANSACTION;
UPDATE account SET balance = balance + 1 WHERE id = 2;
CALL semel_publish('payments', '{"id": "bonus-18", "account": 1, "amount": 7}',
                   NULL, NULL, NULL, NULL, NULL);
COMMIT;
