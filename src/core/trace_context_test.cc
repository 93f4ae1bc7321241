#include "core/trace_context.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace semel::core
