// Reload and drain through the API.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <semel/admin/audit.h>

#include "admin/test_api.h"

namespace semel::admin {
namespace {

class ApiReloadTest : public ApiTest {
 protected:
  void SetUp() override {
    config_ = config::load_text(std::string(kApiConfig) +
                                    "  - { name: emails, source: { file: { path: in } }, key: "
                                    "json:/id, handler: { native: mail } }\n",
                                "semel.yaml")
                  .config.value();
    open(true);
  }

  std::vector<AuditEntry> audit() {
    return store_->facets().audit->list(std::nullopt, 100).value();
  }
};

TEST_F(ApiReloadTest, SaysWhatItTakesUp) {
  const auto taken = post_as(Role::kAdmin, "/api/v1/reload", "{\"reason\":\"ticket 7\"}");
  EXPECT_EQ(taken.status, 202) << taken.body;
  EXPECT_EQ(text_at(taken.body, "/schema"), "semel.v1.reload");
  EXPECT_EQ(text_at(taken.body, "/consumers/0/name"), "payments");
  EXPECT_EQ(text_at(taken.body, "/consumers/0/change"), "changed");
  EXPECT_EQ(text_at(taken.body, "/consumers/0/values/0/path"), "timeout");
  EXPECT_EQ(text_at(taken.body, "/consumers/0/values/0/from"), "20s");
  EXPECT_EQ(text_at(taken.body, "/consumers/0/values/0/to"), "30s");
  EXPECT_EQ(text_at(taken.body, "/unchanged/0"), "emails");
  ASSERT_EQ(audit().size(), 1U);
  EXPECT_EQ(audit()[0].action, "reload");
  EXPECT_EQ(audit()[0].target, "semel.yaml");
  EXPECT_EQ(audit()[0].reason, "ticket 7");
  EXPECT_EQ(audit()[0].outcome, "taken up: payments changed");
}

TEST_F(ApiReloadTest, ADryRunOnlySaysIt) {
  const auto said = post_as(Role::kAdmin, "/api/v1/reload", "{\"dry_run\":true}");
  EXPECT_EQ(said.status, 200) << said.body;
  EXPECT_EQ(text_at(said.body, "/consumers/0/name"), "payments");
  EXPECT_TRUE(audit().empty());
  reloaded_ = config::Difference{{}, {"payments"}, false, false, {}};
  const auto none = post_as(Role::kAdmin, "/api/v1/reload");
  EXPECT_EQ(none.status, 200) << none.body;
  EXPECT_EQ(audit().at(0).outcome, "nothing done: nothing has changed");
}

TEST_F(ApiReloadTest, AWrongConfigIsNamedErrorByError) {
  config::Diagnostic one;
  one.code = "E012";
  one.message = "unknown field";
  one.path = "consumers[0].x";
  one.file = "semel.yaml";
  one.where = {7, 3};
  one.excerpt = "password: hunter2";
  reloaded_ = tl::unexpected(
      ReloadRefusal{{ErrorKind::kRejected, "R355", "the config has 1 error", "mend it"}, {one}});
  const auto refused = post_as(Role::kAdmin, "/api/v1/reload");
  EXPECT_EQ(refused.status, 422) << refused.body;
  EXPECT_EQ(text_at(refused.body, "/code"), "R355");
  EXPECT_EQ(text_at(refused.body, "/errors/0/code"), "E012");
  EXPECT_EQ(text_at(refused.body, "/errors/0/line"), "7");
  EXPECT_EQ(text_at(refused.body, "/errors/0/column"), "3");
  EXPECT_EQ(refused.body.find("hunter2"), std::string::npos) << "an excerpt may have a secret";
  EXPECT_EQ(audit().at(0).outcome, "refused: R355: the config has 1 error");
  reloaded_ = tl::unexpected(ReloadRefusal{
      {ErrorKind::kRejected, "R356", "a reload cannot change admin.listen", "restart the run"},
      {}});
  EXPECT_EQ(post_as(Role::kAdmin, "/api/v1/reload").status, 409);
  EXPECT_EQ(post_as(Role::kAdmin, "/api/v1/reload", "{\"dry_run\":1}").status, 400);
}

TEST_F(ApiReloadTest, ShowsHowFarItIs) {
  EXPECT_EQ(text_at(get_as(Role::kRead, "/api/v1/reload").body, "/last"), "none");
  reload_state_.last = ReloadState::Last::kTaken;
  reload_state_.waits_for = {"payments"};
  reload_state_.taken = 1;
  const auto shown = get_as(Role::kRead, "/api/v1/reload");
  EXPECT_EQ(text_at(shown.body, "/last"), "taken") << shown.body;
  EXPECT_EQ(text_at(shown.body, "/waits_for/0"), "payments");
  EXPECT_NE(shown.body.find("\"in_effect\":false"), std::string::npos) << shown.body;
  reload_state_.last = ReloadState::Last::kRefused;
  reload_state_.code = "R355";
  reload_state_.error = "timeout cannot be \"x\"";
  EXPECT_EQ(text_at(get_as(Role::kAdmin, "/api/v1/reload").body, "/error"), reload_state_.error);
  const auto others = get_as(Role::kOperator, "/api/v1/reload");
  EXPECT_EQ(text_at(others.body, "/last"), "refused") << others.body;
  EXPECT_EQ(text_at(others.body, "/code"), "R355");
  EXPECT_EQ(text_at(others.body, "/error"), "(absent)") << "the config is for admins";
}

TEST_F(ApiReloadTest, DrainsAConsumer) {
  const auto drains =
      post_as(Role::kOperator, "/api/v1/consumers/payments/drain", "{\"reason\":\"a new disk\"}");
  EXPECT_EQ(drains.status, 200) << drains.body;
  EXPECT_EQ(text_at(drains.body, "/state"), "draining");
  EXPECT_EQ(text_at(drains.body, "/in_flight"), "3");
  ASSERT_EQ(audit().size(), 1U);
  EXPECT_EQ(audit()[0].action, "consumers.drain");
  EXPECT_EQ(audit()[0].outcome, "drains");
  drained_ = failure({ErrorKind::kRejected, "R343", "there is no consumer \"x\"", {}});
  EXPECT_EQ(post_as(Role::kOperator, "/api/v1/consumers/x/drain").status, 404);
  drained_ = failure({ErrorKind::kRejected, "R358", "it reads stdin", {}});
  EXPECT_EQ(post_as(Role::kOperator, "/api/v1/consumers/payments/drain").status, 409);
  EXPECT_EQ(audit().at(0).outcome, "failed: it reads stdin");
}

// A consumer that was drained before it was attached exists only in this process.
TEST_F(ApiReloadTest, ResumesAConsumerThatTheStoreDoesNotKnow) {
  resumed_ = DrainState{"starting", 0, true};
  const auto resumed = post_as(Role::kOperator, "/api/v1/consumers/emails/resume");
  EXPECT_EQ(resumed.status, 200) << resumed.body;
  EXPECT_NE(resumed.body.find("\"changed\":true"), std::string::npos) << resumed.body;
  EXPECT_EQ(audit().at(0).outcome, "resumed");
  resumed_ = failure({ErrorKind::kRejected, "R343", "there is no consumer", {}});
  EXPECT_EQ(post_as(Role::kOperator, "/api/v1/consumers/emails/resume").status, 404);
  EXPECT_EQ(post_as(Role::kOperator, "/api/v1/consumers/payments/resume").status, 200)
      << "the store has a gate for it";
  EXPECT_EQ(post_as(Role::kOperator, "/api/v1/consumers/nobody/resume").status, 404);
}

TEST_F(ApiReloadTest, AResumeThatFailsInThisProcessIsNoGoodAnswer) {
  resumed_ = failure({ErrorKind::kUnavailable, "R345", "the run has ended", {}});
  const auto refused = post_as(Role::kOperator, "/api/v1/consumers/payments/resume");
  EXPECT_EQ(refused.status, 503) << refused.body;
  EXPECT_EQ(text_at(refused.body, "/code"), "R345");
  EXPECT_EQ(audit().at(0).outcome, "failed: R345: the run has ended");
}

// On loopback a request without a token must name this machine; with tokens it must show one.
TEST_F(ApiReloadTest, ARequestIsJudgedByOneSetOfTokens) {
  std::atomic<bool> over{false};
  std::thread reloads([&] {
    while (!over) {
      server_->set_tokens({});
      server_->set_tokens({{"one", "the secret of nobody", Role::kRead}});
    }
  });
  for (int i = 0; i < 300; ++i) {
    const auto answer = get("/api/v1/consumers", {"Host: semel.example"});
    EXPECT_TRUE(answer.status == 401 || answer.status == 403) << answer.status;
  }
  over = true;
  reloads.join();
}

// Nothing is done if no audit entry can be written.
TEST_F(ApiReloadTest, WithoutAStoreThereIsNone) {
  running_ = false;
  EXPECT_EQ(post_as(Role::kAdmin, "/api/v1/reload").status, 503);
  EXPECT_EQ(post_as(Role::kOperator, "/api/v1/consumers/payments/drain").status, 503);
}

TEST_F(ApiReloadTest, TokensAreThoseOfTheNewestConfig) {
  server_->set_tokens({{"new", "the secret of nobody", Role::kRead}});
  EXPECT_EQ(get_as(Role::kAdmin, "/api/v1/consumers").status, 401);
  EXPECT_EQ(get("/api/v1/consumers", {"Authorization: Bearer the secret of nobody"}).status, 200);
}

}  // namespace
}  // namespace semel::admin
