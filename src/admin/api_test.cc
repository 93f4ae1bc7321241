#include "admin/api.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "admin/test_api.h"
#include "tests/support/waiting.h"

namespace semel::admin {
namespace {

TEST_F(ApiTest, ListsAndShowsConsumers) {
  open(false);
  const auto list = get("/api/v1/consumers");
  EXPECT_EQ(list.status, 200);
  EXPECT_EQ(list.header("Content-Type"), "application/json");
  EXPECT_EQ(list.header("Cache-Control"), "no-store");
  EXPECT_EQ(text_at(list.body, "/schema"), "semel.v1.consumers");
  EXPECT_EQ(text_at(list.body, "/consumers/0/name"), "payments");
  const auto one = get("/api/v1/consumers/payments");
  EXPECT_EQ(text_at(one.body, "/consumer/state"), "running") << one.body;
  EXPECT_EQ(text_at(one.body, "/consumer/promise/effect"), "not promised") << one.body;
  const auto none = get("/api/v1/consumers/refunds");
  EXPECT_EQ(none.status, 404);
  EXPECT_EQ(none.header("Content-Type"), "application/problem+json");
  EXPECT_EQ(text_at(none.body, "/code"), "R343");
  EXPECT_EQ(text_at(none.body, "/status"), "404");
  EXPECT_EQ(text_at(none.body, "/fix"), "there are payments");
}

TEST_F(ApiTest, ShowsTheRecordOfAnyKey) {
  open(true);
  finish("a/b c", Finish::To::kCompleted);
  const std::string path = "/api/v1/consumers/payments/records/a%2Fb%20c";
  const auto shown = get_as(Role::kOperator, path);
  EXPECT_EQ(text_at(shown.body, "/records/0/state"), "completed") << shown.body;
  EXPECT_EQ(text_at(shown.body, "/records/0/key"), "a/b c");
  EXPECT_EQ(text_at(shown.body, "/records/0/result"), "the result");
  const auto masked = get_as(Role::kRead, path);
  EXPECT_EQ(text_at(masked.body, "/records/0/result"), "(absent)");
  EXPECT_EQ(text_at(masked.body, "/records/0/result_bytes"), "10") << masked.body;
  EXPECT_EQ(get_as(Role::kRead, "/api/v1/consumers/payments/records/a/b%20c").status, 404);
  EXPECT_EQ(get_as(Role::kRead, "/api/v1/consumers/payments/records/other").status, 404);
  EXPECT_EQ(get_as(Role::kRead, "/api/v1/consumers/refunds/records/a").status, 404);
  EXPECT_EQ(get_as(Role::kRead, "/api/v1/consumers/payments/records/%zz").status, 400);
}

TEST_F(ApiTest, DeadLettersComePageByPage) {
  open(false);
  for (int i = 0; i < 3; ++i) finish(fmt::format("key-{}", i), Finish::To::kDead, "handler.native");
  const auto first = get("/api/v1/dead-letters?limit=2");
  EXPECT_EQ(text_at(first.body, "/dead_letters/1/key"), "key-1") << first.body;
  EXPECT_EQ(text_at(first.body, "/count"), "2");
  const std::string next = text_at(first.body, "/next");
  const auto second = get("/api/v1/dead-letters?limit=2&after=" + next);
  EXPECT_EQ(text_at(second.body, "/dead_letters/0/key"), "key-2") << second.body;
  EXPECT_EQ(text_at(second.body, "/next"), "(absent)");
  EXPECT_EQ(first.body.find("secret"), std::string::npos) << "no payloads";
}

TEST_F(ApiTest, DeadLettersAreNarrowedAsTheCommandsNarrowThem) {
  open(false);
  finish("one", Finish::To::kDead, "handler.native");
  finish("two", Finish::To::kDead, "payload.invalid");
  const std::string list = "/api/v1/dead-letters";
  EXPECT_EQ(text_at(get(list + "?reason=payload.invalid").body, "/dead_letters/0/key"), "two");
  EXPECT_EQ(text_at(get(list + "?where=key%3Done+and+age%3C1d").body, "/count"), "1");
  EXPECT_EQ(text_at(get(list + "?consumer=refunds").body, "/count"), "0");
  EXPECT_EQ(text_at(get(list + "?replayed=true").body, "/count"), "0");
  struct Row {
    const char* query;
    const char* said;
  };
  for (const Row& row :
       {Row{"?where=nokey%3D1", "where, column 1: unknown field \"nokey\""},
        Row{"?limit=0", "limit cannot be \"0\""}, Row{"?limit=1001", "limit cannot be \"1001\""},
        Row{"?after=x", "after cannot be \"x\""},
        Row{"?replayed=yes", "replayed cannot be \"yes\""},
        Row{"?limt=1", "there is no parameter \"limt\" here"},
        Row{"?limit=1&limit=2", "\"limit\" stands there twice"},
        Row{"?limit=%", "the query has an escape that is none"}}) {
    const auto answer = get(list + row.query);
    EXPECT_EQ(answer.status, 400) << row.query;
    EXPECT_EQ(text_at(answer.body, "/detail"), row.said);
    EXPECT_EQ(text_at(answer.body, "/code"), "R344");
  }
}

TEST_F(ApiTest, DeadLettersAreGroupedByReason) {
  open(false);
  finish("one", Finish::To::kDead, "handler.native");
  finish("two", Finish::To::kDead, "handler.native");
  finish("three", Finish::To::kDead, "payload.invalid");
  const auto groups = get("/api/v1/dead-letters/groups");
  EXPECT_EQ(text_at(groups.body, "/groups/0/reason"), "handler.native") << groups.body;
  EXPECT_EQ(text_at(groups.body, "/groups/0/count"), "2");
  EXPECT_EQ(text_at(groups.body, "/groups/1/reason"), "payload.invalid");
  EXPECT_EQ(text_at(groups.body, "/count"), "3");
}

TEST_F(ApiTest, PayloadsAreForOperators) {
  open(true);
  finish("one", Finish::To::kDead, "handler.native");
  const std::string id =
      text_at(get_as(Role::kRead, "/api/v1/dead-letters").body, "/dead_letters/0/id");
  const std::string path = "/api/v1/dead-letters/" + id;
  const auto shown = get_as(Role::kOperator, path);
  EXPECT_EQ(text_at(shown.body, "/dead_letter/payload"), "{\"secret\":1}") << shown.body;
  EXPECT_EQ(text_at(shown.body, "/dead_letter/headers/0/value"), "4111");
  const auto masked = get_as(Role::kRead, path);
  EXPECT_EQ(masked.body.find("secret"), std::string::npos) << masked.body;
  EXPECT_EQ(masked.body.find("4111"), std::string::npos);
  EXPECT_EQ(text_at(masked.body, "/dead_letter/payload_bytes"), "12");
  EXPECT_EQ(text_at(masked.body, "/dead_letter/headers/0/name"), "x-card");
  EXPECT_EQ(get_as(Role::kRead, "/api/v1/dead-letters/987654").status, 404);
  EXPECT_EQ(get_as(Role::kRead, "/api/v1/dead-letters/nine").status, 400);
}

TEST_F(ApiTest, TheConfigIsForAdmins) {
  open(true);
  const auto shown = get_as(Role::kAdmin, "/api/v1/config");
  EXPECT_EQ(text_at(shown.body, "/file"), "semel.yaml") << shown.body;
  EXPECT_NE(shown.body.find("{\"path\":\"consumers[0].name\",\"value\":\"payments\""),
            std::string::npos);
}

TEST_F(ApiTest, WithoutAStoreItSaysSo) {
  open(false);
  running_ = false;
  for (const char* path : {"/api/v1/dead-letters", "/api/v1/dead-letters/groups",
                           "/api/v1/dead-letters/1", "/api/v1/consumers/payments/records/a"}) {
    const auto answer = get(path);
    EXPECT_EQ(answer.status, 503) << path;
    EXPECT_EQ(text_at(answer.body, "/code"), "R345");
    EXPECT_EQ(answer.header("Retry-After"), "1");
  }
  EXPECT_EQ(get("/api/v1/consumers").status, 200);
}

// An image of another site makes an operator's browser send the request.
TEST_F(ApiTest, AnotherSiteRunsNothing) {
  open(true);
  const std::string token = "Authorization: Bearer " + secret_of(Role::kOperator);
  for (const char* path : {"/api/v1/doctor", "/api/v1/consumers", "/api/v1/dead-letters/groups"}) {
    const auto refused = get(path, {token, "Sec-Fetch-Site: cross-site"});
    EXPECT_EQ(refused.status, 403) << path;
    EXPECT_EQ(text_at(refused.body, "/code"), "R346") << path;
    EXPECT_EQ(get(path, {token, "Sec-Fetch-Site: none"}).status, 200) << path;
    EXPECT_EQ(get(path, {token, "Sec-Fetch-Site: same-origin"}).status, 200) << path;
  }
}

// Tasks are the calls that may wait for the store; the test decides whether they run.
class ApiTaskTest : public ApiTest {
 protected:
  HttpReply reply(Api& api, const char* path) {
    HttpRequest request;
    request.method = "GET";
    request.path = path;
    request.header = [](const char*) { return std::nullopt; };
    request.query = [] { return std::vector<std::pair<std::string, std::string>>(); };
    return api.answer(request, Caller{"admin", Role::kAdmin});
  }
};

TEST_F(ApiTaskTest, TheStoreHoldsUpNothingThatDoesNotNeedIt) {
  const auto api = Api::create(sources());
  for (const char* path : {"/api/openapi.json", "/api/v1/consumers", "/api/v1/consumers/payments",
                           "/api/v1/consumers/payments/backlog", "/api/v1/config"}) {
    const auto answer = reply(*api, path);
    ASSERT_TRUE(std::holds_alternative<HttpResponse>(answer)) << path;
    EXPECT_EQ(std::get<HttpResponse>(answer).status, 200) << path;
  }
  EXPECT_TRUE(std::holds_alternative<HttpTask>(reply(*api, "/api/v1/dead-letters")));
}

TEST_F(ApiTaskTest, OneDoctorRunsAtATime) {
  ApiSources asked = sources();
  std::function<void()> meanwhile;
  asked.doctor = [&](Store&) -> Result<std::string> {
    if (meanwhile) std::exchange(meanwhile, nullptr)();
    return "{}";
  };
  const auto api = Api::create(std::move(asked));
  const auto run = [&] { return std::get<HttpTask>(reply(*api, "/api/v1/doctor")).run(); };
  HttpResponse second;
  meanwhile = [&] { second = run(); };
  EXPECT_EQ(run().status, 200);
  EXPECT_EQ(second.status, 503);
  EXPECT_EQ(text_at(second.body, "/code"), "R345") << second.body;
  EXPECT_TRUE(std::ranges::any_of(second.headers,
                                  [](const auto& one) { return one.first == "Retry-After"; }));
  EXPECT_EQ(run().status, 200) << "the first is over";
}

// docs/api.md has this table.
const std::map<std::string_view, Role> kNeeded = {{"openapi", Role::kRead},
                                                  {"showStatus", Role::kRead},
                                                  {"listConsumers", Role::kRead},
                                                  {"showConsumer", Role::kRead},
                                                  {"showBacklog", Role::kRead},
                                                  {"pauseConsumer", Role::kOperator},
                                                  {"resumeConsumer", Role::kOperator},
                                                  {"claimKeys", Role::kRead},
                                                  {"renewClaims", Role::kRead},
                                                  {"finishClaims", Role::kRead},
                                                  {"showRecord", Role::kRead},
                                                  {"unlockRecord", Role::kOperator},
                                                  {"forgetRecord", Role::kAdmin},
                                                  {"listDeadLetters", Role::kRead},
                                                  {"groupDeadLetters", Role::kRead},
                                                  {"showDeadLetter", Role::kRead},
                                                  {"replayDeadLetter", Role::kOperator},
                                                  {"editDeadLetter", Role::kAdmin},
                                                  {"discardDeadLetter", Role::kAdmin},
                                                  {"replayDeadLetters", Role::kOperator},
                                                  {"discardDeadLetters", Role::kAdmin},
                                                  {"listJobs", Role::kRead},
                                                  {"showJob", Role::kRead},
                                                  {"pauseJob", Role::kOperator},
                                                  {"resumeJob", Role::kOperator},
                                                  {"cancelJob", Role::kOperator},
                                                  {"runDoctor", Role::kOperator},
                                                  {"showConfig", Role::kAdmin},
                                                  {"drainConsumer", Role::kOperator},
                                                  {"showReload", Role::kRead},
                                                  {"reload", Role::kAdmin},
                                                  {"listAudit", Role::kAdmin}};

// Each token may claim from the claimed consumer.
class ApiRolesTest : public ApiTest {
 protected:
  ApiRolesTest() : ApiTest(kClaimsConfig) {
    EXPECT_TRUE(store_->attach({"mails", "recipe", false, {}}));
    claims_of_tokens_ = {"mails"};
  }

  // The path of a route: everything that it names exists and is new.
  std::string fresh_path(const ApiRoute& route) {
    end_jobs();
    const std::string key = fmt::format("key-{}", ++made_);
    finish(key, Finish::To::kDead, "handler.native");
    DeadLetterFilter all;
    all.limit = 1'000;
    const auto letters = store_->facets().dead_letters->list(all).value();
    std::string path(route.path);
    for (const auto& [place, value] :
         {std::pair<std::string, std::string>{"{name}", route.claims ? "mails" : "payments"},
          {"{key}", key},
          {"{id}",
           path.starts_with("/api/v1/jobs") ? fresh_job() : std::to_string(letters.back().id)}}) {
      if (const auto at = path.find(place); at != std::string::npos) {
        path.replace(at, place.size(), value);
      }
    }
    return route.begun.empty() || route.query.empty() ? path : path + "?all=true";
  }
  // A job that discards all letters would also take the letter that is made next.
  void end_jobs() {
    for (const JobView& job : jobs_.list()) jobs_.cancel(job.id, "by the test");
    EXPECT_TRUE(test::comes_true([&] {
      return std::ranges::all_of(jobs_.list(),
                                 [](const JobView& job) { return is_over(job.state); });
    }));
  }
  // Makes a job that has not ended; there is no other.
  std::string fresh_job() {
    end_jobs();
    // The job stops at the first of them.
    for (int i = 0; i < 2; ++i) {
      finish(fmt::format("key-{}", ++made_), Finish::To::kDead, "handler.native");
    }
    operate::LetterWork work;
    work.query.limit = 1'000;
    work.rate = operate::Rate{1, std::chrono::hours(1)};
    JobView about;
    about.id = 1'000'000 + ++made_;
    EXPECT_TRUE(test::comes_true([&] { return jobs_.begin(work, about).has_value(); }));
    return std::to_string(about.id);
  }
  static int good_status(const ApiRoute& route) { return route.begun.empty() ? 200 : 202; }
  test::HttpAnswer ask(const ApiRoute& route, const std::string& path,
                       std::vector<std::string> headers) const {
    const std::string method(route.method);
    // The edit needs a reason.
    const std::string body = route.operation == "editDeadLetter" ? R"({"reason":"a test"})" : "";
    if (method != "GET") {
      headers.push_back("Content-Type: application/json");
      headers.push_back(fmt::format("Content-Length: {}", body.size()));
    }
    if (body.empty()) return get(path, std::move(headers), method.c_str());
    const bool host = std::ranges::any_of(
        headers, [](const std::string& line) { return line.starts_with("Host:"); });
    if (!host) headers.push_back("Host: localhost");
    return test::http_answer(test::http_raw(
        server_->port(), fmt::format("{} {} HTTP/1.1\r\nConnection: close\r\n{}\r\n\r\n{}", method,
                                     path, fmt::join(headers, "\r\n"), body)));
  }
  static std::string bearer(Role role) { return "Authorization: Bearer " + secret_of(role); }

  int made_ = 0;
};

TEST_F(ApiRolesTest, EachRouteAnswersEachRoleAsTheTableSays) {
  open(true);
  std::size_t seen = 0;
  for (const ApiRoute& route : api_routes()) {
    ASSERT_TRUE(kNeeded.contains(route.operation)) << route.operation;
    const Role needed = kNeeded.at(route.operation);
    std::string path = fresh_path(route);
    EXPECT_EQ(ask(route, path, {}).status, 401) << path;
    EXPECT_EQ(ask(route, path, {"Authorization: Bearer the secret of nobody"}).status, 401);
    for (const Role role : {Role::kRead, Role::kOperator, Role::kAdmin}) {
      path = fresh_path(route);
      const auto answer = ask(route, path, {bearer(role)});
      EXPECT_EQ(answer.status, role >= needed ? good_status(route) : 403)
          << path << " as " << to_string(role) << " " << answer.body;
      if (role < needed) {
        EXPECT_EQ(text_at(answer.body, "/code"), "R342") << answer.body;
      }
    }
    ++seen;
  }
  EXPECT_EQ(seen, kNeeded.size());
}

TEST_F(ApiRolesTest, WithoutTokensEverybodyOnThisMachineReads) {
  open(false);
  for (const ApiRoute& route : api_routes()) {
    const bool reads = kNeeded.at(route.operation) == Role::kRead && !route.claims;
    const std::string path = fresh_path(route);
    EXPECT_EQ(ask(route, path, {}).status, reads ? 200 : 403) << path;
    EXPECT_EQ(ask(route, path, {"Host: evil.example"}).status, 403) << path;
  }
}

TEST_F(ApiRolesTest, OtherMethodsAreRefused) {
  open(false);
  for (const ApiRoute& route : api_routes()) {
    const std::string path = fresh_path(route);
    const auto answer = get(path, {"Content-Length: 0"}, "DELETE");
    EXPECT_EQ(answer.status, 405) << path;
    std::string allowed;
    for (const ApiRoute& other : api_routes()) {
      if (other.path != route.path) continue;
      allowed += allowed.empty() ? "" : ", ";
      allowed += other.method == "GET" ? "GET, HEAD" : "POST";
    }
    EXPECT_EQ(answer.header("Allow"), allowed) << path;
  }
  for (const char* path :
       {"/api/", "/api/v1", "/api/v1/", "/api/v1/consumers/", "/api/v2/consumers",
        "/api/v1/dead-letters/1/", "/api/v1/consumers/payments/records"}) {
    EXPECT_EQ(get(path).status, 404) << path;
  }
}

// The document describes each route as it behaves, and no other route.
TEST_F(ApiRolesTest, TheOpenApiDocumentIsThatOfTheRoutes) {
  open(true);
  const std::string document = get_as(Role::kRead, "/api/openapi.json").body;
  EXPECT_EQ(text_at(document, "/openapi"), "3.1.0") << document;
  std::size_t operations = 0;
  for (std::size_t at = 0; (at = document.find("\"operationId\"", at)) != std::string::npos; ++at) {
    ++operations;
  }
  EXPECT_EQ(operations, api_routes().size());
  for (const ApiRoute& route : api_routes()) {
    std::string escaped;
    for (const char c : route.path) escaped += c == '/' ? "~1" : std::string(1, c);
    const bool reads = route.method == "GET";
    const std::string operation = "/paths/" + escaped + (reads ? "/get" : "/post");
    EXPECT_EQ(text_at(document, operation + "/operationId"), route.operation);
    EXPECT_EQ(text_at(document, operation + "/x-semel-role"), to_string(route.role));
    for (std::size_t i = 0; i < route.query.size(); ++i) {
      const auto places = static_cast<std::size_t>(std::ranges::count(route.path, '{'));
      EXPECT_EQ(text_at(document, fmt::format("{}/parameters/{}/name", operation, places + i)),
                route.query[i].name);
    }
    for (const QueryParameter& member : route.body) {
      EXPECT_EQ(text_at(document, fmt::format("{}/requestBody/content/application~1json/schema/"
                                              "properties/{}/type",
                                              operation, member.name)),
                member.type);
    }
    const std::string answer = ask(route, fresh_path(route), {bearer(Role::kAdmin)}).body;
    const std::string schema = text_at(
        document,
        fmt::format("{}/responses/{}/content/application~1json/schema/properties/schema/const",
                    operation, good_status(route)));
    if (route.schema.empty() || route.operation == "runDoctor") continue;
    EXPECT_EQ(text_at(answer, "/schema"), schema) << answer;
  }
}

TEST_F(ApiTest, ACallerThatAsksTooOftenIsToldSo) {
  const auto api = Api::create(sources());
  HttpRequest request;
  request.method = "GET";
  request.path = "/api/v1/none";
  request.header = [](const char*) { return std::nullopt; };
  const auto status = [&](const char* caller) {
    return std::get<HttpResponse>(api->answer(request, Caller{caller, Role::kRead})).status;
  };
  std::map<int, int> statuses;
  for (int i = 0; i < static_cast<int>(3 * Api::kBurst); ++i) ++statuses[status("one")];
  EXPECT_GE(statuses[404], static_cast<int>(Api::kBurst));
  EXPECT_GT(statuses[429], 0);
  EXPECT_EQ(status("another"), 404);
}

}  // namespace
}  // namespace semel::admin
