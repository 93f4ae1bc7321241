// Generations: begun, sealed, filtered, dropped; correct with any number of processes.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <sstream>

#include "core/key_encoding.h"
#include "stores/sqlite/connection.h"
#include "stores/sqlite/filters.h"
#include "stores/sqlite/id_filter.h"
#include "stores/sqlite/test_place.h"
#include "tests/support/child_process.h"
#include "tests/support/test_environment.h"

namespace semel::sqlite {
namespace {

class GenerationsTest : public SqliteTest {
 protected:
  GenerationsTest() { generation_rows_ = 50; }

  static std::vector<Message> messages(ConsumerNumber consumer, const std::string& prefix,
                                       std::size_t count) {
    return test::make_messages(consumer, prefix, count);
  }
  std::size_t tables() {
    return std::stoul(
        one("SELECT count(*) FROM sqlite_master WHERE name LIKE 'semel\\_completed\\_%' "
            "ESCAPE '\\' AND type = 'table'"));
  }
};

TEST_F(GenerationsTest, RollByRowsAndRememberAll) {
  const auto store = open();
  const ConsumerNumber consumer = attach(*store);
  std::vector<std::vector<Message>> all;
  for (int batch = 0; batch < 12; ++batch) {
    all.push_back(messages(consumer, "b" + std::to_string(batch) + "-", 20));
    EXPECT_EQ(complete(*store, all.back()), 20U);
  }
  EXPECT_GE(stats(*store).generations.size(), 3U);
  std::size_t records = 0;
  int active = 0;
  for (const auto& generation : stats(*store).generations) {
    records += generation.records;
    active += generation.active ? 1 : 0;
  }
  EXPECT_EQ(records, 240U);
  EXPECT_EQ(active, 1);
  for (const auto& batch : all) EXPECT_EQ(complete(*store, batch), 0U);
}

TEST_F(GenerationsTest, RollByTimeSoThatNothingIsKeptMuchLongerThanItsTtl) {
  const auto store = open();
  const ConsumerNumber consumer = attach(*store, "payments", 8h);
  complete(*store, messages(consumer, "a", 5));
  clock_->advance(61min);
  complete(*store, messages(consumer, "b", 5));
  EXPECT_EQ(stats(*store).generations.size(), 2U);
  clock_->advance(30min);
  complete(*store, messages(consumer, "c", 5));
  EXPECT_EQ(stats(*store).generations.size(), 2U);
  clock_->advance(1h);
  ASSERT_TRUE(store->purge(10s).has_value());
  EXPECT_EQ(tables(), 2U) << "sealed, and nothing is past its ttl";
  clock_->advance(6h + 39min);
  EXPECT_EQ(store->purge(10s).value().records, 5U);
  EXPECT_EQ(complete(*store, messages(consumer, "a", 5)), 5U) << "forgotten";
  EXPECT_EQ(complete(*store, messages(consumer, "b", 5)), 0U);
}

TEST_F(GenerationsTest, FamiliesDifferByTtlAndKeepIsForEver) {
  const auto store = open();
  const ConsumerNumber brief = attach(*store, "brief", 1h);
  const ConsumerNumber same = attach(*store, "same", 1h);
  const ConsumerNumber kept = attach(*store, "kept", std::nullopt);
  for (const ConsumerNumber consumer : {brief, same, kept}) {
    complete(*store, messages(consumer, "m", 10));
  }
  EXPECT_EQ(stats(*store).generations.size(), 2U);
  for (int day = 0; day < 3; ++day) {
    clock_->advance(24h);
    ASSERT_TRUE(store->purge(10s).has_value());
  }
  EXPECT_EQ(complete(*store, messages(brief, "m", 10)), 10U);
  EXPECT_EQ(complete(*store, messages(same, "m", 10)), 10U);
  EXPECT_EQ(complete(*store, messages(kept, "m", 10)), 0U);
}

TEST_F(GenerationsTest, AChangedTtlForgetsNothingEarly) {
  const auto store = open();
  ConsumerNumber consumer = attach(*store, "payments", 1h);
  complete(*store, messages(consumer, "m", 10));
  consumer = attach(*store, "payments", 48h);
  EXPECT_EQ(complete(*store, messages(consumer, "m", 10)), 0U) << "found in the other family";
  complete(*store, messages(consumer, "n", 10));
  clock_->advance(24h);
  ASSERT_TRUE(store->purge(10s).has_value());
  EXPECT_EQ(complete(*store, messages(consumer, "m", 10)), 0U) << "the longer ttl holds for it";
  clock_->advance(48h);
  EXPECT_EQ(store->purge(10s).value().records, 20U);
  EXPECT_EQ(complete(*store, messages(consumer, "m", 10)), 10U);
}

TEST_F(GenerationsTest, AnotherProcessFollowsAChangedTtl) {
  const auto store = open(), other = open();
  const ConsumerNumber consumer = attach(*store, "payments", 1h);
  attach(*other, "payments", 1h);
  EXPECT_EQ(complete(*other, test::make_messages(consumer, "before", 1)), 1U);
  attach(*store, "payments", 48h);
  const auto longer = test::make_messages(consumer, "longer", 1);
  EXPECT_EQ(complete(*other, longer), 1U);
  clock_->advance(24h);
  ASSERT_TRUE(store->purge(10s).has_value());
  ASSERT_TRUE(store->purge(10s).has_value());
  EXPECT_EQ(complete(*other, longer), 0U) << "kept as long as the consumer says now";

  attach(*store, "payments", 1h);
  const auto shorter = test::make_messages(consumer, "shorter", 1);
  EXPECT_EQ(complete(*other, shorter), 1U);
  clock_->advance(3h);
  ASSERT_TRUE(store->purge(10s).has_value());
  EXPECT_EQ(complete(*other, shorter), 1U) << "no longer than it says now";
}

TEST_F(GenerationsTest, DetailsGoWithTheirRecords) {
  const auto store = open();
  const ConsumerNumber consumer = attach(*store, "payments", 1h);
  const auto many = messages(consumer, "m", 1200);
  for (const Message& m : many) {
    Finish done = test::completed(acquire(*store, m), "its result");
    if (m.key().text.ends_with('7')) {
      done.inbox = true;
      done.keep = &m;
    }
    ASSERT_TRUE(store->finish({&done, 1}).has_value());
  }
  EXPECT_EQ(one("SELECT count(*) FROM semel_inbox"), "120");
  EXPECT_EQ(one("SELECT count(*) FROM semel_result"), "1080");
  clock_->advance(3h);
  PurgeReport report;
  std::size_t gone = 0;
  do {
    report = store->purge(10s).value();
    gone += report.records;
  } while (report.more);
  EXPECT_EQ(gone, 1200U);
  EXPECT_EQ(one("SELECT count(*) FROM semel_inbox"), "0");
  EXPECT_EQ(one("SELECT count(*) FROM semel_result"), "0");
}

TEST_F(GenerationsTest, DeadRecordsAreForgottenPastTheirTtlButNeverOneInProgress) {
  const auto store = open();
  const ConsumerNumber consumer = attach(*store, "payments", 1h);
  const auto three = messages(consumer, "m", 3);
  const Finish dead = test::dead(acquire(*store, three[0]), &three[0]);
  const Finish parked = test::parked(acquire(*store, three[1]), &three[1]);
  ASSERT_TRUE(store->finish({&dead, 1}).has_value());
  ASSERT_TRUE(store->finish({&parked, 1}).has_value());
  acquire(*store, three[2]);
  clock_->advance(2h);
  EXPECT_EQ(store->purge(10s).value().records, 1U);
  EXPECT_EQ(store->facets().records->list(consumer, {}, 10).value().size(), 2U);
  EXPECT_EQ(store->facets().dead_letters->list({}).value().size(), 1U) << "for a person to see";
}

TEST_F(GenerationsTest, AClockThatJumpedForgetsNothing) {
  auto store = open();
  const ConsumerNumber consumer = attach(*store, "payments", 1h);
  complete(*store, messages(consumer, "m", 10));
  ASSERT_TRUE(store->purge(10s).has_value());
  clock_->jump(24h * 30);
  const auto refused = store->purge(10s);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, "R211");
  EXPECT_EQ(complete(*store, messages(consumer, "m", 10)), 0U);

  clock_->jump(-24h * 30);
  EXPECT_FALSE(store->purge(10s).has_value()) << "back is a jump too";
  store = open();
  EXPECT_FALSE(store->purge(10s).has_value()) << "another process does not trust it either";
  clock_->advance(24h * 30 + 1h);
  EXPECT_TRUE(store->purge(10s).has_value()) << "time has passed, and the clock went with it";
  EXPECT_EQ(complete(*store, messages(consumer, "m", 10)), 10U);
}

TEST_F(GenerationsTest, AnUnfinishedRollIsRolledBackWithItsUnit) {
  const auto store = open();
  const ConsumerNumber consumer = attach(*store);
  for (int batch = 0; batch < 3; ++batch) {
    complete(*store, messages(consumer, "b" + std::to_string(batch), 20));
  }
  const std::size_t before = tables();
  {
    auto unit = store->facets().transactional->begin({}).value();
    const auto more = messages(consumer, "dropped", 1);
    ASSERT_TRUE(unit->claim(test::pointers(more)).has_value());
  }
  EXPECT_EQ(tables(), before);
  EXPECT_EQ(complete(*store, messages(consumer, "dropped", 1)), 1U);
  EXPECT_GT(tables(), before) << "or the test is about nothing";
  EXPECT_EQ(complete(*store, messages(consumer, "b0", 20)), 0U);
}

// The other store changes the list at every step.
TEST_F(GenerationsTest, TwoStoresSeeEachOthersGenerations) {
  generation_rows_ = 3;
  const auto first = open();
  const auto second = open();
  const ConsumerNumber consumer = attach(*first, "payments", 1h);
  attach(*second, "payments", 1h);
  const std::uint64_t seed = test::test_seed();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  std::map<std::string, bool> done;
  std::size_t most = 0;
  for (int step = 0; step < 400; ++step) {
    Store& store = random() % 2 == 0 ? *first : *second;
    const std::string prefix = "k" + std::to_string(random() % 60) + "-";
    const auto batch = messages(consumer, prefix, 1 + random() % 4);
    std::size_t fresh = 0;
    for (const Message& m : batch) fresh += done.emplace(m.key().text, true).second ? 1U : 0U;
    ASSERT_EQ(complete(store, batch), fresh) << "step " << step;
    if (random() % 100 == 0) {
      most = std::max(most, stats(*first).generations.size());
      clock_->advance(5h);
      ASSERT_TRUE(store.purge(10s).has_value());
      ASSERT_TRUE(store.purge(10s).has_value());
      done.clear();
    }
  }
  EXPECT_GT(std::max(most, stats(*first).generations.size()), 3U);
}

TEST(IdFilter, NeverForgetsAndSeldomGuesses) {
  constexpr std::size_t kIds = 20'000;
  for (const bool ordered : {true, false}) {
    IdFilter filter(kIds);
    const auto id = [&](std::size_t n) {
      return core::encode_key(ConsumerNumber{7}, ordered ? test::ulid(n) : std::to_string(n));
    };
    for (std::size_t n = 0; n < kIds; ++n) filter.add(id(n));
    std::size_t guessed = 0;
    for (std::size_t n = 0; n < kIds; ++n) ASSERT_TRUE(filter.may_hold(id(n))) << n;
    for (std::size_t n = kIds; n < 2 * kIds; ++n) guessed += filter.may_hold(id(n)) ? 1U : 0U;
    EXPECT_LT(guessed, kIds / 50) << (ordered ? "ordered" : "digests");
    EXPECT_LE(filter.bytes(), kIds * 2);
  }
  EXPECT_FALSE(IdFilter(0).may_hold(KeyId{}));
}

TEST_F(GenerationsTest, FiltersAreBuiltBesideTheClaimsAndMissNothing) {
  generation_rows_ = 500;
  const auto store = open();
  const ConsumerNumber consumer = attach(*store);
  std::vector<Message> all;
  for (int batch = 0; batch < 40; ++batch) {
    auto some = messages(consumer, "b" + std::to_string(batch) + "-", 100);
    EXPECT_EQ(complete(*store, some), 100U);
    // Looks while filters are added and dropped.
    EXPECT_EQ(complete(*store, messages(consumer, "b" + std::to_string(batch / 2) + "-", 100)), 0U);
    all.insert(all.end(), some.begin(), some.end());
  }
  EXPECT_GE(stats(*store).generations.size(), 7U);
  EXPECT_EQ(complete(*store, all), 0U);
}

// Another process may have dropped them.
TEST_F(GenerationsTest, FiltersOfGenerationsThatAreGoneAreNotKept) {
  const auto store = open();
  const ConsumerNumber consumer = attach(*store);
  for (const char* const prefix : {"a", "b", "c"}) complete(*store, messages(consumer, prefix, 50));
  Filters filters;
  filters.on_wanted([] {});
  ConnectionOptions options;
  options.path = path_;
  Connection connection(options);
  for (const std::int64_t number : {1, 2}) filters.want(number);
  filters.build(connection, [] { return false; });
  ASSERT_TRUE(filters.find(1) && filters.find(2));
  filters.keep_only({2});
  EXPECT_EQ(filters.find(1), nullptr);
  EXPECT_NE(filters.find(2), nullptr);
}

// The memory of a table that a store had sealed itself is void once the seal is undone.
TEST_F(GenerationsTest, ASealThatWasUndoneLeavesNothingRemembered) {
  generation_rows_ = 20;
  const auto one = open(), other = open();
  const ConsumerNumber consumer = attach(*one);
  attach(*other);
  const auto uuids = [&](char first, std::size_t count) {
    std::vector<Message> made;
    for (std::size_t i = 0; i < count; ++i) {
      made.push_back(
          test::make_message(consumer, fmt::format("{}0000000-0000-7000-8000-{:012}", first, i)));
    }
    return made;
  };
  ASSERT_EQ(complete(*one, uuids('1', 20)), 20U);
  {
    // Full, so it is sealed, and its range is read; then all of it is rolled back.
    auto unit = one->facets().transactional->begin({}).value();
    ASSERT_TRUE(unit->claim(test::pointers(uuids('2', 1))).has_value());
  }
  // The other store does not know yet that it is full, fills it further and then seals it.
  ASSERT_EQ(complete(*other, uuids('f', 1)), 1U);
  ASSERT_EQ(complete(*other, uuids('3', 20)), 20U);
  ASSERT_EQ(complete(*other, uuids('4', 1)), 1U);
  ASSERT_EQ(tables(), 2U);
  EXPECT_EQ(complete(*one, uuids('f', 1)), 0U) << "acquired a second time";
}

// Many processes, the same keys, many new generations: each key is acquired once.
TEST_F(GenerationsTest, NoKeyIsAcquiredTwiceByAnyNumberOfProcesses) {
  generation_rows_ = 20;
  constexpr std::size_t kKeys = 600;
  {
    const auto store = open();
    attach(*store);
  }
  std::vector<test::ChildProcess> children;
  for (unsigned child = 0; child < 3; ++child) {
    children.push_back(test::ChildProcess::fork([&, child](test::ChildProcess::Voice& voice) {
      const auto store = open();
      const ConsumerNumber consumer = attach(*store);
      auto order = messages(consumer, "k", kKeys);
      std::shuffle(order.begin(), order.end(), std::mt19937(child));  // each process its own
      voice.ready();
      std::string mine;
      for (std::size_t at = 0; at < kKeys; at += 15) {
        const std::vector<Message> batch(order.begin() + static_cast<std::ptrdiff_t>(at),
                                         order.begin() + static_cast<std::ptrdiff_t>(at + 15));
        auto unit = store->facets().transactional->begin({}).value();
        const auto claims = unit->claim(test::pointers(batch)).value();
        std::vector<Finish> finishes;
        std::string acquired;
        for (std::size_t i = 0; i < batch.size(); ++i) {
          if (const auto* one = std::get_if<Acquired>(&claims[i])) {
            finishes.push_back(test::completed(one->lease));
            acquired += batch[i].key().text + " ";
          }
        }
        if (!unit->finish(finishes).has_value()) return 1;
        // Every third rolls back: its keys are free again.
        if ((at / 15) % 3 == 2) continue;
        if (!unit->commit().has_value()) return 2;
        mine += acquired;
      }
      voice.say(mine);
      return 0;
    }));
  }
  std::map<std::string, int> times;
  for (auto& child : children) {
    ASSERT_TRUE(child.wait_ready());
  }
  for (auto& child : children) {
    const auto line = child.line(60s);
    ASSERT_TRUE(line.has_value());
    std::istringstream keys(*line);
    for (std::string key; keys >> key;) ++times[key];
    EXPECT_EQ(child.wait().value().code, 0);
  }
  for (const auto& [key, count] : times) EXPECT_EQ(count, 1) << key;
  const auto store = open();
  const ConsumerNumber consumer = attach(*store);
  EXPECT_EQ(complete(*store, messages(consumer, "k", kKeys)), kKeys - times.size());
  EXPECT_GT(times.size(), kKeys / 2);
  EXPECT_GT(tables(), 5U);
}

}  // namespace
}  // namespace semel::sqlite
