// A store over a connection that the caller lends, inside the caller's own transaction.
#include <fmt/format.h>
#include <sqlite3.h>

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include <semel/sqlite.h>

#include "stores/sql/borrowed_store.h"
#include "stores/sqlite/schema.h"
#include "stores/sqlite/store.h"
#include "stores/sqlite/unit_of_work.h"

namespace semel::sqlite {
namespace {

using std::chrono::milliseconds;

// However full a generation is, none is sealed here: that does not belong in the caller's
// transaction.
constexpr std::size_t kNeverRolls = std::size_t{1} << 62U;

// Each unit has its own: work may begin another one, and what the outer unit has claimed stays.
// They are used again, for their statements are prepared.
struct UnitParts {
  UnitParts(Connection& connection, Tables& tables) : claims(tables), statements(connection) {}

  UnitClaims claims;
  StatementRun statements;
};

struct Borrowed {
  Borrowed(sqlite3* handle, std::shared_ptr<StoreClock> the_clock)
      : environment(system_environment()),
        clock(the_clock ? std::move(the_clock) : std::make_shared<SystemStoreClock>(environment)),
        connection(handle),
        tables(connection, kNeverRolls),
        add_consumer(connection,
                     "INSERT INTO semel_consumer (number, name, recipe_hash, ttl) "
                     "VALUES (?1, ?2, ?3, ?4) ON CONFLICT (number) DO NOTHING") {}

  Environment& environment;
  std::shared_ptr<StoreClock> clock;
  Connection connection;
  Tables tables;
  Prepared add_consumer;
  std::vector<std::unique_ptr<UnitParts>> idle;
  std::size_t units = 0;  // most that were open at once; `idle` has room for them
};

class BorrowedSession final : public UnitSession {
 public:
  explicit BorrowedSession(Borrowed& lent) : lent_(lent), parts_(parts_from(lent)) {
    lent_.connection.execute("SAVEPOINT semel_unit");
    try {
      // It is unknown whether the caller committed what was read last, so it is read again.
      lent_.tables.generations.distrust();
      lent_.tables.ttls.forget();
      lent_.tables.begin();
    } catch (...) {
      roll_back();
      lent_.idle.push_back(std::move(parts_));
      throw;
    }
  }
  // There is room for the parts, so that this does not throw.
  ~BorrowedSession() override {
    BorrowedSession::roll_back();
    lent_.idle.push_back(std::move(parts_));
  }

  UnitClaims& claims() noexcept override { return parts_->claims; }
  StatementRun& statements() noexcept override { return parts_->statements; }
  Tables& tables() noexcept override { return lent_.tables; }
  Environment& environment() noexcept override { return lent_.environment; }
  StoreTime now() noexcept override { return lent_.clock->now(); }
  void commit() override {
    need_transaction();
    lent_.connection.execute("RELEASE semel_unit");
    open_ = false;
  }
  void undo_all() override {
    need_transaction();
    lent_.connection.execute("ROLLBACK TO semel_unit");
  }
  void roll_back() noexcept override {
    if (!open_) return;
    open_ = false;
    // A statement may have ended the caller's transaction: then nothing is left to undo.
    if (!lent_.connection.in_transaction()) return;
    sqlite3_exec(lent_.connection.handle(), "ROLLBACK TO semel_unit; RELEASE semel_unit", nullptr,
                 nullptr, nullptr);
  }

 private:
  void need_transaction() const {
    if (lent_.connection.in_transaction()) return;
    fail({ErrorKind::kRejected, "R208",
          fmt::format("the transaction on {} was ended within the work", lent_.connection.path()),
          "neither COMMIT nor ROLLBACK in work, nor ON CONFLICT ROLLBACK in its tables; roll back, "
          "and handle the messages again"});
  }
  static std::unique_ptr<UnitParts> parts_from(Borrowed& lent) {
    if (lent.idle.empty()) {
      lent.idle.reserve(++lent.units);
      return std::make_unique<UnitParts>(lent.connection, lent.tables);
    }
    auto parts = std::move(lent.idle.back());
    lent.idle.pop_back();
    return parts;
  }

  Borrowed& lent_;
  std::unique_ptr<UnitParts> parts_;
  bool open_ = true;
};

class BorrowedStore final : public sql::BorrowedStore {
 public:
  BorrowedStore(sqlite3* handle, std::shared_ptr<StoreClock> clock)
      : sql::BorrowedStore(kSqliteTraits, "open the file with open_sqlite"),
        lent_(handle, std::move(clock)) {}

  void make_tables() {
    transact([&] { make_schema(lent_.connection, lent_.clock->now()); });
  }

  void check_tables() {
    const int version = schema_version(lent_.connection);
    refuse_newer(lent_.connection, version);
    if (version == kSchemaVersion) return;
    fail({ErrorKind::kRejected, "R207",
          fmt::format("{} has no tables of Semel, or older ones", lent_.connection.path()),
          "make them: semel store init, or create_tables"});
  }

  Result<ConsumerNumber> attach(const ConsumerSpec& spec) override {
    return contained([&] {
      auto row = lent_.tables.consumers.find(spec.name);
      if (row) Consumers::check_recipe(*row, spec);
      if (!row || !as_wanted(*row, spec)) {
        transact([&] {
          restore_numbers();
          row = attach_now(spec);
        });
      }
      const ConsumerNumber number = row->number;
      remember(*std::move(row));
      return number;
    });
  }

  Result<std::unique_ptr<UnitOfWork>> begin(const UnitOptions& options) override {
    return contained([&]() -> std::unique_ptr<UnitOfWork> {
      if (!lent_.connection.in_transaction()) {
        fail({ErrorKind::kRejected, "R208",
              fmt::format("no transaction is open on {}", lent_.connection.path()),
              "say BEGIN IMMEDIATE first, then COMMIT when the work is done; if you did, the work "
              "or ON CONFLICT ROLLBACK of a table ended it: handle the messages again"});
      }
      auto session = std::make_unique<BorrowedSession>(lent_);
      keep_numbers();
      return make_unit(std::move(session), options);
    });
  }

 private:
  // In the caller's transaction; where none is open, in one of its own.
  template <class Work>
  void transact(Work&& work) {
    const bool alone = !lent_.connection.in_transaction();
    if (alone) lent_.connection.execute("BEGIN IMMEDIATE");
    try {
      work();
      if (alone) lent_.connection.execute("COMMIT");
    } catch (...) {
      if (alone) lent_.connection.roll_back();
      throw;
    }
  }

  static bool as_wanted(const ConsumerRow& row, const ConsumerSpec& spec) {
    return row.recipe_hash == spec.recipe_hash && row.ttl == spec.ttl;
  }

  // Another process may have added the row, or changed it, since it was looked for.
  ConsumerRow attach_now(const ConsumerSpec& spec) {
    Consumers& consumers = lent_.tables.consumers;
    auto row = consumers.find(spec.name);
    if (!row) row = consumers.add(spec, {});
    Consumers::check_recipe(*row, spec);
    if (!as_wanted(*row, spec)) {
      // The caller's transaction may have changed the list since it was read.
      lent_.tables.generations.distrust();
      lent_.tables.begin();
      lent_.tables.change_consumer(*row, spec, lent_.clock->now());
      row->recipe_hash = spec.recipe_hash;
      row->ttl = spec.ttl;
    }
    return *std::move(row);
  }

  void remember(ConsumerRow row) {
    for (ConsumerRow& known : attached_) {
      if (known.name != row.name || known.number != row.number) continue;
      known = std::move(row);
      return;
    }
    attached_.push_back(std::move(row));
  }

  // Adds the consumer with its former number; false where another consumer has that now.
  bool add_as(const ConsumerRow& row) {
    lent_.add_consumer.bind(1, row.number)
        .bind_text(2, row.name)
        .bind_blob(3, row.recipe_hash)
        .bind(4, row.ttl);
    return lent_.add_consumer.change() > 0;
  }

  bool has_its_number(const ConsumerRow& known) {
    const auto row = lent_.tables.consumers.find(known.name);
    return row ? row->number == known.number : add_as(known);
  }

  // Before a consumer is added: it must not get the number of one that was attached in a
  // transaction that the caller rolled back, for whoever attached that one still goes by it.
  void restore_numbers() {
    for (const ConsumerRow& known : attached_) (void)has_its_number(known);
  }

  // A consumer may have been attached in a transaction that the caller rolled back. Its number is
  // given to the same name again, or else refused.
  void keep_numbers() {
    for (const ConsumerRow& known : attached_) {
      if (!has_its_number(known)) {
        fail({ErrorKind::kRejected, "R208",
              fmt::format("consumer \"{}\" was attached in a transaction that was rolled back",
                          known.name),
              "attach it again"});
      }
    }
  }

  Borrowed lent_;
  std::vector<ConsumerRow> attached_;
};

}  // namespace

Result<std::unique_ptr<Store>> borrow_store(sqlite3* connection, bool create_tables,
                                            std::shared_ptr<StoreClock> clock) {
  return contained([&]() -> std::unique_ptr<Store> {
    if (connection == nullptr) {
      fail({ErrorKind::kRejected, "R208", "no connection was given", "open it first"});
    }
    auto store = std::make_unique<BorrowedStore>(connection, std::move(clock));
    if (create_tables) {
      store->make_tables();
    } else {
      store->check_tables();
    }
    return store;
  });
}

}  // namespace semel::sqlite

namespace semel {

Result<std::unique_ptr<Store>> borrow_sqlite(sqlite3* connection, SqliteBorrow options) {
  return sqlite::borrow_store(connection, options.create_tables, nullptr);
}

}  // namespace semel
