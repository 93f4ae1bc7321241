#include "stores/postgres/address.h"

#include <gtest/gtest.h>

namespace semel::postgres {
namespace {

std::string shown(const std::string& url) {
  const auto address = address_of(url);
  return address ? address->host + ":" + address->port + "/" + address->database : "unreadable";
}

TEST(Address, IsWhatTheUrlSays) {
  EXPECT_EQ(shown("postgresql://ann:secret@db.example:6432/bank?sslmode=require"),
            "db.example:6432/bank");
  EXPECT_EQ(shown("host=/run/postgresql dbname=bank port=5433"), "/run/postgresql:5433/bank");
  EXPECT_EQ(shown("postgres://a,b/bank"), "a,b:5432/bank");
}

TEST(Address, WhatIsNotSaidIsTheUsual) {
  EXPECT_EQ(shown("postgresql://ann@db/"), "db:5432/ann");
  EXPECT_EQ(shown("hostaddr=10.0.0.7 user=ann"), "10.0.0.7:5432/ann");
}

TEST(Address, WhatCannotBeReadIsNone) {
  EXPECT_EQ(shown("postgresql://ann:50%off@db/bank"), "unreadable");
  EXPECT_EQ(shown("bank"), "unreadable");
}

}  // namespace
}  // namespace semel::postgres
