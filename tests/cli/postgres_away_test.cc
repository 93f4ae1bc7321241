// A server of its own, that goes away and comes back.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <string>
#include <thread>

#include "tests/cli/payments.h"
#include "tests/cli/postgres_scene.h"

namespace semel::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class PostgresAwayTest : public ::testing::Test {
 protected:
  PostgresAwayTest() : server_(PostgresServer::fast()), scene_(payments(kQueue), server_) {}

  bool comes_to(std::int64_t sum) const {
    return comes_true([&] { return scene_.sum() >= sum; });
  }
  // In the way of the server's own administrator.
  void ask_for_passwords(const std::string& user) const {
    const std::string lines = fmt::format(
        "host all {} 127.0.0.1/32 scram-sha-256\\nhost all all 127.0.0.1/32 trust\\nlocal all all "
        "trust",
        user);
    const std::string file = server_.query("postgres", "SHOW hba_file");
    server_.query("postgres", fmt::format("COPY (SELECT line FROM unnest(string_to_array(E'{}', "
                                          "E'\\n')) AS line) TO '{}'",
                                          lines, file));
    server_.query("postgres", "SELECT pg_reload_conf()");
  }

  PostgresServer server_;
  PostgresScene scene_;
};

TEST_F(PostgresAwayTest, ARunSaysItOnceGoesOnAndLosesNothing) {
  const Payments made = make_payments(4'000, 0, 7);
  const Ran sent = scene_.semel({"send", "payments", "-"}, {.input = made.lines});
  ASSERT_EQ(sent.code, 0) << sent.err;
  Program runner({"run", scene_.config(), "-o", "none"});
  for (int times = 1; times <= 2; ++times) {
    ASSERT_TRUE(comes_to(scene_.sum() + made.sum / 10));
    times == 1 ? server_.stop() : server_.kill();
    EXPECT_TRUE(comes_true([&] {
      return count_of(runner.err(), "payments: store: error") == static_cast<std::size_t>(times);
    })) << runner.err();
    // Long enough for it to be told again and again, if that were how it is.
    std::this_thread::sleep_for(seconds(1));
    server_.start();
  }
  EXPECT_TRUE(comes_to(made.sum)) << runner.err();
  runner.signal(SIGTERM);
  const Ran ran = runner.wait();
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(scene_.sum(), made.sum);
  EXPECT_EQ(count_of(ran.err, "works again"), 2U) << ran.err;
  EXPECT_EQ(count_of(ran.err, "PostgreSQL server"), 2U) << ran.err;
}

TEST_F(PostgresAwayTest, AtTheStartItIsUnavailableAndAWrongPasswordIsForAPersonToMend) {
  server_.query("postgres", "CREATE USER ann PASSWORD 'right' SUPERUSER");
  ask_for_passwords("ann");
  const auto as = [&](const std::string& password) {
    return fmt::format("postgresql://ann{}@127.0.0.1:{}/{}", password, server_.port(),
                       scene_.database());
  };
  EXPECT_EQ(scene_.semel_at(as(":right"), {"run", "--once", "-q"}).code, 0);
  for (const char* password : {":hunter2", ""}) {
    const Ran ran = scene_.semel_at(as(password), {"run", "--once"});
    EXPECT_EQ(ran.code, 78) << ran.err;
    EXPECT_NE(ran.err.find("error[R251]"), std::string::npos) << ran.err;
    EXPECT_EQ(ran.err.find("hunter2"), std::string::npos) << ran.err;
  }
  server_.stop();
  const Ran down = scene_.semel({"run", "--once"});
  EXPECT_EQ(down.code, 69) << down.err;
  EXPECT_NE(down.err.find("error[R250]"), std::string::npos) << down.err;
}

}  // namespace
}  // namespace semel::test
