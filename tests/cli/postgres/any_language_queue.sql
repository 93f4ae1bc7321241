-- A consumer that is psql alone, and sends what another consumer of the config is to do.
BEGIN;
SELECT outcome = 'new' AS first
  FROM semel.claim('mails', 'order-18', '{"account": 1, "bonus": 7}') \gset
\if :first
  SELECT semel.publish('payments', '{"id": "bonus-18", "account": 1, "amount": 7}') \g /dev/null
\endif
COMMIT;
SELECT count(*) FROM semel.semel_held;
