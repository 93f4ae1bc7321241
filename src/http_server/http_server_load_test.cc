// Many connections at once.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "http_server/http_server.h"
#include "system/descriptor.h"
#include "tests/support/http_get.h"
#include "tests/support/waiting.h"

namespace semel::http {
namespace {

// The HTTP library asks for 128 events at once. Where it gets as many, its own thread waits for
// more before it looks at them.
TEST(HttpServerLoadTest, AsManyRequestsAsTheLibraryTakesAtOnceAreAnswered) {
  constexpr std::size_t kClients = 128;
  constexpr std::string_view kRequest = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
  std::promise<void> begun, go;
  const auto goes = go.get_future().share();
  HttpServerOptions options;
  options.listen = {"127.0.0.1", 0};
  options.idle = std::chrono::minutes(10);
  auto opened = HttpServer::open(std::move(options), [&](const HttpRequest& request) -> HttpReply {
    if (request.path != "/first") return HttpResponse{200, "text/plain", "yes", {}};
    begun.set_value();
    goes.wait();
    return HttpResponse{};
  });
  ASSERT_TRUE(opened);
  const HttpServer& server = **opened;
  std::vector<system::Descriptor> clients;
  for (std::size_t i = 0; i < kClients; ++i) clients.push_back(test::http_sent(server.port(), ""));
  ASSERT_TRUE(test::comes_true([&] { return server.connections() == kClients; }));
  const auto first = test::http_sent(server.port(), "GET /first HTTP/1.1\r\nHost: a\r\n\r\n");
  begun.get_future().wait();
  for (const auto& client : clients) {
    ASSERT_GT(::send(client.get(), kRequest.data(), kRequest.size(), MSG_NOSIGNAL), 0);
  }
  go.set_value();
  for (const auto& client : clients) {
    ASSERT_EQ(test::http_answer(test::http_rest(client)).body, "yes");
  }
}

// The library listens again when one has gone.
TEST(HttpServerLoadTest, BeyondTheLimitAConnectionWaitsUntilOneHasGone) {
  HttpServerOptions options;
  options.listen = {"127.0.0.1", 0};
  options.most_connections = 1;
  auto opened = HttpServer::open(std::move(options), [](const HttpRequest&) -> HttpReply {
    return HttpResponse{200, "text/plain", "yes", {}};
  });
  ASSERT_TRUE(opened);
  const HttpServer& server = **opened;
  constexpr const char* kRequest = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
  const auto first = test::http_sent(server.port(), "");
  ASSERT_TRUE(test::comes_true([&] { return server.connections() == 1; }));
  std::vector<system::Descriptor> others;
  for (int i = 0; i < 3; ++i) others.push_back(test::http_sent(server.port(), kRequest));
  ASSERT_GT(::send(first.get(), kRequest, std::string_view(kRequest).size(), MSG_NOSIGNAL), 0);
  EXPECT_EQ(test::http_answer(test::http_rest(first)).body, "yes");
  for (const auto& other : others) {
    EXPECT_EQ(test::http_answer(test::http_rest(other)).body, "yes");
  }
}

}  // namespace
}  // namespace semel::http
