#include "engine/receiver.h"

#include <gtest/gtest.h>

#include <semel/memory.h>
#include <semel/spi/held_messages.h>

#include "tests/support/builders.h"
#include "tests/support/recording_observer.h"

namespace semel::engine {
namespace {

using std::chrono::milliseconds;

// Otherwise a row that comes back with its record would be discarded for ever.
TEST(ReceiverTest, ADiscardedRowGoesAlthoughARecordWaitsWithIt) {
  const auto store = make_memory_store();
  const ConsumerNumber number = store->attach({"orders", "recipe", false, {}}).value();
  const Message empty = test::make_message(number, "key", "");
  const Message* const message = &empty;
  const Claim claim = store->claim({&message, 1}, {}).value().at(0);
  const Finish again = test::retrying(std::get<Acquired>(claim).lease, milliseconds(0), &empty);
  ASSERT_EQ(store->finish({&again, 1}).value().at(0), Applied::kYes);
  HeldMessages& held = *store->facets().held;
  auto arrivals = held.take(number, 1, 1, std::chrono::seconds(60)).value();
  ASSERT_EQ(arrivals.size(), 1u);
  // Like a letter from another process, which does not say when it was first seen.
  arrivals[0].since_first.reset();

  Receiver::Options options;
  options.consumer = "orders";
  options.number = number;
  options.empty = core::EmptyPayload::kDiscard;
  test::RecordingObserver seen;
  Receiver receiver(options, *store, seen);
  const SourceTraits traits;
  SourceSet::Batch batch;
  batch.arrivals = std::move(arrivals);
  batch.traits = &traits;
  EXPECT_TRUE(receiver.take_in(std::move(batch)).empty());
  ASSERT_EQ(receiver.keep_refused().value().size(), 1u);
  EXPECT_EQ(seen.count(Outcome::Kind::kDiscarded), 1u);
  EXPECT_EQ(held.depth(number).value().rows, 0u);
}

}  // namespace
}  // namespace semel::engine
