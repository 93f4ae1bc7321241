#include "compose/traces.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <semel/runner.h>

#include "base/digest.h"
#include "compose/compose.h"
#include "tests/support/http_server.h"
#include "tests/support/otlp.h"
#include "tests/support/recording_observer.h"
#include "tests/support/set_variable.h"
#include "tests/support/temp_dir.h"
#include "traces/test_sink.h"

namespace semel::compose {
namespace {

using test::OtlpSpan;

// Orders from a file; each completed one is sent to consumer mails.
class TracedRun : public testing::Test {
 protected:
  std::string config(const std::string& traces = "") {
    return fmt::format(
        "version: 1\n"
        "store: {{ sqlite: {} }}\n"
        "{}"
        "consumers:\n"
        "  - name: orders\n"
        "    source: {{ file: {{ path: {}, from: start }} }}\n"
        "    key: json:/id\n"
        "    handler: {{ native: order }}\n"
        "    publish: [mails]\n"
        "  - name: mails\n"
        "    source: {{ queue: {{}} }}\n"
        "    key: json:/id\n"
        "    handler: {{ native: mail }}\n",
        folder_.file("semel.db"), traces, folder_.file("orders"));
  }
  int run(const std::string& yaml, SpanSink* sink = nullptr, double sample = 1.0) {
    test::write_file(folder_.file("orders"),
                     "{\"id\":\"alice\"}\n{\"id\":\"bob\"}\n{\"id\":\"alice\"}\n");
    Runner runner = Runner::from_text(yaml);
    runner.on("order", [](const Message&, const Attempt&) { return done(); });
    runner.on("mail", [this](const Message& message, const Attempt&) {
      if (message.span() == nullptr) ++untraced_;
      return message.key().text == "bob" ? dead("no address") : done();
    });
    runner.observe(seen_).once();
    if (sink != nullptr) runner.trace(*sink, sample);
    return runner.run();
  }

  const test::SetVariable no_proxy_{"no_proxy", "127.0.0.1"};
  test::TempDir folder_;
  test::RecordingObserver seen_;
  std::atomic<int> untraced_{0};
};

std::map<std::string, OtlpSpan> by_id(const std::vector<OtlpSpan>& spans) {
  std::map<std::string, OtlpSpan> made;
  for (const OtlpSpan& span : spans) made.emplace(span.span_id, span);
  return made;
}

TEST_F(TracedRun, SpansArriveWithTheirParentsAndOutcomes) {
  test::HttpServer collector;
  ASSERT_EQ(run(config(fmt::format("traces: {{ otlp: {}, service: shop }}\n", collector.url("")))),
            0);
  const auto [spans, flaws] = test::otlp_of(collector);
  EXPECT_TRUE(flaws.empty()) << flaws.front();
  const auto all = by_id(spans);
  std::multiset<std::string> outcomes;
  std::size_t handlers = 0;
  std::size_t stores = 0;
  for (const OtlpSpan& span : spans) {
    EXPECT_EQ(span.service, "shop");
    EXPECT_LE(span.begin, span.end);
    const bool process = span.name.starts_with("process ");
    if (process) outcomes.insert(span["semel.consumer"] + " " + span["semel.outcome"]);
    handlers += span.name == "handler native" ? 1 : 0;
    stores += span.name.starts_with("store ") ? 1 : 0;
    if (span.parent_id.empty()) {
      EXPECT_EQ(span["semel.consumer"], "orders") << "a file's line begins a trace";
      EXPECT_TRUE(process);
      continue;
    }
    const auto parent = all.find(span.parent_id);
    ASSERT_NE(parent, all.end()) << span.name;
    EXPECT_EQ(parent->second.trace_id, span.trace_id);
    // The span of a mail is a child of the order that sent the mail.
    EXPECT_EQ(parent->second["semel.consumer"],
              process ? "orders" : parent->second["semel.consumer"]);
    EXPECT_TRUE(parent->second.name.starts_with("process ")) << parent->second.name;
  }
  EXPECT_EQ(outcomes, (std::multiset<std::string>{"orders done", "orders done", "orders duplicate",
                                                  "mails done", "mails dead"}));
  EXPECT_EQ(handlers, 4U);
  EXPECT_GE(stores, 8U) << "each handled message is claimed and finished";
  EXPECT_EQ(untraced_, 0);
  for (const auto& request : collector.requests()) {
    EXPECT_EQ(request.body.find("alice"), std::string::npos) << "a key is nobody's but the store's";
    EXPECT_EQ(request.body.find("no address"), std::string::npos);
  }
}

TEST_F(TracedRun, AProgramsOwnSinkStandsInPlaceOfTheConfigs) {
  test::HttpServer collector;
  traces::KeptSpans spans;
  ASSERT_EQ(run(config(fmt::format("traces: {}\n", collector.url(""))), &spans), 0);
  EXPECT_TRUE(collector.requests().empty());
  const auto names = spans.names();
  EXPECT_EQ(std::ranges::count_if(names, [](const auto& n) { return n.starts_with("process "); }),
            5);
}

TEST_F(TracedRun, WithoutAPartOfThemNoneIsTraced) {
  traces::KeptSpans spans;
  ASSERT_EQ(run(config(), &spans, 0.0), 0);
  EXPECT_TRUE(spans.names().empty());
  EXPECT_EQ(untraced_, 2);
}

TEST_F(TracedRun, ACollectorThatIsAwayHoldsUpNothingAndIsToldOnce) {
  std::string nobody;
  {
    const test::HttpServer gone;
    nobody = gone.url("");
  }
  ASSERT_EQ(run(config(fmt::format("traces: {}\n", nobody))), 0);
  EXPECT_EQ(seen_.count(Outcome::Kind::kDone), 3U);
  const auto notices = seen_.notices();
  const auto told = std::ranges::count_if(
      notices, [](const auto& text) { return text.find("R350") != std::string::npos; });
  EXPECT_EQ(told, 1);
}

TEST_F(TracedRun, NothingIsTracedWhereNobodyAsksForIt) {
  const auto loaded = config::load_text(config(), "semel.yaml");
  ASSERT_TRUE(loaded.config);
  ServiceOptions options;
  auto none = Traces::open(*loaded.config, {}, options);
  ASSERT_TRUE(none);
  EXPECT_EQ(*none, nullptr);
  options.dry_run = true;
  traces::KeptSpans spans;
  auto dry = Traces::open(*loaded.config, {&spans, 1.0}, options);
  ASSERT_TRUE(dry);
  EXPECT_EQ(*dry, nullptr) << "deliveries of a dry run do not end";
}

}  // namespace
}  // namespace semel::compose
