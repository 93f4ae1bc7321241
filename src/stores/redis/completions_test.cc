// Completions with their rows, and the rows that are taken for them: in an unusual case nothing is
// changed, and the general scripts end it.
#include "stores/redis/completions.h"

#include <fmt/format.h>

#include <semel/spi/held_messages.h>

#include "stores/redis/held_rows.h"
#include "stores/redis/store_context.h"
#include "stores/redis/test_place.h"

namespace semel::redis {
namespace {

class CompletionsOnRedis : public testing::Test {
 protected:
  HeldMessages& held() { return *place_.store().facets().held; }
  static std::optional<Bytes> first_letter(const Arrival& arrival) {
    return arrival.type.empty() ? arrival.payload.substr(0, 1) : arrival.type;
  }
  // In lines named by their first letters.
  void append(const std::vector<Bytes>& payloads, const Bytes& type = {}) {
    std::vector<OutgoingMessage> messages(payloads.size());
    for (std::size_t i = 0; i < payloads.size(); ++i) {
      messages[i].payload = payloads[i];
      messages[i].type = type;
    }
    ASSERT_TRUE(held().append(place_.consumer(), messages).has_value());
  }
  std::vector<Arrival> take(std::size_t most = 100) {
    return held().take(place_.consumer(), most, 64 << 20, 60s, first_letter).value();
  }
  // Leaves the rows of a line as another process, which has taken none of them, leaves them:
  // behind.
  void meet_as_another() {
    place_.open();
    ASSERT_TRUE(take().empty());
  }
  std::size_t rows() { return held().depth(place_.consumer()).value().rows; }
  Finish completed(const Arrival& arrival, BytesView key) {
    Finish finish = test::completed(place_.acquire(place_.message(key)));
    finish.ack = arrival.row;
    return finish;
  }
  std::vector<Finish> all_completed(const std::vector<Arrival>& taken) {
    std::vector<Finish> batch;
    for (const Arrival& arrival : taken) {
      batch.push_back(completed(arrival, fmt::format("key {}", batch.size())));
    }
    return batch;
  }
  // The answer of the script.
  std::string said(const std::vector<Finish>& batch) {
    const Completions completions(context_.names, batch, {});
    return context_.run(context_.scripts.complete_rows, completions.calls(), Loss::kInDoubt)
        .front()
        .bytes;
  }
  // Overwrites bytes of a row's head, from `at` on.
  void write_head(const Arrival& arrival, const std::string& at, const std::string& bytes) {
    const RowPlace place = *place_of(*arrival.row);
    place_.server().run({"EVAL",
                         "local head = redis.call('HGET', KEYS[1], ARGV[1]) redis.call('HSET', "
                         "KEYS[1], ARGV[1], string.sub(head, 1, ARGV[2]) .. ARGV[3] .. "
                         "string.sub(head, ARGV[2] + 1 + #ARGV[3]))",
                         "1", context_.names.lane(place_.consumer(), place.lane) + "m",
                         place.number_text(), at, bytes});
  }
  void make_newer(const Arrival& arrival) { write_head(arrival, "0", "\x02"); }
  // Everything stored under the prefix.
  std::string everything() {
    return place_.server().run(
        {"EVAL",
         "local all = redis.call('KEYS', ARGV[1]) table.sort(all) for i, key in ipairs(all) do "
         "all[i] = key .. redis.sha1hex(redis.call('DUMP', key)) end return table.concat(all, ' ')",
         "0", place_.prefix() + "*"});
  }
  void expect_refused_as_newer(const std::vector<Finish>& batch) {
    const std::string before = everything();
    EXPECT_EQ(said(batch), "h");
    const auto applied = place_.store().finish(batch);
    ASSERT_FALSE(applied.has_value());
    EXPECT_EQ(applied.error().code, "R210") << applied.error().message;
    EXPECT_EQ(everything(), before);
  }
  // The short script does not end them, and they are ended nevertheless.
  void expect_harder(const std::vector<Finish>& batch) {
    const std::string before = everything();
    EXPECT_EQ(said(batch), "h");
    EXPECT_EQ(everything(), before);
    EXPECT_EQ(place_.store().finish(batch).value(), std::vector(batch.size(), Applied::kYes));
    EXPECT_EQ(rows(), 0U);
  }

  TestPlace place_{shared()};
  StoreContext context_{system_environment(),
                        {target_of(shared().url()), place_.prefix(), false, 1, {}},
                        kServerClock};
};

TEST_F(CompletionsOnRedis, RowsGoWithTheirRecordsOrAlone) {
  append({"a1", "b1", "a2", "c1"});
  const auto taken = take();
  ASSERT_EQ(taken.size(), 4U);
  std::vector<Finish> batch = all_completed({taken[0], taken[1]});
  batch.push_back(test::ack_only(*taken[2].row));
  batch.push_back(completed(taken[3], "c"));
  EXPECT_EQ(said(batch), "111");
  EXPECT_EQ(rows(), 0U);
  EXPECT_TRUE(held().lines(place_.consumer()).value().empty());
  for (const char* key : {"key 0", "key 1", "c"}) {
    EXPECT_TRUE(std::holds_alternative<Completed>(place_.try_claim(place_.message(key)).value()));
  }
}

TEST_F(CompletionsOnRedis, ResultsAreKept) {
  append({"a1"});
  const auto taken = take();
  Finish finish = completed(taken[0], "k");
  finish.result = "the result";
  ASSERT_EQ(place_.finish(finish).value(), Applied::kYes);
  const Claim claim = place_.try_claim(place_.message("k")).value();
  EXPECT_EQ(std::get<Completed>(claim).result, "the result");
}

TEST_F(CompletionsOnRedis, TheNextOfALineShows) {
  append({"a1", "a2", "a3"});
  const auto taken = take(1);
  ASSERT_EQ(taken.size(), 1U);
  meet_as_another();
  EXPECT_EQ(said({completed(taken[0], "k")}), "1");
  const auto next = take(1);
  ASSERT_EQ(next.size(), 1U);
  EXPECT_EQ(next[0].payload, "a2");
}

TEST_F(CompletionsOnRedis, WhereSeveralOfALineGoTheNextOfTheRestShows) {
  append({"a1", "a2", "a3", "a4"});
  const auto taken = take(2);
  ASSERT_EQ(taken.size(), 2U);
  meet_as_another();
  EXPECT_EQ(said(all_completed(taken)), "11");
  const auto next = take();
  ASSERT_EQ(next.size(), 2U);
  EXPECT_EQ(next[0].payload, "a3");
}

TEST_F(CompletionsOnRedis, APayloadMayBeEmpty) {
  append({"", "", ""}, "a");
  const auto taken = take();
  ASSERT_EQ(taken.size(), 3U);
  EXPECT_EQ(said({completed(taken[0], "first")}), "1");
  EXPECT_EQ(said({completed(taken[1], "second"), completed(taken[2], "third")}), "11");
  EXPECT_TRUE(held().lines(place_.consumer()).value().empty());
}

TEST_F(CompletionsOnRedis, ARowThatIsGoneOrNamedTwiceIsNoHindrance) {
  append({"a1", "a2", "a3"});
  const auto taken = take();
  ASSERT_TRUE(held().remove({&*taken[0].row, 1}).has_value());
  const std::vector<Finish> batch = {completed(taken[0], "one"), completed(taken[1], "two"),
                                     test::ack_only(*taken[1].row)};
  EXPECT_EQ(said(batch), "11");
  EXPECT_EQ(rows(), 1U);
  ASSERT_TRUE(held().remove({&*taken[2].row, 1}).has_value());
  EXPECT_TRUE(held().lines(place_.consumer()).value().empty());
}

TEST_F(CompletionsOnRedis, ALostLeaseChangesNothingButHoldsUpNobody) {
  append({"a1", "b1", "c1"});
  const auto taken = take();
  std::vector<Finish> batch = all_completed(taken);
  ASSERT_EQ(place_.finish(test::not_started(*batch[1].lease)).value(), Applied::kYes);
  EXPECT_EQ(said(batch), "101");
  EXPECT_EQ(rows(), 1U);
  EXPECT_EQ(place_.store().finish({&batch[1], 1}).value().front(), Applied::kLeaseLost);
  EXPECT_EQ(rows(), 1U);
}

TEST_F(CompletionsOnRedis, ALeaseEndsOnceInACall) {
  append({"a1", "b1"});
  const auto taken = take();
  Finish first = completed(taken[0], "k"), second = first;
  second.ack = taken[1].row;
  EXPECT_EQ(said({first, second}), "10");
  EXPECT_EQ(rows(), 1U) << "the row of what was not applied";
}

TEST_F(CompletionsOnRedis, ANewerRowAmongThemChangesNothing) {
  append({"a1", "b1", "c1"});
  const auto taken = take();
  const auto batch = all_completed(taken);
  make_newer(taken[1]);
  expect_refused_as_newer(batch);
}

TEST_F(CompletionsOnRedis, ANewerRowThatWouldShowChangesNothing) {
  append({"a1", "a2", "a3"});
  const auto taken = take();
  const auto batch = all_completed({taken[0], taken[1]});
  make_newer(taken[2]);
  expect_refused_as_newer(batch);
}

TEST_F(CompletionsOnRedis, ARowThatItsRecordKnowsOfIsHarder) {
  append({"a1"});
  const Message m = test::make_message(place_.consumer(), "k", "a1");
  Arrival arrival = take().at(0);
  Finish again = test::retrying(place_.acquire(m), 0ms, &m);
  again.ack = arrival.row;
  again.arrival = &arrival;
  ASSERT_EQ(place_.finish(again).value(), Applied::kYes);
  arrival = take().at(0);
  Finish finish = test::completed(place_.acquire(m));
  finish.ack = arrival.row;
  expect_harder({finish});
}

TEST_F(CompletionsOnRedis, AParkedRowIsHarder) {
  append({"-"});
  const auto taken = take();
  const std::vector<Finish> batch = all_completed(taken);
  const RowPlace place = *place_of(*taken[0].row);
  const std::string lane = context_.names.lane(place_.consumer(), place.lane);
  write_head(taken[0], "1", "\x2a");  // taken, parked, in a line
  place_.server().run({"ZREM", lane + "d", place.number_text()});
  place_.server().run({"SADD", lane + "p", place.number_text()});
  expect_harder(batch);
}

TEST_F(CompletionsOnRedis, WhatCannotBeReadChangesNothing) {
  append({"a1", "b1"});
  const auto taken = take();
  const auto batch = all_completed(taken);
  place_.server().run({"DEL", place_.name(place_.message("key 1"))});
  place_.server().run({"SADD", place_.name(place_.message("key 1")), "no record"});
  const std::string before = everything();
  EXPECT_FALSE(place_.store().finish(batch).has_value());
  EXPECT_EQ(everything(), before);
}

TEST_F(CompletionsOnRedis, ManyGoInSeveralCalls) {
  constexpr std::size_t kMany = kMostKeys + 50;
  std::vector<Bytes> payloads;
  for (std::size_t i = 0; i < kMany; ++i) payloads.push_back(fmt::format("{}{}", "abc"[i % 3], i));
  append(payloads);
  const auto taken = take(kMany);
  ASSERT_EQ(taken.size(), kMany);
  std::vector<Finish> batch = all_completed(taken);
  ASSERT_EQ(place_.finish(test::not_started(*batch.back().lease)).value(), Applied::kYes);
  auto expected = std::vector(kMany, Applied::kYes);
  expected.back() = Applied::kLeaseLost;
  EXPECT_EQ(place_.store().finish(batch).value(), expected);
  EXPECT_EQ(rows(), 1U);
}

class TakesOnRedis : public CompletionsOnRedis {
 protected:
  Call about(const std::vector<Bytes>& more) {
    Call call;
    call.keys = {context_.names.last_row(place_.consumer())};
    call.arguments = {place_.prefix(),
                      std::to_string(static_cast<std::uint32_t>(place_.consumer()))};
    for (const Bytes& word : more) call.arguments.push_back(word);
    return call;
  }
  std::vector<Reply> look(const std::string& most, const std::string& most_bytes) {
    return context_.run_one(context_.scripts.look, about({most, most_bytes}), Loss::kNothingDone)
        .list;
  }
  // Takes all looked-at rows into one line.
  std::vector<Reply> take_named(const std::vector<Reply>& looked) {
    std::vector<Bytes> words = {"somebody", "100", "1000000", "60000", "1", ""};
    for (std::size_t at = 1; at + 3 < looked.size(); at += 4) {
      words.push_back(std::to_string(looked[at].number));
      words.push_back(looked[at + 1].bytes);
      words.push_back("1a");
      words.push_back(std::to_string(lane_of_line("a")));
    }
    return context_.run_one(context_.scripts.take, about(words), Loss::kInDoubt).list;
  }
};

TEST_F(TakesOnRedis, ALookHasItsMeasureInRowsAndBytes) {
  append({Bytes(4000, 'a'), Bytes(4000, 'a'), Bytes(4000, 'a'), Bytes(4000, 'a')});
  EXPECT_EQ(look("3", "1000000").size(), 1U + 3 * 4);
  EXPECT_EQ(look("100", "9000").size(), 1U + 2 * 4);
  EXPECT_EQ(look("100", "1").size(), 1U + 4) << "the first, however large it is";
  std::vector<OutgoingMessage> wide(3);
  for (OutgoingMessage& one : wide) one.headers = {{"much", Bytes(4000, 'h')}};
  ASSERT_TRUE(held().append(place_.consumer(), wide).has_value());
  EXPECT_EQ(look("100", "21000").size(), 1U + 5 * 4) << "headers count as payloads do";
}

TEST_F(TakesOnRedis, WhatWasLookedAtIsNotSentAgain) {
  append({"a1", "a2"});
  const auto taken = take_named(look("100", "1000000"));
  ASSERT_EQ(taken.size(), 4U);
  EXPECT_EQ(taken[2].number, -9);
  EXPECT_EQ(taken[3].number, -13);
}

TEST_F(TakesOnRedis, WhatSomebodyElseMetSinceTheLookIsLeftAlone) {
  append({"a1", "a2"});
  const auto looked = look("100", "1000000");
  const auto taken = take(1);
  ASSERT_EQ(taken.size(), 1U);
  const auto others = take_named(looked);
  ASSERT_EQ(others.size(), 2U) << "a2 stands behind a1, which somebody else has";
  EXPECT_EQ(said({completed(taken[0], "k")}), "1");
  EXPECT_EQ(take().at(0).payload, "a2");
}

TEST_F(TakesOnRedis, WhatComesAgainStandsBeforeWhatIsNewOfItsLine) {
  append({"a1"});
  const Arrival arrival = take().at(0);
  append({"a2", "a3"});
  std::this_thread::sleep_for(2ms);
  // It is due after those behind it, and by then they all are.
  ASSERT_TRUE(held().release({&*arrival.row, 1}, 1ms).has_value());
  std::this_thread::sleep_for(3ms);
  const auto taken = take();
  ASSERT_EQ(taken.size(), 3U);
  EXPECT_EQ(taken[0].payload, "a1");
  EXPECT_EQ(taken[1].payload, "a2");
  EXPECT_EQ(taken[2].payload, "a3");
  EXPECT_EQ(said(all_completed(taken)), "111");
  EXPECT_EQ(rows(), 0U);
}

TEST_F(TakesOnRedis, ANewerRowAmongThemIsTakenByNobody) {
  append({"a1", "b1", "c1"});
  const auto taken = take();
  for (const Arrival& arrival : taken) {
    ASSERT_TRUE(held().release({&*arrival.row, 1}, 0ms).has_value());
  }
  append({"a2"});
  make_newer(taken[2]);
  const std::string before = everything();
  const auto refused = held().take(place_.consumer(), 100, 1 << 20, 60s, first_letter);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, "R210") << refused.error().message;
  EXPECT_EQ(everything(), before);
}

TEST_F(TakesOnRedis, RowsOfOneLaneComeOldestFirstWithThoseOfAll) {
  std::vector<Bytes> payloads;
  for (int i = 0; i < 300; ++i) payloads.push_back(fmt::format("{:03}", i));
  append(payloads);
  const auto unordered = [&](std::size_t most) {
    return held().take(place_.consumer(), most, 1 << 20, 60s).value();
  };
  int next = 0;
  for (const std::size_t most : {7U, 100U, 256U}) {
    for (const Arrival& arrival : unordered(most)) {
      EXPECT_EQ(arrival.payload, fmt::format("{:03}", next));
      ++next;
    }
  }
  EXPECT_EQ(next, 300);
}

}  // namespace
}  // namespace semel::redis
