// A database server of its own, killed while a step of a message is in hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "tests/cli/server_test_bed.h"
#include "tests/cli/steps_test_bed.h"

namespace semel::test {
namespace {

// More requests than come: what waits for them waits for release().
constexpr std::size_t kUntilReleased = 1'000;

class ServerKilledInAStep : public testing::TestWithParam<ServerKind> {
 protected:
  void SetUp() override {
    service_.server().on("/charge", [](const HttpRequest&, std::size_t) {
      HttpReply charged = reply(200, "charged");
      charged.after_requests = kUntilReleased;
      return charged;
    });
    bed_.sql(kOrdersTable);
    bed_.send();
    runner_ = bed_.start();
    EXPECT_TRUE(service_.server().wait_requests(2)) << runner_->err();
  }
  bool completes() const {
    return comes_true([&] { return bed_.record("state") == "completed"; },
                      std::chrono::seconds(60));
  }
  void expect_locked_once_and_paid() {
    EXPECT_TRUE(completes()) << bed_.record("state") << runner_->err();
    runner_->signal(SIGTERM);
    const Ran ran = runner_->wait();
    EXPECT_EQ(ran.code, 0) << ran.err;
    const auto calls = service_.calls();
    EXPECT_EQ(std::ranges::count(calls, "/lock o-1/lock_stock"), 1) << "it was done, and is kept";
    const auto charges = std::ranges::count(calls, "/charge o-1/charge");
    EXPECT_GE(charges, 1);
    EXPECT_EQ(static_cast<std::size_t>(charges) + 1, calls.size())
        << "the one in hand, under its key, and nothing else";
    EXPECT_EQ(bed_.number("SELECT count(*) FROM orders WHERE status = 'PAID'"), 1);
    EXPECT_EQ(bed_.record("result"), "charged");
  }

  const std::unique_ptr<DatabaseServer> server_ = GetParam().own();
  StepsService service_;
  const StepsTestBedOn<ServerTestBed> bed_{
      GetParam(), service_.consumer() + std::string(kStepsApply), *server_};
  std::unique_ptr<Program> runner_;
};

TEST_P(ServerKilledInAStep, ItsAnswerComesWhenTheServerIsBack) {
  server_->kill();
  server_->start();
  service_.server().release();
  expect_locked_once_and_paid();
}

TEST_P(ServerKilledInAStep, ItsAnswerComesWhileTheServerIsAway) {
  server_->kill();
  service_.server().release();
  EXPECT_TRUE(tells(*runner_, "payments: store: error")) << runner_->err();
  server_->start();
  expect_locked_once_and_paid();
}

TEST_P(ServerKilledInAStep, TheRunIsKilledToo) {
  server_->kill();
  runner_->signal(SIGKILL);
  EXPECT_EQ(runner_->wait().signal, SIGKILL);
  service_.server().release();
  server_->start();
  runner_ = bed_.start();
  expect_locked_once_and_paid();
}

INSTANTIATE_TEST_SUITE_P(Servers, ServerKilledInAStep, testing::ValuesIn(server_kinds()),
                         [](const auto& info) { return name_of_kind(info.param); });

}  // namespace
}  // namespace semel::test
