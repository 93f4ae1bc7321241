// Messages sent with a Finish: rows of other queues, in the record's commit.
#include <algorithm>
#include <string>

#include "tests/conformance/store_case.h"

namespace semel::conformance {
namespace {

Outgoing outgoing(ConsumerNumber to, Bytes payload, milliseconds delay = 0ms) {
  Outgoing one;
  one.to = to;
  one.message.key = "key of " + payload;
  one.message.payload = std::move(payload);
  one.message.headers = {{"h", "v"}};
  one.message.content_type = "text/plain";
  one.message.type = "t";
  one.message.delay = delay;
  return one;
}

Payloads sorted(Payloads all) {
  std::ranges::sort(all);
  return all;
}

TEST_P(HeldSuite, WhatLeavesStandsInItsQueue) {
  const ConsumerNumber relay = attach("relay");
  const Message m = message("k");
  Finish done = test::completed(acquire(m).lease, "result");
  done.outgoing = {outgoing(relay, "first"), outgoing(relay, "second")};
  ASSERT_EQ(finish(done), Applied::kYes);
  EXPECT_TRUE(is<Completed>(claim(m)));
  EXPECT_EQ(held().depth(consumer()).value().rows, 0U);
  reopen();
  const auto taken = take_for(relay, 10, 60s);
  ASSERT_EQ(payloads(taken), (Payloads{"first", "second"}));
  EXPECT_EQ(taken[0].key, "key of first");
  EXPECT_EQ(taken[0].headers.at(0).value, "v");
  EXPECT_EQ(taken[0].content_type, "text/plain");
  EXPECT_EQ(taken[0].type, "t");
  EXPECT_EQ(taken[0].attempts, 0);
}

TEST_P(HeldSuite, NothingLeavesWithALostLease) {
  const ConsumerNumber relay = attach("relay");
  const Message m = message("k");
  const Lease late = acquire(m).lease;
  advance(kPastLease);
  const Lease current = acquire(m).lease;
  for (Finish lost : {test::completed(late), test::retrying(late, 0ms, &m), test::dead(late, &m),
                      test::parked(late, &m), test::not_started(late)}) {
    lost.outgoing = {outgoing(relay, "late")};
    EXPECT_EQ(finish(lost), Applied::kLeaseLost);
    EXPECT_EQ(held().depth(relay).value().rows, 0U);
  }
  Finish done = test::completed(current);
  done.outgoing = {outgoing(relay, "in time")};
  ASSERT_EQ(finish(done), Applied::kYes);
  EXPECT_EQ(payloads(take_for(relay, 10, 60s)), (Payloads{"in time"}));
}

TEST_P(HeldSuite, WhateverTheEndingWhatLeavesGoesWithIt) {
  const ConsumerNumber relay = attach("relay");
  append({held_message("acked")});
  const RowTag row = *take().at(0).row;
  std::vector<Message> messages;
  for (const char* key : {"done", "again", "parked", "dead", "refused"}) {
    messages.push_back(message(key));
  }
  Finish refused;
  refused.to = Finish::To::kDead;
  refused.reason = "key.missing";
  refused.keep = &messages[4];
  std::vector<Finish> batch{test::completed(acquire(messages[0]).lease),
                            test::retrying(acquire(messages[1]).lease, 30s, &messages[1]),
                            test::parked(acquire(messages[2]).lease, &messages[2]),
                            test::dead(acquire(messages[3]).lease, &messages[3]),
                            refused,
                            test::ack_only(row)};
  Payloads wanted;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    wanted.push_back("with " + std::to_string(i));
    batch[i].outgoing = {outgoing(relay, wanted.back())};
  }
  const auto applied = store().finish(batch).value();
  EXPECT_EQ(std::ranges::count(applied, Applied::kYes), 6);
  EXPECT_EQ(sorted(payloads(take_for(relay, 10, 60s))), wanted);
  EXPECT_EQ(all_dead_letters().size(), 2U);
}

TEST_P(HeldSuite, WhatLeavesLaterShowsLater) {
  const ConsumerNumber relay = attach("relay");
  const Message m = message("k");
  Finish done = test::completed(acquire(m).lease);
  done.outgoing = {outgoing(relay, "later", 20s)};
  ASSERT_EQ(finish(done), Applied::kYes);
  EXPECT_TRUE(take_for(relay, 10, 60s).empty());
  advance(21s);
  EXPECT_EQ(payloads(take_for(relay, 10, 60s)), (Payloads{"later"}));
}

}  // namespace
}  // namespace semel::conformance
