// The handler against a server: requests, connections, parallel calls, and its end.
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <vector>

#include <semel/reason.h>

#include "handlers/http/test_calls.h"
#include "tests/support/rounds.h"
#include "tests/support/temp_dir.h"

namespace semel::handlers {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::HttpReply;
using test::HttpServer;
using Kind = Verdict::Kind;

class HttpCallsTest : public HttpCalls {
 protected:
  HttpCallsTest() { spec_.url = server_.url("/send"); }
};

TEST_F(HttpCallsTest, SendsThePayloadAndKeepsTheAnswer) {
  server_.on("/send", test::reply(200, "sent as 42"));
  const Verdict verdict = call("order-7", R"({"n":1})");
  EXPECT_EQ(verdict.kind(), Kind::kDone);
  EXPECT_EQ(verdict.result(), "sent as 42");
  const auto requests = server_.requests();
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_EQ(requests[0].method, "POST");
  EXPECT_EQ(requests[0].target, "/send");
  EXPECT_EQ(requests[0].body, R"({"n":1})");
  EXPECT_EQ(requests[0].header("idempotency-key"), "\"order-7\"");
  EXPECT_EQ(requests[0].header("semel-delivery"), "17");
  EXPECT_EQ(requests[0].header("content-length"), "7");
  EXPECT_EQ(requests[0].header("expect"), "(none)");
  EXPECT_EQ(requests[0].header("user-agent"), "semel/0.1.0");
  EXPECT_EQ(gate_.told(), std::vector<std::string>{"open"});
}

// The handler's end of its connection to this port, which an earlier call left open; -1: none.
int socket_to(int port) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int fd = std::stoi(entry.path().filename());
    sockaddr_in peer{};
    socklen_t size = sizeof peer;
    const bool connected = ::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) == 0;
    if (connected && peer.sin_family == AF_INET && ntohs(peer.sin_port) == port) return fd;
  }
  return -1;
}

TEST_F(HttpCallsTest, AConnectionWhosePeerVanishedEnds) {
  EXPECT_EQ(call().kind(), Kind::kDone);
  const int fd = socket_to(server_.port());
  ASSERT_GE(fd, 0);
  int probed = 0;
  unsigned longest = 0;
  socklen_t size = sizeof probed;
  EXPECT_EQ(::getsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &probed, &size), 0);
  EXPECT_EQ(::getsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &longest, &size), 0);
  EXPECT_NE(probed, 0);
  EXPECT_EQ(milliseconds(longest), spec_.timeout);
}

TEST_F(HttpCallsTest, TheUrlHasWhatTheMessageSays) {
  spec_.url = server_.url("/orders/{json:/order}?in={header:region}");
  auto parts = test::make_parts(ConsumerNumber{1}, "k", R"({"order":"7/8"})");
  parts.headers = {{"Region", "eu west"}};
  EXPECT_EQ(begin(Message(std::move(parts)))->verdict().kind(), Kind::kDone);
  const auto requests = server_.requests();
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_EQ(requests[0].target, "/orders/7%2F8?in=eu%20west");
}

TEST_F(HttpCallsTest, ADeleteHasNoBody) {
  spec_.url = server_.url("/holds/{json:/hold}");
  spec_.method = "DELETE";
  spec_.signing_secrets = {"whsec_c2VjcmV0"};
  auto parts = test::make_parts(ConsumerNumber{1}, "k", R"({"hold":7})");
  parts.content_type = "application/json";
  EXPECT_EQ(begin(Message(std::move(parts)))->verdict().kind(), Kind::kDone);
  const auto requests = server_.requests();
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_EQ(requests[0].method, "DELETE");
  EXPECT_EQ(requests[0].target, "/holds/7");
  EXPECT_EQ(requests[0].body, "");
  EXPECT_EQ(requests[0].header("content-type"), "(none)");
  EXPECT_NE(requests[0].header("webhook-signature"), "(none)");
}

TEST_F(HttpCallsTest, WithoutAUrlNobodyIsCalled) {
  spec_.url = server_.url("/orders/{json:/order}");
  const Verdict verdict = call("k", R"({"order":{}})");
  EXPECT_EQ(verdict.kind(), Kind::kDead);
  EXPECT_EQ(verdict.code(), reason::kPayloadInvalid);
  EXPECT_EQ(verdict.reason(), "the URL's {json:/order}: no single value is there");
  EXPECT_TRUE(server_.requests().empty());
  EXPECT_TRUE(gate_.told().empty()) << "it says nothing about the endpoint";
}

// The limit is the handler's own: at libcurl's, the call would have begun, and its outcome would be
// unknown.
TEST_F(HttpCallsTest, AUrlThatIsTooLongIsNotCalled) {
  spec_.url = server_.url("/orders/{json:/order}");
  const auto call_with = [&](std::size_t length) {
    return call("k", R"({"order":")" + std::string(length, 'x') + R"("})");
  };
  // libcurl's own limit is below the second one.
  for (const std::size_t length : test::is_night() ? std::vector<std::size_t>{1'000'000, 8'000'000}
                                                   : std::vector<std::size_t>{1'000'000}) {
    const Verdict verdict = call_with(length);
    EXPECT_EQ(verdict.kind(), Kind::kDead);
    EXPECT_EQ(verdict.code(), reason::kPayloadInvalid);
    EXPECT_FALSE(verdict.unknown());
    EXPECT_NE(verdict.reason().find("1000000 bytes at most"), std::string::npos)
        << verdict.reason();
  }
  EXPECT_TRUE(server_.requests().empty());
  EXPECT_TRUE(gate_.told().empty()) << "it says nothing about the endpoint";
  EXPECT_EQ(call_with(900'000).kind(), Kind::kDone);
}

TEST_F(HttpCallsTest, AnAnswerThatNobodyGaveIsRefused) {
  spec_.url = server_.url("/orders/{answer:charge/id}");
  const auto made = make_http_handler(spec_, system_environment());
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, "R255");
  EXPECT_NE(made.error().message.find("{answer:charge/id}"), std::string::npos);
}

TEST_F(HttpCallsTest, TheContentTypeIsTheMessagesOrNone) {
  EXPECT_EQ(call().kind(), Verdict::Kind::kDone);
  auto parts = test::make_parts(ConsumerNumber{1}, "k", "<a/>");
  parts.content_type = "application/xml";
  EXPECT_EQ(begin(Message(std::move(parts)))->verdict().kind(), Verdict::Kind::kDone);
  const auto requests = server_.requests();
  ASSERT_EQ(requests.size(), 2U);
  EXPECT_EQ(requests[0].header("content-type"), "(none)") << "and not a form";
  EXPECT_EQ(requests[1].header("content-type"), "application/xml");
}

TEST_F(HttpCallsTest, MethodAndFixedHeadersComeFromTheConfig) {
  spec_.method = "PUT";
  spec_.headers = {
      {"Authorization", "Bearer abc"}, {"X-Empty", ""}, {"Content-Type", "text/plain"}};
  auto parts = test::make_parts(ConsumerNumber{1}, "k", Bytes("\0\r\n\xFF", 4));
  parts.content_type = "application/json";
  EXPECT_EQ(begin(Message(std::move(parts)))->verdict().kind(), Verdict::Kind::kDone);
  const auto requests = server_.requests();
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_EQ(requests[0].method, "PUT");
  EXPECT_EQ(requests[0].body, Bytes("\0\r\n\xFF", 4));
  EXPECT_EQ(requests[0].header("authorization"), "Bearer abc");
  EXPECT_EQ(requests[0].header("x-empty"), "");
  EXPECT_EQ(requests[0].header("content-type"), "text/plain");
}

TEST_F(HttpCallsTest, ALineEndInAnythingSplitsNoHeader) {
  const std::string evil = "x\r\nInjected: yes\r\n\r\nGET /evil HTTP/1.1\r\n";
  auto parts = test::make_parts(ConsumerNumber{1}, evil, "{}");
  parts.content_type = evil;
  parts.headers = {{"ce-id", evil}, {"traceparent", "a\nInjected: yes"}, {"ce-a\r\nInjected", "v"}};
  spec_.consumer = evil;
  auto call = std::make_unique<Call>(Message(std::move(parts)));
  call->attempt.position = evil;
  handler()(call->message, call->attempt, Completion([raw = call.get()](auto verdict) {
              raw->promise.set_value(std::move(verdict));
            }));
  EXPECT_EQ(call->verdict().kind(), Kind::kDone);
  const auto requests = server_.requests();
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_EQ(requests[0].header("injected"), "(none)");
  EXPECT_EQ(requests[0].header("traceparent"), "a%0AInjected: yes");
  EXPECT_EQ(requests[0].body, "{}");
}

TEST_F(HttpCallsTest, AConnectionServesManyCalls) {
  for (int i = 0; i < 20; ++i) EXPECT_EQ(call().kind(), Kind::kDone);
  EXPECT_EQ(server_.requests().size(), 20U);
  EXPECT_EQ(server_.connections(), 1U);
}

TEST_F(HttpCallsTest, HundredsAreInFlightAtATime) {
  constexpr std::size_t kCalls = 500;
  // No request is answered before all have arrived.
  HttpReply all_together = test::reply(200, "ok");
  all_together.after_requests = kCalls;
  server_.on("/send", all_together);
  std::vector<std::unique_ptr<Call>> calls;
  for (std::size_t i = 0; i < kCalls; ++i) calls.push_back(begin(fmt::format("k-{}", i)));
  ASSERT_TRUE(server_.wait_requests(kCalls));
  for (auto& each : calls) EXPECT_EQ(each->verdict().kind(), Kind::kDone);
  EXPECT_EQ(server_.connections(), kCalls);
  std::set<std::string> keys;
  for (const auto& request : server_.requests()) keys.insert(request.header("idempotency-key"));
  EXPECT_EQ(keys.size(), kCalls) << "each key once";
  // Most connections that were opened are kept for the next calls.
  const auto before = server_.connections();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(call().kind(), Kind::kDone);
  EXPECT_EQ(server_.connections(), before);
}

TEST_F(HttpCallsTest, AStopEndsTheCallAtOnce) {
  server_.on("/send", test::raw("", HttpReply::Then::kHang));
  auto stopped = begin("stopped");
  auto other = begin("other");
  ASSERT_TRUE(server_.wait_requests(2));
  stopped->stop.request_stop();
  const Verdict verdict = stopped->verdict();
  EXPECT_EQ(verdict.kind(), Kind::kRetry);
  EXPECT_TRUE(verdict.unknown());
  EXPECT_EQ(verdict.code(), reason::kHandlerTimeout);
  EXPECT_NE(verdict.reason().find("stopped"), std::string::npos);
  ASSERT_TRUE(server_.wait_closed_by_peer(1)) << "its connection is closed";
  EXPECT_FALSE(other->over());
  other->stop.request_stop();
  EXPECT_TRUE(other->verdict().unknown());
}

TEST_F(HttpCallsTest, AStopBeforeTheCallAndOneAfterIt) {
  auto call = std::make_unique<Call>(test::make_message(ConsumerNumber{1}, "k"));
  call->stop.request_stop();
  call->attempt.stop = call->stop.get_token();
  handler()(call->message, call->attempt, Completion([raw = call.get()](auto verdict) {
              raw->promise.set_value(std::move(verdict));
            }));
  EXPECT_EQ(call->verdict().code(), reason::kHandlerTimeout);
  auto done = begin();
  EXPECT_EQ(done->verdict().kind(), Kind::kDone);
  done->stop.request_stop();
  EXPECT_EQ(HttpCalls::call().kind(), Kind::kDone) << "a late stop hits no other call";
}

TEST_F(HttpCallsTest, StopsFromManyThreadsWhileAnswersCome) {
  std::vector<std::unique_ptr<Call>> calls;
  for (int i = 0; i < 200; ++i) calls.push_back(begin(fmt::format("k-{}", i)));
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = t; i < calls.size(); i += 4) calls[i]->stop.request_stop();
    });
  }
  for (auto& thread : threads) thread.join();
  for (auto& each : calls) {
    const Verdict verdict = each->verdict();
    EXPECT_TRUE(verdict.kind() == Kind::kDone || verdict.code() == reason::kHandlerTimeout);
  }
}

TEST_F(HttpCallsTest, WhatIsInFlightWhenTheHandlerGoesIsAnswered) {
  server_.on("/send", test::raw("", HttpReply::Then::kHang));
  std::vector<std::unique_ptr<Call>> calls;
  for (int i = 0; i < 50; ++i) calls.push_back(begin());
  ASSERT_TRUE(server_.wait_requests(calls.size()));
  forget_handler();
  for (auto& each : calls) {
    ASSERT_TRUE(each->over()) << "answered before the destructor returned";
    const Verdict verdict = each->verdict();
    EXPECT_EQ(verdict.kind(), Kind::kRetry);
    EXPECT_TRUE(verdict.unknown());
    EXPECT_NE(verdict.reason().find("the handler ended"), std::string::npos);
  }
}

TEST_F(HttpCallsTest, ACompletionMayBeginTheNextCall) {
  auto second = std::make_unique<Call>(test::make_message(ConsumerNumber{1}, "second"));
  auto first = std::make_unique<Call>(test::make_message(ConsumerNumber{1}, "first"));
  handler()(first->message, first->attempt, Completion([&](auto verdict) {
              handler()(second->message, second->attempt,
                        Completion([&](auto next) { second->promise.set_value(std::move(next)); }));
              first->promise.set_value(std::move(verdict));
            }));
  EXPECT_EQ(first->verdict().kind(), Kind::kDone);
  EXPECT_EQ(second->verdict().kind(), Kind::kDone);
}

TEST_F(HttpCallsTest, AProxyOfTheEnvironmentIsUsed) {
  const test::SetVariable without("no_proxy", std::nullopt);
  const test::SetVariable proxy("http_proxy", server_.url(""));
  spec_.url = "http://semel.invalid/send";
  EXPECT_EQ(call().kind(), Kind::kDone);
  const auto requests = server_.requests();
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_EQ(requests[0].target, "http://semel.invalid/send");
}

class HttpTlsTest : public HttpCalls {
 protected:
  HttpTlsTest() : tls_server_(&identity_) {
    test::write_file(folder_.file("ca.pem"), identity_.certificate());
    spec_.url = tls_server_.url("/send");
  }
  test::TempDir folder_;
  test::TlsIdentity identity_;
  HttpServer tls_server_;
};

TEST_F(HttpTlsTest, IsTrustedByItsOwnAuthorityAndUsedAgain) {
  spec_.ca_file = folder_.file("ca.pem");
  tls_server_.on("/send", test::reply(201, "made"));
  for (int i = 0; i < 10; ++i) EXPECT_EQ(call().result(), "made");
  EXPECT_EQ(tls_server_.connections(), 1U);
}

TEST_F(HttpTlsTest, AnUnknownAuthorityIsNotTrusted) {
  const Verdict verdict = call();
  EXPECT_EQ(verdict.kind(), Kind::kRetry);
  EXPECT_EQ(verdict.code(), "handler.http.connect");
  EXPECT_FALSE(verdict.unknown());
  EXPECT_FALSE(verdict.counted());
  EXPECT_TRUE(tls_server_.requests().empty());
  ASSERT_EQ(gate_.told().size(), 1U);
  EXPECT_TRUE(gate_.told()[0].starts_with("shut 1000 ")) << gate_.told()[0];
}

TEST_F(HttpTlsTest, AnotherNameIsNotTrusted) {
  const test::TlsIdentity other("DNS:example.com");
  HttpServer server(&other);
  test::write_file(folder_.file("other.pem"), other.certificate());
  spec_.ca_file = folder_.file("other.pem");
  spec_.url = server.url("/send");
  EXPECT_EQ(call().code(), "handler.http.connect");
  EXPECT_TRUE(server.requests().empty());
}

TEST_F(HttpTlsTest, ManyCallsAtATime) {
  spec_.ca_file = folder_.file("ca.pem");
  HttpReply all_together = test::reply(200, "ok");
  all_together.after_requests = 50;
  tls_server_.on("/send", all_together);
  std::vector<std::unique_ptr<Call>> calls;
  for (int i = 0; i < 50; ++i) calls.push_back(begin(fmt::format("k-{}", i)));
  for (auto& each : calls) EXPECT_EQ(each->verdict().kind(), Kind::kDone);
}

TEST_F(HttpTlsTest, RubbishInPlaceOfAHandshake) {
  server_.greet(test::raw("SSH-2.0-OpenSSH_9.2\r\n"));
  spec_.url = fmt::format("https://127.0.0.1:{}/", server_.port());
  const Verdict verdict = call();
  EXPECT_EQ(verdict.code(), "handler.http.connect");
  EXPECT_FALSE(verdict.unknown());
}

}  // namespace
}  // namespace semel::handlers
