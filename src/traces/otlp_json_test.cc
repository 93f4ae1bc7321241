#include "traces/otlp_json.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include <semel/version.h>

#include "tests/support/otlp.h"
#include "traces/test_sink.h"

namespace semel::traces {
namespace {

Span span_of_test() {
  Span span;
  span.name = "process orders";
  span.kind = Span::Kind::kConsumer;
  span.context.trace_id.fill(0xAB);
  span.context.span_id.fill(0xCD);
  span.begin =
      std::chrono::system_clock::time_point(std::chrono::nanoseconds(1'700'000'000'000'000'001));
  span.end = span.begin + std::chrono::nanoseconds(41);
  return span;
}

TEST(OtlpJson, HasTheFormOfTheProtocol) {
  Span span = span_of_test();
  span.parent.emplace().fill(0xEF);
  span.trace_state = "vendor=1";
  span.attributes = {{"semel.outcome", std::string("dead")}, {"semel.attempt", std::int64_t{3}}};
  span.error = "handler.native";
  const std::string expected =
      R"({"resourceSpans":[{"resource":{"attributes":[)"
      R"({"key":"service.name","value":{"stringValue":"shop"}},)"
      R"({"key":"service.instance.id","value":{"stringValue":"i-1"}},)"
      R"({"key":"telemetry.sdk.name","value":{"stringValue":"semel"}},)"
      R"({"key":"telemetry.sdk.language","value":{"stringValue":"cpp"}},)"
      R"({"key":"telemetry.sdk.version","value":{"stringValue":")" +
      std::string(version()) + R"("}}]},"scopeSpans":[{"scope":{"name":"semel","version":")" +
      std::string(version()) +
      R"("},"spans":[{"traceId":"abababababababababababababababab","spanId":"cdcdcdcdcdcdcdcd",)"
      R"("parentSpanId":"efefefefefefefef","traceState":"vendor=1","flags":1,)"
      R"("name":"process orders","kind":5,"startTimeUnixNano":"1700000000000000001",)"
      R"("endTimeUnixNano":"1700000000000000042","attributes":[)"
      R"({"key":"semel.outcome","value":{"stringValue":"dead"}},)"
      R"({"key":"semel.attempt","value":{"intValue":"3"}},)"
      R"({"key":"error.type","value":{"stringValue":"handler.native"}}],)"
      R"("status":{"code":2,"message":"handler.native"}}]}]}]})";
  EXPECT_EQ(otlp_json({&span, 1}, {"shop", "i-1"}), expected);
}

TEST(OtlpJson, ManySpansAreReadBack) {
  std::vector<Span> spans(3, span_of_test());
  spans[1].name = "a \"name\" with \\ and \n";
  spans[2].attributes = {{"bytes", std::string("\xFF\xFE")}};
  const auto read = test::read_otlp(otlp_json(spans, {"shop", "i-1"}));
  EXPECT_TRUE(read.flaws.empty()) << read.flaws.front();
  ASSERT_EQ(read.spans.size(), 3U);
  EXPECT_EQ(read.spans[0].parent_id, "") << "a trace begins here";
  EXPECT_EQ(read.spans[0].status, 0);
  EXPECT_EQ(read.spans[1].name, "a \"name\" with \\ and \n");
  EXPECT_EQ(read.spans[2]["bytes"], "\xEF\xBF\xBD\xEF\xBF\xBD") << "no UTF-8";
  EXPECT_EQ(read.spans[2].service, "shop");
}

TEST(PartialSuccess, SaysWhatWasNotTaken) {
  EXPECT_EQ(partial_success("").rejected, 0U);
  EXPECT_EQ(partial_success("{}").rejected, 0U);
  EXPECT_EQ(partial_success("no JSON").rejected, 0U);
  EXPECT_EQ(partial_success(R"({"partialSuccess":{}})").rejected, 0U);
  const auto text =
      partial_success(R"({"partialSuccess":{"rejectedSpans":"12","errorMessage":"too old"}})");
  EXPECT_EQ(text.rejected, 12U);
  EXPECT_EQ(text.message, "too old");
  EXPECT_EQ(partial_success(R"({"partialSuccess":{"rejectedSpans":7}})").rejected, 7U);
  EXPECT_EQ(partial_success(R"({"partialSuccess":{"rejectedSpans":-7}})").rejected, 0U);
}

}  // namespace
}  // namespace semel::traces
