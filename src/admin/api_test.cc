#include "admin/api.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <semel/memory.h>
#include <semel/records.h>

#include "admin/admin_server.h"
#include "admin/api_route.h"
#include "base/json.h"
#include "tests/support/builders.h"
#include "tests/support/http_get.h"

namespace semel::admin {
namespace {

using core::Role;
using test::http_get;

constexpr const char* kApiConfig =
    "version: 1\n"
    "store: { memory: {} }\n"
    "consumers:\n"
    "  - { name: payments, source: { stdin: {} }, key: json:/id, handler: { native: pay } }\n";

std::string secret_of(Role role) { return fmt::format("the secret of {}", to_string(role)); }

std::string text_at(const std::string& body, const std::string& pointer) {
  json::Document document;
  if (!document.parse(body)) return "(no JSON)";
  const auto found = document.at(json::Pointer::parse(pointer).value());
  if (!found) return "(wrong)";
  if (const auto* text = std::get_if<std::string>(&*found)) return *text;
  if (const auto* number = std::get_if<json::Integer>(&*found)) return std::string(number->written);
  if (std::holds_alternative<json::Absent>(*found)) return "(absent)";
  return "(other)";
}

class ApiTest : public ::testing::Test {
 protected:
  ApiTest()
      : config_(config::load_text(kApiConfig, "semel.yaml").config.value()),
        store_(make_memory_store()),
        number_(store_->attach({"payments", "recipe", false, {}}).value()) {
    overview_.store = "memory";
    overview_.phase = "ready";
    ConsumerOverview consumer;
    consumer.name = "payments";
    consumer.state = "running";
    consumer.guarantee = "at_least_once";
    overview_.consumers.push_back(consumer);
  }

  ApiSources sources() {
    ApiSources made;
    made.config = &config_;
    made.overview = [this] { return overview_; };
    made.readiness = [] { return Readiness(); };
    made.backlog = [](std::string_view name) { return Backlog{name == "payments", 42}; };
    made.guarantee = [](const config::ConsumerConfig&) { return Guarantee(); };
    made.with_store = [this](const std::function<void(Store&)>& use) {
      if (running_) use(*store_);
      return running_;
    };
    made.doctor = [](Store&) -> Result<std::string> { return "{\"ok\":true}"; };
    return made;
  }

  // With a token for each role, or none.
  void open(bool tokens) {
    AdminOptions options;
    options.listen = {"127.0.0.1", 0};
    if (tokens) {
      for (const Role role : {Role::kRead, Role::kOperator, Role::kAdmin}) {
        options.tokens.push_back({std::string(to_string(role)), secret_of(role), role});
      }
    }
    const auto metrics = [](MetricsFormat) { return std::string(); };
    auto server = AdminServer::open(std::move(options), {metrics, sources()});
    ASSERT_TRUE(server) << server.error().message;
    server_ = std::move(*server);
  }

  test::HttpAnswer get(const std::string& path, std::vector<std::string> headers = {},
                       const char* method = "GET") const {
    return http_get(server_->port(), path, headers, method);
  }
  test::HttpAnswer get_as(Role role, const std::string& path) const {
    return get(path, {"Authorization: Bearer " + secret_of(role)});
  }

  Message message(const std::string& key) {
    Message::Parts parts = test::make_parts(number_, key, "{\"secret\":1}");
    parts.key.id = config_.consumers[0].key.id_of(number_, key);
    parts.headers.push_back({"x-card", "4111"});
    return Message(std::move(parts));
  }
  void finish(const std::string& key, Finish::To to, const std::string& reason = {}) {
    const Message one = message(key);
    const Message* const pointer = &one;
    const auto claims = store_->claim({&pointer, 1}, {}).value();
    Finish finish;
    finish.to = to;
    finish.lease = std::get<Acquired>(claims[0]).lease;
    finish.reason = reason;
    finish.error = "it went wrong";
    finish.result = to == Finish::To::kCompleted ? "the result" : "";
    finish.keep = to == Finish::To::kDead ? &one : nullptr;
    ASSERT_EQ(store_->finish({&finish, 1}).value()[0], Applied::kYes);
  }

  const config::Config config_;
  const std::unique_ptr<Store> store_;
  const ConsumerNumber number_;
  bool running_ = true;
  Overview overview_;
  std::unique_ptr<AdminServer> server_;
};

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

// The path of a route with something for each place; all that it names exists.
std::string path_for(const ApiRoute& route, const std::string& letter) {
  std::string path(route.path);
  for (const auto& [place, value] : std::map<std::string, std::string>{
           {"{name}", "payments"}, {"{key}", "done"}, {"{id}", letter}}) {
    if (const auto at = path.find(place); at != std::string::npos) {
      path.replace(at, place.size(), value);
    }
  }
  return path;
}

// docs/api.md has this table.
const std::map<std::string_view, Role> kNeeded = {
    {"openapi", Role::kRead},          {"listConsumers", Role::kRead},
    {"showConsumer", Role::kRead},     {"showBacklog", Role::kRead},
    {"showRecord", Role::kRead},       {"listDeadLetters", Role::kRead},
    {"groupDeadLetters", Role::kRead}, {"showDeadLetter", Role::kRead},
    {"runDoctor", Role::kOperator},    {"showConfig", Role::kAdmin}};

class ApiRolesTest : public ApiTest {
 protected:
  void fill() {
    finish("done", Finish::To::kCompleted);
    finish("given up", Finish::To::kDead, "handler.native");
    letter_ = std::to_string(store_->facets().dead_letters->list({}).value()[0].id);
  }
  std::string letter_;
};

TEST_F(ApiRolesTest, EachRouteAnswersEachRoleAsTheTableSays) {
  open(true);
  fill();
  std::size_t seen = 0;
  for (const ApiRoute& route : api_routes()) {
    ASSERT_TRUE(kNeeded.contains(route.operation)) << route.operation;
    const Role needed = kNeeded.at(route.operation);
    const std::string path = path_for(route, letter_);
    EXPECT_EQ(get(path).status, 401) << path;
    EXPECT_EQ(get(path, {"Authorization: Bearer the secret of nobody"}).status, 401) << path;
    for (const Role role : {Role::kRead, Role::kOperator, Role::kAdmin}) {
      const auto answer = get_as(role, path);
      EXPECT_EQ(answer.status, role >= needed ? 200 : 403) << path << " as " << to_string(role);
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
  fill();
  for (const ApiRoute& route : api_routes()) {
    const bool reads = kNeeded.at(route.operation) == Role::kRead;
    const std::string path = path_for(route, letter_);
    EXPECT_EQ(get(path).status, reads ? 200 : 403) << path;
    EXPECT_EQ(get(path, {"Host: evil.example"}).status, 403) << path;
  }
}

TEST_F(ApiRolesTest, OtherMethodsAreRefused) {
  open(false);
  fill();
  for (const ApiRoute& route : api_routes()) {
    const std::string path = path_for(route, letter_);
    const auto answer = get(path, {"Content-Length: 0"}, "DELETE");
    EXPECT_EQ(answer.status, 405) << path;
    EXPECT_EQ(answer.header("Allow"), "GET, HEAD") << path;
  }
  for (const char* path :
       {"/api/", "/api/v1", "/api/v1/", "/api/v1/consumers/", "/api/v2/consumers",
        "/api/v1/dead-letters/1/", "/api/v1/consumers/payments/records"}) {
    EXPECT_EQ(get(path).status, 404) << path;
  }
}

// The document says of each route what the route does, and of no other.
TEST_F(ApiRolesTest, TheOpenApiDocumentIsThatOfTheRoutes) {
  open(true);
  fill();
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
    const std::string operation = "/paths/" + escaped + "/get";
    EXPECT_EQ(text_at(document, operation + "/operationId"), route.operation);
    EXPECT_EQ(text_at(document, operation + "/x-semel-role"), to_string(route.role));
    const std::string answer = get_as(Role::kAdmin, path_for(route, letter_)).body;
    const std::string schema = text_at(
        document,
        operation + "/responses/200/content/application~1json/schema/properties/schema/const");
    if (route.schema.empty() || route.operation == "runDoctor") continue;
    EXPECT_EQ(text_at(answer, "/schema"), schema) << answer;
    for (std::size_t i = 0; i < route.query.size(); ++i) {
      const auto places = static_cast<std::size_t>(std::ranges::count(route.path, '{'));
      EXPECT_EQ(text_at(document, fmt::format("{}/parameters/{}/name", operation, places + i)),
                route.query[i].name);
    }
  }
}

TEST_F(ApiTest, ACallerThatAsksTooOftenIsToldSo) {
  const auto api = Api::create(sources());
  HttpRequest request;
  request.method = "GET";
  request.path = "/api/v1/none";
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
