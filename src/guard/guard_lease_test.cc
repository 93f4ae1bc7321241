#include <gtest/gtest.h>

#include <future>

#include <semel/guard.h>
#include <semel/memory.h>

#include "strategies/lease_renewer.h"
#include "tests/support/builders.h"
#include "tests/support/fault_store.h"

namespace semel::guard {
namespace {

using std::chrono::milliseconds;
using test::StoreCall;

constexpr milliseconds kLease{1'500};

class GuardLeaseTest : public ::testing::Test {
 protected:
  GuardLeaseTest()
      : inner_(make_memory_store()),
        store_(test::make_fault_store(*inner_, plan_)),
        number_(*store_->attach({"payments", "guard", false, std::nullopt})),
        message_(test::make_message(number_, "a")),
        renewer_(options(*store_)) {}

  static strategies::LeaseRenewerOptions options(Store& store) {
    strategies::LeaseRenewerOptions made;
    made.lease = kLease;
    made.store = &store;
    made.clock = system_environment().clock;
    return made;
  }

  Claim claim() {
    const Message* const one = &message_;
    ClaimOptions options;
    options.lease = kLease;
    return store_->claim({&one, 1}, options)->front();
  }
  void wait_for_renewals(std::size_t count) const {
    while (plan_.calls(StoreCall::kRenew) < count) std::this_thread::sleep_for(milliseconds(5));
  }

  std::unique_ptr<Store> inner_;
  test::FaultPlan plan_;
  std::unique_ptr<Store> store_;
  ConsumerNumber number_;
  Message message_;
  strategies::LeaseRenewer renewer_;
};

TEST_F(GuardLeaseTest, ALeaseLivesAsLongAsItsWatch) {
  const auto lease = std::get<Acquired>(claim()).lease;
  auto watch = renewer_.watch({&lease, 1}, strategies::HandlerMonitor::Handlers::kInTurn);
  const auto stop = watch->handler_begins(0);
  wait_for_renewals(5);  // longer than one lease
  EXPECT_TRUE(std::holds_alternative<Busy>(claim()));
  EXPECT_FALSE(stop.stop_requested());
  watch->finished(0);
  watch.reset();
}

TEST_F(GuardLeaseTest, ALostLeaseStopsTheWork) {
  const auto lease = std::get<Acquired>(claim()).lease;
  auto watch = renewer_.watch({&lease, 1}, strategies::HandlerMonitor::Handlers::kInTurn);
  const auto stop = watch->handler_begins(0);
  std::promise<void> fired;
  const std::stop_callback callback(stop, [&] { fired.set_value(); });
  const Finish taken = test::completed(lease);
  ASSERT_EQ(store_->finish({&taken, 1})->front(), Applied::kYes);
  EXPECT_EQ(fired.get_future().wait_for(std::chrono::seconds(20)), std::future_status::ready);
}

TEST_F(GuardLeaseTest, AStoreThatIsAwayStopsNoWork) {
  plan_.fail(StoreCall::kRenew, 1, ErrorKind::kUnavailable, test::When::kBefore);
  const auto lease = std::get<Acquired>(claim()).lease;
  auto watch = renewer_.watch({&lease, 1}, strategies::HandlerMonitor::Handlers::kInTurn);
  const auto stop = watch->handler_begins(0);
  wait_for_renewals(3);
  EXPECT_EQ(plan_.fired(StoreCall::kRenew), 1U);
  EXPECT_FALSE(stop.stop_requested());
}

TEST_F(GuardLeaseTest, SlowWorkUnderAGuardKeepsItsKey) {
  GuardOptions options;
  options.consumer = "payments";
  options.lease = kLease;
  Guard guard(*store_, options);
  int ran = 0;
  const auto outcome = guard.run_once("slow", {}, [&] {
    ++ran;
    wait_for_renewals(5);
    EXPECT_EQ(guard.run_once("slow", {}, [&] { ++ran; })->kind, Outcome::Kind::kBusy);
  });
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->kind, Outcome::Kind::kDone);
  EXPECT_EQ(ran, 1);
}

}  // namespace
}  // namespace semel::guard
