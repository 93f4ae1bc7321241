// Refusals of the store, and their errors.
#include <fmt/format.h>

#include <semel/admin/gates.h>
#include <semel/admin/records.h>
#include <semel/spi/held_messages.h>
#include <semel/spi/live_checks.h>
#include <semel/spi/run_markers.h>
#include <semel/spi/step_store.h>

#include <sstream>

#include "stores/redis/test_place.h"

namespace semel::redis {
namespace {

using test::RedisServer;

TEST(RedisRefusals, AServerThatEvicts) {
  const RedisServer evicting({.arguments = {"--maxmemory", "64mb", "--maxmemory-policy",
                                            "allkeys-lru", "--appendfsync", "no"}});
  RedisOptions options;
  options.url = evicting.url();
  const Error error = error_of_opening(options);
  EXPECT_EQ(error.code, "R265") << error.message;
  EXPECT_EQ(error.kind, ErrorKind::kRejected);
  EXPECT_NE(error.message.find("allkeys-lru"), std::string::npos);
  options.accept_eviction = true;
  const auto accepted = open_redis(options);
  ASSERT_TRUE(accepted.has_value());
  EXPECT_TRUE((*accepted)->traits().forgets);
  EXPECT_EQ((*accepted)->facets().held, nullptr) << "a message must not be evicted";
  const Message m =
      test::make_message((*accepted)->attach({"payments", "r", false, {}}).value(), "k");
  const Message* one = &m;
  const Lease lease = std::get<Acquired>((*accepted)->claim({&one, 1}, {}).value().at(0)).lease;
  for (const Finish& refused : {test::dead(lease, &m), test::ack_only(RowTag{})}) {
    EXPECT_EQ((*accepted)->finish({&refused, 1}).error().code, "R267");
  }
  const Finish done = test::completed(lease);
  EXPECT_EQ((*accepted)->finish({&done, 1}).value().front(), Applied::kYes);
  evicting.query("CONFIG SET maxmemory-policy volatile-lru");
  EXPECT_NE(open_redis(options).value()->facets().held, nullptr) << "messages have no expiry";
  evicting.query("CONFIG SET maxmemory-policy noeviction");
  options.accept_eviction = false;
  EXPECT_TRUE(open_redis(options).has_value());
}

TEST(RedisRefusals, AFullServerHandlesNothingAndLosesNothing) {
  const RedisServer small({.arguments = {"--appendfsync", "no"}});
  TestPlace place(small);
  const Message m = place.message("k");
  const Lease lease = place.acquire(m);
  small.query("CONFIG SET maxmemory 1");
  const auto claim = place.try_claim(place.message("other"));
  ASSERT_FALSE(claim.has_value());
  EXPECT_EQ(claim.error().code, "R261") << claim.error().message;
  EXPECT_EQ(claim.error().kind, ErrorKind::kUnavailable);
  const auto finished = place.finish(test::completed(lease));
  ASSERT_FALSE(finished.has_value());
  EXPECT_EQ(finished.error().code, "R261");
  small.query("CONFIG SET maxmemory 0");
  EXPECT_EQ(place.finish(test::completed(lease)).value(), Applied::kYes);
}

TEST(RedisRefusals, AReplica) {
  const RedisServer master(RedisServer::fast());
  const RedisServer replica(
      {.arguments = {"--replicaof", fmt::format("127.0.0.1 {}", master.port()), "--appendfsync",
                     "no"}});
  RedisOptions options;
  options.url = replica.url();
  EXPECT_EQ(error_of_opening(options).code, "R203");
  // One that becomes a replica while it is in use.
  TestPlace place(master);
  master.query(fmt::format("REPLICAOF 127.0.0.1 {}", replica.port()));
  const auto claim = place.try_claim(place.message("k"));
  ASSERT_FALSE(claim.has_value());
  EXPECT_EQ(claim.error().code, "R203") << claim.error().message;
  EXPECT_EQ(claim.error().kind, ErrorKind::kUnavailable);
}

TEST(RedisRefusals, TooFewReplicas) {
  const RedisServer lonely({.arguments = {"--min-replicas-to-write", "1", "--appendfsync", "no"}});
  RedisOptions options;
  options.url = lonely.url();
  const auto store = open_redis(options);
  ASSERT_TRUE(store.has_value());
  const auto number = (*store)->attach({"payments", "r", false, {}});
  ASSERT_FALSE(number.has_value());
  EXPECT_EQ(number.error().code, "R262") << number.error().message;
}

TEST(RedisRefusals, ANegativeNumberOfReplicas) {
  RedisOptions options;
  options.url = shared().url();
  options.wait_replicas = -1;
  const Error error = error_of_opening(options);
  EXPECT_EQ(error.code, "E015");
  EXPECT_EQ(error.kind, ErrorKind::kRejected);
  EXPECT_NE(error.message.find("wait_replicas is -1"), std::string::npos) << error.message;
}

TEST(RedisRefusals, ANodeOfACluster) {
  const RedisServer node({.arguments = {"--cluster-enabled", "yes", "--appendfsync", "no",
                                        "--cluster-port", std::to_string(test::free_port())}});
  RedisOptions options;
  options.url = node.url();
  EXPECT_EQ(error_of_opening(options).code, "R250") << "it has no slot";
  options.url = fmt::format("redis://127.0.0.1:{},127.0.0.1:{}", shared().port(), node.port());
  EXPECT_EQ(error_of_opening(options).code, "R259") << "several that are no Cluster";
  options.url = fmt::format("redis://127.0.0.1:{}/3", node.port());
  EXPECT_EQ(error_of_opening(options).code, "R264") << "it has no other database";
  options.url = fmt::format("redis+unix://{}", node.socket());
  EXPECT_EQ(error_of_opening(options).code, "R264") << "no socket leads to the other nodes";
}

TEST(RedisRefusals, ARightThatIsMissing) {
  const RedisServer locked({.arguments = {"--user", "worker", "on", ">hers", "~semel:*", "+@all",
                                          "-evalsha", "--appendfsync", "no"}});
  RedisOptions options;
  options.url = fmt::format("redis://worker:hers@127.0.0.1:{}", locked.port());
  const auto store = open_redis(options);
  ASSERT_TRUE(store.has_value()) << store.error().message;
  const auto number = (*store)->attach({"payments", "r", false, {}});
  ASSERT_FALSE(number.has_value());
  EXPECT_EQ(number.error().code, "R253") << number.error().message;
}

// The rights that docs/stores/redis.md lists.
constexpr const char* kRights =
    "+info +select +client|setname +evalsha +eval +time +get +mget +set +msetnx +getrange "
    "+setrange +del "
    "+exists +incr +pexpire +pttl +hget +hset +hsetnx +hdel +hlen +hkeys +hgetall +hmget +hexists "
    "+hincrby +zadd +zrem +zrange +zrevrange +zrangebyscore +zrevrangebyscore +zscore +zscan "
    "+zremrangebyscore +sadd +srem +scard";

class RedisRights : public testing::Test {
 protected:
  RedisRights() {
    std::vector<std::string> words = {"ACL",   "SETUSER",  "worker", "on",
                                      ">hers", "~semel:*", "-@all"};
    std::istringstream rights(kRights);
    for (std::string word; rights >> word;) words.push_back(word);
    locked_.run(words);
    RedisOptions options;
    options.url = fmt::format("redis://worker:hers@127.0.0.1:{}", locked_.port());
    store_ = open_redis(options).value();
    consumer_ = store_->attach({"payments", "r", false, 1h}).value();
  }
  Lease acquire(const Message& m) {
    const Message* one = &m;
    return std::get<Acquired>(store_->claim({&one, 1}, {}).value().front()).lease;
  }
  void finish(const Finish& finish) {
    const auto applied = store_->finish({&finish, 1});
    ASSERT_TRUE(applied.has_value()) << applied.error().message;
    EXPECT_EQ(applied->front(), Applied::kYes);
  }

  const RedisServer locked_{{.arguments = {"--appendfsync", "no"}}};
  std::unique_ptr<Store> store_;
  ConsumerNumber consumer_{};
};

TEST_F(RedisRights, AreEnoughForRecordsAndWhatIsHeld) {
  HeldMessages& held = *store_->facets().held;
  const auto line_of = [](const Arrival&) -> std::optional<Bytes> { return "line"; };
  const std::vector<OutgoingMessage> rows(3);
  ASSERT_TRUE(held.append(consumer_, rows).has_value());
  const auto taken = held.take(consumer_, 3, 1 << 20, 60s, line_of);
  ASSERT_TRUE(taken.has_value()) << taken.error().message;
  ASSERT_EQ(taken->size(), 3U);
  const RowTag row = *taken->at(2).row;
  ASSERT_TRUE(held.extend({&row, 1}, 60s).has_value());
  ASSERT_TRUE(held.release({&row, 1}, 0ms).has_value());
  const auto removed = held.remove({&row, 1});
  ASSERT_TRUE(removed.has_value()) << removed.error().message;
  ASSERT_TRUE(held.depth(consumer_).has_value());
  ASSERT_TRUE(held.lines(consumer_).has_value());
  const Message m = test::make_message(consumer_, "k");
  Arrival arrival;
  arrival.line = "line";
  const Follower follower{&m, &arrival};
  EXPECT_EQ(held.hold_behind(consumer_, {&follower, 1}, 1 << 20).value().front(),
            HeldMessages::Place::kHeld);
  finish(test::not_started(acquire(m)));
  finish(test::retrying(acquire(m), 0ms, &m));
  const Lease lease = acquire(m);
  ASSERT_TRUE(store_->renew({&lease, 1}, 60s).has_value());
  Finish done = test::completed(lease);
  done.ack = taken->at(0).row;
  finish(done);
  const Message parked = test::make_message(consumer_, "parked");
  const Lease stepping = acquire(parked);
  for (const char* name : {"first", "second"}) {
    StepEntry entry;
    entry.name = name;
    const auto kept = store_->facets().steps->keep(stepping, entry);
    ASSERT_TRUE(kept.has_value()) << kept.error().message;
  }
  finish(test::parked(stepping, &parked));
  EXPECT_EQ(store_->facets().steps->read(parked.key().id).value().entries.size(), 2U);
  EXPECT_TRUE(store_->facets().steps->give_up(parked.key().id, {"why", "", 1, 0}).value());
}

TEST_F(RedisRights, AreEnoughForDeadLettersAndRuns) {
  DeadLetters& letters = *store_->facets().dead_letters;
  RunMarkers& runs = *store_->facets().runs;
  const Message m = test::make_message(consumer_, "k");
  finish(test::dead(acquire(m), &m));
  const auto listed = letters.list({});
  ASSERT_TRUE(listed.has_value()) << listed.error().message;
  const std::int64_t id = listed->at(0).id;
  LetterEdit edit;
  edit.id = id;
  edit.before = m.fingerprint();
  edit.payload_before = m.payload();
  edit.headers_before = m.headers();
  edit.payload = "other";
  EXPECT_EQ(letters.edit(edit).value(), Edited::kYes);
  EXPECT_TRUE(letters.replaces(m.key().id, "k", edit.fingerprint, edit.before).value());
  EXPECT_EQ(letters.replay({&id, 1}).value().replayed, 1U);
  ForeignLetter foreign;
  foreign.letter = *letters.show(id).value();
  foreign.letter.key = "another";
  EXPECT_EQ(letters.add({&foreign, 1}).value().added, 1U);
  EXPECT_EQ(letters.discard({&id, 1}).value(), 1U);

  const auto begun = runs.begin(consumer_, 1);
  ASSERT_TRUE(begun.has_value()) << begun.error().message;
  EXPECT_EQ(store_->facets().held->take(consumer_, 1, 1 << 20, 60s).value().size(), 1U);
  locked_.run({"EVAL", "redis.call('DEL', unpack(redis.call('KEYS', ARGV[1])))", "0",
               "semel:{store}alive:*"});
  RedisOptions options;
  options.url = fmt::format("redis://worker:hers@127.0.0.1:{}", locked_.port());
  const auto other = open_redis(options).value();
  const auto after = other->facets().runs->begin(consumer_, 1);
  ASSERT_TRUE(after.has_value()) << after.error().message;
  EXPECT_TRUE(after->unclean);
  const KeyId& key = m.key().id;
  EXPECT_EQ(runs.crashes({&key, 1}).value(), std::vector<std::optional<int>>{0});
  for (const CrashChange& change : {CrashChange{key, 0, 0, 1}, CrashChange{key, 1, 1, 0}}) {
    EXPECT_EQ(runs.change_crashes({&change, 1}).value(), std::vector{change.to});
  }
  EXPECT_TRUE(runs.sweep().has_value());
  EXPECT_TRUE(runs.end(consumer_).has_value());
}

// In addition, for people who run the program and its commands.
constexpr const char* kProgramRights =
    "+hscan +scan +sismember +memory|usage +config|get +client|id +client|list";

TEST_F(RedisRights, OfTheProgramAreSomeMore) {
  const StoreFacets facets = store_->facets();
  EXPECT_EQ(facets.records->list({}, {}, 10).error().code, "R253");
  EXPECT_EQ(facets.live->settings()->back().value, "not known");
  EXPECT_TRUE(facets.positions->reserve(consumer_, "a").has_value()) << "by its expiry alone";
  std::vector<std::string> words = {"ACL", "SETUSER", "worker"};
  std::istringstream rights(kProgramRights);
  for (std::string word; rights >> word;) words.push_back(word);
  locked_.run(words);
  const Message m = test::make_message(consumer_, "k");
  finish(test::dead(acquire(m), &m));
  EXPECT_EQ(facets.records->list({}, {}, 10)->size(), 1U);
  EXPECT_TRUE(facets.records->unlock(m.key().id).value());
  const auto verified = facets.records->verify(true);
  EXPECT_TRUE(verified.has_value()) << (verified ? "" : verified.error().message);
  EXPECT_TRUE(facets.records->stats().has_value());
  EXPECT_TRUE(facets.records->forget(m.key().id).value());
  EXPECT_TRUE(facets.positions->save(consumer_, "a", "1").has_value());
  EXPECT_EQ(facets.positions->load(consumer_, "a").value(), "1");
  EXPECT_TRUE(facets.positions->reserve(consumer_, "a").has_value());
  EXPECT_TRUE(facets.gates->shut(consumer_, "why", 1s).has_value());
  EXPECT_TRUE(facets.gates->resume(consumer_).value());
  EXPECT_EQ(facets.live->settings()->back().value, "no");
}

TEST(RedisRefusals, SomethingElseUnderARecordsName) {
  TestPlace place(shared());
  const Message list = place.message("list");
  const Message text = place.message("text");
  const Message newer = place.message("newer");
  const Message fine = place.message("fine");
  place.server().run({"LPUSH", place.name(list), "x"});
  place.server().run({"SET", place.name(text), "x"});
  place.server().run({"SET", place.name(newer), "\x03"});
  EXPECT_EQ(place.try_claim(list).error().code, "R263");
  EXPECT_EQ(place.try_claim(text).error().code, "R202");
  EXPECT_EQ(place.try_claim(newer).error().code, "R210");
  const Message* both[] = {&fine, &list};
  EXPECT_EQ(place.store().claim(both, {}).error().code, "R263");
  EXPECT_EQ(place.server().run({"EXISTS", place.name(fine)}), "0") << "nothing was claimed";
}

// A batch of several calls, of which the server refuses one.
TEST(RedisRefusals, WhatOtherCallsOfARefusedClaimHaveTakenIsFreeAgain) {
  TestPlace place(shared());
  const auto messages = test::make_messages(place.consumer(), "k", 300);
  const Message& last = messages.back();
  const auto pointers = test::pointers(messages);
  place.acquire(messages.front(), 0ms);
  for (const auto& [code, words] : std::map<std::string, std::vector<std::string>>{
           {"R263", {"LPUSH", place.name(last), "x"}}, {"R202", {"SET", place.name(last), "x"}}}) {
    place.server().run({"DEL", place.name(last)});
    place.server().run(words);
    EXPECT_EQ(place.store().claim(pointers, {}).error().code, code);
    TestPlace other(place.server(), place);
    const std::vector<const Message*> taken(pointers.begin(), pointers.end() - 1);
    const auto claims = other.store().claim(taken, {}).value();
    std::vector<Finish> ends;
    for (std::size_t i = 0; i < claims.size(); ++i) {
      const auto* acquired = std::get_if<Acquired>(&claims[i]);
      ASSERT_NE(acquired, nullptr) << code << " " << i << ": nobody handles it";
      EXPECT_EQ(acquired->attempt, i == 0 ? 2 : 1) << i;
      ends.push_back(test::not_started(acquired->lease));
    }
    ASSERT_TRUE(other.store().finish(ends).has_value());
  }
}

// A row that met its record: the record decides where the row goes.
TEST(RedisRefusals, AMetRowWhoseRecordANewerSemelHasWrittenChangesNothing) {
  TestPlace place(shared());
  const Message fine = place.message("fine"), newer = place.message("newer");
  ASSERT_EQ(place.finish(test::retrying(place.acquire(newer), 0ms, &newer)).value(), Applied::kYes);
  const auto taken = place.store().facets().held->take(place.consumer(), 10, 1 << 20, 60s).value();
  ASSERT_EQ(taken.size(), 1U);
  place.server().run({"SETRANGE", place.name(newer), "0", "\3"});
  const Finish first = test::retrying(place.acquire(fine), 0ms, &fine);
  const auto refused =
      place.store().finish(std::vector<Finish>{first, test::ack_only(*taken.front().row)});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, "R210") << refused.error().message;
  EXPECT_EQ(place.finish(first).value(), Applied::kYes) << "it was ended";
}

// The row or the letter of the second record cannot be read: the first is not ended either.
TEST(RedisRefusals, AFinishThatMeetsWhatANewerSemelHasWrittenChangesNothing) {
  using To = Finish::To;
  for (const To to : {To::kRetrying, To::kParked, To::kDead, To::kCompleted}) {
    for (const bool letter : {false, true}) {
      if (letter && to != To::kDead) continue;
      SCOPED_TRACE(fmt::format("{} {}", static_cast<int>(to), letter));
      TestPlace place(shared());
      const Message fine = place.message("fine"), newer = place.message("newer");
      const Finish before = letter ? test::dead(place.acquire(newer), &newer)
                                   : test::retrying(place.acquire(newer), 0ms, &newer);
      ASSERT_EQ(place.finish(before).value(), Applied::kYes);
      if (letter) {
        ASSERT_TRUE(place.store().facets().records->unlock(newer.key().id).value());
      }
      Finish end = test::completed(place.acquire(newer));
      end.to = to;
      end.keep = letter || to == To::kRetrying ? &newer : nullptr;
      const Names names(place.prefix());
      place.server().run({"EVAL",
                          "for _, name in ipairs(redis.call('KEYS', ARGV[1])) do "
                          "for _, field in ipairs(redis.call('HKEYS', name)) do "
                          "if field == 'm' or ARGV[2] == '0' then "
                          "redis.call('HSET', name, field, '\\2') end end end",
                          "0", letter ? names.of_store("letter:*") : place.prefix() + "{h*}m",
                          letter ? "1" : "0"});
      const Lease lease = place.acquire(fine);
      const std::vector<Finish> batch = {test::retrying(lease, 0ms, &fine), end};
      const auto refused = place.store().finish(batch);
      ASSERT_FALSE(refused.has_value());
      EXPECT_EQ(refused.error().code, "R210") << refused.error().message;
      EXPECT_EQ(refused.error().kind, ErrorKind::kRejected);
      EXPECT_EQ(place.finish(batch.front()).value(), Applied::kYes) << "it was ended";
    }
  }
}

TEST(RedisRefusals, ABraceInThePrefix) {
  RedisOptions options;
  options.url = shared().url();
  options.prefix = "{all}:";
  EXPECT_EQ(error_of_opening(options).kind, ErrorKind::kRejected);
}

TEST(RedisTraits, TellWhetherTheServerKeepsALog) {
  TestPlace place(shared());
  EXPECT_TRUE(place.store().traits().durable);
  EXPECT_FALSE(place.store().traits().forgets);
  const RedisServer unlogged({.arguments = {"--appendonly", "no"}});
  RedisOptions options;
  options.url = unlogged.url();
  EXPECT_FALSE((*open_redis(options))->traits().durable);
}

}  // namespace
}  // namespace semel::redis
