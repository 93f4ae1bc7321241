#include "handlers/nats/answers.h"

#include <gtest/gtest.h>

#include <fmt/format.h>
#include <nats/nats.h>

#include <string_view>

#include "handlers/nats/confirmed_connection.h"

namespace semel::nats {
namespace {

using Kind = Verdict::Kind;

std::string refused_with(int code) {
  return fmt::format(R"({{"type":"x","error":{{"code":503,"err_code":{},"description":"why"}}}})",
                     code);
}

TEST(NatsAnswers, AMessageThatIsStoredIsDoneWithItsPosition) {
  const Judged judged = judge_stored(R"({"stream":"ORDERS","seq":12})", "orders");
  EXPECT_EQ(judged.verdict.kind(), Kind::kDone);
  EXPECT_EQ(judged.verdict.result(), "ORDERS-12");
  EXPECT_EQ(judged.broker, Judged::Broker::kWorks);
}

TEST(NatsAnswers, WhatTheStreamHasAlreadyIsDone) {
  const Judged judged = judge_stored(R"({"stream":"ORDERS","seq":12,"duplicate":true})", "orders");
  EXPECT_EQ(judged.verdict.kind(), Kind::kDone);
}

TEST(NatsAnswers, ARefusalIsNamedAndCostsNoAttempt) {
  const std::pair<int, const char*> refusals[] = {
      {10'077, "full"},   {10'047, "full"},   {10'023, "full"},  {10'109, "stream"},
      {10'039, "stream"}, {10'008, "server"}, {10'999, "server"}};
  for (const auto& [code, word] : refusals) {
    const Judged judged = judge_stored(refused_with(code), "orders");
    EXPECT_EQ(judged.verdict.kind(), Kind::kRetry) << code;
    EXPECT_EQ(judged.verdict.code(), std::string("handler.nats.") + word) << code;
    EXPECT_FALSE(judged.verdict.counted()) << code;
    EXPECT_FALSE(judged.verdict.unknown()) << code;
    const bool all = std::string_view(word) == "stream";
    EXPECT_EQ(judged.broker, all ? Judged::Broker::kAtFault : Judged::Broker::kRefuses) << code;
    EXPECT_EQ(judged.costs_alone, std::string_view(word) == "server") << code;
  }
}

TEST(NatsAnswers, WhatIsWrongWithTheMessageIsDeadAndSaysNothingOfTheServer) {
  const Judged judged = judge_stored(refused_with(10'054), "orders");
  EXPECT_EQ(judged.verdict.kind(), Kind::kDead);
  EXPECT_EQ(judged.verdict.code(), "handler.nats.too_large");
  EXPECT_EQ(judged.broker, Judged::Broker::kSilent);
}

TEST(NatsAnswers, AnAnswerOfAnotherProgramLeavesTheOutcomeUnknown) {
  for (const char* said : {"", "ok", "{}", "[1]", R"({"stream":1})"}) {
    const Judged judged = judge_stored(said, "orders");
    EXPECT_EQ(judged.verdict.code(), "handler.nats.server") << said;
    EXPECT_TRUE(judged.verdict.unknown()) << said;
  }
}

TEST(NatsAnswers, WithoutAnAnswerItIsKnownWhetherItMayBeThere) {
  using std::chrono::milliseconds;
  const Judged sent = no_answer_to({milliseconds(50), true, false, "", "orders"});
  EXPECT_EQ(sent.verdict.code(), "handler.nats.timeout");
  EXPECT_TRUE(sent.verdict.unknown());
  EXPECT_EQ(sent.broker, Judged::Broker::kAtFault);
  const Judged kept = no_answer_to({milliseconds(50), false, false, "", "orders"});
  EXPECT_FALSE(kept.verdict.unknown());
  const Judged stopped = no_answer_to({milliseconds(50), true, true, "", "orders"});
  EXPECT_EQ(stopped.broker, Judged::Broker::kSilent);
  const Judged denied = no_answer_to({milliseconds(50), true, false, "Permissions", "orders"});
  EXPECT_EQ(denied.verdict.code(), "handler.nats.denied");
}

TEST(NatsAnswers, AMessageThatTheClientRefusesEndsNoConnection) {
  using Sent = ConfirmedConnection::Sent;
  EXPECT_EQ(sent_of(NATS_OK), Sent::kYes);
  EXPECT_EQ(sent_of(NATS_MAX_PAYLOAD), Sent::kTooLarge);
  for (const natsStatus status : {NATS_INVALID_SUBJECT, NATS_INVALID_ARG}) {
    EXPECT_EQ(sent_of(status), Sent::kInvalid) << natsStatus_GetText(status);
  }
  for (const natsStatus status : {NATS_CONNECTION_CLOSED, NATS_IO_ERROR, NATS_NO_SERVER_SUPPORT}) {
    EXPECT_EQ(sent_of(status), std::nullopt) << natsStatus_GetText(status);
  }
  EXPECT_EQ(nats_cannot_carry("is such").verdict.kind(), Kind::kDead);
}

}  // namespace
}  // namespace semel::nats
