#include "clients/curl/transfers.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/http_server.h"
#include "tests/support/server_address.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tls.h"

namespace semel::curl {
namespace {

using namespace std::chrono_literals;

Request to(const test::HttpServer& server, const std::string& path = "/") {
  Request made;
  made.url = server.url(path);
  made.through_proxy = false;
  return made;
}

TEST(CurlTransfers, ManyAreUnderWayAtATime) {
  test::HttpServer server;
  server.on("/slow", [](const test::HttpRequest&, std::size_t) {
    auto answer = test::reply(200, "slow");
    answer.after_requests = 3;
    return answer;
  });
  server.on("/", test::reply(404, "no", "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"));
  Transfers transfers;
  std::vector<std::string> said;
  transfers.begin(to(server, "/slow"), [&](Answered answer) { said.push_back(answer->body); });
  for (int i = 0; i < 2; ++i) {
    transfers.begin(to(server), [&](Answered answer) {
      EXPECT_EQ(answer->status, 404);
      ASSERT_TRUE(answer->date.has_value());
      EXPECT_EQ(std::chrono::system_clock::to_time_t(*answer->date), 784'111'777);
      said.push_back(answer->body);
    });
  }
  while (transfers.running() > 0) transfers.run(1s);
  // The slow request is answered only after the others have arrived.
  std::ranges::sort(said);
  EXPECT_EQ(said, (std::vector<std::string>{"no", "no", "slow"}));
}

TEST(CurlTransfers, ARequestIsSentAsItIs) {
  test::HttpServer server;
  Request request = to(server, "/here");
  request.method = "PUT";
  request.headers = {{"X-One", "1"}, {"X-Empty", ""}};
  request.body = std::string("a\0b", 3);
  EXPECT_EQ(fetch(request)->status, 200);
  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_EQ(requests[0].method, "PUT");
  EXPECT_EQ(requests[0].header("x-one"), "1");
  EXPECT_EQ(requests[0].header("x-empty"), "");
  EXPECT_EQ(requests[0].header("content-type"), "(none)");
  EXPECT_EQ(requests[0].header("expect"), "(none)");
  EXPECT_EQ(requests[0].body, request.body);
}

TEST(CurlTransfers, NoWholeAnswerIsAnError) {
  test::HttpServer server;
  server.on("/cut", test::raw("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"));
  const auto cut = fetch(to(server, "/cut"));
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().kind, ErrorKind::kInDoubt);
  server.on("/late", test::raw("", test::HttpReply::Then::kHang));
  Request late = to(server, "/late");
  late.timeout = 50ms;
  EXPECT_EQ(fetch(late).error().kind, ErrorKind::kInDoubt);
  Request nobody;
  nobody.url = fmt::format("http://127.0.0.1:{}/", test::free_port());
  EXPECT_EQ(fetch(nobody).error().kind, ErrorKind::kUnavailable) << "it was not sent";
  Request none;
  none.url = "gopher://h/";
  EXPECT_EQ(fetch(none).error().kind, ErrorKind::kRejected);
}

// On a reused connection libcurl would repeat the request by itself, and return the second answer.
TEST(CurlTransfers, ARequestWhoseAnswerIsLostIsNotRepeated) {
  for (const char* method : {"POST", "GET"}) {
    test::HttpServer server;
    server.on("/", [](const test::HttpRequest&, std::size_t times) {
      return times == 1 ? test::raw("") : test::reply(200);
    });
    Transfers transfers;
    std::vector<Answered> answers;
    const auto call = [&] {
      Request request = to(server);
      request.method = method;
      transfers.begin(std::move(request),
                      [&](Answered told) { answers.push_back(std::move(told)); });
      while (transfers.running() > 0) transfers.run(1s);
    };
    call();
    call();
    const auto requests = server.requests();
    ASSERT_EQ(requests.size(), 2U) << method << " arrived again";
    EXPECT_EQ(requests[0].connection, requests[1].connection) << "the connection must be reused";
    ASSERT_TRUE(answers[0]);
    ASSERT_FALSE(answers[1]);
    EXPECT_EQ(answers[1].error().kind, ErrorKind::kInDoubt);
    EXPECT_EQ(answers[1].error().message, "the connection was closed without an answer");
    call();
    EXPECT_TRUE(answers[2]) << "the next request has a connection of its own";
  }
}

TEST(CurlTransfers, ACertificateHasToBeTrusted) {
  const test::TlsIdentity identity("DNS:localhost");
  const test::HttpServer server(&identity);
  Request request;
  request.url = "https://localhost:" + std::to_string(server.port()) + "/";
  request.through_proxy = false;
  EXPECT_EQ(fetch(request).error().kind, ErrorKind::kRejected);
  const test::TempDir folder;
  request.ca_file = folder.file("ca.pem");
  test::write_file(request.ca_file, identity.certificate());
  const auto trusted = fetch(request);
  ASSERT_TRUE(trusted) << trusted.error().message;
  EXPECT_EQ(trusted->status, 200);
}

// libcurl refuses a negative timeout: one of the ways in which it fails as a whole.
TEST(CurlTransfers, WhereLibcurlFailsWhatIsUnderWayEnds) {
  test::HttpServer server;
  server.on("/", test::raw("", test::HttpReply::Then::kHang));
  Transfers transfers;
  std::vector<Error> ended;
  for (int i = 0; i < 2; ++i) {
    transfers.begin(to(server), [&](const Answered& answer) {
      if (!answer) ended.push_back(answer.error());
    });
  }
  transfers.run(-1ms);
  ASSERT_EQ(ended.size(), 2U);
  EXPECT_NE(ended[0].kind, ErrorKind::kRejected);
  EXPECT_FALSE(ended[0].message.empty());
  EXPECT_EQ(transfers.running(), 0U);
}

TEST(CurlTransfers, OneThatIsGivenUpSaysNothing) {
  test::HttpServer server;
  server.on("/never", test::raw("", test::HttpReply::Then::kHang));
  Transfers transfers;
  bool said = false;
  const auto id = transfers.begin(to(server, "/never"), [&](const Answered&) { said = true; });
  transfers.run(10ms);
  transfers.give_up(id);
  EXPECT_EQ(transfers.running(), 0U);
  transfers.begin(to(server), [&](const Answered& answer) { EXPECT_TRUE(answer); });
  while (transfers.running() > 0) transfers.run(1s);
  EXPECT_FALSE(said);
}

}  // namespace
}  // namespace semel::curl
