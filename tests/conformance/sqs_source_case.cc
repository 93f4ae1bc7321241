// SQS joins the source suite, on a real server of its API; and what only a source of its kind does.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <thread>

#include "clients/sqs/json_walk.h"
#include "sources/sqs/make_sqs_source.h"
#include "tests/conformance/source_case.h"
#include "tests/support/elasticmq_server.h"
#include "tests/support/http_server.h"
#include "tests/support/waiting.h"

namespace semel::conformance {
namespace {

using test::ElasticmqServer;
using test::HttpReply;
using test::HttpRequest;
using test::HttpServer;

core::SqsSpec sqs_at(const std::string& url) {
  core::SqsSpec spec;
  spec.queue = core::read_sqs_url(url).value();
  spec.region = "local";
  spec.keys = {"AKIDEXAMPLE", "secret", {}};
  spec.prefetch = 1'000;
  spec.visibility = 5s;
  return spec;
}

class SqsPlace final : public SourcePlace {
 public:
  explicit SqsPlace(bool fifo) : fifo_(fifo) {
    const auto& server = ElasticmqServer::shared();
    queue_ = fifo ? server.new_fifo_queue() : server.new_queue();
  }
  ~SqsPlace() override { ElasticmqServer::shared().delete_queue(queue_); }

  void add(const std::vector<Bytes>& payloads) override {
    std::vector<ElasticmqServer::Post> posts;
    for (const Bytes& payload : payloads) {
      posts.push_back({.body = payload});
      if (!fifo_) continue;
      // A group whose messages are received gives no more before they are deleted.
      posts.back().group = fmt::format("group-{}", next_);
      posts.back().deduplication = fmt::format("copy-{}", next_++);
    }
    ElasticmqServer::shared().send(queue_, posts);
  }
  void finish() override {}
  std::unique_ptr<Source> open() override {
    auto source = sqs::make_sqs_source({sqs_at(ElasticmqServer::shared().url(queue_)), false, 0});
    EXPECT_TRUE(source->receive({0, 1}).has_value());
    return source;
  }
  void advance(milliseconds by) override { std::this_thread::sleep_for(std::min(by, 20ms)); }

 private:
  const bool fifo_;
  std::string queue_;
  std::size_t next_ = 0;
};

SourceCase sqs_case(bool fifo) {
  return {.name = fifo ? "sqs_fifo" : "sqs_standard",
          .make = [fifo] { return std::unique_ptr<SourcePlace>(new SqsPlace(fifo)); },
          .ordered = false,
          .bytes = false};
}

INSTANTIATE_TEST_SUITE_P(Sqs, SourceSuite, testing::Values(sqs_case(false), sqs_case(true)),
                         testing::PrintToStringParamName());

class SqsConsumer : public Receiver {
 public:
  explicit SqsConsumer(core::SqsSpec spec)
      : Receiver(sqs::make_sqs_source({std::move(spec), true, 3}), 60s) {}

  // The first thing that goes wrong.
  Error failure_of() {
    Error error;
    test::comes_true([&] {
      const auto received = source().receive({});
      if (received) return false;
      error = received.error();
      return true;
    });
    return error;
  }
  std::int64_t figure(std::string_view name) {
    for (const SourceFigure& figure : source().figures()) {
      if (figure.name == name) return figure.value;
    }
    return 0;
  }
};

std::string sqs_queue_of(std::size_t messages) {
  const auto& server = ElasticmqServer::shared();
  const std::string queue = server.new_queue();
  std::vector<std::string> bodies;
  for (std::size_t i = 0; i < messages; ++i) bodies.push_back(fmt::format("{{\"n\":{}}}", i));
  server.send_bodies(queue, bodies);
  return queue;
}

TEST(SqsSource, ThePrefetchIsTheMostThatIsReceived) {
  const auto& server = ElasticmqServer::shared();
  const std::string queue = sqs_queue_of(10);
  auto spec = sqs_at(server.url(queue));
  spec.prefetch = 4;
  SqsConsumer consumer(spec);
  const auto first = consumer.receive(4);
  ASSERT_EQ(first.size(), 4U);
  EXPECT_TRUE(consumer.receive(1, 300ms).empty());
  EXPECT_EQ(server.ready(queue), 6) << "they wait at the server";
  consumer.settle(first);
  EXPECT_EQ(consumer.receive(4).size(), 4U);
}

// As `run --once` sees it: what is settled and not yet deleted keeps a place, and more comes
// behind.
TEST(SqsSource, TheEndIsNotToldWhileMessagesAreLeft) {
  constexpr std::size_t kMessages = 600;
  const auto& server = ElasticmqServer::shared();
  auto spec = sqs_at(server.url(sqs_queue_of(kMessages)));
  spec.prefetch = 20;
  const auto source = sqs::make_sqs_source({spec, false, 0});
  std::size_t seen = 0;
  EXPECT_TRUE(test::comes_true([&] {
    const auto received = source->receive({});
    std::vector<Settlement> settlements;
    for (const Arrival& arrival : received->arrivals) {
      settlements.push_back({arrival.tag, Settlement::Kind::kAck, 0ms});
    }
    seen += settlements.size();
    // Another look between the two, as an engine with many workers has it.
    const auto idle = source->receive({.messages = 0});
    EXPECT_TRUE(source->settle(settlements).has_value());
    EXPECT_TRUE(source->receive({.messages = 0}).has_value());
    return received->at_end && settlements.empty() && idle->at_end;
  }));
  EXPECT_EQ(seen, kMessages);
}

// Its record was durable before: nothing is lost when this process dies now.
TEST(SqsSource, WhatIsAckedIsDeletedWhileOthersAreOpen) {
  const auto& server = ElasticmqServer::shared();
  const std::string queue = sqs_queue_of(25);
  SqsConsumer consumer(sqs_at(server.url(queue)));
  auto arrivals = consumer.receive(25);
  ASSERT_EQ(arrivals.size(), 25U);
  consumer.settle({arrivals.begin() + 1, arrivals.end()});
  EXPECT_TRUE(test::comes_true([&] { return server.in_flight(queue) == 1; }));
  consumer.settle({arrivals[0]});
  EXPECT_TRUE(consumer.source().close(60s).has_value());
  EXPECT_EQ(server.in_flight(queue) + server.ready(queue), 0);
}

// Without renewals each would be there again after its five seconds.
TEST(SqsSource, WhatIsOpenStaysHiddenHoweverLongItTakes) {
  const auto& server = ElasticmqServer::shared();
  const std::string queue = sqs_queue_of(15);
  SqsConsumer consumer(sqs_at(server.url(queue)));
  const auto arrivals = consumer.receive(15);
  ASSERT_EQ(arrivals.size(), 15U);
  const std::string clock = sqs_queue_of(1);
  // The same server shows when twice that time is over.
  ASSERT_FALSE(server.take_one(clock, 11).empty());
  bool over = false;
  while (!over) {
    ASSERT_EQ(server.ready(queue), 0);
    std::this_thread::sleep_for(100ms);
    over = server.ready(clock) > 0;
  }
  consumer.settle(arrivals);
  EXPECT_TRUE(consumer.source().close(60s).has_value());
  EXPECT_EQ(server.in_flight(queue) + server.ready(queue), 0);
}

TEST(SqsSource, AGroupIsNeverInFlightTwice) {
  const auto& server = ElasticmqServer::shared();
  const std::string queue = server.new_fifo_queue();
  std::vector<ElasticmqServer::Post> posts;
  for (int i = 0; i < 40; ++i) {
    posts.push_back({.body = fmt::format("{}", i),
                     .group = fmt::format("g-{}", i % 2),
                     .deduplication = fmt::format("d-{}", i)});
  }
  server.send(queue, posts);
  SqsConsumer one(sqs_at(server.url(queue)));
  SqsConsumer other(sqs_at(server.url(queue)));
  std::map<std::string, int> last;
  std::map<std::string, SqsConsumer*> holder;
  std::size_t seen = 0;
  const auto take = [&](SqsConsumer& consumer) {
    const auto arrivals = consumer.receive(10, 50ms);
    std::set<std::string> groups;
    for (const Arrival& arrival : arrivals) {
      const std::string group(find_header(arrival.headers, "sqs-message-group-id").value());
      EXPECT_EQ(arrival.broker_key, "d-" + arrival.payload);
      groups.insert(group);
      const int number = std::stoi(arrival.payload);
      EXPECT_TRUE(!last.contains(group) || last[group] < number) << "its order";
      last[group] = number;
    }
    seen += arrivals.size();
    for (const std::string& group : groups) {
      EXPECT_TRUE(holder[group] == nullptr || holder[group] == &consumer) << group;
      holder[group] = &consumer;
    }
    return arrivals;
  };
  ASSERT_TRUE(test::comes_true([&] {
    const auto mine = take(one);
    const auto others = take(other);
    one.settle(mine);
    other.settle(others);
    holder.clear();
    // What is deleted is out of every hand before the next look.
    return test::comes_true([&] { return server.in_flight(queue) == 0 || seen < 40; }) &&
           seen == 40;
  }));
}

TEST(SqsSource, AQueueThatIsNotThereIsSaid) {
  const auto& server = ElasticmqServer::shared();
  const Error error = SqsConsumer(sqs_at(server.url(ElasticmqServer::unused_name()))).failure_of();
  EXPECT_EQ(error.code, "R394");
  EXPECT_EQ(error.kind, ErrorKind::kRejected);
}

TEST(SqsSource, ALookTellsWhatTheQueueSaysOfItself) {
  const auto& server = ElasticmqServer::shared();
  const std::string dead = server.new_queue();
  const std::string arn = "arn:aws:sqs:elasticmq:000000000000:" + dead;
  const std::string queue = server.new_queue(
      {{"RedrivePolicy",
        fmt::format(R"({{"deadLetterTargetArn":"{}","maxReceiveCount":"3"}})", arn)}});
  server.send_bodies(queue, {"a", "b"});
  const auto facts = sqs::look_at_queue(sqs_at(server.url(queue)));
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_EQ(facts->ready, 2);
  ASSERT_TRUE(facts->redrive.has_value());
  EXPECT_EQ(facts->redrive->most_receives, 3);
  EXPECT_EQ(facts->redrive->target, arn);

  // And a run is told, of the policy and of a message that is near its end.
  for (int i = 0; i < 2; ++i) {
    ASSERT_FALSE(server.take_one(queue, 0).empty());
    ASSERT_FALSE(server.take_one(queue, 0).empty());
  }
  SqsConsumer consumer(sqs_at(server.url(queue)));
  std::string said;
  EXPECT_TRUE(test::comes_true([&] {
    const auto received = consumer.source().receive({});
    for (const std::string& notice : received->notices) said += notice + '\n';
    return said.find("D122") != std::string::npos &&
           said.find("was received 3 times") != std::string::npos;
  })) << said;
}

// A service that answers as it is told, for what no server does when asked to.
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
  std::function<HttpReply(const HttpRequest&, std::size_t times)> on_receive, on_delete, on_any;

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

// So many messages at the first receive, and none later.
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
  SqsConsumer consumer(sqs_at(played.url()));
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
  SqsConsumer consumer(sqs_at(played.url()));
  const Error error = consumer.failure_of();
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
    const Error error = SqsConsumer(sqs_at(played.url())).failure_of();
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
  SqsConsumer consumer(sqs_at(played.url()));
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
  SqsConsumer consumer(sqs_at(played.url()));
  EXPECT_EQ(consumer.receive(1).size(), 1U);
}

TEST(SqsPlayed, ACloseThatIsNotAnsweredSaysSo) {
  PlayedSqs played;
  played.on_receive = messages_once(2);
  played.on_delete = [](const HttpRequest&, std::size_t) {
    return test::raw("", HttpReply::Then::kHang);
  };
  SqsConsumer consumer(sqs_at(played.url()));
  consumer.settle(consumer.receive(2));
  const auto closed = consumer.source().close(300ms);
  ASSERT_FALSE(closed);
  EXPECT_EQ(closed.error().code, "R390");
}

}  // namespace
}  // namespace semel::conformance
