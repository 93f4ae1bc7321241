#include "admin/admin_server.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>

#include "admin/test_api.h"
#include "base/json.h"
#include "tests/support/http_get.h"

namespace semel::admin {
namespace {

using test::http_get;

constexpr const char* kSecret = "0123456789abcdef";

class AdminServerTest : public ::testing::Test {
 protected:
  void open(std::vector<std::string> tokens = {}) {
    AdminOptions options;
    options.listen = {"127.0.0.1", 0};
    for (std::string& token : tokens) options.tokens.push_back({"one", std::move(token)});
    ApiSources sources;
    sources.config = &config_;
    sources.readiness = [this] { return readiness_; };
    sources.overview = [this] { return overview_; };
    sources.backlog = [](std::string_view consumer) {
      if (consumer == "unknown") return Backlog{true, std::nullopt};
      return consumer == "payments" ? Backlog{true, 42} : Backlog{};
    };
    const auto metrics = [](MetricsFormat format) {
      return format == MetricsFormat::kOpenMetrics ? "open" : "plain";
    };
    auto server = AdminServer::open(std::move(options), {metrics, std::move(sources)});
    ASSERT_TRUE(server) << server.error().message;
    server_ = std::move(*server);
  }
  test::HttpAnswer get(const char* path, const std::vector<std::string>& headers = {},
                       const char* method = "GET") const {
    return http_get(server_->port(), path, headers, method);
  }
  static std::string bearer(const std::string& token) { return "Authorization: Bearer " + token; }

  config::Config config_;
  Readiness readiness_;
  Overview overview_;
  std::unique_ptr<AdminServer> server_;
};

TEST_F(AdminServerTest, MetricsComeInTheFormatThatIsAskedFor) {
  open();
  EXPECT_EQ(get("/metrics").body, "plain");
  EXPECT_EQ(get("/metrics").header("Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
  const auto answer =
      get("/metrics", {"Accept: application/openmetrics-text;version=1.0.0;q=0.5,*/*;q=0.1"});
  EXPECT_EQ(answer.body, "open");
  EXPECT_EQ(answer.header("Content-Type"),
            "application/openmetrics-text; version=1.0.0; charset=utf-8");
  EXPECT_EQ(answer.header("Cache-Control"), "no-store");
}

TEST_F(AdminServerTest, HealthFollowsTheRun) {
  open();
  readiness_.consumers.push_back({{"payments", {}, std::nullopt}, {}});
  struct Row {
    Readiness::Phase phase;
    bool outage;
    int live, ready, started;
    const char* word;
  };
  using Phase = Readiness::Phase;
  for (const Row& row : {Row{Phase::kStarting, false, 200, 503, 503, "starting"},
                         Row{Phase::kRunning, false, 200, 200, 200, "ready"},
                         Row{Phase::kRunning, true, 200, 503, 200, "not_ready"},
                         Row{Phase::kDraining, false, 200, 503, 200, "draining"}}) {
    readiness_.phase = row.phase;
    auto& outages = readiness_.consumers[0].health.outages;
    outages.clear();
    if (row.outage) outages.push_back({"store", {}, "the server is away", false});
    EXPECT_EQ(get("/livez").status, row.live) << row.word;
    EXPECT_EQ(get("/startupz").status, row.started) << row.word;
    const auto ready = get("/readyz");
    EXPECT_EQ(ready.status, row.ready) << row.word;
    EXPECT_NE(ready.body.find(std::string("\"status\":\"") + row.word), std::string::npos)
        << ready.body;
    EXPECT_EQ(ready.body.find("the server is away") != std::string::npos, row.outage);
  }
}

TEST_F(AdminServerTest, ReadinessNamesPartitions) {
  readiness_.phase = Readiness::Phase::kRunning;
  readiness_.consumers.push_back(
      {{"payments", {}, std::nullopt}, {{"kafka", {{"lag", "orders-0", 3, {}}}}}});
  open();
  EXPECT_EQ(get("/readyz").body,
            "{\"schema\":\"semel.v1.readiness\",\"status\":\"ready\",\"consumers\":[{\"name\":"
            "\"payments\",\"status\":\"ready\",\"outages\":[],\"sources\":[{\"source\":\"kafka\","
            "\"figures\":[{\"name\":\"lag\",\"partition\":\"orders-0\",\"value\":3}]}]}]}\n");
}

TEST_F(AdminServerTest, ATokenIsAskedForWhereThereIsOne) {
  open({kSecret, "another secret of them"});
  readiness_.phase = Readiness::Phase::kRunning;
  const auto refused = get("/metrics");
  EXPECT_EQ(refused.status, 401);
  EXPECT_EQ(refused.header("WWW-Authenticate"), "Bearer");
  EXPECT_EQ(refused.body.find("plain"), std::string::npos);
  for (const char* wrong : {"", "0123456789abcde", "0123456789abcdeX", "0123456789abcdef0"}) {
    EXPECT_EQ(get("/metrics", {bearer(wrong)}).status, 401) << wrong;
  }
  EXPECT_EQ(get("/metrics", {bearer(kSecret)}).status, 200);
  EXPECT_EQ(get("/metrics", {bearer("another secret of them")}).status, 200);
  // A probe shows no token, and gets no details.
  EXPECT_EQ(get("/readyz").status, 200);
  EXPECT_EQ(get("/readyz").body, "ready\n");
  EXPECT_NE(get("/readyz", {bearer(kSecret)}).body.find("consumers"), std::string::npos);
  EXPECT_EQ(get("/livez").status, 200);
}

TEST_F(AdminServerTest, ThePageLoadsNothingFromElsewhere) {
  open();
  const auto page = get("/");
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.header("Content-Type"), "text/html; charset=utf-8");
  EXPECT_TRUE(page.header("Content-Security-Policy").starts_with("default-src 'none';"));
  EXPECT_NE(page.body.find("href=\"style.css\""), std::string::npos) << page.body;
  EXPECT_EQ(page.body.find("href=\"/"), std::string::npos) << "it may stand behind a path prefix";
  EXPECT_EQ(page.body.find("//"), std::string::npos);
  EXPECT_EQ(get("/style.css").header("Content-Type"), "text/css; charset=utf-8");
  EXPECT_EQ(get("/page.js").header("Content-Type"), "text/javascript; charset=utf-8");
}

// The credentials are "any:0123456789abcdef".
TEST_F(AdminServerTest, ABrowserSendsTheTokenAsItsPassword) {
  open({kSecret});
  const auto refused = get("/");
  EXPECT_EQ(refused.status, 401);
  EXPECT_EQ(refused.header("WWW-Authenticate"), "Basic realm=\"Semel\"");
  EXPECT_EQ(get("/", {"Authorization: Basic YW55OjAxMjM0NTY3ODlhYmNkZWY="}).status, 200);
  EXPECT_EQ(get("/", {"Authorization: basic YW55OjAxMjM0NTY3ODlhYmNkZWY="}).status, 200);
  for (const char* wrong :
       {"YW55OjAxMjM0NTY3ODlhYmNkZQ==", "MDEyMzQ1Njc4OWFiY2RlZg==", "%%%", ""}) {
    EXPECT_EQ(get("/", {std::string("Authorization: Basic ") + wrong}).status, 401) << wrong;
  }
}

TEST_F(AdminServerTest, TheBacklogIsOneNumberForAScaler) {
  open();
  const auto answer = get("/api/v1/consumers/payments/backlog");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.header("Content-Type"), "application/json");
  EXPECT_EQ(answer.body,
            "{\"schema\":\"semel.v1.backlog\",\"consumer\":\"payments\",\"backlog\":42}\n");
  EXPECT_EQ(get("/api/v1/consumers/unknown/backlog").status, 503) << "no zero";
  for (const char* path : {"/api/v1/consumers/other/backlog", "/api/v1/consumers/payments",
                           "/api/v1/consumers/", "/api/v1/consumers/backlog"}) {
    EXPECT_EQ(get(path).status, 404) << path;
  }
  open({kSecret});
  EXPECT_EQ(get("/api/v1/consumers/payments/backlog").status, 401);
}

TEST_F(AdminServerTest, APageOfAnotherSiteGetsNothing) {
  open();
  for (const char* host :
       {"Host: evil.example", "Host: localhost.evil.example", "Host: 127.0.0.1.evil.example:80"}) {
    EXPECT_EQ(get("/metrics", {host}).status, 403) << host;
  }
  for (const char* host : {"Host: localhost:8585", "Host: 127.0.0.1", "Host: [::1]:8585"}) {
    EXPECT_EQ(get("/metrics", {host}).status, 200) << host;
  }
}

TEST_F(AdminServerTest, OnlyReads) {
  open();
  for (const char* method : {"POST", "PUT", "DELETE", "PATCH", "OPTIONS"}) {
    const auto answer = get("/metrics", {"Content-Length: 0"}, method);
    EXPECT_EQ(answer.status, 405) << method;
    EXPECT_EQ(answer.header("Allow"), "GET, HEAD") << method;
  }
  EXPECT_EQ(get("/other").status, 404);
  EXPECT_EQ(get("/metrics/").status, 404);
}

TEST_F(AdminServerTest, AHeadThatCanBeReadInTwoWaysIsRefused) {
  open();
  const auto answer = get("/metrics", {"Content-Length: 0", "Transfer-Encoding: chunked"});
  EXPECT_EQ(answer.status, 400);
  EXPECT_NE(answer.body.find("R344"), std::string::npos) << answer.body;
}

// An unusable renewed certificate is reported, but the process stays ready, since requests are
// still answered.
TEST(Readiness, ACertificateThatCannotBeUsedIsNamedAndNoOutage) {
  Readiness made;
  made.phase = Readiness::Phase::kRunning;
  EXPECT_EQ(made.json().find("certificate"), std::string::npos);
  made.certificate = CertificateTrouble{{ErrorKind::kRejected, "R363", "it is no key", {}},
                                        UtcTime(std::chrono::hours(1))};
  EXPECT_TRUE(made.ready());
  EXPECT_EQ(text_at(made.json(), "/status"), "ready");
  EXPECT_EQ(text_at(made.json(), "/certificate/code"), "R363");
  EXPECT_EQ(text_at(made.json(), "/certificate/error"), "it is no key");
  EXPECT_EQ(text_at(made.json(), "/certificate/since"), "1970-01-01T01:00:00.000Z");
}

}  // namespace
}  // namespace semel::admin
