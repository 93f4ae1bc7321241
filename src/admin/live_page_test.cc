#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "admin/test_api.h"

namespace semel::admin {
namespace {

class LivePageTest : public ApiTest {
 protected:
  void SetUp() override { open(true); }
  ApiSources sources() override {
    ApiSources made = ApiTest::sources();
    made.recent = &recent_;
    return made;
  }
  void ended(const std::string& key, Outcome::Kind kind, const std::string& error = {}) {
    Outcome outcome;
    outcome.kind = kind;
    outcome.error = error;
    outcome.reason = error.empty() ? "" : "handler.native";
    Arrival arrival;
    arrival.partition = "orders-3";
    arrival.position = "17";
    recent_.on_ended("payments", {message(key), std::move(arrival)}, outcome,
                     std::chrono::milliseconds(5));
  }
  std::string page(const std::string& path = "/live") const {
    return get_as(Role::kRead, path).body;
  }
  static bool shows(const std::string& page, const std::string& part) {
    return page.find(part) != std::string::npos;
  }

  telemetry::RecentDeliveries recent_{{.kept = 200, .done_of_second = 1, .others_of_second = 500}};
};

TEST_F(LivePageTest, WithoutDeliveriesItSaysHowToSendOne) {
  EXPECT_TRUE(shows(page(), "<code>semel send CONSUMER</code>")) << page();
}

TEST_F(LivePageTest, TheNewestComeFirstAndLeadToTheirRecords) {
  ended("one", Outcome::Kind::kRetry, "it failed");
  ended("two", Outcome::Kind::kDuplicate);
  const std::string seen = page();
  EXPECT_TRUE(shows(seen, "<a href=\"record?consumer=payments&amp;key=one\">one</a>")) << seen;
  EXPECT_LT(seen.find(">two</a>"), seen.find(">one</a>"));
  EXPECT_TRUE(shows(seen, "<span class=\"key duplicate\"></span>duplicate</span>"));
  EXPECT_TRUE(shows(seen, "<span class=\"about\">handler.native: it failed</span>"));
  EXPECT_TRUE(shows(seen, "data-label=\"From\">orders-3 17</td>"));
  EXPECT_TRUE(shows(seen, "data-label=\"Took\">5 ms</td>"));
  EXPECT_TRUE(shows(seen, "<option value=\"2\" selected>2 s</option>"));
  EXPECT_FALSE(shows(seen, "secret")) << "no payloads";
}

TEST_F(LivePageTest, IsNarrowedByConsumerAndOutcome) {
  ended("one", Outcome::Kind::kRetry);
  ended("two", Outcome::Kind::kDuplicate);
  const std::string seen = page("/live?consumer=payments&outcome=duplicate");
  EXPECT_TRUE(shows(seen, ">two</a>"));
  EXPECT_FALSE(shows(seen, ">one</a>"));
  EXPECT_TRUE(shows(seen, "<option selected>duplicate</option>"));
  EXPECT_TRUE(shows(page("/live?outcome=parked"), "nothing that matches"));
  EXPECT_EQ(get_as(Role::kRead, "/live?outcome=none").status, 400);
  EXPECT_EQ(get_as(Role::kRead, "/live?consumer=nobody").status, 404);
  EXPECT_EQ(get("/live").status, 401);
}

TEST_F(LivePageTest, SaysThatItIsASample) {
  ended("one", Outcome::Kind::kDone);
  while (recent_.left_out() == 0) ended("two", Outcome::Kind::kDone);
  EXPECT_TRUE(shows(page(), "A sample: 1 more ended since this process began")) << page();
}

TEST_F(LivePageTest, AKeyThatIsCutIsNoLink) {
  ended(std::string(2 * telemetry::RecentDeliveries::kLongestKey, 'k'), Outcome::Kind::kBusy);
  EXPECT_TRUE(shows(page(), "kkkk…"));
  EXPECT_FALSE(shows(page(), "href=\"record?"));
}

TEST_F(LivePageTest, NothingFromOutsideBecomesMarkup) {
  ended("<script>alert(1)</script>", Outcome::Kind::kDead, "<script>alert(2)</script>");
  recent_.on_refused("payments", Arrival(), "<i>", "<script>alert(3)</script>");
  EXPECT_FALSE(shows(page(), "<script>alert")) << page();
  EXPECT_FALSE(shows(page(), "<i>"));
  EXPECT_FALSE(shows(page("/live?outcome=%3Cscript%3Ealert"), "<script>alert"));
}

}  // namespace
}  // namespace semel::admin
