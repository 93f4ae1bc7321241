// A store over a connection that the caller lends, inside the caller's own transaction.
#include <fmt/format.h>
#include <libpq-fe.h>

#include <utility>

#include <semel/postgres.h>

#include "stores/postgres/error_table.h"
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
             "PQsetClientEncoding(connection, \"UTF8\"), and leave it so"});
}

[[noreturn]] void refuse_use(const char* what, const char* hint) {
  sql::fail({ErrorKind::kRejected, "R208", what, hint});
}

// Asks libpq alone, not the server.
void need_open_transaction(PGconn* connection) {
  if (PQstatus(connection) == CONNECTION_BAD) sql::fail(borrowed_lost(PQerrorMessage(connection)));
  if (PQpipelineStatus(connection) != PQ_PIPELINE_OFF) {
    refuse_use("the connection is in pipeline mode", "read all results, and PQexitPipelineMode");
  }
  switch (PQtransactionStatus(connection)) {
    case PQTRANS_INTRANS:
      return need_utf8(connection);
    case PQTRANS_INERROR:
      refuse_use("the transaction that is open on the connection has failed",
                 "ROLLBACK, then begin it again with all that it did");
    case PQTRANS_ACTIVE:
      refuse_use("the connection is in use by another command", "read all its results first");
    default:
      refuse_use("no transaction is open on the connection",
                 "say BEGIN first, then COMMIT when the work is done");
  }
}

class BorrowedStore final : public sql::BorrowedServerStore<StoreContext> {
 public:
  BorrowedStore(PGconn* connection, const PostgresBorrow& options)
      : BorrowedServerStore(kPostgresTraits, "open the database with open_postgres", connection,
                            options.schema, options.prepare_statements),
        connection_(connection) {}

 protected:
  Result<void> may_begin(const UnitOptions&) override {
    return sql::contained([this] { need_open_transaction(connection_); });
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
      sql::fail(postgres::not_open(connection == nullptr ? "" : PQerrorMessage(connection)));
    }
    postgres::need_utf8(connection);
    if (options.create_tables) {
      postgres::make_schema(connection, options.schema);
    } else {
      postgres::need_schema(connection, options.schema, "semel store init, or create_tables");
    }
    return std::make_unique<postgres::BorrowedStore>(connection, options);
  });
}

}  // namespace semel
