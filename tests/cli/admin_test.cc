// semel run with admin: metrics that agree with what happened, and health that follows it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <regex>
#include <set>
#include <string>

#include "tests/cli/admin_run.h"
#include "tests/cli/write_lock.h"
#include "tests/support/http_get.h"
#include "tests/support/inputs.h"

namespace semel::test {
namespace {

std::string deliveries(std::string_view outcome) {
  return fmt::format(
      "semel_deliveries_total{{consumer=\"payments\",source=\"queue\",outcome=\"{}\"}}", outcome);
}

TEST(AdminMetrics, AgreeWithTheEffects) {
  const TestBed bed(payments(kQueue));
  ASSERT_EQ(bed.semel({"store", "init"}).code, 0);
  AdminRun run(bed);
  constexpr int kMessages = 500;
  std::string lines;
  for (int i = 0; i < kMessages; ++i) {
    const std::string line = payment(fmt::format("p-{}", i), 1 + i % 100, 1);
    lines += i % 5 == 0 ? line + line : line;
  }
  lines += "{\"account\":1,\"amount\":1}\n";
  ASSERT_EQ(bed.semel({"send", "payments", "-"}, {.input = lines}).code, 0);
  ASSERT_TRUE(comes_true([&] { return run.metric(deliveries("dead")) == "1"; }));
  ASSERT_TRUE(comes_true([&] { return run.metric(deliveries("duplicate")) == "100"; }));
  ASSERT_TRUE(comes_true([&] {
    return run.metric("semel_effects_total{consumer=\"payments\"}") == "500";
  })) << run.get("/metrics").body;
  EXPECT_EQ(bed.number("SELECT sum(balance) FROM account"), kMessages);
  EXPECT_EQ(run.metric(deliveries("done")), "500");
  EXPECT_TRUE(
      comes_true([&] { return run.metric("semel_in_flight{consumer=\"payments\"}") == "0"; }));
  EXPECT_EQ(run.metric("semel_dead_letters_total{consumer=\"payments\",reason=\"key.missing\"}"),
            "1");
  ASSERT_TRUE(comes_true([&] {
    return run.metric("semel_dead_letters_stored{consumer=\"payments\"}") == "1";
  })) << "it comes from the store";
  ASSERT_EQ(bed.semel({"consumers", "pause", "payments"}).code, 0);
  EXPECT_TRUE(comes_true(
      [&] { return run.metric("semel_consumer_paused{consumer=\"payments\"}") == "1"; }));
  run.program().signal(SIGTERM);
  EXPECT_EQ(run.program().wait().code, 0);
  EXPECT_EQ(run.get("/livez").status, 0) << "nothing listens after the run";
}

TEST(AdminMetrics, DeadLettersPastTheirTimeAreRemovedAndCounted) {
  const TestBed bed(payments(kQueue) + "    dead_letter: { expire: 2s }\n");
  ASSERT_EQ(bed.semel({"send", "payments", "-"}, {.input = "{}\n{}\n{\"a\":1}\n"}).code, 0);
  AdminRun run(bed);
  const auto oldest = [&] {
    return std::stod("0" + run.metric("semel_dead_letter_oldest_seconds{consumer=\"payments\"}"));
  };
  ASSERT_TRUE(comes_true([&] { return oldest() > 2; })) << run.get("/metrics").body;
  const std::string expired = "semel_dead_letters_expired_total{consumer=\"payments\"}";
  ASSERT_TRUE(comes_true([&] { return run.metric(expired) == "3"; })) << run.get("/metrics").body;
  ASSERT_TRUE(comes_true(
      [&] { return run.metric("semel_dead_letters_stored{consumer=\"payments\"}") == "0"; }));
  EXPECT_EQ(oldest(), 0);
  EXPECT_TRUE(tells(run.program(), "3 dead letters past their time removed"))
      << run.program().err();
}

// Docs, alerts and dashboard name only metrics that are served, and the docs name all of them.
TEST(AdminMetrics, AreThoseOfThePage) {
  const TestBed bed(payments(kQueue));
  ASSERT_EQ(bed.semel({"send", "payments", "{}"}).code, 0);
  AdminRun run(bed);
  ASSERT_TRUE(comes_true([&] { return run.metric(deliveries("dead")) == "1"; }));
  ASSERT_TRUE(comes_true([&] {
    return run.metric("semel_dead_letters_stored{consumer=\"payments\"}") == "1";
  })) << "it comes from the store";
  std::set<std::string> served;
  const std::string text = run.get("/metrics").body;
  const std::regex type("# TYPE ([a-z_]+) ");
  for (auto at = std::sregex_iterator(text.begin(), text.end(), type); at != std::sregex_iterator();
       ++at) {
    served.insert((*at)[1]);
  }
  EXPECT_GT(served.size(), 15U);
  const std::string page = contents_of(input("docs/monitoring.md"));
  for (const std::string& name : served) {
    EXPECT_NE(page.find("`" + name + "`"), std::string::npos) << name << " is not on the page";
  }
  // There only while a source has a lag, a person waits, something fails, or a run is traced.
  const std::set<std::string> sometimes{"semel_source_lag_messages",
                                        "semel_outages_total",
                                        "semel_last_delivery_timestamp_seconds",
                                        "semel_source_oldest_seconds",
                                        "semel_spans_exported_total",
                                        "semel_spans_dropped_total"};
  const std::regex name("\\b(semel_[a-z_]+|process_start_time_seconds)\\b");
  const std::regex suffix("_(bucket|sum|count)$");
  for (const char* file : {"docs/monitoring.md", "monitoring/prometheus/alerts.yml",
                           "monitoring/grafana/semel.json"}) {
    const std::string named = contents_of(input(file));
    ASSERT_FALSE(named.empty()) << file;
    for (auto at = std::sregex_iterator(named.begin(), named.end(), name);
         at != std::sregex_iterator(); ++at) {
      const std::string whole = (*at)[1];
      const std::string base = std::regex_replace(whole, suffix, "");
      EXPECT_TRUE(served.contains(whole) || served.contains(base) || sometimes.contains(whole))
          << file << " names " << whole;
    }
  }
}

TEST(AdminHealth, FollowsTheStore) {
  const TestBed bed(payments("{ stdin: {} }"));
  AdminRun run(bed, kAdmin, {.held_input = true});
  ASSERT_TRUE(run.is_ready(200));
  EXPECT_EQ(run.get("/startupz").status, 200);
  ASSERT_EQ(bed.semel({"consumers", "pause", "payments"}).code, 0);
  EXPECT_EQ(run.get("/readyz").status, 200) << "a pause is a person's wish";
  ASSERT_EQ(bed.semel({"consumers", "resume", "payments"}).code, 0);
  auto lock = std::make_unique<WriteLock>(bed.database());
  run.program().say(payment("p-1", 1, 5));
  ASSERT_TRUE(run.is_ready(503));
  const HttpAnswer away = run.get("/readyz");
  EXPECT_EQ(json_at(away.body, "/status"), "not_ready") << away.body;
  EXPECT_EQ(json_at(away.body, "/consumers/0/outages/0/component"), "store") << away.body;
  EXPECT_EQ(run.get("/livez").status, 200) << "a restart would mend nothing";
  EXPECT_EQ(run.get("/startupz").status, 200);
  EXPECT_EQ(run.metric("semel_consumer_up{consumer=\"payments\"}"), "0");
  EXPECT_NE(run.metric("semel_outages_total{consumer=\"payments\",component=\"store\"}"), "(none)");
  lock.reset();
  EXPECT_TRUE(run.is_ready(200));
}

TEST(AdminHealth, ADrainIsNotReady) {
  const TempDir folder;
  const std::string go = folder.file("go");
  const TestBed bed(fmt::format(
      "    source: {{ queue: {{}} }}\n"
      "    key: json:/id\n"
      "    handler: {{ exec: {{ command: [/bin/sh, -c, 'until [ -e {} ]; do sleep 0.05; "
      "done'] }} }}\n",
      go));
  AdminRun run(bed);
  ASSERT_EQ(bed.semel({"send", "payments", "{\"id\":\"a\"}"}).code, 0);
  ASSERT_TRUE(
      comes_true([&] { return run.metric("semel_in_flight{consumer=\"payments\"}") == "1"; }));
  run.program().signal(SIGTERM);
  EXPECT_TRUE(run.is_ready(503));
  EXPECT_EQ(json_at(run.get("/readyz").body, "/status"), "draining");
  EXPECT_EQ(run.get("/livez").status, 200);
  write_file(go, "");
  EXPECT_EQ(run.program().wait().code, 0);
}

TEST(AdminPage, ShowsWhatTheRunDoes) {
  const TestBed bed(payments(kQueue));
  AdminRun run(bed);
  ASSERT_EQ(bed.semel({"send", "payments", "{}"}).code, 0);
  ASSERT_TRUE(comes_true([&] {
    return run.get("/").body.find("semel dlq list --consumer payments") != std::string::npos;
  })) << run.get("/").body;
  const std::string page = run.get("/").body;
  EXPECT_NE(page.find("queue → dedup_table → sql"), std::string::npos) << page;
  EXPECT_NE(page.find("<span class=\"badge\">transactional</span>"), std::string::npos);
  EXPECT_NE(page.find("<span class=\"state good\">running</span>"), std::string::npos);
  ASSERT_EQ(bed.semel({"consumers", "pause", "payments", "--reason", "month <end>"}).code, 0);
  EXPECT_TRUE(comes_true([&] {
    return run.get("/").body.find("is paused: month &lt;end&gt;") != std::string::npos;
  })) << run.get("/").body;
}

TEST(AdminPage, AFlagOfTheCommandServesIt) {
  const TestBed bed(payments(kQueue));
  Program run({"run", bed.config(), "--ui=127.0.0.1:0"});
  EXPECT_TRUE(tells(run, "dashboard, metrics and health on port ")) << run.err();
  const Ran open = bed.semel({"run", "--once", "--ui=:0"});
  EXPECT_EQ(open.code, 78) << "nobody needs a token: " << open.err;
  EXPECT_NE(open.err.find("E055"), std::string::npos) << open.err;
  write_file(bed.config(), std::string(kAdmin) + contents_of(bed.config()));
  const Ran none = bed.semel({"run", "--once", "--no-ui"});
  EXPECT_EQ(none.code, 0) << none.err;
  EXPECT_EQ(none.err.find("dashboard"), std::string::npos) << none.err;
}

TEST(AdminListener, APortThatIsTakenEndsTheRunBeforeItReceives) {
  const TestBed bed(payments(kQueue));
  ASSERT_EQ(bed.semel({"send", "payments", payment("p-1", 1, 5)}).code, 0);
  ASSERT_EQ(bed.semel({"consumers", "pause", "payments"}).code, 0);
  AdminRun first(bed);
  const std::string said = first.program().err();
  const auto port = said.substr(said.find("on port ") + 8);
  ASSERT_EQ(bed.semel({"consumers", "resume", "payments"}).code, 0);
  const Ran second = bed.semel(
      {"run", "--once", "--set", "admin.listen=127.0.0.1:" + port.substr(0, port.find('\n'))});
  EXPECT_EQ(second.code, 69) << second.err;
  EXPECT_NE(second.err.find("R340"), std::string::npos) << second.err;
  EXPECT_EQ(second.out.find("deliver"), std::string::npos) << second.out;
  const Ran dry = bed.semel({"run", "--once", "--dry-run", "--set",
                             "admin.listen=127.0.0.1:" + port.substr(0, port.find('\n'))});
  EXPECT_EQ(dry.code, 0) << "it does not listen: " << dry.err;
}

TEST(AdminListener, ATokenIsNeededWhereTheConfigHasOne) {
  const TestBed bed(payments(kQueue));
  write_file(bed.file("token"), "a token of some length\n");
  AdminRun run(bed,
               "admin: { listen: ':0', auth: { tokens: [{ name: prometheus, secret: "
               "'${file:token}' }] } }\n");
  EXPECT_EQ(run.get("/metrics").status, 401);
  EXPECT_EQ(run.get("/metrics", {"Authorization: Bearer a token of some length"}).status, 200);
  EXPECT_TRUE(run.is_ready(200));
  EXPECT_EQ(run.get("/readyz").body, "ready\n");
}

}  // namespace
}  // namespace semel::test
