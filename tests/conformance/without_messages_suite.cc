// A store that holds no messages: it must not seem to.
#include <array>

#include "tests/conformance/store_case.h"

namespace semel::conformance {

// Most stores hold messages: a program may have no case for it.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(WithoutMessagesSuite);

TEST_P(WithoutMessagesSuite, AFinishThatWouldLoseOneIsRefusedWhole) {
  const Message m = message("m"), neighbour = message("neighbour");
  const Lease lease = acquire(m).lease, other = acquire(neighbour).lease;
  std::vector<Finish> refused = {test::retrying(lease, 0ms, &m), test::parked(lease, &m),
                                 test::dead(lease, &m),          test::completed(lease),
                                 test::completed(lease),         letter_for(m)};
  refused[3].ack = RowTag{1};
  refused[4].outgoing.push_back({consumer(), held_message("sent", "sent")});
  for (std::size_t i = 0; i < refused.size(); ++i) {
    SCOPED_TRACE(i);
    const std::array batch = {test::completed(other), refused[i]};
    const auto answer = store().finish(batch);
    ASSERT_FALSE(answer.has_value());
    EXPECT_EQ(answer.error().kind, ErrorKind::kRejected);
    EXPECT_FALSE(answer.error().message.empty());
  }
  EXPECT_TRUE(is<Busy>(claim(m)));
  EXPECT_TRUE(is<Busy>(claim(neighbour))) << "nothing of such a batch is done";
  EXPECT_EQ(finish(test::completed(lease)), Applied::kYes);
  EXPECT_EQ(finish(test::completed(other)), Applied::kYes);
}

}  // namespace semel::conformance
