// Order under failures, kills and several processes: per ordering key the effects come as the
// messages were sent.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <map>
#include <thread>

#include "tests/chaos/test_bed.h"
#include "tests/support/ledger.h"
#include "tests/support/test_environment.h"

namespace semel::test {
namespace {

using std::chrono::microseconds;

constexpr std::size_t kOrderedKeys = 12;
constexpr std::size_t kOrderedPart = 80;

// Messages of several keys, mixed part by part: "k3-7" is the seventh of its key.
class OrderedSupply {
 public:
  explicit OrderedSupply(SeededRandom& random) : random_(random) {}
  std::vector<std::string> next(std::size_t count = kOrderedPart) {
    std::vector<std::string> ids;
    while (ids.size() < count) {
      const std::string key = fmt::format("k{}", random_.below(kOrderedKeys));
      ids.push_back(fmt::format("{}-{}", key, sent_[key]++));
    }
    all_ += count;
    return ids;
  }
  // The number sent, by key and in total.
  const std::map<std::string, std::size_t>& sent() const { return sent_; }
  std::size_t all() const { return all_; }

 private:
  SeededRandom& random_;
  std::map<std::string, std::size_t> sent_;
  std::size_t all_ = 0;
};

struct Mode {
  const char* name;
  std::vector<std::string> settings;
  bool file;
  std::size_t processes;
  bool outside;  // its effect may come twice where a kill fell between it and its record
};

std::string name_of(const testing::TestParamInfo<Mode>& info) { return info.param.name; }

class OrderTest : public testing::TestWithParam<Mode> {
 protected:
  // Each key's effects, in order.
  std::map<std::string, std::vector<std::size_t>> effects(const TestBed& bed) {
    std::map<std::string, std::vector<std::size_t>> effects;
    const auto keys =
        GetParam().outside ? Ledger(bed.ledger_path()).entries() : bed.effects_in_order();
    for (const std::string& id : keys) {
      const auto dash = id.find('-');
      effects[id.substr(0, dash)].push_back(std::stoul(id.substr(dash + 1)));
    }
    return effects;
  }

  void expect_in_order(const TestBed& bed, const OrderedSupply& supply) {
    const auto all = effects(bed);
    EXPECT_EQ(all.size(), supply.sent().size());
    for (const auto& [key, numbers] : all) {
      std::size_t next = 0;
      for (const std::size_t number : numbers) {
        const bool again = GetParam().outside && next > 0 && number == next - 1;
        ASSERT_TRUE(number == next || again)
            << key << ": effect " << number << " came where " << next << " was due";
        if (number == next) ++next;
      }
      EXPECT_EQ(next, supply.sent().at(key)) << key;
    }
    EXPECT_TRUE(bed.dead().empty());
  }
};

TEST_P(OrderTest, EffectsOfAKeyComeAsTheyWereSent) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(fmt::format("SEMEL_TEST_SEED={}", seed));
  SeededRandom random(seed);
  const std::size_t kills = rounds(6);
  TestBed bed;
  OrderedSupply supply(random);
  std::vector<std::string> settings = GetParam().settings;
  settings.insert(settings.end(),
                  {"fails=10", "say=1", "crashes=50", "ledger=" + bed.ledger_path()});
  const std::string file = bed.file("messages.jsonl");
  if (GetParam().file) settings.insert(settings.end(), {"source=file", "file=" + file});
  // Repeats if a kill comes after the end of the work.
  std::size_t tries = 0;
  for (std::size_t killed = 0; killed < kills; ++tries) {
    ASSERT_LT(tries, 10 * kills) << "the kills come too late";
    GetParam().file ? bed.add_lines(file, supply.next()) : bed.send(supply.next());
    std::vector<ChildProcess> workers;
    for (std::size_t i = 0; i < GetParam().processes; ++i) {
      workers.push_back(bed.start(settings));
    }
    (void)workers[0].line(std::chrono::seconds(60));
    std::this_thread::sleep_for(microseconds(random.below(60'000)));
    bool in_mid_work = false;
    for (ChildProcess& worker : workers) {
      worker.kill();
      const auto ended = worker.wait();
      ASSERT_TRUE(ended);
      in_mid_work = in_mid_work || ended->signal == SIGKILL;
    }
    if (in_mid_work) ++killed;
  }
  std::vector<ChildProcess> workers;
  for (std::size_t i = 0; i < GetParam().processes; ++i) workers.push_back(bed.start(settings));
  for (ChildProcess& worker : workers) {
    const auto ended = worker.wait();
    ASSERT_TRUE(ended);
    EXPECT_EQ(ended->code, 0);
  }
  expect_in_order(bed, supply);
  EXPECT_EQ(bed.held(), 0u);
}

// A store without tables has only those with an effect outside of it.
std::vector<Mode> modes() {
  const std::vector<std::string> plain{"order=hold_key", "strategy=state_machine", "handler=plain",
                                       "workers=4"};
  std::vector<Mode> modes{{"hold_key_queue_outside", plain, false, 2, true},
                          {"hold_key_queue_async",
                           {"order=hold_key", "strategy=state_machine", "handler=async"},
                           false,
                           2,
                           true},
                          {"hold_key_file_outside", plain, true, 1, true},
                          {"block_file_outside",
                           {"order=block", "strategy=state_machine", "handler=plain", "workers=4"},
                           true,
                           1,
                           true}};
  if (!has_tables()) return modes;
  const std::vector<Mode> with_tables{
      {"hold_key_queue",
       {"order=hold_key", "strategy=dedup_table", "handler=native"},
       false,
       2,
       false},
      {"hold_key_file",
       {"order=hold_key", "strategy=dedup_table", "handler=native"},
       true,
       1,
       false},
      {"hold_key_little_room",
       {"order=hold_key", "max_held=1KiB", "strategy=dedup_table", "handler=native"},
       true,
       1,
       false},
      {"hold_key_deferred",
       {"order=hold_key", "defer=here", "strategy=inbox", "handler=native"},
       true,
       1,
       false},
      {"block_queue", {"order=block", "strategy=dedup_table", "handler=native"}, false, 2, false}};
  modes.insert(modes.end(), with_tables.begin(), with_tables.end());
  return modes;
}

INSTANTIATE_TEST_SUITE_P(Modes, OrderTest, testing::ValuesIn(modes()), name_of);

// One process receives and settles immediately; others handle what it received. All of them are
// killed.
TEST(Deferred, WhatOneProcessReceivesOthersHandleInOrder) {
  if (!has_tables()) GTEST_SKIP() << "its strategy needs tables";
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(fmt::format("SEMEL_TEST_SEED={}", seed));
  SeededRandom random(seed);
  TestBed bed;
  OrderedSupply supply(random);
  const std::vector<std::string> common{"order=hold_key", "strategy=inbox", "handler=native",
                                        "fails=10", "crashes=50"};
  std::vector<std::string> receiving = common;
  receiving.insert(receiving.end(),
                   {"source=file", "file=" + bed.file("messages.jsonl"), "defer=elsewhere"});
  const auto endless = [](std::vector<std::string> settings) {
    settings.insert(settings.end(), {"once=0", "say=1"});
    return settings;
  };
  for (std::size_t killed = 0; killed < rounds(4); ++killed) {
    bed.add_lines(bed.file("messages.jsonl"), supply.next());
    ChildProcess receiver = bed.start(endless(receiving));
    ChildProcess handling = bed.start(endless(common));
    // One process has received it, and the other is handling it.
    ASSERT_EQ(handling.line(std::chrono::seconds(60)), "began");
    std::this_thread::sleep_for(microseconds(random.below(60'000)));
    for (ChildProcess* process : {&receiver, &handling}) {
      process->kill();
      const auto ended = process->wait();
      ASSERT_TRUE(ended);
      EXPECT_EQ(ended->signal, SIGKILL);
    }
  }
  bed.add_lines(bed.file("messages.jsonl"), supply.next());
  ASSERT_EQ(bed.run(receiving), 0);
  EXPECT_NE(bed.ask("SELECT count(*) FROM semel_inbox"), "0");
  std::filesystem::remove(bed.file("messages.jsonl"));
  ChildProcess one = bed.start(common), two = bed.start(common);
  EXPECT_EQ(one.wait()->code, 0);
  EXPECT_EQ(two.wait()->code, 0);
  std::map<std::string, std::size_t> next;
  for (const std::string& id : bed.effects_in_order()) {
    const auto dash = id.find('-');
    ASSERT_EQ(std::stoul(id.substr(dash + 1)), next[id.substr(0, dash)]++) << id;
  }
  EXPECT_EQ(bed.total(), supply.all());
  EXPECT_EQ(bed.ask("SELECT count(*) FROM semel_inbox WHERE processed_at IS NULL"), "0")
      << "a duplicate leaves nothing in the inbox, and what is handled is marked";
  EXPECT_EQ(bed.ask("SELECT count(*) FROM semel_inbox"), std::to_string(supply.all()));
}

// The order that skip gives up, which proves that the test above can fail.
TEST(OrderSkip, AFailedMessageIsPassedBy) {
  if (!has_tables()) GTEST_SKIP() << "its strategy needs tables";
  SeededRandom random(7);
  TestBed bed;
  OrderedSupply supply(random);
  bed.send(supply.next(480));
  ASSERT_EQ(bed.run({"order=skip", "strategy=dedup_table", "handler=native", "fails=10"}), 0);
  std::map<std::string, std::size_t> last;
  std::size_t passed = 0;
  for (const std::string& id : bed.effects_in_order()) {
    const auto dash = id.find('-');
    const std::size_t number = std::stoul(id.substr(dash + 1));
    std::size_t& before = last[id.substr(0, dash)];
    if (number < before) ++passed;
    before = std::max(before, number);
  }
  EXPECT_GT(passed, 0u);
  EXPECT_EQ(bed.effects().size(), supply.all());
}

}  // namespace
}  // namespace semel::test
