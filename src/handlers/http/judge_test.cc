#include "handlers/http/judge.h"

#include <gtest/gtest.h>

#include <semel/reason.h>

namespace semel::handlers {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::system_clock;
using TransferState = Answer::TransferState;
using Endpoint = Judged::Endpoint;
using Kind = Verdict::Kind;

// The time is Tue, 14 Nov 2023 22:13:20 GMT.
constexpr system_clock::time_point kNow{seconds(1'700'000'000)};
constexpr std::size_t kLimit = 1'000;

Judged judge_status(int status, std::string_view body = "", std::string_view wait = "") {
  Answer answer;
  answer.status = status;
  answer.body = body;
  answer.retry_after = wait;
  return judge(answer, kLimit, kNow);
}

Judged judge_json(std::string_view body, std::string_view type = "application/json") {
  Answer answer;
  answer.status = 200;
  answer.body = body;
  answer.content_type = type;
  return judge(answer, kLimit, kNow);
}

TEST(Judge, EveryStatusOfTheTable) {
  struct Row {
    int status;
    Kind kind;
    bool counted;
    Endpoint endpoint;
  };
  const Row rows[] = {
      {200, Kind::kDone, true, Endpoint::kWorks},    {201, Kind::kDone, true, Endpoint::kWorks},
      {204, Kind::kDone, true, Endpoint::kWorks},    {301, Kind::kRetry, false, Endpoint::kDenies},
      {304, Kind::kRetry, false, Endpoint::kDenies}, {400, Kind::kDead, true, Endpoint::kWorks},
      {413, Kind::kDead, true, Endpoint::kWorks},    {415, Kind::kDead, true, Endpoint::kWorks},
      {422, Kind::kDead, true, Endpoint::kWorks},    {431, Kind::kDead, true, Endpoint::kWorks},
      {401, Kind::kRetry, false, Endpoint::kDenies}, {403, Kind::kRetry, false, Endpoint::kDenies},
      {404, Kind::kRetry, false, Endpoint::kDenies}, {405, Kind::kRetry, false, Endpoint::kDenies},
      {407, Kind::kRetry, false, Endpoint::kDenies}, {409, Kind::kRetry, false, Endpoint::kWorks},
      {410, Kind::kRetry, false, Endpoint::kGone},   {408, Kind::kRetry, true, Endpoint::kFails},
      {425, Kind::kRetry, true, Endpoint::kFails},   {429, Kind::kRetry, true, Endpoint::kFails},
      {500, Kind::kRetry, true, Endpoint::kFails},   {501, Kind::kRetry, true, Endpoint::kFails},
      {502, Kind::kRetry, true, Endpoint::kFails},   {503, Kind::kRetry, true, Endpoint::kFails},
      {504, Kind::kRetry, true, Endpoint::kFails},   {418, Kind::kRetry, true, Endpoint::kFails},
      {599, Kind::kRetry, true, Endpoint::kFails},
  };
  for (const Row& row : rows) {
    const Judged made = judge_status(row.status);
    EXPECT_EQ(made.verdict.kind(), row.kind) << row.status;
    EXPECT_EQ(made.verdict.counted(), row.counted) << row.status;
    EXPECT_EQ(made.endpoint, row.endpoint) << row.status;
    EXPECT_FALSE(made.verdict.unknown()) << row.status << ": it answered";
    if (row.kind == Kind::kDone) continue;
    EXPECT_EQ(made.verdict.code(), reason::http_reason(std::to_string(row.status)));
    EXPECT_NE(made.verdict.reason().find(std::to_string(row.status)), std::string::npos);
  }
  EXPECT_EQ(judge_status(999).verdict.code(), "handler.http.invalid");
}

Judged judge_call(int status, const CallFacts& call, std::string_view location = "") {
  Answer answer;
  answer.status = status;
  answer.location = location;
  return judge(answer, kLimit, kNow, call);
}

TEST(Judge, WhereThePathHasPlacesARefusalSpeaksOfTheMessage) {
  const CallFacts places{.places = true};
  for (const int status : {301, 304, 308, 403, 404, 410}) {
    const Judged made = judge_call(status, places, "http://elsewhere/");
    EXPECT_EQ(made.verdict.kind(), Kind::kRetry) << status;
    EXPECT_TRUE(made.verdict.counted()) << status;
    EXPECT_EQ(made.endpoint, Endpoint::kFails) << status << ": not at fault, and not gone";
    EXPECT_EQ(made.verdict.code(), reason::http_reason(std::to_string(status)));
  }
  EXPECT_EQ(judge_call(301, places, "http://elsewhere/").why,
            "endpoint moved to http://elsewhere/");
  for (const int status : {401, 405, 407}) {
    EXPECT_EQ(judge_call(status, places).endpoint, Endpoint::kDenies) << status << ": of all";
    EXPECT_FALSE(judge_call(status, places).verdict.counted()) << status;
  }
}

TEST(Judge, WhatAnUndoDoesNotFindSpeaksOfItsMessage) {
  const CallFacts undo{.undo = true};
  for (const int status : {404, 410}) {
    EXPECT_TRUE(judge_call(status, undo).verdict.counted()) << status;
    EXPECT_EQ(judge_call(status, undo).endpoint, Endpoint::kFails) << status;
  }
  for (const int status : {301, 401, 403, 405, 407}) {
    EXPECT_EQ(judge_call(status, undo).endpoint, Endpoint::kDenies) << status;
  }
}

TEST(Judge, AReceiverThatStaysBusyIsAskedLessAndLess) {
  const auto after = [](milliseconds since_first) {
    return judge_call(409, {.since_first = since_first}).verdict.after();
  };
  EXPECT_EQ(after(milliseconds(0)), seconds(1));
  EXPECT_EQ(after(seconds(80)), seconds(10));
  EXPECT_EQ(after(hours(5)), seconds(60));
  EXPECT_EQ(judge_status(409, "", "9").verdict.after(), seconds(9)) << "as it asked";
}

TEST(Judge, AnAnswersBodyIsTheResult) {
  EXPECT_EQ(judge_status(200, "kept").verdict.result(), "kept");
  EXPECT_EQ(judge_status(204).verdict.result(), "");
}

TEST(Judge, TheWordsOfAJsonAnswer) {
  EXPECT_EQ(judge_json(R"({"status":"SUCCESS","id":7})").verdict.kind(), Kind::kDone);
  EXPECT_EQ(judge_json(R"({"status":"SUCCESS","id":7})").verdict.result(),
            R"({"status":"SUCCESS","id":7})");
  const Judged again = judge_json(R"({"status":"RETRY","why":"busy"})");
  EXPECT_EQ(again.verdict.kind(), Kind::kRetry);
  EXPECT_EQ(again.verdict.code(), "handler.http.200");
  EXPECT_NE(again.verdict.reason().find("busy"), std::string::npos);
  EXPECT_EQ(again.endpoint, Endpoint::kWorks);
  EXPECT_EQ(judge_json(R"({"status":"DROP"})").verdict.kind(), Kind::kDiscard);
  EXPECT_EQ(judge_json(R"({"status":"DEAD_LETTER"})").verdict.kind(), Kind::kDead);
  EXPECT_EQ(judge_json(R"({"status":"DEAD_LETTER"})").verdict.code(), "handler.http.200");
  EXPECT_EQ(judge_json(R"({"status":"DROP"})", "application/problem+json").verdict.kind(),
            Kind::kDiscard);
  EXPECT_EQ(judge_json(R"({"status":"DROP"})", "Application/JSON; charset=utf-8").verdict.kind(),
            Kind::kDiscard);
}

TEST(Judge, AnyOtherBodyIsDone) {
  for (const auto* body :
       {"", "{}", R"({"status":"ok"})", R"({"status":"drop"})", R"({"status":200})", "not json",
        R"({"data":{"status":"DROP"}})", R"(["DROP"])", R"("DROP")"}) {
    EXPECT_EQ(judge_json(body).verdict.kind(), Kind::kDone) << body;
  }
  for (const auto* type : {"", "text/plain", "text/json", "application/jsonx"}) {
    EXPECT_EQ(judge_json(R"({"status":"DROP"})", type).verdict.kind(), Kind::kDone) << type;
  }
}

TEST(Judge, HonoursRetryAfter) {
  EXPECT_EQ(judge_status(503, "", "120").verdict.after(), seconds(120));
  EXPECT_EQ(judge_status(503, "", "120").endpoint, Endpoint::kWaits);
  EXPECT_EQ(judge_status(503, "", "120").wait, seconds(120));
  EXPECT_EQ(judge_status(429, "", "Tue, 14 Nov 2023 22:14:20 GMT").wait, seconds(60));
  EXPECT_EQ(judge_status(502, "", "5").verdict.after(), seconds(5));
  EXPECT_EQ(judge_status(502, "", "5").endpoint, Endpoint::kFails);
  EXPECT_EQ(judge_status(409, "", "9").verdict.after(), seconds(9));
  EXPECT_GT(judge_status(409).verdict.after(), milliseconds(0)) << "soon";
  EXPECT_LE(judge_status(409).verdict.after(), seconds(5));
  EXPECT_EQ(judge_status(500).verdict.after(), std::nullopt) << "the policy says";
  EXPECT_EQ(judge_status(503, "", "0").endpoint, Endpoint::kFails) << "no wait was asked for";
  EXPECT_EQ(judge_status(503, "", "soon").verdict.after(), std::nullopt);
}

TEST(Judge, ARetryAfterIsTheReceiversWish) {
  for (const int status : {200, 408, 429, 500, 502, 503, 504}) {
    Answer answer;
    answer.status = status;
    answer.retry_after = "Tue, 14 Nov 2023 22:13:00 GMT";
    answer.content_type = "application/json";
    answer.body = R"({"status":"RETRY"})";
    const Verdict past = judge(answer, kLimit, kNow).verdict;
    EXPECT_EQ(past.kind(), Kind::kRetry) << status;
    EXPECT_EQ(past.after(), milliseconds(0)) << status;
    EXPECT_TRUE(past.asked()) << status << ": the policy's own delay is kept where it is longer";
  }
  EXPECT_FALSE(judge_status(503).verdict.asked());
  EXPECT_GT(judge_status(409, "", "0").verdict.after(), milliseconds(0)) << "a busy receiver: soon";
  EXPECT_FALSE(judge_status(409, "", "0").verdict.asked());
  EXPECT_TRUE(judge_status(409, "", "9").verdict.asked());
}

TEST(RetryAfter, InSecondsAndInTheThreeFormsOfADate) {
  EXPECT_EQ(retry_after("0", kNow), seconds(0));
  EXPECT_EQ(retry_after("3600", kNow), hours(1));
  EXPECT_EQ(retry_after("Tue, 14 Nov 2023 22:13:50 GMT", kNow), seconds(30));
  EXPECT_EQ(retry_after("Tuesday, 14-Nov-23 22:13:50 GMT", kNow), seconds(30));
  EXPECT_EQ(retry_after("Tue Nov 14 22:13:50 2023", kNow), seconds(30));
  EXPECT_EQ(retry_after("Tue, 14 Nov 2023 22:13:00 GMT", kNow), seconds(0)) << "it is past";
  EXPECT_EQ(retry_after("Tue, 14 Nov 2023 22:13:21 GMT", kNow - milliseconds(1)), seconds(2));
}

TEST(RetryAfter, IsBounded) {
  EXPECT_EQ(retry_after("4294967295", kNow), hours(24));
  EXPECT_EQ(retry_after("99999999999999999999999", kNow), hours(24));
  EXPECT_EQ(retry_after("Fri, 31 Dec 2999 23:59:59 GMT", kNow), hours(24));
}

TEST(RetryAfter, RubbishIsNone) {
  for (const auto* text : {"", "-1", "1.5", "soon", "Blah", "12 parsecs", " 12", "+12", "0x10"}) {
    EXPECT_EQ(retry_after(text, kNow), std::nullopt) << text;
  }
}

Judged judge_state(TransferState state, bool sent, int status = 0) {
  Answer answer;
  answer.state = state;
  answer.sent = sent;
  answer.status = status;
  answer.error = "what happened";
  return judge(answer, kLimit, kNow);
}

TEST(Judge, WhatWasSentAndNotAnsweredIsUnknown) {
  const std::pair<TransferState, std::string_view> rows[] = {
      {TransferState::kBroken, "handler.http.reset"},
      {TransferState::kInvalid, "handler.http.invalid"},
      {TransferState::kTooLarge, "handler.http.too_large"},
      {TransferState::kTimedOut, reason::kHandlerTimeout},
      {TransferState::kStopped, reason::kHandlerTimeout}};
  for (const auto& [state, code] : rows) {
    const Judged made = judge_state(state, true);
    EXPECT_EQ(made.verdict.kind(), Kind::kRetry) << code;
    EXPECT_EQ(made.verdict.code(), code);
    EXPECT_TRUE(made.verdict.unknown()) << code;
    EXPECT_TRUE(made.verdict.counted()) << code;
    EXPECT_EQ(made.verdict.reason(), "what happened");
    EXPECT_EQ(made.endpoint, Endpoint::kFails);
  }
}

TEST(Judge, WhatWasNotSentHasHadNoEffect) {
  for (const TransferState state :
       {TransferState::kNotSent, TransferState::kNotTrusted, TransferState::kStopped}) {
    const Judged made = judge_state(state, false);
    EXPECT_EQ(made.verdict.kind(), Kind::kRetry);
    EXPECT_FALSE(made.verdict.unknown());
    EXPECT_FALSE(made.verdict.counted());
  }
  EXPECT_EQ(judge_state(TransferState::kNotSent, false).verdict.code(), "handler.http.connect");
  EXPECT_EQ(judge_state(TransferState::kNotTrusted, false).endpoint, Endpoint::kAtFault);
}

TEST(Judge, ASuccessWhoseBodyBrokeIsUnknownAndARefusalIsARefusal) {
  EXPECT_TRUE(judge_state(TransferState::kBroken, true, 200).verdict.unknown());
  EXPECT_TRUE(judge_state(TransferState::kTimedOut, true, 200).verdict.unknown());
  EXPECT_EQ(judge_state(TransferState::kTooLarge, true, 200).verdict.kind(), Kind::kDead);
  EXPECT_EQ(judge_state(TransferState::kBroken, true, 422).verdict.code(), "handler.http.422");
  EXPECT_EQ(judge_state(TransferState::kTimedOut, true, 503).verdict.code(), "handler.http.503");
  EXPECT_FALSE(judge_state(TransferState::kTooLarge, true, 503).verdict.unknown());
  EXPECT_EQ(judge_state(TransferState::kStopped, true, 422).verdict.code(),
            reason::kHandlerTimeout);
}

TEST(Judge, WhatLeavesDoubt) {
  for (const int status : {300, 301, 302, 303, 304, 399, 500, 502, 503, 504, 505, 599, 999}) {
    EXPECT_TRUE(leaves_doubt(status)) << status;
  }
  for (const int status : {0, 307, 308, 400, 401, 403, 404, 408, 409, 410, 422, 425, 429, 501}) {
    EXPECT_FALSE(leaves_doubt(status)) << status;
  }
}

TEST(Judge, TextsAreOneLineAndShort) {
  const Judged made = judge_status(500, "line one\nline two\x01" + std::string(5'000, 'x'));
  EXPECT_EQ(made.verdict.reason().find('\n'), std::string::npos);
  EXPECT_LT(made.verdict.reason().size(), 300U);
  Answer moved;
  moved.status = 302;
  moved.location = "http://new/\x1B[31m";
  EXPECT_EQ(judge(moved, kLimit, kNow).why.find('\x1B'), std::string::npos);
}

}  // namespace
}  // namespace semel::handlers
