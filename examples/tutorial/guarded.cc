// guarded [KEY]: the same consumer with a semel::Guard around its work. With a KEY the process is
// killed at the same moment.
#include <semel/semel.h>
#include <signal.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "database.h"

int main(int argc, char** argv) {
  const std::string killed_at = argc > 1 ? argv[1] : "";
  Database bank("bank.db");
  auto store = semel::borrow_sqlite(bank.connection(), {.create_tables = true}).value();
  semel::Guard guard(*store, {.consumer = "guarded"});
  std::ifstream payments("payments.jsonl");
  for (std::string payment; std::getline(payments, payment);) {
    const std::string id = bank.run("SELECT json_extract(?1, '$.id')", payment);
    bank.run("BEGIN IMMEDIATE");
    const auto outcome = guard.run_once(id, semel::fingerprint_of(payment), [&] {
      bank.run(
          "UPDATE account SET balance = balance + json_extract(?1, '$.amount') "
          "WHERE id = json_extract(?1, '$.account')",
          payment);
      if (id == killed_at) raise(SIGKILL);
    });
    bank.run(outcome ? "COMMIT" : "ROLLBACK");
    std::printf("%s: %s\n", id.c_str(),
                outcome ? semel::to_string(outcome->kind) : outcome.error().message.c_str());
  }
}
