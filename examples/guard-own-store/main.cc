// Semel's own store, and work whose statements commit together with the record.
#include <semel/semel.h>

#include <cstdio>
#include <string>

struct Payment {
  std::string key;
  int amount;
};

int main() {
  auto store = semel::open_sqlite({.path = "bank.db"}).value();
  semel::Guard guard(*store, {.consumer = "payments"});
  for (const Payment& p : {Payment{"p-1", 5}, {"p-1", 5}, {"p-2", 7}, {"p-1", 500}}) {
    auto outcome = guard.run_once(
        p.key, semel::fingerprint_of(std::to_string(p.amount)), [&](semel::Transaction& tx) {
          tx.exec("UPDATE account SET balance = balance + ? WHERE id = ?", p.amount, 1)
              .expect_rows(1, semel::dead("no such account"));
          return semel::done("receipt of " + p.key);
        });
    if (!outcome) return std::fprintf(stderr, "%s\n", outcome.error().message.c_str()), 1;
    std::printf("%s %3d: %s \"%s\"\n", p.key.c_str(), p.amount, semel::to_string(outcome->kind),
                outcome->result.c_str());
  }
}
