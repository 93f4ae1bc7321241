#include <gtest/gtest.h>

#include <string>

#include "admin/html.h"
#include "admin/overview.h"

namespace semel::admin {
namespace {

using std::chrono::hours;

Overview overview() {
  Overview made;
  made.version = "0.1.0";
  made.store = "sqlite";
  made.phase = "ready";
  made.began = UtcTime(hours(1));
  made.now = UtcTime(hours(4));
  ConsumerOverview one;
  one.name = "payments";
  one.source = "kafka";
  one.strategy = "dedup_table";
  one.handler = "sql";
  one.guarantee = "transactional";
  one.state = "running";
  made.consumers.push_back(one);
  return made;
}

bool has(const std::string& page, std::string_view part) {
  return page.find(part) != std::string::npos;
}

TEST(Html, EscapesWhatEndsATextOrAnAttribute) {
  EXPECT_EQ(html("<a href=\"x\">&'</a>"), "&lt;a href=&quot;x&quot;&gt;&amp;&#39;&lt;/a&gt;");
}

TEST(OverviewPage, ShowsEachConsumer) {
  Overview shown = overview();
  shown.consumers[0].in_flight = 12'345;
  shown.consumers[0].lag = 7;
  shown.consumers[0].oldest = hours(3);
  const std::string page = overview_page(shown);
  EXPECT_TRUE(has(page, "<span class=\"name\">payments</span>")) << page;
  EXPECT_TRUE(has(page, "<span class=\"badge\">transactional</span>"));
  EXPECT_TRUE(has(page, "kafka → dedup_table → sql"));
  EXPECT_TRUE(has(page, "data-label=\"In flight\">12,345</td>"));
  EXPECT_TRUE(has(page, "data-label=\"Lag\">7</td>"));
  EXPECT_TRUE(has(page, "data-label=\"Oldest waits\">3 h</td>"));
  EXPECT_TRUE(has(page, "data-label=\"Held\">–</td>")) << "the store was not asked yet";
  EXPECT_TRUE(has(page, "ready on sqlite, version 0.1.0, up 3 h"));
  EXPECT_TRUE(has(page, "The first figures come after ten seconds."));
  EXPECT_FALSE(has(page, "Needs a look"));
}

TEST(OverviewPage, SaysWhatNeedsALook) {
  Overview shown = overview();
  shown.consumers[0].outages.push_back({"store", UtcTime(hours(2)), "no route to host", false});
  shown.consumers[0].dead_letters = 3;
  shown.consumers[0].parked = 1;
  shown.consumers[0].state = "paused";
  shown.consumers[0].why = "month end";
  const std::string page = overview_page(shown);
  EXPECT_TRUE(has(page, "Needs a look")) << page;
  EXPECT_TRUE(has(page, "store away since 1970-01-01T02:00:00.000Z: no route to host"));
  EXPECT_TRUE(has(page, "semel dlq list --consumer payments"));
  EXPECT_TRUE(has(page, "semel records list --state parked --consumer payments"));
  EXPECT_TRUE(has(page, "<strong>payments</strong> is paused: month end"));
}

TEST(OverviewPage, RatesAreThoseOfTheLastMinute) {
  Overview shown = overview();
  auto& intervals = shown.consumers[0].intervals;
  intervals.assign(10, {1'000, 0, 0, 0});
  for (std::size_t i = 4; i < 10; ++i) intervals[i] = {30, 10, 0, 0};
  const std::string page = overview_page(shown);
  EXPECT_TRUE(has(page, "data-label=\"Deliveries/s\">4.0</td>")) << page;
  EXPECT_TRUE(has(page, "</span>done 3.0</span>"));
  EXPECT_TRUE(has(page, "</span>duplicate 1.0</span>"));
  EXPECT_TRUE(has(page, "data-label=\"Duplicates\">1.4 %</td>"));
  EXPECT_TRUE(has(page, "top of the chart: 100/s"));
  EXPECT_TRUE(has(page, "Deliveries a second, last 5 minutes"));
  intervals.assign(31, {});
  EXPECT_TRUE(has(overview_page(shown), "Deliveries a second, last 15 minutes"));
  intervals.assign(91, {});
  EXPECT_TRUE(has(overview_page(shown), "Deliveries a second, last hour"));
}

TEST(OverviewPage, NothingFromOutsideBecomesMarkup) {
  Overview shown = overview();
  const std::string evil = "<script>alert('x')</script>\"";
  ConsumerOverview& one = shown.consumers[0];
  one.name = one.source = one.why = one.state = one.guarantee = evil;
  one.outages.push_back({evil, {}, evil, false});
  one.dead_letters = one.parked = 1;
  one.intervals.push_back({1, 1, 1, 1});
  shown.store = shown.version = shown.phase = evil;
  const std::string page = overview_page(shown);
  EXPECT_FALSE(has(page, "<script>alert")) << page;
  EXPECT_FALSE(has(page, "</script>\"\""));
}

}  // namespace
}  // namespace semel::admin
