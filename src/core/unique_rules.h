// Finds the rule of a handler that a violated unique constraint matches.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <semel/spi/recorded_statement.h>

namespace semel::core {

// A unique constraint as in the store's catalog. Unknown parts are empty.
struct UniqueName {
  std::string schema;
  std::string table;
  std::string constraint;
  std::string columns;  // "a,b"; expressions as the store writes them
};

// The first rule that names one of `names`: by its constraint's name, or by table and columns, each
// with its schema or without. Names are compared without quotes, spaces and case; expressions also
// without the parentheses and casts that a store adds. Null: none does.
const UniqueRule* rule_for(const std::vector<UniqueRule>& rules, std::span<const UniqueName> names);

// The rules that match none of `names`.
std::vector<UniqueRule> idle_rules(const std::vector<UniqueRule>& rules,
                                   std::span<const UniqueName> names);

}  // namespace semel::core
