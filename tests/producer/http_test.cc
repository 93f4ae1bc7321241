// A producer and an HTTP endpoint.
#include <gtest/gtest.h>

#include <chrono>
#include <set>

#include <semel/producer.h>

#include "tests/support/http_server.h"

namespace semel::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

OutgoingMessage a_payment(Bytes payload = R"({"amount":5})") {
  OutgoingMessage payment;
  payment.payload = std::move(payload);
  payment.content_type = "application/json";
  return payment;
}

HttpEndpoint endpoint(const HttpServer& server) { return {.url = server.url("/pay")}; }

TEST(ProducerOverHttp, TheEndpointsAnswerAndTheKeyComeBack) {
  HttpServer server;
  server.on("/pay", reply(201, "p-1"));
  Producer producer(endpoint(server));
  const SendResult sent = producer.send(a_payment());
  ASSERT_TRUE(sent) << sent.error().message;
  EXPECT_EQ(sent->answer, "p-1");
  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_EQ(requests[0].method, "POST");
  EXPECT_EQ(requests[0].header("idempotency-key"), "\"" + sent->key + "\"");
  EXPECT_EQ(requests[0].header("content-type"), "application/json");
  EXPECT_EQ(requests[0].header("semel-consumer"), "producer");
  EXPECT_EQ(requests[0].body, R"({"amount":5})");
}

TEST(ProducerOverHttp, TheMessagesHeadersAndItsTypeArrive) {
  HttpServer server;
  server.on("/pay", reply(200));
  HttpEndpoint to = endpoint(server);
  to.headers = {{"X-Tenant", "ada"}};
  Producer producer(std::move(to));
  OutgoingMessage payment = a_payment();
  payment.type = "payment.made";
  payment.headers = {{"X-Region", "eu"},
                     {"X-Region", "us"},
                     {"X-Empty", ""},
                     {"traceparent", "00-ab-cd-01"},
                     {"ce-subject", "\xC3\xA4"},
                     {"Idempotency-Key", "p-1"}};
  const SendResult sent = producer.send(payment);
  ASSERT_TRUE(sent) << sent.error().message;
  EXPECT_EQ(sent->key, "p-1");
  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_EQ(requests[0].header("x-region"), "eu|us");
  EXPECT_EQ(requests[0].header("x-empty"), "");
  EXPECT_EQ(requests[0].header("x-tenant"), "ada");
  EXPECT_EQ(requests[0].header("traceparent"), "00-ab-cd-01");
  EXPECT_EQ(requests[0].header("ce-subject"), "%C3%A4");
  EXPECT_EQ(requests[0].header("ce-type"), "payment.made");
  EXPECT_EQ(requests[0].header("idempotency-key"), "\"p-1\"") << "once";
  EXPECT_EQ(requests[0].header("content-type"), "application/json");
}

TEST(ProducerOverHttp, AHeaderThatCannotBeSentIsRefusedBeforeAnythingIs) {
  HttpServer server;
  server.on("/pay", reply(200));
  Producer producer(endpoint(server));
  for (const char* name : {"Content-Length", "semel-attempt", "no name"}) {
    OutgoingMessage payment = a_payment();
    payment.headers = {{name, "1"}};
    const SendResult sent = producer.send(payment);
    ASSERT_FALSE(sent) << name;
    EXPECT_EQ(sent.error().kind, ErrorKind::kRejected) << name;
    EXPECT_EQ(sent.error().code, "R332") << name;
    EXPECT_NE(sent.error().message.find(name), std::string::npos) << sent.error().message;
  }
  EXPECT_TRUE(server.requests().empty());
}

// It may have done its work each time; under one key it does it once.
TEST(ProducerOverHttp, AnswersThatAreLostAndRefusalsForNowAreTriedAgainUnderTheSameKey) {
  HttpServer server;
  std::set<std::string> done;
  server.on("/pay", [&](const HttpRequest& request, std::size_t times) {
    done.insert(request.header("idempotency-key"));
    if (times == 0) return raw("", HttpReply::Then::kReset);
    if (times == 1) return reply(503, "", "Retry-After: 0\r\n");
    if (times == 2) return reply(409);
    return reply(200);
  });
  Producer producer(endpoint(server));
  const SendResult sent = producer.send(a_payment());
  ASSERT_TRUE(sent) << sent.error().message;
  EXPECT_EQ(server.requests().size(), 4U);
  EXPECT_EQ(done, (std::set<std::string>{"\"" + sent->key + "\""}));
}

TEST(ProducerOverHttp, WhatTheEndpointWillNeverTakeIsFinal) {
  for (const int status : {308, 400, 401, 404, 410, 422}) {
    HttpServer server;
    server.on("/pay", reply(status, "no"));
    Producer producer(endpoint(server), {.time_limit = seconds(60)});
    const SendResult sent = producer.send(a_payment());
    ASSERT_FALSE(sent) << status;
    EXPECT_EQ(sent.error().kind, ErrorKind::kRejected) << sent.error().message;
    EXPECT_EQ(sent.error().reason, "handler.http." + std::to_string(status));
    EXPECT_EQ(server.requests().size(), 1U);
  }
}

// The endpoint may have done its work before it failed, or before it pointed elsewhere.
TEST(ProducerOverHttp, AnAnswerThatLeavesItOpenIsInDoubt) {
  for (const int status : {301, 302, 303, 500, 502, 503, 504}) {
    HttpServer server;
    server.on("/pay", reply(status, "no"));
    Producer producer(endpoint(server), {.time_limit = milliseconds(500)});
    SendResult sent = producer.send(a_payment());
    // A busy machine may not have sent the request by then.
    while (server.requests().empty()) sent = producer.send(a_payment());
    ASSERT_FALSE(sent) << status;
    EXPECT_EQ(sent.error().kind, ErrorKind::kInDoubt) << status << " " << sent.error().message;
  }
}

TEST(ProducerOverHttp, WithoutAnAnswerInTimeItIsInDoubt) {
  HttpServer server;
  server.on("/pay", raw("", HttpReply::Then::kHang));
  // A busy machine may not have sent the request by then: there is more time for the next.
  for (milliseconds limit(500); limit < seconds(60); limit *= 2) {
    HttpEndpoint to = endpoint(server);
    to.timeout = limit / 5;
    Producer producer(std::move(to), {.time_limit = limit});
    const SendResult sent = producer.send(a_payment());
    ASSERT_FALSE(sent);
    if (server.requests().empty()) continue;
    EXPECT_EQ(sent.error().kind, ErrorKind::kInDoubt) << sent.error().message;
    std::set<std::string> keys;
    for (const auto& request : server.requests()) keys.insert(request.header("idempotency-key"));
    EXPECT_EQ(keys, (std::set<std::string>{"\"" + sent.error().key + "\""}));
    return;
  }
  FAIL() << "nothing is sent";
}

TEST(ProducerOverHttp, WhereNobodyListensItDidNotArrive) {
  std::string url;
  {
    const HttpServer server;
    url = server.url("/pay");
  }
  Producer producer(HttpEndpoint{.url = url}, {.time_limit = milliseconds(500)});
  const SendResult sent = producer.send(a_payment());
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().kind, ErrorKind::kUnavailable) << sent.error().message;
}

TEST(ProducerOverHttp, OfABatchEachHasItsOwnAnswer) {
  HttpServer server;
  server.on("/pay", [](const HttpRequest& request, std::size_t) {
    return request.body == "7" ? reply(422, "not this") : reply(200, request.body);
  });
  Producer producer(endpoint(server));
  std::vector<OutgoingMessage> payments;
  for (int i = 0; i < 200; ++i) payments.push_back(a_payment(std::to_string(i)));
  const auto results = producer.send(payments);
  for (std::size_t i = 0; i < results.size(); ++i) {
    ASSERT_EQ(results[i].has_value(), i != 7) << i;
    if (i == 7) continue;
    EXPECT_EQ(results[i]->answer, std::to_string(i));
  }
}

}  // namespace
}  // namespace semel::test
