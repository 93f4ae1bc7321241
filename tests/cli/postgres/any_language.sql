-- A consumer that is nothing but psql. Its effect and its record are one transaction.
BEGIN;
SELECT outcome, outcome = 'new' AS first
  FROM semel.claim('mails', 'order-17', '{"account": 1, "amount": 5}') \gset
\if :first
  UPDATE account SET balance = balance + 5 WHERE id = 1;
  SELECT semel.done('mails', 'order-17', 'raised by 5') \g /dev/null
\endif
COMMIT;
\echo :outcome
