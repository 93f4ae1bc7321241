#include "handlers/kafka/report.h"

#include <gtest/gtest.h>
#include <librdkafka/rdkafka.h>

namespace semel::kafka {
namespace {

using Broker = Judged::Broker;
using Kept = Report::Kept;
using Kind = Verdict::Kind;

Judged judged(int code, Kept kept = Kept::kNo, bool many_topics = false) {
  return judge({code, kept, "orders", 3, 17},
               {std::chrono::milliseconds(500), many_topics, "connection refused"});
}

TEST(KafkaReport, DoneNamesWhereItStands) {
  const Judged made = judged(RD_KAFKA_RESP_ERR_NO_ERROR, Kept::kYes);
  EXPECT_EQ(made.verdict.kind(), Kind::kDone);
  EXPECT_EQ(made.verdict.result(), "orders-3-17");
  EXPECT_EQ(made.broker, Broker::kWorks);
}

struct Row {
  int code;
  Kind kind;
  const char* reason;
  Broker broker;
};

TEST(KafkaReport, WhatNobodyMendsIsDeadAndTheRestComesAgain) {
  for (const Row& row : {
           Row{RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, Kind::kDead, "handler.kafka.too_large",
               Broker::kWorks},
           Row{RD_KAFKA_RESP_ERR_INVALID_RECORD, Kind::kDead, "handler.kafka.invalid",
               Broker::kWorks},
           Row{RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, Kind::kRetry, "handler.kafka.topic",
               Broker::kAtFault},
           Row{RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION, Kind::kRetry, "handler.kafka.topic",
               Broker::kAtFault},
           Row{RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, Kind::kRetry, "handler.kafka.denied",
               Broker::kAtFault},
           Row{RD_KAFKA_RESP_ERR__FATAL, Kind::kRetry, "handler.kafka.fatal", Broker::kAtFault},
           Row{RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS, Kind::kRetry, "handler.kafka.broker",
               Broker::kRefuses},
           Row{RD_KAFKA_RESP_ERR__QUEUE_FULL, Kind::kRetry, "handler.kafka.broker",
               Broker::kRefuses},
       }) {
    const Judged made = judged(row.code);
    EXPECT_EQ(made.verdict.kind(), row.kind) << row.reason;
    EXPECT_EQ(made.verdict.code(), row.reason);
    EXPECT_EQ(made.broker, row.broker) << row.reason;
    EXPECT_FALSE(made.verdict.reason().empty());
    EXPECT_EQ(made.verdict.counted(), row.kind != Kind::kRetry) << row.reason;
  }
}

TEST(KafkaReport, WhatWasSentMayHaveHappened) {
  const Judged sent = judged(RD_KAFKA_RESP_ERR__MSG_TIMED_OUT, Kept::kPerhaps);
  EXPECT_TRUE(sent.verdict.unknown());
  EXPECT_EQ(sent.verdict.code(), "handler.kafka.timeout");
  const Judged waited = judged(RD_KAFKA_RESP_ERR__MSG_TIMED_OUT);
  EXPECT_FALSE(waited.verdict.unknown());
  EXPECT_EQ(waited.verdict.code(), "handler.kafka.connect");
  EXPECT_NE(waited.verdict.reason().find("500 ms: connection refused"), std::string::npos);
  EXPECT_TRUE(judged(RD_KAFKA_RESP_ERR__FATAL, Kept::kPerhaps).verdict.unknown());
  const Judged refused = judged(RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, Kept::kPerhaps);
  EXPECT_EQ(refused.verdict.kind(), Kind::kRetry) << "the refusal may be another record's";
  EXPECT_TRUE(refused.verdict.unknown());
  EXPECT_TRUE(judge_stopped(std::chrono::milliseconds(7)).verdict.unknown());
}

TEST(KafkaReport, OneTopicOfManySaysNothingOfTheCluster) {
  EXPECT_EQ(judged(RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, Kept::kNo, true).broker,
            Broker::kSilent);
  EXPECT_EQ(judged(RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED, Kept::kNo, true).broker,
            Broker::kAtFault);
}

TEST(KafkaReport, OnlyWhatIsTheMessagesOwnIsToldApart) {
  EXPECT_TRUE(speaks_for_a_batch(RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE));
  EXPECT_FALSE(speaks_for_a_batch(RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART));
  EXPECT_FALSE(speaks_for_a_batch(RD_KAFKA_RESP_ERR_NO_ERROR));
}

}  // namespace
}  // namespace semel::kafka
