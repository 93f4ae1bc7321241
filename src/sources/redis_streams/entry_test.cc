#include "sources/redis_streams/entry.h"

#include <gtest/gtest.h>

#include <semel/reason.h>

#include "core/failure.h"

namespace semel::redis_streams {
namespace {

using redis::Reply;

Reply text(std::string bytes) {
  Reply reply;
  reply.kind = Reply::Kind::kBytes;
  reply.bytes = std::move(bytes);
  return reply;
}

Reply list(std::vector<Reply> items) {
  Reply reply;
  reply.kind = Reply::Kind::kList;
  reply.list = std::move(items);
  return reply;
}

std::vector<Reply> fields(const std::vector<std::string>& words) {
  std::vector<Reply> made;
  for (const std::string& word : words) made.push_back(text(word));
  return made;
}

TEST(RedisStreamsEntry, AnIdIsTwoNumbers) {
  EXPECT_EQ(read_entry_id("1526919030474-55"), (EntryId{1'526'919'030'474, 55}));
  EXPECT_EQ(read_entry_id("18446744073709551615-18446744073709551615")->text(),
            "18446744073709551615-18446744073709551615");
  for (const char* none : {"", "1", "-", "1-", "-1", "a-1", "1-1x", "1-18446744073709551616"}) {
    EXPECT_FALSE(read_entry_id(none)) << none;
  }
  EXPECT_LT((EntryId{1, 9}), (EntryId{2, 0}));
}

TEST(RedisStreamsEntry, OneFieldIsThePayloadAndTheOthersAreHeaders) {
  const auto arrival = arrival_of(
      fields({"content-type", "application/json", "payload", "{\"n\":1}", "webhook-id", "w-1"}),
      "payload");
  EXPECT_EQ(arrival->payload, "{\"n\":1}");
  EXPECT_EQ(arrival->headers.size(), 2U);
  EXPECT_EQ(find_header(arrival->headers, "webhook-id"), "w-1");
  EXPECT_EQ(arrival->content_type, "application/json");
  EXPECT_FALSE(arrival->refused);
  EXPECT_FALSE(arrival->broker_key);
}

TEST(RedisStreamsEntry, WithoutThatFieldThePayloadIsTheObjectOfAllFields) {
  const auto arrival = arrival_of(fields({"id", "7", "note", "a \"b\""}), "payload");
  EXPECT_EQ(arrival->payload, R"({"id":"7","note":"a \"b\""})");
  EXPECT_EQ(find_header(arrival->headers, "id"), "7");
  EXPECT_FALSE(arrival->refused);
}

TEST(RedisStreamsEntry, APayloadTwiceIsRefused) {
  const auto arrival = arrival_of(fields({"data", "1", "data", "2"}), "data");
  EXPECT_EQ(arrival->refused, reason::kPayloadInvalid);
  EXPECT_EQ(arrival->payload, "1");
}

TEST(RedisStreamsEntry, AnEntryWhoseFieldsAreGoneIsToldAsOne) {
  const auto entries = read_entries(
      list({list({text("1-0"), Reply()}), list({text("2-0"), list(fields({"payload", "x"}))})}),
      "payload");
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].arrival, nullptr);
  EXPECT_EQ(entries[1].arrival->payload, "x");
  const auto gone = arrival_without_data(entries[0].id, "orders");
  EXPECT_EQ(gone->refused, reason::kTrimmed);
  EXPECT_NE(gone->refused_error.find("1-0 of orders"), std::string::npos) << gone->refused_error;
}

TEST(RedisStreamsEntry, WhatIsNoEntryIsNeverTakenForOne) {
  EXPECT_THROW((void)read_entries(list({text("1-0")}), "payload"), core::Failure);
  EXPECT_THROW((void)read_entries(list({list({text("1"), Reply()})}), "payload"), core::Failure);
  EXPECT_THROW((void)read_ids(list({text("x")})), core::Failure);
}

}  // namespace
}  // namespace semel::redis_streams
