// The MariaDB and MySQL store: records beside the user's own tables, in the same database.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include <semel/environment.h>
#include <semel/result.h>
#include <semel/schema_change.h>
#include <semel/store.h>

namespace semel {

// MariaDB 10.6 and newer, MySQL 8.0 and newer; tables on InnoDB.
//
// Semel's sessions speak READ COMMITTED, count times in UTC and take SQL strictly: a value that
// does not fit is refused, and a backslash in a string is a backslash (NO_BACKSLASH_ESCAPES).
//
// Finished records are forgotten row by row, in small parts.
struct MySqlOptions {
  // mysql://user:password@host:port/database?name=value&… What is no letter or digit may be written
  // as %41. Semel's tables, whose names begin with semel_, stand in this database.
  //   socket=/path        connect there instead of host and port
  //   tls=off|on|verify   on: encrypted; verify: by a certificate that names the host as well
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
  Environment* environment = nullptr;  // null: system_environment()
};

// Opens the database. All facets are there; held messages have no descriptor to wait on. Errors:
// R259 the URL cannot be read, R250 cannot be reached, R251 login refused, R252 no such database,
// R253 rights missing, R254 no connection left, R203 read-only, R205 disk full, R207 tables missing
// and `create` is off, R210 schema newer than this library, R257 a proxy stands between that gives
// each transaction another session, R258 server too old.
Result<std::unique_ptr<Store>> open_mysql(MySqlOptions options);

// What open_mysql would do to the tables; it only looks. For who makes tables by their own hand.
// Errors: as there, but for R207.
Result<SchemaChange> mysql_schema_change(const MySqlOptions& options);

}  // namespace semel
