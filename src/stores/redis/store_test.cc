// Cases of Redis only: forgotten scripts, lost answers, expiry, tokens across all of these, and the
// store's refusals.
#include <fmt/format.h>

#include <set>

#include "clients/redis/slot_map.h"
#include "stores/redis/test_place.h"
#include "tests/support/tcp_proxy.h"

namespace semel::redis {
namespace {

using test::RedisServer;
using test::TcpProxy;

template <class T>
bool is(const Result<Claim>& claim) {
  return claim.has_value() && std::holds_alternative<T>(*claim);
}

TEST(RedisStore, TellsAForgottenScriptAgain) {
  TestPlace place(shared());
  const Message m = place.message("k");
  const Message other = place.message("other");
  place.acquire(other);
  place.server().query("SCRIPT FLUSH");
  const Lease lease = place.acquire(m);
  place.server().query("SCRIPT FLUSH");
  EXPECT_EQ(place.store().renew({&lease, 1}, 60s).value().front(), Applied::kYes);
  place.server().query("SCRIPT FLUSH");
  EXPECT_EQ(place.finish(test::completed(lease)).value(), Applied::kYes);
  place.server().query("SCRIPT FLUSH");
  EXPECT_EQ(place.store().attach({"payments", "recipe", false, {}}).value(), place.consumer());
}

TEST(RedisStore, AManyCallBatchIsAnsweredInOrderAfterAForgottenScript) {
  TestPlace place(shared());
  const auto messages = test::make_messages(place.consumer(), "k", 700);
  place.acquire(messages[300]);
  place.server().query("SCRIPT FLUSH");
  const auto claims = place.store().claim(test::pointers(messages), {}).value();
  ASSERT_EQ(claims.size(), messages.size());
  for (std::size_t i = 0; i < claims.size(); ++i) {
    if (i == 300) {
      EXPECT_TRUE(std::holds_alternative<Busy>(claims[i]));
    } else {
      ASSERT_TRUE(std::holds_alternative<Acquired>(claims[i])) << i;
      EXPECT_EQ(std::get<Acquired>(claims[i]).lease.key, messages[i].key().id);
    }
  }
}

TEST(RedisStore, ALateHolderIsRefusedAfterItsLeaseWasTakenOver) {
  TestPlace place(shared());
  const Message m = place.message("k");
  const Lease late = place.acquire(m, 1ms);
  Result<Claim> second = place.try_claim(m);
  while (is<Busy>(second)) second = place.try_claim(m);
  ASSERT_TRUE(is<Acquired>(second));
  EXPECT_TRUE(std::get<Acquired>(*second).taken_over);
  for (const Finish& finish : {test::completed(late), test::retrying(late, 0ms, nullptr),
                               test::dead(late, nullptr), test::not_started(late)}) {
    EXPECT_EQ(place.finish(finish).value(), Applied::kLeaseLost);
  }
  EXPECT_TRUE(is<Busy>(place.try_claim(m))) << "the new holder's record stands";
  EXPECT_EQ(place.finish(test::completed(std::get<Acquired>(*second).lease)).value(),
            Applied::kYes);
}

TEST(RedisStore, AHolderWhoseRecordWasForgottenIsRefused) {
  TestPlace place(shared());
  const Message m = place.message("k");
  const Lease lease = place.acquire(m);
  place.server().run({"DEL", place.name(m)});
  EXPECT_EQ(place.store().renew({&lease, 1}, 60s).value().front(), Applied::kLeaseLost);
  EXPECT_EQ(place.finish(test::completed(lease)).value(), Applied::kLeaseLost);
  EXPECT_EQ(place.server().run({"EXISTS", place.name(m)}), "0") << "nothing is made of it";
}

TEST(RedisStore, TokensGrowOverDeletionAndOverTheLossOfAll) {
  const RedisServer mine(RedisServer::fast());
  TestPlace place(mine);
  const Message m = place.message("k");
  Token last = place.acquire(m).token;
  mine.run({"DEL", place.name(m)});
  Token next = place.acquire(m).token;
  EXPECT_GT(next, last);
  last = next;
  mine.query("FLUSHALL");
  next = place.acquire(m).token;
  EXPECT_GT(next, last) << "in the process that has seen the last one";
  last = next;
  mine.query("FLUSHALL");
  place.open();
  EXPECT_GT(place.acquire(m).token, last) << "and in one that has not";
}

TEST(RedisStore, TokensGrowWhereTheClockGoesBack) {
  const std::string clock = "clock_of_" + shared().new_database();
  shared().query("SET " + clock + " 2000000000000000");
  TestPlace place(shared(), {}, fmt::format("redis.call('GET', '{}')", clock));
  const Message m = place.message("k");
  const Lease first = place.acquire(m);
  ASSERT_EQ(place.finish(test::not_started(first)).value(), Applied::kYes);
  ASSERT_EQ(place.server().run({"EXISTS", place.name(m)}), "0");
  shared().query("SET " + clock + " 1000000000000000");
  place.open();
  const Lease second = place.acquire(m);
  EXPECT_GT(second.token, first.token) << "of a key whose record is gone";
  ASSERT_EQ(place.finish(test::not_started(second)).value(), Applied::kYes);
  shared().query("DEL " + Names(place.prefix()).token_of({}));
  const Lease third = place.acquire(m);
  EXPECT_GT(third.token, second.token) << "by what this process has seen";
  ASSERT_EQ(place.finish(test::retrying(third, 0ms, nullptr)).value(), Applied::kYes);
  shared().query("DEL " + Names(place.prefix()).token_of({}));
  place.open();
  EXPECT_GT(place.acquire(m).token, third.token) << "by what stands in its record";
}

TEST(RedisStore, EachLifeOfTheServerMovesTokensOn) {
  RedisServer mine(RedisServer::fast());
  TestPlace place(mine);
  const Token first = place.acquire(place.message("a")).token;
  mine.stop();
  mine.start();
  const Token second = place.acquire(place.message("b")).token;
  EXPECT_GE(static_cast<std::uint64_t>(second) - static_cast<std::uint64_t>(first), 1ULL << 32U)
      << "further than the clocks of two servers are apart";
  const Token third = place.acquire(place.message("c")).token;
  EXPECT_GT(third, second);
  EXPECT_LT(static_cast<std::uint64_t>(third) - static_cast<std::uint64_t>(second), 1ULL << 32U)
      << "once for each life";
}

// The log has only the first tokens of one life.
TEST(RedisStore, ALifeBeginsAboveAllTokensOfTheLastOneWhateverTheClock) {
  RedisServer mine(RedisServer::fast());
  mine.query("SET clock 2000000000000000");
  TestPlace place(mine, {}, "redis.call('GET', 'clock')");
  const Message m = place.message("k");
  Token last{};
  const auto give_and_take = [&] {
    const Lease lease = place.acquire(m);
    ASSERT_GT(lease.token, last);
    last = lease.token;
    ASSERT_EQ(place.finish(test::not_started(lease)).value(), Applied::kYes);
  };
  for (int i = 0; i < 5; ++i) ASSERT_NO_FATAL_FAILURE(give_and_take());
  mine.query("SET clock 1000000000000000");
  for (int i = 0; i < 5; ++i) ASSERT_NO_FATAL_FAILURE(give_and_take());
  for (int lives = 0; lives < 3; ++lives) {
    mine.stop();
    mine.start();
    place.open();
    ASSERT_NO_FATAL_FAILURE(give_and_take());
  }
}

TEST(RedisStore, ALostAnswerToAClaimIsAskedForAgain) {
  TcpProxy proxy(shared().port());
  TestPlace place(shared(), fmt::format("redis://127.0.0.1:{}", proxy.port()));
  place.acquire(place.message("warm"));
  const auto fault = proxy.inject({.text = "EVALSHA", .then = TcpProxy::Then::kWithhold});
  const Message m = place.message("k");
  const Lease lease = place.acquire(m, 0ms);
  EXPECT_EQ(proxy.fired(fault), 1U);
  EXPECT_EQ(decoded(shared().run({"GET", place.name(m)})).attempt, 1) << "claimed once";
  EXPECT_EQ(place.finish(test::completed(lease)).value(), Applied::kYes);
}

// Only a message without a record can be too old.
TEST(RedisStore, AClaimThatIsAskedForAgainTellsWhetherThereWasARecord) {
  const std::string clock = "clock_of_" + shared().new_database();
  shared().query("SET " + clock + " 2000000000000000");
  TcpProxy proxy(shared().port());
  TestPlace place(shared(), fmt::format("redis://127.0.0.1:{}", proxy.port()),
                  fmt::format("redis.call('GET', '{}')", clock));
  place.acquire(place.message("warm"));
  const Message retried = place.message("retried");
  Finish retry = test::retrying(place.acquire(retried), 0ms, nullptr);
  retry.counted = false;
  ASSERT_EQ(place.finish(retry).value(), Applied::kYes);
  shared().query("SET " + clock + " 2000000001000000");
  for (const Message& m : {place.message("fresh"), retried}) {
    const auto fault = proxy.inject({.text = "EVALSHA", .then = TcpProxy::Then::kWithhold});
    const auto claim = place.try_claim(m);
    EXPECT_EQ(proxy.fired(fault), 1U);
    ASSERT_TRUE(is<Acquired>(claim));
    EXPECT_EQ(std::get<Acquired>(*claim).attempt, 1);
    EXPECT_EQ(std::get<Acquired>(*claim).had_record, m.key().id == retried.key().id);
  }
}

// As `semel records unlock --as done` ends it: that process has not attached the consumer.
TEST(RedisStore, ARecordThatAnOperatorEndsIsKeptForItsConsumersTtl) {
  TestPlace place(shared());
  const std::string ttls = Names(place.prefix()).ttls;
  const auto left = [&](const Finish& how, const char* key) {
    const Message m = place.message(key);
    EXPECT_EQ(place.finish(test::parked(place.acquire(m), nullptr)).value(), Applied::kYes);
    const auto operators = open_store(place.options(), {}).value();
    Finish end = how;
    end.lease = operators->facets().records->seize(m.key().id, 60s).value();
    EXPECT_TRUE(end.lease.has_value());
    EXPECT_EQ(operators->finish({&end, 1}).value().front(), Applied::kYes);
    return milliseconds(std::stoll(place.server().run({"PTTL", place.name(m)})));
  };
  const Finish done = test::completed({});
  const Finish dead = test::dead({}, nullptr);
  EXPECT_EQ(left(done, "a"), milliseconds(-1)) << "its ttl is for ever";
  EXPECT_EQ(left(dead, "b"), milliseconds(-1));
  place.open(1h);
  for (const auto& [how, key] : {std::pair(done, "c"), std::pair(dead, "d")}) {
    const milliseconds expiry = left(how, key);
    EXPECT_GT(expiry, 50min) << key;
    EXPECT_LE(expiry, 1h) << key;
  }
  place.server().run({"DEL", ttls});  // as older versions of Semel left it
  const milliseconds expiry = left(done, "e");
  EXPECT_GT(expiry, 24h * 364);
  EXPECT_LE(expiry, 24h * 365);
}

TEST(RedisStore, ALostAnswerToAFinishIsInDoubtAndAClaimTells) {
  TcpProxy proxy(shared().port());
  TestPlace place(shared(), fmt::format("redis://127.0.0.1:{}", proxy.port()));
  const Message done = place.message("done");
  const Message undone = place.message("undone");
  const Lease first = place.acquire(done);
  const Lease second = place.acquire(undone);
  ASSERT_EQ(place.store().renew({&first, 1}, 60s).value().front(), Applied::kYes);
  // The script is loaded by then: the cut happens while it runs.
  const Message warm = place.message("warm");
  ASSERT_EQ(place.finish(test::completed(place.acquire(warm))).value(), Applied::kYes);
  auto fault = proxy.inject({.text = "EVALSHA", .then = TcpProxy::Then::kWithhold});
  auto applied = place.finish(test::completed(first));
  ASSERT_FALSE(applied.has_value());
  EXPECT_EQ(applied.error().kind, ErrorKind::kInDoubt);
  EXPECT_EQ(proxy.fired(fault), 1U);
  // It may still be on its way to the server.
  auto told = place.try_claim(done);
  while (is<Busy>(told)) told = place.try_claim(done);
  EXPECT_TRUE(is<Completed>(told));

  fault = proxy.inject({.text = "EVALSHA", .then = TcpProxy::Then::kLose});
  applied = place.finish(test::completed(second));
  ASSERT_FALSE(applied.has_value());
  EXPECT_EQ(applied.error().kind, ErrorKind::kInDoubt);
  EXPECT_EQ(proxy.fired(fault), 1U);
  EXPECT_TRUE(is<Busy>(place.try_claim(undone)));
  EXPECT_EQ(place.finish(test::completed(second)).value(), Applied::kYes);
}

TEST(RedisStore, GoesOnAfterTheServerWasAway) {
  RedisServer mine(RedisServer::fast());
  TestPlace place(mine);
  const Message m = place.message("k");
  const Lease lease = place.acquire(m);
  mine.kill();
  const auto away = place.try_claim(place.message("other"));
  ASSERT_FALSE(away.has_value());
  EXPECT_EQ(away.error().kind, ErrorKind::kUnavailable);
  EXPECT_EQ(away.error().code, "R250");
  mine.start();
  EXPECT_EQ(place.finish(test::completed(lease)).value(), Applied::kYes) << "the log has it";
  EXPECT_TRUE(is<Completed>(place.try_claim(m)));
}

TEST(RedisStore, OnlyWhatIsFinishedExpires) {
  TestPlace place(shared());
  place.open(1h);
  const auto left = [&](const Message& m) {
    return std::stoll(place.server().run({"PTTL", place.name(m)}));
  };
  const Message completed = place.message("completed");
  const Message dead = place.message("dead");
  const Message parked = place.message("parked");
  const Message retrying = place.message("retrying");
  const Message consuming = place.message("consuming");
  ASSERT_EQ(place.finish(test::completed(place.acquire(completed))).value(), Applied::kYes);
  ASSERT_EQ(place.finish(test::dead(place.acquire(dead), nullptr)).value(), Applied::kYes);
  ASSERT_EQ(place.finish(test::parked(place.acquire(parked), nullptr)).value(), Applied::kYes);
  ASSERT_EQ(place.finish(test::retrying(place.acquire(retrying), 0ms, nullptr)).value(),
            Applied::kYes);
  place.acquire(consuming);
  for (const Message& m : {completed, dead}) {
    EXPECT_GT(left(m), 3'500'000);
    EXPECT_LE(left(m), 3'600'000);
  }
  for (const Message& m : {parked, retrying, consuming}) EXPECT_EQ(left(m), -1);
  place.open(1ms);
  const Message brief = place.message("brief");
  ASSERT_EQ(place.finish(test::completed(place.acquire(brief))).value(), Applied::kYes);
  while (place.server().run({"EXISTS", place.name(brief)}) == "1") {
  }
  EXPECT_EQ(std::get<Acquired>(*place.try_claim(brief)).attempt, 1) << "it is new";
  EXPECT_EQ(place.store().purge(1s).value().records, 0U);
}

TEST(RedisStore, ACompletedRecordTakesLittleRoom) {
  const RedisServer mine(RedisServer::fast());
  RedisOptions options;
  options.url = mine.url();
  const auto store = open_redis(options);
  ASSERT_TRUE(store.has_value());
  const ConsumerNumber consumer = (*store)->attach({"payments", "r", false, 24h * 7}).value();
  const auto used = [&] {
    const std::string memory = mine.query("INFO memory");
    return std::stoull(info_field(memory, "used_memory"));
  };
  constexpr std::size_t kRecords = 20'000;
  constexpr std::size_t kAtOnce = 500;
  unsigned long long before = 0;
  for (std::size_t at = 0; at < kRecords; at += kAtOnce) {
    // The first ones allocate memory for each connection and script.
    if (at == kAtOnce) before = used();
    std::vector<Message> messages;
    for (std::size_t i = 0; i < kAtOnce; ++i) {
      messages.push_back(test::make_message(consumer, test::uuid(at + i)));
    }
    std::vector<Finish> batch;
    const auto claims = (*store)->claim(test::pointers(messages), {}).value();
    for (const Claim& claim : claims) {
      batch.push_back(test::completed(std::get<Acquired>(claim).lease));
    }
    ASSERT_TRUE((*store)->finish(batch).has_value());
  }
  ASSERT_EQ(mine.query("DBSIZE"), std::to_string(kRecords + 4));
  const auto each = (used() - before) / (kRecords - kAtOnce);
  RecordProperty("bytes", static_cast<int>(each));
  EXPECT_LE(each, 200U) << "with its name, its expiry and its places in the server's tables";
}

TEST(RedisStore, RecordsAreSpreadOverSlots) {
  TestPlace place(shared());
  for (const bool sorted : {true, false}) {
    std::set<std::string> slots;
    for (std::size_t i = 0; i < 2'000; ++i) {
      const Message m = place.message(sorted ? test::ulid(i) : fmt::format("order-{}", i));
      const std::string name = place.name(m);
      slots.insert(name.substr(name.find('{'), 4));
    }
    EXPECT_GT(slots.size(), kSlots * 9 / 10) << "in order: " << sorted;
  }
}

TEST(RedisNames, RecordsLieEquallyFarApartOnACluster) {
  constexpr std::size_t kRange = kClusterSlots / kSlots;
  for (unsigned slot = 0; slot < kSlots; ++slot) {
    const std::string_view tag = tag_of(slot);
    EXPECT_EQ(cluster_slot(tag) / kRange, slot) << tag;
    EXPECT_NE(tag.front(), 'h') << "held rows";
  }
}

TEST(RedisStore, AConsumersNumberOutlivesTheLossOfAll) {
  const RedisServer mine(RedisServer::fast());
  TestPlace place(mine);
  const ConsumerNumber other = place.store().attach({"refunds", "r", false, {}}).value();
  ASSERT_NE(other, place.consumer());
  mine.query("FLUSHALL");
  EXPECT_EQ(place.store().attach({"refunds", "r", false, {}}).value(), other);
  EXPECT_EQ(place.store().attach({"payments", "recipe", false, {}}).value(), place.consumer());
}

TEST(RedisStore, ANumberThatAnotherConsumerHasIsNotGivenTwice) {
  TestPlace place(shared());
  const Names names(place.prefix());
  const auto number = static_cast<std::uint32_t>(place.consumer());
  place.server().query(fmt::format("DEL {}", names.consumers));
  place.server().query(fmt::format("HSET {} {} somebody", names.numbers, number));
  const auto given = place.store().attach({"payments", "recipe", false, {}}).value();
  EXPECT_EQ(static_cast<std::uint32_t>(given), number + 1);
  EXPECT_EQ(place.store().attach({"payments", "recipe", false, {}}).value(), given);
}

TEST(RedisStore, AWriteThatItsReplicasDoNotConfirmIsInDoubt) {
  const TestPlace place(shared());
  RedisOptions options = place.options();
  options.url += "?timeout=1";
  options.wait_replicas = 1;
  const auto store = open_redis(options);
  ASSERT_TRUE(store.has_value()) << store.error().message;
  const Message message = place.message("k");
  const Message* claimed = &message;
  const auto claims = (*store)->claim({&claimed, 1}, {60s, {}, false});
  ASSERT_FALSE(claims.has_value());
  EXPECT_EQ(claims.error().code, "R268") << claims.error().message;
  EXPECT_EQ(shared().run({"GET", place.prefix() + "{store}confirmed"}), "1");
}

}  // namespace
}  // namespace semel::redis
