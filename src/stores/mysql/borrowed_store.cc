// A store over a connection that the caller lends, inside the caller's own transaction.
#include <mysql.h>

#include <utility>

#include <semel/mysql.h>

#include "stores/mysql/schema.h"
#include "stores/mysql/store_context.h"
#include "stores/sql/server_store.h"

namespace semel::mysql {
namespace {

class BorrowedStore final : public sql::BorrowedServerStore<StoreContext> {
 public:
  explicit BorrowedStore(MYSQL* connection)
      : BorrowedServerStore(kMySqlTraits, "open the database with open_mysql", connection) {}

 protected:
  Result<void> may_begin(const UnitOptions& options) override {
    // A read-only unit begins a transaction of its own, and so would commit the caller's.
    if (options.only_looks) return failure(refusal());
    // The caller may have rolled back what was read last, unnoticed: it is read again.
    context().generations.forget();
    return {};
  }
};

// Where autocommit is off, reading has begun a transaction.
void leave(Wire& wire) {
  if (!wire.in_transaction()) return;
  wire.send("COMMIT AND NO CHAIN NO RELEASE");
  const Answers answers = wire.run(Loss::kInDoubt);
  if (answers.refused) throw wire.told(*answers.refused);
}

void prepare(MYSQL* connection, bool create_tables) {
  Wire wire(connection);
  const bool inside = wire.in_transaction();
  if (create_tables && inside) {
    sql::fail({ErrorKind::kRejected, "R208",
               "a transaction is open on the connection: to make tables would commit it",
               "let borrow_mysql make them before it begins, or run semel store init"});
  }
  if (create_tables) {
    make_schema(wire);
  } else {
    need_schema(wire, "semel store init, or create_tables");
  }
  if (!inside) leave(wire);
}

}  // namespace
}  // namespace semel::mysql

namespace semel {

Result<std::unique_ptr<Store>> borrow_mysql(MYSQL* connection, MySqlBorrow options) {
  return sql::contained([&]() -> std::unique_ptr<Store> {
    if (connection == nullptr || mysql_get_socket(connection) == MARIADB_INVALID_SOCKET) {
      sql::fail({ErrorKind::kRejected, "R208", "no open connection was given", "open it first"});
    }
    mysql::prepare(connection, options.create_tables);
    return std::make_unique<mysql::BorrowedStore>(connection);
  });
}

}  // namespace semel
