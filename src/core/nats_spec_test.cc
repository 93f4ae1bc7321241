#include "core/nats_spec.h"

#include <gtest/gtest.h>

namespace semel::core {
namespace {

TEST(NatsSpec, AUrlIsReadIntoItsParts) {
  const auto read = read_nats_url("nats://billing:p%40ss@nats:4333");
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(read->nodes, (std::vector<NatsNode>{{"nats", 4333}}));
  EXPECT_EQ(read->user, "billing");
  EXPECT_EQ(read->password, "p@ss");
  EXPECT_FALSE(read->tls);
  EXPECT_EQ(read->place(), "nats:4333");
}

TEST(NatsSpec, WhatAUrlDoesNotSayIsAsUsual) {
  for (const char* url : {"nats://localhost", "nats://localhost/", "nats://localhost:4222"}) {
    const auto read = read_nats_url(url);
    ASSERT_TRUE(read) << url;
    EXPECT_EQ(read->nodes, (std::vector<NatsNode>{{"localhost", 4222}})) << url;
    EXPECT_TRUE(read->user.empty());
  }
  EXPECT_TRUE(read_nats_url("tls://h")->tls);
}

TEST(NatsSpec, SeveralServersAndAnAddressOfSixteenBytes) {
  const auto read = read_nats_url("tls://u:a@b@a,b:1,[::1]:2");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->nodes, (std::vector<NatsNode>{{"a", 4222}, {"b", 1}, {"::1", 2}}));
  EXPECT_EQ(read->password, "a@b") << "an @ need not be encoded";
}

TEST(NatsSpec, WhatIsNoUrlIsSaidWithoutItsPassword) {
  for (const char* url :
       {"", "hunter2", "http://u:hunter2@h", "nats://u:hunter2@", "nats://u:hunter2@h:0",
        "nats://u:hunter2@h:x", "nats://u:hunter2@h/a", "nats://u:hunter2@h%zz",
        "nats://u:hunter2%zz@h", "nats://:hunter2@h", "nats://hunter2:@h", "nats://u:hunter2@a,,b",
        "nats://u:hunter2@h?tls=on", "nats://hunter2@h"}) {
    const auto read = read_nats_url(url);
    ASSERT_FALSE(read) << url;
    EXPECT_EQ(read.error().find("hunter2"), std::string::npos) << read.error();
    EXPECT_FALSE(read.error().empty());
  }
}

TEST(NatsSpec, StreamsAndConsumersHaveNames) {
  EXPECT_FALSE(nats_name_flaw("ORDERS_2026-eu"));
  for (const char* name : {"", "a.b", "a*", "a>", "a/b", "a\\b", "a b", "a\tb", "\xff"}) {
    EXPECT_TRUE(nats_name_flaw(name)) << name;
  }
  EXPECT_TRUE(nats_name_flaw(std::string(256, 'x')));
}

TEST(NatsSpec, SubjectsHavePartsAndWildcards) {
  for (const char* subject : {"orders", "orders.paid", "orders.*.eu", "orders.>", ">", "*"}) {
    EXPECT_FALSE(nats_subject_flaw(subject)) << subject;
  }
  for (const char* subject : {"", ".a", "a.", "a..b", "a.>.b", "a.b*", "a b", "\xff"}) {
    EXPECT_TRUE(nats_subject_flaw(subject)) << subject;
  }
}

}  // namespace
}  // namespace semel::core
