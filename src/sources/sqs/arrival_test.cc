#include "sources/sqs/arrival.h"

#include <gtest/gtest.h>

namespace semel::sqs {
namespace {

TEST(SqsArrival, HasItsBodyItsAttributesAndWhatTheServiceAdds) {
  const ReceivedMessage made = message_of(R"({
    "Attributes": {"ApproximateReceiveCount": "2", "SentTimestamp": "1795784609227",
                   "MessageGroupId": "g-1", "MessageDeduplicationId": "d-1",
                   "SequenceNumber": "17", "SenderId": "127.0.0.1"},
    "Body": "{\"id\":\"\u00e4\"}", "MD5OfBody": "x",
    "MessageAttributes": {"idempotency-key": {"DataType": "String", "StringValue": "k-1"},
                          "count": {"DataType": "Number", "StringValue": "5"},
                          "raw": {"DataType": "Binary", "BinaryValue": "AAE="},
                          "Content-Type": {"DataType": "String", "StringValue": "text/plain"}},
    "MessageId": "m-1", "ReceiptHandle": "r-1"})");
  const Arrival& arrival = *made.arrival;
  EXPECT_EQ(arrival.payload, "{\"id\":\"\xc3\xa4\"}");
  EXPECT_EQ(arrival.position, "m-1");
  EXPECT_EQ(arrival.broker_key, "d-1");
  EXPECT_EQ(arrival.content_type, "text/plain");
  EXPECT_EQ(find_header(arrival.headers, "idempotency-key"), "k-1");
  EXPECT_EQ(find_header(arrival.headers, "count"), "5");
  EXPECT_EQ(find_header(arrival.headers, "raw"), BytesView("\0\1", 2));
  EXPECT_EQ(find_header(arrival.headers, "sqs-message-group-id"), "g-1");
  EXPECT_EQ(find_header(arrival.headers, "sqs-sequence-number"), "17");
  EXPECT_EQ(find_header(arrival.headers, "sqs-message-id"), "m-1");
  EXPECT_FALSE(find_header(arrival.headers, "SenderId").has_value());
  ASSERT_TRUE(arrival.broker_time.has_value());
  EXPECT_EQ(arrival.broker_time->time_since_epoch(), std::chrono::milliseconds(1'795'784'609'227));
  EXPECT_EQ(made.receipt, "r-1");
  EXPECT_EQ(made.receives, 2);
}

// The digest of "x", which the service uses if the producer sets no id.
TEST(SqsArrival, AnIdThatTheServiceMadeOfTheBodyIsNoKey) {
  constexpr const char* kDigest =
      "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881";
  const std::string attributes =
      std::string(R"("Attributes":{"MessageDeduplicationId":")") + kDigest + R"("})";
  const ReceivedMessage made = message_of("{" + attributes + R"(,"Body":"x"})");
  EXPECT_FALSE(made.arrival->broker_key.has_value());
  EXPECT_EQ(find_header(made.arrival->headers, "sqs-message-deduplication-id"), kDigest);
  const ReceivedMessage other = message_of("{" + attributes + R"(,"Body":"y"})");
  EXPECT_EQ(other.arrival->broker_key, kDigest) << "the producer has set it";
}

TEST(SqsArrival, AnAttributeOfTheProducerPassesForNoneOfTheService) {
  const ReceivedMessage made = message_of(R"({"MessageAttributes":{
      "SQS-Message-Group-Id":{"DataType":"String","StringValue":"forged"}},
      "Attributes":{"MessageGroupId":"g-1"},"Body":"x"})");
  EXPECT_EQ(find_header(made.arrival->headers, "sqs-message-group-id"), "g-1");
  EXPECT_EQ(find_header(made.arrival->headers, "attribute-SQS-Message-Group-Id"), "forged");
}

TEST(SqsArrival, HeadersThatStoodTogetherAreHeadersAgain) {
  const ReceivedMessage made = message_of(R"({"Body":"x","MessageAttributes":{
      "a":{"DataType":"String","StringValue":"1"},
      "semel-headers":{"DataType":"String","StringValue":"[{\"name\":\"odd name\",\"value\":\"\"},
        {\"name\":\"a\",\"value_base64\":\"/w==\"},{\"name\":\"sqs-message-id\",\"value\":\"f\"}]"}}})");
  const Headers& headers = made.arrival->headers;
  ASSERT_EQ(headers.size(), 4U);
  EXPECT_EQ(headers[1].name, "odd name");
  EXPECT_EQ(headers[1].value, "");
  EXPECT_EQ(headers[2].value, "\xff");
  EXPECT_EQ(headers[3].name, "attribute-sqs-message-id");
  const ReceivedMessage other = message_of(R"({"Body":"x","MessageAttributes":{
      "semel-headers":{"DataType":"String","StringValue":"of somebody else"}}})");
  EXPECT_EQ(find_header(other.arrival->headers, "semel-headers"), "of somebody else");
}

// The service sets the MessageId, which is a new one each time the producer sends.
TEST(SqsArrival, OfAStandardQueueHasNoKeyOfTheBroker) {
  const ReceivedMessage made =
      message_of(R"({"Body":"x","MessageId":"m-1","ReceiptHandle":"r-1"})");
  EXPECT_FALSE(made.arrival->broker_key.has_value());
  EXPECT_FALSE(made.arrival->broker_time.has_value());
}

}  // namespace
}  // namespace semel::sqs
