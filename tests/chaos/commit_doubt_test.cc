// The connection is cut during a commit: the next claim finds out whether it took effect.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include <semel/spi/held_messages.h>
#include <semel/spi/unit_of_work.h>

#include "tests/chaos/commit_fault.h"
#include "tests/chaos/test_bed.h"
#include "tests/support/builders.h"
#include "tests/support/waiting.h"

namespace semel::test {
namespace {

// A unit that has claimed this one message.
struct Claimed {
  std::unique_ptr<UnitOfWork> unit;
  Claim claim;

  bool acquired() const { return std::holds_alternative<Acquired>(claim); }
  bool completed() const { return std::holds_alternative<Completed>(claim); }
};

// Repeated when the store says so, as the strategies do.
Claimed claim_in_unit(Store& store, const Message& message) {
  const Message* const one = &message;
  for (int tries = 1;; ++tries) {
    auto unit = store.facets().transactional->begin({});
    if (unit) {
      auto claims = (*unit)->claim({&one, 1});
      if (claims) return {*std::move(unit), std::move(claims->front())};
    }
    constexpr int kMost = 4;
    if (tries == kMost) {
      ADD_FAILURE() << "it cannot be claimed";
      return {nullptr, Busy{}};
    }
  }
}

// Up to its commit.
Claimed worked(Store& store, const Message& message) {
  Claimed claimed = claim_in_unit(store, message);
  if (!claimed.acquired()) return claimed;
  RecordedStatement effect;
  effect.statement = admit_statement("INSERT INTO effect(name) VALUES (?)").value();
  effect.values = {Value(message.key().text)};
  claimed.unit->run(0, {effect});
  EXPECT_TRUE(claimed.unit->flush().has_value());
  const Finish done = completed(std::get<Acquired>(claimed.claim).lease);
  EXPECT_TRUE(claimed.unit->finish({&done, 1}).has_value());
  return claimed;
}

TEST(CommitDoubt, EffectsHappenOnceAndTheNextClaimTellsWhether) {
  using Then = TcpProxy::Then;
  const int doubts = static_cast<int>(24 * soak_factor());
  TcpProxy proxy(shared_server().port());
  const auto database = make_database_on_shared(proxy.port());
  database->sql()->rows("CREATE TABLE effect (name VARCHAR(200))");
  const auto store = database->open_at_place();
  const ConsumerNumber consumer = store->attach({"payments", "recipe", false, {}}).value();
  int round = 0, doubtful = 0, committed = 0;
  for (; doubtful < doubts; ++round) {
    const std::string name = fmt::format("m{}", round);
    const Message m = make_message(consumer, name);
    proxy.cut_all();
    constexpr Then kThens[] = {Then::kWithhold, Then::kLose, Then::kCut};
    const Then then = kThens[static_cast<std::size_t>(round) % std::size(kThens)];
    const CommitFault fault(proxy, then);
    Claimed held = worked(*store, m);
    ASSERT_TRUE(held.acquired());
    const auto answer = held.unit->commit();
    held.unit.reset();
    ASSERT_EQ(fault.fired(), 1U) << "the fault did not fire";
    proxy.clear();
    if (answer) {
      ASSERT_EQ(then, Then::kCut) << "the answer came through";
      continue;
    }
    EXPECT_EQ(answer.error().kind, ErrorKind::kInDoubt) << answer.error().message;
    ++doubtful;

    Claimed again = worked(*store, m);
    const bool done = again.completed();
    EXPECT_EQ(
        database->sql()->rows("SELECT count(*) FROM effect WHERE name = '" + name + "'")[0][0],
        done ? "1" : "0");
    if (then == Then::kWithhold) {
      EXPECT_TRUE(done);
    }
    if (then == Then::kLose) {
      EXPECT_FALSE(done);
    }
    committed += done ? 1 : 0;
    if (done) continue;
    ASSERT_TRUE(again.acquired());
    ASSERT_TRUE(again.unit->commit().has_value());
  }
  fmt::print("of {} commits in doubt {} had happened\n", doubtful, committed);
  EXPECT_GT(committed, 0);
  EXPECT_LT(committed, doubtful);
  const auto counts = database->sql()->rows("SELECT count(*), count(DISTINCT name) FROM effect")[0];
  EXPECT_EQ(counts[0], std::to_string(round));
  EXPECT_EQ(counts[1], std::to_string(round));
}

TEST(CommitDoubt, AClaimWhoseAnswerIsLostIsSaidAgain) {
  using Then = TcpProxy::Then;
  TcpProxy proxy(shared_server().port());
  const auto database = make_database_on_shared(proxy.port());
  const auto store = database->open_at_place();
  const ConsumerNumber consumer = store->attach({"payments", "recipe", false, {}}).value();
  const auto claim = [&](const std::string& name) -> Result<Claim> {
    const Message message = make_message(consumer, name);
    const Message* const one = &message;
    auto claims = store->claim({&one, 1}, {});
    if (!claims) return failure(std::move(claims.error()));
    return std::move(claims->front());
  };
  // The first claims of a store look at more.
  for (const char* name : {"a", "b", "c"}) ASSERT_TRUE(claim(name).has_value());
  int round = 0;
  std::size_t fired = 0;
  for (const Then then : {Then::kWithhold, Then::kCut, Then::kLose, Then::kWithhold}) {
    const std::string name = fmt::format("message {} in doubt", ++round);
    // Some servers receive the commit as a separate command, others together with the record.
    const CommitFault at_commit(proxy, then);
    const auto with_record =
        round % 2 == 0 ? std::optional(proxy.inject({.text = name, .then = then})) : std::nullopt;
    auto claimed = claim(name);
    if (!claimed) {
      EXPECT_EQ(claimed.error().kind, ErrorKind::kUnavailable) << claimed.error().message;
    }
    fired += at_commit.fired() + (with_record ? proxy.fired(*with_record) : 0);
    proxy.clear();
    for (int tries = 1; !claimed && tries < 4; ++tries) claimed = claim(name);
    ASSERT_TRUE(claimed.has_value()) << claimed.error().message;
    const auto* const acquired = std::get_if<Acquired>(&*claimed);
    ASSERT_NE(acquired, nullptr) << "round " << round;
    EXPECT_EQ(acquired->attempt, 1);
    EXPECT_FALSE(acquired->taken_over);
    const Finish done = completed(acquired->lease);
    const auto applied = store->finish({&done, 1});
    ASSERT_TRUE(applied.has_value());
    EXPECT_EQ(applied->front(), Applied::kYes);
  }
  EXPECT_GE(fired, 2U) << "the faults did not fire";
}

// A taken message is hidden for as long as its holder may have it. If only the answer was lost, the
// next take gets it without that wait.
TEST(CommitDoubt, WhatATakeInDoubtHadIsThereForTheNext) {
  using Then = TcpProxy::Then;
  constexpr std::size_t kMessages = 10;
  TcpProxy proxy(shared_server().port());
  const auto database = make_database_on_shared(proxy.port());
  const auto store = database->open_at_place();
  HeldMessages& held = *store->facets().held;
  const ConsumerNumber consumer = store->attach({"payments", "recipe", false, {}}).value();
  const auto with_line = [](const Arrival&) { return std::optional<Bytes>("one"); };
  for (const Then then : {Then::kWithhold, Then::kLose}) {
    for (const LineOf& line_of : {LineOf(), LineOf(with_line)}) {
      OutgoingMessage one;
      one.payload = "payload";
      const std::vector<OutgoingMessage> messages(kMessages, one);
      ASSERT_TRUE(held.append(consumer, messages).has_value());
      const auto take = [&] {
        return held.take(consumer, kMessages, 1 << 20, std::chrono::minutes(5), line_of);
      };
      proxy.cut_all();
      // A connection that was cut is found out by its use.
      for (int tries = 1; !held.depth(consumer) && tries < 4; ++tries) continue;
      const CommitFault fault(proxy, then);
      const auto lost = take();
      ASSERT_EQ(fault.fired(), 1U) << "the fault did not fire";
      proxy.clear();
      ASSERT_FALSE(lost.has_value());
      EXPECT_EQ(lost.error().kind, ErrorKind::kInDoubt) << lost.error().message;
      std::vector<RowTag> rows;
      // The server may not have noticed yet that the connection ended, and its locks are still
      // held.
      EXPECT_TRUE(comes_true([&] {
        const auto again = take();
        if (!again) return false;
        for (const Arrival& arrival : *again) {
          rows.push_back(*arrival.row);
          EXPECT_FALSE(arrival.suspect) << "nobody has tried it";
        }
        return rows.size() >= kMessages;
      }));
      EXPECT_EQ(rows.size(), kMessages);
      ASSERT_TRUE(held.remove(rows).has_value());
    }
  }
}

}  // namespace
}  // namespace semel::test
