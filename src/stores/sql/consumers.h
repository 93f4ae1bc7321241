// Consumers: their names, numbers, and how long their completed records are kept.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <semel/spi/store.h>

#include "stores/sql/statements.h"

namespace semel::sql {

using Ttl = std::optional<std::chrono::milliseconds>;  // none: kept for ever

struct ConsumerRow {
  ConsumerNumber number{};
  std::string name;
  Bytes recipe_hash;
  Ttl ttl;
};

struct ConsumerTexts {
  explicit ConsumerTexts(const Dialect& dialect);
  SqlText find, all, add, change, ttl;
};

class Consumers {
 public:
  Consumers(Statements& statements, const ConsumerTexts& texts)
      : statements_(statements), texts_(texts) {}

  std::optional<ConsumerRow> find(const std::string& name);
  // Ordered by number.
  std::vector<ConsumerRow> all();
  // Returns the row with that name: another process may have added it at the same time, from
  // another spec. Throws kLimit where no numbers are left. `number`: nullopt where the table
  // assigns it.
  ConsumerRow add(const ConsumerSpec& spec, std::optional<std::int64_t> number);
  void change(ConsumerNumber number, const ConsumerSpec& spec);
  // Throws R220 where `spec` has another key recipe than `row` and the change is not accepted.
  static void check_recipe(const ConsumerRow& row, const ConsumerSpec& spec);
  // Throws for a number that was never attached.
  Ttl ttl(ConsumerNumber number);

 private:
  Statements& statements_;
  const ConsumerTexts& texts_;
};

}  // namespace semel::sql
