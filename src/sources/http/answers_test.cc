#include "sources/http/answers.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include <semel/reason.h>

namespace semel::sources {
namespace {

using OutcomeKind = Outcome::Kind;
using Settle = Outcome::Settle;

Outcome outcome_of(OutcomeKind kind, Settle settle = Settle::kAck) {
  Outcome outcome;
  outcome.kind = kind;
  outcome.settle = settle;
  return outcome;
}

http::HttpResponse response_to(const Outcome& outcome) { return response_of(answer_of(outcome)); }

std::optional<std::string> header_of(const http::HttpResponse& response, const std::string& name) {
  for (const auto& [one, value] : response.headers) {
    if (one == name) return value;
  }
  return std::nullopt;
}

TEST(HttpAnswers, AStoredResultIsGivenAgain) {
  Outcome done = outcome_of(OutcomeKind::kDone);
  done.result = R"({"charge":"ch_1"})";
  const auto first = response_to(done);
  EXPECT_EQ(first.status, 200);
  EXPECT_EQ(first.content_type, "application/json");
  EXPECT_EQ(first.body, done.result);
  EXPECT_EQ(header_of(first, "Idempotent-Replayed"), std::nullopt);
  done.kind = OutcomeKind::kDuplicate;
  const auto again = response_to(done);
  EXPECT_EQ(again.status, first.status);
  EXPECT_EQ(again.content_type, first.content_type);
  EXPECT_EQ(again.body, first.body);
  EXPECT_EQ(header_of(again, "Idempotent-Replayed"), "true");
}

TEST(HttpAnswers, AResultIsSaidToBeWhatItIs) {
  const auto type_of = [](Bytes result) {
    Outcome done = outcome_of(OutcomeKind::kDone);
    done.result = std::move(result);
    return response_to(done).content_type;
  };
  EXPECT_EQ(type_of(""), "");
  EXPECT_EQ(type_of("[1,2]"), "application/json");
  EXPECT_EQ(type_of("{not json"), "text/plain; charset=utf-8");
  EXPECT_EQ(type_of("paid"), "text/plain; charset=utf-8");
  EXPECT_EQ(type_of("\xff\xfe"), "application/octet-stream");
}

TEST(HttpAnswers, WhatIsNotOverSaysWhenToComeAgain) {
  Outcome busy = outcome_of(OutcomeKind::kBusy, Settle::kLater);
  busy.delay = std::chrono::milliseconds(2'100);
  EXPECT_EQ(response_to(busy).status, 409);
  EXPECT_EQ(header_of(response_to(busy), "Retry-After"), "3") << "whole seconds, rounded up";
  EXPECT_EQ(response_to(outcome_of(OutcomeKind::kBusy, Settle::kRelease)).status, 503);
  Outcome away = outcome_of(OutcomeKind::kRetry, Settle::kLater);
  away.reason = reason::kStoreUnavailable;
  EXPECT_EQ(response_to(away).status, 503);
  EXPECT_EQ(header_of(response_to(away), "Retry-After"), "1");
  EXPECT_EQ(response_to(outcome_of(OutcomeKind::kRetry)).status, 202) << "the store keeps it";
  EXPECT_EQ(response_to(outcome_of(OutcomeKind::kParked)).status, 409);
}

TEST(HttpAnswers, WhatIsGivenUpIsNotSentAgain) {
  EXPECT_EQ(response_to(outcome_of(OutcomeKind::kConflict)).status, 422);
  EXPECT_EQ(response_to(outcome_of(OutcomeKind::kDiscarded)).status, 200);
  const auto dead_by = [](std::string_view reason) {
    Outcome dead = outcome_of(OutcomeKind::kDead);
    dead.reason = reason;
    dead.error = "why";
    return response_to(dead);
  };
  EXPECT_EQ(dead_by(reason::kAttemptsExhausted).status, 422);
  EXPECT_EQ(dead_by(reason::kKeyMissing).status, 400);
  EXPECT_EQ(dead_by(reason::kPayloadInvalid).status, 400);
  EXPECT_EQ(dead_by(reason::kTooLarge).status, 413);
  EXPECT_NE(dead_by(reason::kKeyMissing).body.find("R324"), std::string::npos);
  EXPECT_NE(dead_by(reason::kKeyMissing).body.find("key.missing: why"), std::string::npos);
  EXPECT_EQ(dead_by(reason::sql_reason("constraint")).body.find("why"), std::string::npos)
      << "the server's text may quote another's row";
  EXPECT_EQ(dead_by(reason::kKeyMissing).content_type, "application/problem+json");
}

MessageAnswer done_before() {
  MessageAnswer answer;
  answer.replayed = true;
  return answer;
}

TEST(HttpAnswers, ABatchIsDoneWhenAllOfItIs) {
  const auto none = response_of_batch({});
  EXPECT_EQ(none.status, 200);
  EXPECT_EQ(none.body, "{\"events\":[]}\n");
  const MessageAnswer done[] = {MessageAnswer(), done_before()};
  const auto response = response_of_batch(done);
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.content_type, "application/json");
  EXPECT_EQ(response.body,
            R"({"events":[{"index":0,"status":200},{"index":1,"status":200,"replayed":true}]})"
            "\n");
  const MessageAnswer kept[] = {MessageAnswer(), accepted()};
  EXPECT_EQ(response_of_batch(kept).status, 202);
}

// The sender sends the batch again if that helps any of its events.
TEST(HttpAnswers, TheWorstEventOfABatchGivesItsStatus) {
  const auto busy = [] {
    Outcome outcome = outcome_of(OutcomeKind::kBusy, Settle::kLater);
    outcome.delay = std::chrono::seconds(7);
    return answer_of(outcome);
  }();
  const auto dead = answer_of(outcome_of(OutcomeKind::kDead));
  const auto away = not_now("away", std::chrono::seconds(2));
  const auto invalid = not_taken(400, "no key", "give one");
  const auto status_of = [](std::vector<MessageAnswer> events) {
    return response_of_batch(events).status;
  };
  EXPECT_EQ(status_of({MessageAnswer(), dead, accepted()}), 422);
  EXPECT_EQ(status_of({invalid, dead}), 400) << "the first of those that nobody can mend";
  EXPECT_EQ(status_of({dead, busy, MessageAnswer()}), 409);
  EXPECT_EQ(status_of({busy, not_in_time()}), 504);
  const MessageAnswer all[] = {dead, busy, MessageAnswer(), not_in_time(), away};
  const auto response = response_of_batch(all);
  EXPECT_EQ(response.status, 503);
  EXPECT_EQ(response.content_type, "application/problem+json");
  EXPECT_EQ(header_of(response, "Retry-After"), "7") << "the longest of all";
  EXPECT_NE(response.body.find("4 of 5 events failed; that at index 4: away"), std::string::npos)
      << response.body;
  EXPECT_NE(response.body.find(R"({"index":2,"status":200},{"index":3,"status":504,"code":"R329")"),
            std::string::npos)
      << response.body;
}

}  // namespace
}  // namespace semel::sources
