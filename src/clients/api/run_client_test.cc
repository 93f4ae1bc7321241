// Tests the client against a server: what it sends, and each way in which an answer can fail.
#include "clients/api/run_client.h"

#include <gtest/gtest.h>

#include "tests/support/http_server.h"
#include "tests/support/server_address.h"
#include "tests/support/set_variable.h"
#include "tests/support/tls.h"

namespace semel::api_client {
namespace {

using test::HttpReply;
using test::HttpServer;

constexpr const char* kDocument = R"({"schema":"semel.v1.consumers","consumers":[]})";
constexpr const char* kIsJson = "Content-Type: application/json\r\n";

std::unique_ptr<RunClient> client_of(const std::string& url, const std::string& ca_file = {}) {
  auto client = RunClient::create({RunUrl::parse(url).value(), "the token", ca_file});
  EXPECT_TRUE(client);
  return client ? *std::move(client) : nullptr;
}

TEST(RunClient, AsksWithTheTokenOnOneConnection) {
  HttpServer server;
  server.on("/prefix/api/v1/consumers", test::reply(200, kDocument, kIsJson));
  const auto client = client_of(server.url("/prefix/"));
  for (int i = 0; i < 2; ++i) {
    const auto document = client->get("consumers");
    ASSERT_TRUE(document) << document.error().message;
    EXPECT_EQ(*document, kDocument);
  }
  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 2U);
  EXPECT_EQ(requests[0].method, "GET");
  EXPECT_EQ(requests[0].header("authorization"), "Bearer the token");
  EXPECT_EQ(server.connections(), 1U);
}

TEST(RunClient, WritesJson) {
  HttpServer server;
  server.on("/api/v1/dead-letters/7/replay", test::reply(200, kDocument, kIsJson));
  const auto client = client_of(server.url("/"));
  ASSERT_TRUE(client->post("dead-letters/7/replay", R"({"reason":"x"})"));
  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_EQ(requests[0].method, "POST");
  EXPECT_EQ(requests[0].header("content-type"), "application/json");
  EXPECT_EQ(requests[0].body, R"({"reason":"x"})");
}

TEST(RunClient, APathIsSentAsItIsWritten) {
  HttpServer server;
  const std::string path = "consumers/payments/records/" + path_part("..") + "/unlock";
  server.on("/api/v1/" + path, test::reply(200, kDocument, kIsJson));
  ASSERT_TRUE(client_of(server.url("/"))->post(path, "{}"));
  EXPECT_EQ(server.requests().front().target, "/api/v1/" + path);
}

TEST(RunClient, WhoAsksTooOftenAsksAgain) {
  HttpServer server;
  server.on("/api/v1/jobs", [](const test::HttpRequest&, std::size_t times) {
    return times == 0 ? test::reply(429, "{}", "Content-Type: application/problem+json\r\n")
                      : test::reply(200, kDocument, kIsJson);
  });
  EXPECT_TRUE(client_of(server.url("/"))->get("jobs"));
  EXPECT_EQ(server.requests().size(), 2U);
}

TEST(RunClient, AProxyNeverSeesAClearTextRequest) {
  HttpServer proxy, server;
  server.on("/api/v1/consumers", test::reply(200, kDocument, kIsJson));
  proxy.on(server.url("/api/v1/consumers"), test::reply(200, kDocument, kIsJson));
  const test::SetVariable http("http_proxy", proxy.url("/"));
  const test::SetVariable all("all_proxy", proxy.url("/"));
  const test::SetVariable none("no_proxy", std::nullopt);
  const test::SetVariable none_upper("NO_PROXY", std::nullopt);
  EXPECT_TRUE(client_of(server.url("/"))->get("consumers"));
  EXPECT_EQ(server.requests().size(), 1U);
  EXPECT_EQ(proxy.connections(), 0U) << "the token would be there";
}

TEST(RunClient, NobodyThereIsUnavailable) {
  const auto client = client_of("http://127.0.0.1:" + std::to_string(test::free_port()));
  const auto document = client->get("consumers");
  ASSERT_FALSE(document);
  EXPECT_EQ(document.error().code, "R360");
  EXPECT_EQ(document.error().kind, ErrorKind::kUnavailable);
}

TEST(RunClient, AWriteWithoutAnAnswerIsInDoubt) {
  HttpServer server;
  server.on("/api/v1/dead-letters/7/replay", test::raw("", HttpReply::Then::kClose));
  const auto client = client_of(server.url("/"));
  const auto written = client->post("dead-letters/7/replay", "{}");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().kind, ErrorKind::kInDoubt) << written.error().message;
  EXPECT_EQ(server.requests().size(), 1U) << "never sent twice";
}

TEST(RunClient, ACertificateIsVerified) {
  const test::TlsIdentity identity;
  const test::TlsFiles files;
  files.write("ca.pem", identity.certificate());
  HttpServer server(&identity);
  server.on("/api/v1/consumers", test::reply(200, kDocument, kIsJson));
  EXPECT_TRUE(client_of(server.url("/"), files.file("ca.pem"))->get("consumers"));
  const auto unknown = client_of(server.url("/"))->get("consumers");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, "R360");
  EXPECT_NE(unknown.error().hint.find("--ca-file"), std::string::npos) << unknown.error().message;
  const auto no_file = client_of(server.url("/"), files.file("none.pem"))->get("consumers");
  ASSERT_FALSE(no_file);
  EXPECT_EQ(no_file.error().code, "R361");
  const std::string url = server.url("/");
  const auto plain = client_of("http" + url.substr(5))->get("consumers");
  ASSERT_FALSE(plain);
  EXPECT_EQ(plain.error().code, "R360");
}

}  // namespace
}  // namespace semel::api_client
