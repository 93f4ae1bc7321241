// Order under failures, kills and several processes: per ordering key the effects come as the
// messages were sent.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <thread>

#include "tests/chaos/scene.h"
#include "tests/support/ledger.h"
#include "tests/support/test_environment.h"

namespace semel::test {
namespace {

using std::chrono::microseconds;

constexpr std::size_t kOrderedKeys = 12;
constexpr std::size_t kOfEach = 40;

// "k3-7": the seventh of its key. Keys come mixed, as they do.
std::vector<std::string> ordered_ids(SeededRandom& random) {
  std::vector<std::string> ids;
  std::vector<std::size_t> sent(kOrderedKeys);
  while (ids.size() < kOrderedKeys * kOfEach) {
    const std::size_t key = random.below(kOrderedKeys);
    if (sent[key] == kOfEach) continue;
    ids.push_back(fmt::format("k{}-{}", key, sent[key]++));
  }
  return ids;
}

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
  // Each key's effects, in the order they came.
  std::map<std::string, std::vector<std::size_t>> effects(const Scene& scene) {
    std::map<std::string, std::vector<std::size_t>> effects;
    const auto keys =
        GetParam().outside ? Ledger(scene.ledger_path()).entries() : scene.effects_in_order();
    for (const std::string& id : keys) {
      const auto dash = id.find('-');
      effects[id.substr(0, dash)].push_back(std::stoul(id.substr(dash + 1)));
    }
    return effects;
  }

  void expect_in_order(const Scene& scene) {
    const auto all = effects(scene);
    EXPECT_EQ(all.size(), kOrderedKeys);
    for (const auto& [key, numbers] : all) {
      std::size_t next = 0;
      for (const std::size_t number : numbers) {
        const bool again = GetParam().outside && next > 0 && number == next - 1;
        ASSERT_TRUE(number == next || again)
            << key << ": effect " << number << " came where " << next << " was due";
        if (number == next) ++next;
      }
      EXPECT_EQ(next, kOfEach) << key;
    }
    EXPECT_TRUE(scene.dead().empty());
  }
};

TEST_P(OrderTest, EffectsOfAKeyComeAsTheyWereSent) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(fmt::format("SEMEL_TEST_SEED={}", seed));
  SeededRandom random(seed);
  const std::size_t kills = 6 * soak_factor();
  Scene scene;
  const auto ids = ordered_ids(random);
  std::vector<std::string> settings = GetParam().settings;
  settings.insert(settings.end(),
                  {"fails=10", "say=1", "crashes=50", "ledger=" + scene.ledger_path()});
  if (GetParam().file) {
    scene.write_lines(scene.file("messages.jsonl"), ids);
    settings.insert(settings.end(), {"source=file", "file=" + scene.file("messages.jsonl")});
  } else {
    scene.send(ids);
  }
  for (std::size_t killed = 0; killed < kills; ++killed) {
    std::vector<ChildProcess> workers;
    for (std::size_t i = 0; i < GetParam().processes; ++i) {
      workers.push_back(scene.start(settings));
    }
    (void)workers[0].line();
    std::this_thread::sleep_for(microseconds(random.below(60'000)));
    for (ChildProcess& worker : workers) {
      worker.kill();
      ASSERT_TRUE(worker.wait());
    }
  }
  std::vector<ChildProcess> workers;
  for (std::size_t i = 0; i < GetParam().processes; ++i) workers.push_back(scene.start(settings));
  for (ChildProcess& worker : workers) {
    const auto ended = worker.wait();
    ASSERT_TRUE(ended);
    EXPECT_EQ(ended->code, 0);
  }
  expect_in_order(scene);
  EXPECT_EQ(scene.held(), 0u);
}

INSTANTIATE_TEST_SUITE_P(
    Modes, OrderTest,
    testing::Values(Mode{"hold_key_queue",
                         {"order=hold_key", "strategy=dedup_table", "handler=native"},
                         false,
                         2,
                         false},
                    Mode{"hold_key_queue_outside",
                         {"order=hold_key", "strategy=state_machine", "handler=plain", "workers=4"},
                         false,
                         2,
                         true},
                    Mode{"hold_key_queue_async",
                         {"order=hold_key", "strategy=state_machine", "handler=async"},
                         false,
                         2,
                         true},
                    Mode{"hold_key_file",
                         {"order=hold_key", "strategy=dedup_table", "handler=native"},
                         true,
                         1,
                         false},
                    Mode{"hold_key_file_outside",
                         {"order=hold_key", "strategy=state_machine", "handler=plain", "workers=4"},
                         true,
                         1,
                         true},
                    Mode{"hold_key_little_room",
                         {"order=hold_key", "max_held=1KiB", "strategy=dedup_table",
                          "handler=native"},
                         true,
                         1,
                         false},
                    Mode{"hold_key_deferred",
                         {"order=hold_key", "defer=here", "strategy=inbox", "handler=native"},
                         true,
                         1,
                         false},
                    Mode{"block_queue",
                         {"order=block", "strategy=dedup_table", "handler=native"},
                         false,
                         2,
                         false},
                    Mode{"block_file_outside",
                         {"order=block", "strategy=state_machine", "handler=plain", "workers=4"},
                         true,
                         1,
                         true}),
    name_of);

// One process receives, and settles at once; others handle what it received. All of them are
// killed.
TEST(Deferred, WhatOneProcessReceivesOthersHandleInOrder) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(fmt::format("SEMEL_TEST_SEED={}", seed));
  SeededRandom random(seed);
  Scene scene;
  const auto ids = ordered_ids(random);
  scene.write_lines(scene.file("messages.jsonl"), ids);
  const std::vector<std::string> common{"order=hold_key", "strategy=inbox", "handler=native",
                                        "fails=10", "crashes=50"};
  std::vector<std::string> receiving = common;
  receiving.insert(receiving.end(),
                   {"source=file", "file=" + scene.file("messages.jsonl"), "defer=elsewhere"});
  for (std::size_t killed = 0; killed < 4 * soak_factor(); ++killed) {
    ChildProcess receiver = scene.start(receiving);
    ChildProcess handling = scene.start(common);
    std::this_thread::sleep_for(microseconds(random.below(60'000)));
    for (ChildProcess* process : {&receiver, &handling}) {
      process->kill();
      ASSERT_TRUE(process->wait());
    }
  }
  ASSERT_EQ(scene.run(receiving), 0);
  EXPECT_NE(scene.ask("SELECT count(*) FROM semel_inbox"), "0");
  std::filesystem::remove(scene.file("messages.jsonl"));
  ChildProcess one = scene.start(common), two = scene.start(common);
  EXPECT_EQ(one.wait()->code, 0);
  EXPECT_EQ(two.wait()->code, 0);
  std::map<std::string, std::size_t> next;
  for (const std::string& id : scene.effects_in_order()) {
    const auto dash = id.find('-');
    ASSERT_EQ(std::stoul(id.substr(dash + 1)), next[id.substr(0, dash)]++) << id;
  }
  EXPECT_EQ(scene.total(), ids.size());
  EXPECT_EQ(scene.ask("SELECT count(*) FROM semel_inbox WHERE processed_at IS NULL"), "0")
      << "a duplicate leaves nothing in the inbox, and what is handled is marked";
  EXPECT_EQ(scene.ask("SELECT count(*) FROM semel_inbox"), std::to_string(ids.size()));
}

// What skip gives up: the test above can fail.
TEST(OrderSkip, AFailedMessageIsPassedBy) {
  SeededRandom random(7);
  Scene scene;
  scene.send(ordered_ids(random));
  ASSERT_EQ(scene.run({"order=skip", "strategy=dedup_table", "handler=native", "fails=10"}), 0);
  std::map<std::string, std::size_t> last;
  std::size_t passed = 0;
  for (const std::string& id : scene.effects_in_order()) {
    const auto dash = id.find('-');
    const std::size_t number = std::stoul(id.substr(dash + 1));
    std::size_t& before = last[id.substr(0, dash)];
    if (number < before) ++passed;
    before = std::max(before, number);
  }
  EXPECT_GT(passed, 0u);
  EXPECT_EQ(scene.effects().size(), kOrderedKeys * kOfEach);
}

}  // namespace
}  // namespace semel::test
