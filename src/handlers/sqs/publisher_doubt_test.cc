// To a FIFO queue a request without an answer is sent again. However the second one ends, the first
// may have brought its messages there.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "handlers/sqs/test_publishing.h"
#include "tests/support/http_server.h"
#include "tests/support/tcp_proxy.h"

namespace semel::sqs {
namespace {

using Kind = Verdict::Kind;
using test::HttpReply;
using test::HttpRequest;

constexpr const char* kTaken = R"({"Successful":[{"Id":"0","MessageId":"m"}]})";

core::SqsPublishSpec fifo_at(int port) {
  return spec_to(fmt::format("http://127.0.0.1:{}/0/orders.fifo", port));
}

HttpReply refusal(int status, std::string_view type) {
  return test::reply(status, fmt::format(R"({{"__type":"{}","message":"no"}})", type));
}

HttpReply failed_entry(std::string_view code, bool of_the_sender) {
  return test::reply(
      200, fmt::format(R"({{"Failed":[{{"Id":"0","Code":"{}","Message":"no","SenderFault":{}}}]}})",
                       code, of_the_sender));
}

TEST(SqsPublishDoubt, ARepeatThatIsRefusedTellsNothingOfTheFirstRequest) {
  const std::tuple<HttpReply, Kind, const char*> repeats[] = {
      {refusal(403, "AccessDenied"), Kind::kRetry, "denied"},
      {refusal(403, "InvalidClientTokenId"), Kind::kRetry, "credentials"},
      {refusal(429, "TooManyRequestsException"), Kind::kRetry, "throttled"},
      {refusal(400, "QueueDoesNotExist"), Kind::kRetry, "queue"},
      {refusal(400, "InvalidMessageContents"), Kind::kDead, "invalid"},
      {failed_entry("RequestThrottled", true), Kind::kRetry, "throttled"},
      {failed_entry("InvalidMessageContents", true), Kind::kDead, "invalid"},
      {failed_entry("InternalError", false), Kind::kRetry, "server"}};
  for (const auto& [repeat, kind, word] : repeats) {
    test::HttpServer service;
    service.on("/", [&answer = repeat](const HttpRequest&, std::size_t times) {
      return times == 0 ? test::raw("") : answer;
    });
    auto handler = publisher_of(fifo_at(service.port()));
    ToldGate gate;
    const Verdict verdict = publish(handler, gate, keyed_message("k"))->verdict();
    EXPECT_EQ(service.requests().size(), 2U) << repeat.bytes;
    EXPECT_EQ(verdict.kind(), kind) << repeat.bytes;
    EXPECT_EQ(verdict.code(), std::string("handler.sqs.") + word) << repeat.bytes;
    EXPECT_TRUE(verdict.unknown()) << repeat.bytes;
  }
}

TEST(SqsPublishDoubt, ARepeatThatFindsNobodyTellsNothingOfTheFirstRequest) {
  test::HttpServer service;
  service.on("/", test::reply(200, kTaken));
  test::TcpProxy proxy(service.port());
  auto handler = publisher_of(fifo_at(proxy.port()));
  ToldGate gate;
  // This connection remains while others are refused.
  EXPECT_EQ(publish(handler, gate, keyed_message("k-1"))->verdict().kind(), Kind::kDone);
  const auto lost = proxy.inject({.text = "only one", .then = test::TcpProxy::Then::kWithhold});
  proxy.refuse(true);
  const Verdict verdict = publish(handler, gate, keyed_message("k-2", "only one"))->verdict();
  EXPECT_EQ(proxy.fired(lost), 1U);
  EXPECT_EQ(service.requests().size(), 2U);
  EXPECT_EQ(proxy.connections(), 1U);
  EXPECT_EQ(verdict.code(), "handler.sqs.reset") << verdict.reason();
  EXPECT_TRUE(verdict.unknown());
  // It was never sent.
  const Verdict unsent = publish(handler, gate, keyed_message("k-3"))->verdict();
  EXPECT_EQ(unsent.code(), "handler.sqs.connect") << unsent.reason();
  EXPECT_FALSE(unsent.unknown());
}

TEST(SqsPublishDoubt, WhatIsSentAloneAfterARepeatKeepsItsDoubt) {
  test::HttpServer service;
  service.on("/", [](const HttpRequest&, std::size_t times) {
    if (times == 0) {
      HttpReply held = test::reply(200, kTaken);
      held.after_requests = std::numeric_limits<std::size_t>::max();
      return held;
    }
    if (times == 1) return test::raw("");
    return times == 2 ? refusal(400, "BatchRequestTooLong") : refusal(403, "AccessDenied");
  });
  auto handler = publisher_of(fifo_at(service.port()));
  ToldGate gate;
  const auto first = publish(handler, gate, keyed_message("k"));
  ASSERT_TRUE(service.wait_requests(1));
  // Two in one request, and one behind them because of its size.
  std::vector<std::unique_ptr<PublishCall>> calls;
  for (const std::size_t size : {std::size_t{1}, std::size_t{1}, core::kSqsUsualRequest}) {
    calls.push_back(publish(
        handler, gate, keyed_message(fmt::format("k-{}", calls.size()), std::string(size, 'x'))));
  }
  service.release();
  EXPECT_EQ(first->verdict().kind(), Kind::kDone);
  for (std::size_t at = 0; at < calls.size(); ++at) {
    const Verdict verdict = calls[at]->verdict();
    EXPECT_EQ(verdict.code(), "handler.sqs.denied") << verdict.reason();
    EXPECT_EQ(verdict.unknown(), at < 2) << at;
  }
  EXPECT_EQ(service.requests().size(), 4U) << "the refusal of the first one ends the others";
}

}  // namespace
}  // namespace semel::sqs
