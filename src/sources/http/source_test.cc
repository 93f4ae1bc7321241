#include "sources/http/source.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <future>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <semel/reason.h>

#include "tests/support/http_get.h"
#include "tests/support/test_environment.h"
#include "tests/support/waiting.h"

namespace semel::sources {
namespace {

using std::chrono::milliseconds;
using test::HttpAnswer;
using SettleKind = Settlement::Kind;

class HttpSourceTest : public testing::Test {
 protected:
  HttpSourceTest() {
    spec_.listen = {"127.0.0.1", 0};
    spec_.path = "/in";
    spec_.max_body = 1'000;
    spec_.key_headers = {"idempotency-key"};
  }
  ~HttpSourceTest() override {
    if (source_) (void)source_->close(milliseconds(0));
  }

  void open() {
    source_ = std::make_unique<HttpSource>(spec_, environment_);
    const auto listens = source_->listen();
    ASSERT_TRUE(listens) << listens.error().message;
  }
  HttpAnswer raw(const std::string& bytes) const {
    return test::http_answer(test::http_raw(source_->port(), bytes));
  }
  static std::string request(const std::string& body, const std::string& lines = {}) {
    return fmt::format(
        "POST /in HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{}"
        "Content-Length: {}\r\n\r\n{}",
        lines, body.size(), body);
  }
  // Sends the body on a thread of its own; returns the future answer.
  std::future<HttpAnswer> post(const std::string& body, const std::string& lines = {}) {
    return std::async(std::launch::async,
                      [this, bytes = request(body, lines)] { return raw(bytes); });
  }
  std::future<HttpAnswer> post_batch(const std::string& events) {
    return post(events, "Content-Type: application/cloudevents-batch+json\r\n");
  }
  // Waits until this many messages have come.
  std::vector<Arrival> receive(std::size_t count) {
    std::vector<Arrival> arrivals;
    EXPECT_TRUE(test::comes_true([&] {
      auto received = source_->receive({count - arrivals.size()});
      for (Arrival& one : received->arrivals) arrivals.push_back(std::move(one));
      return arrivals.size() == count;
    }));
    return arrivals;
  }
  void settle(const Arrival& arrival, SettleKind kind = SettleKind::kAck, milliseconds delay = {}) {
    settle_tag(arrival.tag, kind, delay);
  }
  void settle_tag(Tag tag, SettleKind kind = SettleKind::kAck, milliseconds delay = {}) {
    const Settlement settlement{tag, kind, delay};
    EXPECT_TRUE(source_->settle({&settlement, 1}));
  }
  std::int64_t figure(std::string_view name) const {
    for (const SourceFigure& one : source_->figures()) {
      if (one.name == name) return one.value;
    }
    return -1;
  }

  core::HttpSourceSpec spec_;
  test::ManualClock clock_;
  Environment environment_{&clock_, system_environment().random, nullptr};
  std::unique_ptr<HttpSource> source_;
};

TEST_F(HttpSourceTest, ARequestIsAnsweredWhenItIsSettled) {
  open();
  auto answer = post("hello", "Idempotency-Key: k\r\nX-A: 1\r\n");
  const auto arrivals = receive(1);
  EXPECT_EQ(arrivals[0].payload, "hello");
  EXPECT_EQ(find_header(arrivals[0].headers, "idempotency-key"), "k");
  EXPECT_EQ(arrivals[0].partition, "/in");
  EXPECT_EQ(figure("handled"), 1);
  Outcome done;
  done.result = "paid";
  source_->ended(arrivals[0].tag, done);
  EXPECT_EQ(answer.wait_for(milliseconds(0)), std::future_status::timeout) << "not settled yet";
  settle(arrivals[0]);
  const HttpAnswer got = answer.get();
  EXPECT_EQ(got.status, 200);
  EXPECT_EQ(got.body, "paid");
  EXPECT_EQ(figure("handled"), 0);
}

TEST_F(HttpSourceTest, WhatIsSettledWithoutAnEndIsAcceptedOrNotBegun) {
  open();
  auto kept = post("a");
  const auto first = receive(1);
  settle(first[0]);
  EXPECT_EQ(kept.get().status, 202);
  auto released = post("b");
  const auto second = receive(1);
  settle(second[0], SettleKind::kRelease);
  const HttpAnswer got = released.get();
  EXPECT_EQ(got.status, 503);
  EXPECT_EQ(got.header("Retry-After"), "1");
}

TEST_F(HttpSourceTest, TheLastEndCountsAndOldTagsAreIgnored) {
  open();
  auto answer = post("a");
  const auto arrivals = receive(1);
  Outcome busy;
  busy.kind = Outcome::Kind::kBusy;
  source_->ended(arrivals[0].tag, busy);
  source_->ended(arrivals[0].tag, Outcome());
  source_->ended({99, arrivals[0].tag.generation}, busy);
  source_->ended({arrivals[0].tag.value, 0}, busy);
  settle(arrivals[0]);
  EXPECT_EQ(answer.get().status, 200);
  settle(arrivals[0]);
  settle_tag({99, 0});
  settle_tag({0, 0});
  source_->ended(arrivals[0].tag, busy);
}

TEST_F(HttpSourceTest, WhatWaitsForTooLongIsAnsweredAndForgotten) {
  open();
  auto waiting = post("a");
  ASSERT_TRUE(test::comes_true([&] { return figure("lag") == 1; }));
  clock_.advance(spec_.timeout);
  const HttpAnswer got = waiting.get();
  EXPECT_EQ(got.status, 503);
  EXPECT_NE(got.body.find("R326"), std::string::npos) << got.body;
  EXPECT_EQ(figure("lag"), 0);
  EXPECT_TRUE(source_->receive({})->arrivals.empty()) << "nobody waits for it";
}

TEST_F(HttpSourceTest, WhatIsHandledForTooLongIsAnsweredAndGoesOn) {
  open();
  auto slow = post("a");
  const auto first = receive(1);
  clock_.advance(spec_.timeout / 2);
  auto later = post("b");
  const auto second = receive(1);
  clock_.advance(spec_.timeout / 2);
  const HttpAnswer got = slow.get();
  EXPECT_EQ(got.status, 504);
  EXPECT_NE(got.body.find("R329"), std::string::npos) << got.body;
  EXPECT_EQ(figure("handled"), 2) << "it is not settled";
  settle(first[0]);
  settle(second[0]);
  EXPECT_EQ(later.get().status, 202) << "its time was not over";
  EXPECT_EQ(figure("handled"), 0);
}

TEST_F(HttpSourceTest, WhatIsNoMessageIsRefusedAndNotHandedOut) {
  spec_.signature = core::HttpSignature{core::HttpSignature::Scheme::kGithub, {"s"}};
  open();
  EXPECT_EQ(post("a").get().status, 403);
  EXPECT_EQ(raw("GET /in HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").status, 405);
  EXPECT_EQ(raw("POST /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").status, 404);
  EXPECT_EQ(post(std::string(1'001, 'x')).get().status, 413);
  EXPECT_EQ(post("a", "Idempotency-Key: k\r\nIdempotency-Key: k\r\n").get().status, 400);
  EXPECT_EQ(figure("refused"), 5);
  EXPECT_TRUE(source_->receive({})->arrivals.empty());
}

TEST_F(HttpSourceTest, ABodyThatIsCutOffIsNoMessage) {
  open();
  const std::string chunked =
      "POST /in HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n";
  EXPECT_EQ(raw("POST /in HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
                "Transfer-Encoding: chunked\r\n\r\n3e9\r\n" +
                std::string(1'001, 'x') + "\r\n0\r\n\r\n")
                .status,
            413)
      << "its length was not told in advance";
  EXPECT_TRUE(test::http_sent(source_->port(), chunked).valid());
  EXPECT_TRUE(test::http_sent(source_->port(), request("hello").substr(0, 70)).valid());
  ASSERT_TRUE(test::comes_true([&] { return figure("connections") == 0; }));
  auto whole = post("whole");
  const auto arrivals = receive(1);
  EXPECT_EQ(arrivals[0].payload, "whole");
  settle(arrivals[0]);
  EXPECT_EQ(whole.get().status, 202);
}

// The sender has closed its direction of the connection and still waits for an answer. The HTTP
// library does not always notice; then the request timeout ends the request.
TEST_F(HttpSourceTest, ABodyWhoseSenderEndsInItsMidstIsNoMessage) {
  spec_.receive_timeout = std::chrono::seconds(1);
  open();
  for (const std::string& cut :
       {std::string("POST /in HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                    "5\r\nhello\r\n"),
        std::string("POST /in HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                    "5\r\nhel"),
        request("hello").substr(0, request("hello").size() - 2)}) {
    SCOPED_TRACE(cut);
    const system::Descriptor sender = test::http_sent(source_->port(), cut);
    ASSERT_TRUE(sender.valid());
    ASSERT_TRUE(test::comes_true([&] {
      char next = 0;
      const bool is_over = ::recv(sender.get(), &next, 1, MSG_PEEK | MSG_DONTWAIT) >= 0;
      return is_over || figure("connections") == 1;
    }));
    ASSERT_EQ(::shutdown(sender.get(), SHUT_WR), 0);
    EXPECT_NE(test::http_answer(test::http_rest(sender)).status / 100, 2);
    ASSERT_TRUE(test::comes_true([&] { return figure("connections") == 0; }));
  }
  EXPECT_EQ(figure("received"), 0);
}

TEST_F(HttpSourceTest, APausedSourceLetsRequestsWait) {
  open();
  source_->set_paused("/in", true);
  auto answer = post("a");
  ASSERT_TRUE(test::comes_true([&] { return figure("lag") == 1; }));
  EXPECT_TRUE(source_->receive({})->arrivals.empty());
  source_->set_paused("/other", false);
  EXPECT_TRUE(source_->receive({})->arrivals.empty());
  source_->set_paused({}, false);
  const auto arrivals = receive(1);
  settle(arrivals[0]);
  EXPECT_EQ(answer.get().status, 202);
}

// A handler may use the whole drain: only the sender of its message waits for it.
TEST_F(HttpSourceTest, OnceItsIntakeHasEndedOnlyWhatIsHandledIsWaitedFor) {
  open();
  auto handled = post("a");
  const auto arrivals = receive(1);
  auto waiting = post("b");
  ASSERT_TRUE(test::comes_true([&] { return figure("lag") == 1; }));
  source_->end_intake();
  EXPECT_EQ(waiting.get().status, 503);
  const HttpAnswer late = post("c").get();
  EXPECT_EQ(late.status, 503);
  EXPECT_EQ(late.header("Retry-After"), "1");
  source_->end_intake();
  EXPECT_TRUE(source_->receive({})->arrivals.empty());
  source_->ended(arrivals[0].tag, Outcome());
  settle(arrivals[0]);
  EXPECT_EQ(handled.get().status, 200);
}

TEST_F(HttpSourceTest, ACloseAnswersAllThatWait) {
  open();
  auto handled = post("a");
  const auto arrivals = receive(1);
  auto waiting = post("b");
  ASSERT_TRUE(test::comes_true([&] { return figure("lag") == 1; }));
  EXPECT_TRUE(source_->close(std::chrono::seconds(60)));
  EXPECT_EQ(waiting.get().status, 503);
  EXPECT_EQ(handled.get().status, 503);
  settle(arrivals[0]);
  EXPECT_TRUE(source_->close(milliseconds(0)));
  EXPECT_FALSE(source_->receive({}));
}

TEST_F(HttpSourceTest, MoreThanItTakesIsRefused) {
  spec_.max_requests = 2;
  open();
  auto one = post("a");
  auto two = post("b");
  const auto arrivals = receive(2);
  const HttpAnswer full = post("c").get();
  EXPECT_EQ(full.status, 503);
  EXPECT_EQ(full.header("Retry-After"), "1");
  for (const Arrival& arrival : arrivals) settle(arrival);
  EXPECT_EQ(one.get().status, 202);
  EXPECT_EQ(two.get().status, 202);
  auto next = post("d");
  settle(receive(1)[0]);
  EXPECT_EQ(next.get().status, 202);
}

TEST_F(HttpSourceTest, TheBytesOfAllBodiesHaveALimit) {
  spec_.max_bytes = 1'500;
  open();
  auto large = post(std::string(1'000, 'x'));
  const auto arrivals = receive(1);
  EXPECT_EQ(post(std::string(600, 'y')).get().status, 503);
  auto fits = post(std::string(500, 'z'));
  settle(receive(1)[0]);
  EXPECT_EQ(fits.get().status, 202);
  settle(arrivals[0]);
  EXPECT_EQ(large.get().status, 202);
}

// Each event is a message, and the sender gets one answer for all of them.
TEST_F(HttpSourceTest, ABatchIsAnsweredWhenAllOfItIsSettled) {
  open();
  auto answer = post_batch(R"([{"id":"a"}, {"id":"b"}, {"id":"c"}])");
  const auto arrivals = receive(3);
  EXPECT_EQ(arrivals[1].payload, R"({"id":"b"})");
  EXPECT_EQ(arrivals[1].content_type, "application/cloudevents+json");
  EXPECT_NE(arrivals[1].position, arrivals[0].position);
  source_->ended(arrivals[1].tag, Outcome());
  settle(arrivals[1]);
  Outcome again;
  again.kind = Outcome::Kind::kDuplicate;
  source_->ended(arrivals[0].tag, again);
  settle(arrivals[0]);
  EXPECT_EQ(answer.wait_for(milliseconds(0)), std::future_status::timeout) << "one is not settled";
  EXPECT_EQ(figure("handled"), 1);
  source_->ended(arrivals[2].tag, Outcome());
  settle(arrivals[2]);
  const HttpAnswer got = answer.get();
  EXPECT_EQ(got.status, 200);
  EXPECT_EQ(got.body,
            R"({"events":[{"index":0,"status":200,"replayed":true},{"index":1,"status":200},)"
            R"({"index":2,"status":200}]})"
            "\n");
}

TEST_F(HttpSourceTest, AnEmptyBatchIsDone) {
  open();
  const HttpAnswer got = post_batch("[]").get();
  EXPECT_EQ(got.status, 200);
  EXPECT_EQ(got.body, "{\"events\":[]}\n");
  EXPECT_EQ(figure("received"), 0);
}

TEST_F(HttpSourceTest, OneEventThatIsNotDoneIsToldWithItsPlace) {
  open();
  auto answer = post_batch("[1, 2]");
  const auto arrivals = receive(2);
  source_->ended(arrivals[0].tag, Outcome());
  settle(arrivals[0]);
  settle(arrivals[1], SettleKind::kRelease, milliseconds(3'000));
  const HttpAnswer got = answer.get();
  EXPECT_EQ(got.status, 503);
  EXPECT_EQ(got.header("Retry-After"), "3");
  EXPECT_NE(got.body.find("that at index 1"), std::string::npos) << got.body;
}

// Deliveries that were handed out continue; the source has dropped the others.
TEST_F(HttpSourceTest, ABatchThatWaitsForTooLongIsAnswered) {
  open();
  auto answer = post_batch("[1, 2, 3]");
  const auto arrivals = receive(2);
  source_->ended(arrivals[0].tag, Outcome());
  settle(arrivals[0]);
  ASSERT_EQ(figure("lag"), 1);
  clock_.advance(spec_.timeout);
  const HttpAnswer got = answer.get();
  EXPECT_EQ(got.status, 503);
  EXPECT_NE(got.body.find(R"({"index":0,"status":200},{"index":1,"status":504)"), std::string::npos)
      << got.body;
  EXPECT_EQ(figure("lag"), 0);
  EXPECT_EQ(figure("handled"), 1);
  settle(arrivals[1]);
  EXPECT_EQ(figure("handled"), 0);
}

TEST_F(HttpSourceTest, ADrainAnswersABatchOnceItsHandledEventsAreSettled) {
  open();
  auto answer = post_batch("[1, 2]");
  const auto arrivals = receive(1);
  source_->end_intake();
  EXPECT_EQ(answer.wait_for(milliseconds(0)), std::future_status::timeout);
  source_->ended(arrivals[0].tag, Outcome());
  settle(arrivals[0]);
  const HttpAnswer got = answer.get();
  EXPECT_EQ(got.status, 503);
  EXPECT_NE(got.body.find(R"({"index":0,"status":200},{"index":1,"status":503)"), std::string::npos)
      << got.body;
}

// The events of a batch are in hand together, like as many requests.
TEST_F(HttpSourceTest, ABatchThatDoesNotFitIsRefusedWhole) {
  spec_.max_requests = 3;
  open();
  EXPECT_EQ(post_batch("[1, 2, 3, 4]").get().status, 413) << "it never would";
  EXPECT_EQ(figure("refused"), 1);
  auto one = post("a");
  const auto first = receive(1);
  const HttpAnswer full = post_batch("[1, 2, 3]").get();
  EXPECT_EQ(full.status, 503);
  EXPECT_EQ(full.header("Retry-After"), "1");
  EXPECT_EQ(figure("received"), 1) << "none of it was taken";
  EXPECT_EQ(figure("refused"), 2);
  auto fits = post_batch("[1, 2]");
  for (const Arrival& arrival : receive(2)) settle(arrival);
  EXPECT_EQ(fits.get().status, 202);
  settle(first[0]);
  EXPECT_EQ(one.get().status, 202);
}

// The batch is one request, but its events take all the places.
TEST_F(HttpSourceTest, ASingleMessageDoesNotFitBesideAFullBatch) {
  spec_.max_requests = 3;
  open();
  auto batch = post_batch("[1, 2, 3]");
  const auto arrivals = receive(3);
  const HttpAnswer full = post("a").get();
  EXPECT_EQ(full.status, 503);
  EXPECT_EQ(full.header("Retry-After"), "1");
  EXPECT_EQ(figure("received"), 3);
  EXPECT_EQ(figure("refused"), 1);
  settle(arrivals[0]);
  auto fits = post("a");
  settle(receive(1)[0]);
  EXPECT_EQ(fits.get().status, 202);
  settle(arrivals[1]);
  settle(arrivals[2]);
  EXPECT_EQ(batch.get().status, 202);
}

TEST_F(HttpSourceTest, WhereOneIsTakenALoneMessageFits) {
  spec_.max_requests = 1;
  open();
  auto answer = post("a");
  settle(receive(1)[0]);
  EXPECT_EQ(answer.get().status, 202);
}

TEST_F(HttpSourceTest, AnAddressInUseIsNamed) {
  open();
  spec_.listen.port = source_->port();
  const auto second = make_http_source(spec_, environment_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, "R320");
  spec_.listen.port = 0;
  spec_.tls = core::HttpSourceTls{"/not/there.pem", "/not/there.key"};
  const auto third = make_http_source(spec_, environment_);
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().code, "R321");
}

TEST_F(HttpSourceTest, ACheckFindsWhatWouldKeepItFromListening) {
  open();
  spec_.listen.port = source_->port();
  const auto in_use = check_http_source(spec_);
  ASSERT_FALSE(in_use);
  EXPECT_EQ(in_use.error().code, "R320");
  EXPECT_EQ(in_use.error().kind, ErrorKind::kUnavailable) << "it may pass";
  spec_.listen.host = "192.0.2.1";
  const auto not_here = check_http_source(spec_);
  ASSERT_FALSE(not_here);
  EXPECT_EQ(not_here.error().code, "R320");
  EXPECT_EQ(not_here.error().kind, ErrorKind::kRejected) << "no interface has it";
  spec_.tls = core::HttpSourceTls{"/not/there.pem", "/not/there.key"};
  const auto unreadable = check_http_source(spec_);
  ASSERT_FALSE(unreadable);
  EXPECT_EQ(unreadable.error().code, "R321");
  spec_.tls.reset();
  EXPECT_TRUE(source_->close(milliseconds(0)));
  spec_.listen.host = "127.0.0.1";
  EXPECT_TRUE(check_http_source(spec_)) << "it is free again";
  EXPECT_TRUE(make_http_source(spec_, environment_)) << "and the check has not kept it";
}

}  // namespace
}  // namespace semel::sources
