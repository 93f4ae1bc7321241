#include "core/sqs_spec.h"

#include <gtest/gtest.h>

namespace semel::core {
namespace {

TEST(SqsUrl, SaysWhereTheQueueIs) {
  const auto read = read_sqs_url("https://sqs.eu-west-1.amazonaws.com/123456789012/orders");
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(read->endpoint, "https://sqs.eu-west-1.amazonaws.com/");
  EXPECT_EQ(read->host, "sqs.eu-west-1.amazonaws.com");
  EXPECT_EQ(read->region, "eu-west-1");
  EXPECT_EQ(read->name, "orders");
  EXPECT_TRUE(read->tls);
  EXPECT_FALSE(read->fifo());
}

TEST(SqsUrl, FindsTheRegionInEachKindOfHost) {
  const auto region = [](const std::string& host) {
    return read_sqs_url("https://" + host + "/1/q").value().region;
  };
  EXPECT_EQ(region("sqs-fips.us-gov-west-1.amazonaws.com"), "us-gov-west-1");
  EXPECT_EQ(region("sqs.cn-north-1.amazonaws.com.cn"), "cn-north-1");
  EXPECT_EQ(region("ap-south-1.queue.amazonaws.com"), "ap-south-1");
  EXPECT_EQ(region("vpce-0a-1b.sqs.us-east-1.vpce.amazonaws.com"), "us-east-1");
  EXPECT_EQ(region("sqs.eu-west-1.example.com"), "") << "not Amazon's";
  EXPECT_EQ(region("localhost"), "");
}

TEST(SqsUrl, TheHostHasAPortOnlyWhereItIsNotTheUsualOne) {
  const auto own = read_sqs_url("http://LocalHost:9324/000000000000/orders.fifo");
  ASSERT_TRUE(own) << own.error();
  EXPECT_EQ(own->host, "localhost:9324");
  EXPECT_EQ(own->endpoint, "http://localhost:9324/");
  EXPECT_TRUE(own->fifo());
  EXPECT_EQ(read_sqs_url("https://h:443/1/q")->host, "h");
  EXPECT_EQ(read_sqs_url("http://h:80/1/q")->host, "h");
  EXPECT_EQ(read_sqs_url("http://[::1]:9324/1/q")->host, "[::1]:9324");
}

TEST(SqsUrl, SaysWhyItIsNone) {
  const auto why = [](const char* url) {
    const auto read = read_sqs_url(url);
    return read ? std::string("it is one") : read.error();
  };
  EXPECT_NE(why("sqs://h/1/q").find("https://"), std::string::npos);
  EXPECT_NE(why("https:///1/q").find("host"), std::string::npos);
  EXPECT_NE(why("https://h:0/1/q").find("port"), std::string::npos);
  EXPECT_NE(why("https://h/").find("queue's name"), std::string::npos);
  EXPECT_NE(why("https://h/1/a.b").find("queue's name"), std::string::npos);
  EXPECT_NE(why("https://h/1/.fifo").find("queue's name"), std::string::npos);
  EXPECT_NE(why("https://me:secret@h/1/q").find("fields of their own"), std::string::npos);
  EXPECT_NE(why("https://h/1/a b").find("blank"), std::string::npos);
}

TEST(SqsRedrive, ComesFirstWhereItAllowsTooFewReceives) {
  const std::int64_t enough = deliveries_before_given_up(3);
  EXPECT_TRUE(redrives_first({enough - 1, "arn"}, 3));
  EXPECT_FALSE(redrives_first({enough, "arn"}, 3));
}

}  // namespace
}  // namespace semel::core
