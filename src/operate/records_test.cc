#include "operate/records.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <semel/memory.h>

#include "core/guard_recipe.h"
#include "core/key_encoding.h"
#include "core/key_recipe.h"

namespace semel::operate {
namespace {

constexpr const char* kPaymentsAlone =
    "version: 1\n"
    "store: { memory: {} }\n"
    "consumers:\n"
    "  - { name: payments, source: { stdin: {} }, key: json:/id, handler: { native: pay } }\n";

// A store with the consumer of the config, that of a Guard, and one whose keys are positions.
class RecordsTest : public ::testing::Test {
 protected:
  RecordsTest()
      : config_(config::load_text(kPaymentsAlone, "semel.yaml").config.value()),
        store_(make_memory_store()),
        payments_(store_->attach({"payments", "recipe", false, {}}).value()),
        once_(store_->attach({"once", Bytes(core::kGuardRecipe), false, {}}).value()),
        lines_(store_->attach({"lines", "position", false, {}}).value()) {}

  void end(const KeyId& id, Finish::To to) {
    Message::Parts parts;
    parts.key = {"a", id};
    const Message message(std::move(parts));
    const Message* const one = &message;
    const auto claims = store_->claim({&one, 1}, {});
    ASSERT_TRUE(claims);
    Finish finish;
    finish.lease = std::get<Acquired>(claims->front()).lease;
    finish.to = to;
    ASSERT_EQ(store_->finish({&finish, 1}).value().front(), Applied::kYes);
  }

  StoreAccess access() const { return {config_, *store_, store_->facets()}; }
  std::size_t count(const std::string& filter = {}, std::optional<RecordState> state = {}) const {
    const Where where = filter.empty() ? Where() : Where::parse(filter, record_fields()).value();
    return count_foreign(access(), where, state).value();
  }

  const config::Config config_;
  const std::unique_ptr<Store> store_;
  const ConsumerNumber payments_, once_, lines_;
};

TEST_F(RecordsTest, ForeignConsumersAreThoseThatTheConfigDoesNotHave) {
  auto names = foreign_consumers(access()).value();
  std::ranges::sort(names);
  EXPECT_EQ(names, (std::vector<std::string>{"lines", "once"}));
}

TEST_F(RecordsTest, TheRecordsOfForeignConsumersAreCountedByTheFilter) {
  EXPECT_EQ(count(), 0U);
  end(core::encode_key(payments_, "a"), Finish::To::kParked);
  EXPECT_EQ(count(), 0U) << "its own";
  end(core::encode_key(once_, "a"), Finish::To::kParked);
  end(core::encode_key(once_, "b"), Finish::To::kDead);
  end(core::encode_key(once_, "c"), Finish::To::kCompleted);
  EXPECT_EQ(count(), 2U) << "completed ones are found by their key only";
  EXPECT_EQ(count({}, RecordState::kDead), 1U);
  EXPECT_EQ(count({}, RecordState::kRetrying), 0U);
  EXPECT_EQ(count("state=parked"), 1U);
  EXPECT_EQ(count("state!=parked", RecordState::kDead), 1U);
  EXPECT_EQ(count("key=a"), 1U);
  EXPECT_EQ(count("key=c"), 1U);
  EXPECT_EQ(count("key=c and state=parked"), 0U);
  EXPECT_EQ(count("key=c", RecordState::kParked), 0U);
  EXPECT_EQ(count("key=d"), 0U);
}

TEST_F(RecordsTest, AKeyIsFoundWithoutTheRecipeOfItsConsumer) {
  const Bytes at = "orders-3-17";
  core::KeyRecipe positions;
  positions.parts.push_back(core::KeyPart::parse("position").value());
  ASSERT_NE(positions.id_of(lines_, at), core::encode_key(lines_, at));
  end(positions.id_of(lines_, at), Finish::To::kDead);
  end(core::encode_key(once_, at), Finish::To::kParked);
  const auto found = find_records(access(), {"payments", "once", "lines", "nobody"}, at).value();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].consumer, "once");
  EXPECT_EQ(found[0].record.state, RecordState::kParked);
  EXPECT_EQ(found[1].consumer, "lines");
  EXPECT_EQ(found[1].record.state, RecordState::kDead);
}

}  // namespace
}  // namespace semel::operate
