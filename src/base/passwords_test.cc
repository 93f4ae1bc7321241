#include "base/passwords.h"

#include <gtest/gtest.h>

namespace semel {
namespace {

TEST(Passwords, AreNotShown) {
  EXPECT_EQ(without_passwords("postgresql://ann:hunter2@db/bank"), "postgresql://ann:***@db/bank");
  EXPECT_EQ(without_passwords("postgres://ann:p@ss:w/rd@db/bank?x=y"),
            "postgres://ann:***@db/bank?x=y");
  EXPECT_EQ(without_passwords("postgresql://db/bank?user=ann&password=hunter2&sslmode=require"),
            "postgresql://db/bank?user=ann&password=***&sslmode=require");
  EXPECT_EQ(without_passwords("host=db password=hunter2 user=ann"),
            "host=db password=*** user=ann");
  EXPECT_EQ(without_passwords(R"(password = 'it\'s so' host=db sslpassword=x)"),
            "password = *** host=db sslpassword=***");
  EXPECT_EQ(without_passwords("password='never closed"), "password=***");
  EXPECT_EQ(without_passwords("postgresql://ann:a@db/b?password=c"),
            "postgresql://ann:***@db/b?password=***");
}

TEST(Passwords, WhereThereIsNoneAllStays) {
  for (const char* text : {"", "postgresql://", "postgresql://db/bank", "postgresql://ann@db/bank",
                           "postgresql://db:5432/bank", "postgresql://ann:@db/bank",
                           "host=/run/postgresql dbname=bank", "password",
                           "password=", "passwords: 3", "postgresql://[::1]:5432/bank"}) {
    EXPECT_EQ(without_passwords(text), text);
    EXPECT_EQ(blotted_passwords(text), text);
  }
}

TEST(Passwords, ALineKeepsItsColumns) {
  EXPECT_EQ(
      blotted_passwords(R"(  store: { postgres: { url: "postgres://a:größe@h/b", pol: 3 } })"),
      R"(  store: { postgres: { url: "postgres://a:*****@h/b", pol: 3 } })");
}

}  // namespace
}  // namespace semel
