BEGIN;
SELECT outcome, outcome = 'new' AS first
  FROM semel.claim('payments', :'payment', concat_ws(' ', :'payment', :'account', :'amount')) \gset
\if :first
  INSERT INTO payment (id, account, amount) VALUES (:'payment', :account, :amount);
  UPDATE account SET balance = balance + :amount WHERE id = :account;
\endif
COMMIT;
\echo :outcome
