// A dead process is detected by its lock, and nothing is taken from one that is only stopped.
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "stores/sqlite/test_place.h"
#include "tests/support/child_process.h"

namespace semel::sqlite {
namespace {

using test::ChildProcess;

class InstancesTest : public SqliteTest {
 protected:
  // A process that runs the consumer, holds a lease on "leased" and has one row of the queue.
  ChildProcess holder(std::size_t window) {
    return ChildProcess::fork([this, window](ChildProcess::Voice& voice) {
      const auto store = open();
      const ConsumerNumber consumer = attach(*store);
      if (!store->facets().runs->begin(consumer, window).has_value()) return 1;
      const Message leased = test::make_message(consumer, "leased");
      acquire(*store, leased);
      if (store->facets().held->take(consumer, 1, 1 << 20, 1h).value().size() != 1) return 2;
      voice.ready();
      ChildProcess::Voice::wait_for_death();
    });
  }
  void append(Store& store, ConsumerNumber consumer, std::size_t count) {
    const std::vector<OutgoingMessage> rows(count, row("row"));
    ASSERT_TRUE(store.facets().held->append(consumer, rows).has_value());
  }
  std::vector<Arrival> take(Store& store, ConsumerNumber consumer) {
    return store.facets().held->take(consumer, 10, 1 << 20, 1h).value();
  }
};

// Under another name the locks would be in another file, and living processes would seem dead.
TEST_F(InstancesTest, WhoComesByALinkMeetsTheOthers) {
  const std::string real = path_;
  // Made through a link whose target does not exist yet, in a folder that is a link too.
  std::filesystem::create_directory(folder_.file("links"));
  std::filesystem::create_directory_symlink(folder_.file("links"), folder_.file("folder"));
  std::filesystem::create_symlink(real, folder_.file("links/first.db"));
  std::filesystem::create_symlink("first.db", folder_.file("links/second.db"));
  path_ = folder_.file("folder/first.db");
  { attach(*open()); }
  {
    const auto store = open();
    append(*store, attach(*store), 2);
  }
  for (const char* link : {"folder/first.db", "folder/second.db", "store.db"}) {
    SCOPED_TRACE(link);
    path_ = folder_.file(link);
    ChildProcess child = holder(17);
    ASSERT_TRUE(child.wait_ready());
    path_ = link == std::string("store.db") ? folder_.file("links/first.db") : real;
    const auto store = open();
    const ConsumerNumber consumer = attach(*store);
    EXPECT_EQ(stats(*store).running_pids, std::vector<std::int64_t>{child.pid()});
    EXPECT_FALSE(store->facets().runs->sweep().value()) << "it lives";
    EXPECT_TRUE(
        std::holds_alternative<Busy>(claim(*store, test::make_message(consumer, "leased"))));
    child.kill();
    ASSERT_TRUE(child.wait().has_value());
    EXPECT_TRUE(store->facets().runs->sweep().value());
  }
  EXPECT_FALSE(std::filesystem::exists(folder_.file("links/first.db-semel")));
}

TEST_F(InstancesTest, ADeadProcessIsFreedAtOnce) {
  { attach(*open()); }
  {
    const auto store = open();
    append(*store, attach(*store), 2);
  }
  ChildProcess child = holder(17);
  ASSERT_TRUE(child.wait_ready());
  // Opened after the fork: a child shares its parent's locks.
  const auto store = open();
  const ConsumerNumber consumer = attach(*store);
  const Message leased = test::make_message(consumer, "leased");
  EXPECT_TRUE(std::holds_alternative<Busy>(claim(*store, leased)));
  EXPECT_EQ(stats(*store).running_pids, std::vector<std::int64_t>{child.pid()});
  EXPECT_FALSE(store->facets().runs->sweep().value()) << "it lives";
  child.kill();
  ASSERT_TRUE(child.wait().has_value());
  EXPECT_TRUE(store->facets().runs->sweep().value());
  EXPECT_FALSE(store->facets().runs->sweep().value()) << "once";
  EXPECT_TRUE(stats(*store).running_pids.empty());
  const Claim answer = claim(*store, leased);
  ASSERT_TRUE(std::holds_alternative<Acquired>(answer));
  EXPECT_TRUE(std::get<Acquired>(answer).taken_over);
  const auto rows = take(*store, consumer);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(std::ranges::count(rows, true, &Arrival::suspect), 1) << "the one it had in hand";
  const auto begun = store->facets().runs->begin(consumer, 5).value();
  EXPECT_TRUE(begun.unclean);
  EXPECT_EQ(begun.window, 17U);
  EXPECT_EQ(stats(*store).running_pids, std::vector<std::int64_t>{::getpid()});
  EXPECT_EQ(stats(*store).consumers.at(0).running_pids, std::vector<std::int64_t>{::getpid()});
  store->attach({"refunds", "recipe", false, {}}).value();
  EXPECT_TRUE(stats(*store).consumers.at(1).running_pids.empty()) << "nobody runs that one";
  EXPECT_FALSE(store->facets().runs->begin(consumer, 5).value().unclean) << "told once";
}

TEST_F(InstancesTest, WhereTheLocksFileWasDeletedNobodyCountsAsGone) {
  const auto before = open();
  append(*before, attach(*before), 1);
  ASSERT_TRUE(std::filesystem::remove(path_ + "-semel"));
  ChildProcess child = holder(1);
  ASSERT_TRUE(child.wait_ready());
  ASSERT_TRUE(std::filesystem::exists(path_ + "-semel")) << "its locks are in another file";
  EXPECT_FALSE(before->facets().runs->sweep().value()) << "it lives";
  EXPECT_EQ(stats(*before).running_pids, std::vector<std::int64_t>{child.pid()});
}

TEST_F(InstancesTest, AStoppedProcessKeepsWhatItHas) {
  {
    const auto store = open();
    append(*store, attach(*store), 1);
  }
  ChildProcess child = holder(1);
  ASSERT_TRUE(child.wait_ready());
  child.stop();
  const auto store = open();
  const ConsumerNumber consumer = attach(*store);
  EXPECT_FALSE(store->facets().runs->sweep().value());
  EXPECT_FALSE(store->facets().runs->begin(consumer, 1).value().unclean);
  EXPECT_TRUE(std::holds_alternative<Busy>(claim(*store, test::make_message(consumer, "leased"))));
  EXPECT_TRUE(take(*store, consumer).empty());
  // Expiry by time is another matter.
  clock_->advance(2h);
  EXPECT_EQ(take(*store, consumer).size(), 1U);
  EXPECT_TRUE(
      std::holds_alternative<Acquired>(claim(*store, test::make_message(consumer, "leased"))));
}

TEST_F(InstancesTest, ACleanEndLeavesNoSuspicion) {
  for (int run = 0; run < 3; ++run) {
    const auto store = open();
    const ConsumerNumber consumer = attach(*store);
    EXPECT_FALSE(store->facets().runs->begin(consumer, 3).value().unclean) << "run " << run;
    ASSERT_TRUE(store->facets().runs->end(consumer).has_value());
  }
  const auto store = open();
  store->facets().runs->begin(attach(*store), 3).value();
  EXPECT_EQ(one("SELECT count(*) FROM semel_instance"), "1") << "the dead are cleared away";
}

TEST_F(InstancesTest, AReservationIsExclusiveAndDiesWithItsProcess) {
  { attach(*open()); }
  ChildProcess child = ChildProcess::fork([&](ChildProcess::Voice& voice) {
    const auto store = open();
    const auto mine = store->facets().positions->reserve(attach(*store), "a.jsonl");
    if (!mine) return 1;
    voice.ready();
    ChildProcess::Voice::wait_for_death();
  });
  ASSERT_TRUE(child.wait_ready());
  const auto store = open();
  const ConsumerNumber consumer = attach(*store);
  Positions& positions = *store->facets().positions;
  const auto refused = positions.reserve(consumer, "a.jsonl");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, "R230");
  EXPECT_TRUE(positions.reserve(consumer, "b.jsonl").has_value());
  EXPECT_TRUE(positions.reserve(attach(*store, "other"), "a.jsonl").has_value());
  child.kill();
  ASSERT_TRUE(child.wait().has_value());
  EXPECT_TRUE(positions.reserve(consumer, "a.jsonl").has_value());
}

TEST_F(InstancesTest, AConsumersTakeDrainsNoOtherConsumersDescriptor) {
  const auto store = open();
  const ConsumerNumber first = attach(*store, "first");
  const ConsumerNumber second = attach(*store, "second");
  HeldMessages& held = *store->facets().held;
  const auto readable = [](int fd) {
    pollfd wait{fd, POLLIN, 0};
    return ::poll(&wait, 1, 0) > 0;
  };
  take(*store, first);
  take(*store, second);
  const int of_first = held.wake_fd(first);
  const int of_second = held.wake_fd(second);
  ASSERT_GE(of_first, 0);
  ASSERT_NE(of_first, of_second);
  EXPECT_FALSE(readable(of_first));
  append(*store, second, 1);
  EXPECT_TRUE(readable(of_first));
  EXPECT_TRUE(take(*store, first).empty());
  EXPECT_FALSE(readable(of_first));
  EXPECT_TRUE(readable(of_second)) << "its row is still to be met";
  EXPECT_EQ(take(*store, second).size(), 1U);
  EXPECT_FALSE(readable(of_second)) << "its own commit wakes it for nothing";
}

}  // namespace
}  // namespace semel::sqlite
