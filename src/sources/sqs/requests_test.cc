#include "sources/sqs/requests.h"

#include <gtest/gtest.h>

namespace semel::sqs {
namespace {

using std::chrono::seconds;

core::SqsSpec orders() {
  core::SqsSpec spec;
  spec.queue = core::read_sqs_url("http://localhost:9324/0/orders").value();
  return spec;
}

TEST(SqsRequests, SayWhatTheServiceKnows) {
  EXPECT_EQ(receive_request(orders(), 7, seconds(20)),
            R"({"QueueUrl":"http://localhost:9324/0/orders","MaxNumberOfMessages":7,)"
            R"("WaitTimeSeconds":20,"VisibilityTimeout":60,"MessageSystemAttributeNames":["All"],)"
            R"("MessageAttributeNames":["All"]})");
  const std::vector<std::string> receipts = {"a", "b\""};
  EXPECT_EQ(delete_request(orders(), receipts),
            R"({"QueueUrl":"http://localhost:9324/0/orders","Entries":[)"
            R"({"Id":"0","ReceiptHandle":"a"},{"Id":"1","ReceiptHandle":"b\""}]})");
  const std::vector<Hiding> entries = {{"a", seconds(0)}};
  EXPECT_EQ(hide_request(orders(), entries),
            R"({"QueueUrl":"http://localhost:9324/0/orders","Entries":[)"
            R"({"Id":"0","ReceiptHandle":"a","VisibilityTimeout":0}]})");
}

TEST(SqsRequests, AnEmptyAnswerHasNoMessages) {
  EXPECT_TRUE(read_messages("{}").empty());
  EXPECT_TRUE(read_messages(R"({"Messages":[]})").empty());
  EXPECT_EQ(read_messages(R"({"Messages":[{"Body":"x"},{"Body":"y"}]})").size(), 2U);
}

TEST(SqsRequests, ABatchSaysWhichEntriesFailed) {
  const auto failed =
      read_failed(R"({"Successful":[{"Id":"0"}],"Failed":[{"Id":"3","SenderFault":true,)"
                  R"("Code":"ReceiptHandleIsInvalid","Message":"no"}]})");
  ASSERT_EQ(failed.size(), 1U);
  EXPECT_EQ(failed[0].place, 3U);
  EXPECT_EQ(failed[0].code, "ReceiptHandleIsInvalid");
}

TEST(SqsRequests, AQueueSaysHowLongItKeepsAndWhenItRedrives) {
  const auto facts = read_facts(
      R"({"Attributes":{"ApproximateNumberOfMessages":"12","MessageRetentionPeriod":"345600",)"
      R"("RedrivePolicy":"{\"deadLetterTargetArn\":\"arn:aws:sqs:eu-west-1:1:dead\",)"
      R"(\"maxReceiveCount\":\"3\"}"}})",
      "orders");
  EXPECT_EQ(facts.ready, 12);
  EXPECT_EQ(facts.horizon.longest, std::chrono::hours(96));
  EXPECT_NE(facts.horizon.said.find("orders"), std::string::npos);
  ASSERT_TRUE(facts.redrive.has_value());
  EXPECT_EQ(facts.redrive->most_receives, 3);
  EXPECT_EQ(facts.redrive->target, "arn:aws:sqs:eu-west-1:1:dead");
  const auto plain = read_facts(R"({"Attributes":{}})", "orders");
  EXPECT_FALSE(plain.redrive.has_value());
  EXPECT_EQ(plain.horizon.longest, core::kSqsLongestRetention) << "the most there is";
}

}  // namespace
}  // namespace semel::sqs
