// Entries of streams that a finish acknowledges: which ones, and that a record never depends on it.
#include "stores/redis/settled_entries.h"

#include <fmt/format.h>

#include <semel/spi/held_messages.h>

#include "clients/redis/connection.h"
#include "stores/redis/test_place.h"
#include "tests/support/redis_stream.h"

namespace semel::redis {
namespace {

class SettledEntries : public testing::Test {
 protected:
  SettledEntries() { stream_.make_group(); }

  std::string command(const std::vector<std::string>& words) { return server_.run(words); }
  std::shared_ptr<const StreamGroup> group_of(const test::RedisStream& stream,
                                              unsigned database = 0) {
    return std::make_shared<StreamGroup>(
        StreamGroup{info_field(command({"INFO", "server"}), "run_id"), database, stream.name(),
                    test::RedisStream::group()});
  }
  // Adds an entry, and delivers it to a member of the group.
  static Arrival delivered(const test::RedisStream& stream,
                           std::shared_ptr<const StreamGroup> group) {
    const std::string id = stream.add_fields({"payload", "{}"});
    stream.run({"XREADGROUP", "GROUP", test::RedisStream::group(), "member", "STREAMS",
                stream.name(), ">"});
    const auto dash = id.find('-');
    Arrival arrival;
    arrival.entry = {std::move(group), std::stoull(id.substr(0, dash)),
                     std::stoull(id.substr(dash + 1))};
    return arrival;
  }
  Arrival delivered() const { return delivered(stream_, group_); }
  Lease lease(BytesView key) { return place_.acquire(place_.message(key)); }
  Applied finish(const Finish& finish, const Arrival& arrival) {
    return place_.finish(settling(finish, arrival)).value();
  }
  static Finish settling(Finish finish, const Arrival& arrival) {
    finish.settles = &arrival;
    return finish;
  }

  const test::RedisServer& server_ = test::RedisServer::shared();
  TestPlace place_{server_};
  const test::RedisStream stream_{[this](const auto& words) { return command(words); },
                                  place_.prefix() + "stream"};
  const std::shared_ptr<const StreamGroup> group_ = group_of(stream_);
};

TEST_F(SettledEntries, AreAcknowledgedByEachScript) {
  const Arrival done = delivered();
  EXPECT_EQ(finish(test::completed(lease("done")), done), Applied::kYesSettled);
  EXPECT_EQ(stream_.pending(), 0);

  const Message waits = place_.message("waits");
  const Arrival kept = delivered();
  EXPECT_EQ(finish(test::retrying(lease("waits"), 1h, &waits), kept), Applied::kYesSettled);
  EXPECT_EQ(stream_.pending(), 0);

  const Message bad = place_.message("bad");
  const Arrival dead = delivered();
  EXPECT_EQ(finish(test::dead(lease("bad"), &bad), dead), Applied::kYesSettled);
  EXPECT_EQ(stream_.pending(), 0);

  // Without a record, as a message that cannot be read.
  const Arrival refused = delivered();
  Finish letter;
  letter.to = Finish::To::kDead;
  letter.keep = &bad;
  letter.arrival = &refused;
  EXPECT_EQ(finish(letter, refused), Applied::kYesSettled);
  EXPECT_EQ(stream_.pending(), 0);
}

TEST_F(SettledEntries, ABatchSettlesThoseThatItNamesAndApplies) {
  const std::size_t several_calls = kMostKeys + 50;
  std::vector<Arrival> arrivals;
  std::vector<Finish> batch;
  for (std::size_t i = 0; i < several_calls; ++i) {
    arrivals.push_back(delivered());
    batch.push_back(test::completed(lease(fmt::format("key {}", i))));
  }
  for (std::size_t i = 0; i < several_calls; ++i) batch[i].settles = &arrivals[i];
  batch[7].settles = nullptr;
  batch[8].lease->nonce.bytes[0] ^= 1U;
  batch[kMostKeys + 3].lease->nonce.bytes[0] ^= 1U;
  const auto applied = place_.store().finish(batch).value();
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const bool lost = i == 8 || i == kMostKeys + 3;
    const Applied settled = i == 7 ? Applied::kYes : Applied::kYesSettled;
    EXPECT_EQ(applied[i], lost ? Applied::kLeaseLost : settled) << i;
  }
  EXPECT_EQ(stream_.pending(), 3);
}

// Held messages and entries in one batch: the script for completions with rows.
TEST_F(SettledEntries, StandNextToRows) {
  HeldMessages& held = *place_.store().facets().held;
  std::vector<OutgoingMessage> queued(1);
  queued[0].payload = "queued";
  ASSERT_TRUE(held.append(place_.consumer(), queued).has_value());
  const auto taken = held.take(place_.consumer(), 10, 1 << 20, 60s, {}).value();
  ASSERT_EQ(taken.size(), 1U);
  const Arrival first = delivered(), second = delivered(), third = delivered();
  std::vector<Finish> batch = {test::completed(lease("a")), test::completed(lease("row")),
                               test::completed(lease("b")), Finish()};
  batch[0].settles = &first;
  batch[1].ack = taken[0].row;
  batch[2].settles = &second;
  batch[2].lease->nonce.bytes[0] ^= 1U;
  batch[3].settles = &third;  // completed, without a record
  const auto applied = place_.store().finish(batch).value();
  EXPECT_EQ(applied,
            (std::vector{Applied::kYesSettled, Applied::kYes, Applied::kLeaseLost, Applied::kYes}));
  EXPECT_EQ(stream_.pending(), 1) << "the one whose lease was lost";
  EXPECT_EQ(held.depth(place_.consumer()).value().rows, 0U);
}

TEST_F(SettledEntries, AreOfSeveralGroupsAndStreams) {
  const test::RedisStream other([this](const auto& words) { return command(words); },
                                place_.prefix() + "other");
  other.make_group();
  const Arrival here = delivered(), there = delivered(other, group_of(other)), after = delivered();
  const std::vector<Finish> batch = {settling(test::completed(lease("a")), here),
                                     settling(test::completed(lease("b")), there),
                                     settling(test::completed(lease("c")), after)};
  EXPECT_EQ(place_.store().finish(batch).value(), std::vector(3, Applied::kYesSettled));
  EXPECT_EQ(stream_.pending(), 0);
  EXPECT_EQ(other.pending(), 0);
}

TEST_F(SettledEntries, StayPendingWhereNothingIsOver) {
  const Arrival arrival = delivered();
  Lease lost = lease("lost");
  lost.nonce.bytes[0] ^= 1U;
  EXPECT_EQ(finish(test::completed(lost), arrival), Applied::kLeaseLost);
  EXPECT_EQ(finish(test::not_started(lease("again")), arrival), Applied::kYes);
  EXPECT_EQ(stream_.pending(), 1);
}

// The record is made, and its source acknowledges.
TEST_F(SettledEntries, AreLeftToTheSourceWhereTheServerHasNotThem) {
  const Arrival elsewhere = delivered(stream_, group_of(stream_, 1));
  EXPECT_EQ(finish(test::completed(lease("other database")), elsewhere), Applied::kYes);
  auto old_life = std::make_shared<StreamGroup>(*group_);
  old_life->server[0] = old_life->server[0] == '0' ? '1' : '0';
  const Arrival before = delivered(stream_, old_life);
  EXPECT_EQ(finish(test::completed(lease("other run")), before), Applied::kYes);
  EXPECT_EQ(stream_.pending(), 2);
}

TEST_F(SettledEntries, ThatCannotBeAcknowledgedKeepNoRecordBack) {
  const Arrival arrival = delivered();
  command({"DEL", stream_.name()});
  EXPECT_EQ(finish(test::completed(lease("no stream")), arrival), Applied::kYes);
  command({"SET", stream_.name(), "a text"});
  EXPECT_EQ(finish(test::completed(lease("no stream any more")), arrival), Applied::kYes);
  const Message message = place_.message("kept");
  EXPECT_EQ(finish(test::retrying(lease("kept"), 1h, &message), arrival), Applied::kYes);
  for (const auto* key : {"no stream", "no stream any more"}) {
    const auto claim = place_.try_claim(place_.message(key)).value();
    EXPECT_TRUE(std::holds_alternative<Completed>(claim)) << key;
  }
}

TEST_F(SettledEntries, OfAnOlderCallAreNotTouchedWhenItIsSentAgain) {
  const Arrival arrival = delivered();
  const Finish done = test::completed(lease("key"));
  EXPECT_EQ(finish(done, arrival), Applied::kYesSettled);
  EXPECT_EQ(finish(done, arrival), Applied::kLeaseLost);
}

}  // namespace
}  // namespace semel::redis
