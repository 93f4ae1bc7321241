#include "clients/sqs/client.h"

#include <gtest/gtest.h>

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

TEST(SqsClient, CredentialsThatAreRefusedAreLookedForAnewOnce) {
  HttpServer server;
  HttpServer container;
  server.on("/", [](const HttpRequest& request, std::size_t) {
    if (request.header("authorization").find("Credential=new/") != std::string::npos) {
      return test::reply(200, "{}");
    }
    return test::reply(403, R"({"__type":"ExpiredToken","message":"expired"})");
  });
  container.on("/", [](const HttpRequest&, std::size_t times) {
    return test::reply(200, times == 0 ? R"({"AccessKeyId":"old","SecretAccessKey":"s"})"
                                       : R"({"AccessKeyId":"new","SecretAccessKey":"s"})");
  });
  const test::SetVariable home("HOME", "/nowhere");
  const test::SetVariable key("AWS_ACCESS_KEY_ID", std::nullopt);
  const test::SetVariable token_file("AWS_WEB_IDENTITY_TOKEN_FILE", std::nullopt);
  const test::SetVariable shared_file("AWS_SHARED_CREDENTIALS_FILE", std::nullopt);
  const test::SetVariable config_file("AWS_CONFIG_FILE", std::nullopt);
  const test::SetVariable uri("AWS_CONTAINER_CREDENTIALS_FULL_URI", container.url());
  core::SqsAccess access = access_at(server);
  access.keys = {};
  Client client(access);
  EXPECT_TRUE(ask(client, "ReceiveMessage", "{}", 10s));
  EXPECT_EQ(container.requests().size(), 2U);
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
