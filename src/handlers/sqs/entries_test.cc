#include "handlers/sqs/entries.h"

#include <gtest/gtest.h>

#include "tests/support/publish_calls.h"

namespace semel::sqs {
namespace {

core::SqsPublishSpec to_queue(const std::string& name) {
  core::SqsPublishSpec spec;
  spec.queue = core::read_sqs_url("http://localhost/1/" + name).value();
  return spec;
}

std::string request_of(const Message& message, const core::SqsPublishSpec& spec) {
  const Entry entry = entry_of(message, spec);
  const OutgoingEntry one{&entry, message.payload()};
  return batch_request(spec.queue.url, spec.delay, {&one, 1});
}

TEST(SqsEntries, ARequestHasBodyAttributesAndDelay) {
  core::SqsPublishSpec spec = to_queue("orders");
  spec.delay = std::chrono::seconds(90);
  EXPECT_EQ(request_of(test::keyed_message("k", "{\"a\":1}", {{"b", "\xff"}}), spec),
            R"({"QueueUrl":"http://localhost/1/orders","Entries":[{"Id":"0","MessageBody":)"
            R"("{\"a\":1}","DelaySeconds":90,"MessageAttributes":{"Idempotency-Key":)"
            R"({"DataType":"String","StringValue":"k"},"b":{"DataType":"Binary","BinaryValue":)"
            R"("/w=="}}}]})");
}

TEST(SqsEntries, AFifoQueueHasGroupAndId) {
  core::SqsPublishSpec spec = to_queue("orders.fifo");
  spec.fifo.deduplication = core::SqsFifo::Deduplication::kKey;
  const Message message = test::keyed_message("k", "{}", {}, "c-7");
  EXPECT_NE(
      request_of(message, spec).find(R"("MessageGroupId":"c-7","MessageDeduplicationId":"k",)"),
      std::string::npos);
  spec.group_of = [](const Message&) { return std::optional<Bytes>("mine"); };
  EXPECT_EQ(entry_of(message, spec).group, "mine");
  spec.group_of = [](const Message&) { return std::optional<Bytes>(); };
  EXPECT_EQ(entry_of(message, spec).group, "k");
}

TEST(SqsEntries, EachEntryHasAnAnswerOfItsOwn) {
  const BatchAnswer read = read_batch(
      R"({"Successful":[{"Id":"1","MessageId":"m-1","MD5OfMessageBody":"x"}],)"
      R"("Failed":[{"Id":"0","SenderFault":true,"Code":"InvalidMessageContents","Message":"no"},)"
      R"({"Id":"2","SenderFault":false,"Code":"InternalError","Message":""}]})");
  ASSERT_EQ(read.taken.size(), 1U);
  EXPECT_EQ(read.taken[0].place, 1U);
  EXPECT_EQ(read.taken[0].message_id, "m-1");
  ASSERT_EQ(read.refused.size(), 2U);
  EXPECT_TRUE(read.refused[0].of_the_sender);
  EXPECT_EQ(read.refused[0].code, "InvalidMessageContents");
  EXPECT_FALSE(read.refused[1].of_the_sender);
}

}  // namespace
}  // namespace semel::sqs
