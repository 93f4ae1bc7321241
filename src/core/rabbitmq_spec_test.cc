#include "core/rabbitmq_spec.h"

#include <gtest/gtest.h>

namespace semel::core {
namespace {

TEST(RabbitmqSpec, AUrlIsReadIntoItsParts) {
  const auto read = read_amqp_url("amqp://billing:p%40ss@rabbit:5673/shop%2Feu");
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(read->nodes, (std::vector<RabbitmqNode>{{"rabbit", 5673}}));
  EXPECT_EQ(read->user, "billing");
  EXPECT_EQ(read->password, "p@ss");
  EXPECT_EQ(read->vhost, "shop/eu");
  EXPECT_FALSE(read->tls);
  EXPECT_EQ(read->place(), "rabbit:5673");
}

TEST(RabbitmqSpec, WhatAUrlDoesNotSayIsAsUsual) {
  for (const char* url : {"amqp://localhost", "amqp://localhost/", "amqp://localhost:5672/%2F"}) {
    const auto read = read_amqp_url(url);
    ASSERT_TRUE(read) << url;
    EXPECT_EQ(read->nodes, (std::vector<RabbitmqNode>{{"localhost", 5672}})) << url;
    EXPECT_EQ(read->vhost, "/") << url;
    EXPECT_EQ(read->user, "guest");
  }
  EXPECT_EQ(read_amqp_url("amqps://h")->nodes.front().port, 5671U);
  EXPECT_TRUE(read_amqp_url("amqps://h")->tls);
}

TEST(RabbitmqSpec, SeveralNodesAndAnAddressOfSixteenBytes) {
  const auto read = read_amqp_url("amqp://u:p@a,b:1,[::1]:2/v");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->nodes, (std::vector<RabbitmqNode>{{"a", 5672}, {"b", 1}, {"::1", 2}}));
  EXPECT_EQ(read->place(), "a:5672,b:1,::1:2");
}

TEST(RabbitmqSpec, AnAtInAPasswordNeedNotBeEncoded) {
  const auto read = read_amqp_url("amqp://u:a@b@host/v");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->password, "a@b");
  EXPECT_EQ(read->nodes.front().host, "host");
}

TEST(RabbitmqSpec, WhatIsNoUrlIsSaidWithoutItsPassword) {
  for (const char* url :
       {"", "hunter2", "http://u:hunter2@h", "amqp://u:hunter2@", "amqp://u:hunter2@h:0/",
        "amqp://u:hunter2@h:x/", "amqp://u:hunter2@h/a/b", "amqp://u:hunter2@h/%zz",
        "amqp://u:hunter2%zz@h", "amqp://hunter2@h", "amqp://:hunter2@h", "amqp://u:hunter2@a,,b",
        "amqp://u:hunter2@h/v?heartbeat=3", "amqp://u:hunter2@h/%00"}) {
    const auto read = read_amqp_url(url);
    ASSERT_FALSE(read) << url;
    EXPECT_EQ(read.error().find("hunter2"), std::string::npos) << read.error();
    EXPECT_FALSE(read.error().empty());
  }
}

TEST(RabbitmqSpec, QueuesHaveNames) {
  EXPECT_FALSE(rabbitmq_queue_flaw("orders", true));
  EXPECT_FALSE(rabbitmq_queue_flaw("Aufträge, neu / alt", true));
  EXPECT_FALSE(rabbitmq_queue_flaw("amq.gen-1", false));
  EXPECT_TRUE(rabbitmq_queue_flaw("amq.gen-1", true));
  EXPECT_TRUE(rabbitmq_queue_flaw("", false));
  EXPECT_TRUE(rabbitmq_queue_flaw(std::string(256, 'x'), false));
  EXPECT_TRUE(rabbitmq_queue_flaw("a\nb", false));
  EXPECT_TRUE(rabbitmq_queue_flaw("\xff", false));
}

}  // namespace
}  // namespace semel::core
