#include "handlers/sqs/answers.h"

#include <gtest/gtest.h>

#include <string_view>

namespace semel::sqs {
namespace {

using Kind = Verdict::Kind;

Client::Answer refused_with(int status, const std::string& type, const std::string& said = "no") {
  core::SqsAccess access;
  access.queue = core::read_sqs_url("http://localhost/1/orders").value();
  const Refusal refusal{status, type, said};
  return {failure(refused(refusal, access, {true, true}, true, to_sqs({}).names)), refusal,
          status >= 500};
}

Service service() { return to_sqs({}); }

RefusedEntry entry_refused(const std::string& code, bool of_the_sender,
                           const std::string& said = "no") {
  return {0, code, said, of_the_sender};
}

TEST(SqsAnswers, WhatIsTakenIsDoneWithItsId) {
  const Judged judged = judge_taken("m-1");
  EXPECT_EQ(judged.verdict.kind(), Kind::kDone);
  EXPECT_EQ(judged.verdict.result(), "m-1");
  EXPECT_EQ(judged.broker, Judged::Broker::kWorks);
}

TEST(SqsAnswers, ARefusalOfTheQueueIsNamedAndCostsNoAttempt) {
  const std::tuple<int, const char*, const char*> refusals[] = {
      {400, "QueueDoesNotExist", "queue"},
      {400, "AccessDeniedException", "denied"},
      {403, "AccessDenied", "denied"},
      {403, "ExpiredToken", "credentials"},
      {403, "InvalidClientTokenId", "credentials"},
      {400, "RequestThrottled", "throttled"},
      {429, "", "throttled"},
      {503, "ServiceUnavailable", "reset"},
      {400, "SomethingNew", "server"}};
  for (const auto& [status, type, word] : refusals) {
    const Client::Answer answer = refused_with(status, type);
    ASSERT_FALSE(is_of_messages(answer.refusal)) << type;
    const Judged judged = judge_batch(answer, answer.unknown, service());
    EXPECT_EQ(judged.verdict.kind(), Kind::kRetry) << type;
    EXPECT_EQ(judged.verdict.code(), std::string("handler.sqs.") + word) << type;
    EXPECT_FALSE(judged.verdict.counted()) << type;
    EXPECT_EQ(judged.verdict.unknown(), status >= 500) << type;
    EXPECT_EQ(judged.broker, Judged::Broker::kAtFault) << type;
    EXPECT_EQ(judged.why.find("source.sqs"), std::string::npos) << judged.why;
    EXPECT_FALSE(judge_batch(answer, false, service()).verdict.unknown()) << "it was not sent";
    EXPECT_TRUE(judge_batch(answer, true, service()).verdict.unknown()) << "it was sent before";
  }
  EXPECT_NE(
      judge_batch(refused_with(403, "AccessDenied"), false, service()).why.find("sqs:SendMessage"),
      std::string::npos);
}

TEST(SqsAnswers, ARefusalOfTheMessageIsDeadAndSaysNothingOfTheQueue) {
  const std::tuple<const char*, const char*, const char*> refusals[] = {
      {"BatchRequestTooLong", "no", "too_large"},
      {"InvalidParameterValue", "Message must be shorter than 1024 bytes", "too_large"},
      {"InvalidAttributeValue", "MessageTooLong", "too_large"},
      {"InvalidMessageContents", "characters", "invalid"},
      {"InvalidParameterValue", "an attribute", "invalid"}};
  for (const auto& [type, said, word] : refusals) {
    const Client::Answer answer = refused_with(400, type, said);
    ASSERT_TRUE(is_of_messages(answer.refusal)) << type;
    for (const bool doubt : {false, true}) {
      for (const Judged& judged :
           {judge_batch(answer, doubt, service()),
            judge_entry(entry_refused(type, true, said), doubt, service())}) {
        EXPECT_EQ(judged.verdict.kind(), Kind::kDead) << type;
        EXPECT_EQ(judged.verdict.code(), std::string("handler.sqs.") + word) << said;
        EXPECT_EQ(judged.broker, Judged::Broker::kSilent);
        EXPECT_EQ(judged.verdict.unknown(), doubt) << type;
      }
    }
  }
}

TEST(SqsAnswers, AnEntryIsTriedAgainWhereTheServiceIsAtFault) {
  const std::tuple<const char*, bool, const char*, bool> entries[] = {
      {"InternalError", false, "server", true},
      {"ServiceUnavailable", false, "server", true},
      {"InvalidMessageContents", false, "server", false},
      {"RequestThrottled", true, "throttled", false},
      {"RequestThrottled", false, "throttled", false},
      {"KmsDisabled", true, "denied", false},
      {"KMS.NotFoundException", true, "denied", false},
      {"AccessDenied", true, "denied", false},
      {"AccessDenied", false, "denied", false},
      {"QueueDoesNotExist", true, "queue", false},
      {"QueueDoesNotExist", false, "queue", false}};
  for (const auto& [code, of_the_sender, word, unknown] : entries) {
    const RefusedEntry entry = entry_refused(code, of_the_sender);
    const Judged judged = judge_entry(entry, false, service());
    EXPECT_EQ(judged.verdict.kind(), Kind::kRetry) << code;
    EXPECT_EQ(judged.verdict.code(), std::string("handler.sqs.") + word) << code;
    EXPECT_FALSE(judged.verdict.counted()) << code;
    EXPECT_EQ(judged.verdict.unknown(), unknown) << code;
    EXPECT_TRUE(judge_entry(entry, true, service()).verdict.unknown()) << "it was sent before";
    const bool alone = std::string_view(word) == "server";
    EXPECT_EQ(judged.broker, alone ? Judged::Broker::kRefuses : Judged::Broker::kAtFault) << code;
    EXPECT_EQ(judged.costs_alone, alone) << code;
  }
}

TEST(SqsAnswers, WithoutAnAnswerItIsKnownWhetherItMayBeThere) {
  const Judged sent = no_answer_to({std::chrono::milliseconds(50), true, false, ""}, service());
  EXPECT_TRUE(sent.verdict.unknown());
  EXPECT_EQ(sent.broker, Judged::Broker::kAtFault);
  const Judged kept =
      no_answer_to({std::chrono::milliseconds(50), false, false, "throttled"}, service());
  EXPECT_FALSE(kept.verdict.unknown());
  EXPECT_NE(kept.why.find("throttled"), std::string::npos) << kept.why;
  const Judged stopped = no_answer_to({std::chrono::milliseconds(50), true, true, ""}, service());
  EXPECT_EQ(stopped.broker, Judged::Broker::kSilent);
}

}  // namespace
}  // namespace semel::sqs
