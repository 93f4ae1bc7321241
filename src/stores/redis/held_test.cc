// Held messages in cases that the shared suites cannot check: leftovers on the server, a full
// server, and an instance that returns after it counted as dead.
#include <fmt/format.h>

#include <semel/admin/records.h>
#include <semel/spi/held_messages.h>
#include <semel/spi/run_markers.h>

#include <algorithm>
#include <map>
#include <thread>

#include "stores/redis/dead_letters.h"
#include "stores/redis/run_markers.h"
#include "stores/redis/store_context.h"
#include "stores/redis/test_place.h"
#include "tests/support/tcp_proxy.h"

namespace semel::redis {
namespace {

using test::RedisServer;

class HeldOnRedis : public testing::Test {
 protected:
  Store& store() { return place_.store(); }
  HeldMessages& held() { return *store().facets().held; }
  Message message(BytesView key, BytesView payload = "{}") {
    return test::make_message(place_.consumer(), key, payload);
  }
  std::vector<Arrival> take(std::size_t most = 100) {
    return held().take(place_.consumer(), most, 64 << 20, 60s).value();
  }
  std::size_t rows() { return held().depth(place_.consumer()).value().rows; }
  void append(std::vector<OutgoingMessage> messages) {
    ASSERT_TRUE(held().append(place_.consumer(), messages).has_value());
  }
  static OutgoingMessage payload(Bytes bytes) {
    OutgoingMessage message;
    message.payload = std::move(bytes);
    return message;
  }
  // The values under names that begin so, after the prefix.
  std::string names(const std::string& beginning) {
    return place_.server().run({"EVAL",
                                "local k = redis.call('KEYS', ARGV[1]) table.sort(k) "
                                "return table.concat(k, ' ')",
                                "0", place_.prefix() + beginning + "*"});
  }

  TestPlace place_{shared()};
};

TEST_F(HeldOnRedis, NothingIsLeftOfWhatIsOver) {
  const auto line_of = [](const Arrival& arrival) -> std::optional<Bytes> {
    return arrival.payload.substr(0, 1);
  };
  append({payload("a1"), payload("b1"), payload("a2")});
  for (int i = 0; i < 3; ++i) {
    auto taken = held().take(place_.consumer(), 100, 1 << 20, 60s, line_of).value();
    ASSERT_EQ(taken.size(), 3U) << i;
    for (const Arrival& arrival : taken) {
      const Message m = message(arrival.payload, arrival.payload);
      Finish finish =
          i < 2 ? test::retrying(place_.acquire(m), 0ms, &m) : test::completed(place_.acquire(m));
      finish.arrival = &arrival;
      finish.ack = arrival.row;
      ASSERT_EQ(place_.finish(finish).value(), Applied::kYes);
    }
  }
  EXPECT_EQ(rows(), 0U);
  EXPECT_TRUE(held().lines(place_.consumer()).value().empty());
  EXPECT_EQ(
      names("{h"),
      place_.prefix() + fmt::format("{{h{}}}last", static_cast<std::uint32_t>(place_.consumer())));
}

TEST_F(HeldOnRedis, ARetryGoesWithTheRecordThatAnotherCopyCompletes) {
  const Message m = message("k");
  ASSERT_EQ(place_.finish(test::retrying(place_.acquire(m), 0ms, &m)).value(), Applied::kYes);
  EXPECT_EQ(rows(), 1U);
  ASSERT_EQ(place_.finish(test::completed(place_.acquire(m))).value(), Applied::kYes);
  EXPECT_EQ(rows(), 0U) << "it has nothing left to do when it comes";
}

TEST_F(HeldOnRedis, ADeadRecordBuriesWhatIsHeldForIt) {
  const Message m = message("k", "the payload");
  ASSERT_EQ(place_.finish(test::retrying(place_.acquire(m), 0ms, &m)).value(), Applied::kYes);
  ASSERT_EQ(place_.finish(test::dead(place_.acquire(m), nullptr, "why")).value(), Applied::kYes);
  EXPECT_EQ(rows(), 0U);
  DeadLetterFilter all;
  all.payloads = true;
  const auto letters = store().facets().dead_letters->list(all).value();
  ASSERT_EQ(letters.size(), 1U);
  EXPECT_EQ(letters[0].payload, "the payload");
  EXPECT_EQ(letters[0].key, "k");
  EXPECT_EQ(letters[0].reason, "why");
}

TEST_F(HeldOnRedis, ARowIsTakenOnceHoweverShortItIsHidden) {
  append({payload("one"), payload("two")});
  EXPECT_EQ(held().take(place_.consumer(), 100, 1 << 20, 0ms).value().size(), 2U);
}

TEST_F(HeldOnRedis, ManyRowsComeInTheirOrderOverAllLanes) {
  std::vector<OutgoingMessage> messages;
  for (int i = 0; i < 1000; ++i) messages.push_back(payload(fmt::format("{}:{}", i % 40, i)));
  append(messages);
  const auto line_of = [](const Arrival& arrival) -> std::optional<Bytes> {
    return arrival.payload.substr(0, arrival.payload.find(':'));
  };
  const auto taken = held().take(place_.consumer(), 700, 1 << 20, 60s, line_of).value();
  ASSERT_EQ(taken.size(), 700U);
  std::map<Bytes, int> last;
  for (const Arrival& arrival : taken) {
    const int number = std::stoi(arrival.payload.substr(arrival.line->size() + 1));
    const auto [before, first] = last.try_emplace(*arrival.line, number);
    EXPECT_TRUE(first || before->second == number - 40) << arrival.payload;
    before->second = number;
  }
  EXPECT_EQ(held().take(place_.consumer(), 700, 1 << 20, 60s, line_of).value().size(), 300U);
}

TEST_F(HeldOnRedis, ALeaseEndsOnceInABatch) {
  const Message m = message("k");
  const Lease lease = place_.acquire(m);
  const Finish both[] = {test::retrying(lease, 0ms, &m), test::retrying(lease, 0ms, &m)};
  EXPECT_EQ(store().finish(both).value(), (std::vector{Applied::kYes, Applied::kLeaseLost}));
  EXPECT_EQ(rows(), 1U);
}

TEST_F(HeldOnRedis, AParkedMessageAndADeadOneComeBackByUnlock) {
  StoreContext context(system_environment(),
                       {target_of(shared().url()), place_.prefix(), false, 1, {}}, kServerClock);
  const Message parked = message("parked", "one"), dead = message("dead", "two");
  EXPECT_FALSE(unlock_record(context, parked.key().id));
  ASSERT_EQ(place_.finish(test::parked(place_.acquire(parked), &parked)).value(), Applied::kYes);
  ASSERT_EQ(place_.finish(test::dead(place_.acquire(dead), &dead)).value(), Applied::kYes);
  EXPECT_TRUE(take().empty());
  EXPECT_EQ(rows(), 0U) << "what waits for a person is not counted";
  for (const Message* m : {&parked, &dead}) {
    EXPECT_TRUE(unlock_record(context, m->key().id));
    EXPECT_FALSE(unlock_record(context, m->key().id)) << "it is open already";
    const auto taken = take();
    ASSERT_EQ(taken.size(), 1U);
    EXPECT_EQ(taken[0].payload, m->payload());
    EXPECT_EQ(taken[0].key, m->key().text);
    Finish done = test::completed(place_.acquire(*m));
    done.ack = taken[0].row;
    ASSERT_EQ(place_.finish(done).value(), Applied::kYes);
    EXPECT_EQ(rows(), 0U);
  }
}

TEST(HeldOnItsOwnRedis, LargePayloadsOfABatchGoInSeveralCalls) {
  const RedisServer mine(RedisServer::fast());
  TestPlace place(mine);
  std::vector<Message> messages;
  for (int i = 0; i < 12; ++i) {
    messages.push_back(test::make_message(place.consumer(), fmt::format("k{}", i),
                                          Bytes(300'000, static_cast<char>('a' + i))));
  }
  std::vector<Finish> batch;
  for (const Message& m : messages) batch.push_back(test::retrying(place.acquire(m), 0ms, &m));
  mine.query("CONFIG RESETSTAT");
  const auto applied = place.store().finish(batch).value();
  EXPECT_EQ(std::ranges::count(applied, Applied::kYes), 12);
  EXPECT_NE(mine.query("INFO commandstats").find("cmdstat_evalsha:calls=3"), std::string::npos);
  HeldMessages& held = *place.store().facets().held;
  EXPECT_EQ(held.take(place.consumer(), 100, 64 << 20, 60s).value().size(), 12U);
}

TEST_F(HeldOnRedis, FlushedRowsAreNotMistakenForLaterOnes) {
  append({payload("one")});
  const RowTag old = *take().at(0).row;
  place_.server().run({"EVAL",
                       "for _, key in ipairs(redis.call('KEYS', ARGV[1])) do "
                       "redis.call('DEL', key) end",
                       "0", place_.prefix() + "*"});
  place_.open();
  // A number is at least the time in ms.
  std::this_thread::sleep_for(3ms);
  append({payload("two")});
  ASSERT_TRUE(held().remove({&old, 1}).has_value());
  EXPECT_EQ(take().size(), 1U);
}

TEST_F(HeldOnRedis, WhatANewerSemelHasWrittenIsLeftAlone) {
  append({payload("one")});
  place_.server().run({"EVAL",
                       "local name = redis.call('KEYS', ARGV[1])[1] "
                       "redis.call('HSET', name, redis.call('HKEYS', name)[1], '\\2')",
                       "0", place_.prefix() + "{h*}m"});
  const auto taken = held().take(place_.consumer(), 1, 1 << 20, 60s);
  ASSERT_FALSE(taken.has_value());
  EXPECT_EQ(taken.error().code, "R210") << taken.error().message;
}

TEST(HeldOnFullRedis, NothingIsHalfKeptAndWhatGoesMayGo) {
  const RedisServer small({.arguments = {"--appendfsync", "no"}});
  TestPlace place(small);
  HeldMessages& held = *place.store().facets().held;
  OutgoingMessage one;
  one.payload = "one";
  ASSERT_TRUE(held.append(place.consumer(), {&one, 1}).has_value());
  const Arrival taken = held.take(place.consumer(), 1, 1 << 20, 60s).value().at(0);
  const Message m = place.message("k");
  const Lease lease = place.acquire(m);
  small.query("CONFIG SET maxmemory 1");
  EXPECT_EQ(held.append(place.consumer(), {&one, 1}).error().code, "R261");
  for (Finish refused : {test::retrying(lease, 0ms, &m), test::parked(lease, &m),
                         test::dead(lease, &m), test::completed(lease)}) {
    refused.ack = taken.row;
    EXPECT_EQ(place.finish(refused).error().code, "R261");
    EXPECT_EQ(held.depth(place.consumer()).value().rows, 1U);
    EXPECT_TRUE(place.store().facets().dead_letters->list({}).value().empty());
  }
  EXPECT_EQ(place.finish(test::ack_only(*taken.row)).value(), Applied::kYes);
  EXPECT_EQ(held.depth(place.consumer()).value().rows, 0U);
  small.query("CONFIG SET maxmemory 0");
  EXPECT_EQ(place.finish(test::completed(lease)).value(), Applied::kYes);
}

TEST(HeldOnSmallRedis, WhatIsTooLargeForAValueIsALimitAndTheConnectionLives) {
  constexpr std::size_t kMost = 1 << 20;  // the least that the server may be set to
  const RedisServer small({.arguments = {"--proto-max-bulk-len", std::to_string(kMost)}});
  TestPlace place(small);
  HeldMessages& held = *place.store().facets().held;
  EXPECT_EQ(place.store().traits().largest_message, kMost);
  const Message m = test::make_message(place.consumer(), "k", Bytes(2 * kMost, 'x'));
  const Lease lease = place.acquire(m);
  for (const Finish& refused : {test::retrying(lease, 0ms, &m), test::dead(lease, &m)}) {
    EXPECT_EQ(place.finish(refused).error().kind, ErrorKind::kLimit);
  }
  OutgoingMessage large;
  large.payload = m.payload();
  EXPECT_EQ(held.append(place.consumer(), {&large, 1}).error().kind, ErrorKind::kLimit);
  ForeignLetter letter;
  letter.letter.consumer = "payments";
  letter.letter.payload = m.payload();
  EXPECT_EQ(place.store().facets().dead_letters->add({&letter, 1}).error().kind, ErrorKind::kLimit);
  Finish sends = test::completed(lease);
  sends.outgoing.resize(3);
  for (Outgoing& one : sends.outgoing) {
    one.to = place.consumer();
    one.message.payload = Bytes(kMost / 2, 'x');
  }
  EXPECT_EQ(place.finish(sends).error().kind, ErrorKind::kLimit) << "they are one value";
  sends.outgoing.resize(1);
  EXPECT_EQ(place.finish(sends).value(), Applied::kYes);
  EXPECT_EQ(place.finish(test::dead(place.acquire(place.message("other")), nullptr)).value(),
            Applied::kYes);
}

class RunsOnRedis : public HeldOnRedis {
 protected:
  RunMarkers& runs() { return *store().facets().runs; }
  void lose_session() { end_sessions(place_.server(), place_.prefix()); }
  void lose_signs() { place_.server().run({"DEL", names("{store}alive:")}); }
  // As if this much time were left until their next sign is due.
  void leave_signs(milliseconds left) {
    place_.server().run({"EVAL",
                         "for _, key in ipairs(redis.call('KEYS', ARGV[1])) do "
                         "redis.call('PEXPIRE', key, ARGV[2]) end",
                         "0", place_.prefix() + "{store}alive:*", std::to_string(left.count())});
  }
};

TEST_F(RunsOnRedis, WhoeverWasFoundGoneEndsOnlyWhatNobodyTookOver) {
  const auto other = open_redis(place_.options()).value();
  append({payload("row")});
  ASSERT_TRUE(runs().begin(place_.consumer(), 3).has_value());
  const Message taken_over = message("a"), left = message("b");
  const Lease lost = place_.acquire(taken_over), kept = place_.acquire(left);
  ASSERT_EQ(take().size(), 1U);
  lose_session();
  EXPECT_TRUE(other->facets().runs->sweep().value());
  const auto rows = other->facets().held->take(place_.consumer(), 10, 1 << 20, 60s).value();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_TRUE(rows[0].suspect);
  const Message* one = &taken_over;
  const auto claim = other->claim({&one, 1}, {}).value().front();
  ASSERT_TRUE(std::holds_alternative<Acquired>(claim));
  EXPECT_TRUE(std::get<Acquired>(claim).taken_over);
  EXPECT_EQ(place_.finish(test::completed(lost)).value(), Applied::kLeaseLost);
  EXPECT_EQ(place_.finish(test::completed(kept)).value(), Applied::kYes);

  // It continues under another name and connection, and counts as dead when those are gone.
  EXPECT_FALSE(runs().sweep().value());
  const Message later = message("c");
  place_.acquire(later);
  one = &later;
  EXPECT_TRUE(std::holds_alternative<Busy>(other->claim({&one, 1}, {}).value().front()));
  lose_session();
  EXPECT_TRUE(other->facets().runs->sweep().value());
  EXPECT_TRUE(std::holds_alternative<Acquired>(other->claim({&one, 1}, {}).value().front()));
}

// It would come back for ever: no one ends its record.
TEST(MetRowOnRedis, ARowThatIsDoneWithoutALeaseGoesWhateverItsRecordSays) {
  TestPlace place(shared());
  HeldMessages& held = *place.store().facets().held;
  const Message m = place.message("k");
  for (const bool sends : {false, true}) {
    ASSERT_EQ(place.finish(test::retrying(place.acquire(m), 0ms, &m)).value(), Applied::kYes);
    const auto taken = held.take(place.consumer(), 10, 1 << 20, 60s).value();
    ASSERT_EQ(taken.size(), 1U);
    const auto relay = place.store().attach({"relay", "recipe", false, {}}).value();
    Finish done = test::ack_only(*taken.front().row);
    if (sends) {
      done.outgoing.resize(1);
    } else {
      done.to = Finish::To::kCompleted;
    }
    for (Outgoing& one : done.outgoing) one.to = relay;
    EXPECT_EQ(place.finish(done).value(), Applied::kYes);
    EXPECT_EQ(held.depth(place.consumer()).value().rows, 0U) << sends;
  }
}

// Its record was unlocked, or became due, between the claim and this.
TEST(MetRowOnRedis, ARowThatMetItsRecordStaysWhereThatIsDueByNow) {
  TestPlace place(shared());
  HeldMessages& held = *place.store().facets().held;
  const Message m = place.message("k");
  ASSERT_EQ(place.finish(test::retrying(place.acquire(m), 0ms, &m)).value(), Applied::kYes);
  const auto taken = held.take(place.consumer(), 10, 1 << 20, 60s).value();
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_EQ(place.finish(test::ack_only(*taken.front().row)).value(), Applied::kYes);
  EXPECT_EQ(held.take(place.consumer(), 10, 1 << 20, 60s).value().size(), 1U)
      << "nothing else has this message";
}

TEST_F(RunsOnRedis, ADeathWhoseNoticeIsLostIsToldAgain) {
  ASSERT_TRUE(runs().begin(place_.consumer(), 17).has_value());
  lose_session();
  test::TcpProxy proxy(shared().port());
  RedisOptions options = place_.options();
  options.url = fmt::format("redis://127.0.0.1:{}", proxy.port());
  const auto other = open_redis(options).value();
  RunMarkers& mine = *other->facets().runs;
  constexpr std::size_t kWindow = 7'654'321;  // a unique value
  const auto fault =
      proxy.inject({.text = std::to_string(kWindow), .then = test::TcpProxy::Then::kWithhold});
  ASSERT_FALSE(mine.begin(place_.consumer(), kWindow).has_value());
  EXPECT_EQ(proxy.fired(fault), 1U);
  const auto begun = mine.begin(place_.consumer(), kWindow);
  ASSERT_TRUE(begun.has_value()) << begun.error().message;
  EXPECT_TRUE(begun->unclean);
  EXPECT_EQ(begun->window, 17U);
  EXPECT_FALSE(mine.begin(place_.consumer(), kWindow)->unclean) << "told once";
  EXPECT_EQ(names("{store}told"), "") << "nothing is left of it";
}

// A process that was informed and died after that had taken only messages that it suspected.
TEST_F(RunsOnRedis, ANoticeThatNobodyHeardIsLeftToTheNext) {
  ASSERT_TRUE(runs().begin(place_.consumer(), 17).has_value());
  lose_session();
  StoreContext context(system_environment(),
                       {target_of(shared().url()), place_.prefix(), false, 1, {}}, kServerClock);
  Call call;
  call.keys = {context.names.runs};
  const std::string consumer = std::to_string(static_cast<std::uint32_t>(place_.consumer()));
  ASSERT_TRUE(open_redis(place_.options()).value()->facets().runs->sweep().has_value());
  call.arguments = {place_.prefix(), "somebody", "1", "1", consumer, "2", "1", "no session"};
  EXPECT_EQ(context.run_one(context.scripts.begin_run, call, Loss::kInDoubt).number, 17);
  lose_signs();
  const auto begun =
      open_redis(place_.options()).value()->facets().runs->begin(place_.consumer(), 1);
  ASSERT_TRUE(begun.has_value()) << begun.error().message;
  EXPECT_TRUE(begun->unclean);
  EXPECT_EQ(begun->window, 17U);
}

TEST_F(RunsOnRedis, WhatASweepLeftOffAnotherGoesOnWith) {
  append({payload("row")});
  ASSERT_TRUE(runs().begin(place_.consumer(), 17).has_value());
  ASSERT_EQ(take().size(), 1U);
  StoreContext context(system_environment(),
                       {target_of(shared().url()), place_.prefix(), false, 1, {}}, kServerClock);
  const Bytes name =
      context.router.ask({"HKEYS", context.names.runs}, Loss::kNothingDone).list.at(0).bytes;
  const std::string sessions = context.names.of_store("sessions");
  const Bytes session =
      context.router.ask({"HVALS", sessions}, Loss::kNothingDone).list.at(0).bytes;
  Call declare;
  declare.arguments = {context.names.prefix, name, session, "0"};
  EXPECT_EQ(context.run_one(context.scripts.declare, declare, Loss::kNothingDone).list.size(), 1U)
      << "its sign came after the look";
  lose_session();
  ASSERT_EQ(context.run_one(context.scripts.declare, declare, Loss::kNothingDone).list.size(), 2U);
  // Here it died too.
  place_.open();
  const auto begun = runs().begin(place_.consumer(), 1);
  ASSERT_TRUE(begun.has_value()) << begun.error().message;
  EXPECT_TRUE(begun->unclean);
  EXPECT_EQ(begun->window, 17U);
  const auto rows = take();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_TRUE(rows[0].suspect);
  EXPECT_FALSE(runs().begin(place_.consumer(), 1)->unclean) << "told once";
}

// Stopped, or cut off except for its connection: it keeps what it holds.
TEST_F(RunsOnRedis, WhoeverIsSilentAndConnectedKeepsWhatItHolds) {
  const auto other = open_redis(place_.options()).value();
  append({payload("row")});
  ASSERT_TRUE(runs().begin(place_.consumer(), 3).has_value());
  const Message held_one = message("a");
  const Lease lease = place_.acquire(held_one);
  ASSERT_EQ(take().size(), 1U);
  lose_signs();
  EXPECT_FALSE(other->facets().runs->sweep().value());
  EXPECT_FALSE(other->facets().runs->begin(place_.consumer(), 1)->unclean);
  const Message* one = &held_one;
  EXPECT_TRUE(std::holds_alternative<Busy>(other->claim({&one, 1}, {}).value().front()));
  EXPECT_EQ(other->facets().held->take(place_.consumer(), 10, 1 << 20, 60s)->size(), 0U);
  EXPECT_EQ(place_.finish(test::completed(lease)).value(), Applied::kYes);
}

// A connection may end while its process lives: the next sweep opens another.
TEST_F(RunsOnRedis, AConnectionThatWasCutIsNoDeath) {
  const auto other = open_redis(place_.options()).value();
  ASSERT_TRUE(runs().begin(place_.consumer(), 3).has_value());
  const Message held_one = message("a");
  place_.acquire(held_one);
  const Message* one = &held_one;
  for (int round = 0; round < 3; ++round) {
    std::istringstream session(place_.server().run({"HVALS", place_.prefix() + "{store}sessions"}));
    std::string life, number;
    session >> life >> number;
    // Fresh, however slow this machine is.
    leave_signs(1h);
    ASSERT_EQ(place_.server().query("CLIENT KILL ID " + number), "1");
    EXPECT_FALSE(other->facets().runs->sweep().value()) << "its sign is fresh";
    EXPECT_FALSE(runs().sweep().value());
  }
  EXPECT_TRUE(std::holds_alternative<Busy>(other->claim({&one, 1}, {}).value().front()));
}

// The death is reported immediately; what it held is freed when the death is certain.
TEST_F(RunsOnRedis, WhoBeginsIsToldOfADeathAtOnce) {
  ASSERT_TRUE(runs().begin(place_.consumer(), 17).has_value());
  const Message held_one = message("a");
  place_.acquire(held_one);
  place_.open();
  const auto begun = runs().begin(place_.consumer(), 1);
  ASSERT_TRUE(begun.has_value()) << begun.error().message;
  EXPECT_TRUE(begun->unclean);
  EXPECT_EQ(begun->window, 17U);
  const Message* one = &held_one;
  EXPECT_TRUE(std::holds_alternative<Busy>(place_.store().claim({&one, 1}, {})->front()));
  leave_signs(kAlive - kSure - 1ms);
  EXPECT_TRUE(runs().sweep().value());
  EXPECT_TRUE(std::holds_alternative<Acquired>(place_.store().claim({&one, 1}, {})->front()));
  EXPECT_FALSE(runs().begin(place_.consumer(), 1)->unclean) << "told once";
}

// It is unknown who was connected before the server was restarted.
TEST(RunsOnOwnRedis, AfterARestartOfTheServerNothingIsFreedBeforeItsTime) {
  RedisServer own(RedisServer::fast());
  TestPlace place(own);
  const Message held_one = place.message("a");
  ASSERT_TRUE(place.store().facets().runs->begin(place.consumer(), 17).has_value());
  const Lease lease = place.acquire(held_one);
  own.kill();
  own.start();
  own.run({"EVAL",
           "for _, key in ipairs(redis.call('KEYS', ARGV[1])) do redis.call('DEL', key) end", "0",
           place.prefix() + "{store}alive:*"});
  const auto other = open_redis(place.options()).value();
  const auto begun = other->facets().runs->begin(place.consumer(), 1);
  ASSERT_TRUE(begun.has_value()) << begun.error().message;
  EXPECT_TRUE(begun->unclean) << "it may have died";
  EXPECT_EQ(begun->window, 17U);
  const Message* one = &held_one;
  EXPECT_TRUE(std::holds_alternative<Busy>(other->claim({&one, 1}, {}).value().front()));
  EXPECT_FALSE(place.store().facets().runs->sweep().value()) << "it lives, and says so";
  EXPECT_FALSE(other->facets().runs->sweep().value());
  EXPECT_EQ(place.finish(test::completed(lease)).value(), Applied::kYes);
}

TEST_F(RunsOnRedis, ASignHoldsForSomeTime) {
  ASSERT_TRUE(runs().begin(place_.consumer(), 3).has_value());
  const std::string alive = names("{store}alive:");
  const auto left = [&] { return std::stoll(place_.server().run({"PTTL", alive})); };
  EXPECT_GT(left(), 10'000);
  EXPECT_LE(left(), 15'000);
  place_.server().run({"PEXPIRE", alive, "5000"});
  EXPECT_FALSE(runs().sweep().value());
  EXPECT_GT(left(), 10'000) << "each sweep is a sign";
  ASSERT_TRUE(runs().end(place_.consumer()).has_value());
  EXPECT_EQ(names("{store}alive:") + names("{store}run"), "");
}

}  // namespace
}  // namespace semel::redis
