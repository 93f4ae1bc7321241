// A store over a connection that the caller lends, inside the caller's own transaction.
#include <fmt/format.h>
#include <libpq-fe.h>

#include <utility>

#include <semel/postgres.h>

#include "stores/postgres/schema.h"
#include "stores/postgres/store_context.h"
#include "stores/sql/server_store.h"

namespace semel::postgres {
namespace {

// With another client encoding the server would convert text. SQL_ASCII converts nothing, which is
// right only where the database has it too.
void need_utf8(PGconn* connection) {
  const std::string_view client = pg_encoding_to_char(PQclientEncoding(connection));
  const char* const known = PQparameterStatus(connection, "server_encoding");
  const std::string_view server = known != nullptr ? known : "";
  constexpr std::string_view kUtf8 = "UTF8";
  constexpr std::string_view kNone = "SQL_ASCII";
  if (client == kUtf8 || (client == kNone && (server == kNone || server == kUtf8))) return;
  sql::fail({ErrorKind::kRejected, "R208", fmt::format("the connection speaks {}", client),
             "PQsetClientEncoding(connection, \"UTF8\") before it is borrowed"});
}

class BorrowedStore final : public sql::BorrowedServerStore<StoreContext> {
 public:
  BorrowedStore(PGconn* connection, const PostgresBorrow& options)
      : BorrowedServerStore(kPostgresTraits, "open the database with open_postgres", connection,
                            options.schema, options.prepare_statements),
        connection_(connection) {}

 protected:
  Result<void> may_begin(const UnitOptions&) override {
    if (PQtransactionStatus(connection_) == PQTRANS_INTRANS) return {};
    const bool failed = PQtransactionStatus(connection_) == PQTRANS_INERROR;
    return failure({ErrorKind::kRejected, "R208",
                    failed ? "the transaction that is open on the connection has failed"
                           : "no transaction is open on the connection",
                    "say BEGIN first, then COMMIT when the work is done"});
  }

 private:
  PGconn* connection_;
};

}  // namespace
}  // namespace semel::postgres

namespace semel {

Result<std::unique_ptr<Store>> borrow_postgres(PGconn* connection, PostgresBorrow options) {
  return sql::contained([&]() -> std::unique_ptr<Store> {
    if (connection == nullptr || PQstatus(connection) != CONNECTION_OK) {
      sql::fail({ErrorKind::kRejected, "R208", "no open connection was given", "open it first"});
    }
    postgres::need_utf8(connection);
    if (options.create_tables) {
      postgres::make_schema(connection, options.schema);
    } else {
      postgres::need_schema(connection, options.schema);
    }
    return std::make_unique<postgres::BorrowedStore>(connection, options);
  });
}

}  // namespace semel
