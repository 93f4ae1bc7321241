#include <semel/guard.h>
#include <semel/runner.h>
#include <semel/sqlite.h>

#include <csignal>
#include <cstdio>
#include <string>
#include <string_view>

#include "spool_source.h"

int main(int argc, char** argv) {
  const std::string_view dies_at = argc > 1 ? argv[1] : "";
  auto store = semel::open_sqlite({.path = "bank.db"});
  if (!store) return std::fprintf(stderr, "%s\n", store.error().message.c_str()), 1;
  {
    // The host's own use of its store, beside the runner's.
    semel::Guard guard(**store, {.consumer = "fees"});
    auto fee = guard.run_once("2026-11", semel::fingerprint_of("1"), [](semel::Transaction& tx) {
      tx.exec("UPDATE account SET balance = balance - 1 WHERE id = 1");
    });
    if (!fee) return std::fprintf(stderr, "%s\n", fee.error().message.c_str()), 1;
  }
  semel::Runner runner(**store);
  runner.add({
      .name = "payments",
      .source = from_spool("spool"),
      .key = {"json:/id"},
      .handler =
          [&](const semel::Message& m, semel::Transaction& tx) {
            tx.exec("UPDATE account SET balance = balance + ? WHERE id = 1",
                    m.json<int>("/amount"));
            if (m.key().text == dies_at) std::raise(SIGKILL);
            return semel::done();
          },
  });
  return runner.once().run();
}
