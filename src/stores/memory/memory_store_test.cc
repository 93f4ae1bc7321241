// Cases of the memory store only. All else is in tests/conformance.
#include <semel/memory.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <variant>
#include <vector>

#include <semel/admin/records.h>

#include "stores/memory/key_index.h"
#include "tests/support/builders.h"
#include "tests/support/test_environment.h"

namespace semel::memory {
namespace {

using namespace std::chrono_literals;
using test::make_message;
using test::make_messages;
using test::pointers;

class MemoryStoreTest : public testing::Test {
 protected:
  void open(std::size_t max_records) {
    store_ = make_memory_store({max_records, &environment_.get()});
    consumer_ = store_->attach({"payments", "recipe", false, std::nullopt}).value();
  }
  Claim claim(const Message& message) {
    const Message* one = &message;
    return store_->claim({&one, 1}, {}).value().at(0);
  }
  void complete(const Message& message) {
    const Finish finish = test::completed(std::get<Acquired>(claim(message)).lease);
    ASSERT_EQ(store_->finish({&finish, 1}).value().at(0), Applied::kYes);
  }

  test::TestEnvironment environment_;
  std::unique_ptr<Store> store_;
  ConsumerNumber consumer_{};
};

TEST_F(MemoryStoreTest, ForgetsTheOldestFinishedRecordAndSaysSo) {
  open(3);
  const auto messages = make_messages(consumer_, "key-", 5);
  for (const Message& message : messages) complete(message);
  EXPECT_TRUE(std::holds_alternative<Completed>(claim(messages[4])));
  EXPECT_TRUE(std::holds_alternative<Completed>(claim(messages[2])));
  EXPECT_EQ(store_->purge(1s).value().records, 2U);
  EXPECT_EQ(store_->purge(1s).value().records, 0U) << "told once";
  EXPECT_TRUE(std::holds_alternative<Acquired>(claim(messages[0]))) << "handled again, as said";
}

TEST_F(MemoryStoreTest, ForgetsInTheOrderOfFinishingAcrossConsumers) {
  open(2);
  const ConsumerNumber other = store_->attach({"refunds", "recipe", false, {}}).value();
  const Message first = make_message(consumer_, "a");
  const Message second = make_message(other, "a");
  complete(second);
  environment_.clock.advance(1s);
  complete(first);
  environment_.clock.advance(1s);
  complete(make_message(consumer_, "b"));
  EXPECT_TRUE(std::holds_alternative<Completed>(claim(first)));
  EXPECT_TRUE(std::holds_alternative<Acquired>(claim(second)));
}

TEST_F(MemoryStoreTest, NeverForgetsWhatIsUnfinished) {
  open(3);
  const auto messages = make_messages(consumer_, "key-", 4);
  const auto all = pointers(messages);
  ASSERT_TRUE(store_->claim({all.data(), 3}, {}).has_value());

  const auto refused = store_->claim({all.data() + 3, 1}, {});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().kind, ErrorKind::kLimit);

  const auto known = store_->claim({all.data(), 3}, {});
  ASSERT_TRUE(known.has_value()) << "what is there needs no room";
  for (const Claim& answer : *known) EXPECT_TRUE(std::holds_alternative<Busy>(answer));
}

TEST_F(MemoryStoreTest, AFullStoreClaimsNothingOfABatch) {
  open(3);
  const auto messages = make_messages(consumer_, "key-", 4);
  ASSERT_FALSE(store_->claim(pointers(messages), {}).has_value());
  EXPECT_EQ(store_->facets().records->list({}, {}, 100).value().size(), 0U);
}

TEST_F(MemoryStoreTest, HasTheFacetsItSays) {
  open(10);
  const StoreFacets facets = store_->facets();
  EXPECT_NE(facets.held, nullptr);
  EXPECT_NE(facets.dead_letters, nullptr);
  EXPECT_NE(facets.records, nullptr);
  EXPECT_NE(facets.positions, nullptr);
  EXPECT_NE(facets.gates, nullptr);
  EXPECT_NE(facets.steps, nullptr);
  EXPECT_EQ(facets.transactional, nullptr);
  EXPECT_EQ(facets.runs, nullptr);
  EXPECT_EQ(facets.live, nullptr);
  EXPECT_TRUE(store_->traits().forgets);
  EXPECT_FALSE(store_->traits().durable);
}

TEST(KeyIndexTest, AnswersAsAMapDoes) {
  const std::uint64_t seed = test::test_seed();
  SCOPED_TRACE(testing::Message() << "SEMEL_TEST_SEED=" << seed);
  test::SeededRandom random(seed);
  KeyIndex index(random.next());
  std::vector<KeyId> keys(6000);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    for (unsigned char& byte : keys[i].bytes) {
      byte = static_cast<unsigned char>(random.next());
    }
  }
  std::map<KeyId, std::uint32_t> model;
  for (int step = 0; step < 60'000; ++step) {
    const auto place = static_cast<std::uint32_t>(random.below(keys.size()));
    const KeyId& key = keys[place];
    const std::uint32_t hash = index.hash(key);
    const std::uint32_t found = index.find(hash, [&](std::uint32_t at) { return keys[at] == key; });
    ASSERT_EQ(found != KeyIndex::kNone, model.contains(key)) << "step " << step;
    if (found == KeyIndex::kNone) {
      index.insert(hash, place);
      model[key] = place;
    } else {
      ASSERT_EQ(found, place);
      index.erase(hash, place);
      model.erase(key);
    }
    ASSERT_EQ(index.size(), model.size());
  }
}

TEST(KeyIndexTest, FindsAmongKeysOfOneHash) {
  KeyIndex index(1);
  for (std::uint32_t place = 0; place < 300; ++place) index.insert(7, place);
  for (std::uint32_t place = 0; place < 300; place += 2) index.erase(7, place);
  for (std::uint32_t place = 0; place < 300; ++place) {
    const std::uint32_t found = index.find(7, [&](std::uint32_t at) { return at == place; });
    EXPECT_EQ(found, place % 2 == 0 ? KeyIndex::kNone : place);
  }
}

}  // namespace
}  // namespace semel::memory
