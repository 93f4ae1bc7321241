// Consumers: names, the numbers they were given, and how long their completed records are kept.
#pragma once

#include <cstdint>
#include <optional>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include <semel/store.h>

#include "stores/sql/session.h"

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
  Text find, all, add, change, ttl;
};

class Consumers {
 public:
  Consumers(Session& session, const ConsumerTexts& texts) : session_(session), texts_(texts) {}

  std::optional<ConsumerRow> find(const std::string& name);
  // By number.
  std::vector<ConsumerRow> all();
  // The row that stands under the name then: another process may have added it at the same time,
  // from another spec. Throws kLimit where no numbers are left.
  ConsumerRow add(const ConsumerSpec& spec);
  void change(ConsumerNumber number, const ConsumerSpec& spec);
  // Throws R220 where `spec` has another key recipe than `row` and the change is not accepted.
  static void check_recipe(const ConsumerRow& row, const ConsumerSpec& spec);
  // Throws for a number that nobody attached.
  Ttl ttl(ConsumerNumber number);

 private:
  Session& session_;
  const ConsumerTexts& texts_;
};

// The ttls, kept in memory: they are asked for with every message. Any thread.
class ConsumerCache {
 public:
  explicit ConsumerCache(const ConsumerTexts& texts) : texts_(texts) {}

  // Throws Failure for a number that nobody attached.
  Ttl ttl(Session& session, ConsumerNumber number);
  // What is kept may have changed.
  void forget();

 private:
  const ConsumerTexts& texts_;
  std::shared_mutex mutex_;
  std::unordered_map<std::uint32_t, Ttl> known_;
  std::uint64_t forgotten_ = 0;  // times
};

}  // namespace semel::sql
