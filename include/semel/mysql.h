// The MariaDB and MySQL store: records next to the user's own tables, in the same database; and the
// caller's own connection as a store.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include <semel/environment.h>
#include <semel/result.h>
#include <semel/schema_change.h>
#include <semel/spi/store.h>

struct st_mysql;  // MYSQL

namespace semel {

// MariaDB 10.6 and newer, MySQL 8.0 and newer; tables on InnoDB.
//
// Semel's sessions run at READ COMMITTED, in UTC and in strict SQL mode: a value that does not fit
// is refused, and a backslash in a string is a backslash (NO_BACKSLASH_ESCAPES).
//
// Finished records are forgotten row by row, in small parts.
struct MySqlOptions {
  // mysql://user:password@host:port/database?name=value&… What is no letter or digit may be written
  // as %41. Semel's tables, whose names begin with semel_, stand in this database.
  //   socket=/path        connect there instead of host and port
  //   tls=off|on|verify   on: encrypted; verify: the certificate must also name the host
  //   tls-ca=, tls-cert=, tls-key=   files in PEM format; a CA means verify
  //   connect-timeout=    seconds
  std::string url;
  // Make tables where they are missing, and bring older ones up to date. False: a database without
  // them is refused with the command that makes them.
  bool create = true;
  // How long a statement waits for another transaction's lock before kBlocked. The server counts in
  // whole seconds, and one at least.
  std::chrono::milliseconds busy{5'000};
  // Idle connections that stay open. One more is open for as long as this process claims.
  std::size_t connections = 8;
  // A descriptor, such as an eventfd, that becomes readable when the process is to stop, and stays
  // readable: from then on no call waits long for the server. -1: none.
  int stop_fd = -1;
  Environment* environment = nullptr;  // null: system_environment()
};

inline constexpr StoreTraits kMySqlTraits{
    .name = "mysql", .durable = true, .decimals = true, .transactions = true};

// Opens the database. All facets are there; held messages have no descriptor to wait on. Errors:
// R259 the URL cannot be read, R250 cannot be reached, R251 login refused, R252 no such database,
// R253 rights missing, R254 no connection left, R203 read-only, R205 disk full, R207 tables missing
// and `create` is off, R210 schema newer than this library, R257 a proxy in between gives each
// transaction another session, or other servers of its cluster take writes too, R258 server too
// old.
Result<std::unique_ptr<Store>> open_mysql(MySqlOptions options);

struct MySqlBorrow {
  // Make tables where they are missing, outside of any transaction of the caller: making them would
  // commit it.
  bool create_tables = false;
};

// A store over the caller's connection (MariaDB Connector/C's), for Guard: begin sets a savepoint
// in the caller's open transaction, commit releases it, and the caller's COMMIT or ROLLBACK decides
// about record and work together. With autocommit=0 a transaction is always open: where no
// statement has begun one yet, begin does. The connection is borrowed: when a call begins, no
// result of the caller may be left unread, and the session's settings stay as they are: sql_mode,
// character set, time zone, isolation, lock wait timeout. Work that leaves a result unread ends the
// session: its statements can be neither recorded nor undone. Where sql_mode lacks
// NO_BACKSLASH_ESCAPES, a statement of a Transaction may hold a backslash in its values only.
// kRejected (R208) when a call finds no open transaction; when the server has rolled it back, as
// after a deadlock, so that nothing of it is left; or when the connection uses big5, cp932,
// gb18030, gbk or sjis. After a lock wait timeout the transaction continues, without the effects of
// the call. kUnavailable (R250) when the connection is lost. A consumer must be attached outside of
// a transaction, or in one that is committed. Only the transactional facet is there.
// LAST_INSERT_ID() does not outlive a call. One thread at a time, like the connection itself.
Result<std::unique_ptr<Store>> borrow_mysql(st_mysql* connection, MySqlBorrow options = {});

// Returns what open_mysql would change in the tables, and changes nothing. For people who run such
// SQL themselves. Errors: as open_mysql, except R207.
Result<SchemaChange> mysql_schema_change(const MySqlOptions& options);

// Makes the procedures by which a consumer in any language claims, in the database of the tables,
// or brings them up to date (docs/any-language-mysql.md). Makes the tables too where they are
// missing. Only their owner may call them until a user is granted EXECUTE; MySQL drops the grants
// on a procedure when it is replaced, MariaDB does not. Consumers have to be attached. Opening the
// store with `create` brings existing procedures up to date together with older tables. Errors: as
// open_mysql, R258 too where MariaDB is older than 10.10.
Result<void> make_mysql_functions(const MySqlOptions& options);
// Drops the procedures and the grants on them; records stay.
Result<void> drop_mysql_functions(const MySqlOptions& options);
// The SQL that these two would run on tables that are up to date, as a script for the servers'
// client. Contacts no server.
Result<std::string> mysql_functions_sql();
Result<std::string> mysql_functions_drop_sql();

}  // namespace semel
