#include "clients/sqs/client.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "tests/support/http_server.h"
#include "tests/support/set_variable.h"

namespace semel::sqs {
namespace {

using namespace std::chrono_literals;
using test::HttpRequest;
using test::HttpServer;

core::SqsAccess access_at(const HttpServer& server) {
  core::SqsAccess access;
  access.queue = core::read_sqs_url(server.url("/0/orders")).value();
  access.region = "eu-west-1";
  access.keys = {"AKIDEXAMPLE", "secret", "token"};
  return access;
}

TEST(SqsClient, ACallIsSignedAsItIsSent) {
  HttpServer server;
  server.on("/", test::reply(200, "{\"ok\":true}"));
  const core::SqsAccess access = access_at(server);
  Client client(access);
  const auto answer = ask(client, "ReceiveMessage", "{}", 10s);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(*answer, "{\"ok\":true}");
  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 1U);
  const HttpRequest& sent = requests[0];
  EXPECT_EQ(sent.method, "POST");
  EXPECT_EQ(sent.target, "/");
  EXPECT_EQ(sent.header("host"), access.queue.host) << "with its port";
  EXPECT_EQ(sent.header("content-type"), "application/x-amz-json-1.0");
  EXPECT_EQ(sent.header("x-amz-target"), "AmazonSQS.ReceiveMessage");
  EXPECT_EQ(sent.header("x-amz-security-token"), "token");
  const std::string signature = sent.header("authorization");
  EXPECT_NE(signature.find("/eu-west-1/sqs/aws4_request"), std::string::npos) << signature;
  EXPECT_NE(signature.find("SignedHeaders=content-type;host;x-amz-date;x-amz-security-token;"
                           "x-amz-target,"),
            std::string::npos)
      << signature;
  EXPECT_EQ(sent.header("accept"), "*/*") << "libcurl's own headers are not signed";
}

TEST(SqsClient, AWrongClockIsFoundOutAndTheCallIsMadeAgain) {
  HttpServer server;
  server.on("/", [](const HttpRequest& request, std::size_t) {
    if (request.header("x-amz-date").starts_with("19941106T08")) return test::reply(200, "{}");
    return test::reply(403, R"({"__type":"InvalidSignatureException","message":"expired"})",
                       "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n");
  });
  const core::SqsAccess access = access_at(server);
  Client client(access);
  EXPECT_TRUE(ask(client, "ReceiveMessage", "{}", 10s));
  EXPECT_LT(client.skew().count(), 0) << "the service is behind this machine";
  EXPECT_TRUE(ask(client, "ReceiveMessage", "{}", 10s));
  EXPECT_EQ(server.requests().size(), 3U) << "from then on with its time";
}

TEST(SqsClient, AWrongClockIsMadeUpForInEachOfSeveralCallsAtOnce) {
  constexpr std::size_t kCalls = 3;
  HttpServer server;
  server.on("/", [](const HttpRequest& request, std::size_t) {
    if (request.header("x-amz-date").starts_with("19941106T08")) return test::reply(200, "{}");
    auto late = test::reply(403, R"({"__type":"InvalidSignatureException","message":"expired"})",
                            "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n");
    late.after_requests = kCalls;
    return late;
  });
  const core::SqsAccess access = access_at(server);
  Client client(access);
  std::vector<Result<std::string>> answers;
  for (std::size_t i = 0; i < kCalls; ++i) {
    client.call("ReceiveMessage", "{}", 10s,
                [&](Result<std::string> answer) { answers.push_back(std::move(answer)); });
  }
  while (answers.size() < kCalls) client.run(10s);
  for (const auto& answer : answers) EXPECT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(server.requests().size(), 2 * kCalls) << "each was refused once";
}

// It may have done what was asked, so a second call could only hide that.
TEST(SqsClient, AServiceThatFailedIsNotAskedAgainBecauseOfTheTime) {
  HttpServer server;
  server.on("/", test::reply(500, R"({"__type":"RequestTimeTooSkewed","message":"late"})",
                             "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"));
  const core::SqsAccess access = access_at(server);
  Client client(access);
  std::optional<Client::Answer> answer;
  client.call("SendMessageBatch", "{}", 10s,
              Client::DoneWithAnswer([&](Client::Answer told) { answer = std::move(told); }));
  while (!answer) client.run(10s);
  EXPECT_TRUE(answer->unknown);
  EXPECT_EQ(server.requests().size(), 1U);
}

// Credentials come from a container's service alone.
class SqsClientWithContainer : public testing::Test {
 protected:
  core::SqsAccess access() {
    core::SqsAccess access = access_at(server_);
    access.keys = {};
    return access;
  }

  HttpServer server_;
  HttpServer container_;
  const test::SetVariable home_{"HOME", "/nowhere"};
  const test::SetVariable key_{"AWS_ACCESS_KEY_ID", std::nullopt};
  const test::SetVariable token_file_{"AWS_WEB_IDENTITY_TOKEN_FILE", std::nullopt};
  const test::SetVariable shared_file_{"AWS_SHARED_CREDENTIALS_FILE", std::nullopt};
  const test::SetVariable config_file_{"AWS_CONFIG_FILE", std::nullopt};
  const test::SetVariable uri_{"AWS_CONTAINER_CREDENTIALS_FULL_URI", container_.url()};
};

TEST_F(SqsClientWithContainer, CredentialsThatAreRefusedAreLookedForAnewOnce) {
  constexpr std::size_t kCalls = 3;
  server_.on("/", [](const HttpRequest& request, std::size_t) {
    if (request.header("authorization").find("Credential=new/") != std::string::npos) {
      return test::reply(200, "{}");
    }
    auto refused = test::reply(403, R"({"__type":"ExpiredToken","message":"expired"})");
    refused.after_requests = kCalls;
    return refused;
  });
  container_.on("/", [](const HttpRequest&, std::size_t times) {
    return test::reply(200, times == 0 ? R"({"AccessKeyId":"old","SecretAccessKey":"s"})"
                                       : R"({"AccessKeyId":"new","SecretAccessKey":"s"})");
  });
  const core::SqsAccess with_container = access();
  Client client(with_container);
  std::size_t good = 0, answered = 0;
  for (std::size_t i = 0; i < kCalls; ++i) {
    client.call("ReceiveMessage", "{}", 10s, [&](const Result<std::string>& answer) {
      ++answered;
      if (answer) ++good;
    });
  }
  while (answered < kCalls) client.run(10s);
  EXPECT_EQ(good, kCalls);
  EXPECT_EQ(container_.requests().size(), 2U) << "all were refused together";
}

TEST_F(SqsClientWithContainer, TheyExpireByTheClockOfTheService) {
  server_.on("/", [](const HttpRequest& request, std::size_t) {
    if (request.header("x-amz-date").starts_with("19941106T08")) return test::reply(200, "{}");
    return test::reply(403, R"({"__type":"InvalidSignatureException","message":"expired"})",
                       "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n");
  });
  container_.on("/", test::reply(200, R"({"AccessKeyId":"id","SecretAccessKey":"s",)"
                                      R"("Token":"t","Expiration":"1994-11-06T12:00:00Z"})"));
  const core::SqsAccess with_container = access();
  Client client(with_container);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(ask(client, "ReceiveMessage", "{}", 10s));
  EXPECT_EQ(container_.requests().size(), 1U);
}

TEST(SqsClient, WhatIsNoJsonIsNoAnswer) {
  HttpServer server;
  server.on("/", test::reply(200, "<html>a proxy's page"));
  const core::SqsAccess access = access_at(server);
  Client client(access);
  const auto answer = ask(client, "ReceiveMessage", "{}", 10s);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, "R398");
  EXPECT_FALSE(client.known());
}

}  // namespace
}  // namespace semel::sqs
