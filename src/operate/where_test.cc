#include "operate/where.h"

#include <gtest/gtest.h>

#include <map>

namespace semel::operate {
namespace {

constexpr WhereField kFields[] = {{"consumer"},
                                  {"state", WhereField::Kind::kText, "parked|dead"},
                                  {"error"},
                                  {"attempts", WhereField::Kind::kNumber},
                                  {"age", WhereField::Kind::kAge}};

bool filter_matches(std::string_view filter) {
  const auto where = Where::parse(filter, kFields);
  EXPECT_TRUE(where) << filter << ": " << (where ? "" : where.error().message);
  static const std::map<std::string_view, WhereValue> kThing = {{"consumer", "orders"},
                                                                {"state", "dead"},
                                                                {"error", "It's a Timeout of 3 s"},
                                                                {"attempts", 8},
                                                                {"age", 7'200'000}};
  return where && where->matches([](std::string_view field) { return kThing.at(field); });
}

struct Bad {
  std::size_t column;
  std::string said;
};
Bad bad(std::string_view filter) {
  const auto where = Where::parse(filter, kFields);
  EXPECT_FALSE(where) << filter;
  if (where) return {};
  EXPECT_FALSE(where.error().fix.empty()) << filter;
  return {where.error().column, where.error().message + " | " + where.error().fix};
}

TEST(Where, Compares) {
  EXPECT_TRUE(filter_matches("consumer=orders"));
  EXPECT_TRUE(filter_matches("  consumer = orders  and attempts >= 8 and age>1h "));
  EXPECT_TRUE(filter_matches("consumer!=refunds and error~timeout and state=dead"));
  EXPECT_TRUE(filter_matches("age<=2h and age>=2h and attempts=8 and attempts!=7"));
  EXPECT_TRUE(filter_matches("error~'it''s a'"));
  EXPECT_TRUE(filter_matches("error~\"of 3\" and attempts<9 and attempts<=8 and attempts>7"));
  EXPECT_FALSE(filter_matches("consumer=orders and attempts>8"));
  EXPECT_FALSE(filter_matches("consumer=ORDERS"));
  EXPECT_FALSE(filter_matches("error~refused"));
  EXPECT_FALSE(filter_matches("age<2h"));
  EXPECT_FALSE(filter_matches("error=''"));
}

TEST(Where, SaysWhatMustBeEqual) {
  const auto where = Where::parse("consumer=orders and error~x", kFields).value();
  EXPECT_EQ(where.equal_to("consumer"), "orders");
  EXPECT_EQ(where.equal_to("error"), std::nullopt);
  EXPECT_EQ(Where().equal_to("consumer"), std::nullopt);
  EXPECT_TRUE(Where().matches([](std::string_view) { return WhereValue{}; }));
}

TEST(Where, AFlawNamesItsColumnAndTheFix) {
  const Bad unknown = bad("consumer=orders and eror~x");
  EXPECT_EQ(unknown.column, 21U);
  EXPECT_NE(unknown.said.find("unknown field \"eror\""), std::string::npos) << unknown.said;
  EXPECT_NE(unknown.said.find("did you mean \"error\"?"), std::string::npos) << unknown.said;
  EXPECT_NE(unknown.said.find("consumer, state, error, attempts, age"), std::string::npos);
  EXPECT_EQ(bad("").column, 1U);
  EXPECT_EQ(bad("error='ä' and").column, 14U) << "characters, not bytes";
  EXPECT_EQ(bad("consumer").column, 9U);
  EXPECT_EQ(bad("consumer=").column, 10U);
  EXPECT_EQ(bad("error='open").column, 7U);
  EXPECT_EQ(bad("consumer=a or consumer=b").column, 12U);
  EXPECT_EQ(bad("attempts~3").column, 9U);
  EXPECT_EQ(bad("age=1h").column, 4U);
  EXPECT_EQ(bad("consumer>a").column, 9U);
  EXPECT_NE(bad("age>5").said.find("500ms"), std::string::npos);
  EXPECT_NE(bad("attempts>many").said.find("whole number"), std::string::npos);
  EXPECT_NE(bad("state=completed").said.find("parked|dead"), std::string::npos);
  EXPECT_NE(bad("state~dea").said.find("cannot be"), std::string::npos);
}

}  // namespace
}  // namespace semel::operate
