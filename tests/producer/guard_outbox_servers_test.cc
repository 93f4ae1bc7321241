// Messages sent under a Guard, in a transaction of the caller's own on a database server.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <libpq-fe.h>
#include <mysql.h>

#include <functional>
#include <memory>

#include <semel/guard.h>
#include <semel/mysql.h>
#include <semel/postgres.h>

#include "tests/producer/consumption.h"
#include "tests/support/mysql_servers.h"
#include "tests/support/postgres_server.h"
#include "tests/support/temp_dir.h"

namespace semel::test {
namespace {

using Sql = std::function<void(const char* text)>;

std::string mails_config(const std::string& store) {
  return fmt::format(
      "version: 1\nstore: {}\nconsumers:\n  - name: mails\n    source: {{ queue: {{}} }}\n"
      "    key: json:/id\n    strategy: state_machine\n    handler: {{ native: mails }}\n",
      store);
}

// `store`: over the connection on which `sql` runs. One mail is undone, one leaves, once.
void send_in_own_transactions(Store& store, const std::string& config, const Sql& sql) {
  const auto queues = queues_of(store, config);
  ASSERT_TRUE(queues) << queues.error().message;
  Guard guard(store, {.consumer = "payments", .receivers = *queues});
  const auto mail_for = [&](const char* key, const char* end) {
    sql("BEGIN");
    const auto outcome = guard.run_once(key, fingerprint_of(key), [](Transaction& tx) {
      OutgoingMessage mail;
      mail.payload = "{}";
      tx.publish("mails", mail);
    });
    sql(end);
    EXPECT_TRUE(outcome) << outcome.error().message;
    return outcome ? outcome->kind : Outcome::Kind::kDead;
  };
  EXPECT_EQ(mail_for("p-1", "ROLLBACK"), Outcome::Kind::kDone);
  EXPECT_EQ(mail_for("p-2", "COMMIT"), Outcome::Kind::kDone);
  EXPECT_EQ(mail_for("p-2", "COMMIT"), Outcome::Kind::kDuplicate);
}

void expect_one_mail(const std::string& config) {
  const Consumption seen = consume_config(config, "mails");
  EXPECT_EQ(seen.exit_code, 0) << seen.complaints;
  EXPECT_EQ(seen.effects, (std::map<std::string, int>{{"payments/p-2", 1}}));
}

TEST(GuardOutboxOnServers, OnAPostgresConnectionTheCallersCommitDecides) {
  const auto& server = PostgresServer::shared();
  const std::string url = server.url(server.new_database());
  const TempDir folder;
  const std::string config = folder.file("semel.yaml");
  write_file(config, mails_config(fmt::format("{{ postgres: \"{}\" }}", url)));
  {
    const std::unique_ptr<PGconn, decltype(&PQfinish)> connection(PQconnectdb(url.c_str()),
                                                                  &PQfinish);
    auto store = borrow_postgres(connection.get(), {.create_tables = true});
    ASSERT_TRUE(store) << store.error().message;
    send_in_own_transactions(**store, config, [&](const char* text) {
      const std::unique_ptr<PGresult, decltype(&PQclear)> answer(PQexec(connection.get(), text),
                                                                 &PQclear);
      ASSERT_EQ(PQresultStatus(answer.get()), PGRES_COMMAND_OK) << text;
    });
  }
  expect_one_mail(config);
}

TEST(GuardOutboxOnServers, OnAMariaDbConnectionTheCallersCommitDecides) {
  const auto& server = MariaDbServer::shared();
  const std::string database = server.new_database();
  const TempDir folder;
  const std::string config = folder.file("semel.yaml");
  write_file(config, mails_config(fmt::format("{{ mysql: \"{}\" }}", server.url(database))));
  {
    const std::unique_ptr<MYSQL, decltype(&mysql_close)> connection(mysql_init(nullptr),
                                                                    &mysql_close);
    ASSERT_NE(mysql_real_connect(connection.get(), nullptr, "root", "", database.c_str(), 0,
                                 server.socket().c_str(), 0),
              nullptr)
        << mysql_error(connection.get());
    auto store = borrow_mysql(connection.get(), {.create_tables = true});
    ASSERT_TRUE(store) << store.error().message;
    send_in_own_transactions(**store, config, [&](const char* text) {
      ASSERT_EQ(mysql_query(connection.get(), text), 0) << mysql_error(connection.get());
    });
  }
  expect_one_mail(config);
}

}  // namespace
}  // namespace semel::test
