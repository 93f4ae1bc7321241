#include <semel/verdict.h>

#include <gtest/gtest.h>

#include <chrono>
#include <type_traits>
#include <utility>

#include "core/verdict_details.h"

namespace semel::core {
namespace {

using std::chrono::milliseconds;

TEST(VerdictTest, HasTheDetailsOfItsKindAndNoOthers) {
  const Verdict finished = done("receipt 17", {{"mails", {}}, {"audit", {}}});
  EXPECT_EQ(finished.kind(), Verdict::Kind::kDone);
  EXPECT_EQ(finished.result(), "receipt 17");
  ASSERT_EQ(finished.publications().size(), 2U);
  EXPECT_EQ(finished.publications()[1].destination, "audit");
  EXPECT_EQ(finished.reason(), "");
  EXPECT_EQ(finished.after(), std::nullopt);
  EXPECT_TRUE(finished.counted());
  EXPECT_FALSE(finished.unknown());

  const Verdict later = retry("busy", milliseconds(7));
  EXPECT_EQ(later.kind(), Verdict::Kind::kRetry);
  EXPECT_EQ(later.reason(), "busy");
  EXPECT_EQ(later.after(), milliseconds(7));
  EXPECT_EQ(later.result(), "");
  EXPECT_TRUE(later.publications().empty());

  EXPECT_EQ(dead("never").kind(), Verdict::Kind::kDead);
  EXPECT_EQ(dead("never").reason(), "never");
  EXPECT_EQ(discard("a test").kind(), Verdict::Kind::kDiscard);
  EXPECT_EQ(discard("a test").reason(), "a test");
  EXPECT_EQ(discard("a test").code(), "");
}

TEST(VerdictTest, DetailsAreGivenAtOnce) {
  const Verdict doubt = Verdict::Dead{"the line broke", true, "handler.http.reset"};
  EXPECT_TRUE(doubt.unknown());
  EXPECT_EQ(doubt.code(), "handler.http.reset");
  Verdict::Retry asked;
  asked.after = milliseconds(5);
  asked.asked = true;
  asked.counted = false;
  const Verdict later = asked;
  EXPECT_TRUE(later.asked());
  EXPECT_FALSE(later.counted());
}

TEST(VerdictTest, AChangeOfDetailsLeavesOtherKindsAsTheyAre) {
  Verdict verdict = discard("a test");
  set_code(verdict, "handler.native");
  set_unknown(verdict, true);
  set_counted(verdict, false);
  EXPECT_EQ(verdict.kind(), Verdict::Kind::kDiscard);
  EXPECT_EQ(verdict.code(), "");
  EXPECT_FALSE(verdict.unknown());
  verdict = retry("busy");
  set_code(verdict, "handler.native");
  set_unknown(verdict, true);
  set_counted(verdict, false);
  EXPECT_EQ(verdict.reason(), "busy");
  EXPECT_EQ(verdict.code(), "handler.native");
  EXPECT_TRUE(verdict.unknown());
  EXPECT_FALSE(verdict.counted());
}

// A handler that forgets to decide cannot return done by accident.
static_assert(!std::is_default_constructible_v<Verdict>);

}  // namespace
}  // namespace semel::core
