// The listener on a Unix socket: which callers are answered, and with which role.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "admin/test_api.h"
#include "tests/support/temp_dir.h"

namespace semel::admin {
namespace {

const std::string kSocketClaims = "/api/v1/consumers/mails/claims";
const std::string kPausePayments = "/api/v1/consumers/payments/pause";

class AdminSocketTest : public ApiTest {
 protected:
  AdminSocketTest() : ApiTest(kClaimsConfig) {
    mails_ = store_->attach({"mails", "recipe", false, {}}).value();
  }

  void listen(AdminOptions::Socket socket, bool tokens = false, bool tcp = false) {
    AdminOptions options;
    socket.path = path_;
    options.socket = std::move(socket);
    if (tcp) options.listen = {"127.0.0.1", 0};
    if (tokens) options.tokens.push_back({"ops", secret_of(Role::kOperator), Role::kOperator, {}});
    const auto metrics = [](MetricsFormat) { return std::string("figures"); };
    auto server = AdminServer::open(std::move(options), {metrics, sources()});
    ASSERT_TRUE(server) << server.error().message;
    server_ = std::move(*server);
  }
  test::HttpAnswer ask(const std::string& target, std::vector<std::string> headers = {}) const {
    return test::http_get_at(path_, target, headers);
  }
  test::HttpAnswer post(const std::string& target, const std::string& body,
                        const std::vector<std::string>& headers = {}) const {
    std::string sent = fmt::format("POST {} HTTP/1.1\r\nConnection: close\r\n", target);
    sent += fmt::format("Content-Type: application/json\r\nContent-Length: {}\r\n", body.size());
    bool host = false;
    for (const std::string& line : headers) {
      sent += line + "\r\n";
      host |= line.starts_with("Host:");
    }
    if (!host) sent += "Host: localhost\r\n";
    return test::http_answer(test::http_raw_at(path_, sent + "\r\n" + body));
  }
  test::HttpAnswer claim(const std::string& key, const std::string& more = {}) const {
    return post(kSocketClaims, fmt::format(R"({{{}"claims":[{{"key":"{}"}}]}})", more, key));
  }
  static std::string bearer(Role role) { return "Authorization: Bearer " + secret_of(role); }

  const test::TempDir folder_;
  const std::string path_ = folder_.file("admin.sock");
  ConsumerNumber mails_{};
};

TEST_F(AdminSocketTest, ReadsAndNoMoreWhereNothingIsGiven) {
  listen({});
  EXPECT_EQ(server_->port(), 0) << "nothing listens on TCP";
  EXPECT_EQ(ask("/metrics").body, "figures");
  EXPECT_EQ(ask("/api/v1/consumers").status, 200);
  const auto refused = post(kPausePayments, "{}");
  EXPECT_EQ(refused.status, 403);
  EXPECT_NE(refused.body.find("the socket gives the role read"), std::string::npos) << refused.body;
  EXPECT_EQ(claim("m-1").status, 403);
}

TEST_F(AdminSocketTest, NeedsATokenWhereThereIsOne) {
  listen({}, true);
  EXPECT_EQ(ask("/api/v1/consumers").status, 401);
  EXPECT_EQ(ask("/metrics").status, 401);
  EXPECT_EQ(ask("/api/v1/consumers", {bearer(Role::kOperator)}).status, 200);
  EXPECT_EQ(post(kPausePayments, "{}", {bearer(Role::kOperator)}).status, 200);
}

TEST_F(AdminSocketTest, AWrongTokenIsNotTakenForNoneWhereNoTokenIsConfigured) {
  AdminOptions::Socket socket;
  socket.role = Role::kOperator;
  listen(std::move(socket));
  EXPECT_EQ(post(kPausePayments, "{}", {"Authorization: Bearer wrong"}).status, 401);
  EXPECT_EQ(post(kPausePayments, "{}").status, 200);
}

TEST_F(AdminSocketTest, ARoleIsThatOfWhoMayConnect) {
  listen({{}, false, Role::kOperator, {}}, true);
  EXPECT_EQ(post(kPausePayments, R"({"reason":"ticket 7"})").status, 200);
  EXPECT_EQ(claim("m-1").status, 403) << "no role claims";
  const auto entries = store_->facets().audit->list(std::nullopt, 10);
  ASSERT_TRUE(entries);
  ASSERT_EQ(entries->size(), 1U);
  EXPECT_EQ(entries->front().who, fmt::format("uid {}", ::geteuid()));
  EXPECT_EQ(ask("/api/v1/config").status, 403) << "that needs an admin";
}

TEST_F(AdminSocketTest, ATokenThatIsWrongIsNotTakenForNone) {
  listen({{}, false, Role::kOperator, {}}, true);
  EXPECT_EQ(ask("/api/v1/consumers", {"Authorization: Bearer of somebody"}).status, 401);
  EXPECT_EQ(post(kPausePayments, "{}", {"Authorization: Bearer of somebody"}).status, 401);
}

TEST_F(AdminSocketTest, ClaimsAreGivenWithoutAToken) {
  listen({{}, false, std::nullopt, {"mails"}}, true);
  const auto given = claim("m-1", R"("request":"r-1",)");
  ASSERT_EQ(given.status, 200) << given.body;
  EXPECT_EQ(text_at(given.body, "/claims/0/outcome"), "new");
  const std::string nonce = text_at(given.body, "/claims/0/nonce");
  EXPECT_EQ(text_at(claim("m-1", R"("request":"r-1",)").body, "/claims/0/nonce"), nonce)
      << "a lost answer that is asked for again";
  EXPECT_EQ(text_at(claim("m-1").body, "/claims/0/outcome"), "busy");
  const auto done =
      post(kSocketClaims + "/finish",
           fmt::format(R"({{"claims":[{{"key":"m-1","nonce":"{}","as":"done"}}]}})", nonce));
  EXPECT_EQ(text_at(done.body, "/claims/0/outcome"), "done") << done.body;
  EXPECT_EQ(post("/api/v1/consumers/payments/claims", R"({"claims":[{"key":"x"}]})").status, 403);
  for (const char* const path : {"/api/v1/consumers", "/metrics", "/"}) {
    EXPECT_EQ(ask(path).status, 401) << path << ": tokens are configured, and it has none";
  }
  EXPECT_EQ(post(kPausePayments, "{}").status, 401);
}

TEST_F(AdminSocketTest, WithoutTokensWhoClaimsMayReadToo) {
  listen({{}, false, std::nullopt, {"mails"}});
  EXPECT_EQ(claim("m-1", R"("request":"r-1",)").status, 200);
  EXPECT_EQ(ask("/api/v1/consumers").status, 200);
  EXPECT_EQ(post(kPausePayments, "{}").status, 403) << "who claims is no operator";
}

// A browser reaches the socket through a proxy, which must not lend its rights to a page of another
// site.
TEST_F(AdminSocketTest, APageOfAnotherSiteChangesNothing) {
  listen({{}, false, Role::kAdmin, {"mails"}});
  EXPECT_EQ(ask("/api/v1/consumers", {"Host: evil.example"}).status, 403);
  EXPECT_EQ(ask("/", {"Host: evil.example"}).status, 403);
  const std::string body = R"({"claims":[{"key":"m-1"}]})";
  EXPECT_EQ(post(kSocketClaims, body, {"Host: evil.example"}).status, 403);
  EXPECT_EQ(post(kSocketClaims, body, {"Origin: http://evil.example"}).status, 403);
  EXPECT_EQ(post(kPausePayments, "{}", {"Sec-Fetch-Site: cross-site"}).status, 403);
  EXPECT_EQ(claim("m-1").status, 200);
}

TEST_F(AdminSocketTest, BothListenersAnswerAtOnce) {
  listen({}, false, true);
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([this, i] {
      for (int k = 0; k < 10; ++k) {
        const auto answer = i % 2 == 0 ? ask("/api/v1/consumers") : get("/api/v1/consumers");
        EXPECT_EQ(answer.status, 200) << answer.body;
      }
    });
  }
  for (std::thread& one : callers) one.join();
}

}  // namespace
}  // namespace semel::admin
