#include "sources/http/requests.h"

#include <gtest/gtest.h>

#include <utility>

namespace semel::sources {
namespace {

using Lines = std::vector<std::pair<std::string, std::string>>;

core::HttpSourceSpec spec_at(const std::string& path) {
  core::HttpSourceSpec spec;
  spec.path = path;
  spec.max_body = 100;
  spec.key_headers = {"idempotency-key"};
  return spec;
}

// The request borrows the lines.
http::HttpRequest request_with(const Lines& lines, std::string_view method = "POST",
                               std::string_view path = "/in") {
  http::HttpRequest request;
  request.method = method;
  request.path = path;
  request.header = [&lines](const char* name) -> std::optional<std::string_view> {
    for (const auto& [one, value] : lines) {
      if (one == name) return value;
    }
    return std::nullopt;
  };
  request.headers = [&lines] {
    return std::vector<std::pair<std::string_view, std::string_view>>(lines.begin(), lines.end());
  };
  return request;
}

int status_of(const Lines& lines, std::string_view method = "POST", std::string_view path = "/in") {
  const auto refused = RequestRules(spec_at("/in")).refuses(request_with(lines, method, path));
  return refused ? refused->status : 0;
}

TEST(RequestRules, TakesAPostToItsPath) {
  EXPECT_EQ(status_of({{"content-length", "100"}, {"idempotency-key", "a"}}), 0);
  EXPECT_EQ(status_of({}, "POST", "/in/"), 404);
  EXPECT_EQ(status_of({}, "GET"), 405);
  const auto refused = RequestRules(spec_at("/in")).refuses(request_with({}, "GET"));
  ASSERT_TRUE(refused);
  ASSERT_EQ(refused->headers.size(), 1U);
  EXPECT_EQ(refused->headers[0].first, "Allow");
}

TEST(RequestRules, AHeadThatCanBeReadInTwoWaysIsRefused) {
  EXPECT_EQ(status_of({{"idempotency-key", "a"}, {"idempotency-key", "a"}}), 400);
  EXPECT_EQ(status_of({{"content-length", "1"}, {"content-type", "a/b"}, {"content-type", "c/d"}}),
            400);
  EXPECT_EQ(status_of({{"content-length", "1"}, {"x-any", "a"}, {"x-any", "b"}}), 0);
  core::HttpSourceSpec is_signed = spec_at("/in");
  is_signed.signature = core::HttpSignature{core::HttpSignature::Scheme::kGithub, {"s"}};
  const Lines twice = {{"x-hub-signature-256", "a"}, {"x-hub-signature-256", "b"}};
  EXPECT_TRUE(RequestRules(is_signed).refuses(request_with(twice)));
}

TEST(RequestRules, ABodyHasALimitAndNoEncoding) {
  EXPECT_EQ(status_of({{"content-length", "101"}}), 413);
  EXPECT_EQ(status_of({{"content-length", "99999999999999999999999"}}), 413);
  EXPECT_EQ(status_of({{"content-length", "1"}, {"content-encoding", "gzip"}}), 415);
  EXPECT_EQ(status_of({{"content-length", "1"}, {"content-encoding", "identity"}}), 0);
}

// Without one a sender that forgot the body would send an empty message.
TEST(RequestRules, AHeadWithoutALengthIsRefused) {
  EXPECT_EQ(status_of({{"transfer-encoding", "chunked"}}), 0);
  EXPECT_EQ(status_of({{"content-length", "0"}}), 0);
  EXPECT_EQ(status_of({}), 411);
  EXPECT_EQ(status_of({{"transfer-encodingchunked", ""}}), 411);
}

TEST(RequestRules, AnArrivalKeepsNoCredentials) {
  const Lines lines = {
      {"Authorization", "Bearer x"}, {"Cookie", "a=b"}, {"Content-Type", "text/plain"},
      {"Idempotency-Key", "k"},      {"Host", "here"},  {"X-Tag", "1"}};
  http::HttpRequest request = request_with(lines);
  request.body = "hello";
  const RequestRules rules(spec_at("/in"));
  const auto messages = rules.messages_of(request, RequestRules::headers_of(request));
  ASSERT_TRUE(messages);
  EXPECT_FALSE(messages->batch);
  ASSERT_EQ(messages->arrivals.size(), 1U);
  const Arrival& arrival = messages->arrivals[0];
  EXPECT_EQ(arrival.payload, "hello");
  EXPECT_EQ(arrival.content_type, "text/plain");
  EXPECT_EQ(arrival.partition, "/in");
  std::vector<std::string> names;
  for (const Header& header : arrival.headers) names.push_back(header.name);
  EXPECT_EQ(names, (std::vector<std::string>{"content-type", "idempotency-key", "x-tag"}));
}

TEST(RequestRules, WithoutASignatureNoneIsAsked) {
  EXPECT_FALSE(RequestRules(spec_at("/in")).refuses_signature({}, "body", 0));
  core::HttpSourceSpec is_signed = spec_at("/in");
  is_signed.signature = core::HttpSignature{core::HttpSignature::Scheme::kGithub, {"s"}};
  const auto refused = RequestRules(is_signed).refuses_signature({}, "body", 0);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, 403);
}

// A proxy passes its path prefix on, or removes it.
TEST(RequestRules, APrefixMayStandBeforeThePath) {
  const auto takes = [](const core::HttpSourceSpec& spec, std::string_view path) {
    const Lines lines = {{"content-length", "0"}};
    return !RequestRules(spec).refuses(request_with(lines, "POST", path));
  };
  core::HttpSourceSpec spec = spec_at("/in");
  EXPECT_FALSE(takes(spec, "/hooks/in"));
  spec.path_prefix = "/hooks";
  EXPECT_TRUE(takes(spec, "/hooks/in"));
  EXPECT_TRUE(takes(spec, "/in"));
  for (const char* other : {"/hooks", "/hooks/", "/hooksin", "/hooks/in/", "/hooks/hooks/in"}) {
    EXPECT_FALSE(takes(spec, other)) << other;
  }
  const auto refused = RequestRules(spec).refuses(request_with({}, "POST", "/other"));
  EXPECT_NE(refused->body.find("POST to /hooks/in"), std::string::npos) << refused->body;
  spec.path = "/";
  for (const char* path : {"/", "/hooks", "/hooks/"}) EXPECT_TRUE(takes(spec, path)) << path;
  EXPECT_FALSE(takes(spec, "/hookss"));
}

constexpr const char* kBatchType = "application/cloudevents-batch+json; charset=UTF-8";

tl::expected<RequestRules::Messages, MessageAnswer> taken(const core::HttpSourceSpec& spec,
                                                          std::string_view body,
                                                          const Lines& more = {}) {
  Lines lines = {{"Content-Type", kBatchType}};
  lines.insert(lines.end(), more.begin(), more.end());
  http::HttpRequest request = request_with(lines);
  request.body = body;
  return RequestRules(spec).messages_of(request, RequestRules::headers_of(request));
}

TEST(RequestRules, ABatchIsAsManyMessages) {
  const auto messages = taken(spec_at("/in"), R"([ {"id":"a"}, 5 ])",
                              {{"ce-id", "x"}, {"CE-Source", "y"}, {"X-Tag", "1"}});
  ASSERT_TRUE(messages);
  EXPECT_TRUE(messages->batch);
  ASSERT_EQ(messages->arrivals.size(), 2U);
  EXPECT_EQ(messages->arrivals[0].payload, R"({"id":"a"})");
  EXPECT_EQ(messages->arrivals[1].payload, "5");
  for (const Arrival& arrival : messages->arrivals) {
    EXPECT_EQ(arrival.content_type, "application/cloudevents+json");
    EXPECT_EQ(find_header(arrival.headers, "content-type"), "application/cloudevents+json");
    EXPECT_EQ(find_header(arrival.headers, "x-tag"), "1");
    EXPECT_FALSE(find_header(arrival.headers, "ce-id")) << "they would be the key of all of them";
    EXPECT_FALSE(find_header(arrival.headers, "ce-source"));
    EXPECT_FALSE(arrival.refused);
  }
  const auto none = taken(spec_at("/in"), "[]");
  EXPECT_TRUE(none->batch);
  EXPECT_TRUE(none->arrivals.empty());
}

TEST(RequestRules, WhatIsNoBatchIsKeptWhole) {
  for (const char* body : {"", "{}", "[{}", "[]]"}) {
    const auto messages = taken(spec_at("/in"), body);
    ASSERT_TRUE(messages);
    EXPECT_FALSE(messages->batch);
    ASSERT_EQ(messages->arrivals.size(), 1U);
    EXPECT_EQ(messages->arrivals[0].payload, body);
    EXPECT_EQ(messages->arrivals[0].refused, "payload.invalid");
  }
}

TEST(RequestRules, ABatchHasSoManyEvents) {
  core::HttpSourceSpec spec = spec_at("/in");
  spec.max_batch = 2;
  EXPECT_EQ(taken(spec, "[1,2]")->arrivals.size(), 2U);
  ASSERT_FALSE(taken(spec, "[1,2,3]"));
  EXPECT_EQ(taken(spec, "[1,2,3]").error().status, 413);
  spec.max_requests = 1;
  EXPECT_EQ(taken(spec, "[1,2]").error().status, 413) << "they would never fit";
}

// Each event has a copy of the headers, so a short body could take much memory.
TEST(RequestRules, TheHeadersOfAllEventsHaveTheLimitOfABody) {
  core::HttpSourceSpec spec = spec_at("/in");
  spec.max_body = 10'000;
  const Lines large = {{"X-Large", std::string(4'900, 'x')}};
  EXPECT_EQ(taken(spec, "[0,0]", large)->arrivals.size(), 2U);
  const auto refused = taken(spec, "[0,0,0]", large);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, 413);
  EXPECT_EQ(refused.error().code, "R325");
  EXPECT_NE(refused.error().detail.find("headers"), std::string::npos) << refused.error().detail;
  EXPECT_TRUE(taken(spec, "[]", {{"X-Large", std::string(20'000, 'x')}})) << "there is no event";
}

TEST(RequestRules, ABatchWithAKeyOfItsOwnIsOneMessage) {
  core::HttpSourceSpec spec = spec_at("/in");
  spec.splits_batches = false;
  const auto messages = taken(spec, "[1,2]");
  EXPECT_FALSE(messages->batch);
  ASSERT_EQ(messages->arrivals.size(), 1U);
  EXPECT_EQ(messages->arrivals[0].payload, "[1,2]");
  EXPECT_EQ(messages->arrivals[0].content_type, kBatchType);
}

}  // namespace
}  // namespace semel::sources
