-- Run by the owner of the tables, after semel store init; `worker` is the user of the config.
GRANT USAGE ON SCHEMA semel TO worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA semel TO worker;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA semel TO worker;
-- Those of generations that are begun later.
ALTER DEFAULT PRIVILEGES IN SCHEMA semel GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO worker;
