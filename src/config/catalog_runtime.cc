#include "config/catalog.h"

namespace semel::config::catalog {
namespace {

constexpr CodePage kRuntimePages[] = {
    {"R200", "the store failed in a way it does not name",
     "The database answered with an error that has no page of its own; the message has its own "
     "words. No message counts as handled because of it.",
     "Read the message. If it stays, check the disk and run semel store stats.", "", 69},
    {"R201", "the store cannot be opened",
     "The database file or its folder is not there, or cannot be opened; or a server cannot read "
     "or write its own files. Nothing is handled without a store: messages wait.",
     "Check the path of store.sqlite; a relative one starts at the config's folder. Of a server: "
     "look into its log.",
     "store: { sqlite: { path: /var/lib/semel/semel.db } }", 69},
    {"R202", "the store's data are damaged, or not its own",
     "The pages of the SQLite file contradict each other; or a server says that its data are "
     "damaged, or holds under a record's name what is no record. Nothing is written to it.",
     "Restore a backup, or ask SQLite what can be saved. On Redis give Semel a prefix or a "
     "database "
     "number of its own.",
     "sqlite3 semel.db 'PRAGMA integrity_check'", 69},
    {"R203", "the store may not be written",
     "SQLite: the file, its folder or the whole file system is read-only for this user; it also "
     "needs to write files beside the database (-wal, -shm). A server is a replica, or set to read "
     "only.",
     "Give this user the right to write the file and its folder; or name the primary server in the "
     "store's url.",
     "chown semel /var/lib/semel", 77},
    {"R204", "the store lies on a network file system",
     "SQLite's log needs memory that all processes share, and locks that hold; network file "
     "systems give neither, and a record could be lost or doubled.",
     "Use a local disk.", "store: { sqlite: { path: /var/lib/semel/semel.db } }", 78},
    {"R205", "the disk is full",
     "A record could not be written, so nothing was acknowledged: what was in flight comes again "
     "once there is room. Of a server it is the server's disk.",
     "Free some space. semel store sweep drops records whose time is over.", "semel store sweep",
     69},
    {"R206", "another program holds the database locked",
     "SQLite has one write lock, a server one for each row, and somebody held it for longer than "
     "the store waits: often a shell with an open transaction, or a stopped process.",
     "End that transaction. The message names the process where it is known; a server tells of it "
     "in pg_stat_activity, or in information_schema.INNODB_TRX. Where a slow disk is why, let the "
     "store wait for longer.",
     "store: { sqlite: { busy: 30s } }", 69},
    {"R207", "the store's tables are not there",
     "The command only looks and makes no tables; this file, or this schema of the database, has "
     "none yet, or those of an older version. Or an older process still works on those.",
     "Make them, or bring them up to date with semel store migrate; or check that the path or URL, "
     "and the schema, are the right ones.",
     "semel store init -c semel.yaml", 69},
    {"R208", "no transaction is open on the borrowed connection",
     "Guard on your own connection records inside the transaction that you opened, so that your "
     "COMMIT decides about work and record together. Without one there is nothing to join. MariaDB "
     "and MySQL undo the whole transaction after a deadlock: then there is none any more either. "
     "Tables are the other way round: on a server they are made outside of your transaction.",
     "Begin a transaction before run_once, and commit after it. After a deadlock begin it again, "
     "with all that it did before.",
     "BEGIN IMMEDIATE", 70},
    {"R209", "the store's file has several names",
     "Hard links give one file several names. SQLite's log and the locks by which processes know "
     "of "
     "each other stand beside the name that a process uses: two processes with two names would "
     "take each other for dead and damage the file. A symbolic link does no harm: it is followed.",
     "Leave the file one name, or copy it to a file of its own.", "find / -xdev -samefile bank.db",
     78},
    {"R210", "the store is newer than this program",
     "Its tables were made by a later version. Writing to them could break what that version "
     "relies on.",
     "Run the newer program, or use another file or schema.", "", 78},
    {"R211", "the clock jumped, and nothing is forgotten",
     "Records are forgotten by the store's clock: the machine's, or the server's. It stands before "
     "the time at which the store was last purged, or far behind it: a purge now could forget what "
     "is still needed.",
     "Check that clock; where it is right, the purge goes on by itself in a while.", "timedatectl",
     69},
    {"R212", "the store's path is not a file",
     "store.sqlite.path names a folder, a device, or nothing that outlives the process. Starting "
     "again does not mend it.",
     "Name a file; it is made where it is not there.",
     "store: { sqlite: { path: /var/lib/semel/semel.db } }", 78},
    {"R213", "the file is not an SQLite database",
     "Something else is in the file that store.sqlite.path names. It is left as it is.",
     "Name another file, or move this one away.",
     "store: { sqlite: { path: /var/lib/semel/semel.db } }", 78},
    {"R215", "a statement was prepared before its tables changed",
     "Statements are prepared once for a session. Where a column was added or has another type "
     "now, "
     "the server refuses the old statement. It is prepared anew and run again; the message has not "
     "used up a try. A value that does not fit looks the same the first time it is met.",
     "Nothing, unless it comes again and again: then the message's own error is told.",
     "ALTER TABLE account ADD COLUMN note text", 69},
    {"R220", "the key recipe changed",
     "The store remembers how this consumer's keys are made. Under another recipe, other "
     "fingerprint fields or another name, every message of the past would be new, and what is "
     "redelivered would happen again.",
     "Go back to the recipe. Knowingly: accept: [key_recipe] on the consumer, for one start.",
     "accept: [key_recipe]", 78},
    {"R230", "another process reads this file for this consumer",
     "A position in a file belongs to one reader. Two would each skip what the other has read.",
     "Stop the other one, or give this consumer another name.", "", 69},
    {"R231", "the file to read is not there",
     "With --once the file must exist; otherwise it is waited for.",
     "Check source.file.path; a relative one starts at the config's folder.",
     "source: { file: { path: payments.jsonl } }", 69},
    {"R232", "the path to read is not a file of lines",
     "A folder, a pipe or a device has no positions to come back to.",
     "Read a pipe by standard input.", "cat pipe | semel run --once", 78},
    {"R233", "the file may not be read by this user", "The system refuses to open it.",
     "Give this user the right to read it.", "chmod +r payments.jsonl", 77},
    {"R234", "the file cannot be opened or read",
     "The message has the system's own words. The source tries again by itself.",
     "Check the disk and the path.", "", 69},
    {"R235", "the source was closed", "It was used after it was closed; nothing was lost.",
     "This is a defect of the program: please report it.", "", 70},
    {"R240", "the memory store is full",
     "All records that it may keep belong to messages that are not finished, and it never forgets "
     "those.",
     "Raise store.memory.max_records, or use another store.",
     "store: { memory: { max_records: 5000000 } }", 69},
    {"R241", "a running consumer holds this record",
     "Forgetting it now would let the effect happen twice.",
     "Stop the consumer, or wait for the lease to end.", "", 1},
    {"R242", "whether it had its effect is not known",
     "Under strategy at_most_once a try that was begun and whose outcome nobody knows is parked, "
     "and only a person can find out what became of it: at the receiver, in its log, by asking.",
     "semel records unlock KEY --as done where it had its effect, --as retry where it had none and "
     "is to be tried again, --as dead where it had none and never shall.",
     "", 1},
    {"R250", "the database server cannot be reached",
     "Nobody answers at that address, the connection broke, or the server is just starting or "
     "stopping. While it is away nothing is handled and nothing acknowledged; a run says so once, "
     "goes on when it is back, and loses nothing. At its start semel run ends with code 69, for "
     "whoever started it to try again.",
     "Check host and port in the store's url, and that the server runs and listens there.",
     "pg_isready -d \"$DATABASE_URL\"", 69},
    {"R251", "the database server refused the login",
     "There is no such user, the password is wrong or missing, or the server does not let this "
     "user in from this machine.",
     "Check user and password in the store's url; for PostgreSQL also PGPASSWORD, ~/.pgpass and "
     "pg_hba.conf, for MariaDB and MySQL the host of 'user'@'host'.",
     "store: { postgres: { url: \"${DATABASE_URL}\" } }", 78},
    {"R252", "there is no such database",
     "The server is there, and has no database of the name that the store's url gives. Semel makes "
     "its tables, but no database: records belong beside the business's tables.",
     "Name the database that holds your tables, or make one.", "createdb bank", 78},
    {"R253", "a right is missing in the database",
     "The user of the store's url may not do what was asked. PostgreSQL: to make the tables it "
     "needs CREATE on the database, or an owner makes them for it; to work it needs USAGE on the "
     "schema, and the tables and sequences in it; to begin and drop generations it must own them. "
     "MariaDB and MySQL: to make the tables CREATE, CREATE VIEW and INDEX; to work SELECT, INSERT, "
     "UPDATE and DELETE. Redis: certain commands, on all names that begin with the prefix.",
     "Grant what the message names: semel explain rights lists it for each store.",
     "GRANT USAGE ON SCHEMA semel TO worker", 77},
    {"R254", "the database server takes no more connections",
     "All of max_connections are in use, or a pooler before the server accepts this process and "
     "has no session for it. Each process has as many as the store's pool says, and one more, by "
     "which it is known to be alive; the message says how many it has. Until there are more, it "
     "works with those.",
     "Lower the pool, run fewer processes, or raise the server's max_connections and the pooler's "
     "size (PgBouncer: default_pool_size).",
     "store: { postgres: { url: \"${DATABASE_URL}\", pool: 4 } }", 69},
    {"R255", "a handler that cannot be made",
     "Its URL cannot be called, a header or secret has not the form it needs, the file of "
     "certificates cannot be read, or it publishes to a name that no topic, exchange or queue can "
     "have. Nothing was sent.",
     "Mend the part that the message names.",
     "handler: { http: { url: https://10.0.0.7/x, ca_file: ca.pem } }", 78},
    {"R256", "the HTTP library cannot begin",
     "It could not get the memory to start. Nothing was sent.", "Give the process more memory.", "",
     70},
    {"R257", "a pooler gives each transaction another session",
     "A process is known to be alive by a lock that its session holds, and hears of new messages "
     "by "
     "LISTEN. Behind a pooler in transaction mode neither lasts, so that one would be taken for "
     "dead while it works. Of Galera, and of group replication with several primaries, each server "
     "knows its own locks alone.",
     "Connect to the server itself, or let the pooler keep sessions (PgBouncer: pool_mode = "
     "session). Use a cluster with one primary.",
     "store: { postgres: { url: \"postgresql://db.example:5432/bank\" } }", 78},
    {"R258", "the database server is too old",
     "The records rely on features of PostgreSQL 12, MariaDB 10.6, MySQL 8.0 or Redis 6.",
     "Use a newer server.", "", 78},
    {"R259", "the address of the database cannot be read",
     "The store's url is no address: an unknown parameter, a part that is not closed, or a "
     "password "
     "with a character that must be written as %XX.",
     "Write it as postgresql://user@host/database or host=… dbname=… user=…; for MariaDB and MySQL "
     "as mysql://user:password@host:port/database, for Redis as "
     "redis://user:password@host:port/number.",
     "store: { postgres: { url: \"postgresql://semel@db.example/bank\" } }", 78},
    {"D101", "the store does not work",
     "semel doctor opens the store, looks for the consumers in it, and claims a key that no "
     "message has, as a run would, in a transaction that it undoes. On Redis, and before any of "
     "the "
     "consumers has run, it only looks for the key. The message says what did not go.",
     "Mend what the message names.", "semel doctor semel.yaml", 1},
    {"D131", "the store's server may lose what it has committed",
     "What is acknowledged at a source does not come again: it is lost where the server forgets "
     "its last commits in a crash. In a database the record goes with the effect, so that nothing "
     "happens twice; on Redis the effect is elsewhere, and what is forgotten is done again when it "
     "comes again. What a server does not tell is not known, and not fine. A run tells of it at "
     "its "
     "start, and semel doctor shows what is left of the promise.",
     "Set what the message names, for the server, the database or the user; or know it. On Redis: "
     "CONFIG SET appendfsync always.",
     "ALTER DATABASE bank SET synchronous_commit = on", 1},
    {"D133", "a table of the business that is not in the store's transaction",
     "The record commits together with what the statements write, in the store's own database. A "
     "table that is missing there, or that the server keeps in no transaction (MyISAM, Aria, "
     "MEMORY), would break that: its changes stay where the record is undone, and are made again.",
     "Make the table where the store is; ALTER TABLE … ENGINE = InnoDB.",
     "store: { mysql: { url: \"${DATABASE_URL}\" } }", 78},
    {"D134", "a statement that the store's database refuses",
     "semel doctor has the database prepare each statement of the config, and runs none. It "
     "refused "
     "this one: a column or a function is not there, a type does not fit, or it cannot be read. No "
     "message succeeds before that is mended: in a run up to three become dead letters, and then "
     "the consumer is paused.",
     "Mend the statement, or the tables; then semel consumers resume, and semel dlq replay. The "
     "message has the database's own words.",
     "ALTER TABLE account ADD COLUMN note text", 1},
    {"D135", "a right is missing on the tables of the business",
     "The user of the store's url may not do what a statement does. No message succeeds before "
     "that is mended: in a run up to three become dead letters, and then the consumer is paused. A "
     "trigger, a foreign key's own action or a function may need more: that shows only when it "
     "runs.",
     "Grant the right, to the user of the store's url; then semel consumers resume, and semel dlq "
     "replay.",
     "GRANT SELECT, UPDATE ON account TO worker", 1},
    {"D136", "rows that break a foreign key already",
     "SQLite enforces foreign keys only where a connection asks for it, and Semel's do. Rows that "
     "were written without may have no parent. SQLite leaves them as they are until something "
     "touches them; a statement that changes one, or its key, then fails.",
     "Delete those rows, or put their parents in. Or leave foreign keys off, as other programs on "
     "the file may do: store.sqlite.foreign_keys: false.",
     "sqlite3 bank.db 'PRAGMA foreign_key_check'", 1},
    {"D137", "a rule for a unique constraint that is not there",
     "on_unique_violation names a constraint that no table of the store's database has. A "
     "violation of another one does not fall under the rule: what was to be a duplicate would be "
     "retried, and become a dead letter.",
     "Name the constraint by its table and columns, in their order, or by its name; or make it.",
     "on_unique_violation: { order_log(order_id): duplicate }", 1},
    {"D139", "a queue of RabbitMQ",
     "semel doctor logs in to the RabbitMQ broker of a source and asks for its queue: how many "
     "messages are ready, and how many consumers it has. Where a run would not get there, it says "
     "so by the run's code (R310 to R314). Whether the user may read the queue shows in a run "
     "alone (R315).",
     "Nothing, where the queue is there; with declare: true a run makes it.",
     "source: { rabbitmq: { url: \"${AMQP_URL}\", queue: orders, declare: true } }", 1},
    {"R260", "a handler does not end",
     "A handler ran past its timeout and its grace and did not end when it was asked to. Inside a "
     "transaction it holds the store's write lock, and nothing but the end of its process frees "
     "that. The process ended itself with exit code 70; nothing was acknowledged, and the next "
     "start counts what was in flight, and handles it first.",
     "Look at the stop token in long work, shorten the handler, or raise consumers[].timeout.", "",
     70},
    {"R261", "the Redis server's memory is full",
     "It holds as much as its maxmemory allows, and a record could not be written. Nothing was "
     "handled or acknowledged on it: messages wait, and come again once there is room.",
     "Raise maxmemory, or let records go sooner by a shorter ttl. Never by a maxmemory-policy: "
     "that would forget what was handled.",
     "redis-cli CONFIG SET maxmemory 4gb", 69},
    {"R262", "the Redis server has too few replicas",
     "It was told to take no writes without them (min-replicas-to-write), so that a failover "
     "forgets less. Nothing was handled on it.",
     "Start the missing replica; or lower the number, and know that a failover may forget the last "
     "records: what they were about is then handled again.",
     "redis-cli INFO replication", 69},
    {"R263", "something else stands under the name of a record",
     "Another program writes names that begin like the store's. What it has there is left as it "
     "is, and the message is not handled.",
     "Give Semel a prefix, or a database number, of its own.", "redis://localhost:6379/3", 78},
    {"R264", "the Redis server is a node of a Cluster, and cannot be asked for that",
     "A Cluster has no databases with numbers, and its other nodes cannot be reached by the unix "
     "socket of one.",
     "Name a host and a port of any of its nodes, without a number; a prefix of its own keeps a "
     "store apart.",
     "redis://localhost:7001", 78},
    {"R265", "the Redis server may evict records",
     "It has a maxmemory, and a maxmemory-policy that makes room by removing what it chooses. A "
     "claim that is removed lets a second worker begin beside the first; a completed key that is "
     "removed is handled again.",
     "Set the policy to noeviction: a full server then refuses, and nothing is lost or doubled. "
     "Knowingly: accept: [eviction] in store.redis.",
     "redis-cli CONFIG SET maxmemory-policy noeviction", 78},
    {"R266", "the Redis server is busy with a script",
     "Somebody's script has run for longer than the server likes, and until it ends the server "
     "does nothing else. Nothing was handled.",
     "Wait for its end, or end it: the server does that where it has written nothing yet.",
     "redis-cli SCRIPT KILL", 69},
    {"R267", "no message is kept on a Redis server that may evict it",
     "The server has a maxmemory-policy that lets it remove anything, and the config accepts that. "
     "A record that is removed is handled again; a message of the queue, a retry, a parked message "
     "or a dead letter would be lost. None is entrusted to it: what might need that does not "
     "start.",
     "Set the policy to noeviction, or to one of volatile-…, which removes only what expires.",
     "redis-cli CONFIG SET maxmemory-policy noeviction", 78},
    {"R268", "too few replicas had what was written",
     "store.redis.wait_replicas asks for more replicas than had the write in time. It is done on "
     "the master: whether it stays, where another server takes over, is in doubt. What was claimed "
     "is free again when its lease is over; what was ended is looked up, or handled again.",
     "Start the missing replica, or lower wait_replicas and know that a failover may forget the "
     "last writes.",
     "redis-cli INFO replication", 69},
    {"R269", "the server logs statements instead of rows",
     "With binlog_format = STATEMENT InnoDB refuses whatever a transaction at READ COMMITTED "
     "writes (error 1665). Semel's sessions log rows instead, and this user may not set that.",
     "Set MIXED or ROW for the server, or give the user the right.",
     "SET GLOBAL binlog_format = 'MIXED'", 78},
    {"R270", "too few file descriptors",
     "A file, a connection or an event needed one more descriptor than this process, or the "
     "machine, may have. Messages wait; nothing was handled or acknowledged without its record.",
     "Raise the limit: ulimit -n, LimitNOFILE= in a unit, fs.file-max for the machine. Or need "
     "fewer: a smaller pool in store:, fewer consumers in one process.",
     "ulimit -n 65536", 69},
    {"R271", "a SQL function was called wrongly",
     "A claim needs a key that is not empty, a nonce that begin answered with, a lease with a "
     "length; done needs a claim of the same transaction (MariaDB and MySQL: its nonce), and "
     "publish a message with headers that are texts. Text has to be UTF-8. On MariaDB and MySQL "
     "the "
     "session must not have set its time (SET timestamp): leases would end by it. Nothing was "
     "changed. In SQL the error has SQLSTATE SM271.",
     "The error says what is wrong, and on PostgreSQL its hint what to give.",
     "SELECT * FROM semel.claim('payments', 'order-17', '{\"amount\": 5}')", 1},
    {"R272", "the consumer is not registered for SQL functions",
     "A record's id begins with the number that the store gave its consumer's name, and it is kept "
     "for the consumer's ttl. The name has no number yet, or no generation of records was begun "
     "for its ttl. Or publish names a consumer that only claims keys. In SQL the error has "
     "SQLSTATE SM272.",
     "Register it, as a user who owns the schema; one that is published to belongs into the "
     "config, with the queue as its source.",
     "semel store init --functions --consumer payments=7d", 78},
    {"R273", "the SQL functions are of another version than the tables",
     "A newer Semel, or an older one, made the tables. The functions refuse to work on what they "
     "do not know. In SQL the error has SQLSTATE SM273.",
     "Bring both up to date.", "semel store migrate --functions", 78},
    {"R274", "this store has no SQL functions",
     "Functions by which any client claims are made on PostgreSQL, in a schema whose name can "
     "stand in their text, and on MariaDB and MySQL.",
     "Use store.postgres with a schema of letters and digits, or store.mysql; elsewhere claim over "
     "HTTP, or let semel run call the consumer, by the http or the exec handler.",
     "store: { postgres: postgresql://localhost/bank }", 78},
    {"R280", "the command cannot be run",
     "An exec handler runs a program for each message. At the start this one was not found, is no "
     "file that can be run, or this user may not run it. No message was begun.",
     "Check handler.exec.command. A program without a slash is looked up in PATH; a relative path "
     "starts at the config's folder; no shell splits words.",
     "handler: { exec: { command: [/usr/local/bin/thumb, --stdin] } }", 78},
    {"R281", "the system gives no means to run commands",
     "There were no descriptors or threads left for what watches over commands, or the program "
     "around it ignores SIGCHLD, so that nobody would learn how a command ended.",
     "Raise the limits (ulimit -n, ulimit -u; LimitNOFILE= in a unit). In a C++ program: leave "
     "SIGCHLD at its default.",
     "ulimit -n 65536", 69},
    {"R282", "a statement that does not fit the handler",
     "A placeholder has no name, or names a param that is not there, or there is no statement at "
     "all.",
     "Give every :name a member in params.", "params: { id: json:/id }", 78},
    {"R290", "semel tap cannot watch this run",
     "Each run has a socket at which semel tap finds it: beside the store's database, or, where "
     "that is on a server, in /tmp/semel-<user id>, which nobody else may enter. It could not be "
     "made; the system's own words stand in the message. The run itself goes on as ever.",
     "Let this user write the database's folder, and keep the database's name short; or remove a "
     "/tmp/semel-<user id> that is not the user's own.",
     "", 69},
    {"R291", "the run to watch belongs to another user",
     "What semel tap shows has payloads in it, so a run is watched by its own user only (and by "
     "root).",
     "Run semel tap as the user who runs semel run.", "sudo -u semel semel tap orders", 77},
    {"R292", "the run cannot be watched",
     "It is of another version than this semel, or has as many taps as it takes. The run itself is "
     "not affected.",
     "Use the semel that runs it, and end other taps of that run.", "semel version", 69},
    {"R293", "a run on the memory store cannot be watched",
     "Runs are found by their database. The memory store has none: it lives and dies with the "
     "process that runs it.",
     "Use another store. A run reports its own deliveries on its stdout.", "semel run -v", 69},
};

}  // namespace

std::span<const CodePage> runtime_codes() noexcept { return kRuntimePages; }

}  // namespace semel::config::catalog
