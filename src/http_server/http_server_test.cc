#include "http_server/http_server.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tests/support/http_get.h"
#include "tests/support/waiting.h"

namespace semel::http {
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
          std::string(request.method) + " " + std::string(request.path) + " " + agent +
              (request.body.empty() ? "" : " " + std::string(request.body)),
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

TEST(HttpServerTest, ABodyIsHandedOver) {
  const auto server = open(echo);
  const std::string answer = test::http_raw(
      server->port(),
      "POST /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello");
  EXPECT_NE(answer.find("POST /x nobody hello"), std::string::npos) << answer;
}

TEST(HttpServerTest, RefusesABodyThatIsTooLarge) {
  HttpServerOptions options;
  options.most_body_bytes = 4;
  const auto server = open(echo, std::move(options));
  const std::string head = "POST /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n";
  EXPECT_TRUE(test::http_raw(server->port(), head + "Content-Length: 5\r\n\r\nhello")
                  .starts_with("HTTP/1.1 413"));
  const std::string chunked = "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
  EXPECT_EQ(test::http_raw(server->port(), head + chunked).find("200 OK"), std::string::npos);
  EXPECT_NE(test::http_raw(server->port(), head + "Content-Length: 4\r\n\r\nhell").find("hell"),
            std::string::npos);
}

TEST(HttpServerTest, TheQueryIsUnescapedAndThePathIsNot) {
  const auto server = open([](const HttpRequest& request) -> HttpReply {
    std::string said(request.path);
    const auto query = request.query();
    if (!query) return HttpResponse{400, "text/plain", "no", {}};
    for (const auto& [name, value] : *query) said += " " + name + "=" + value;
    return HttpResponse{200, "text/plain", said, {}};
  });
  EXPECT_EQ(test::http_get(server->port(), "/a%2Fb?c=d%26+e&f&g=").body, "/a%2Fb c=d& e f= g=");
  EXPECT_EQ(test::http_get(server->port(), "/a?b=%2").status, 400);
}

// A task that never ends keeps neither another request nor its own client waiting.
TEST(HttpServerTest, ATaskHoldsUpNobody) {
  std::promise<void> go;
  const auto end = go.get_future().share();
  const auto server = open([end](const HttpRequest& request) -> HttpReply {
    if (request.path == "/quick") return HttpResponse{200, "text/plain", "quick", {}};
    HttpTask task;
    // Even the short one is long enough for a thread to begin the task.
    task.patience = std::chrono::milliseconds(request.path == "/late" ? 3'000 : 60'000);
    task.refused = {503, "text/plain", "refused", {}};
    task.late = {504, "text/plain", "late", {}};
    task.run = [end, waits = request.path == "/late"]() -> HttpResponse {
      if (waits) end.wait();
      return {200, "text/plain", "done", {}};
    };
    return task;
  });
  EXPECT_EQ(test::http_get(server->port(), "/late").body, "late");
  EXPECT_EQ(test::http_get(server->port(), "/quick").body, "quick");
  EXPECT_EQ(test::http_get(server->port(), "/task").body, "done");
  go.set_value();
}

TEST(HttpServerTest, EndsWhileAConnectionIsPutAside) {
  std::promise<void> begun;
  auto server = open([&](const HttpRequest&) -> HttpReply {
    HttpTask task;
    task.patience = std::chrono::milliseconds(60'000);
    task.run = [&begun]() -> HttpResponse {
      begun.set_value();
      return {200, "text/plain", "done", {}};
    };
    return task;
  });
  const std::uint16_t port = server->port();
  std::thread client([port] { (void)test::http_get(port, "/"); });
  begun.get_future().wait();
  server.reset();
  client.join();
}

// Nobody who asks knows when it ends.
TEST(HttpServerTest, EndsWhileOthersAsk) {
  for (int round = 0; round < 5; ++round) {
    std::atomic<int> answered{0};
    auto server = open([&](const HttpRequest&) -> HttpReply {
      HttpTask task;
      task.patience = std::chrono::milliseconds(60'000);
      task.refused = {503, "text/plain", "refused", {}};
      task.run = [&answered]() -> HttpResponse {
        ++answered;
        return {200, "text/plain", "done", {}};
      };
      return task;
    });
    const std::uint16_t port = server->port();
    std::atomic<bool> over{false};
    std::vector<std::thread> clients;
    for (int i = 0; i < 4; ++i) {
      clients.emplace_back([&over, port] {
        while (!over) (void)test::http_get(port, "/");
      });
    }
    EXPECT_TRUE(test::comes_true([&] { return answered > 8; }));
    server.reset();
    over = true;
    for (std::thread& client : clients) client.join();
  }
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

// The HTTP library sees no body in these, and would take it for the next request.
TEST(HttpServerTest, NothingIsReadAfterAHeadThatDoesNotSayWhereItEnds) {
  std::atomic<int> handled = 0;
  const auto server = open([&](const HttpRequest& request) -> HttpReply {
    ++handled;
    return echo(request);
  });
  const std::string hidden = "GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n";
  for (const char* framing : {"Content-Length : 41\r\n", "Content-Length: 0\r\nHost: b\r\n",
                              "Transfer-Encoding\t: chunked\r\n"}) {
    for (const char* method : {"GET", "POST"}) {
      const std::string answer = test::http_raw(
          server->port(),
          fmt::format("{} / HTTP/1.1\r\nHost: a\r\n{}\r\n{}", method, framing, hidden));
      EXPECT_TRUE(answer.starts_with("HTTP/1.1 400 ")) << answer;
      EXPECT_EQ(answer.find("HTTP/1.1", 1), std::string::npos) << answer;
    }
  }
  EXPECT_EQ(handled, 0);
}

// Thousands may be open: nothing but the connection is held for one.
TEST(HttpServerTest, AnAnswerMayComeFromElsewhere) {
  std::mutex mutex;
  std::vector<std::shared_ptr<HttpResponder>> open_ones;
  auto server = open([&](const HttpRequest&) -> HttpReply {
    return HttpPending{[&](std::shared_ptr<HttpResponder> responder) {
      const std::scoped_lock lock(mutex);
      open_ones.push_back(std::move(responder));
    }};
  });
  constexpr std::size_t kClients = 20;
  std::vector<std::future<std::string>> answers;
  for (std::size_t i = 0; i < kClients; ++i) {
    answers.push_back(std::async(
        std::launch::async, [port = server->port()] { return test::http_get(port, "/").body; }));
  }
  ASSERT_TRUE(test::comes_true([&] {
    const std::scoped_lock lock(mutex);
    return open_ones.size() == kClients;
  }));
  for (const auto& responder : open_ones) {
    responder->answer({200, "text/plain", "later", {}});
    responder->answer({500, "text/plain", "twice", {}});
  }
  for (auto& answer : answers) EXPECT_EQ(answer.get(), "later");
  auto late =
      std::async(std::launch::async, [port = server->port()] { (void)test::http_get(port, "/"); });
  ASSERT_TRUE(test::comes_true([&] {
    const std::scoped_lock lock(mutex);
    return open_ones.size() == kClients + 1;
  }));
  server.reset();
  late.wait();
  open_ones.back()->answer({200, "text/plain", "nobody", {}});
}

TEST(HttpServerTest, AnAnswerMayBeThereAtOnce) {
  const auto server = open([](const HttpRequest&) -> HttpReply {
    return HttpPending{[](const std::shared_ptr<HttpResponder>& responder) {
      responder->answer({200, "text/plain", "now", {}});
    }};
  });
  EXPECT_EQ(test::http_get(server->port(), "/").body, "now");
  const auto broken = open([](const HttpRequest&) -> HttpReply {
    return HttpPending{
        [](const std::shared_ptr<HttpResponder>&) { throw std::runtime_error("no"); }};
  });
  EXPECT_EQ(test::http_get(broken->port(), "/").status, 500);
}

TEST(HttpServerTest, ARequestThatDoesNotComeWholeIsCutOff) {
  HttpServerOptions options;
  options.receive = std::chrono::seconds(1);
  const auto server = open(echo, std::move(options));
  const std::string head = "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n";
  EXPECT_TRUE(test::http_raw(server->port(), head).starts_with("HTTP/1.1 408")) << "its headers";
  EXPECT_TRUE(test::http_raw(server->port(), head + "\r\nhel").starts_with("HTTP/1.1 408"));
  EXPECT_EQ(test::http_get(server->port(), "/").status, 200);
}

TEST(HttpServerTest, AConnectionWithoutARequestIsClosed) {
  HttpServerOptions options;
  options.idle = std::chrono::seconds(1);
  const auto server = open(echo, std::move(options));
  EXPECT_EQ(test::http_raw(server->port(), ""), "");
  EXPECT_EQ(test::http_raw(server->port(), "GE"), "") << "a line that never ends is none";
  EXPECT_NE(test::http_raw(server->port(), "GET / HTTP/1.1\r\nHost: a\r\n\r\n"), "")
      << "it is closed after its answer";
}

TEST(HttpServerTest, WhatIsNotAdmittedSendsNoBody) {
  HttpServerOptions options;
  options.admit = [](const HttpRequest& request) -> std::optional<HttpResponse> {
    if (request.path == "/in") return std::nullopt;
    return HttpResponse{404, "text/plain", "no", {}};
  };
  const auto server = open(echo, std::move(options));
  const std::string rest = " HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 5\r\n\r\n";
  EXPECT_TRUE(test::http_raw(server->port(), "POST /out" + rest).starts_with("HTTP/1.1 404"))
      << "though its body never comes";
  EXPECT_TRUE(
      test::http_raw(server->port(), "POST /in" + rest + "hello").starts_with("HTTP/1.1 200"));
}

TEST(HttpServerTest, ACloseWaitsForThoseWhoAreAnswered) {
  std::promise<std::shared_ptr<HttpResponder>> come;
  auto server = open([&](const HttpRequest&) -> HttpReply {
    return HttpPending{
        [&](std::shared_ptr<HttpResponder> responder) { come.set_value(std::move(responder)); }};
  });
  const std::uint16_t port = server->port();
  auto answer = std::async(std::launch::async, [port] { return test::http_get(port, "/").body; });
  const auto responder = come.get_future().get();
  auto closed =
      std::async(std::launch::async, [&] { server->close(std::chrono::milliseconds(60'000)); });
  responder->answer({200, "text/plain", "last", {}});
  closed.wait();
  server.reset();
  EXPECT_EQ(answer.get(), "last");
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
}  // namespace semel::http
