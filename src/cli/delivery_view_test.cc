// How a run and a tap show a delivery.
#include "cli/delivery_view.h"

#include <gtest/gtest.h>

namespace semel::cli {
namespace {

using std::chrono::milliseconds;

Settings raw_times() {
  Settings settings;
  settings.time = TimeStyle::kRaw;
  return settings;
}

tap::EndingView ending() {
  tap::EndingView view;
  view.consumer = "payments";
  view.key = "p-1";
  view.attempt = 2;
  view.partition = "queue";
  view.position = "7";
  view.took = std::chrono::microseconds(2'100);
  return view;
}

std::string json_of(const tap::EndingView& view) {
  const Console console(raw_times());
  json::Writer writer = document("delivery");
  add_delivery(writer, console, view);
  return writer.end_object().text();
}

std::string payload_json(BytesView payload, Body body) {
  json::Writer writer;
  writer.begin_object();
  add_payload(writer, payload, body);
  return writer.end_object().text();
}

TEST(DeliveryView, TextSaysWhatThereIsToSay) {
  const Console console(raw_times());
  tap::EndingView view = ending();
  EXPECT_EQ(delivery_text(console, view, "done", {}), "p-1  done       2.1 ms");
  EXPECT_EQ(delivery_text(console, view, "done", {.attempt = true, .place = true}),
            "p-1  done       2.1 ms · attempt 2 · queue 7");
  view.outcome = Outcome::Kind::kRetry;
  view.again_in = milliseconds(1'000);
  view.reason = "handler.native";
  view.error = "no\x1b[31m";
  EXPECT_EQ(delivery_text(console, view, "retry", {}),
            "p-1  retry      again in 1 s · handler.native: no\\x1b[31m · 2.1 ms");
  view = ending();
  view.outcome = Outcome::Kind::kDuplicate;
  view.completed_at = StoreTime(milliseconds(42));
  EXPECT_EQ(delivery_text(console, view, "duplicate", {}), "p-1  duplicate  of 42 · 2.1 ms");
}

TEST(DeliveryView, WhatHasNoKeyIsNamedByItsPlace) {
  const Console console({});
  tap::EndingView view = ending();
  view.key.reset();
  view.took.reset();
  view.reason = "key.missing";
  EXPECT_EQ(delivery_text(console, view, "dead", {.place = true}),
            "queue 7  dead       key.missing");
  EXPECT_NE(json_of(view).find("\"key\":null"), std::string::npos);
  EXPECT_EQ(json_of(view).find("took"), std::string::npos);
}

TEST(DeliveryView, JsonKeepsTheBytesOfAKey) {
  tap::EndingView view = ending();
  EXPECT_NE(json_of(view).find("\"key\":\"p-1\""), std::string::npos);
  view.key = "\xff";
  EXPECT_NE(json_of(view).find("\"key_base64\":\"/w==\""), std::string::npos);
}

TEST(DeliveryView, APayloadIsJsonWhereItIsJson) {
  EXPECT_EQ(payload_json("{ \"id\": [1,\n 2.50] }", Body::kJson),
            "{\"payload_json\":{\"id\":[1,2.50]}}");
  EXPECT_EQ(payload_json("\"text\"", Body::kJson), "{\"payload_json\":\"text\"}");
  EXPECT_EQ(payload_json("text", Body::kJson), "{\"payload\":\"text\"}");
  EXPECT_EQ(payload_json("", Body::kJson), "{\"payload\":\"\"}");
  EXPECT_EQ(payload_json("\xff{", Body::kJson), "{\"payload_base64\":\"/3s=\"}");
  EXPECT_EQ(payload_json("\xff{", Body::kHex), "{\"payload_hex\":\"ff7b\"}");
  EXPECT_EQ(payload_json("{}", Body::kNone), "{}");
}

TEST(DeliveryView, APayloadAsTextIsOneLineThatMovesNoCursor) {
  EXPECT_EQ(payload_text("{ \"a\":\r\n 1 }", Body::kJson), "{\"a\":1}");
  EXPECT_EQ(payload_text("a\nb\x1b[2J\xff", Body::kJson), "a\\x0ab\\x1b[2J\\xff");
  EXPECT_EQ(payload_text("{}", Body::kHex), "7b7d");
}

}  // namespace
}  // namespace semel::cli
