// by-hand [KEY]: applies the payments of payments.jsonl to the table account. With a KEY the
// process is killed at the worst moment: that payment has its effect, and nothing remembers it yet.
#include <signal.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "database.h"

int main(int argc, char** argv) {
  const std::string killed_at = argc > 1 ? argv[1] : "";
  Database bank("bank.db");
  std::ifstream payments("payments.jsonl");
  for (std::string payment; std::getline(payments, payment);) {
    const std::string id = bank.run("SELECT json_extract(?1, '$.id')", payment);
    if (bank.run("SELECT 'yes' FROM processed_messages WHERE id = json_extract(?1, '$.id')",
                 payment) == "yes") {
      std::printf("%s: seen before\n", id.c_str());
      continue;
    }
    bank.run(
        "UPDATE account SET balance = balance + json_extract(?1, '$.amount') "
        "WHERE id = json_extract(?1, '$.account')",
        payment);
    if (id == killed_at) raise(SIGKILL);
    bank.run("INSERT INTO processed_messages VALUES (json_extract(?1, '$.id'))", payment);
    std::printf("%s: paid\n", id.c_str());
  }
}
