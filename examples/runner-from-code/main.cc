#include <semel/runner.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

// Stands for the log of the host.
class HostLog final : public semel::Observer {
 public:
  void on_ended(std::string_view, const semel::Delivery& delivery, const semel::Outcome& outcome,
                std::chrono::nanoseconds) noexcept override {
    std::printf("%s: %s\n", delivery.message.key().text.c_str(), semel::to_string(outcome.kind));
  }
};

}  // namespace

int main() {
  HostLog log;
  semel::Runner runner(semel::SqliteOptions{.path = "bank.db"}, {{"drain_timeout", "5s"}});
  runner.add({
      .name = "payments",
      .source = semel::FromFile{"payments.jsonl"},
      .key = {"json:/id"},
      .strategy = "dedup_table",
      .handler =
          [](const semel::Message& m, semel::Transaction& tx) {
            if (m.json<int>("/amount") <= 0) return semel::dead("an amount must be positive");
            tx.exec("UPDATE account SET balance = balance + ? WHERE id = ?", m.json<int>("/amount"),
                    m.json<int>("/account"));
            return semel::done();
          },
      .settings = {{"order.key", "json:/account"}, {"retry.attempts", "3"}},
  });
  runner.observe(log).once();
  runner.signals(false).prints(false);  // the host has signals and a log of its own
  runner.on_hung([](std::string_view consumer, const semel::Error& error) {
    std::fprintf(stderr, "%s: %s\n", std::string(consumer).c_str(), error.message.c_str());
    std::quick_exit(70);
  });
  const int code = runner.run();
  if (runner.error()) std::printf("%s\n", runner.error()->message.c_str());
  return code;
}
