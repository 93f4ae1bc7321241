#include "admin/http_server.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <utility>

#include "tests/support/http_get.h"

namespace semel::admin {
namespace {

std::unique_ptr<HttpServer> open(HttpHandler handler, HttpServerOptions options = {}) {
  options.listen = {"127.0.0.1", 0};
  auto server = HttpServer::open(std::move(options), std::move(handler));
  EXPECT_TRUE(server) << server.error().message;
  return server ? std::move(*server) : nullptr;
}

HttpResponse echo(const HttpRequest& request) {
  const std::string agent(request.header("user-agent").value_or("nobody"));
  return {200,
          "text/plain",
          std::string(request.method) + " " + std::string(request.path) + " " + agent,
          {{"X-One", "1"}}};
}

TEST(HttpServerTest, AnswersByItsHandler) {
  const auto server = open(echo);
  const auto answer = test::http_get(server->port(), "/a/b?c=d", {"User-Agent: me"});
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "GET /a/b me");
  EXPECT_EQ(answer.header("Content-Type"), "text/plain");
  EXPECT_EQ(answer.header("X-One"), "1");
}

TEST(HttpServerTest, AnswersHeadWithoutABody) {
  const auto server = open(echo);
  const auto answer = test::http_get(server->port(), "/", {}, "HEAD");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "");
}

TEST(HttpServerTest, AHandlerThatThrowsIsAnInternalError) {
  const auto server =
      open([](const HttpRequest&) -> HttpResponse { throw std::runtime_error("no"); });
  EXPECT_EQ(test::http_get(server->port(), "/").status, 500);
  EXPECT_EQ(test::http_get(server->port(), "/").status, 500) << "it goes on";
}

TEST(HttpServerTest, ABodyIsPassedOver) {
  const auto server = open(echo);
  const std::string answer = test::http_raw(
      server->port(),
      "POST /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello");
  EXPECT_NE(answer.find("POST /x nobody"), std::string::npos) << answer;
}

TEST(HttpServerTest, RefusesHeadersThatAreTooLarge) {
  const auto server = open(echo);
  const auto answer =
      test::http_get(server->port(), "/", {"X-Large: " + std::string(64 << 10, 'x')});
  EXPECT_GE(answer.status, 400);
  EXPECT_EQ(test::http_get(server->port(), "/").status, 200);
}

TEST(HttpServerTest, SurvivesWhatIsNoHttp) {
  const auto server = open(echo);
  for (const char* bytes : {"\r\n\r\n", "GET\r\n\r\n", "\x16\x03\x01\x02", "GET / HTTP/9.9\r\n\r\n",
                            "GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n"}) {
    const std::string sent = std::string(bytes) + "GET / HTTP/1.1\r\nConnection: close\r\n\r\n";
    (void)test::http_raw(server->port(), sent);
  }
  EXPECT_EQ(test::http_get(server->port(), "/").status, 200);
}

TEST(HttpServerTest, AnAddressInUseIsNamed) {
  const auto first = open(echo);
  const auto second = HttpServer::open({.listen = {"127.0.0.1", first->port()}}, echo);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, "R340");
  EXPECT_EQ(second.error().kind, ErrorKind::kUnavailable);
  EXPECT_NE(second.error().message.find(std::to_string(first->port())), std::string::npos);
}

TEST(HttpServerTest, AnAddressOfAnotherMachineIsRefused) {
  const auto server = HttpServer::open({.listen = {"192.0.2.1", 0}}, echo);
  ASSERT_FALSE(server);
  EXPECT_EQ(server.error().code, "R340");
  EXPECT_EQ(server.error().kind, ErrorKind::kRejected);
}

TEST(HttpServerTest, ListensOnEveryInterface) {
  const auto server = HttpServer::open({.listen = {"", 0}}, echo);
  ASSERT_TRUE(server) << server.error().message;
  EXPECT_EQ(test::http_get((*server)->port(), "/").status, 200);
}

}  // namespace
}  // namespace semel::admin
