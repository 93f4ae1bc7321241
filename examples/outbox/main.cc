// The order, the record of its message and the mail that follows commit together, or none of them.
#include <semel/semel.h>

#include <cstdio>
#include <string>

int main(int argc, char** argv) {
  try {
    auto runner = semel::Runner::from_file(argc > 1 ? argv[1] : "semel.yaml");
    runner.on("orders", [](const semel::Message& m, semel::Transaction& tx) -> semel::Verdict {
      const auto id = m.json<std::string>("/id");
      if (m.json<int>("/pieces") <= 0) return semel::dead("an order of nothing");
      tx.exec("INSERT INTO orders VALUES (?, ?)", id, m.json<int>("/pieces"));
      semel::OutgoingMessage mail;
      mail.payload = R"({"order":")" + id + R"(","text":"on its way"})";
      tx.publish("mails", std::move(mail));
      return semel::done();
    });
    runner.once(argc > 2);
    return runner.run();
  } catch (const semel::SemelError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 78;
  }
}
