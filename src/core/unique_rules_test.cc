#include "core/unique_rules.h"

#include <gtest/gtest.h>

namespace semel::core {
namespace {

bool fits(const std::string& rule, const UniqueName& name) {
  const std::vector<UniqueRule> rules = {{"other(id)", {}}, {rule, {}}};
  const UniqueRule* const found = rule_for(rules, {&name, 1});
  return found == &rules[1];
}

const UniqueName kPlain{"shop", "orders", "orders_pk", "id,Line"};

TEST(UniqueRules, AConstraintIsMeantByItsNameOrByItsColumns) {
  for (const char* rule : {"orders(id, line)", "Orders(id,line)", "shop.orders(id,line)",
                           "\"orders\"(id, \"Line\")", "orders_pk", "shop.orders_pk"}) {
    EXPECT_TRUE(fits(rule, kPlain)) << rule;
  }
  for (const char* rule : {"orders(id)", "orders(line, id)", "hop.orders(id,line)", "orders",
                           "(orders)id,line", "order(s)(id,line)"}) {
    EXPECT_FALSE(fits(rule, kPlain)) << rule;
  }
}

TEST(UniqueRules, AnExpressionIsMeantHoweverItsCastsAreWritten) {
  const UniqueName name{"public", "users", "users_lower", "lower((email)::character varying(9)),b"};
  for (const char* rule : {"users(lower(email), b)", "users(lower((email)::text),b)",
                           "public.users(lower(email),b)"}) {
    EXPECT_TRUE(fits(rule, name)) << rule;
  }
  EXPECT_FALSE(fits("users(upper(email), b)", name));
  EXPECT_FALSE(fits("users(lower(email))", name));
}

TEST(UniqueRules, OneOfSeveralNamesIsEnough) {
  const std::vector<UniqueName> names = {{"p", "orders_2026", "orders_2026_id_key", "id"},
                                         {"p", "orders", "orders_id_key", "id"}};
  const std::vector<UniqueRule> rules = {{"orders(id)", {}}};
  EXPECT_EQ(rule_for(rules, names), rules.data());
  EXPECT_EQ(rule_for(rules, {}), nullptr);
}

}  // namespace
}  // namespace semel::core
