// Bulk work on dead letters through the API.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <fmt/format.h>

#include "admin/test_api.h"
#include "tests/support/waiting.h"

namespace semel::admin {
namespace {

constexpr const char* kReplay = "/api/v1/dead-letters:replay";
constexpr const char* kDiscard = "/api/v1/dead-letters:discard";

class ApiJobsTest : public ApiTest {
 protected:
  void SetUp() override {
    open(true);
    finish("one", Finish::To::kDead, "handler.native");
    finish("two", Finish::To::kDead, "handler.native");
    finish("three", Finish::To::kDead, "payload.invalid");
  }
  std::vector<AuditEntry> entries() {
    return store_->facets().audit->list(std::nullopt, 100).value();
  }
  std::size_t stored() { return store_->facets().dead_letters->list({}).value().size(); }
  std::string job(const std::string& id) const {
    return get_as(Role::kRead, "/api/v1/jobs/" + id).body;
  }
  bool comes_to(const std::string& id, const std::string& state) const {
    return test::comes_true([&] { return text_at(job(id), "/job/state") == state; });
  }
  // A job that waits after its first letter.
  std::string slow_job(const char* path = kDiscard) {
    const auto begun = post_as(Role::kAdmin, std::string(path) + "?all=true", "{\"rate\":\"1/h\"}");
    EXPECT_EQ(begun.status, 202) << begun.body;
    const std::string id = text_at(begun.body, "/job/id");
    EXPECT_TRUE(test::comes_true([&] { return text_at(job(id), "/job/done") == "1"; })) << job(id);
    return id;
  }
};

TEST_F(ApiJobsTest, ADryRunSaysWhatWouldBeDone) {
  const auto plan =
      post_as(Role::kOperator, std::string(kReplay) + "?consumer=payments", "{\"dry_run\":true}");
  EXPECT_EQ(plan.status, 200) << plan.body;
  EXPECT_EQ(text_at(plan.body, "/schema"), "semel.v1.dead_letter_plan");
  EXPECT_EQ(text_at(plan.body, "/act"), "replay");
  EXPECT_EQ(text_at(plan.body, "/selection"), "consumer=payments");
  EXPECT_EQ(text_at(plan.body, "/count"), "3");
  EXPECT_NE(plan.body.find("\"complete\":true"), std::string::npos);
  EXPECT_EQ(text_at(plan.body, "/groups/0/reason"), "handler.native");
  EXPECT_EQ(text_at(plan.body, "/groups/0/count"), "2");
  const auto some =
      post_as(Role::kOperator, std::string(kReplay) + "?all=true&limit=2", "{\"dry_run\":true}");
  EXPECT_EQ(text_at(some.body, "/count"), "2") << some.body;
  EXPECT_NE(some.body.find("\"complete\":true"), std::string::npos);
  EXPECT_TRUE(entries().empty());
  EXPECT_TRUE(jobs_.list().empty());
  EXPECT_EQ(stored(), 3U);
}

TEST_F(ApiJobsTest, AJobTakesWhatThePlanShowed) {
  const std::string path = std::string(kDiscard) + "?all=true";
  const auto plan = post_as(Role::kAdmin, path, "{\"dry_run\":true}");
  const std::string up_to = text_at(plan.body, "/up_to");
  EXPECT_EQ(up_to, std::to_string(store_->facets().dead_letters->list({}).value().back().id));
  finish("late", Finish::To::kDead, "handler.native");
  const auto again = post_as(Role::kAdmin, path, "{\"dry_run\":true,\"up_to\":" + up_to + "}");
  EXPECT_EQ(text_at(again.body, "/count"), "3") << again.body;
  const auto begun = post_as(Role::kAdmin, path, "{\"up_to\":" + up_to + "}");
  ASSERT_EQ(begun.status, 202) << begun.body;
  EXPECT_EQ(text_at(begun.body, "/job/selection"), "all, up to letter " + up_to);
  ASSERT_TRUE(comes_to(text_at(begun.body, "/job/id"), "done"));
  EXPECT_EQ(stored(), 1U) << "it died after the plan";
}

TEST_F(ApiJobsTest, AJobReplaysWhatMatches) {
  const auto begun = post_as(Role::kOperator, std::string(kReplay) + "?reason=handler.native",
                             "{\"reason\":\"ticket 7\",\"rate\":\"100/s\"}");
  ASSERT_EQ(begun.status, 202) << begun.body;
  EXPECT_EQ(text_at(begun.body, "/schema"), "semel.v1.job");
  const std::string id = text_at(begun.body, "/job/id");
  ASSERT_TRUE(comes_to(id, "done")) << job(id);
  EXPECT_EQ(text_at(job(id), "/job/done"), "2");
  EXPECT_EQ(text_at(job(id), "/job/total"), "2");
  EXPECT_EQ(text_at(job(id), "/job/began_by"), "operator");
  EXPECT_EQ(text_at(job(id), "/job/rate"), "100/s");
  EXPECT_NE(text_at(job(id), "/job/ended_at"), "(absent)");
  const auto kept = entries();
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_EQ(std::to_string(kept[0].id), id);
  EXPECT_EQ(kept[0].action, "dead_letters.replay job");
  EXPECT_EQ(kept[0].target, "reason=handler.native at 100/s");
  EXPECT_EQ(kept[0].who, "operator");
  EXPECT_EQ(kept[0].reason, "ticket 7");
  EXPECT_EQ(kept[0].outcome, "2 replayed");
  const auto list = get_as(Role::kRead, "/api/v1/jobs");
  EXPECT_EQ(text_at(list.body, "/jobs/0/id"), id) << list.body;
  EXPECT_EQ(text_at(list.body, "/count"), "1");
}

TEST_F(ApiJobsTest, AJobDiscardsByTheFilterOfTheCommands) {
  const auto begun = post_as(Role::kAdmin, std::string(kDiscard) + "?where=key%3Done+and+age%3C1d");
  ASSERT_EQ(begun.status, 202) << begun.body;
  ASSERT_TRUE(comes_to(text_at(begun.body, "/job/id"), "done"));
  EXPECT_EQ(stored(), 2U);
}

TEST_F(ApiJobsTest, AJobIsPausedResumedAndCancelled) {
  const std::string id = slow_job();
  const std::string path = "/api/v1/jobs/" + id;
  EXPECT_EQ(text_at(job(id), "/job/state"), "running");
  const auto paused = post_as(Role::kOperator, path + "/pause", "{\"reason\":\"lunch\"}");
  EXPECT_EQ(text_at(paused.body, "/job/state"), "paused") << paused.body;
  const auto refused = post_as(Role::kOperator, path + "/resume");
  EXPECT_EQ(refused.status, 403) << "it discards";
  EXPECT_EQ(text_at(refused.body, "/code"), "R342");
  EXPECT_EQ(text_at(post_as(Role::kAdmin, path + "/resume").body, "/job/state"), "running");
  EXPECT_EQ(post_as(Role::kOperator, path + "/cancel", "{\"reason\":\"a mistake\"}").status, 200);
  ASSERT_TRUE(comes_to(id, "cancelled"));
  EXPECT_EQ(text_at(job(id), "/job/why"), "by operator: a mistake");
  EXPECT_EQ(stored(), 2U);
  const auto over = post_as(Role::kOperator, path + "/cancel");
  EXPECT_EQ(over.status, 409) << over.body;
  EXPECT_EQ(text_at(over.body, "/code"), "R348");
  const auto kept = entries();
  ASSERT_EQ(kept.size(), 5U);
  EXPECT_EQ(kept[4].outcome, "cancelled: by operator: a mistake; before it, 1 discarded of 3");
  EXPECT_EQ(kept[3].action, "jobs.pause");
  EXPECT_EQ(kept[3].target, "job " + id);
  EXPECT_EQ(kept[3].reason, "lunch");
  EXPECT_EQ(kept[2].action, "jobs.resume");
  EXPECT_EQ(kept[1].action, "jobs.cancel");
  EXPECT_EQ(kept[0].outcome, "nothing done: the job is over: cancelled");
}

TEST_F(ApiJobsTest, AnOperatorGoesOnWithAReplay) {
  const std::string path = "/api/v1/jobs/" + slow_job(kReplay);
  EXPECT_EQ(post_as(Role::kOperator, path + "/pause").status, 200);
  EXPECT_EQ(post_as(Role::kOperator, path + "/resume").status, 200);
}

TEST_F(ApiJobsTest, ARequestThatIsWrongBeginsNothing) {
  struct Row {
    const char* query;
    const char* body;
    const char* said;
    const char* fix;
  };
  for (const Row& row :
       {Row{"", "{}", "the request does not say which dead letters",
            "consumer=, reason= or where=; or all=true"},
        Row{"?all=yes", "{}", "all cannot be \"yes\"", "true or false"},
        Row{"?where=age", "{}", "where, column 4: an operator is missing", nullptr},
        Row{"?all=true&limit=0", "{}", "limit cannot be \"0\"", "1 to 1000000000"},
        Row{"?all=true", "{\"rate\":\"fast\"}", "rate cannot be \"fast\"",
            "a number and a time: 50/s, 3/m or 100/h"},
        Row{"?consumer=payments&where=", "{}", "where is empty",
            "a value, or leave the parameter out"},
        Row{"?consumer=&reason=handler.native", "{}", "consumer is empty", nullptr},
        Row{"?consumer=payments&reason=", "{}", "reason is empty", nullptr},
        Row{"?consumer=payments&replayed=", "{}", "replayed is empty", nullptr},
        Row{"?all=&consumer=payments", "{}", "all is empty", nullptr},
        Row{"?consumer=payments&limit=", "{\"dry_run\":true}", "limit is empty", nullptr},
        Row{"?consumer=payments&where=%20", "{}", "where, column 2: a field is missing", nullptr},
        Row{"?all=true", "{\"rate\":\"\"}", "rate cannot be \"\"",
            "a number and a time: 50/s, 3/m or 100/h"},
        Row{"?all=true", "{\"rate\":null}", "\"rate\" must be a string", nullptr},
        Row{"?all=true", "{\"rate\":50}", "\"rate\" must be a string", "such as \"50/s\""},
        Row{"?all=true", "{\"dry_run\":\"yes\"}", "\"dry_run\" must be true or false", nullptr},
        Row{"?all=true", "{\"dryrun\":true}", "the body has an unknown member \"dryrun\"",
            "there are reason, rate, dry_run, up_to"}}) {
    const auto answer = post_as(Role::kAdmin, std::string(kDiscard) + row.query, row.body);
    EXPECT_EQ(answer.status, 400) << row.query << row.body;
    EXPECT_EQ(text_at(answer.body, "/code"), "R344");
    EXPECT_EQ(text_at(answer.body, "/detail"), row.said);
    if (row.fix != nullptr) {
      EXPECT_EQ(text_at(answer.body, "/fix"), row.fix);
    }
  }
  EXPECT_TRUE(jobs_.list().empty());
  EXPECT_TRUE(entries().empty());
  EXPECT_EQ(stored(), 3U);
  for (const char* id : {"1", "x"}) {
    EXPECT_EQ(get_as(Role::kRead, std::string("/api/v1/jobs/") + id).status, 404) << id;
    EXPECT_EQ(post_as(Role::kAdmin, fmt::format("/api/v1/jobs/{}/cancel", id)).status, 404) << id;
  }
}

TEST_F(ApiJobsTest, LettersOfConsumersThatAreNotInTheConfigAreLeftAlone) {
  ASSERT_TRUE(store_->attach({"other", "recipe", false, {}}));
  DeadLetter foreign;
  foreign.consumer = "other";
  foreign.reason = "handler.native";
  foreign.position = "7";
  const ForeignLetter letter{foreign, std::nullopt};
  ASSERT_TRUE(store_->facets().dead_letters->add({&letter, 1}));
  for (const char* path : {kDiscard, kReplay}) {
    for (const char* query :
         {"?consumer=other", "?where=consumer%3Dother", "?where=attempts%3C9+and+consumer%3Dother",
          "?consumer=payments&where=consumer%3Dother"}) {
      for (const char* body : {"{}", "{\"dry_run\":true}"}) {
        const auto answer = post_as(Role::kAdmin, std::string(path) + query, body);
        EXPECT_EQ(answer.status, 404) << query << answer.body;
        EXPECT_EQ(text_at(answer.body, "/detail"), "there is no consumer \"other\"");
      }
    }
  }
  EXPECT_TRUE(jobs_.list().empty());
  EXPECT_TRUE(entries().empty());
  for (const char* query : {"?where=consumer%7Eothe", "?where=consumer%21%3Dpayments"}) {
    const auto begun = post_as(Role::kAdmin, std::string(kDiscard) + query);
    ASSERT_EQ(begun.status, 202) << begun.body;
    ASSERT_TRUE(comes_to(text_at(begun.body, "/job/id"), "done"));
  }
  EXPECT_EQ(stored(), 4U);
}

TEST_F(ApiJobsTest, TooManyAreRefusedAndLeaveNoOpenEntry) {
  // Each job takes one letter and waits.
  for (std::size_t i = 0; i < 2 * Jobs::kMostAtOnce; ++i) {
    finish(fmt::format("key-{}", i), Finish::To::kDead, "handler.native");
  }
  for (std::size_t i = 0; i < Jobs::kMostAtOnce; ++i) {
    ASSERT_EQ(
        post_as(Role::kAdmin, std::string(kDiscard) + "?all=true", "{\"rate\":\"1/h\"}").status,
        202);
  }
  const auto refused = post_as(Role::kAdmin, std::string(kDiscard) + "?all=true");
  EXPECT_EQ(refused.status, 503) << refused.body;
  EXPECT_EQ(text_at(refused.body, "/code"), "R345");
  EXPECT_EQ(entries().at(0).outcome, "nothing done: 8 jobs are not over");
}

}  // namespace
}  // namespace semel::admin
