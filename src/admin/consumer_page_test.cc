#include <gtest/gtest.h>

#include <string>
#include <utility>

#include <semel/admin/gates.h>

#include "admin/test_api.h"

namespace semel::admin {
namespace {

class ConsumerPageTest : public ApiTest {
 protected:
  void SetUp() override { open(true); }
  ApiSources sources() override {
    ApiSources made = ApiTest::sources();
    made.readiness = [this] { return readiness_; };
    made.duplicate_ages = [this](const std::string&) { return ages_; };
    made.guarantee = [this](const config::ConsumerConfig&) { return guarantee_; };
    return made;
  }
  std::string page(Role role = Role::kOperator) const {
    return get_as(role, "/consumer?name=payments").body;
  }
  ConsumerOverview& consumer() { return overview_.consumers[0]; }
  static bool shows(const std::string& page, const std::string& part) {
    return page.find(part) != std::string::npos;
  }

  Readiness readiness_;
  DuplicateAges ages_;
  Guarantee guarantee_;
};

TEST_F(ConsumerPageTest, ShowsWhatItDoesNow) {
  consumer().source = "kafka";
  consumer().strategy = "state_machine";
  consumer().handler = "http";
  consumer().lag = 1'234;
  consumer().parked = 2;
  consumer().dead_letters = 3;
  consumer().outages.push_back({"kafka", UtcTime(std::chrono::hours(1)), "no broker", false});
  const auto answer = get_as(Role::kRead, "/consumer?name=payments");
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_TRUE(shows(answer.body, "kafka → state_machine → http")) << answer.body;
  EXPECT_TRUE(shows(answer.body, "<dt>Lag</dt><dd>1,234</dd>"));
  EXPECT_TRUE(shows(answer.body, "<dt>Retrying</dt><dd>not known</dd>"));
  EXPECT_TRUE(shows(answer.body, "<a href=\"letters?consumer=payments\">3</a>"));
  EXPECT_TRUE(shows(answer.body, "kafka away since"));
  EXPECT_TRUE(shows(answer.body, "The first figures come after ten seconds."));
  consumer().intervals.push_back({10, 20, 0, 0});
  EXPECT_TRUE(shows(page(), "class=\"chart\""));
}

TEST_F(ConsumerPageTest, NamesALowRateAsItIs) {
  consumer().intervals.push_back({1, 0, 0, 0});
  EXPECT_TRUE(shows(page(), "top of the chart: 0.1/s")) << page();
}

TEST_F(ConsumerPageTest, ParkedMessagesAreNotDrawnAsDead) {
  telemetry::GroupCounts counts{};
  counts[static_cast<std::size_t>(telemetry::group_of(Outcome::Kind::kParked))] = 4;
  consumer().intervals.push_back(counts);
  EXPECT_TRUE(shows(page(), "<polygon class=\"parked\"")) << page();
  EXPECT_FALSE(shows(page(), "<polygon class=\"dead\""));
  EXPECT_TRUE(shows(page(), "<span class=\"key parked\"></span>parked"));
}

TEST_F(ConsumerPageTest, ALagThatIsNotKnownNowIsNotASourceThatDoesNotTell) {
  EXPECT_TRUE(shows(page(), "<dt>Lag</dt><dd>its source does not tell</dd>")) << page();
  consumer().tells_lag = true;
  EXPECT_TRUE(shows(page(), "<dt>Lag</dt><dd>not known</dd>")) << page();
}

TEST_F(ConsumerPageTest, ShowsHowOldDuplicatesAreAgainstTheTtl) {
  EXPECT_TRUE(shows(page(), "has seen no duplicate since it began"));
  ages_.ages = {{1, 60}, {3, 1, 0}, 0};
  EXPECT_TRUE(shows(page(), "The oldest of 4 duplicates since this process began: up to 1 min."))
      << page();
  EXPECT_TRUE(shows(page(), "<tr class=\"ttl\"><th scope=\"row\">ttl 7 d</th>"));
}

TEST_F(ConsumerPageTest, ShowsThePartsOfItsGuarantee) {
  guarantee_.effect = Guarantee::Effect::kAtLeastOnce;
  guarantee_.faults = "crashes <of> the consumer";
  guarantee_.until = "for 7d after completion";
  guarantee_.reasons = {"stdin loses what it had read"};
  const std::string seen = page();
  EXPECT_TRUE(shows(seen, std::string("<dt>Effect</dt><dd>") +
                              to_string(Guarantee::Effect::kAtLeastOnce) + "</dd>"))
      << seen;
  EXPECT_TRUE(shows(seen, "crashes &lt;of&gt; the consumer"));
  EXPECT_TRUE(shows(seen, "<li>stdin loses what it had read</li>"));
  consumer().guarantee.clear();
  EXPECT_FALSE(shows(page(), "What it guarantees")) << "its handler brings it";
}

TEST_F(ConsumerPageTest, ShowsEachPartition) {
  EXPECT_TRUE(shows(page(), "No figures. Sources of Kafka, NATS JetStream, Redis Streams, SQS"));
  readiness_.consumers.push_back({{"other", {}, {}}, {{"kafka", {{"lag", "elsewhere", 99, {}}}}}});
  readiness_.consumers.push_back(
      {{"payments", {}, {}},
       {{"kafka", {{"lag", "orders-0", 5, {}}, {"lag", "", 12, {}}, {"held", "", 1, "full"}}}}});
  const std::string seen = page();
  EXPECT_TRUE(shows(seen,
                    "<th scope=\"row\">orders-0</th><td class=\"number\" "
                    "data-label=\"lag\">5</td><td class=\"number\" data-label=\"held\">–</td>"))
      << seen;
  EXPECT_TRUE(shows(seen, "data-label=\"held\">1 full</td>"));
  EXPECT_LT(seen.find("all of it"), seen.find("orders-0"));
  EXPECT_FALSE(shows(seen, "elsewhere"));
}

TEST_F(ConsumerPageTest, OnlyWhatRoleAndStateAllowIsOffered) {
  const std::string path = "data-post=\"api/v1/consumers/payments/";
  EXPECT_FALSE(shows(page(Role::kRead), "data-post"));
  EXPECT_TRUE(shows(page(Role::kRead), "To pause it needs a token"));
  EXPECT_TRUE(shows(page(), path + "pause\""));
  EXPECT_FALSE(shows(page(), path + "resume\""));
  consumer().state = "paused";
  EXPECT_FALSE(shows(page(), path + "pause\""));
  EXPECT_TRUE(shows(page(), path + "resume\""));
  consumer().state = "breaker open";
  EXPECT_TRUE(shows(page(), path + "pause\""));
  EXPECT_TRUE(shows(page(), path + "resume\""));
  EXPECT_EQ(post_as(Role::kOperator, "/api/v1/consumers/payments/pause").status, 200);
  EXPECT_TRUE(store_->facets().gates->state(number_).value());
}

TEST_F(ConsumerPageTest, ItIsDrainedAndResumed) {
  const std::string path = "data-post=\"api/v1/consumers/payments/";
  EXPECT_FALSE(shows(page(), path + "drain\"")) << "it reads stdin, which has no other copy";
  config_.consumers[0].source = config::QueueSource();
  EXPECT_TRUE(shows(page(), path + "drain\""));
  EXPECT_FALSE(shows(page(Role::kRead), path + "drain\""));
  for (const char* const state : {"draining", "drained"}) {
    consumer().state = state;
    EXPECT_FALSE(shows(page(), path + "drain\"")) << state;
    EXPECT_TRUE(shows(page(), path + "resume\"")) << state;
  }
  EXPECT_EQ(post_as(Role::kOperator, "/api/v1/consumers/payments/drain").status, 200);
}

TEST_F(ConsumerPageTest, AStrategyWithoutRecordsHasNoAges) {
  config_.consumers[0].strategy = core::StrategyKind::kNatural;
  EXPECT_TRUE(shows(page(), "keeps no records: nothing is suppressed"));
}

TEST_F(ConsumerPageTest, NothingFromOutsideBecomesMarkup) {
  const std::string evil = "<script>alert('x')</script>\"";
  ConsumerOverview& one = consumer();
  one.source = one.strategy = one.handler = one.why = one.state = one.guarantee = evil;
  one.outages.push_back({evil, {}, evil, false});
  guarantee_.faults = guarantee_.until = evil;
  guarantee_.reasons = {evil};
  readiness_.consumers.push_back({{"payments", {}, {}}, {{evil, {{evil, evil, 1, evil}}}}});
  for (const std::string& seen :
       {page(), get_as(Role::kRead, "/consumer?name=%3Cscript%3Ealert").body}) {
    EXPECT_FALSE(shows(seen, "<script>alert")) << seen;
    EXPECT_FALSE(shows(seen, "</script>\"\""));
  }
}

TEST_F(ConsumerPageTest, ANameThatIsNoneIsSaidSo) {
  EXPECT_EQ(get_as(Role::kRead, "/consumer?name=nobody").status, 404);
  EXPECT_EQ(get_as(Role::kRead, "/consumer").status, 404);
  EXPECT_EQ(get_as(Role::kRead, "/consumer?consumer=payments").status, 400);
  EXPECT_EQ(get("/consumer?name=payments").status, 401);
}

}  // namespace
}  // namespace semel::admin
