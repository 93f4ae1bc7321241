// Sources, workers, retries, dead letters and drain are Semel's; the handler is yours.
#include <semel/semel.h>

#include <cstdio>

int main(int argc, char** argv) {
  try {
    auto runner = semel::Runner::from_file(argc > 1 ? argv[1] : "semel.yaml");
    runner.on("payments", [](const semel::Message& m, semel::Transaction& tx) -> semel::Verdict {
      if (m.json<int>("/amount") <= 0) return semel::dead("an amount must be positive");
      tx.exec("UPDATE account SET balance = balance + ? WHERE id = ?", m.json<int>("/amount"),
              m.json<int>("/account"))
          .expect_rows(1, semel::dead("no such account"));
      return semel::done();  // or semel::retry("why"), semel::dead("why"), semel::discard("why")
    });
    runner.once(argc > 2);  // ./runner-native semel.yaml --once
    return runner.run();    // drains on SIGTERM
  } catch (const semel::SemelError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 78;
  }
}
