#include "sources/http/answers.h"

#include <gtest/gtest.h>

#include <optional>

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

std::optional<std::string> header_of(const http::HttpResponse& response, const std::string& name) {
  for (const auto& [one, value] : response.headers) {
    if (one == name) return value;
  }
  return std::nullopt;
}

TEST(HttpAnswers, AStoredResultIsGivenAgain) {
  Outcome done = outcome_of(OutcomeKind::kDone);
  done.result = R"({"charge":"ch_1"})";
  const auto first = answer_of(done);
  EXPECT_EQ(first.status, 200);
  EXPECT_EQ(first.content_type, "application/json");
  EXPECT_EQ(first.body, done.result);
  EXPECT_EQ(header_of(first, "Idempotent-Replayed"), std::nullopt);
  done.kind = OutcomeKind::kDuplicate;
  const auto again = answer_of(done);
  EXPECT_EQ(again.status, first.status);
  EXPECT_EQ(again.content_type, first.content_type);
  EXPECT_EQ(again.body, first.body);
  EXPECT_EQ(header_of(again, "Idempotent-Replayed"), "true");
}

TEST(HttpAnswers, AResultIsSaidToBeWhatItIs) {
  const auto type_of = [](Bytes result) {
    Outcome done = outcome_of(OutcomeKind::kDone);
    done.result = std::move(result);
    return answer_of(done).content_type;
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
  EXPECT_EQ(answer_of(busy).status, 409);
  EXPECT_EQ(header_of(answer_of(busy), "Retry-After"), "3") << "whole seconds, rounded up";
  EXPECT_EQ(answer_of(outcome_of(OutcomeKind::kBusy, Settle::kRelease)).status, 503);
  Outcome away = outcome_of(OutcomeKind::kRetry, Settle::kLater);
  away.reason = reason::kStoreUnavailable;
  EXPECT_EQ(answer_of(away).status, 503);
  EXPECT_EQ(header_of(answer_of(away), "Retry-After"), "1");
  EXPECT_EQ(answer_of(outcome_of(OutcomeKind::kRetry)).status, 202) << "the store keeps it";
  EXPECT_EQ(answer_of(outcome_of(OutcomeKind::kParked)).status, 409);
}

TEST(HttpAnswers, WhatIsGivenUpIsNotSentAgain) {
  EXPECT_EQ(answer_of(outcome_of(OutcomeKind::kConflict)).status, 422);
  EXPECT_EQ(answer_of(outcome_of(OutcomeKind::kDiscarded)).status, 200);
  const auto dead_by = [](std::string_view reason) {
    Outcome dead = outcome_of(OutcomeKind::kDead);
    dead.reason = reason;
    dead.error = "why";
    return answer_of(dead);
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

}  // namespace
}  // namespace semel::sources
