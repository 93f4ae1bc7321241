-- May claim, and make its own effects. It has no right on any table of Semel's.
CREATE ROLE worker LOGIN;
GRANT USAGE ON SCHEMA semel TO worker;
GRANT EXECUTE ON FUNCTION semel.claim(text, text, text) TO worker;
GRANT INSERT ON payment TO worker;
GRANT SELECT, UPDATE ON account TO worker;
