#include "handlers/sqs/forms.h"

#include <gtest/gtest.h>

#include "tests/support/publish_calls.h"

namespace semel::sqs {
namespace {

TEST(SnsForms, ARequestIsAFormOfItsEntries) {
  core::SqsSendSpec spec;
  spec.queue.name = "orders.fifo";
  const Message message = test::keyed_message("k", "a&b", {{"c", "\xff"}}, "g 1");
  const Entry entry = entry_of(message, spec);
  const OutgoingEntry one{&entry, message.payload()};
  const std::string form = batch_form("arn:aws:sns:r:1:orders.fifo", {&one, 1});
  const std::string entry_at = "&PublishBatchRequestEntries.member.1.";
  EXPECT_TRUE(form.starts_with("TopicArn=arn%3Aaws%3Asns%3Ar%3A1%3Aorders.fifo" + entry_at +
                               "Id=0" + entry_at + "Message=a%26b" + entry_at +
                               "MessageGroupId=sha256%3A"))
      << form;
  EXPECT_NE(form.find(entry_at + "MessageDeduplicationId=k."), std::string::npos) << form;
  const std::string attribute = entry_at + "MessageAttributes.entry.";
  EXPECT_NE(form.find(attribute + "1.Name=Idempotency-Key" + attribute + "1.Value.DataType=String" +
                      attribute + "1.Value.StringValue=k"),
            std::string::npos)
      << form;
  EXPECT_TRUE(form.ends_with(attribute + "2.Name=c" + attribute + "2.Value.DataType=Binary" +
                             attribute + "2.Value.BinaryValue=%2Fw%3D%3D"))
      << form;
}

TEST(SnsForms, EachEntryHasAnAnswerOfItsOwn) {
  const BatchAnswer read = read_batch_xml(
      "<PublishBatchResponse><PublishBatchResult><Successful><member><MessageId>m-1</MessageId>"
      "<Id>1</Id></member></Successful><Failed><member><Id>0</Id><Code>InvalidParameter</Code>"
      "<Message>a &lt; b</Message><SenderFault>true</SenderFault></member><member><Id>2</Id>"
      "<Code>InternalError</Code><SenderFault>false</SenderFault></member></Failed>"
      "</PublishBatchResult></PublishBatchResponse>");
  ASSERT_EQ(read.taken.size(), 1U);
  EXPECT_EQ(read.taken[0].place, 1U);
  EXPECT_EQ(read.taken[0].message_id, "m-1");
  ASSERT_EQ(read.refused.size(), 2U);
  EXPECT_TRUE(read.refused[0].of_the_sender);
  EXPECT_EQ(read.refused[0].said, "a < b");
  EXPECT_FALSE(read.refused[1].of_the_sender);
  EXPECT_TRUE(
      read_batch_xml("<PublishBatchResponse><Failed/></PublishBatchResponse>").refused.empty());
}

}  // namespace
}  // namespace semel::sqs
