// An SQS source with answers that no real server gives on request: refusals of single entries,
// throttling, missing rights, silence.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>

#include "clients/sqs/json_walk.h"
#include "tests/conformance/sqs_consumer.h"
#include "tests/support/http_server.h"

namespace semel::conformance {
namespace {

using test::HttpReply;
using test::HttpRequest;
using test::HttpServer;

// A service that answers as scripted, for answers that no real server gives on request.
class PlayedSqs {
 public:
  PlayedSqs() {
    server_.on("/", [this](const HttpRequest& request, std::size_t) { return answer(request); });
  }
  std::string url() const { return server_.url("/000000000000/played"); }
  HttpServer& server() { return server_; }
  std::size_t asked(std::string_view action) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(server_.requests(), [&](const auto& each) {
          return each.header("x-amz-target") == "AmazonSQS." + std::string(action);
        }));
  }
  // Called on the server's thread, and before the consumer is there.
  std::function<HttpReply(const HttpRequest&, std::size_t times)> on_receive, on_delete, on_renew,
      on_any;

 private:
  HttpReply answer(const HttpRequest& request) {
    const std::string action = request.header("x-amz-target").substr(10);
    const std::size_t times = times_[action]++;
    if (on_any) {
      HttpReply first = on_any(request, all_++);
      if (!first.bytes.empty()) return first;
    }
    if (action == "ReceiveMessage" && on_receive) return on_receive(request, times);
    if (action == "DeleteMessageBatch" && on_delete) return on_delete(request, times);
    if (action == "ChangeMessageVisibilityBatch" && on_renew) return on_renew(request, times);
    return test::reply(200, "{}");
  }

  std::map<std::string, std::size_t> times_;
  std::size_t all_ = 0;
  HttpServer server_;
};

HttpReply refusal(int status, const std::string& type, const std::string& headers = {}) {
  return test::reply(
      status, fmt::format(R"({{"__type":"com.amazonaws.sqs#{}","message":"no"}})", type), headers);
}

// `count` messages at the first receive, and none later.
auto messages_once(int count) {
  return [count](const HttpRequest&, std::size_t times) {
    std::string body = R"({"Messages":[)";
    for (int i = 0; times == 0 && i < count; ++i) {
      body += fmt::format(R"({}{{"Body":"b{}","MessageId":"m{}","ReceiptHandle":"r{}"}})",
                          i == 0 ? "" : ",", i, i, i);
    }
    HttpReply reply = test::reply(200, body + "]}");
    return reply;
  };
}

std::vector<std::string> receipts_in(const std::string& request) {
  std::vector<std::string> receipts;
  sqs::each_item(sqs::member_of(request, "Entries"), [&](std::string_view entry) {
    receipts.push_back(sqs::text_of(sqs::member_of(entry, "ReceiptHandle")));
  });
  return receipts;
}

TEST(SqsPlayed, OfABatchOnlyWhatFailedIsDeletedAgain) {
  PlayedSqs played;
  played.on_receive = messages_once(3);
  played.on_delete = [](const HttpRequest&, std::size_t times) {
    if (times > 0) return test::reply(200, R"({"Successful":[{"Id":"0"}]})");
    return test::reply(200,
                       R"({"Successful":[{"Id":"0"}],"Failed":[)"
                       R"({"Id":"1","SenderFault":false,"Code":"InternalError","Message":"x"},)"
                       R"({"Id":"2","SenderFault":true,"Code":"ReceiptHandleIsInvalid",)"
                       R"("Message":"expired"}]})");
  };
  SqsConsumer consumer(sqs_at(played.url(), 5s));
  consumer.settle(consumer.receive(3));
  EXPECT_TRUE(test::comes_true([&] { return played.asked("DeleteMessageBatch") == 2; }));
  EXPECT_TRUE(test::comes_true([&] { return consumer.figure("expired_receipts") == 1; }));
  std::string said;
  EXPECT_TRUE(test::comes_true([&] {
    const auto received = consumer.source().receive({});
    for (const std::string& notice : received->notices) said += notice;
    return said.find("R395") != std::string::npos;
  })) << said;
  EXPECT_TRUE(consumer.source().close(60s).has_value());
  std::vector<std::vector<std::string>> batches;
  for (const HttpRequest& request : played.server().requests()) {
    if (request.header("x-amz-target") == "AmazonSQS.DeleteMessageBatch") {
      batches.push_back(receipts_in(request.body));
    }
  }
  ASSERT_EQ(batches.size(), 2U);
  EXPECT_EQ(batches[0], (std::vector<std::string>{"r0", "r1", "r2"}));
  EXPECT_EQ(batches[1], std::vector<std::string>{"r1"});
}

TEST(SqsPlayed, AThrottledServiceIsAskedAgainAndSaidWhereItLasts) {
  PlayedSqs played;
  played.on_receive = [once = messages_once(1)](const HttpRequest& request, std::size_t times) {
    if (times < 5) return refusal(400, "RequestThrottled");
    return once(request, times - 5);
  };
  SqsConsumer consumer(sqs_at(played.url(), 5s));
  const Error error = consumer.first_error();
  EXPECT_EQ(error.code, "R396");
  EXPECT_EQ(error.kind, ErrorKind::kUnavailable);
  EXPECT_TRUE(test::comes_true([&] {
    const auto received = consumer.source().receive({});
    return received && received->arrivals.size() == 1;
  }));
  EXPECT_EQ(consumer.figure("throttled"), 5);
}

TEST(SqsPlayed, RefusalsAreNamedAndFinal) {
  const std::pair<const char*, const char*> cases[] = {{"InvalidClientTokenId", "R392"},
                                                       {"AccessDeniedException", "R393"},
                                                       {"QueueDoesNotExist", "R394"},
                                                       {"UnsupportedOperation", "R398"}};
  for (const auto& [type, code] : cases) {
    PlayedSqs played;
    played.on_any = [type = type](const HttpRequest&, std::size_t) { return refusal(400, type); };
    const Error error = SqsConsumer(sqs_at(played.url(), 5s)).first_error();
    EXPECT_EQ(error.code, code) << type;
    EXPECT_EQ(error.kind, ErrorKind::kRejected) << type;
  }
}

// The right to look at the queue is one that a reader can do without.
TEST(SqsPlayed, WithoutTheRightToLookTheQueueIsReadAllTheSame) {
  PlayedSqs played;
  played.on_receive = messages_once(1);
  played.on_any = [](const HttpRequest& request, std::size_t) {
    return request.header("x-amz-target") == "AmazonSQS.GetQueueAttributes"
               ? refusal(403, "AccessDenied")
               : HttpReply{};
  };
  SqsConsumer consumer(sqs_at(played.url(), 5s));
  EXPECT_EQ(consumer.receive(1).size(), 1U);
}

TEST(SqsPlayed, AWrongClockIsMadeUpFor) {
  PlayedSqs played;
  played.on_receive = messages_once(1);
  played.on_any = [](const HttpRequest& request, std::size_t) {
    return request.header("x-amz-date").starts_with("1994")
               ? HttpReply{}
               : refusal(403, "RequestTimeTooSkewed", "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n");
  };
  SqsConsumer consumer(sqs_at(played.url(), 5s));
  EXPECT_EQ(consumer.receive(1).size(), 1U);
}

TEST(SqsPlayed, ACloseThatIsNotAnsweredSaysSo) {
  PlayedSqs played;
  played.on_receive = messages_once(2);
  played.on_delete = [](const HttpRequest&, std::size_t) {
    return test::raw("", HttpReply::Then::kHang);
  };
  SqsConsumer consumer(sqs_at(played.url(), 5s));
  consumer.settle(consumer.receive(2));
  const auto closed = consumer.source().close(300ms);
  ASSERT_FALSE(closed);
  EXPECT_EQ(closed.error().code, "R390");
}

// Only deletions make room when too many messages are in flight.
TEST(SqsPlayed, ReceivesThatAreRefusedHoldNoDeletion) {
  constexpr std::size_t kReceives = 7;
  PlayedSqs played;
  played.on_receive = [once = messages_once(1)](const HttpRequest& request, std::size_t times) {
    return times == 0 ? once(request, times) : refusal(403, "OverLimit");
  };
  SqsConsumer consumer(sqs_at(played.url(), 5s));
  const auto arrivals = consumer.receive(1);
  ASSERT_EQ(arrivals.size(), 1U);
  ASSERT_TRUE(test::comes_true([&] { return played.asked("ReceiveMessage") == kReceives; }));
  consumer.settle(arrivals);
  EXPECT_TRUE(test::comes_true([&] { return played.asked("DeleteMessageBatch") == 1; }));
  EXPECT_EQ(played.asked("ReceiveMessage"), kReceives) << "those pause, for seconds";
}

// Each request costs money.
TEST(SqsPlayed, AnEndpointThatDoesNotWaitIsNotAskedWithoutEnd) {
  constexpr std::size_t kEmpty = 5;
  PlayedSqs played;
  played.on_receive = messages_once(1);
  const auto begun = std::chrono::steady_clock::now();
  SqsConsumer consumer(sqs_at(played.url(), 5s));
  ASSERT_EQ(consumer.receive(1).size(), 1U);
  ASSERT_TRUE(test::comes_true([&] { return played.asked("ReceiveMessage") > kEmpty; }));
  EXPECT_GE(std::chrono::steady_clock::now() - begun, 200ms * (kEmpty - 1));
}

// Too many messages are in flight: those that wait here must not be kept from being handled.
TEST(SqsPlayed, WhatIsHereIsHandedOutWhileNothingMoreIsGiven) {
  PlayedSqs played;
  played.on_receive = [once = messages_once(5)](const HttpRequest& request, std::size_t times) {
    return times == 0 ? once(request, times) : refusal(403, "OverLimit");
  };
  SqsConsumer consumer(sqs_at(played.url(), 5s));
  const auto first = consumer.receive(1);
  ASSERT_EQ(first.size(), 1U);
  ASSERT_TRUE(test::comes_true([&] { return consumer.figure("throttled") >= 4; }));
  const auto rest = consumer.receive(4);
  EXPECT_EQ(rest.size(), 4U);
  consumer.settle(first);
  consumer.settle(rest);
  EXPECT_EQ(consumer.first_error().code, "R396");
}

// Each request costs money.
TEST(SqsPlayed, ARenewalThatIsRefusedIsNotTriedAgainAtOnce) {
  PlayedSqs played;
  played.on_receive = messages_once(1);
  std::mutex mutex;
  std::vector<std::chrono::steady_clock::time_point> came;
  played.on_renew = [&](const HttpRequest&, std::size_t) {
    const std::scoped_lock lock(mutex);
    came.push_back(std::chrono::steady_clock::now());
    return test::reply(200, R"({"Failed":[{"Id":"0","Code":"KmsThrottled","Message":"x"}]})");
  };
  SqsConsumer consumer(sqs_at(played.url(), 5s));
  ASSERT_EQ(consumer.receive(1).size(), 1U);
  ASSERT_TRUE(test::comes_true([&] {
    const std::scoped_lock lock(mutex);
    return came.size() >= 3;
  }));
  EXPECT_GE(consumer.figure("throttled"), 2);
  const std::scoped_lock lock(mutex);
  EXPECT_GE(came[2] - came[0], 900ms);
}

TEST(SqsPlayed, ARightThatNeverWorkedEndsTheRunWhicheverItIs) {
  for (const char* action : {"ChangeMessageVisibilityBatch", "DeleteMessageBatch"}) {
    PlayedSqs played;
    played.on_receive = messages_once(1);
    played.on_renew = played.on_delete = [&](const HttpRequest& request, std::size_t) {
      const bool denied = request.header("x-amz-target") == std::string("AmazonSQS.") + action;
      return denied ? refusal(403, "AccessDenied") : test::reply(200, "{}");
    };
    SqsConsumer consumer(sqs_at(played.url(), 5s));
    const auto arrivals = consumer.receive(1);
    ASSERT_EQ(arrivals.size(), 1U);
    if (std::string_view(action) == "DeleteMessageBatch") consumer.settle(arrivals);
    const Error error = consumer.first_error();
    EXPECT_EQ(error.code, "R393") << action;
    EXPECT_EQ(error.kind, ErrorKind::kRejected) << action;
  }
}

TEST(SqsPlayed, ARightThatIsTakenAwayIsToldWhileMessagesAreReceived) {
  PlayedSqs played;
  played.on_receive = messages_once(1);
  played.on_renew = [](const HttpRequest&, std::size_t times) {
    return times == 0 ? test::reply(200, "{}") : refusal(403, "AccessDenied");
  };
  SqsConsumer consumer(sqs_at(played.url(), 5s));
  ASSERT_EQ(consumer.receive(1).size(), 1U);
  EXPECT_TRUE(consumer.is_told("warning[R393]")) << consumer.told();
  EXPECT_NE(consumer.told().find("received by others as well"), std::string::npos)
      << consumer.told();
  EXPECT_TRUE(consumer.source().receive({}).has_value()) << "it is no outage";
}

// A server that refuses a batch whole for one receipt.
TEST(SqsPlayed, AReceiptThatIsRefusedHoldsNoNeighbour) {
  PlayedSqs played;
  played.on_receive = messages_once(3);
  played.on_delete = [](const HttpRequest& request, std::size_t) {
    const auto receipts = receipts_in(request.body);
    const bool bad = std::ranges::find(receipts, "r1") != receipts.end();
    return bad ? refusal(400, "ReceiptHandleIsInvalid") : test::reply(200, "{}");
  };
  SqsConsumer consumer(sqs_at(played.url(), 5s));
  consumer.settle(consumer.receive(3));
  EXPECT_TRUE(consumer.is_told("R395")) << consumer.told();
  EXPECT_TRUE(consumer.source().close(60s).has_value());
  EXPECT_EQ(played.asked("DeleteMessageBatch"), 4U) << "all, and then one by one";
}

// Two of a group wait here. The first one's time is over, the other one's is not.
TEST(SqsPlayed, WhatWaitsBehindALostMessageOfItsGroupIsGivenBack) {
  PlayedSqs played;
  played.on_receive = [](const HttpRequest&, std::size_t times) {
    if (times > 0) return test::reply(200, "{}");
    return test::reply(200, R"({"Messages":[
        {"Body":"a","MessageId":"m0","ReceiptHandle":"r0","Attributes":{"MessageGroupId":"g"}},
        {"Body":"b","MessageId":"m1","ReceiptHandle":"r1","Attributes":{"MessageGroupId":"g"}}]})");
  };
  played.on_renew = [](const HttpRequest&, std::size_t times) {
    if (times > 0) return test::reply(200, "{}");
    return test::reply(200, R"({"Failed":[{"Id":"0","Code":"ReceiptHandleIsInvalid"}]})");
  };
  SqsConsumer consumer(sqs_at(played.url(), 5s));
  ASSERT_TRUE(consumer.source().receive({.messages = 0}).has_value());
  ASSERT_TRUE(test::comes_true([&] { return consumer.figure("expired_receipts") == 1; }));
  const auto received = consumer.source().receive({});
  ASSERT_TRUE(received.has_value());
  EXPECT_TRUE(received->arrivals.empty()) << "the second one would overtake the first";
  EXPECT_TRUE(test::comes_true([&] {
    return std::ranges::any_of(played.server().requests(), [](const HttpRequest& request) {
      return receipts_in(request.body) == std::vector<std::string>{"r0", "r1"} &&
             request.body.find(R"("VisibilityTimeout":0)") != std::string::npos;
    });
  }));
}

// Messages that the engine settles while it drains are deleted all the same.
TEST(SqsPlayed, ARunThatHasEndedWithAnErrorDeletesWhatIsDone) {
  PlayedSqs played;
  played.on_receive = [once = messages_once(2)](const HttpRequest& request, std::size_t times) {
    return times == 0 ? once(request, times) : refusal(400, "QueueDoesNotExist");
  };
  SqsConsumer consumer(sqs_at(played.url(), 5s));
  const auto arrivals = consumer.receive(2);
  EXPECT_EQ(consumer.first_error().code, "R394");
  consumer.settle(arrivals);
  EXPECT_TRUE(consumer.source().close(60s).has_value());
  EXPECT_EQ(played.asked("DeleteMessageBatch"), 1U);
}

TEST(SqsPlayed, ARunThatHasEndedWithAnErrorSaysWhatIsNotDeleted) {
  PlayedSqs played;
  played.on_receive = [once = messages_once(2)](const HttpRequest& request, std::size_t times) {
    return times == 0 ? once(request, times) : refusal(400, "QueueDoesNotExist");
  };
  played.on_delete = [](const HttpRequest&, std::size_t) {
    return refusal(400, "QueueDoesNotExist");
  };
  SqsConsumer consumer(sqs_at(played.url(), 5s));
  const auto arrivals = consumer.receive(2);
  EXPECT_EQ(consumer.first_error().code, "R394");
  consumer.settle(arrivals);
  const auto closed = consumer.source().close(60s);
  ASSERT_FALSE(closed);
  EXPECT_EQ(closed.error().code, "R390");
}

// The pause after many failures is longer than a close has time.
TEST(SqsPlayed, AtTheEndADeletionIsTriedAgainSoon) {
  constexpr std::size_t kFailures = 6;
  PlayedSqs played;
  played.on_receive = messages_once(1);
  played.on_delete = [](const HttpRequest&, std::size_t times) {
    return times < kFailures ? refusal(503, "ServiceUnavailable") : test::reply(200, "{}");
  };
  SqsConsumer consumer(sqs_at(played.url(), 5s));
  consumer.settle(consumer.receive(1));
  ASSERT_TRUE(
      test::comes_true([&] { return played.asked("DeleteMessageBatch") == kFailures - 1; }));
  EXPECT_TRUE(consumer.source().close(3s).has_value());
  EXPECT_EQ(played.asked("DeleteMessageBatch"), kFailures + 1);
}

}  // namespace
}  // namespace semel::conformance
