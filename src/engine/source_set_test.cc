#include "engine/source_set.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "tests/support/memory_source.h"
#include "tests/support/recording_observer.h"

namespace semel::engine {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t kLateGeneration = 7;
constexpr std::size_t kAll = 100;

class SourceSetTest : public ::testing::Test {
 protected:
  // The source was unavailable before and has recovered.
  SourceSetTest() {
    auto source = std::make_unique<test::MemorySource>(topic_);
    source_ = source.get();
    for (std::uint64_t i = 1; i < kLateGeneration; ++i) source_->reassign();
    std::vector<std::unique_ptr<Source>> sources;
    sources.push_back(std::move(source));
    sources_ = std::make_unique<SourceSet>(SourceSet::Options{}, std::move(sources),
                                           system_environment(), seen_, store_);
  }

  std::vector<Arrival> receive() {
    auto batches = sources_->receive({kAll, kAll * kAll}, kAll, false, {}, kAll);
    if (!batches || batches->size() != 1) {
      ADD_FAILURE() << "one source has something";
      return {};
    }
    return std::move(batches->front().arrivals);
  }
  // How many deliveries are kept hidden now.
  std::size_t extended_now(const std::set<SourceTag>& but = {}) {
    const std::size_t before = source_->extended();
    sources_->extend(but);
    return source_->extended() - before;
  }
  void settle(const Arrival& arrival) {
    sources_->settle(
        {PendingSettlement::told(arrival.source, arrival.tag, Settlement::Kind::kAck)});
  }

  test::MemoryTopic topic_;
  test::RecordingObserver seen_;
  StoreWatch store_{"payments", seen_, *system_environment().clock};
  test::MemorySource* source_ = nullptr;
  std::unique_ptr<SourceSet> sources_;
};

TEST_F(SourceSetTest, ExtendsWhatIsInHandUnderTheTagsThatItCameWith) {
  topic_.add("a");
  topic_.add("b");
  const std::vector<Arrival> arrivals = receive();
  ASSERT_EQ(arrivals.size(), 2U);
  ASSERT_EQ(arrivals[0].tag.generation, kLateGeneration);
  EXPECT_EQ(extended_now(), 2U);
  EXPECT_EQ(extended_now({{0, arrivals[0].tag}}), 1U) << "its handler hangs";
  EXPECT_EQ(extended_now({{1, arrivals[0].tag}}), 2U) << "another source's";
  settle(arrivals[0]);
  EXPECT_EQ(extended_now(), 1U);
}

TEST_F(SourceSetTest, TheEndOfAnOlderDeliveryLeavesTheNewerOneHidden) {
  topic_.add("a");
  const std::vector<Arrival> older = receive();
  source_->reassign();
  const std::vector<Arrival> newer = receive();
  ASSERT_EQ(older.size(), 1U);
  ASSERT_EQ(newer.size(), 1U);
  ASSERT_EQ(older[0].tag.value, newer[0].tag.value);
  settle(older[0]);
  EXPECT_EQ(extended_now(), 1U);
  settle(newer[0]);
  EXPECT_EQ(extended_now(), 0U);
  EXPECT_EQ(topic_.acked(), 1U);
}

}  // namespace
}  // namespace semel::engine
