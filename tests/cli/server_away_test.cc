// A server of its own, that goes away and comes back.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <memory>
#include <string>

#include "tests/cli/server_test_bed.h"
#include "tests/support/postgres_server.h"

namespace semel::test {
namespace {

using std::chrono::seconds;

class ServerAway : public ::testing::TestWithParam<ServerKind> {
 protected:
  // So many payments of 1, none of which was sent before.
  void send(int count) {
    std::string lines;
    for (const int end = sent_ + count; sent_ < end; ++sent_) {
      lines += payment(fmt::format("p-{}", sent_), 1 + sent_ % 100, 1);
    }
    const Ran ran = bed_.semel({"send", "payments", "-"}, {.input = lines});
    ASSERT_EQ(ran.code, 0) << ran.err;
  }

  static constexpr int kTimes = 3;
  int sent_ = 0;
  const std::unique_ptr<DatabaseServer> server_ = GetParam().own();
  const ServerTestBed bed_{GetParam(), payments(kQueue), *server_};
};

TEST_P(ServerAway, ARunSaysItOnceGoesOnAndLosesNothing) {
  Program runner({"run", bed_.config(), "-o", "none"});
  for (int times = 1; times <= 2; ++times) {
    const std::int64_t before = bed_.sum();
    send(2'000);
    ASSERT_TRUE(comes_true([&] { return bed_.sum() > before; })) << runner.err();
    // A commit is seen before its run knows of it.
    ASSERT_TRUE(comes_true([&] {
      return count_of(runner.err(), "works again") == static_cast<std::size_t>(times - 1);
    })) << runner.err();
    times == 1 ? server_->stop() : server_->kill();
    EXPECT_TRUE(comes_true([&] {
      return count_of(runner.err(), "payments: store: error[R250]") ==
             static_cast<std::size_t>(times);
    })) << runner.err();
    // It asks again and again, and says no more of it.
    EXPECT_TRUE(turn_away(server_->port(), kTimes));
    server_->start();
  }
  EXPECT_TRUE(comes_true([&] { return bed_.sum() >= sent_; }, seconds(120))) << runner.err();
  runner.signal(SIGTERM);
  const Ran ran = runner.wait();
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(bed_.sum(), sent_);
  EXPECT_EQ(count_of(ran.err, "works again"), 2U) << ran.err;
  EXPECT_EQ(count_of(ran.err, GetParam().called), 2U) << ran.err;
  server_->stop();
  const Ran down = bed_.semel({"run", "--once"});
  EXPECT_EQ(down.code, 69) << down.err;
  EXPECT_NE(down.err.find("error[R250]"), std::string::npos) << down.err;
}

INSTANTIATE_TEST_SUITE_P(Servers, ServerAway, ::testing::ValuesIn(server_kinds()),
                         [](const auto& info) { return name_of_kind(info.param); });

// A server that asks for passwords, in the way of its own administrator.
TEST(PostgresLogin, AWrongPasswordIsForAPersonToMend) {
  const PostgresServer server(PostgresServer::fast());
  const ServerTestBed bed(kPostgres, payments(kQueue), server);
  server.query("postgres", "CREATE USER ann PASSWORD 'right' SUPERUSER");
  const std::string file = server.query("postgres", "SHOW hba_file");
  server.query("postgres",
               fmt::format("COPY (SELECT unnest(ARRAY["
                           "'host all ann 127.0.0.1/32 scram-sha-256', "
                           "'host all all 127.0.0.1/32 trust', 'local all all trust'])) TO '{}'",
                           file));
  server.query("postgres", "SELECT pg_reload_conf()");
  EXPECT_EQ(bed.semel_at(bed.url_of("ann:right"), {"run", "--once", "-q"}).code, 0);
  for (const char* user : {"ann:hunter2", "ann"}) {
    const Ran ran = bed.semel_at(bed.url_of(user), {"run", "--once"});
    EXPECT_EQ(ran.code, 78) << ran.err;
    EXPECT_NE(ran.err.find("error[R251]"), std::string::npos) << ran.err;
    EXPECT_EQ(ran.err.find("hunter2"), std::string::npos) << ran.err;
  }
}

}  // namespace
}  // namespace semel::test
