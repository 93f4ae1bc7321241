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

// Borrows the lines.
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
  EXPECT_EQ(status_of({{"content-length", "1"}, {"content-length", "2"}}), 400);
  EXPECT_EQ(status_of({{"content-length", "1"}, {"transfer-encoding", "chunked"}}), 400);
  EXPECT_EQ(status_of({{"x-any", "a"}, {"x-any", "b"}}), 0);
  core::HttpSourceSpec is_signed = spec_at("/in");
  is_signed.signature = core::HttpSignature{core::HttpSignature::Scheme::kGithub, {"s"}};
  const Lines twice = {{"x-hub-signature-256", "a"}, {"x-hub-signature-256", "b"}};
  EXPECT_TRUE(RequestRules(is_signed).refuses(request_with(twice)));
}

TEST(RequestRules, ABodyHasALimitAndNoEncoding) {
  EXPECT_EQ(status_of({{"content-length", "101"}}), 413);
  EXPECT_EQ(status_of({{"content-length", "99999999999999999999999"}}), 413);
  EXPECT_EQ(status_of({{"content-length", "-1"}}), 400);
  EXPECT_EQ(status_of({{"content-length", "7x"}}), 400);
  EXPECT_EQ(status_of({{"content-encoding", "gzip"}}), 415);
  EXPECT_EQ(status_of({{"content-encoding", "identity"}}), 0);
}

TEST(RequestRules, AnArrivalKeepsNoCredentials) {
  const Lines lines = {
      {"Authorization", "Bearer x"}, {"Cookie", "a=b"}, {"Content-Type", "text/plain"},
      {"Idempotency-Key", "k"},      {"Host", "here"},  {"X-Tag", "1"}};
  http::HttpRequest request = request_with(lines);
  request.body = "hello";
  const RequestRules rules(spec_at("/in"));
  const Arrival arrival = rules.arrival_of(request, RequestRules::headers_of(request));
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

}  // namespace
}  // namespace semel::sources
