-- Run in that database by the owner of the procedures.
GRANT EXECUTE ON * TO 'worker'@'%';
