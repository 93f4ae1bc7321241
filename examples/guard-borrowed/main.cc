// One call around the caller's own work, on the caller's own connection and transaction.
#include <semel/semel.h>
#include <sqlite3.h>

#include <cstdio>

int main() {
  sqlite3* db = nullptr;
  if (sqlite3_open("bank.db", &db) != SQLITE_OK) return 1;
  auto sql = [&](const char* text) { sqlite3_exec(db, text, nullptr, nullptr, nullptr); };
  {
    auto store = semel::borrow_sqlite(db, {.create_tables = true}).value();
    semel::Guard guard(*store, {.consumer = "payments"});
    const auto body = semel::fingerprint_of(R"({"id": "p-1", "account": 1, "amount": 5})");
    for (const char* ending : {"ROLLBACK", "COMMIT", "COMMIT"}) {
      sql("BEGIN IMMEDIATE");
      auto outcome = guard.run_once(
          "p-1", body, [&] { sql("UPDATE account SET balance = balance + 5 WHERE id = 1"); });
      if (!outcome) std::printf("%s\n", outcome.error().message.c_str());
      sql(outcome ? ending : "ROLLBACK");  // decides about the record and the balance together
      if (outcome) std::printf("%s, then %s\n", semel::to_string(outcome->kind), ending);
    }
  }
  return sqlite3_close(db);
}
