// Consumers: names, the numbers they were given, and how long their completed records are kept.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <semel/store.h>

#include "stores/sqlite/prepared.h"

namespace semel::sqlite {

using Ttl = std::optional<std::chrono::milliseconds>;  // none: kept for ever

struct ConsumerRow {
  ConsumerNumber number{};
  std::string name;
  Bytes recipe_hash;
  Ttl ttl;
};

class Consumers {
 public:
  explicit Consumers(Connection& connection);

  std::optional<ConsumerRow> find(const std::string& name);
  std::vector<ConsumerRow> all();
  // Throws R220 where `spec` has another key recipe than `row` and the change is not accepted.
  static void check_recipe(const ConsumerRow& row, const ConsumerSpec& spec);
  ConsumerNumber add(const ConsumerSpec& spec);
  // With the number it had; false where that is another's now.
  bool add_as(const ConsumerRow& row);
  void change(ConsumerNumber number, const ConsumerSpec& spec);

  // Kept in memory: asked for every message. Throws Failure for a number that nobody attached.
  const Ttl& ttl(ConsumerNumber number);
  // What is kept may have changed.
  void forget() noexcept { known_.clear(); }

 private:
  struct Known {
    ConsumerNumber number;
    Ttl ttl;
  };

  Prepared find_;
  Prepared all_;
  Prepared add_;
  Prepared add_as_;
  Prepared change_;
  Prepared ttl_;
  std::vector<Known> known_;
};

}  // namespace semel::sqlite
