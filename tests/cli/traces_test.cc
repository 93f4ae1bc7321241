// The spans of a run at a collector: their parents and outcomes, what goes out with their ids, and
// a collector that is killed and comes back.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/digest.h"
#include "tests/cli/admin_run.h"
#include "tests/support/http_server.h"
#include "tests/support/otlp.h"
#include "tests/support/server_address.h"
#include "tests/support/tcp_proxy.h"

namespace semel::test {
namespace {

constexpr std::string_view kTraceId = "4bf92f3577b34da6a3ce929d0e0e4736";
constexpr std::string_view kSenderSpan = "00f067aa0ba902b7";

std::string traceparent_of(std::string_view flags) {
  return fmt::format("traceparent=00-{}-{}-{}", kTraceId, kSenderSpan, flags);
}

std::string traces_to(const HttpServer& collector, std::string_view more = "") {
  return fmt::format("traces: {{ otlp: '{}', service: shop{} }}\n", collector.url(""), more);
}

void put_before(const TestBed& bed, const std::string& text) {
  write_file(bed.config(), text + contents_of(bed.config()));
}

std::vector<OtlpSpan> with_outcome(const std::vector<OtlpSpan>& spans, std::string_view outcome) {
  std::vector<OtlpSpan> found;
  std::ranges::copy_if(spans, std::back_inserter(found),
                       [&](const OtlpSpan& span) { return span["semel.outcome"] == outcome; });
  return found;
}

bool is_child_of(const OtlpSpan& parent, const std::vector<OtlpSpan>& spans) {
  return std::ranges::any_of(spans, [&](const OtlpSpan& span) {
    return span.parent_id == parent.span_id && span.trace_id == parent.trace_id;
  });
}

TEST(Traces, AQueuedMessageContinuesTheTraceOfItsSender) {
  const HttpServer collector;
  const TestBed bed(payments(kQueue));
  put_before(bed, traces_to(collector));
  const Words sampled = {"--header", traceparent_of("01"), "--header", "tracestate=vendor=1"};
  const auto send = [&](const std::string& id, Words headers) {
    Words words = {"send", "payments", payment(id, 1, 5)};
    words.insert(words.end(), headers.begin(), headers.end());
    ASSERT_EQ(bed.semel(words).code, 0);
  };
  send("p-1", sampled);
  send("p-1", sampled);
  send("p-2", {"--header", traceparent_of("00")});
  send("p-3", {});
  ASSERT_EQ(bed.semel({"run", "--once"}).code, 0);

  const auto [spans, flaws] = otlp_of(collector);
  EXPECT_TRUE(flaws.empty()) << flaws.front();
  const auto done = with_outcome(spans, "done");
  ASSERT_EQ(done.size(), 2U) << "one that is not sampled is not traced";
  for (const OtlpSpan& span : done) {
    const bool continued = span.trace_id == kTraceId;
    EXPECT_EQ(span.parent_id, continued ? kSenderSpan : "");
    EXPECT_EQ(span.trace_state, continued ? "vendor=1" : "");
    EXPECT_EQ(span.service, "shop");
    EXPECT_EQ(span["messaging.system"], "queue");
    EXPECT_EQ(span["semel.attempt"], "1");
    EXPECT_EQ(span.status, 0);
    // In one transaction: the handler's statements are sent with its commit.
    for (const char* name : {"store claim", "handler sql", "store commit"}) {
      EXPECT_TRUE(is_child_of(span, named(spans, name))) << name;
    }
  }
  const auto duplicate = with_outcome(spans, "duplicate");
  ASSERT_EQ(duplicate.size(), 1U);
  EXPECT_EQ(duplicate[0].trace_id, kTraceId);
  const Ran shown = bed.semel({"records", "show", "p-1", "-o", "json"});
  const std::string id = json_at(shown.out, "/records/0/id");
  std::string bytes;
  for (std::size_t at = 0; at + 1 < id.size(); at += 2) {
    bytes.push_back(static_cast<char>(std::stoi(id.substr(at, 2), nullptr, 16)));
  }
  EXPECT_EQ(duplicate[0]["semel.key_id"], digest::hex(digest::view(digest::sha256(bytes))));
  for (const HttpRequest& request : collector.requests()) {
    EXPECT_EQ(request.body.find("p-1"), std::string::npos) << "the key's id, not the key";
  }
}

TEST(Traces, LinesOfAFileAndADeadLetterOnTheMemoryStore) {
  const HttpServer collector;
  const TestBed bed(
      "    source: { file: { path: lines.jsonl, from: start } }\n"
      "    key: json:/id\n"
      "    strategy: state_machine\n"
      "    handler: { exec: { command: [/bin/sh, -c, 'grep -q good || exit 65'] } }\n");
  write_file(
      bed.file("lines.jsonl"),
      "{\"id\":\"a\",\"is\":\"good\"}\n{\"id\":\"b\"}\n{\"id\":\"a\",\"is\":\"good\"}\nno JSON\n");
  std::string config = contents_of(bed.config());
  const std::string_view sqlite = "sqlite: { path: semel.db }";
  ASSERT_NE(config.find(sqlite), std::string::npos);
  config.replace(config.find(sqlite), sqlite.size(), "memory: {}");
  write_file(bed.config(), config);
  ASSERT_EQ(bed.semel({"run", "--once", "--set", "traces.otlp=" + collector.url("")}).code, 0);
  const auto [spans, flaws] = otlp_of(collector);
  EXPECT_TRUE(flaws.empty()) << flaws.front();
  ASSERT_EQ(with_outcome(spans, "done").size(), 1U);
  EXPECT_EQ(with_outcome(spans, "duplicate").size(), 1U);
  const auto dead = with_outcome(spans, "dead");
  ASSERT_EQ(dead.size(), 2U);
  for (const OtlpSpan& span : dead) {
    EXPECT_EQ(span.status, 2);
    EXPECT_EQ(span["error.type"], span["semel.reason"]);
    EXPECT_EQ(span["messaging.system"], "file");
  }
  const auto calls = named(spans, "handler exec");
  ASSERT_EQ(calls.size(), 2U);
  const OtlpSpan done = with_outcome(spans, "done").front();
  EXPECT_TRUE(std::ranges::any_of(calls, [&](const OtlpSpan& call) {
    return call.parent_id == done.span_id && call["semel.verdict"] == "done";
  }));
  for (const char* operation : {"store claim", "store finish"}) {
    EXPECT_TRUE(std::ranges::any_of(named(spans, operation), [&](const OtlpSpan& call) {
      return call.parent_id == done.span_id && call["db.system.name"] == "memory";
    })) << operation;
  }
}

TEST(Traces, AnEndpointIsToldTheSpanAsItsParent) {
  const HttpServer collector;
  HttpServer endpoint;
  const TestBed bed(
      fmt::format("    source: {{ queue: {{}} }}\n    key: json:/id\n    handler: {{ http: {{ url: "
                  "'{}' }} }}\n",
                  endpoint.url("/send")));
  put_before(bed, traces_to(collector));
  ASSERT_EQ(bed.semel({"send", "payments", "{\"id\":1}", "--header", traceparent_of("01")}).code,
            0);
  ASSERT_EQ(bed.semel({"send", "payments", "{\"id\":2}", "--header", traceparent_of("00")}).code,
            0);
  ASSERT_EQ(bed.semel({"run", "--once"}, {.environment = {"no_proxy=127.0.0.1"}}).code, 0);
  const auto done = with_outcome(otlp_of(collector).spans, "done");
  ASSERT_EQ(done.size(), 1U);
  std::vector<std::string> told;
  for (const HttpRequest& request : endpoint.requests()) {
    told.push_back(request.header("traceparent"));
  }
  std::ranges::sort(told);
  EXPECT_EQ(told, (std::vector<std::string>{fmt::format("00-{}-{}-00", kTraceId, kSenderSpan),
                                            fmt::format("00-{}-{}-01", kTraceId, done[0].span_id)}))
      << "what is not traced is passed on as it came";
}

TEST(Traces, ARequestContinuesTheTraceOfItsSender) {
  const HttpServer collector;
  const int port = free_port();
  const TestBed bed(
      fmt::format("    source: {{ http: {{ listen: '127.0.0.1:{}' }} }}\n    key: json:/id\n"
                  "    handler: {{ exec: {{ command: [/bin/true] }} }}\n",
                  port));
  put_before(bed, traces_to(collector));
  Program run({"run", bed.config()});
  ASSERT_TRUE(tells(run, "takes requests to ")) << run.err();
  const std::string answer =
      http_raw(static_cast<std::uint16_t>(port),
               fmt::format("POST / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                           "traceparent: 00-{}-{}-01\r\nContent-Length: 10\r\n\r\n{{\"id\":\"a\"}}",
                           kTraceId, kSenderSpan));
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200")) << answer;
  run.signal(SIGTERM);
  EXPECT_EQ(run.wait().code, 0);
  const auto done = with_outcome(otlp_of(collector).spans, "done");
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].trace_id, kTraceId);
  EXPECT_EQ(done[0].parent_id, kSenderSpan);
  EXPECT_EQ(done[0]["messaging.system"], "http");
}

TEST(Traces, ALogLineNamesTheTraceThatBeganHere) {
  const HttpServer collector;
  const TestBed bed(payments("{ stdin: {} }"));
  put_before(bed, traces_to(collector));
  const Ran ran =
      bed.semel({"run", "--once", "-v", "--log-format", "json"}, {.input = payment("p-1", 1, 5)});
  const auto done = with_outcome(otlp_of(collector).spans, "done");
  ASSERT_EQ(done.size(), 1U);
  EXPECT_NE(ran.err.find("\"trace_id\":\"" + done[0].trace_id + "\""), std::string::npos)
      << ran.err;
}

// A collector behind a connection that is cut and refused: to its clients it is killed.
class LostCollector : public testing::Test {
 protected:
  LostCollector()
      : proxy_(collector_.port()),
        bed_(payments("{ file: { path: payments.jsonl, from: start } }")) {}

  std::string traces(std::string_view more = "") const {
    return fmt::format("{}traces: {{ otlp: 'http://127.0.0.1:{}'{} }}\n", kAdmin, proxy_.port(),
                       more);
  }
  void add(int first, int last) {
    for (int i = first; i < last; ++i) lines_ += payment(fmt::format("p-{}", i), 1, 1);
    write_file(bed_.file("payments.jsonl"), lines_);
  }
  static bool shows(const AdminRun& run, const std::string& series, int value) {
    return comes_true([&] { return run.metric(series) == std::to_string(value); });
  }
  // A span that is sent again counts once.
  std::size_t done() const {
    std::set<std::string> ids;
    for (const auto& span : with_outcome(otlp_of(collector_).spans, "done")) {
      ids.insert(span.span_id);
    }
    return ids.size();
  }

  HttpServer collector_;
  TcpProxy proxy_;
  const TestBed bed_;
  std::string lines_;
};

constexpr const char* kDoneSeries =
    "semel_deliveries_total{consumer=\"payments\",source=\"file\",outcome=\"done\"}";

TEST_F(LostCollector, KilledAndBackItGetsWhatWaitedMeanwhile) {
  add(0, 10);
  AdminRun run(bed_, traces());
  EXPECT_TRUE(comes_true([&] { return done() == 10; }));
  EXPECT_EQ(run.metric("semel_spans_dropped_total{reason=\"queue_full\"}"), "0");
  proxy_.refuse(true);
  proxy_.cut_all();
  add(10, 30);
  EXPECT_TRUE(shows(run, kDoneSeries, 30)) << "the work goes on";
  EXPECT_TRUE(tells(run.program(), "R350")) << run.program().err();
  EXPECT_EQ(done(), 10U);
  proxy_.refuse(false);
  EXPECT_TRUE(comes_true([&] { return done() == 30; }));
  EXPECT_TRUE(tells(run.program(), "spans are exported again; 0 were lost meanwhile"))
      << run.program().err();
  EXPECT_EQ(count_of(run.program().err(), "R350"), 1U) << run.program().err();
  EXPECT_EQ(run.metric("semel_spans_dropped_total{reason=\"unavailable\"}"), "0");
  EXPECT_TRUE(otlp_of(collector_).flaws.empty());
  run.program().signal(SIGTERM);
  EXPECT_EQ(run.program().wait().code, 0);
}

TEST_F(LostCollector, WhatFindsNoRoomIsCountedAndHoldsUpNobody) {
  proxy_.refuse(true);
  add(0, 500);
  AdminRun run(bed_, traces(", queue: 10"));
  EXPECT_TRUE(shows(run, kDoneSeries, 500));
  const std::string dropped = run.metric("semel_spans_dropped_total{reason=\"queue_full\"}");
  EXPECT_GT(std::atoi(dropped.c_str()), 400) << dropped;
  EXPECT_EQ(run.metric("semel_spans_exported_total"), "0");
  run.program().signal(SIGTERM);
  EXPECT_EQ(run.program().wait().code, 0) << "nor does the drain wait for a collector that is away";
}

}  // namespace
}  // namespace semel::test
