// A FIFO queue is read in the order of its groups, also where a message must wait for its next try.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <vector>

#include "tests/cli/sqs_test_bed.h"
#include "tests/support/tcp_proxy.h"

namespace semel::test {
namespace {

// The account that fails is not there; those that count from 1 to 100 are.
constexpr int kMissingAccount = 4711;
constexpr int kFifoRounds = 6;
constexpr int kFifoAccounts = 5;
constexpr std::chrono::seconds kLong{60};

class SqsOrder : public ::testing::TestWithParam<DatabaseKind> {
 protected:
  SqsOrder()
      : bed_(ElasticmqServer::shared(),
             {.database_kind = GetParam(),
              .fifo = true,
              .more = "    retry: { attempts: 1000, backoff: 300ms..300ms }\n"}) {}

  // In each round a message of every account, the missing one among them.
  void send_rounds() const {
    std::vector<ElasticmqServer::Post> posts;
    for (int round = 0; round < kFifoRounds; ++round) {
      for (int account = 0; account <= kFifoAccounts; ++account) {
        const std::string id = fmt::format("r{:03}-a{}", round, account);
        posts.push_back({.body = payment(id, account == 0 ? kMissingAccount : account, 1),
                         .group = std::to_string(account),
                         .deduplication = id});
      }
    }
    bed_.server().send(bed_.queue(), posts);
  }
  void expect_all_in_order() const {
    EXPECT_EQ(bed_.number("SELECT count(*) FROM effect"), kFifoRounds * (kFifoAccounts + 1));
    EXPECT_EQ(bed_.number("SELECT count(DISTINCT id) FROM effect"),
              kFifoRounds * (kFifoAccounts + 1));
    EXPECT_EQ(bed_.number("SELECT count(*) FROM effect e JOIN effect l ON l.place > e.place AND "
                          "substr(l.id, 6) = substr(e.id, 6) WHERE l.id < e.id"),
              0)
        << "out of order";
  }

  const SqsTestBed bed_;
};

TEST_P(SqsOrder, AGroupWhoseMessageFailsWaitsInTheStoreAndTheOthersGoOn) {
  send_rounds();
  Program runner({"run", bed_.config(), "-q"});
  EXPECT_TRUE(comes_true([&] { return bed_.sum() == kFifoRounds * kFifoAccounts; }))
      << runner.err();
  EXPECT_TRUE(comes_true([&] { return bed_.is_empty(); }))
      << "what waits is in the store, and holds no group at the server: " << runner.err();
  EXPECT_EQ(bed_.number("SELECT count(*) FROM effect WHERE id LIKE '%a0'"), 0);
  bed_.sql(fmt::format("INSERT INTO account (id, balance) VALUES ({}, 0)", kMissingAccount));
  EXPECT_TRUE(comes_true([&] { return bed_.sum() == kFifoRounds * (kFifoAccounts + 1); }))
      << runner.err();
  runner.signal(SIGTERM);
  EXPECT_EQ(runner.wait().code, 0) << runner.err();
  expect_all_in_order();
}

TEST_P(SqsOrder, AKillLeavesEachGroupInItsOrder) {
  bed_.sql(fmt::format("INSERT INTO account (id, balance) VALUES ({}, 0)", kMissingAccount));
  send_rounds();
  {
    Program first({"run", bed_.config(), "-q"});
    EXPECT_TRUE(comes_true([&] { return bed_.last_effect() >= 3; })) << first.err();
    first.signal(SIGKILL);
    EXPECT_EQ(first.wait().signal, SIGKILL);
  }
  Program second({"run", bed_.config(), "-q"});
  EXPECT_TRUE(comes_true([&] { return bed_.sum() == kFifoRounds * (kFifoAccounts + 1); },
                         std::chrono::seconds(60)))
      << second.err();
  second.signal(SIGTERM);
  EXPECT_EQ(second.wait().code, 0) << second.err();
  expect_all_in_order();
}

// The next message of a group comes to a process that has never heard of the one that waits.
TEST_P(SqsOrder, WhatOneProcessHoldsIsNotOvertakenInAnother) {
  const SqsTestBed bed(ElasticmqServer::shared(),
                       {.database_kind = GetParam(),
                        .fifo = true,
                        .more = "    retry: { attempts: 1000, backoff: 1h..1h }\n"});
  const std::string rows = GetParam() == DatabaseKind::kSqlite ? "semel_held" : "semel.semel_held";
  const auto held = [&] { return bed.number("SELECT count(*) FROM " + rows); };
  const auto send = [&](const std::string& id) {
    bed.server().send(
        bed.queue(),
        {{.body = payment(id, kMissingAccount, 1), .group = "missing", .deduplication = id}});
  };
  TcpProxy proxy(bed.server().port());
  proxy.refuse(true);
  const auto started = bed.start_through(proxy.port());
  Program& other = *started;
  EXPECT_TRUE(tells(other, "R390"))
      << "it knows what waits in the store, which is nothing: " << other.err();
  send("first");
  {
    Program one({"run", bed.config(), "-q"});
    EXPECT_TRUE(comes_true([&] { return held() == 1 && bed.is_empty(); })) << one.err();
    one.signal(SIGTERM);
    EXPECT_EQ(one.wait().code, 0) << one.err();
  }
  // A process that did not ask the store would find an account for the second one alone.
  bed.sql(fmt::format("INSERT INTO account (id, balance) VALUES ({}, 0)", kMissingAccount));
  proxy.refuse(false);
  send("second");
  EXPECT_TRUE(comes_true([&] { return held() == 2 && bed.is_empty(); }, kLong)) << other.err();
  EXPECT_EQ(bed.number("SELECT count(*) FROM effect"), 0) << "it waits behind the first one";
  other.signal(SIGTERM);
  EXPECT_EQ(other.wait().code, 0) << other.err();
}

INSTANTIATE_TEST_SUITE_P(Stores, SqsOrder,
                         ::testing::Values(DatabaseKind::kSqlite, DatabaseKind::kPostgres),
                         [](const auto& info) { return name_of_ground(info.param); });

}  // namespace
}  // namespace semel::test
