// Sends random requests to each route and page: the answer is always a known one, and nothing is
// shown or done beyond the caller's role. The seed makes a failure repeatable.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "admin/api.h"
#include "admin/pages.h"
#include "admin/test_api.h"
#include "base/json_scan.h"
#include "base/utf8.h"
#include "tests/support/rounds.h"

namespace semel::admin {
namespace {

// For each seed and role.
int request_count() { return static_cast<int>(test::rounds(6'000, 1'000)); }
constexpr std::size_t kShown = 2'000;

// Pieces that have broken parsers, and some valid ones.
const std::vector<std::string>& pieces() {
  static const std::vector<std::string> all = {
      "",
      "payments",
      "refunds",
      "key-0",
      "key-3",
      "1",
      "0",
      "-1",
      "+1",
      "18446744073709551616",
      "9223372036854775807",
      "1e9",
      "0x10",
      "NaN",
      "..",
      ".",
      "/",
      "//",
      "%",
      "%2",
      "%zz",
      "%00",
      "%2F",
      "%2e%2e",
      std::string(1, '\0'),
      "\xff\xfe\xc0\x80",
      "\xed\xa0\x80",
      "\xf0\x9f\xa6\x8a",
      "\r\nSet-Cookie: a=b",
      "<script>alert(1)</script>",
      "' or 1=1 --",
      "\"",
      "\\",
      "true",
      "false",
      "null",
      "dead",
      "completed",
      "retrying",
      "handler.native",
      "key = key-1",
      "age < 1d and key = x",
      "age < 999999999999999999999d",
      "((((((((((",
      "not not not",
      "1d",
      "-1h",
      "99999999999999999999y",
      "50/s",
      "0/s",
      "1e308/s",
      "2026-13-45T99:99:99Z",
      "json:/a",
      std::string(9'000, 'a'),
      std::string(3'000, '('),
      std::string(2'000, '%'),
  };
  return all;
}

const std::vector<std::string>& json_pieces() {
  static const std::vector<std::string> all = {
      "null",
      "true",
      "false",
      "0",
      "-0",
      "-1",
      "1e400",
      "18446744073709551616",
      "1.5",
      "[]",
      "{}",
      "\"\"",
      "[[",
      "\"a",
      "\"\\ud800\"",
      "\"\\u0000\"",
      "{",
      "tru",
      "\"\xff\"",
      "\"a\"",
      "[1]",
      ",",
      "{\"a\":{\"b\":1}}",
      "\"1d\"",
      "1 1",
      "\"50/s\"",
      "\"dead\"",
  };
  return all;
}

std::string percent_escaped(const std::string& text) {
  std::string made;
  for (const unsigned char byte : text) made += fmt::format("%{:02X}", byte);
  return made;
}

class RequestMaker {
 public:
  explicit RequestMaker(std::uint64_t seed) : random_(seed) {}

  struct Made {
    std::string method, path, body;
    std::vector<std::pair<std::string, std::string>> query;
    bool wrong_query = false;
    std::vector<std::pair<std::string, std::string>> headers;
  };

  std::size_t below(std::size_t count) { return random_() % count; }
  bool one_in(std::size_t count) { return below(count) == 0; }

  Made of_route(const ApiRoute& route) {
    Made made;
    made.method = one_in(20) ? "PATCH" : one_in(20) ? "HEAD" : std::string(route.method);
    made.path = path_of(route.path);
    fill(made, route.query, route.body);
    return made;
  }
  Made of_page(const Page& page) {
    Made made;
    made.method = page.has_form && one_in(2) ? "POST" : "GET";
    made.path = std::string(page.path);
    fill(made, page.query, {});
    return made;
  }

 private:
  const std::string& piece() { return pieces()[below(pieces().size())]; }

  std::string path_of(std::string_view pattern) {
    std::string path;
    while (!pattern.empty()) {
      const auto open = pattern.find('{');
      path += pattern.substr(0, open);
      if (open == std::string_view::npos) break;
      pattern.remove_prefix(pattern.find('}') + 1);
      if (one_in(2)) {
        path += one_in(2) ? "payments" : "1";
      } else {
        path += one_in(3) ? piece() : percent_escaped(piece());
      }
    }
    if (one_in(20)) path += "/" + piece();
    if (one_in(20)) path.erase(below(path.size()), 1);
    if (one_in(20)) path.insert(below(path.size() + 1), 1, static_cast<char>(below(256)));
    return path;
  }

  std::string json_value() {
    if (one_in(2)) return json_pieces()[below(json_pieces().size())];
    std::string text;
    json::append_quoted(text, piece());
    return text;
  }

  void fill(Made& made, std::span<const QueryParameter> query,
            std::span<const QueryParameter> body) {
    for (const QueryParameter& one : query) {
      if (one_in(3)) made.query.emplace_back(one.name, piece());
    }
    if (one_in(15)) made.query.emplace_back(piece(), piece());
    if (!made.query.empty() && one_in(15)) made.query.push_back(made.query.front());
    made.wrong_query = one_in(40);
    made.body = "{";
    for (const QueryParameter& one : body) {
      if (one_in(2)) continue;
      if (made.body.size() > 1) made.body += ",";
      made.body += fmt::format("\"{}\":{}", one.name, json_value());
    }
    if (one_in(15)) made.body += "\"none\":1";
    made.body += "}";
    if (one_in(15)) made.body = piece();
    if (one_in(15) && !made.body.empty()) made.body.resize(below(made.body.size()));
    made.headers = {{"Host", "localhost"}};
    if (!one_in(20)) made.headers.emplace_back("Content-Type", "application/json");
    if (one_in(20)) made.headers.emplace_back("Origin", piece());
    if (one_in(20)) made.headers.emplace_back("Sec-Fetch-Site", piece());
  }

  std::mt19937_64 random_;  // NOLINT: the same requests every time
};

class AnyRequest : public ApiTest {
 protected:
  AnyRequest() {
    for (int i = 0; i < 4; ++i)
      finish(fmt::format("key-{}", i), Finish::To::kDead, "handler.native");
    finish("key-4", Finish::To::kCompleted);
    served_ = sources();
    api_ = Api::create(served_);
  }

  static HttpResponse answered(HttpReply reply) {
    if (auto* task = std::get_if<HttpTask>(&reply)) return task->run();
    return std::get<HttpResponse>(std::move(reply));
  }

  static HttpRequest request_of(const RequestMaker::Made& made) {
    HttpRequest request;
    request.method = made.method;
    request.path = made.path;
    request.body = made.body;
    request.header = [&made](const char* name) -> std::optional<std::string_view> {
      for (const auto& [known, value] : made.headers) {
        if (known == name) return value;
      }
      return std::nullopt;
    };
    request.query = [&made]() -> std::optional<std::vector<std::pair<std::string, std::string>>> {
      if (made.wrong_query) return std::nullopt;
      return made.query;
    };
    return request;
  }

  // Each request has a caller of its own, so that none exceeds its rate. The caller's number never
  // looks like a secret.
  Caller caller(Role role) { return {fmt::format("caller {:b}", ++callers_), role}; }

  void check(const HttpResponse& answer, Role role, const std::string& what) {
    static constexpr std::array kKnown{200, 202, 400, 403, 404, 405, 409, 415, 422, 503};
    EXPECT_TRUE(std::ranges::find(kKnown, answer.status) != kKnown.end())
        << answer.status << " " << what << "\n"
        << answer.body.substr(0, kShown);
    EXPECT_TRUE(is_utf8(answer.body)) << what;
    for (const auto& [name, value] : answer.headers) {
      EXPECT_EQ(value.find_first_of("\r\n"), std::string::npos) << name << ": " << what;
    }
    if (answer.content_type.starts_with("application/")) {
      json::Document document;
      EXPECT_TRUE(document.parse(answer.body)) << what << "\n" << answer.body.substr(0, kShown);
    }
    // The description of the API mentions secrets.
    if (role == Role::kRead && answer.body.find("\"openapi\"") == std::string::npos) {
      EXPECT_EQ(answer.body.find("secret"), std::string::npos) << what << "\n"
                                                               << answer.body.substr(0, kShown);
      EXPECT_EQ(answer.body.find("4111"), std::string::npos) << what << "\n"
                                                             << answer.body.substr(0, kShown);
    }
  }

  std::string letters() {
    HttpRequest request;
    request.method = "GET";
    request.path = "/api/v1/dead-letters";
    request.header = [](const char*) { return std::nullopt; };
    request.query = [] { return std::vector<std::pair<std::string, std::string>>(); };
    return answered(api_->answer(request, caller(Role::kAdmin))).body;
  }

  ApiSources served_;
  std::unique_ptr<Api> api_;
  int callers_ = 0;
};

TEST_F(AnyRequest, OfTheApiIsAnsweredWithinTheRole) {
  const auto routes = api_routes();
  const int requests = request_count();
  for (const Role role : {Role::kRead, Role::kOperator, Role::kAdmin}) {
    RequestMaker maker(static_cast<std::uint64_t>(role) + 1);
    const std::string before = text_at(letters(), "/count");
    int good = 0;
    for (int i = 0; i < requests && !HasFailure(); ++i) {
      const auto made = maker.of_route(routes[maker.below(routes.size())]);
      const std::string what =
          fmt::format("request {} of {}: {} {} {}", i, core::to_string(role), made.method,
                      made.path.substr(0, 200), made.body.substr(0, 300));
      const auto answer = answered(api_->answer(request_of(made), caller(role)));
      check(answer, role, what);
      if (answer.status >= 400) {
        EXPECT_EQ(answer.content_type, "application/problem+json") << what;
        EXPECT_NE(text_at(answer.body, "/code"), "(absent)") << what;
      } else {
        ++good;
      }
    }
    EXPECT_GT(good, requests / 50) << "most of what is drawn must not be refused at the door";
    if (role == Role::kRead) {
      EXPECT_EQ(text_at(letters(), "/count"), before) << "only read";
    }
  }
}

TEST_F(AnyRequest, ForAPageIsAnsweredWithinTheRole) {
  const std::array tables{letter_pages(), one_letter_pages(), record_pages(), consumer_pages(),
                          stuck_pages(),  live_pages(),       run_pages()};
  const int requests = request_count();
  for (const Role role : {Role::kRead, Role::kOperator, Role::kAdmin}) {
    RequestMaker maker(static_cast<std::uint64_t>(role) + 11);
    int good = 0;
    for (int i = 0; i < requests && !HasFailure(); ++i) {
      const auto& table = tables[maker.below(tables.size())];
      if (table.empty()) continue;
      const Page& page = table[maker.below(table.size())];
      const auto made = maker.of_page(page);
      const auto answer = answered(page_reply(page, request_of(made), caller(role), served_));
      check(answer, role, fmt::format("page {} of {}: {}", i, core::to_string(role), made.path));
      if (answer.status == 200) ++good;
      EXPECT_EQ(answer.body.find("<script>alert"), std::string::npos) << page.path;
    }
    EXPECT_GT(good, requests / 50);
  }
}

}  // namespace
}  // namespace semel::admin
