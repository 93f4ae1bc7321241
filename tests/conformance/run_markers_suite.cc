// RunMarkers: the traces that a dead process leaves, and the ones that a stalled process keeps.
//
// Each test forks before it opens anything: the child is a real process, and is really killed.
#include <unistd.h>

#include <algorithm>
#include <barrier>
#include <csignal>
#include <future>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "tests/conformance/store_case.h"
#include "tests/support/child_process.h"

namespace semel::conformance {
namespace {

using test::ChildProcess;
using test::make_messages;
using test::pointers;

constexpr milliseconds kLease = 1h;
constexpr std::size_t kMarkedKeys = 5;
constexpr std::size_t kWindow = 17;

ConsumerNumber attach(Store& store, const std::string& name = "payments") {
  return store.attach({name, "recipe", false, {}}).value();
}

RunMarkers& runs(Store& store) { return *store.facets().runs; }
HeldMessages& held(Store& store) { return *store.facets().held; }

std::vector<Message> messages_of(ConsumerNumber consumer) {
  return make_messages(consumer, "m-", kMarkedKeys);
}

// Begins, claims all keys and takes three rows: a consumer in the middle of its work.
std::vector<Lease> begin_work(Store& store, std::size_t window = kWindow) {
  const ConsumerNumber consumer = attach(store);
  std::vector<OutgoingMessage> rows(3);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].payload = "row " + std::to_string(i);
  if (!held(store).append(consumer, rows).has_value()) return {};
  if (!runs(store).begin(consumer, window).has_value()) return {};
  const auto messages = messages_of(consumer);
  const auto claims = store.claim(pointers(messages), {kLease, {}, false}).value();
  std::vector<Lease> leases;
  for (const Claim& answer : claims) {
    if (const auto* acquired = std::get_if<Acquired>(&answer)) leases.push_back(acquired->lease);
  }
  if (held(store).take(consumer, 10, 1 << 20, kLease).value().size() != rows.size()) return {};
  return leases;
}

int work_until_killed(StorePlace& place, ChildProcess::Voice& voice) {
  const auto store = place.open();
  if (begin_work(*store).size() != kMarkedKeys) return 1;
  voice.ready();
  ChildProcess::Voice::wait_for_death();
}

std::size_t freed(Store& store) {
  std::size_t taken_over = 0;
  const auto messages = messages_of(attach(store));
  const auto claims = store.claim(pointers(messages), {kLease, {}, false}).value();
  for (const Claim& answer : claims) {
    if (const auto* acquired = std::get_if<Acquired>(&answer)) {
      EXPECT_TRUE(acquired->taken_over);
      EXPECT_EQ(acquired->attempt, 2);
      ++taken_over;
    } else {
      EXPECT_TRUE(is<Busy>(answer)) << describe(answer);
    }
  }
  return taken_over;
}

void expect_killed(StorePlace& place, ChildProcess& child) {
  child.kill();
  const auto ended = child.wait();
  ASSERT_TRUE(ended.has_value());
  ASSERT_EQ(ended->signal, SIGKILL) << "the fault fired";
  place.notice_death(child.pid());
}

TEST_P(RunMarkersSuite, ACleanEndLeavesNothing) {
  const auto place = GetParam().make();
  for (int round = 0; round < 2; ++round) {
    const auto store = place->open();
    const ConsumerNumber consumer = attach(*store);
    const auto begun = runs(*store).begin(consumer, kWindow);
    ASSERT_TRUE(begun.has_value()) << begun.error().message;
    EXPECT_FALSE(begun->unclean);
    EXPECT_FALSE(runs(*store).sweep().value());
    ASSERT_TRUE(runs(*store).end(consumer).has_value());
  }
}

TEST_P(RunMarkersSuite, AKilledProcessLosesItsLeasesAndRowsAtOnce) {
  const auto place = GetParam().make();
  auto child = ChildProcess::fork([&](auto& voice) { return work_until_killed(*place, voice); });
  ASSERT_TRUE(child.wait_ready());
  expect_killed(*place, child);
  const auto store = place->open();
  const ConsumerNumber consumer = attach(*store);
  const auto begun = runs(*store).begin(consumer, 1);
  ASSERT_TRUE(begun.has_value()) << begun.error().message;
  EXPECT_TRUE(begun->unclean);
  EXPECT_EQ(begun->window, kWindow);
  EXPECT_EQ(freed(*store), kMarkedKeys);
  const auto rows = held(*store).take(consumer, 10, 1 << 20, kLease).value();
  ASSERT_EQ(rows.size(), 3U);
  for (const Arrival& row : rows) EXPECT_TRUE(row.suspect) << row.payload;

  ASSERT_TRUE(runs(*store).end(consumer).has_value());
  EXPECT_FALSE(runs(*store).begin(consumer, 1).value().unclean) << "told once";
}

TEST_P(RunMarkersSuite, AClaimOfAClaimerElsewhereOutlivesTheProcess) {
  const auto place = GetParam().make();
  auto child = ChildProcess::fork([&](ChildProcess::Voice& voice) {
    const auto store = place->open();
    const ConsumerNumber consumer = attach(*store);
    if (!runs(*store).begin(consumer, 1).has_value()) return 1;
    ClaimOptions options;
    options.lease = kLease;
    options.outlives_process = true;
    const auto messages = messages_of(consumer);
    const auto claims = store->claim(pointers(messages), options).value();
    for (const Claim& answer : claims) {
      if (!is<Acquired>(answer)) return 1;
    }
    voice.ready();
    ChildProcess::Voice::wait_for_death();
  });
  ASSERT_TRUE(child.wait_ready());
  expect_killed(*place, child);
  const auto store = place->open();
  const ConsumerNumber consumer = attach(*store);
  ASSERT_TRUE(runs(*store).begin(consumer, 1).value().unclean) << "the process is known to be gone";
  EXPECT_EQ(freed(*store), 0U);
  place->advance(2 * kLease);
  EXPECT_EQ(freed(*store), kMarkedKeys) << "its leases ended";
}

TEST_P(RunMarkersSuite, SuspicionOutlastsAReleaseOfWhatWasNotTried) {
  const auto place = GetParam().make();
  auto child = ChildProcess::fork([&](auto& voice) { return work_until_killed(*place, voice); });
  ASSERT_TRUE(child.wait_ready());
  expect_killed(*place, child);
  const auto store = place->open();
  const ConsumerNumber consumer = attach(*store);
  ASSERT_TRUE(runs(*store).begin(consumer, 1).value().unclean);
  const RowTag row = *held(*store).take(consumer, 1, 1 << 20, kLease).value().at(0).row;
  ASSERT_TRUE(held(*store).release({&row, 1}, 0ms).has_value());
  auto rows = held(*store).take(consumer, 10, 1 << 20, kLease).value();
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(std::ranges::count(rows, true, &Arrival::suspect), 3);
  // One that comes back after a delay was tried, and did not take its process along.
  ASSERT_TRUE(held(*store).release({&*rows[0].row, 1}, 1ms).has_value());
  for (rows.clear(); rows.empty();) rows = held(*store).take(consumer, 1, 1 << 20, kLease).value();
  EXPECT_FALSE(rows[0].suspect);
}

TEST_P(RunMarkersSuite, AStoppedProcessKeepsWhatItHolds) {
  const auto place = GetParam().make();
  auto child = ChildProcess::fork([&](ChildProcess::Voice& voice) {
    const auto store = place->open();
    const auto leases = begin_work(*store);
    if (leases.size() != kMarkedKeys) return 1;
    voice.ready();
    ::raise(SIGSTOP);
    // Resumed; by now its leases are another's.
    for (const Lease& lease : leases) {
      const Finish late = test::completed(lease, "late");
      const auto applied = store->finish({&late, 1});
      voice.say(applied && applied->at(0) == Applied::kLeaseLost ? "refused" : "applied");
    }
    return 0;
  });
  ASSERT_TRUE(child.wait_ready());
  child.wait_stopped();
  const auto store = place->open();
  const ConsumerNumber consumer = attach(*store);
  const auto begun = runs(*store).begin(consumer, 1);
  ASSERT_TRUE(begun.has_value()) << begun.error().message;
  EXPECT_FALSE(begun->unclean) << "it is not dead";
  EXPECT_FALSE(runs(*store).sweep().value());
  EXPECT_EQ(freed(*store), 0U);
  EXPECT_TRUE(held(*store).take(consumer, 10, 1 << 20, kLease).value().empty());
  place->advance(2 * kLease);
  EXPECT_EQ(freed(*store), kMarkedKeys) << "its leases ended";
  EXPECT_EQ(held(*store).take(consumer, 10, 1 << 20, kLease).value().size(), 3U);
  child.resume();
  for (std::size_t i = 0; i < kMarkedKeys; ++i) EXPECT_EQ(child.line(), "refused");
  EXPECT_EQ(child.wait()->code, 0);
  EXPECT_EQ(freed(*store), 0U) << "the late holder changed nothing";
}

TEST_P(RunMarkersSuite, SweepFreesWhatDiesMeanwhile) {
  const auto place = GetParam().make();
  auto child = ChildProcess::fork([&](auto& voice) { return work_until_killed(*place, voice); });
  ASSERT_TRUE(child.wait_ready());
  const auto store = place->open();
  const ConsumerNumber consumer = attach(*store);
  EXPECT_FALSE(runs(*store).begin(consumer, 1).value().unclean);
  EXPECT_FALSE(runs(*store).sweep().value());
  EXPECT_EQ(freed(*store), 0U);
  expect_killed(*place, child);
  EXPECT_TRUE(runs(*store).sweep().value());
  EXPECT_EQ(freed(*store), kMarkedKeys);
  const auto rows = held(*store).take(consumer, 10, 1 << 20, kLease).value();
  ASSERT_EQ(rows.size(), 3U);
  for (const Arrival& row : rows) EXPECT_TRUE(row.suspect);
  EXPECT_FALSE(runs(*store).sweep().value()) << "there is none any more";
}

// A source may bring a message again that the store has: as a younger row, which is no suspect.
TEST_P(RunMarkersSuite, WhatItHadStandsAgainBeforeWhatCameSince) {
  const auto place = GetParam().make();
  auto child = ChildProcess::fork([&](auto& voice) { return work_until_killed(*place, voice); });
  ASSERT_TRUE(child.wait_ready());
  const auto store = place->open();
  const ConsumerNumber consumer = attach(*store);
  ASSERT_TRUE(runs(*store).begin(consumer, 1).has_value());
  OutgoingMessage younger;
  younger.payload = "younger";
  ASSERT_TRUE(held(*store).append(consumer, {&younger, 1}).has_value());
  expect_killed(*place, child);
  EXPECT_TRUE(runs(*store).sweep().value());
  const auto rows = held(*store).take(consumer, 10, 1 << 20, kLease).value();
  ASSERT_EQ(rows.size(), 4U);
  for (const Arrival& row : rows) EXPECT_EQ(row.suspect, row.payload != "younger");
  EXPECT_EQ(rows.back().payload, "younger");
}

TEST_P(RunMarkersSuite, AnExitWithoutDrainIsUncleanToo) {
  const auto place = GetParam().make();
  auto child = ChildProcess::fork([&](auto&) -> int {
    const auto store = place->open();
    const bool worked = begin_work(*store).size() == kMarkedKeys;
    ::_exit(worked ? 7 : 1);
  });
  ASSERT_EQ(child.wait()->code, 7);
  place->notice_death(child.pid());
  const auto store = place->open();
  EXPECT_TRUE(runs(*store).begin(attach(*store), 1).value().unclean);
  EXPECT_EQ(freed(*store), kMarkedKeys);
}

TEST_P(RunMarkersSuite, TheWindowIsTheLargestOfTheDead) {
  const auto place = GetParam().make();
  {
    const auto run = [&](std::size_t window) {
      return ChildProcess::fork([&place, window](auto& voice) -> int {
        const auto store = place->open();
        if (!runs(*store).begin(attach(*store), window)) return 1;
        voice.ready();
        ChildProcess::Voice::wait_for_death();
      });
    };
    auto small = run(5);
    ASSERT_TRUE(small.wait_ready());
    auto large = run(900);
    ASSERT_TRUE(large.wait_ready());
    auto middle = run(30);
    ASSERT_TRUE(middle.wait_ready());
    for (ChildProcess* child : {&small, &large, &middle}) expect_killed(*place, *child);
  }
  const auto store = place->open();
  const auto begun = runs(*store).begin(attach(*store), 1);
  ASSERT_TRUE(begun.has_value()) << begun.error().message;
  EXPECT_TRUE(begun->unclean);
  EXPECT_EQ(begun->window, 900U);
}

// A successor with a small window may not have handled all that was in flight in a large one.
TEST_P(RunMarkersSuite, ASuccessorHandsOnTheWindowThatItHasHeard) {
  const auto place = GetParam().make();
  const auto run = [&](std::size_t window, std::size_t heard) {
    auto child = ChildProcess::fork([&, window, heard](auto& voice) -> int {
      const auto store = place->open();
      const auto begun = runs(*store).begin(attach(*store), window);
      if (!begun || begun->window != heard) return 1;
      voice.ready();
      ChildProcess::Voice::wait_for_death();
    });
    ASSERT_TRUE(child.wait_ready());
    expect_killed(*place, child);
  };
  run(900, 0);
  run(10, 900);
  run(10, 900);
  const auto store = place->open();
  const ConsumerNumber consumer = attach(*store);
  EXPECT_EQ(runs(*store).begin(consumer, 1).value().window, 900U);
  ASSERT_TRUE(runs(*store).end(consumer).has_value());
  EXPECT_FALSE(runs(*store).begin(consumer, 1).value().unclean) << "a clean end ends it";
}

// Each of them finds the same dead process, and one of them frees it.
TEST_P(RunMarkersSuite, ConsumersThatBeginTogetherAllLearnOfADeath) {
  constexpr std::size_t kTogether = 6;
  const auto place = GetParam().make();
  const auto name_of = [](std::size_t i) { return "consumer " + std::to_string(i); };
  auto child = ChildProcess::fork([&](auto& voice) -> int {
    const auto store = place->open();
    for (std::size_t i = 0; i < kTogether; ++i) {
      if (!runs(*store).begin(attach(*store, name_of(i)), kWindow)) return 1;
    }
    voice.ready();
    ChildProcess::Voice::wait_for_death();
  });
  ASSERT_TRUE(child.wait_ready());
  expect_killed(*place, child);
  const auto store = place->open();
  std::vector<ConsumerNumber> consumers;
  for (std::size_t i = 0; i < kTogether; ++i) consumers.push_back(attach(*store, name_of(i)));
  std::barrier together(static_cast<std::ptrdiff_t>(kTogether));
  std::vector<std::future<Result<RunMarkers::Begun>>> begun;
  for (const ConsumerNumber consumer : consumers) {
    begun.push_back(std::async(std::launch::async, [&, consumer] {
      together.arrive_and_wait();
      return runs(*store).begin(consumer, 1);
    }));
  }
  for (std::size_t i = 0; i < kTogether; ++i) {
    const auto answer = begun[i].get();
    ASSERT_TRUE(answer.has_value()) << answer.error().message;
    EXPECT_TRUE(answer->unclean) << name_of(i);
    EXPECT_EQ(answer->window, kWindow);
  }
}

TEST_P(RunMarkersSuite, AnotherConsumersDeathIsNotOnesOwn) {
  const auto place = GetParam().make();
  auto child = ChildProcess::fork([&](auto& voice) { return work_until_killed(*place, voice); });
  ASSERT_TRUE(child.wait_ready());
  expect_killed(*place, child);
  const auto store = place->open();
  EXPECT_FALSE(runs(*store).begin(attach(*store, "refunds"), 1).value().unclean);
  EXPECT_TRUE(runs(*store).begin(attach(*store), 1).value().unclean) << "still to be told";
}

using Kept = std::vector<int>;

std::vector<KeyId> ids_of(const std::vector<Message>& messages) {
  std::vector<KeyId> ids;
  for (const Message& message : messages) ids.push_back(message.key().id);
  return ids;
}

Kept known(Store& store, std::span<const KeyId> keys) {
  const auto crashes = runs(store).crashes(keys).value();
  Kept kept;
  for (const std::optional<int>& one : crashes) kept.push_back(one.value());
  return kept;
}

TEST_P(RunMarkersSuite, CrashesAreCountedDurably) {
  const auto place = GetParam().make();
  auto store = place->open();
  const auto keys = ids_of(make_messages(attach(*store), "m-", 3));
  EXPECT_EQ(known(*store, keys), (Kept{0, 0, 0}));
  const std::vector<CrashChange> first = {
      {keys[2], 0, 0, 1}, {keys[0], 0, 0, -1}, {keys[1], 0, 0, -1}};
  EXPECT_EQ(runs(*store).change_crashes(first).value(), (Kept{1, -1, -1}));
  EXPECT_EQ(runs(*store).change_crashes(first).value(), (Kept{1, -1, -1})) << "asked again";
  store.reset();
  store = place->open();
  EXPECT_EQ(known(*store, keys), (Kept{-1, -1, 1}));
  const std::vector<CrashChange> second = {
      {keys[0], -1, -1, -2}, {keys[1], -2, -2, 1}, {keys[2], 1, 1, 2}};
  EXPECT_EQ(runs(*store).change_crashes(second).value(), (Kept{-2, -1, 2}))
      << "one is not what it was said to be";
  EXPECT_EQ(known(*store, keys), (Kept{-2, -1, 2}));
}

TEST_P(RunMarkersSuite, CountsAreTakenBackFromWhereTheyAre) {
  const auto place = GetParam().make();
  const auto store = place->open();
  const auto keys = ids_of(make_messages(attach(*store), "m-", 3));
  constexpr int kHighest = std::numeric_limits<int>::max();
  const std::vector<CrashChange> counted = {
      {keys[0], 0, 0, 3}, {keys[1], 0, 0, 1}, {keys[2], 0, 0, -1}};
  ASSERT_TRUE(runs(*store).change_crashes(counted).has_value());
  const std::vector<CrashChange> back = {
      {keys[0], 2, kHighest, 1}, {keys[1], 2, kHighest, 1}, {keys[2], -2, -2, 0}};
  EXPECT_EQ(runs(*store).change_crashes(back).value(), (Kept{1, 1, -1}));
  const std::vector<CrashChange> forgotten = {
      {keys[0], 1, kHighest, 0}, {keys[1], 2, kHighest, 0}, {keys[2], -1, -1, 0}};
  EXPECT_EQ(runs(*store).change_crashes(forgotten).value(), (Kept{0, 1, 0}));
  EXPECT_EQ(known(*store, keys), (Kept{0, 1, 0}));
  const CrashChange nothing_there{keys[0], 1, kHighest, -2};
  EXPECT_EQ(runs(*store).change_crashes({&nothing_there, 1}).value(), Kept{0});
  EXPECT_TRUE(runs(*store).change_crashes({}).value().empty());
  EXPECT_TRUE(runs(*store).crashes({}).value().empty());
}

TEST_P(RunMarkersSuite, CrashesOfManyAreCountedEach) {
  constexpr std::size_t kKeys = 300;
  const auto place = GetParam().make();
  const auto store = place->open();
  const auto keys = ids_of(make_messages(attach(*store), "m-", kKeys));
  std::vector<CrashChange> changes;
  Kept expected;
  for (std::size_t i = 0; i < kKeys; ++i) {
    expected.push_back(i % 3 == 0 ? 1 : -1);
    changes.push_back({keys[i], 0, 0, expected.back()});
  }
  EXPECT_EQ(runs(*store).change_crashes(changes).value(), expected);
  EXPECT_EQ(known(*store, keys), expected);
}

TEST_P(RunMarkersSuite, ACompletedKeyHasNoCrashes) {
  const auto place = GetParam().make();
  const auto store = place->open();
  const auto messages = make_messages(attach(*store), "m-", 3);
  const auto keys = ids_of(messages);
  const CrashChange counted{keys[1], 0, 0, 1};
  ASSERT_TRUE(runs(*store).change_crashes({&counted, 1}).has_value());
  const Message* one = &messages[1];
  const auto claims = store->claim({&one, 1}, {}).value();
  const Finish done = test::completed(std::get<Acquired>(claims.at(0)).lease);
  ASSERT_EQ(store->finish({&done, 1}).value().at(0), Applied::kYes);
  using Known = std::vector<std::optional<int>>;
  EXPECT_EQ(runs(*store).crashes(keys).value(), (Known{0, std::nullopt, 0}));
  const CrashChange forgotten{keys[1], 1, 1, 0};
  EXPECT_EQ(runs(*store).change_crashes({&forgotten, 1}).value(), Kept{0});
}

TEST_P(RunMarkersSuite, AUnitOfAKilledProcessNeverWas) {
  const auto place = GetParam().make();
  if (GetParam().lacks.contains(Facet::kTransactional)) {
    GTEST_SKIP() << "declared: it has no transactions";
  }
  auto child = ChildProcess::fork([&](auto& voice) -> int {
    const auto store = place->open();
    const ConsumerNumber consumer = attach(*store);
    if (!runs(*store).begin(consumer, kWindow)) return 1;
    auto unit = store->facets().transactional->begin({});
    const auto messages = messages_of(consumer);
    if (!unit || !(*unit)->claim(pointers(messages))) return 2;
    voice.ready();
    ChildProcess::Voice::wait_for_death();
  });
  ASSERT_TRUE(child.wait_ready());
  expect_killed(*place, child);
  const auto store = place->open();
  const ConsumerNumber consumer = attach(*store);
  EXPECT_TRUE(runs(*store).begin(consumer, 1).value().unclean);
  const auto messages = messages_of(consumer);
  const auto claims = store->claim(pointers(messages), {}).value();
  for (const Claim& answer : claims) {
    ASSERT_TRUE(is<Acquired>(answer)) << describe(answer);
    EXPECT_EQ(std::get<Acquired>(answer).attempt, 1);
    EXPECT_FALSE(std::get<Acquired>(answer).taken_over);
  }
}

}  // namespace
}  // namespace semel::conformance
