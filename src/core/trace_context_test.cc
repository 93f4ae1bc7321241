#include "core/trace_context.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

namespace semel::core {
namespace {

constexpr std::string_view kGood = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

std::string with(std::size_t at, std::string_view part) {
  std::string text(kGood);
  return text.replace(at, part.size(), part);
}

TEST(TraceContext, IsReadFromItsFourFields) {
  const auto context = parse_traceparent(kGood);
  ASSERT_TRUE(context);
  EXPECT_EQ(context->trace_id_text(), "4bf92f3577b34da6a3ce929d0e0e4736");
  EXPECT_EQ(context->parent_id[0], 0x00);
  EXPECT_EQ(context->parent_id[7], 0xb7);
  EXPECT_TRUE(context->sampled);
  EXPECT_FALSE(parse_traceparent(with(53, "00"))->sampled);
  EXPECT_TRUE(parse_traceparent(with(53, "ff"))->sampled) << "flags of a later version are ignored";
}

TEST(TraceContext, ALaterVersionMayHaveMoreBehindADash) {
  EXPECT_TRUE(parse_traceparent(with(0, "01")));
  EXPECT_TRUE(parse_traceparent(with(0, "cc") + "-what-comes"));
  EXPECT_TRUE(parse_traceparent(with(0, "cc") + "-"));
  EXPECT_FALSE(parse_traceparent(with(0, "cc") + ".what-comes"));
  EXPECT_FALSE(parse_traceparent(std::string(kGood) + "-what-comes"));
  EXPECT_FALSE(parse_traceparent(with(0, "ff")));
}

TEST(TraceContext, WhatIsNotOfTheFormIsNone) {
  EXPECT_FALSE(parse_traceparent(""));
  EXPECT_FALSE(parse_traceparent(kGood.substr(0, kGood.size() - 1)));
  EXPECT_FALSE(parse_traceparent(" " + std::string(kGood)));
  EXPECT_FALSE(parse_traceparent(std::string(kGood) + " "));
  EXPECT_FALSE(parse_traceparent(with(3, "00000000000000000000000000000000")));
  EXPECT_FALSE(parse_traceparent(with(36, "0000000000000000")));
  for (std::size_t at = 0; at < kGood.size(); ++at) {
    for (const std::string_view wrong : {"A", "F", "g", "/", ":", "`", " "}) {
      EXPECT_FALSE(parse_traceparent(with(at, wrong))) << at << wrong;
    }
    EXPECT_FALSE(parse_traceparent(with(at, std::string_view("\0", 1)))) << at;
  }
}

TEST(TraceContext, ComesFromTheHeaderWhateverItsCase) {
  EXPECT_FALSE(trace_context_of({}));
  EXPECT_FALSE(trace_context_of({{"tracestate", Bytes(kGood)}}));
  EXPECT_TRUE(trace_context_of({{"TraceParent", Bytes(kGood)}}));
  EXPECT_TRUE(trace_context_of({{"traceparent", Bytes(kGood)}, {"Traceparent", Bytes(kGood)}}));
  EXPECT_FALSE(trace_context_of({{"traceparent", Bytes(kGood)}, {"traceparent", with(53, "00")}}));
}

Message with_span(Headers headers) {
  auto span = std::make_shared<DeliverySpan>();
  span->context.trace_id.fill(0xAB);
  span->context.span_id.fill(0xCD);
  Message::Parts parts;
  parts.headers = std::move(headers);
  parts.span = std::move(span);
  return Message(std::move(parts));
}

constexpr std::string_view kOurs = "00-abababababababababababababababab-cdcdcdcdcdcdcdcd-01";

TEST(OutgoingHeaders, NameTheSpanOfATracedMessage) {
  const Message message =
      with_span({{"a", "1"}, {"TraceParent", Bytes(kGood)}, {"tracestate", "v=1"}});
  EXPECT_EQ(outgoing_traceparent(message), kOurs);
  const Headers made = outgoing_headers(message);
  ASSERT_EQ(made.size(), 3U);
  EXPECT_EQ(made[0].name, "a");
  EXPECT_EQ(made[1].name, "tracestate");
  EXPECT_EQ(made[2].name, "traceparent");
  EXPECT_EQ(made[2].value, kOurs);
  EXPECT_EQ(message.header("traceparent"), kGood) << "the message stays as it came";
  EXPECT_EQ(find_header(outgoing_headers(with_span({})), "traceparent"), kOurs);
}

TEST(OutgoingHeaders, AreThoseOfAMessageThatIsNotTraced) {
  Message::Parts parts;
  parts.headers = {{"TraceParent", "whatever it says"}};
  const Message message(std::move(parts));
  EXPECT_EQ(outgoing_traceparent(message), "whatever it says");
  ASSERT_EQ(outgoing_headers(message).size(), 1U);
  EXPECT_EQ(outgoing_headers(message)[0].name, "TraceParent");
  EXPECT_FALSE(outgoing_traceparent(Message(Message::Parts{})));
}

TEST(AddTraceparent, LeavesOneThatIsThere) {
  Headers own = {{"Traceparent", Bytes(kGood)}};
  add_traceparent(own, with_span({}));
  ASSERT_EQ(own.size(), 1U);
  EXPECT_EQ(own[0].value, kGood);
  Headers none;
  add_traceparent(none, Message(Message::Parts{}));
  EXPECT_TRUE(none.empty());
  add_traceparent(none, with_span({}));
  ASSERT_EQ(none.size(), 1U);
  EXPECT_EQ(none[0].value, kOurs);
}

}  // namespace
}  // namespace semel::core
