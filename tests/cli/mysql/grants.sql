-- Run in that database by an owner of the tables, after semel store init; `worker` is the user of the config.
GRANT SELECT, INSERT, UPDATE, DELETE ON * TO 'worker'@'%';
