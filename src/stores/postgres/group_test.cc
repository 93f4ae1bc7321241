// Transactions of one group: one that runs alone, and those that wait for it.
#include <gtest/gtest.h>

#include <variant>

#include "stores/postgres/test_live_place.h"
#include "tests/support/builders.h"

namespace semel::postgres {
namespace {

using std::chrono::milliseconds;
using test::make_message;

constexpr milliseconds kShort{50};

class PostgresGroup : public LiveTest {
 protected:
  PostgresGroup() : store_(open()), consumer_(attach(*store_)) {}

  std::unique_ptr<UnitOfWork> begin(bool alone) {
    UnitOptions options;
    options.group = LockName{};
    options.alone = alone;
    options.patience = kShort;
    return store_->facets().transactional->begin(options).value();
  }
  Result<std::vector<Claim>> claim(UnitOfWork& unit) {
    const Message message = make_message(consumer_, std::to_string(++keys_));
    const Message* const pointer = &message;
    return unit.claim({&pointer, 1});
  }

  const std::unique_ptr<Store> store_;
  const ConsumerNumber consumer_;
  int keys_ = 0;
};

TEST_F(PostgresGroup, OneThatIsAloneWaitsForTheOthers) {
  const auto other = begin(false);
  ASSERT_TRUE(claim(*other));
  const auto refused = claim(*begin(true));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kBlocked) << refused.error().message;
}

// As if its process had been stopped there.
TEST_F(PostgresGroup, OneThatNeverEndsKeepsNobodyFromItsKeys) {
  const auto stopped = begin(true);
  ASSERT_TRUE(claim(*stopped));
  const auto beside = begin(false);
  const auto claims = claim(*beside);
  ASSERT_TRUE(claims) << claims.error().message;
  EXPECT_TRUE(std::holds_alternative<Acquired>(claims->front()));
}

// Its claims were committed before: here their leases are confirmed.
TEST_F(PostgresGroup, NorFromTheirLeases) {
  const Message message = make_message(consumer_, "leased");
  const Message* const pointer = &message;
  const auto claims = store_->claim({&pointer, 1}, {}).value();
  const Lease lease = std::get<Acquired>(claims.front()).lease;
  const auto stopped = begin(true);
  ASSERT_TRUE(claim(*stopped));
  const auto applied = begin(false)->confirm({&lease, 1});
  ASSERT_TRUE(applied) << applied.error().message;
  EXPECT_EQ(applied->front(), Applied::kYes);
}

}  // namespace
}  // namespace semel::postgres
