// The server of the store is killed while effects are made outside of it, in one call or in steps.
#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/chaos/outside.h"
#include "tests/chaos/server_under_test.h"
#include "tests/support/test_environment.h"

namespace semel::test {
namespace {

using std::chrono::microseconds;

// A few times, each at a random moment after something that `send` sent had its effect.
void kill_amid_effects(DatabaseServer& server, Work& work, const std::function<void()>& send,
                       const std::function<std::size_t()>& calls) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE(fmt::format("SEMEL_TEST_SEED={}", seed));
  SeededRandom random(seed);
  for (std::size_t i = 0; i < rounds(5); ++i) {
    const std::size_t before = calls();
    send();
    ASSERT_TRUE(work.goes_on(calls, before)) << "kill " << i;
    std::this_thread::sleep_for(microseconds(random.below(30'000)));
    server.kill();
    server.start();
  }
  work.finish();
}

TEST_P(OutsideServer, IsKilled) {
  const auto under_test = start_server();
  Work work(under_test->make_database(), settings(), 1);
  ASSERT_NO_FATAL_FAILURE(kill_amid_effects(
      under_test->server(), work, [&] { work.send(50); }, [&] { return calls(); }));
  expect_all(work);
}

INSTANTIATE_TEST_SUITE_P(Strategies, OutsideServer, testing::Values("fence", "at_most_once"),
                         [](const auto& info) { return std::string(info.param); });

// Steps that the journal does not contain are called again with the same key; undone steps stay
// undone.
TEST(StepsOutside, TheirServerIsKilled) {
  const auto under_test = start_server();
  const TempDir folder;
  const Ledger ledger(folder.file("ledger"));
  Work work(under_test->make_database(),
            {"strategy=state_machine", "handler=steps", "ledger=" + folder.file("ledger")}, 1);
  std::vector<std::string> given_up;
  const auto send = [&] {
    work.send(30);
    std::vector<std::string> bad;
    for (int i = 0; i < 10; ++i) bad.push_back(fmt::format("bad-{}", given_up.size() + i));
    given_up.insert(given_up.end(), bad.begin(), bad.end());
    work.bed().send(bad);
  };
  ASSERT_NO_FATAL_FAILURE(
      kill_amid_effects(under_test->server(), work, send, [&] { return ledger.balance().keys; }));
  const TestBed& bed = work.bed();
  const auto dead = bed.dead();
  EXPECT_EQ(dead.size(), given_up.size());
  for (const auto& [id, reason] : dead) EXPECT_EQ(reason, "handler.native") << id;
  EXPECT_EQ(bed.completed(), work.sent());
  EXPECT_EQ(bed.held(), 0U);
  const auto balance = ledger.balance();
  EXPECT_EQ(balance.keys, 2 * work.sent() + 4 * given_up.size()) << "a call is missing";
  const auto entries = ledger.entries();
  for (const std::string& id : given_up) {
    const auto undone = std::ranges::find(entries, id + "/charge/undo");
    for (const char* step : {"/lock", "/charge"}) {
      EXPECT_EQ(std::find(undone, entries.end(), id + step), entries.end()) << id << step;
    }
  }
  fmt::print("{} messages in two steps, {} given up and undone: {} calls were made again\n",
             work.sent() + given_up.size(), given_up.size(), balance.effects - balance.keys);
}

}  // namespace
}  // namespace semel::test
