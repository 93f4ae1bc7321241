// Order while partitions move between processes: engines on one store, and a topic that gives each
// partition to one of them and revokes it in mid-run.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <semel/memory.h>
#include <semel/sqlite.h>

#include "compose/test_engine_parts.h"
#include "core/intake.h"
#include "core/leaving_partitions.h"
#include "engine/engine.h"
#include "system/event_fd.h"
#include "system/mutex.h"
#include "tests/support/builders.h"
#include "tests/support/fault_store.h"
#include "tests/support/recording_observer.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_environment.h"

namespace semel::engine {
namespace {

using std::chrono::milliseconds;
using Effects = std::vector<std::string>;

constexpr SourceTraits kMemberTraits{.name = "member"};
// The most records of a partition that one receive hands out.
constexpr std::size_t kHandedOutAtOnce = 4;

// "k3-7" is the seventh message of the ordering key k3.
Bytes numbered(const std::string& id) {
  return fmt::format(R"({{"id":"{}","k":"{}"}})", id, id.substr(0, id.find('-')));
}

// A topic and its consumer group. If a member gives up a partition, records of it that the member
// has not settled come again to the other member; settling them has no effect then.
class GroupTopic {
 public:
  struct Partition {
    std::vector<Bytes> log;
    std::size_t committed = 0;  // all records before it are settled
    std::size_t next = 0;       // the next record to hand out
    std::set<std::size_t> out, settled, given_back;
    std::size_t member = 0;
    std::uint64_t generation = 0;        // of one assignment of one partition
    std::optional<std::size_t> goes_to;  // once none of its records is out
  };
  explicit GroupTopic(std::size_t partitions) : partitions_(partitions) {
    for (Partition& partition : partitions_) partition.generation = ++generations_;
  }

  void produce(std::size_t partition, Bytes record) {
    const std::scoped_lock lock(mutex_);
    partitions_[partition].log.push_back(std::move(record));
    ring();
  }
  // Does not wait for the member that has the partition.
  void move(std::size_t partition, std::size_t member) {
    const std::scoped_lock lock(mutex_);
    leave(partitions_[partition]);
    move_now(partitions_[partition], member);
  }
  // From now on partitions move at random while members receive. The old member gets no more
  // records of the partition, and the move waits for those that it has.
  void move_at_random(test::SeededRandom& random, std::size_t members) {
    const std::scoped_lock lock(mutex_);
    random_ = &random;
    members_ = members;
  }
  std::size_t moves() const {
    const std::scoped_lock lock(mutex_);
    return moves_;
  }

 private:
  friend class GroupMember;
  void leave(const Partition& partition) {
    leaving_[partition.member].push_back(partition.generation);
    const auto bell = leaving_bells_.find(partition.member);
    if (bell != leaving_bells_.end()) bell->second->signal();
  }
  void move_now(Partition& partition, std::size_t member) {
    partition.member = member;
    partition.next = partition.committed;
    partition.out.clear();
    partition.settled.clear();
    partition.given_back.clear();
    partition.goes_to.reset();
    partition.generation = ++generations_;
    ++moves_;
    ring();
  }
  void move_if_drained(Partition& partition) {
    if (partition.goes_to && partition.out.empty()) move_now(partition, *partition.goes_to);
  }
  void move_one_at_random() {
    if (random_ == nullptr || random_->below(4) != 0) return;
    Partition& partition = partitions_[random_->below(partitions_.size())];
    const std::size_t to = random_->below(members_);
    if (partition.goes_to || partition.member == to) return;
    partition.goes_to = to;
    leave(partition);
    move_if_drained(partition);
  }
  void ring() {
    for (system::EventFd* bell : bells_) bell->signal();
  }

  mutable std::mutex mutex_;
  std::vector<Partition> partitions_;
  std::vector<system::EventFd*> bells_;
  std::map<std::size_t, system::EventFd*> leaving_bells_;  // by member
  std::map<std::size_t, std::vector<std::uint64_t>> leaving_;
  std::uint64_t generations_ = 0;
  test::SeededRandom* random_ = nullptr;
  std::size_t members_ = 0;
  std::size_t moves_ = 0;
};

class GroupMember final : public Source, public core::LeavingPartitions {
 public:
  GroupMember(GroupTopic& topic, std::size_t member) : topic_(topic), member_(member) {
    const std::scoped_lock lock(topic_.mutex_);
    topic_.bells_.push_back(&bell_);
    topic_.leaving_bells_[member] = &leaving_bell_;
    bell_.signal();
  }
  ~GroupMember() override {
    const std::scoped_lock lock(topic_.mutex_);
    std::erase(topic_.bells_, &bell_);
    topic_.leaving_bells_.erase(member_);
  }

  const SourceTraits& traits() const noexcept override { return kMemberTraits; }
  Result<Received> receive(const ReceiveLimits& limits) override {
    bell_.drain();
    const std::scoped_lock lock(topic_.mutex_);
    topic_.move_one_at_random();
    Received received;
    for (std::size_t index = 0; index < topic_.partitions_.size(); ++index) {
      const GroupTopic::Partition& partition = topic_.partitions_[index];
      if (partition.member == member_ && !partition.goes_to) read(index, limits, received);
    }
    return received;
  }
  Wakeup wakeup() override { return {bell_.get(), std::nullopt}; }
  Result<void> settle(std::span<const Settlement> settlements) override {
    const std::scoped_lock lock(topic_.mutex_);
    for (const Settlement& settlement : settlements) {
      for (GroupTopic::Partition& partition : topic_.partitions_) {
        const std::size_t index = static_cast<std::size_t>(&partition - topic_.partitions_.data());
        if (settlement.tag.value % topic_.partitions_.size() != index ||
            settlement.tag.generation != partition.generation || partition.member != member_) {
          continue;
        }
        settle_one(partition, settlement.tag.value / topic_.partitions_.size(), settlement.kind);
        topic_.move_if_drained(partition);
      }
    }
    topic_.ring();
    return {};
  }
  Result<void> extend(std::span<const Tag>, milliseconds) override { return {}; }
  void set_paused(std::string_view partition, bool paused) override {
    const std::scoped_lock lock(topic_.mutex_);
    paused ? void(paused_.emplace(partition)) : void(paused_.erase(std::string(partition)));
    topic_.ring();
  }
  Result<void> close(milliseconds) override { return {}; }
  std::vector<std::uint64_t> take_leaving() noexcept override {
    leaving_bell_.drain();
    const std::scoped_lock lock(topic_.mutex_);
    return std::exchange(topic_.leaving_[member_], {});
  }
  int leaving_fd() const noexcept override { return leaving_bell_.get(); }

 private:
  static void settle_one(GroupTopic::Partition& partition, std::size_t offset,
                         Settlement::Kind kind) {
    partition.out.erase(offset);
    if (kind == Settlement::Kind::kRelease) {
      partition.given_back.insert(offset);
      return;
    }
    partition.settled.insert(offset);
    while (partition.settled.erase(partition.committed) > 0) ++partition.committed;
  }
  void read(std::size_t index, const ReceiveLimits& limits, Received& into) {
    GroupTopic::Partition& partition = topic_.partitions_[index];
    const std::string name = std::to_string(index);
    if (paused_.contains(name)) return;
    for (std::size_t count = 0; count < kHandedOutAtOnce && into.arrivals.size() < limits.messages;
         ++count) {
      std::size_t offset = partition.next;
      if (!partition.given_back.empty()) {
        offset = partition.given_back.extract(partition.given_back.begin()).value();
      } else if (partition.next < partition.log.size()) {
        ++partition.next;
      } else {
        return;
      }
      partition.out.insert(offset);
      Arrival& arrival = into.arrivals.emplace_back();
      arrival.payload = partition.log[offset];
      arrival.partition = name;
      arrival.position = fmt::format("{}-{}", index, offset);
      arrival.tag = {offset * topic_.partitions_.size() + index, partition.generation};
    }
    bell_.signal();  // there may be more records
  }

  GroupTopic& topic_;
  const std::size_t member_;
  system::EventFd bell_, leaving_bell_;
  std::set<std::string> paused_;
};

class OrderAtAssignment : public testing::Test {
 protected:
  OrderAtAssignment() : memory_(make_memory_store()), store_(make_fault_store(*memory_, plan_)) {
    recipe_.parts.push_back(core::KeyPart::parse("json:/id").value());
    number_ = store_->attach({"orders", recipe_.hash(), false, std::nullopt}).value();
    order_.key = core::KeyPart::parse("json:/k").value();
  }

  std::unique_ptr<Engine> member(GroupTopic& topic, std::size_t member, PlainHandler handler) {
    return member_on(*store_, topic, member, std::move(handler));
  }
  std::unique_ptr<Engine> member_on(Store& store, GroupTopic& topic, std::size_t member,
                                    PlainHandler handler) {
    EngineOptions options;
    options.consumer = "orders";
    options.number = number_;
    options.recipe = recipe_;
    options.order = order_;
    options.takes_over_lines = true;
    options.workers = workers_;
    auto intake = std::make_shared<core::Intake>(number_, recipe_, core::Limits{}, order_);
    const TestEngine of{
        "orders",  number_, store,
        observer_, gate_,   [intake](const Arrival& arrival) { return intake->line_of(arrival); }};
    return Engine::create(
        std::move(options),
        test_engine_parts(of, std::make_unique<GroupMember>(topic, member), std::move(handler)));
  }

  // Runs an engine that has the partition until its first message has failed once and is left in
  // the store, to be tried again after that time.
  void leave_waiting(GroupTopic& topic, std::size_t as, milliseconds after) {
    Engine* engine = nullptr;
    const auto other = member(topic, as, [&](const Message&, const Attempt&) -> Verdict {
      engine->stop();
      return retry("not this time", after);
    });
    engine = other.get();
    EXPECT_EQ(other->run(), Ended::kDrained);
  }

  // Member 0 runs. While it handles "b-0", member 1 leaves "a-0" waiting, and later records go to
  // member 0. Returns what happened, in order.
  Effects taken_over_in_mid_run() {
    GroupTopic topic(2);
    topic.move(1, 1);
    topic.produce(0, numbered("b-0"));
    topic.produce(1, numbered("a-0"));
    Effects effects;
    Engine* engine = nullptr;
    const auto running = member(topic, 0, [&](const Message& message, const Attempt&) -> Verdict {
      effects.push_back(message.key().text);
      if (effects.back() == "b-0") {
        leave_waiting(topic, 1, std::chrono::seconds(1));
        topic.produce(1, numbered("a-1"));
        topic.move(1, 0);
        if (taken_over_) taken_over_();
      }
      if (effects.size() == 3) engine->stop();
      return done();
    });
    engine = running.get();
    EXPECT_EQ(running->run(), Ended::kDrained);
    return effects;
  }

  test::FaultPlan plan_;
  std::unique_ptr<Store> memory_;
  std::unique_ptr<Store> store_;
  core::KeyRecipe recipe_;
  core::Order order_;
  ConsumerNumber number_{};
  int workers_ = 0;
  test::RecordingObserver observer_;
  system::Mutex gate_;
  std::function<void()> taken_over_;
};

TEST_F(OrderAtAssignment, WhatTheLastOwnerLeftWaitingIsNotPassed) {
  EXPECT_EQ(taken_over_in_mid_run(), Effects({"b-0", "a-0", "a-1"}));
  EXPECT_EQ(observer_.held(), std::vector<Bytes>{"a-1"}) << "untried";
}

TEST_F(OrderAtAssignment, BlockHoldsTheNewPartition) {
  order_.on_failure = core::Order::OnFailure::kBlock;
  EXPECT_EQ(taken_over_in_mid_run(), Effects({"b-0", "a-0", "a-1"}));
  EXPECT_TRUE(observer_.held().empty()) << "nothing but the failed one is in the store";
}

TEST_F(OrderAtAssignment, UntilTheStoreSaysWhatWaitsEachLineIsAskedFor) {
  taken_over_ = [this] {
    plan_.fail_always(test::StoreCall::kHeldLines, ErrorKind::kUnavailable, test::When::kBefore);
    plan_.fail(test::StoreCall::kHeldBehind, 1, ErrorKind::kUnavailable, test::When::kBefore);
  };
  EXPECT_EQ(taken_over_in_mid_run(), Effects({"b-0", "a-0", "a-1"}));
  EXPECT_GE(plan_.fired(test::StoreCall::kHeldLines), 1U);
  EXPECT_EQ(plan_.fired(test::StoreCall::kHeldBehind), 1U);
  EXPECT_GE(plan_.calls(test::StoreCall::kHeldBehind), 2U);
}

// The partition moves to another process before the first message has failed. That process has the
// second message, and would not know of a row that is stored later.
TEST_F(OrderAtAssignment, AMemberThatLostAPartitionKeepsNothingBehindOthersOfIt) {
  GroupTopic topic(2);
  topic.produce(0, numbered("b-0"));
  topic.produce(1, numbered("a-0"));
  topic.produce(1, numbered("a-1"));
  Effects tried;
  Engine* engine = nullptr;
  const auto running = member(topic, 0, [&](const Message& message, const Attempt&) -> Verdict {
    tried.push_back(message.key().text);
    if (tried.back() == "b-1") engine->stop();
    if (tried.back() != "a-0") return done();
    topic.move(1, 1);
    topic.produce(0, numbered("b-1"));
    return retry("not this time", std::chrono::hours(1));
  });
  engine = running.get();
  EXPECT_EQ(running->run(), Ended::kDrained);
  EXPECT_EQ(tried, Effects({"b-0", "a-0", "b-1"}));
  EXPECT_TRUE(observer_.held().empty());
  EXPECT_EQ(store_->facets().held->depth(number_).value().rows, 1U) << "the one that failed";
}

// The message is given back before it begins, because the group waits only for running messages.
TEST_F(OrderAtAssignment, WhatHasNotBegunIsNotBegunWhereItsPartitionGoes) {
  order_.on_failure = core::Order::OnFailure::kSkip;
  GroupTopic topic(2);
  topic.produce(1, numbered("a-0"));
  topic.produce(1, numbered("a-1"));
  topic.produce(1, numbered("a-2"));
  Effects tried;
  Engine* engine = nullptr;
  const auto running = member(topic, 0, [&](const Message& message, const Attempt&) -> Verdict {
    tried.push_back(message.key().text);
    if (tried.back() == "b-0") engine->stop();
    if (tried.back() == "a-0") {
      topic.move(1, 1);
      topic.produce(0, numbered("b-0"));
    }
    return done();
  });
  engine = running.get();
  EXPECT_EQ(running->run(), Ended::kDrained);
  EXPECT_EQ(tried, Effects({"a-0", "b-0"}));
}

// Two members, each of which gives up partitions while their messages are in flight, and gets them
// back later. A tenth of all attempts fails.
TEST_F(OrderAtAssignment, EffectsOfAKeyComeInTheirOrderWhereverItsPartitionGoes) {
  constexpr std::size_t kPartitions = 4;
  constexpr std::size_t kKeysOfEach = 3;
  constexpr std::size_t kOfEachKey = 20;
  const std::uint64_t seed = test::test_seed();
  SCOPED_TRACE(fmt::format("SEMEL_TEST_SEED={}", seed));
  test::SeededRandom random(seed);
  workers_ = 2;
  // Each member has its own store object on one file, as two processes have.
  const test::TempDir folder;
  std::vector<std::unique_ptr<Store>> stores;
  for (int i = 0; i < 2; ++i) {
    SqliteOptions options;
    options.path = folder.file("semel.db");
    stores.push_back(open_sqlite(options).value());
    number_ = stores.back()->attach({"orders", recipe_.hash(), false, std::nullopt}).value();
  }
  GroupTopic topic(kPartitions);
  for (std::size_t number = 0; number < kOfEachKey; ++number) {
    for (std::size_t key = 0; key < kPartitions * kKeysOfEach; ++key) {
      topic.produce(key % kPartitions, numbered(fmt::format("k{}-{}", key, number)));
    }
  }
  topic.move_at_random(random, 2);
  std::mutex mutex;
  std::condition_variable changed;
  Effects effects;
  std::map<std::string, std::size_t> done_of;
  const auto handler = [&](const Message& message, const Attempt&) -> Verdict {
    if (random.below(10) == 0) return retry("not this time", milliseconds(20 + random.below(200)));
    const std::scoped_lock lock(mutex);
    effects.push_back(message.key().text);
    changed.notify_all();
    return done();
  };
  const auto one = member_on(*stores[0], topic, 0, handler);
  const auto two = member_on(*stores[1], topic, 1, handler);
  std::thread first([&] { EXPECT_EQ(one->run(), Ended::kDrained); });
  std::thread second([&] { EXPECT_EQ(two->run(), Ended::kDrained); });
  constexpr std::size_t kAll = kPartitions * kKeysOfEach * kOfEachKey;
  {
    std::unique_lock lock(mutex);
    EXPECT_TRUE(
        changed.wait_for(lock, std::chrono::seconds(60), [&] { return effects.size() >= kAll; }));
  }
  for (const auto& engine : {one.get(), two.get()}) engine->stop();
  first.join();
  second.join();
  EXPECT_EQ(effects.size(), kAll);
  for (const std::string& id : effects) {
    const auto dash = id.find('-');
    ASSERT_EQ(std::stoul(id.substr(dash + 1)), done_of[id.substr(0, dash)]++) << id;
  }
  EXPECT_GT(topic.moves(), kPartitions);
}

}  // namespace
}  // namespace semel::engine
