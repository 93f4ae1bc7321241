#include "operate/cause.h"

#include <gtest/gtest.h>

#include <semel/reason.h>

#include "operate/letters.h"

namespace semel::operate {
namespace {

TEST(Cause, StandsBeforeTheErrorOfTheLastTry) {
  EXPECT_EQ(cause_of(reason::kAttemptsExhausted, "handler.http.500: no"), "handler.http.500");
  EXPECT_EQ(cause_of(reason::kElapsedExhausted, "handler.exec.signal_9: killed: 9"),
            "handler.exec.signal_9");
  EXPECT_EQ(cause_of(reason::kOutcomeUnknown, "handler.timeout: 30s"), "handler.timeout");
  EXPECT_EQ(cause_of(reason::kOperator, given_up_text("handler.http.503: away")),
            "handler.http.503");
}

TEST(Cause, IsNoPartOfAnErrorThatSaysSomethingElse) {
  EXPECT_EQ(cause_of("handler.http.422", "handler.http.500: quoted"), "");
  EXPECT_EQ(cause_of(reason::kAttemptsExhausted, "gave up"), "");
  EXPECT_EQ(cause_of(reason::kAttemptsExhausted, "a word. and: more"), "");
  EXPECT_EQ(cause_of(reason::kAttemptsExhausted, ": "), "");
  EXPECT_EQ(cause_of(reason::kOperator, "by hand"), "");
}

TEST(Cause, IsAReasonOfSemelAndNoWordOfAHandler) {
  EXPECT_EQ(cause_of(reason::kOperator, given_up_text("jane.doe: no such card")), "");
  EXPECT_EQ(cause_of(reason::kOperator, given_up_text("4111.2222: refused")), "");
}

TEST(Cause, IsFoundByAFilterAsTheReasonIs) {
  DeadLetter letter;
  letter.reason = reason::kAttemptsExhausted;
  letter.error = "handler.http.500: no";
  const auto matched = [&](std::string_view filter) {
    return matches(Where::parse(filter, letter_fields()).value(), letter, letter.dead_at);
  };
  for (const char* filter : {"reason=handler.http.500", "reason=attempts.exhausted",
                             "reason~handler.http", "reason!=crash"}) {
    EXPECT_TRUE(matched(filter)) << filter;
  }
  for (const char* filter : {"reason=handler.http.50", "reason!=handler.http.500",
                             "reason!=attempts.exhausted", "reason~crash"}) {
    EXPECT_FALSE(matched(filter)) << filter;
  }
}

}  // namespace
}  // namespace semel::operate
