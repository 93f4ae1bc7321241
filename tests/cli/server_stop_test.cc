// SIGTERM while a run waits for a session that nobody gives it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <string>

#include "tests/cli/server_test_bed.h"
#include "tests/support/tcp_proxy.h"

namespace semel::test {
namespace {

using std::chrono::seconds;

// How long it would wait for a session, and what is far less.
constexpr int kTimeout = 3'000;
constexpr seconds kSoon{60};

class ServerStop : public ::testing::TestWithParam<ServerKind> {
 protected:
  bool postgres() const { return GetParam().name == kPostgres.name; }
  std::string set_url() const {
    std::string url = bed_.url();
    url.replace(url.rfind(':'), url.rfind('/') - url.rfind(':'), fmt::format(":{}", proxy_.port()));
    return fmt::format("store.{}.url={}?{}={}", GetParam().store, url,
                       postgres() ? "connect_timeout" : "connect-timeout", kTimeout);
  }
  // A pooler that accepts whoever comes, and has a session for nobody.
  TcpProxy::FaultId silence() {
    return proxy_.inject({.text = postgres() ? "SET lock_timeout" : "SET SESSION sql_mode",
                          .then = TcpProxy::Then::kStall,
                          .times = 10'000});
  }
  Words words() const { return {"run", "-c", bed_.config(), "--set", set_url(), "-o", "none"}; }

  const ServerTestBed bed_{GetParam(), payments(kQueue)};
  TcpProxy proxy_{bed_.server().port()};
};

TEST_P(ServerStop, ItIsHeardAtTheStart) {
  const auto silent = silence();
  Program runner(words());
  ASSERT_TRUE(proxy_.wait_fired(silent)) << runner.err();
  runner.signal(SIGTERM);
  const Ran ran = runner.wait(kSoon);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.err.find("stopped before"), std::string::npos) << ran.err;
}

TEST_P(ServerStop, ItIsHeardWhileItRuns) {
  Program runner(words());
  ASSERT_EQ(bed_.semel({"send", "payments", "-"}, {.input = payment("p-1", 1, 1)}).code, 0);
  ASSERT_TRUE(comes_true([&] { return bed_.sum() == 1; })) << runner.err();
  const auto silent = silence();
  proxy_.cut_all();
  ASSERT_TRUE(proxy_.wait_fired(silent)) << runner.err();
  runner.signal(SIGTERM);
  const Ran ran = runner.wait(kSoon);
  EXPECT_EQ(ran.signal, 0) << ran.err;
  EXPECT_EQ(ran.code, 0) << ran.err;
}

INSTANTIATE_TEST_SUITE_P(Servers, ServerStop, ::testing::ValuesIn(server_kinds()),
                         [](const auto& info) { return name_of_kind(info.param); });

}  // namespace
}  // namespace semel::test
