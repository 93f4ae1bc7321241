#include "cli/source_view.h"

#include <gtest/gtest.h>

namespace semel::cli {
namespace {

std::vector<tap::RunFigures> two_runs() {
  const auto of = [](const char* consumer, SourceFigure figure) {
    return tap::Figures::One{consumer, "kafka", std::move(figure)};
  };
  return {{17,
           {{of("payments", {"lag", "", 1'200, ""}), of("payments", {"lag", "orders-0", 1'200, ""}),
             of("payments", {"commit_errors", "", 1, "Broker: Not coordinator"}),
             of("mails", {"lag", "", 5, ""})}}},
          {18, {{of("payments", {"lag", "", 3, ""})}}}};
}

TEST(SourceView, AProcessIsALineAndPartitionsAreNone) {
  const auto views = sources_of(two_runs(), "payments");
  ASSERT_EQ(views.size(), 2U);
  const std::string text = source_text(views[0]);
  EXPECT_EQ(text.find("kafka in process 17: lag 1"), 0U) << text;
  EXPECT_NE(text.find("commit_errors 1 (Broker: Not coordinator)"), std::string::npos) << text;
  EXPECT_EQ(text.find("orders-0"), std::string::npos) << text;
  EXPECT_EQ(source_text(views[1]), "kafka in process 18: lag 3");
  EXPECT_TRUE(sources_of(two_runs(), "other").empty());
}

TEST(SourceView, AWindowIsNoSource) {
  auto runs = two_runs();
  runs[1].figures.all.push_back({"payments", "front", {"answered", "", 15, ""}});
  runs[1].figures.all.push_back({"payments", "front", {"asked", "", 20, ""}});
  EXPECT_EQ(sources_of(runs, "payments").size(), 2U);
  const auto windows = windows_of(runs, "payments");
  ASSERT_EQ(windows.size(), 1U);
  EXPECT_EQ(source_text(windows[0]), "front in process 18: answered 15, asked 20");
  EXPECT_TRUE(windows_of(runs, "mails").empty());
}

TEST(SourceView, JsonHasEachFigure) {
  json::Writer writer;
  writer.begin_object().name("sources");
  add_sources(writer, sources_of(two_runs(), "payments"));
  const std::string text = writer.end_object().text();
  EXPECT_NE(text.find(R"("pid":17)"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("partition":"orders-0")"), std::string::npos) << text;
  EXPECT_EQ(text.find("mails"), std::string::npos) << text;
}

}  // namespace
}  // namespace semel::cli
