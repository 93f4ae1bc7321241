// Any bytes as the body, and as the values of the query, of calls whose place and caller are right:
// what parses them says what is wrong, or gives what its limits allow.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "admin/api_route.h"
#include "admin/claim_body.h"
#include "admin/letter_filters.h"
#include "admin/write_body.h"
#include "base/json_scan.h"
#include "tests/fuzz/admin_world.h"
#include "tests/fuzz/seeds.h"

namespace semel::fuzz {

namespace {

using admin::ApiCall;
using admin::ClaimCall;
using admin::ClaimsBody;

constexpr std::size_t kLongestKey = 512;

[[noreturn]] void wrong(std::string_view what, std::string_view more = {}) {
  fmt::print(stderr, "{}: {}\n", what, more);
  std::abort();
}

void check_refusal(const http::HttpResponse& refused) {
  json::Document document;
  if (refused.status != 400 || refused.content_type != "application/problem+json" ||
      !document.parse(refused.body)) {
    wrong("a refusal that is none", refused.body);
  }
}

void check_claims(const ApiCall& call, ClaimCall asked) {
  const auto body = admin::claims_body(call, asked, kLongestKey);
  if (!body) return check_refusal(body.error());
  if (body->items.size() > ClaimsBody::kMostKeys) wrong("more keys than a call has");
  if (body->request.size() > ClaimsBody::kLongestRequest) wrong("a request that is too long");
  if (body->lease &&
      (*body->lease < ClaimsBody::kShortestLease || *body->lease > ClaimsBody::kLongestLease)) {
    wrong("a lease out of its range");
  }
  for (const admin::ClaimItem& item : body->items) {
    if (item.fault.empty() && (item.key.empty() || item.key.size() > kLongestKey)) {
      wrong("a key that is none", item.key);
    }
    if (item.error.size() > ClaimsBody::kLongestError) wrong("an error that is too long");
    if (item.after < std::chrono::milliseconds(0)) wrong("a time before now");
  }
}

// Members and parameters of all routes, so that none is refused for its name.
ApiCall call_with(const admin::ApiRoute& route, std::string_view bytes) {
  ApiCall call;
  call.path = {"mails"};
  call.members = route.body;
  call.body = bytes;
  return call;
}

void check_query(std::string_view bytes) {
  static const admin::ApiSources sources = [] {
    admin::ApiSources made;
    made.config = &world_config();
    return made;
  }();
  ApiCall call;
  for (const char* const name : {"consumer", "reason", "replayed", "where", "limit", "after"}) {
    const auto end = bytes.find('\n');
    const std::string_view value = bytes.substr(0, end);
    if (!value.empty()) call.query.emplace_back(name, value);
    bytes.remove_prefix(end == std::string_view::npos ? bytes.size() : end + 1);
  }
  const auto query = admin::letter_query(call, sources);
  if (!query && query.error().status != 404) check_refusal(query.error());
}

}  // namespace

void one_input(std::string_view bytes) {
  for (const admin::ApiRoute& route : admin::api_routes()) {
    if (route.method == "GET") continue;
    const ApiCall call = call_with(route, bytes);
    if (!route.claims) {
      const auto body = admin::write_body(call);
      if (!body) check_refusal(body.error());
      continue;
    }
    for (const ClaimCall asked : {ClaimCall::kClaim, ClaimCall::kRenew, ClaimCall::kFinish}) {
      check_claims(call, asked);
    }
  }
  check_query(bytes);
}

std::vector<std::string> seeds() {
  return {
      "{}",
      R"({"request":"r-1","lease":"1m","claims":[{"key":"a","payload":"x"},{"key":"b","payload_base64":"eA=="},{"key":"c","fingerprint":"00112233445566778899aabbccddeeff"}]})",
      R"({"lease":"30s","claims":[{"key":"a","nonce":"00112233445566778899aabbccddeeff"}]})",
      R"({"claims":[{"key":"a","nonce":"00112233445566778899aabbccddeeff","as":"retry","after":"1h","error":"no"},{"key":"b","nonce":"00112233445566778899aabbccddeeff","as":"done","result":"x"}]})",
      R"({"reason":"ticket 7","state":"dead","token":12,"as":"done"})",
      R"({"reason":"","rate":"100/s","dry_run":true,"up_to":9})",
      "payments\nhandler.native\ntrue\nattempts>3 and (age>=1h or not key = \"a\")\n10\n7",
      "\n\n\nreason ~ 'timeout' and payload:/a/b != 3\n",
  };
}

std::vector<std::string> words() {
  return {"request",
          "lease",
          "claims",
          "key",
          "nonce",
          "payload",
          "payload_base64",
          "fingerprint",
          "result",
          "result_base64",
          "after",
          "error",
          "as",
          "done",
          "retry",
          "dead",
          "release",
          "reason",
          "rate",
          "dry_run",
          "up_to",
          "state",
          "token",
          "and",
          "or",
          "not",
          "age",
          "attempts",
          "1d",
          "100ms",
          "/s"};
}

}  // namespace semel::fuzz
