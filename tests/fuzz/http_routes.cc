// Any bytes as a request to the admin listener, from everybody who may ask: nobody, a wrong token
// and each role. The answer is one that the docs have, and nobody writes who may only read.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "admin/api_route.h"
#include "admin/pages.h"
#include "base/json_scan.h"
#include "base/utf8.h"
#include "tests/fuzz/admin_world.h"
#include "tests/fuzz/request_text.h"
#include "tests/fuzz/seeds.h"

namespace semel::fuzz {

namespace {

using core::Role;

constexpr std::array kStatuses{200, 202, 400, 401, 403, 404, 405, 409, 415, 422, 429, 503};
constexpr std::array<std::string_view, 7> kPublic{"/style.css", "/page.js", "/act.js",  "/keys.js",
                                                  "/livez",     "/readyz",  "/startupz"};

[[noreturn]] void fail(std::string_view what, const http::HttpResponse& answer) {
  fmt::print(stderr, "{}: {} {}\n{}\n", what, answer.status, answer.content_type, answer.body);
  std::abort();
}

void check(const std::string& path, const http::HttpResponse& answer) {
  if (std::ranges::find(kStatuses, answer.status) == kStatuses.end()) {
    fail("a status that no page of the docs has", answer);
  }
  if (!is_utf8(answer.body)) fail("a body that is no text", answer);
  for (const auto& [name, value] : answer.headers) {
    if (value.find_first_of("\r\n") != std::string::npos) fail("a header of two lines", answer);
  }
  json::Document document;
  if (answer.content_type.starts_with("application/") && !document.parse(answer.body)) {
    fail("no JSON", answer);
  }
  if (answer.status < 400) return;
  const bool page = answer.content_type.starts_with("text/");
  const bool of_health = answer.status == 503 && (path == "/readyz" || path == "/startupz");
  if (admin::Api::owns(path) ? answer.content_type != "application/problem+json"
                             : !page && !of_health) {
    fail("an error that says nothing", answer);
  }
}

std::string bearer(Role role) { return "Bearer " + secret_of(role); }

// All that only read, one after the other: what is stored stays as it is.
void ask_as_reader(const RequestText& text) {
  AdminWorld guarded(true), open(false);
  const std::string before = guarded.state();
  for (const auto& authorization :
       {std::optional<std::string>(), std::optional<std::string>("Bearer wrong"),
        std::optional<std::string>(bearer(Role::kRead))}) {
    const auto answer = guarded.answer(text.request(authorization));
    check(text.path(), answer);
    const bool known = authorization == bearer(Role::kRead);
    const bool is_public = std::ranges::find(kPublic, text.path()) != kPublic.end();
    if (!known && answer.status < 400 && !is_public) fail("nobody is shown this", answer);
    if (!known && admin::Api::owns(text.path()) && answer.status != 401) {
      fail("a path of the API is told to nobody", answer);
    }
    if (guarded.state() != before) fail("somebody wrote who may only read", answer);
  }
  const std::string open_before = open.state();
  const auto answer = open.answer(text.request(std::nullopt));
  check(text.path(), answer);
  if (open.state() != open_before) fail("somebody wrote without a token", answer);
}

void ask_as_writer(const RequestText& text) {
  for (const Role role : {Role::kOperator, Role::kAdmin}) {
    AdminWorld world(true);
    check(text.path(), world.answer(text.request(bearer(role))));
  }
}

// A value that fits a name, so that what is behind the checks is reached.
std::string value_for(std::string_view name) {
  static const std::map<std::string_view, std::string_view> known = {
      {"consumer", "payments"},
      {"name", "payments"},
      {"key", "key-3"},
      {"id", "1"},
      {"reason", "handler.native"},
      {"where", "attempts>0 and age<1d"},
      {"limit", "2"},
      {"after", "1"},
      {"outcome", "done"},
      {"all", "true"},
      {"replayed", "false"},
      {"dry_run", "true"}};
  const auto found = known.find(name);
  return std::string(found == known.end() ? "1" : found->second);
}

std::string member_for(const admin::QueryParameter& member) {
  if (member.name == "state") return "\"dead\"";
  if (member.name == "as") return "\"done\"";
  if (member.name == "rate") return "\"100/s\"";
  if (member.name == "claims") {
    return R"([{"key":"a","nonce":"00112233445566778899aabbccddeeff","as":"done"}])";
  }
  if (member.type == "boolean") return "true";
  if (member.type == "integer") return "1";
  return "\"1m\"";
}

std::string filled(std::string_view pattern, bool claims) {
  std::string path;
  while (!pattern.empty()) {
    const auto open = pattern.find('{');
    path += pattern.substr(0, open);
    if (open == std::string_view::npos) break;
    const auto close = pattern.find('}');
    const std::string_view name = pattern.substr(open + 1, close - open - 1);
    path += claims && name == "name" ? std::string("mails") : value_for(name);
    pattern.remove_prefix(close + 1);
  }
  return path;
}

std::string query_of(std::span<const admin::QueryParameter> parameters) {
  std::string query;
  for (const admin::QueryParameter& one : parameters) {
    query +=
        fmt::format("{}{}={}", query.empty() ? "?" : "&", one.name,
                    one.name == "where" ? "attempts%3E0%20and%20age%3C1d" : value_for(one.name));
  }
  return query;
}

constexpr std::string_view kHeaders =
    "Host: localhost\nContent-Type: application/json\nSec-Fetch-Site: same-origin\n\n";

}  // namespace

void one_input(std::string_view bytes) {
  const RequestText text(bytes);
  ask_as_reader(text);
  ask_as_writer(text);
}

// A request to each route and page, with and without its parameters.
std::vector<std::string> seeds() {
  std::vector<std::string> made;
  for (const admin::ApiRoute& route : admin::api_routes()) {
    std::string body = "{";
    for (const admin::QueryParameter& member : route.body) {
      body +=
          fmt::format("{}\"{}\":{}", body.size() > 1 ? "," : "", member.name, member_for(member));
    }
    const std::string path = filled(route.path, route.claims);
    made.push_back(fmt::format("{} {}\n{}{{}}", route.method, path, kHeaders));
    made.push_back(
        fmt::format("{} {}{}\n{}{}}}", route.method, path, query_of(route.query), kHeaders, body));
  }
  for (const auto& table :
       {admin::letter_pages(), admin::one_letter_pages(), admin::record_pages(),
        admin::consumer_pages(), admin::stuck_pages(), admin::live_pages(), admin::run_pages()}) {
    for (const admin::Page& page : table) {
      made.push_back(fmt::format("GET {}{}\n{}", page.path, query_of(page.query), kHeaders));
    }
  }
  for (const char* const path : {"/", "/metrics", "/livez", "/readyz", "/page.js", "/none"}) {
    made.push_back(fmt::format("GET {}\n{}", path, kHeaders));
  }
  return made;
}

std::vector<std::string> words() {
  std::set<std::string> made = {
      "GET ",       "HEAD ", "POST ", "Host: ", "Origin: ", "Sec-Fetch-Dest: ", "application/json",
      "cross-site", "%2F",   "%00",   "%zz"};
  const auto add = [&](std::span<const admin::QueryParameter> all) {
    for (const admin::QueryParameter& one : all) made.insert(std::string(one.name));
  };
  for (const admin::ApiRoute& route : admin::api_routes()) {
    add(route.query);
    add(route.body);
    made.insert(std::string(route.path));
  }
  return {made.begin(), made.end()};
}

}  // namespace semel::fuzz
