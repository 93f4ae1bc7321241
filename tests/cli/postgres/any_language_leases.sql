-- The work is outside of the database: it is begun, done, and then recorded.
SELECT outcome, encode(nonce, 'hex') AS nonce, outcome = 'new' AS first
  FROM semel.begin('mails', 'mail-3', 'Dear Ann, …', lease => '2 minutes') \gset
\if :first
  \echo the work, and then its end by nonce :nonce
  SELECT semel.complete('mails', 'mail-3', decode(:'nonce', 'hex'), 'sent as id 77') AS outcome \gset
\endif
\echo :outcome
